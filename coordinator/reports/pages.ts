import { csvOf, csvType } from '../../shared/api/csv.ts';
import type { OutputOf } from '../../shared/api/operation.ts';
import {
  endReportMail,
  getUptimeReport,
  listReportMails,
  listReportShares,
  mailReport,
  reportQuery,
  shareReport,
  withdrawReportShare,
} from '../../shared/api/reports.ts';
import { listStatusPages } from '../../shared/api/status-pages.ts';
import { listFilters } from '../monitors/contract.ts';
import { entryCard, entryPage, orDeadLink } from '../people/pages/parts.ts';
import { goneShare, sharedFoot, sharedHeaders } from '../shares/pages.ts';
import {
  copyable,
  figure,
  heading,
  msText,
  percentFigure,
  rowAct,
  stateMark,
} from '../web/elements.ts';
import { filterSelects, hiddenField } from '../web/forms.ts';
import { type Html, html, icon, type Part, query, safeUrl } from '../web/html.ts';
import { mailMissingWords } from '../web/layout.ts';
import {
  forAnyone,
  forMembers,
  type MembersRequest,
  type Page,
  type PageAnswer,
  type ShownPage,
  seeOther,
  send,
  show,
} from '../web/page.ts';
import { acts, number, table } from '../web/tables.ts';
import { type Times, timesIn } from '../web/times.ts';
import { leaveReportMail, showReportMail, showSharedReport } from './contract.ts';
import { periodOn } from './period.ts';
import {
  countingWords,
  keptWords,
  lengthWords,
  percentOf,
  periodWords,
  sentenceOf,
  spanWords,
} from './words.ts';

type Report = OutputOf<typeof getUptimeReport>;
type Asked = Readonly<Record<string, string>>;

export const reports = forMembers.get('/reports', (request) => pageOf(request));

/** `link`: one that was made just now. */
async function pageOf(request: MembersRequest, link?: string): Promise<ShownPage> {
  const asked = askedOf(request);
  const report = await request.ask(getUptimeReport, asked);
  return show({
    title: `${report.title}: report`,
    place: 'reports',
    main: html`
      <div class="stack">
        ${heading({
          sentence: sentenceOf(report, timesIn(report.time_zone, request.now)),
          below: html`
            ${belowOf(report, timesIn(report.time_zone, request.now))}${' '}
            <a href="/objectives">Objectives</a>
          `,
          actions: html`
            <a
              class="button"
              href="${safeUrl(`/reports.csv${query(asked)}`)}"
              download
              data-no-prefetch
            >
              ${icon('downwards')}CSV
            </a>
          `,
        })}
        ${await filterForm(request, asked)}
        ${figures(report)}
        ${sheet(report, timesIn(report.time_zone, request.now))}
        <div class="columns">
          ${request.may(mailReport) && (await mailing(request, asked))}
          ${request.may(shareReport) && (await sharing(request, report, asked, link))}
        </div>
      </div>
    `,
  });
}

/** A mail is of the last week or month, whatever period is seen. */
async function mailing(
  { ask, times, with: { hasMail } }: MembersRequest,
  asked: Asked,
): Promise<Html> {
  const { items } = await ask(listReportMails, {});
  const { period: _, from: __, to: ___, time_zone: ____, ...of } = asked;
  const own = items.find((each) => isMailOf(each, of));
  return html`
    <section class="card" id="mail">
      <h2>Mail me this report</h2>
      <p class="soft">
        ${
          !hasMail
            ? `${mailMissingWords}.`
            : own === undefined
              ? 'You get no mail of this report.'
              : html`You get it each ${own.every}, next on ${times.moment(own.next_at)}.`
        }
      </p>
      <form class="fields" method="post" action="${safeUrl(`/reports/mail${query(asked)}#mail`)}">
        ${filterSelects({ every: own?.every ?? '' })('every', 'How often', 'Off', [
          ['week', 'Weekly, each Monday'],
          ['month', 'Monthly, on the first'],
        ])}
        ${own !== undefined && hiddenField('mail', own.id)}
        <button class="button">${icon('mail')}Save</button>
      </form>
      ${
        items.length > (own === undefined ? 0 : 1) &&
        table(
          items.map(({ id, title, every, next_at }) => ({
            Report: title,
            Mailed: every === 'week' ? 'Weekly' : 'Monthly',
            Next: times.moment(next_at),
            Stop: acts(html`
              <form method="post" action="/reports/mails/${id}/end">
                ${rowAct({ symbol: 'delete', words: 'Stop', of: title })}
              </form>
            `),
          })),
          'Reports that are mailed to you',
        )
      }
    </section>
  `;
}

function isMailOf(mail: OutputOf<typeof mailReport>, of: Asked): boolean {
  const { promised, maintenance, unknown, monitor, group, tag, status_page } = mail;
  const given = { promised, maintenance, unknown, monitor, group, tag, status_page };
  return Object.entries(given).every(([name, value]) =>
    value === null || value === 'apart'
      ? (of[name] ?? 'apart') === 'apart'
      : String(value) === of[name],
  );
}

export const mailed = forMembers.post('/reports/mail', async (request) => {
  const { ask, form } = request;
  const { period: _, from: __, to: ___, time_zone: ____, ...of } = askedOf(request);
  const [every, mail] = [form.value('every'), form.value('mail')];
  const back = `/reports${query(askedOf(request))}`;
  if (every) {
    await ask(mailReport, { ...of, every });
    return seeOther(back, { said: every === 'week' ? 'Mailed each week.' : 'Mailed each month.' });
  }
  if (mail) await ask(endReportMail, { mail_id: mail });
  return seeOther(back, { said: 'Mails are off.' });
});

export const endMail = forMembers.post('/reports/mails/:mail_id/end', async ({ ask, path }) => {
  await ask(endReportMail, { mail_id: path.mail_id });
  return seeOther('/reports', { said: 'Mails are off.' });
});

const leavePath = '/reports/leave/:secret';

function leaveCard(sentence: string, ...parts: readonly Html[]): PageAnswer {
  return entryPage('Mails of a report', entryCard(sentence, ...parts), { headers: sharedHeaders });
}

const stopped = 'You get no more of these mails';

/** Mail scanners follow links, so GET changes nothing. */
export const leavePage = forAnyone.get(leavePath, ({ askAsVisitor, path: { secret } }) =>
  orDeadLink(async () => {
    const { title } = await askAsVisitor(showReportMail, { secret });
    return title === null
      ? leaveCard(stopped)
      : leaveCard(
          'Stop these mails?',
          html`<p class="soft">You get no more reports of <b>${title}</b>.</p>`,
          html`<form class="form" method="post"><button class="button button-main">Stop mails</button></form>`,
        );
  }, goneShare),
);

/** Mail services post by themselves (RFC 8058). */
export const leave: Page = {
  method: 'POST',
  path: leavePath,
  needs: 'nobody',
  fromAnywhere: true,
  answer: ({ askAsVisitor, path: { secret } }) =>
    orDeadLink(async () => {
      await askAsVisitor(leaveReportMail, { secret });
      return leaveCard(stopped);
    }, goneShare),
};

async function sharing(
  { ask, times }: MembersRequest,
  report: Report,
  asked: Asked,
  link: string | undefined,
): Promise<Html> {
  const { items } = await ask(listReportShares, {});
  // The sheet that is seen is shared, whatever the last month is then.
  const { period, from, to } = report;
  const fixed = period === null ? { ...asked, from, to } : { ...asked, period };
  return html`
    <section class="card" id="share">
      <h2>Share</h2>
      ${
        link !== undefined &&
        html`
          <p>Anyone with this link sees this report. Copy it now: it is shown only once.</p>
          ${copyable(link, 'link')}
        `
      }
      <form class="fields" method="post" action="${safeUrl(`/reports/share${query(fixed)}#share`)}">
        ${filterSelects({})('days', 'Link valid', 'Until revoked', [
          ['30', 'For 30 days'],
          ['365', 'For a year'],
        ])}
        <button class="button">${icon('share')}Create link</button>
      </form>
      ${
        items.length > 0 &&
        table(
          items.map(({ id, title, period: of, at, expires_at }) => ({
            Report: of === null ? title : `${title}, ${periodWords(of)}`,
            Shared: times.ago(at),
            Ends: expires_at === null ? 'Never' : times.moment(expires_at),
            Revoke: acts(html`
              <form method="post" action="/reports/shares/${id}/withdraw">
                ${rowAct({ symbol: 'delete', words: 'Revoke', of: title })}
              </form>
            `),
          })),
          'Links to reports',
        )
      }
    </section>
  `;
}

/** The answer itself shows the link, because it is shown once. */
export const share = forMembers.post('/reports/share', async (request) => {
  const days = request.form.value('days');
  const { link } = await request.ask(shareReport, { ...askedOf(request), ...(days && { days }) });
  return { ...(await pageOf(request, link)), headers: { 'cache-control': 'no-store' } };
});

export const withdrawShare = forMembers.post(
  '/reports/shares/:share_id/withdraw',
  async ({ ask, path }) => {
    await ask(withdrawReportShare, { share_id: path.share_id });
    return seeOther('/reports', { said: 'Link revoked.' });
  },
);

/** A report for anyone with its link. */
export const sharedReport = forAnyone.get(
  '/shared/reports/:secret',
  ({ askAsVisitor, path: { secret }, now }) =>
    orDeadLink(async () => {
      const { organisation, report } = await askAsVisitor(showSharedReport, { secret });
      const times = timesIn(report.time_zone, now);
      return show({
        title: `${report.title}: report`,
        frame: 'bare',
        headers: sharedHeaders,
        main: html`
          <div class="stack shared">
            ${heading({
              sentence: sentenceOf(report, times),
              below: `${organisation}. ${belowOf(report, times)}`,
            })}
            ${figures(report)}
            ${sheet(report, times, false)}
            ${sharedFoot}
          </div>
        `,
      });
    }, goneShare),
);

export const reportFile = forMembers.get('/reports.csv', async (request) => {
  const report = await request.ask(getUptimeReport, askedOf(request));
  return send({
    type: `${csvType}; charset=utf-8`,
    body: csvOf(getUptimeReport, report) ?? '',
    headers: {
      'content-disposition': `attachment; filename="uptime-${report.period ?? report.from.slice(0, 10)}.csv"`,
      'cache-control': 'no-store',
    },
  });
});

/** What the operation takes, as far as the address has it. */
function askedOf({ query: given }: MembersRequest): Asked {
  return Object.fromEntries(
    Object.keys(reportQuery).flatMap((name) => (given[name] ? [[name, given[name]]] : [])),
  );
}

type Option = readonly [value: string, label: string];

async function filterForm({ ask, now, caller }: MembersRequest, asked: Asked): Promise<Html> {
  const zone = caller.organisation.time_zone;
  const [{ items }, pages] = await Promise.all([
    ask(listFilters, {}),
    ask(listStatusPages, { limit: 200 }),
  ]);
  const facet = (of: string): Option[] =>
    items.flatMap(({ facet: each, value, name }) => (each === of ? [[value, name]] : []));
  const before = (unit: 'month' | 'quarter' | 'year', count: number): Option[] =>
    Array.from({ length: count }, (_, nth) => {
      const name = periodOn(unit, nth, zone, now);
      return [name, periodWords(name)];
    });
  const select = filterSelects(asked);
  return html`
    <form class="card fields quarters" action="/reports">
      ${['monitor', 'time_zone'].map((name) => asked[name] && hiddenField(name, asked[name]))}
      ${select('period', 'Period', 'Last month', [
        ...before('month', 13),
        ...before('quarter', 5),
        ...before('year', 3),
      ])}
      ${select('group', 'Group', 'All groups', facet('group'))}
      ${select('tag', 'Tag', 'All tags', facet('tag'))}
      ${select(
        'status_page',
        'Status page',
        'All',
        pages.items.map(({ id, name }) => [id, name]),
      )}
      <details
        class="fold-more"${
          ['maintenance', 'unknown', 'promised'].some((name) => asked[name]) && html` open`
        }
      >
        <summary>More</summary>
        <div class="fields">
          ${select('maintenance', 'Maintenance', 'Not counted', [['counts', 'Counted as checked']])}
          ${select('unknown', 'Unknown time', 'Not counted', [
            ['up', 'Counted as up'],
            ['down', 'Counted as down'],
          ])}
          <label>
            <span>Promised, in %</span>
            <input name="promised" inputmode="decimal" maxlength="8" placeholder="99.9" value="${asked.promised ?? ''}" />
          </label>
        </div>
      </details>
      <button class="button">Apply</button>
    </form>
  `;
}

function belowOf(report: Report, times: Times): string {
  return `${spanWords(report, times)} ${countingWords(report)}`;
}

function figures({ total, promised }: Report): Html {
  return html`
    <dl class="figures">
      ${figure('Uptime', percentFigure(percentOf(total)))}
      ${promised !== null && figure(`Promised: ${promised}%`, keptMark(total))}
      ${figure('Down', lengthWords(total.counted_down_seconds))}
      ${figure('Incidents', total.incidents)}
      ${figure('Maintenance', lengthWords(total.maintenance_seconds))}
      ${figure('Unknown', lengthWords(total.unknown_seconds))}
      ${total.response && figure('Response, p95', msText(total.response.p95_ms))}
    </dl>
  `;
}

/** The monitors that were down, the longest first; the incidents; and every other monitor. */
function sheet(report: Report, times: Times, isLinked = true): Html {
  const { monitors, incidents, left_out } = report;
  const link = (href: string, words: string): Part =>
    isLinked
      ? html`<a class="row-link" href="${safeUrl(href)}">${words}</a>`
      : html`<b>${words}</b>`;
  const lines = (some: Report['monitors'], caption: string): Html =>
    table(
      some.map((line) => ({
        Monitor: link(`/monitors/${line.monitor}`, line.name),
        ...cellsOf(line, some, report.promised),
      })),
      caption,
    );
  const [down, well] = [
    monitors.filter(wasDown).toSorted((a, b) => b.counted_down_seconds - a.counted_down_seconds),
    monitors.filter((line) => !wasDown(line)),
  ];
  const count = `${well.length} ${well.length === 1 ? 'monitor' : 'monitors'} without downtime`;
  return html`
    ${
      down.length > 0 &&
      html`<section><h2>Downtime</h2>${lines(down, 'Monitors with downtime, the longest first')}</section>`
    }
    <section>
      <h2>Incidents</h2>
      ${
        incidents.length === 0
          ? html`<p class="nothing card">No incidents in this time</p>`
          : table(
              incidents.map(({ incident, name, cause, started_at, resolved_at, down_seconds }) => ({
                Monitor: link(`/incidents/${incident}`, name),
                Cause: cause ?? 'Cause unknown',
                Began: times.whole(started_at),
                Ended: resolved_at === null ? html`<span>Ongoing</span>` : times.whole(resolved_at),
                Down: number(lengthWords(down_seconds)),
              })),
              'Incidents, newest first',
            )
      }
      ${left_out > 0 && html`<p class="soft">${left_out} older incidents are in the sums but not in this list.</p>`}
    </section>
    ${
      well.length > 0 &&
      html`
        <details class="without-downtime"${down.length === 0 && html` open`}>
          <summary><h2>${count}</h2></summary>
          ${lines(well, count)}
        </details>
      `
    }
  `;
}

function wasDown({ counted_down_seconds }: Report['total']): boolean {
  return counted_down_seconds > 0;
}

function keptMark(total: Report['total']): Part {
  const words = keptWords(total);
  return words === null ? '–' : stateMark(total.kept === true ? 'up' : 'down', words);
}

function lengthOf(seconds: number) {
  return number(seconds === 0 ? '–' : lengthWords(seconds));
}

/** Columns that are empty in all rows are left out. */
function cellsOf(line: Report['total'], all: readonly Report['total'][], promised: number | null) {
  const { counted_down_seconds, maintenance_seconds, unknown_seconds } = line;
  const percent = percentOf(line);
  return {
    Uptime: number(
      percent === null && line.percent !== null ? 'not enough data' : percentFigure(percent),
    ),
    ...(promised === null ? {} : { Promise: keptMark(line) }),
    Down: lengthOf(counted_down_seconds),
    Incidents: number(line.incidents),
    ...(all.some((each) => each.maintenance_seconds > 0) && {
      Maintenance: lengthOf(maintenance_seconds),
    }),
    ...(all.some((each) => each.unknown_seconds > 0) && { Unknown: lengthOf(unknown_seconds) }),
    ...(all.some(({ response }) => response !== null) && {
      'p50 / p95 / p99': number(
        line.response === null
          ? '–'
          : [line.response.p50_ms, line.response.p95_ms, line.response.p99_ms]
              .map(msText)
              .join(' / '),
      ),
    }),
  };
}
