import type { OutputOf } from '../../shared/api/operation.ts';
import { isKind, type Kind } from '../../shared/checks/kinds.ts';
import { listAllProbes } from '../probes/contract.ts';
import {
  countText,
  heading,
  linkButton,
  moreLink,
  notice,
  type State,
  stateMark,
} from '../web/elements.ts';
import { type Html, html, icon, type Part, query } from '../web/html.ts';
import { forOperators, type OperatorsRequest, seeOther, show } from '../web/page.ts';
import { number, table } from '../web/tables.ts';
import {
  dropSetAside,
  listNotices,
  listOrganisations,
  listRefused,
  listSetAside,
  retrySetAside,
  showFigures,
  showSetAside,
} from './contract.ts';

const path = '/operator/set-aside/:set_aside_id';

/** The command shows the rest of longer ones. */
const maxShown = 20_000;

/** One message that was set aside, with what can be done about it. */
export const setAsidePage = forOperators.get(
  path,
  async ({ askHouse, path: { set_aside_id }, times }) => {
    const { id, subject, reason, at, bytes, attempts, retry_asked_at, data, encoding } =
      await askHouse(showSetAside, { set_aside_id });
    return show({
      title: `Failed message ${id}`,
      place: 'operator',
      main: html`
        ${heading({
          sentence: `Message ${id} could not be processed`,
          below: 'It is kept unchanged. Later messages were processed.',
          trail: [{ href: '/operator', name: 'Operator' }],
        })}
        <dl class="card settings lines">
          <div class="setting">
            <dt>Reason</dt>
            <dd>${reason}</dd>
          </div>
          <div class="setting">
            <dt>Subject</dt>
            <dd><code>${subject}</code></dd>
          </div>
          <div class="setting">
            <dt>Received</dt>
            <dd>${times.moment(at)}</dd>
          </div>
          <div class="setting">
            <dt>Failed retries</dt>
            <dd>
              ${attempts === 0 ? 'None' : countText(attempts)}
              ${
                retry_asked_at !== null &&
                html`
                  <span class="note">
                    Retry requested ${times.moment(retry_asked_at)}.
                  </span>
                `
              }
            </dd>
          </div>
        </dl>
        <section class="after">
          <h2>Content</h2>
          <div class="card stack">
            <p class="soft">
              ${countText(bytes)} bytes, ${
                encoding === 'text' ? 'unchanged' : 'in base64 (not text)'
              }
              ${
                data.length > maxShown &&
                html`; beginning only, <code>set-aside show --id ${id}</code> prints all`
              }.
            </p>
            <pre>${data.slice(0, maxShown)}</pre>
          </div>
        </section>
        <section class="after">
          <h2>What to do</h2>
          <div class="card stack">
            <p>
              Retry after you fixed the cause, for example by an upgrade. The message then counts
              once. If it fails again, it stays here.
            </p>
            <form class="actions" method="post" action="/operator/set-aside/${id}/retry">
              <button class="button button-main">${icon('again')}Retry</button>
              ${linkButton('/operator', 'Cancel')}
            </form>
            <p>Or delete it. Its content is lost, and you cannot undo this.</p>
            <form class="actions" method="post">
              <button class="button button-danger">${icon('delete')}Delete message</button>
            </form>
          </div>
        </section>
      `,
    });
  },
);

/** At the address of the page, so that proving one's identity leads back to it. */
export const dropSetAsidePage = forOperators.post(
  path,
  async ({ askHouse, path: { set_aside_id } }) => {
    await askHouse(dropSetAside, { set_aside_id });
    return seeOther('/operator', { said: `Message ${set_aside_id} deleted.` });
  },
);

export const retrySetAsidePage = forOperators.post(
  `${path}/retry`,
  async ({ askHouse, path: { set_aside_id } }) => {
    const { asked } = await askHouse(retrySetAside, { set_aside_id });
    const said =
      asked.length > 0
        ? 'is being retried'
        : 'is already waiting for a retry, or cannot be retried';
    return seeOther('/operator', { said: `Message ${set_aside_id} ${said}.` });
  },
);

/** For lists that can grow long; the commands show all. */
const maxRows = 50;

const kinds: Readonly<Record<Kind, string>> = {
  https: 'https',
  dns: 'DNS',
  tcp: 'TCP',
  tls: 'TLS',
  websocket: 'WebSocket',
  grpc: 'gRPC',
  heartbeat: 'heartbeats',
  domain: 'domains',
  icmp: 'ping',
};

/** What the operator wants to know about the installation, urgent things first. */
export const operatorPage = forOperators.get('/operator', async (request) => {
  const { askHouse, query: asked } = request;
  const [notices, figures, organisations, probes, refused, aside] = await Promise.all([
    askHouse(listNotices),
    askHouse(showFigures),
    askHouse(listOrganisations, asked.cursor === undefined ? {} : { cursor: asked.cursor }),
    askHouse(listAllProbes),
    askHouse(listRefused),
    askHouse(listSetAside),
  ]);
  return show({
    title: notices.open > 0 ? `${notices.open} open · Operator` : 'Operator',
    place: 'operator',
    main: html`
        ${heading({
          sentence: sentenceOf(notices.open, aside.count),
          below: 'The whole installation. Only operators see this page.',
          actions:
            request.with.ownRecord(true) !== undefined && linkButton('/about', 'Service status'),
        })}
        ${noticesOf(notices, request)}
        ${figuresOf(figures, request)}
        ${organisationsOf(organisations, request)}
        ${probesOf(probes.items, request)}
        ${refusedOf(refused, request)}
        ${setAsideOf(aside, request)}
      `,
  });
});

function sentenceOf(open: number, aside: number): string {
  const parts = [
    ...(open > 0 ? [open === 1 ? 'One notice is open' : `${open} notices are open`] : []),
    ...(aside > 0 ? [aside === 1 ? 'one message failed' : `${aside} messages failed`] : []),
  ];
  if (parts.length === 0) return 'Nothing needs your attention';
  return parts.join(', and ').replace(/^./, (letter) => letter.toUpperCase());
}

type Notices = OutputOf<typeof listNotices>;

function noticesOf({ items }: Notices, { times }: OperatorsRequest): Html {
  const open = items.filter(({ ended_at }) => ended_at === null);
  const ended = items.flatMap(({ ended_at, ...each }) =>
    ended_at === null ? [] : [{ ...each, ended_at }],
  );
  return section(
    'Notices',
    open.length === 0
      ? none('No open notices')
      : open.map((each) =>
          notice(
            'verifying',
            each.message,
            html`${each.what_to_do} Since ${times.moment(each.began_at)}.`,
          ),
        ),
    ended.length > 0 &&
      shortList(
        ended.map(
          ({ message, began_at, ended_at }) =>
            html`
              <tr>
                <td>${message}</td>
                <td data-label="Started">${times.moment(began_at)}</td>
                <td data-label="Ended">${times.moment(ended_at)}</td>
              </tr>
            `,
        ),
        endedTable,
        'notice list',
      ),
  );
}

function section(title: string, ...parts: readonly Part[]): Html {
  return html`<section class="after"><h2>${title}</h2>${parts}</section>`;
}

function none(words: string): Html {
  return html`<p class="soft">${words}</p>`;
}

/** The messages of notices head their cards: they need no label. */
function endedTable(rows: readonly Html[]): Html {
  return html`
    <div class="table-card">
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Ended in the last 7 days</th>
            <th scope="col">Started</th>
            <th scope="col">Ended</th>
          </tr>
        </thead>
        <tbody>${rows}</tbody>
      </table>
    </div>
  `;
}

/** The shown rows of a list, and how to see the others. */
function shortList<Row>(
  rows: readonly Row[],
  tableOf: (shown: readonly Row[]) => Html,
  command: string,
): Html {
  return html`
    ${tableOf(rows.slice(0, maxRows))}
    ${
      rows.length > maxRows &&
      html`
        <p class="soft">
          These are the
          first ${maxRows} of ${countText(rows.length)}. <code>${command}</code> prints all.
        </p>
      `
    }
  `;
}

function figuresOf(figures: OutputOf<typeof showFigures>, { times }: OperatorsRequest): Html {
  const {
    organisations,
    monitors,
    checks,
    open_incidents,
    alerts_waiting,
    watcher,
    version,
    time_zone_data,
  } = figures;
  const sum = monitors.reduce((all, { count }) => all + count, 0);
  const row = (label: string, value: Part): Html =>
    html`
      <div class="setting">
        <dt>${label}</dt>
        <dd>${value}</dd>
      </div>
    `;
  const byKind = monitors
    .map(({ kind, count }) => `${countText(count)} ${isKind(kind) ? kinds[kind] : kind}`)
    .join(', ');
  return section(
    'Installation',
    html`
      <dl class="card settings lines">
        ${row('Organisations', countText(organisations))}
        ${row('Monitors', sum === 0 ? 'None' : `${countText(sum)}: ${byKind}`)}
        ${row(
          'Checks in the last full hour',
          checks === null
            ? 'None yet'
            : html`
              ${countText(checks.count)}
              <span class="note">${times.span(checks.from, checks.to)}</span>
            `,
        )}
        ${row('Open incidents', countText(open_incidents))}
        ${row('Alerts waiting', countText(alerts_waiting))}
        ${row('Watched by', watcherText(watcher, times))}
        ${row('Version', version)}
        ${row('Time zone data', zonesText(time_zone_data))}
      </dl>
    `,
  );
}

function watcherText(
  watcher: OutputOf<typeof showFigures>['watcher'],
  times: OperatorsRequest['times'],
): Part {
  if (watcher === null)
    return html`
      Nobody
      <span class="note"><a href="/docs/monitoring#who-watches-it">Have it watched</a></span>
    `;
  const { host, accepted_at } = watcher;
  return html`
    ${host}
    <span class="note">
      ${accepted_at === null ? 'No ping accepted yet' : html`Last ping accepted ${times.ago(accepted_at)}`}
    </span>
  `;
}

function zonesText({
  version,
  released_on,
  least_age_days: days,
}: OutputOf<typeof showFigures>['time_zone_data']): Part {
  if (version === null) return 'unknown';
  const age =
    days === null
      ? null
      : `${released_on === null ? 'at least ' : ''}${days === 1 ? '1 day' : `${countText(days)} days`} old`;
  const note = [released_on === null ? null : `of ${released_on}`, age].filter(
    (part) => part !== null,
  );
  return html`${version}<span class="note">${note.join(', ')}</span>`;
}

type Organisations = OutputOf<typeof listOrganisations>;

function organisationsOf({ items, next_cursor }: Organisations, { times }: OperatorsRequest): Html {
  return section(
    'Organisations',
    items.length === 0
      ? none('None')
      : table(
          items.map(({ name, plan, monitors, members, created_at, ends_at }) => ({
            Name: html`
              <span class="stacked">
                <b>${name}</b>
                ${
                  ends_at !== null &&
                  html`<span class="softer">will be deleted on ${times.day(ends_at)}</span>`
                }
              </span>
            `,
            Plan: plan.replace('_', '-'),
            Monitors: number(countText(monitors)),
            Members: number(countText(members)),
            Created: times.day(created_at),
          })),
        ),
    next_cursor !== null &&
      moreLink(`/operator${query({ cursor: next_cursor })}`, 'More organisations'),
  );
}

type Probe = OutputOf<typeof listAllProbes>['items'][number];

function probesOf(items: readonly Probe[], { times }: OperatorsRequest): Html {
  const inUse = items.filter(({ revoked_at }) => revoked_at === null);
  return section(
    'Probes',
    inUse.length === 0
      ? none('No probes')
      : shortList(
          inUse.map((probe) => ({
            State: html`
              <span>
                ${stateMark(...stateOf(probe))}
                ${
                  probe.quarantined &&
                  html`
                    <span class="note">${probe.doubt ?? probe.quarantine_reason}</span>
                  `
                }
              </span>
            `,
            Probe: html`<b>${probe.name}</b>`,
            Continent: probe.continent,
            'Checks for': probe.organisation === null ? 'All organisations' : 'One organisation',
            Version: probe.version ?? '–',
            'Last seen': probe.last_seen_at === null ? '–' : times.ago(probe.last_seen_at),
          })),
          table,
          'probe list',
        ),
  );
}

function stateOf({ quarantined, location, last_seen_at }: Probe): readonly [State, string] {
  if (location === 'doubted') return ['verifying', 'Location doubtful'];
  if (quarantined) return ['verifying', 'Quarantined'];
  return last_seen_at === null ? ['pending', 'Never connected'] : ['up', 'Trusted'];
}

function refusedOf({ items }: OutputOf<typeof listRefused>, { times }: OperatorsRequest): Html {
  return section(
    'Rejected messages',
    items.length === 0
      ? none('None in the last 7 days')
      : shortList(
          items.map(({ day, probe, probe_name, reason, meaning, count, last_at }) => ({
            Day: day,
            From: html`<span>${probe_name ?? probe}</span>`,
            Reason: html`
              <span class="stacked">
                <code>${reason}</code>
                <span class="softer">${meaning}</span>
              </span>
            `,
            Count: countText(count),
            Last: times.moment(last_at),
          })),
          table,
          'refused list',
        ),
  );
}

function setAsideOf({ items }: OutputOf<typeof listSetAside>, { times }: OperatorsRequest): Html {
  return section(
    'Failed messages',
    items.length === 0
      ? none('All messages were processed')
      : shortList(
          items.map(({ id, reason, bytes, at, retry_asked_at }) => ({
            Message: html`<a href="/operator/set-aside/${id}">Message ${id}</a>`,
            Reason: html`
              <span class="stacked">
                <span>${reason}</span>
                ${retry_asked_at !== null && html`<span class="softer">Retry requested</span>`}
              </span>
            `,
            Bytes: countText(bytes),
            Received: times.moment(at),
          })),
          table,
          'set-aside list',
        ),
  );
}
