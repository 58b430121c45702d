import { listCertificates, listDomains } from '../../../shared/api/expiry.ts';
import { getIncidentEvidence, listIncidents } from '../../../shared/api/incidents.ts';
import {
  deleteMonitor,
  getMonitor,
  getMonitorLedger,
  getMonitorStatus,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { getMonitorPings, getMonitorResults, resultWindows } from '../../../shared/api/results.ts';
import { isContinent } from '../../../shared/base/continents.ts';
import { durationText } from '../../../shared/base/time.ts';
import { outageRow, runbook } from '../../incidents/pages/verdict.ts';
import { listNotified } from '../../notifications/contract.ts';
import { recipients } from '../../notifications/pages/recipients.ts';
import { expiryFigures } from '../../warnings/pages/certificates.ts';
import {
  chips,
  daysText,
  figure,
  heading,
  linkButton,
  msText,
  percentFigure,
  stateOf,
} from '../../web/elements.ts';
import { type Html, html, icon, joined, type Part, query, safeUrl } from '../../web/html.ts';
import { menuButton, menuLink, moreActions } from '../../web/menu.ts';
import { forMembers, type MembersRequest, type PageAnswer, show } from '../../web/page.ts';
import type { Times } from '../../web/times.ts';
import { witnessLine } from '../../web/witnesses.ts';
import { listParents, rotatePingAddress } from '../contract.ts';
import { flappingNow, percentOfEnough } from '../status.ts';
import { intervalWords } from './form-fields.ts';
import { addressFor, addressPart, pingList, rotateForm, runFigures } from './heartbeat.ts';
import { type Ledger, ledgerBar, ledgerSum, ledgerTable } from './ledger.ts';
import { flappingBadge, kindWord, mutedWords, muteForm } from './monitor-table.ts';
import {
  meanOf,
  phaseChart,
  type Results,
  responseChart,
  responseTable,
  valueLabel,
  valuesOf,
  weekMs,
} from './response-chart.ts';
import { changedMeaning, checkedFrom, settingsList, unknownKeysNotice } from './settings.ts';

export type Monitor = OutputOf<typeof getMonitor>;

/** `every minute`, `every 10 seconds`. */
function everyText(interval_s: number): string {
  return `every ${intervalWords(interval_s).replace(/^1 /, '')}`;
}

type Status = OutputOf<typeof getMonitorStatus>;

const dayChoices = [1, 7, 30, 90, 365];
/** A monitor as young as this is drawn from its first check on, in the finest steps. */
const youngMs = 5 * 3_600_000;
/** A longer stretch is not compared with the one a week before it. */
const mostComparedMs = 8 * 86_400_000;

const windowDays = { '24h': 1, '7d': 7, '30d': 30, '1y': 365 } as const;

export const monitor = forMembers.get('/monitors/:monitor_id', answer);

async function answer(request: MembersRequest): Promise<PageAnswer> {
  const { ask, path, query: asked, times, now } = request;
  const monitor_id = path.monitor_id;
  const window = resultWindows.find((each) => each === asked.window) ?? '24h';
  const days = dayChoices.find((each) => String(each) === asked.days) ?? 30;
  const zoom = zoomOf(asked, now);
  const monitor = await ask(getMonitor, { monitor_id });
  const log = ask(getMonitorLedger, { monitor_id, days });
  const created = Date.parse(monitor.created_at);
  const stretch =
    zoom ?? (window === '24h' && now - created < youngMs ? { from: created, until: now } : null);
  const long = stretch === null ? windowDays[window] * 86_400_000 : stretch.until - stretch.from;
  const mayCompare = long <= mostComparedMs && now - created > weekMs;
  const isCompared = mayCompare && asked.compare === 'week';
  const [status, ledger, marks, results, before, { items }, told, certificates, domains, parents] =
    await Promise.all([
      ask(getMonitorStatus, { monitor_id, days }),
      log,
      // A log as long as the chart has all that the chart marks.
      marksDays(now, zoom, window) > days
        ? ask(getMonitorLedger, { monitor_id, days: marksDays(now, zoom, window) })
        : log,
      ask(getMonitorResults, { monitor_id, window, ...momentsOf(stretch) }),
      isCompared
        ? ask(getMonitorResults, {
            monitor_id,
            ...momentsOf({
              from: (stretch?.from ?? now - long) - weekMs,
              until: (stretch?.until ?? now) - weekMs,
            }),
          })
        : null,
      ask(listIncidents, { monitor: monitor_id, days, limit: 20 }),
      ask(listNotified, { monitor_id }),
      ask(listCertificates, { monitor: monitor_id }),
      ask(listDomains, { monitor: monitor_id }),
      ask(listParents, { monitor_id }),
    ]);
  const open = items[0]?.open ? await ask(getIncidentEvidence, { incident_id: items[0].id }) : null;
  const isHeartbeat = monitor.type === 'heartbeat';
  const [pings, address] = isHeartbeat
    ? await Promise.all([
        ask(getMonitorPings, { monitor_id, limit: '100' }).then(({ items: all }) => all),
        addressFor(request),
      ])
    : [[], undefined];
  const address_ = (changed: Readonly<Record<string, string>>) =>
    `/monitors/${monitor.id}${query({
      window,
      days,
      value,
      ...(zoom && { from: asked.from, until: asked.until }),
      ...(isCompared && { compare: 'week' }),
      address: asked.address,
      ...changed,
    })}`;
  const begins = status.status.charAt(0).toUpperCase() + status.status.slice(1);
  const state = stateOf(status.status);
  const shownValues = valuesOf(results);
  const value = shownValues.find((each) => each === asked.value) ?? shownValues[0] ?? 'mean';
  const { interval_s } = monitor;
  const hasPassed = results.series.some(({ points }) => points.some(({ ok }) => ok > 0));
  const chart = responseChart({ results, before, ledger: marks, times, value, interval_s });
  const phases = phaseChart(results, times, interval_s);
  const chartPart = html`
    <section class="card">
      <div class="section-head">
        <h2>Response time by continent</h2>
        <div class="row controls">
        ${
          shownValues.length > 1 &&
          chips(
            'Value',
            shownValues.map((each) => ({
              href: address_({ value: each }),
              label: valueLabel(each),
              current: each === value,
            })),
          )
        }
        ${
          mayCompare &&
          chips('Comparison', [
            {
              href: address_({ compare: isCompared ? '' : 'week' }),
              label: 'Week before',
              current: isCompared,
            },
          ])
        }
        ${chips(
          'Time range of the chart',
          resultWindows.map((each) => ({
            href: address_({ window: each, from: '', until: '' }),
            label: daysText(windowDays[each]),
            current: zoom === null && each === window,
          })),
        )}
        </div>
      </div>
      ${
        zoom !== null &&
        html`
          <p class="soft">
            ${times.span(zoom.from, zoom.until)}. <a href="${safeUrl(address_({ from: '', until: '' }))}">
              Zoom out
            </a>
          </p>
        `
      }
      ${
        chart ??
        html`<p class="nothing">${hasPassed ? 'Not enough checks yet' : 'No passing checks in this time'}</p>`
      }
      ${
        chart !== null &&
        phases !== null &&
        html`
          <h2>Where the time goes</h2>
          ${phases}
        `
      }
      ${
        hasPassed &&
        html`
          <div class="section-head">
            <details class="as-table">
              <summary>Show as a table</summary>
              ${responseTable(results, times, value)}
            </details>
            <a href="/monitors/${monitor.id}/checks">All checks</a>
          </div>
        `
      }
    </section>
  `;
  const settings: readonly Part[] = [
    parentsLine(parents.items),
    dependentsLine(parents.dependents),
    settingsList(monitor),
    open === null && runbook(monitor),
  ];
  return show({
    title: `${begins}: ${monitor.name}`,
    place: 'monitors',
    charts: true,
    live: true,
    ...(address === undefined ? {} : { headers: { 'cache-control': 'no-store' } }),
    main: html`
      <div class="stack" id="monitor-${monitor.id}">
        ${heading({
          sentence: html`
            <span class="state-${state}">${icon(state)}</span>
            ${' '}${sentenceOf(monitor, { ...status, since: open?.started_at ?? status.since }, now)}
          `,
          below: html`${belowOf(monitor, times)} ${flappingOf(items, now)}`,
          actions: actionsOf(monitor, request),
          trail: [{ href: '/', name: 'Monitors' }],
        })}
        ${mutedLine(monitor, status, request)}
        ${unknownKeysNotice(monitor)}
        ${status.warnings.map(
          (warning, nth) => html`
            <section class="card row outage-row state-verifying">
              <div>
                <h2>${icon('verifying')}${warning.text}</h2>
                <p class="soft">
                  Since ${times.moment(warning.since)}.${nth === 0 && ' A warning does not count as downtime.'}
                </p>
              </div>
              ${leavingOut(monitor, warning, request)}
            </section>
          `,
        )}
        ${changedMeaning(monitor)}
        ${open === null ? sidesPart(status) : outageRow(open, monitor)}
        <dl class="figures">
          ${uptimeFigures(ledger)}
          ${isHeartbeat ? runFigures(pings, times) : responseFigures(results)}
          ${expiryFigures(certificates.items, domains.items, now)}
        </dl>
        ${
          isHeartbeat
            ? html`
              <section>
                <h2>Last pings</h2>
                ${pingList(pings, times)}
              </section>
              ${addressPart(monitor, address)}
            `
            : chartPart
        }
        <section id="ledger">
          <div class="section-head">
            <h2>Uptime log</h2>
            ${chips(
              'Time range of the log',
              dayChoices.map((each) => ({
                href: `${address_({ days: String(each) })}#ledger`,
                label: daysText(each),
                current: each === days,
              })),
            )}
            <p class="row">
              <a href="${safeUrl(`/incidents?monitor=${monitor.id}&state=all&days=${days}`)}">Incidents</a>
              <a href="${safeUrl(`/reports?monitor=${monitor.id}`)}">Report</a>
            </p>
          </div>
          <div class="card">${ledgerBar(ledger, times)}${ledgerSum(ledger)}</div>
          ${isEven(ledger, items) ? null : ledgerTable(ledger, times, items)}
        </section>
        ${recipients(told.items)}
        ${
          settings.some((each) => each) &&
          html`<section class="card" id="settings"><h2>Settings</h2>${settings}</section>`
        }
      </div>
    `,
  });
}

/** The stretch that an address names. */
function zoomOf(asked: MembersRequest['query'], now: number): Zoom | null {
  const [from, until] = [asked.from, asked.until].map((text) => Date.parse(text ?? ''));
  return from !== undefined && until !== undefined && from < until && from < now
    ? { from, until }
    : null;
}

type Zoom = { readonly from: number; readonly until: number };

function momentsOf(zoom: Zoom | null): { readonly from?: string; readonly until?: string } {
  return zoom === null
    ? {}
    : { from: new Date(zoom.from).toISOString(), until: new Date(zoom.until).toISOString() };
}

/** Days of the log that has all that a chart marks. */
function marksDays(now: number, zoom: Zoom | null, window: keyof typeof windowDays): number {
  return zoom === null
    ? windowDays[window]
    : Math.min(365, Math.ceil((now - zoom.from) / 86_400_000));
}

function sentenceOf({ name, type }: Monitor, { status, since }: Status, now: number): string {
  const long = since === null ? '' : ` for ${durationText(now - Date.parse(since))}`;
  if (status === 'up') return `${name} has been up${long}`;
  if (status === 'down') return `${name} has been down${long}`;
  if (status === 'paused') return `${name} has been paused${long}`;
  return status === 'verifying'
    ? `${name} is being verified`
    : `${name} waits for its first ${type === 'heartbeat' ? 'ping' : 'check'}`;
}

/** `Website or API · https://shop.example/ · every minute since 27 Sept 2026` */
function belowOf({ type, target, interval_s, config, created_at }: Monitor, times: Times): Part {
  const method = typeof config.method === 'string' ? `${config.method} ` : '';
  const parts = [
    kindWord(type),
    ...(type === 'heartbeat' ? [] : [html`<code>${method}${target}</code>`]),
    html`${everyText(interval_s)} since ${times.day(created_at)}`,
  ];
  return joined(parts, html` <span class="softer">·</span> `);
}

type Incidents = OutputOf<typeof listIncidents>['items'];

/** Whether it flaps, as its row of the dashboard says. */
function flappingOf(incidents: Incidents, now: number): Part {
  const outages = incidents
    .flatMap(({ id, confirmed_at, resolved_at }) =>
      confirmed_at === null
        ? []
        : [
            {
              incident: id,
              confirmed_at: Date.parse(confirmed_at),
              resolved_at: resolved_at === null ? null : Date.parse(resolved_at),
            },
          ],
    )
    .toSorted((a, b) => a.confirmed_at - b.confirmed_at);
  const flapping = flappingNow(outages, now);
  return flappingBadge(
    flapping && { ...flapping, since: new Date(flapping.since).toISOString() },
    now,
  );
}

/** What is done often is a button; the rest is in the menu. */
function actionsOf(monitor: Monitor, { may }: MembersRequest): Html | null {
  const { id, enabled, type } = monitor;
  return may(updateMonitor)
    ? html`
      ${linkButton(`/monitors/${id}/edit`, 'Edit', { symbol: 'edit' })}
      <form method="post" action="/monitors/${id}/${enabled ? 'pause' : 'resume'}">
        <button class="button">
          ${icon(enabled ? 'pause' : 'play')}
          ${enabled ? 'Pause' : 'Resume'}
        </button>
      </form>
      ${moreActions(
        html`
          ${
            enabled &&
            type !== 'heartbeat' &&
            html`
              <form method="post" action="/monitors/${id}/edit#try">
                ${menuButton('Test now', ['act', 'try'], { symbol: 'again' })}
              </form>
            `
          }
          ${menuLink(`/maintenance/new?when=now&monitor=${id}`, 'Maintenance', {
            symbol: 'maintenance',
          })}
          ${menuLink(`/monitors/new?from=${id}`, 'Clone', { symbol: 'copy' })}
          <hr>
          ${muteForm(id)}
          ${type === 'heartbeat' && may(rotatePingAddress) && rotateForm(monitor)}
          ${
            may(deleteMonitor) &&
            html`
              <hr>
              ${menuLink(`/monitors/${id}/delete`, 'Delete', { symbol: 'delete', danger: true })}
            `
          }
        `,
      )}
    `
    : null;
}

function mutedLine({ id }: Monitor, { muted }: Status, { may, times }: MembersRequest): Part {
  return (
    muted !== null &&
    html`
    <form class="actions" method="post" action="/monitors/${id}/unmute" id="muted-monitor">
      ${icon('pause')}
      <span>${mutedWords(muted, times)}</span>
      ${may(updateMonitor) && html`<button class="button">Unmute</button>`}
    </form>
  `
  );
}

/** What explains its outages (rule 47). */
function parentsLine(parents: OutputOf<typeof listParents>['items']): Part {
  return (
    parents.length > 0 &&
    html`
      <p class="soft">
        Depends on ${parents.map(({ id, name, kind }, nth) => {
          const comma = nth > 0 && ', ';
          return kind === 'monitor'
            ? html`${comma}<a href="/monitors/${id}">${name}</a>`
            : html`${comma}<a href="/groups/${id}">${name}</a>`;
        })}. While one of these is down, alerts of this monitor are held.
      </p>
    `
  );
}

function dependentsLine({ first, count }: OutputOf<typeof listParents>['dependents']): Part {
  return (
    count > 0 &&
    html`
      <p class="soft">
        ${count === 1 ? 'Depends on it' : `${count} monitors depend on it`}:${' '}
        ${first.map(
          ({ id, name }, nth) => html`${nth > 0 && ', '}<a href="/monitors/${id}">${name}</a>`,
        )}${count > first.length && ` and ${count - first.length} more`}.
      </p>
    `
  );
}

/** Where one continent alone fails, checks from there can end with one click. */
function leavingOut(
  { id, config }: Monitor,
  { code, details }: Status['warnings'][number],
  { may }: MembersRequest,
): Part {
  const place = details.places;
  const isOffered =
    code === 'place_fails' &&
    isContinent(place) &&
    config.places == null &&
    checkedFrom(config).length > 1 &&
    may(updateMonitor);
  return (
    isOffered &&
    html`
      <form class="actions" method="post" action="/monitors/${id}/leave-out">
        <input type="hidden" name="continent" value="${place}">
        <button class="button">Leave ${place} out</button>
      </form>
    `
  );
}

/** What its private and public places see now. */
function sidesPart({ sides }: Status): Part {
  if (sides === null) return null;
  const witnesses = [sides.inside, sides.outside].flatMap(({ failing, passing }) =>
    [...failing, ...passing].map((place, nth) => ({
      place,
      outcome: nth < failing.length ? ('fail' as const) : ('ok' as const),
      after_ms: null,
    })),
  );
  return html`
    <section class="card row outage-row${sides.verdict !== null && ' state-verifying'}">
      <div>
      <h2>${icon('verifying')}${sides.sentence ?? 'Inside and outside'}</h2>
      ${witnessLine(witnesses)}
      </div>
    </section>
  `;
}

/** Up all the time, which its sum says. */
function isEven({ stretches }: Ledger, [newest]: Incidents): boolean {
  return stretches.length === 1 && stretches[0]?.state === 'up' && newest?.open !== true;
}

function uptimeFigures({ days, from, to, percent, up_seconds, down_seconds }: Ledger): Html {
  const ms = Date.parse(to) - Date.parse(from);
  const shown = percentOfEnough(percent, (up_seconds + down_seconds) * 1_000);
  const long = daysText(days, ms);
  return html`
    ${
      shown === null
        ? figure('Uptime', html`<small>after the first hour</small>`)
        : figure(`Uptime, ${long}`, percentFigure(shown))
    }
    ${figure(`Down, ${long}`, down_seconds === 0 ? 'Never' : durationText(down_seconds * 1_000))}
  `;
}

function responseFigures({ series, percentiles }: Results): Html {
  if (percentiles === null)
    return figure('Response, mean', msText(meanOf(series.flatMap(({ points }) => points))));
  const { p50_ms, p95_ms } = percentiles;
  return html`
    ${figure('Response, p50', msText(p50_ms))}
    ${figure('Response, p95', msText(p95_ms))}
  `;
}
