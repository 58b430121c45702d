import * as api from '../../shared/api/monitors.ts';
import type { InputOf } from '../../shared/api/operation.ts';
import * as resultsApi from '../../shared/api/results.ts';
import { createRecentCache } from '../../shared/base/async.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Interval } from '../../shared/base/time.ts';
import { newPingToken, pingFingerprint } from '../../shared/checks/heartbeat/config.ts';
import { isPrivatePlace, regionPlace } from '../../shared/checks/places.ts';
import { type Stretch, windowOf } from '../core/uptime.ts';
import { deploysWithin } from '../events/queries.ts';
import type { AnswerOf } from '../gate/answer.ts';
import { handle } from '../gate/bind.ts';
import { AlternateStatus, type InOrganisation, orNotFound } from '../gate/context.ts';
import { placedPageOf } from '../gate/cursors.ts';
import { plans } from '../gate/plans.ts';
import { monitorKey } from '../gate/records.ts';
import { groupChoices, requireGroups } from '../groups/queries.ts';
import { newestPings } from '../heartbeats/queries.ts';
import { epochOf } from '../maintenance/zones.ts';
import { monitorMutes } from '../notifications/mute-queries.ts';
import { checkersOf, placesAmong, placesOf } from '../probes/places.ts';
import { yearSeries } from '../results/days.ts';
import { type Percentiles, rawSeries, type SeriesRow } from '../results/series.ts';
import { pingTokenOf } from '../secrets/at-rest.ts';
import { warningJson } from '../warnings/model.ts';
import { openWarningsOf } from '../warnings/queries.ts';
import { type Change, judgeOf, patchOf, writeChanges } from './changes.ts';
import * as contract from './contract.ts';
import { namedDependents, namedParents, parentChoices } from './dependency-queries.ts';
import { placeName } from './locations.ts';
import { longerName } from './model.ts';
import {
  countMonitors,
  insertPingTokens,
  isNameUsed,
  monitorById,
  monitorChoices,
  monitorsAt,
  monitorsForChange,
  pingTokenBox,
  retirePingTokens,
} from './queries.ts';
import { monitorJson, type StoredMonitor } from './row.ts';
import { sidesNow } from './sides.ts';
import {
  currentStatus,
  type MonitorHistory,
  type Status,
  type StoredStatus,
  statusOf,
  stretchesOf,
  uptimeOf,
} from './status.ts';
import {
  type MonitorWithStatus,
  monitorFigures,
  monitorHistories,
  monitorWithStatus,
} from './status-queries.ts';

/**
 * A repeated call of a program creates one monitor: the organisation's lock lets the second caller
 * see what the first created.
 */
export const createMonitor = handle(api.createMonitor)(async (context, input) => {
  const { sql, organisation } = context;
  const [before] = await monitorsForChange(sql, organisation.id, [], [input.external_id]);
  const answer = await change(context, { before, type: input.type, patch: patchOf(input) });
  return before ? new AlternateStatus(200, answer) : answer;
});

/** Changes only what is mentioned. */
export const updateMonitor = handle(api.updateMonitor)(
  async (context, { monitor_id: id, ...patch }) => {
    const { sql, organisation } = context;
    const rows = await monitorsForChange(sql, organisation.id, [id], [patch.external_id]);
    const found = rows.find((row) => row.id === id);
    const before = orNotFound(found, 'monitor_not_found');
    return change(context, { before, type: before.type, patch }, rows);
  },
);

async function change(
  context: InOrganisation,
  asked: Change,
  others: readonly StoredMonitor[] = [],
): Promise<AnswerOf<typeof api.getMonitor>> {
  const { sql, organisation, note, now } = context;
  const judge = await judgeOf(context, [asked], others);
  const planned = await judge(asked);
  const { id, before, monitor } = planned;
  // Of two monitors of one host, the second is named after its path too.
  const isLonger =
    !before && asked.patch.name === null && (await isNameUsed(sql, organisation.id, monitor.name));
  const name = isLonger ? longerName(monitor) : monitor.name;
  await writeChanges(context, [{ ...planned, monitor: { ...monitor, name } }]);
  const row = await monitorWithStatus(sql, context.with.results, organisation.id, id);
  note({ ...(before ? { before: monitorJson(before) } : {}), after: monitorJson(row) });
  return monitorNow(row, now);
}

/** A list of more would weigh more than the form: they are searched. */
const mostParentChoices = 100;

/** Read before a form is shown, so that the form offers what will be accepted. */
export const getMonitorChoices = handle(contract.getMonitorChoices)(
  async ({ sql, organisation }, { find, chosen }) => {
    const { id: of, plan } = organisation;
    const [checkers, places, groups, monitors] = await Promise.all([
      checkersOf(sql, of),
      placesOf(sql, of),
      groupChoices(sql, of),
      countMonitors(sql, of),
    ]);
    const parents =
      monitors > mostParentChoices
        ? await parentChoices(sql, of, find, chosen)
        : await monitorChoices(sql, of);
    const allows = plans[plan];
    const open = checkers.filter((each) => each.organisation === null);
    return {
      continents: [...new Set(open.map(({ continent }) => continent))].toSorted(),
      regions: [
        ...new Set(
          open.flatMap(({ continent, region }) =>
            region === null ? [] : [regionPlace(continent, region)],
          ),
        ),
      ].toSorted(),
      places: places.map((place) => ({
        ...place,
        called: placeName(place.id, of, checkers),
        probes: [...place.probes],
      })),
      groups: groups.map(({ id, name }) => ({ id, name })),
      parents: parents.map(({ id, name, words }) => ({ id, name, words })),
      plan,
      min_interval_s: allows.min_interval_s,
      monitors,
      most_monitors: Number.isFinite(allows.monitors) ? allows.monitors : null,
    };
  },
);

export const findSameTarget = handle(contract.findSameTarget)(
  async ({ sql, organisation }, { type, target }) => ({
    items: await monitorsAt(sql, organisation.id, type, target.trim()),
  }),
);

/** More stretches than anyone reads, and too few to make a page slow. */
const maxStretches = 1_000;

/** Rule 43. The sum and its stretches come from one reading of the ledger, so they always agree. */
export const getMonitorLedger = handle(api.getMonitorLedger)(
  async ({ sql, organisation, now, with: { results } }, { monitor_id: id, days }) => {
    const window = windowOf(days, now);
    const [history] = await monitorHistories(sql, results, organisation.id, [id], window);
    const of = orNotFound(history, 'monitor_not_found');
    const stretches = stretchesOf(of, window).toReversed();
    return {
      monitor: id,
      ...uptimeJson(of, days, window),
      stretches: stretches.slice(0, maxStretches).map(stretchJson),
      left_out: Math.max(0, stretches.length - maxStretches),
    };
  },
);

function stretchJson({ from, to, state, cause }: Stretch) {
  return {
    from,
    to,
    state,
    incident: cause?.is === 'incident' ? cause.id : null,
    window: cause?.is === 'window' ? cause.id : null,
    window_name: cause?.is === 'window' ? cause.name : null,
  };
}

/**
 * Uptime as all answers show it: the percentage, and the five states that make up the time from
 * `from` to `to`.
 */
function uptimeJson(history: MonitorHistory, days: number, window: Interval) {
  const { percent, up, down_seconds, maintenance, unknown, paused } = uptimeOf(history, window);
  return {
    days,
    percent,
    down_seconds,
    from: Math.min(Math.max(window.from, history.created_at), window.to),
    to: window.to,
    up_seconds: up / 1_000,
    maintenance_seconds: maintenance / 1_000,
    unknown_seconds: unknown / 1_000,
    paused_seconds: paused / 1_000,
  };
}

const hour = 3_600;
const day = 24 * hour;

const windowLengths = { '24h': day, '7d': 7 * day, '30d': 30 * day, '1y': 365 * day } as const;

/** Enough points to fill a chart of this length, and few enough for a phone. */
const steps = [
  { most_s: 5 * hour, step_s: 60, source: 'raw' },
  { most_s: 10 * hour, step_s: 120, source: 'raw' },
  { most_s: day, step_s: 300, source: 'raw' },
  { most_s: 8 * day, step_s: hour, source: 'hourly' },
  { most_s: 40 * day, step_s: 4 * hour, source: 'hourly' },
] as const;
const longestStep = { step_s: day, source: 'hourly' } as const;

type Asked = Pick<InputOf<typeof resultsApi.getMonitorResults>, 'window' | 'from' | 'until'>;

/**
 * The stretch that was asked for, in whole steps, so that a point is the same from one reading to
 * the next; the last one may still be filling.
 */
function stretchOf({ window, from, until }: Asked, zone: string, now: number) {
  const end = Math.min(until === null ? now : epochOf(until, zone), now);
  const begin = from === null ? end - windowLengths[window] * 1_000 : epochOf(from, zone);
  const long_s = Math.min(Math.max(60, (end - begin) / 1_000), 366 * day);
  const { step_s, source } = steps.find(({ most_s }) => long_s <= most_s) ?? longestStep;
  const step = step_s * 1_000;
  const to = Math.ceil(end / step) * step;
  // From its end where nobody said where it begins: so a window is always as long.
  const first = from === null ? to - windowLengths[window] * 1_000 : end - long_s * 1_000;
  return { from: Math.floor(first / step) * step, to, step_s, source };
}

function inHours({ from, to }: Interval) {
  const long = hour * 1_000;
  return { from: Math.floor(from / long) * long, to: Math.ceil(to / long) * long, step_s: hour };
}

export const getMonitorResults = handle(resultsApi.getMonitorResults)(
  async ({ sql, organisation, now, with: { results } }, { monitor_id: id, ...asked }) => {
    const monitor = await monitorKey(sql, organisation.id, id);
    const read = async (stretch: ReturnType<typeof stretchOf>) => ({
      ...stretch,
      ...(await (stretch.source === 'raw' ? rawSeries : yearSeries)(
        sql,
        results,
        monitor,
        stretch,
        stretch.step_s,
      )),
    });
    const wanted = stretchOf(asked, organisation.time_zone, now);
    const found = await read(wanted);
    // Single checks are kept for days, what they add up to for longer.
    const isOld =
      wanted.source === 'raw' && found.rows.length === 0 && wanted.to < now - day * 1_000;
    const {
      from,
      to,
      step_s,
      source,
      rows,
      whole,
      places: summaries,
    } = isOld ? await read({ ...inHours(wanted), source: 'hourly' }) : found;
    const deploys = await deploysWithin(sql, organisation.id, id, { from, to });
    const pointOf = ({ slot, ok, failed, unknown, ...times }: SeriesRow) => ({
      at: from + slot * step_s * 1_000,
      ok,
      failed,
      unknown,
      mean_ms: rounded(times.mean),
      min_ms: rounded(times.least),
      max_ms: rounded(times.most),
      median_ms: rounded(times.median),
      p95_ms: rounded(times.p95),
      p99_ms: rounded(times.p99),
      phases: phasesJson(times.phases),
    });
    const of = Map.groupBy(rows, (row) => row.continent);
    const own = [...of.keys()].filter(isPrivatePlace);
    const places = await placesAmong(sql, organisation.id, own);
    return {
      monitor: id,
      step_s,
      source,
      from,
      to,
      series: [...of].map(([seenFrom, points]) => {
        const place = places.find(({ id: each }) => each === seenFrom);
        return {
          continent: place?.continent ?? seenFrom,
          place: place === undefined ? null : { id: place.id, name: place.name },
          points: points.map(pointOf),
          percentiles: percentilesJson(summaries.get(seenFrom) ?? null),
          phases: phasesJson(summaries.get(seenFrom)?.phases ?? null),
        };
      }),
      percentiles: percentilesJson(whole),
      deploys,
    };
  },
);

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}

/** Null for checks that have no phase besides the whole. */
function phasesJson(means: SeriesRow['phases']) {
  const [dns = null, tcp = null, tls = null, first_byte = null, total = null] = means ?? [];
  return [dns, tcp, tls, first_byte].every((each) => each === null)
    ? null
    : {
        dns_ms: rounded(dns),
        tcp_ms: rounded(tcp),
        tls_ms: rounded(tls),
        first_byte_ms: rounded(first_byte),
        total_ms: rounded(total),
      };
}

function percentilesJson(whole: Percentiles | null) {
  const [p50_ms, p95_ms, p99_ms] = [whole?.median, whole?.p95, whole?.p99].map((ms) =>
    rounded(ms ?? null),
  );
  return p50_ms == null || p95_ms == null || p99_ms == null ? null : { p50_ms, p95_ms, p99_ms };
}

/** Uses the same functions as pages and exports, over one moment's view of the ledger. */
export const getMonitorStatus = handle(api.getMonitorStatus)(
  async ({ sql, organisation, now, with: { results } }, { monitor_id: id, days }) => {
    const window = windowOf(days, now);
    const [history] = await monitorHistories(sql, results, organisation.id, [id], window);
    const of = orNotFound(history, 'monitor_not_found');
    const { status, since, last_checked_at } = statusOf(of, now);
    const [[muted], warnings, sides] = await Promise.all([
      monitorMutes(sql, organisation.id, [id], now),
      openWarningsOf(sql, organisation.id, [id]),
      sidesNow(sql, results, organisation.id, id, { isDown: status === 'down', now }),
    ]);
    return {
      monitor: id,
      status,
      since,
      last_checked_at,
      enabled: of.paused_at === null,
      uptime: uptimeJson(of, days, window),
      muted: muted ?? null,
      warnings: warnings.map((warning) => warningJson(warning, now)),
      sides,
    };
  },
);

/** Clients that poll a list get the same times again and again. */
const written = createRecentCache<number, string>(20_000);

/** A monitor with its status at this moment. */
export function monitorNow(row: MonitorWithStatus, now: number) {
  return {
    ...monitorJson(row),
    ...monitorStatusJson(row, now),
    warnings: (row.warnings ?? []).map((warning) => warningJson(warning, now)),
  };
}

function monitorStatusJson(row: StoredStatus, now: number) {
  const { status, since, last_checked_at } = currentStatus(row, now);
  return {
    status,
    since: iso(since),
    last_checked_at: last_checked_at === null ? null : iso(last_checked_at),
  };
}

function iso(at: number): string {
  const known = written.find(at);
  if (known !== undefined) return known;
  const made = new Date(at).toISOString();
  written.keep(at, made);
  return made;
}

export const getMonitor = handle(api.getMonitor)(
  async ({ sql, organisation, now, with: { results } }, { monitor_id }) =>
    monitorNow(await monitorWithStatus(sql, results, organisation.id, monitor_id), now),
);

export const listParents = handle(contract.listParents)(
  async ({ sql, organisation }, { monitor_id: id }) => {
    await monitorKey(sql, organisation.id, id);
    const [items, dependents] = [
      await namedParents(sql, organisation.id, id),
      await namedDependents(sql, organisation.id, id),
    ];
    return { items, dependents: { ...dependents, first: [...dependents.first] } };
  },
);

/** The only place that reads a heartbeat's token; the API never returns it. */
export const getPingAddress = handle(contract.getPingAddress)(
  async ({ sql, organisation, with: { secrets, baseUrl } }, { monitor_id: id }) => {
    const { type } = await monitorById(sql, organisation.id, id);
    const box = await pingTokenBox(sql, organisation.id, id);
    if (box === undefined)
      throw new Refusal(
        'not_a_heartbeat',
        `This is a monitor of type ${type}; only heartbeat monitors have an address.`,
      );
    return { id, address: `${baseUrl()}/beat/${await secrets.open(sql, box, pingTokenOf(id))}` };
  },
);

/** An organisation with more than this reads its lists page by page. */
const maxOfAll = 10_000;

export const listMonitorFigures = handle(contract.listMonitorFigures)(
  async ({ sql, organisation, now, with: { results } }) => {
    const rows = await monitorFigures(
      sql,
      results,
      organisation.id,
      Math.min(plans[organisation.plan].monitors, maxOfAll),
      now,
    );
    return {
      items: rows.map(({ id, name, type, status, response_ms, place, warnings }) => ({
        id,
        name,
        type,
        status,
        is_up: isUp(status),
        response_ms,
        place,
        warnings: (warnings ?? []).map(({ code }) => code),
      })),
      left_out: (rows[0]?.count ?? 0) - rows.length,
    };
  },
);

/** An outage that was not confirmed does not count (rule 11). */
function isUp(status: Status): boolean | null {
  return status === 'pending' || status === 'paused' ? null : status !== 'down';
}

export const listMonitors = handle(api.listMonitors)(
  async (
    { sql, organisation, now, with: { cursors, shownMonitors } },
    { sort, limit, cursor, ...filter },
  ) => {
    const { id: of } = organisation;
    const { status, type, group, enabled, warning, external_id } = filter;
    const [text, tag] = [filter.text ?? '', filter.tag?.trim().toLowerCase() ?? null];
    if (group !== null) await requireGroups(sql, of, [group]);
    return placedPageOf(
      cursors,
      ['monitors', of, sort, status, type, group, enabled, tag, warning, external_id, text],
      { limit, cursor },
      (after, most) =>
        shownMonitors.page(sql, {
          organisation: of,
          filter: { status, type, group, enabled, tag, warning, external_id, text },
          sort,
          after,
          most,
        }),
      (row) => monitorNow(row, now),
    );
  },
);

export const getMonitorPings = handle(resultsApi.getMonitorPings)(
  async ({ sql, organisation, with: { cursors } }, { monitor_id: id, limit, cursor }) => {
    const { type } = await monitorById(sql, organisation.id, id);
    if (type !== 'heartbeat')
      throw new Refusal(
        'not_a_heartbeat',
        `This is a monitor of type ${type}; only heartbeat monitors have pings.`,
      );
    return placedPageOf(
      cursors,
      ['pings', organisation.id, id],
      { limit, cursor },
      (after, most) => newestPings(sql, organisation.id, id, { after, most }),
      ({ key: _, place, at, ear, ...ping }) => ({ ...ping, id: place, at, received_by: ear }),
    );
  },
);

/**
 * A new token counts at once. Older ones stay valid for as long as it takes to reconfigure every
 * job, or end at once where someone else has one.
 */
export const rotatePingAddress = handle(contract.rotatePingAddress)(
  async ({ sql, organisation, now, with: { secrets, baseUrl } }, { monitor_id: id, overlap_s }) => {
    const { type } = await monitorById(sql, organisation.id, id);
    const until = now + overlap_s * 1_000;
    if (!(await retirePingTokens(sql, organisation.id, id, until)))
      throw new Refusal(
        'not_a_heartbeat',
        `This is a monitor of type ${type}; only heartbeat monitors have an address.`,
      );
    const token = newPingToken();
    const box = await secrets.seal(sql, token, pingTokenOf(id));
    await insertPingTokens(sql, organisation.id, [
      { fingerprint: pingFingerprint(token), monitor: id, box },
    ]);
    return { id, address: `${baseUrl()}/beat/${token}`, old_until: until };
  },
);
