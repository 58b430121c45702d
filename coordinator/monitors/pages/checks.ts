import { getMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { checkOutcomes, getMonitorChecks } from '../../../shared/api/results.ts';
import { capital } from '../../../shared/base/text.ts';
import { evidenceRows } from '../../incidents/pages/evidence.ts';
import { heading, linkButton, moreLink, msText, notice, stateMark } from '../../web/elements.ts';
import { dayAfter, dayOf, dayWords, fieldEnds, filterFields } from '../../web/filter.ts';
import { formOf } from '../../web/form-data.ts';
import { freshForm, selectField, textField } from '../../web/forms.ts';
import { type Html, html, icon, query, safeUrl } from '../../web/html.ts';
import { forMembers, type MembersRequest, show } from '../../web/page.ts';
import { phaseBar, phaseBarAlone, phaseLegend } from '../../web/phases.ts';
import { number, stepTable } from '../../web/tables.ts';
import { getMonitorCheck, getMonitorChoices } from '../contract.ts';

const outcomeWords = { ok: 'Passed', fail: 'Failed', unknown: 'Inconclusive' } as const;
const outcomeStates = { ok: 'up', fail: 'down', unknown: 'unknown' } as const;

function timed({ phases, took_ms }: Pick<Check, 'phases' | 'took_ms'>) {
  return {
    phases: phases && {
      dns: phases.dns_ms,
      tcp: phases.tcp_ms,
      tls: phases.tls_ms,
      first_byte: phases.first_byte_ms,
    },
    tookMs: took_ms,
  };
}

/** Every single check behind the chart of a monitor. */
export const checksPage = forMembers.get('/monitors/:monitor_id/checks', async (request) => {
  const { ask, path } = request;
  const { monitor_id } = path;
  const filter = filterOf(request.query);
  const { cursor } = request.query;
  const isFiltered = Object.values(filter).some((each) => each !== '');
  const [monitor, { items, next_cursor }, { menu, ends }] = await Promise.all([
    ask(getMonitor, { monitor_id }),
    ask(getMonitorChecks, {
      monitor_id,
      ...inputFor(filter),
      ...(cursor === undefined ? {} : { cursor }),
    }),
    filterOfList(request, filter),
  ]);
  return show({
    title: `Checks: ${monitor.name}`,
    place: 'monitors',
    live: cursor === undefined && !isFiltered,
    main: html`
        ${heading({
          sentence:
            isFiltered || cursor !== undefined || items.length === 0
              ? `Checks of ${monitor.name}`
              : lastWords(items, monitor.name),
          trail: [
            { href: '/', name: 'Monitors' },
            { href: `/monitors/${monitor_id}`, name: monitor.name },
          ],
          actions: menu,
        })}
        ${ends}
        ${
          items.length === 0
            ? html`
              <div class="card">
                <p class="nothing">
                  ${isFiltered ? 'No checks match this filter.' : 'No checks yet.'}
                </p>
              </div>
            `
            : html`${phaseLegend(items.map(timed))}${tableOf(items, monitor.id, request)}`
        }
        ${
          next_cursor !== null &&
          moreLink(
            `/monitors/${monitor_id}/checks${query({ ...filter, cursor: next_cursor })}`,
            'Earlier',
          )
        }
      `,
  });
});

/** An invalid value filters nothing. `to` is a day that is included. */
function filterOf({ outcome, place = '', from = '', to = '' }: MembersRequest['query']) {
  return {
    outcome: checkOutcomes.find((each) => each === outcome) ?? '',
    place,
    from: dayOf(from),
    to: dayOf(to),
  };
}

type Filter = ReturnType<typeof filterOf>;

function inputFor({ outcome, place, from, to }: Filter) {
  return {
    ...(outcome === '' ? {} : { outcome }),
    ...(place === '' ? {} : { place }),
    ...(from === '' ? {} : { from }),
    ...(to === '' ? {} : { until: dayAfter(to) }),
  };
}

async function filterOfList({ ask, path }: MembersRequest, filter: Filter) {
  const { continents, regions, places } = await ask(getMonitorChoices);
  const state = freshForm(formOf(filter));
  const address = `/monitors/${path.monitor_id}/checks`;
  const outcomes = checkOutcomes.map((each) => ({ value: each, label: outcomeWords[each] }));
  const words = {
    outcome: outcomes.find(({ value }) => value === filter.outcome)?.label ?? '',
    place: places.find(({ id }) => id === filter.place)?.name ?? filter.place,
    ...dayWords(filter),
  };
  const fields = html`
      ${selectField({
        name: 'outcome',
        label: 'Outcome',
        choices: [{ value: '', label: 'Any outcome' }, ...outcomes],
        state,
      })}
      ${selectField({
        name: 'place',
        label: 'Location',
        choices: [
          { value: '', label: 'All locations' },
          ...[...continents, ...regions].toSorted().map((each) => ({ value: each, label: each })),
          ...places.map(({ id, name }) => ({ value: id, label: name })),
        ],
        state,
      })}
      ${textField({ name: 'from', label: 'From', type: 'date', state })}
      ${textField({ name: 'to', label: 'To', type: 'date', state })}
  `;
  return { menu: filterFields(address, fields), ends: fieldEnds(address, filter, words) };
}

/** `9 of the last 50 checks of Checkout failed` */
function lastWords(items: readonly Check[], name: string): string {
  const failed = items.filter(({ outcome }) => outcome === 'fail').length;
  const last = items.length === 1 ? 'check' : `${items.length} checks`;
  return `${failed === 0 ? 'None' : failed} of the last ${last} of ${name} failed`;
}

type Check = OutputOf<typeof getMonitorChecks>['items'][number];

function tableOf(
  items: readonly Check[],
  monitor: string,
  { times }: MembersRequest,
  shown?: Check,
): Html {
  const slowestMs = Math.max(...items.map(({ took_ms }) => took_ms));
  const rows = items.map((check) => {
    const { at, took_ms, continent, probe, cause } = check;
    const isShown = at === shown?.at && probe === shown.probe;
    const outcome = checkOutcomes.find((each) => each === check.outcome) ?? 'unknown';
    return {
      part: times.text(at, 'day'),
      Time: html`
        <a
          class="row-link"
          href="${safeUrl(addressOf(monitor, check))}"${isShown && html` aria-current="page"`}
        >${times.clock(at)}</a>
      `,
      Outcome: html`
        ${stateMark(outcomeStates[outcome], outcomeWords[outcome])}${' '}
        ${cause !== null && html`<span class="soft">${classWords(cause)}</span>`}
      `,
      Response: number(msText(took_ms)),
      Location: html`${probe} <span class="softer">${continent}</span>`,
      Phases: html`<div class="phases-cell">${phaseBarAlone(timed(check), slowestMs) ?? '–'}</div>`,
    };
  });
  return stepTable(rows);
}

function addressOf(monitor: string, { at, probe }: Check): string {
  return `/monitors/${monitor}/check${query({ at: Date.parse(at), probe })}`;
}

/** `unexpected_status` → Unexpected status: single checks keep the class of their cause alone. */
function classWords(cause: string): string {
  return capital(cause.replaceAll('_', ' '));
}

const outcomeVerbs = { ok: 'passed', fail: 'failed', unknown: 'was inconclusive' } as const;

/** One check: when, where, how long each phase took, and what it saw if that is kept. */
export const checkPage = forMembers.get('/monitors/:monitor_id/check', async (request) => {
  const { ask, path, times, query: asked } = request;
  const { monitor_id } = path;
  const [monitor, { check, cause, evidence, incident }] = await Promise.all([
    ask(getMonitor, { monitor_id }),
    ask(getMonitorCheck, { monitor_id, at: asked.at ?? '0', probe: asked.probe ?? '' }),
  ]);
  const { items: around } = await ask(getMonitorChecks, {
    monitor_id,
    ...aroundOf(Date.parse(check.at), monitor.interval_s),
  });
  const place = around.findIndex(({ at, probe }) => at === check.at && probe === check.probe);
  const outcome = checkOutcomes.find((each) => each === check.outcome) ?? 'unknown';
  const state = outcomeStates[outcome];
  const why = cause ?? (check.cause === null ? null : classWords(check.cause));
  const bar = phaseBar(timed(check));
  const rows = evidence === null ? [] : evidenceRows([{ ...check, evidence, phases: null }]);
  return show({
    title: `Check: ${monitor.name}`,
    place: 'monitors',
    main: html`
      <div class="stack">
        ${heading({
          sentence: `${monitor.name} ${outcomeVerbs[outcome]} from ${check.probe}`,
          below: html`
            ${times.whole(check.at)} ${times.zoneName(check.at)} · ${check.continent}
          `,
          trail: [
            { href: '/', name: 'Monitors' },
            { href: `/monitors/${monitor_id}`, name: monitor.name },
            { href: `/monitors/${monitor_id}/checks`, name: 'Checks' },
          ],
          actions: html`
            ${place >= 0 && stepTo(monitor.id, around[place + 1], html`${icon('previous')}Earlier`)}
            ${place > 0 && stepTo(monitor.id, around[place - 1], html`Later${icon('next')}`)}
          `,
        })}
        ${
          (why !== null || incident !== null) &&
          notice(
            state,
            why ?? 'An incident was open at that time',
            incident !== null &&
              html`
                <span class="links"><a href="/incidents/${incident}">Part of an incident</a></span>
              `,
          )
        }
        <section class="card phases">
          <h2>${check.took_ms === null ? 'No response time' : `Response in ${msText(check.took_ms)}`}</h2>
          ${bar}
        </section>
        <section>
          <div class="section-head">
            <h2>Evidence</h2>
            ${rows.length > 0 && html`<p class="soft">Content from your server, shown as is.</p>`}
          </div>
          ${
            rows.length === 0
              ? html`
                <p class="nothing card">
                  Only checks that begin, confirm or recheck an incident keep what they saw.
                </p>
              `
              : html`
                <div class="table-card evidence"><table><tbody>${rows}</tbody></table></div>
              `
          }
        </section>
        ${
          around.length > 1 &&
          html`
            <section><h2>Checks around it</h2>${tableOf(around, monitor.id, request, check)}</section>
          `
        }
      </div>
    `,
  });
});

/** What the other locations saw shortly before and after. */
function aroundOf(at: number, interval_s: number) {
  const beside = Math.max(120, interval_s * 2) * 1_000;
  return { from: new Date(at - beside).toISOString(), until: new Date(at + beside).toISOString() };
}

function stepTo(monitor: string, check: Check | undefined, words: Html): Html | null {
  return check === undefined ? null : linkButton(addressOf(monitor, check), words);
}
