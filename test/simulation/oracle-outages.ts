import type { Incident } from '../../coordinator/core/types.ts';
import { uptime, windowOf } from '../../coordinator/core/uptime.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Database, Made, Record } from './database.ts';
import { dueAt } from './oracle-alerts.ts';
import { saysSomething } from './oracle-known.ts';
import type { Happening, MonitorSpec, Story } from './story.ts';
import { happeningsOf, type Of, type Truth } from './truth.ts';

/**
 * Every outage that really was, held against what was made of it: found, dated, confirmed in time,
 * ended in time, told in time.
 */

type Confirmations = ReadonlyMap<string, number>;
type Dependencies = {
  readonly story: Story;
  readonly truth: Truth;
  readonly record: Record;
  readonly database: Database;
  readonly confirmed: Confirmations;
};
type Outage = Of<'outage'>;
type Case = Dependencies & {
  readonly outage: Outage;
  readonly spec: MonitorSpec;
  readonly places: readonly Continent[];
  readonly seeing: readonly Continent[];
  readonly made: readonly Made[];
};

/** A quick check, its way to us and its decision; and the same for a look that follows. */
const quick = 1_500;
/** Who is away for longer is lost, and waited for by nobody. */
const lostAfter = 14_500;
const lingering = 75 * 60_000;
const minute = 60_000;

const ours: readonly Happening['is'][] = [
  'coordinator killed',
  'coordinator frozen',
  'database refuses',
  'call hangs',
  'bus away',
  'bus wiped',
  'probes cut off',
];
const cutOff: readonly (Happening['is'] | 'unwell')[] = [
  'unwell',
  'probes cut off',
  'probe cut off',
  'bus away',
];
const harmless: readonly Happening['is'][] = ['window', 'moved'];

const concerns = (happening: Happening, outage: Outage): boolean => {
  if (harmless.includes(happening.is) || happening === outage) return false;
  if (happening.is === 'outage' || happening.is === 'edited' || happening.is === 'paused')
    return happening.monitor === outage.monitor;
  return true;
};

/** What else befell us around the outage; a rough bus and a sick probe are felt for long after. */
const disturbances = (
  { story, record }: Dependencies,
  outage: Outage,
  from: number,
  to: number,
): readonly (Happening['is'] | 'unwell')[] => {
  const others = story.happenings.filter((each) => {
    const felt =
      each.is === 'rough bus' || each.is === 'probe sick' || each.is === 'probe skewed'
        ? lingering
        : 0;
    return concerns(each, outage) && each.at < to && each.until + felt >= from;
  });
  const unwell = record.unwell.some((at) => at >= from && at <= to);
  return [...others.map(({ is }) => is), ...(unwell ? (['unwell'] as const) : [])];
};

const incidentsOf = ({ database, outage }: Case): Incident[] =>
  [...database.incidents.values()]
    .filter(({ monitor }) => monitor === outage.monitor)
    .map(({ incident }) => incident);

const failsDuring = ({ made, outage, spec }: Case): Made[] =>
  made.filter(
    (each) =>
      each.outcome === 'fail' &&
      each.started >= outage.at &&
      each.started < outage.until + spec.timeout_ms,
  );

/** How long until somebody who sees it has had a turn. */
const firstTurn = ({ spec, places, seeing }: Case): number =>
  (places.length - seeing.length + 1) * spec.interval_ms;

const slowest = ({ outage, spec, seeing }: Case): number =>
  seeing.some((place) => outage.slow.includes(place)) ? spec.timeout_ms : 0;

/**
 * Rules 12 and 13: dated by the check with which fewer than two failed, and seen soon because it is
 * sampled.
 */
const faultsOfEnd = (given: Case, incident: Incident): string[] => {
  const { outage, made, spec, places } = given;
  const { confirmed_at, resolved_at } = incident;
  if (confirmed_at === null) return [];
  if (resolved_at === null) return ['it never ended'];
  const turn = places.length * spec.interval_ms;
  const decidedAt = ({ decided_at }: Made) => decided_at ?? Number.POSITIVE_INFINITY;
  const firstPass = Math.min(
    ...made.filter((each) => each.outcome === 'ok' && each.started >= outage.until).map(decidedAt),
  );
  // One that failed and was heard only after the first pass may have been the last to end it.
  if (
    made.some(
      (each) =>
        each.outcome === 'fail' &&
        each.started < outage.until &&
        each.started >= outage.at &&
        decidedAt(each) > firstPass,
    )
  )
    return [];
  const failing = places.filter((place) => {
    const known = made.filter(
      (each) =>
        each.continent === place && each.started < outage.until && decidedAt(each) <= firstPass,
    );
    const last = known.at(-1);
    return last?.outcome === 'fail' && outage.until - last.at < turn;
  });
  // In the order in which they were decided, which is not always that in which they started.
  const byDecision = (a: Made, b: Made) => (a.decided_at ?? 0) - (b.decided_at ?? 0) || a.at - b.at;
  const passes = failing
    .flatMap(
      (place) =>
        made
          .filter(
            (each) =>
              each.continent === place && each.outcome === 'ok' && each.started >= outage.until,
          )
          .toSorted(byDecision)[0] ?? [],
    )
    .toSorted(byDecision);
  const expected = passes[places.length === 1 ? 0 : passes.length - 2]?.at;
  const faults =
    expected !== undefined && resolved_at !== expected
      ? [`it ended at ${resolved_at}, not with the pass at ${expected}`]
      : [];
  const elapsed = outage.until - confirmed_at;
  // Only who saw it down can see its end: sampling goes round all, and so do the turns.
  const round = places.length - given.seeing.length + 1;
  const later = round === 1 ? Math.min(spec.interval_ms, elapsed) + 5_000 : firstTurn(given);
  const sampled = elapsed < 110_000 - round * 5_000 ? round * 5_000 : later;
  const patience = spec.sampled ? sampled : firstTurn(given);
  if (resolved_at > outage.until + patience + slowest(given) + 2 * quick)
    faults.push(`its end was seen ${resolved_at - outage.until} ms late`);
  return faults;
};

const faultsOfAlert = (given: Case, incident: Incident): string[] => {
  const { truth, record, spec, confirmed } = given;
  const { confirmed_at, resolved_at } = incident;
  const decided = confirmed.get(incident.id);
  if (confirmed_at === null || decided === undefined) return [];
  const due = Math.max(decided, dueAt(truth, spec.index, confirmed_at + spec.alert_after_ms));
  // A cover that begins while the message is on its way may hold it back.
  const late = Math.max(dueAt(truth, spec.index, due), dueAt(truth, spec.index, due + quick));
  return spec.channels.flatMap((channel) => {
    const got = record.delivered.find(
      (each) => each.incident === incident.id && each.event === 'down' && each.channel === channel,
    );
    const over = resolved_at ?? Number.POSITIVE_INFINITY;
    if (!got)
      return over > late + 2 * quick
        ? [`${channel} never got the "down" that was due at ${late}`]
        : [];
    if (got.at > late + 2 * quick) return [`${channel} got the "down" ${got.at - late} ms late`];
    return [];
  });
};

/** Where nothing else happened: to the millisecond. */
const faultsInPeace = (given: Case): string[] => {
  const { outage, spec, places, seeing, confirmed } = given;
  const fails = failsDuring(given);
  const lone = places.length === 1;
  const needed =
    firstTurn(given) + slowest(given) * (lone ? 3 : 1) + quick + (lone ? 12_000 + 2 * quick : 0);
  const candidates = incidentsOf(given).filter(
    ({ started_at, resolved_at }) =>
      started_at < outage.until && (resolved_at ?? outage.until) > outage.at,
  );
  if (seeing.length === 0 || (seeing.length < 2 && !lone)) {
    const believed = candidates.find(({ confirmed_at }) => confirmed_at !== null);
    if (believed) return [`an outage of one continent was confirmed (incident ${believed.id})`];
    const seen =
      outage.until - outage.at > needed && seeing.length === 1 && candidates.length === 0;
    return seen ? ['a failure of one continent left no trace'] : [];
  }
  const found = candidates.find(({ confirmed_at }) => confirmed_at !== null);
  if (!found) return outage.until - outage.at > needed ? ['it was never found'] : [];
  const decided = confirmed.get(found.id) ?? 0;
  const faults: string[] = [];
  const known = fails.filter((each) => (each.decided_at ?? Number.POSITIVE_INFINITY) <= decided);
  const first = Math.min(...known.map(({ at }) => at));
  const isPlain = seeing.length === places.length || outage.slow.length === 0;
  if (isPlain && found.started_at !== first)
    faults.push(`it is dated ${found.started_at}, not by the first failure at ${first}`);
  const patience = lone ? 2 * (5_000 + quick) + 3 * slowest(given) : quick + slowest(given);
  if (isPlain && (found.confirmed_at ?? 0) > found.started_at + patience)
    faults.push(
      `it was confirmed ${(found.confirmed_at ?? 0) - found.started_at} ms after it was seen`,
    );
  if (found.started_at > outage.at + firstTurn(given) + quick)
    faults.push(`it was seen ${found.started_at - outage.at} ms late`);
  const whole = seeing.length >= 2 || lone;
  if (whole && spec.interval_ms > 0)
    faults.push(...faultsOfEnd(given, found), ...faultsOfAlert(given, found));
  return faults;
};

/**
 * Where only our own side was away for a while: found all the same, and dated right, if it lasted
 * until we were back.
 */
const faultsInAbsence = (given: Case): string[] => {
  const { story, outage, seeing, places, spec } = given;
  const last = Math.max(
    ...story.happenings
      .filter((each) => ours.includes(each.is) && each.at < outage.until)
      .map(({ until }) => until),
  );
  const lasted =
    outage.until - Math.max(last + 50_000, outage.at) >
    places.length * spec.interval_ms + spec.timeout_ms + 10_000;
  if (seeing.length < 2 || seeing.length < places.length || !lasted) return [];
  const found = incidentsOf(given).find(
    ({ confirmed_at, started_at, resolved_at }) =>
      confirmed_at !== null &&
      started_at < outage.until &&
      (resolved_at ?? outage.until) > outage.at,
  );
  if (!found) return ['it was never found, although all probes saw it and we came back'];
  // A wiped bus takes along what probes take for handed over: it comes again, but not in order.
  const isWiped = story.happenings.some(
    (each) =>
      each.is === 'bus wiped' && each.at >= outage.at - 2 * minute && each.at < outage.until,
  );
  const isDated =
    isWiped ||
    (found.started_at >= outage.at && found.started_at <= outage.at + spec.interval_ms + quick);
  return isDated ? [] : [`it is dated ${found.started_at}, although it began at ${outage.at}`];
};

/**
 * Rule 4: what began while no probe could reach the bus is dated as if it had been seen live,
 * however far apart they handed over and whether it was over by then: by the first failure of all,
 * confirmed by the first one of another continent.
 */
const faultsAfterCut = (given: Case): string[] => {
  const { story, outage, seeing, places, spec } = given;
  const cut = happeningsOf(story, 'probes cut off').find(
    ({ at, until }) => at <= outage.at && outage.at < until,
  );
  if (!cut || places.length < 2 || seeing.length < places.length) return [];
  const fails = failsDuring(given).toSorted((a, b) => a.at - b.at);
  const [first] = fails;
  const second = fails.find(({ continent }) => continent !== first?.continent);
  // Seen by two while nobody was back yet.
  if (!first || !second || second.started > cut.until - cut.apart_ms - spec.timeout_ms) return [];
  if (second.at - first.at > Math.min(minute, 2 * places.length * spec.interval_ms)) return [];
  const found = incidentsOf(given).find(
    ({ confirmed_at, started_at, resolved_at }) =>
      confirmed_at !== null &&
      started_at < outage.until &&
      (resolved_at ?? outage.until) > outage.at,
  );
  if (!found) return ['it was never confirmed, although two continents saw it and handed over'];
  if (found.started_at !== first.at)
    return [`it is dated ${found.started_at}, not by the first failure at ${first.at}`];
  return found.confirmed_at === second.at
    ? []
    : [`it is confirmed at ${found.confirmed_at}, not by the second failure at ${second.at}`];
};

/** Who may have kept results is waited for so long at most (rule 4). */
const waitedFor = 30_000;

/**
 * Rule 4: an outage that began when others were back while one was still away is confirmed by those
 * who see it once that one has been waited for, and dated by whoever saw it first, also if that one
 * was away still.
 */
const faultsAfterReturn = (given: Case): string[] => {
  const { story, truth, outage, seeing, places, spec, confirmed } = given;
  const cuts = [...happeningsOf(story, 'probes cut off'), ...happeningsOf(story, 'bus away')];
  const cut = cuts.find(
    ({ is, until }) =>
      until + (is === 'bus away' ? 1_000 : 2_500) <= outage.at && outage.at < until + 30_000,
  );
  if (!cut || seeing.length < places.length || outage.slow.length > 0) return [];
  // While the bus is away nobody is back.
  if (cuts.some((each) => each.is === 'bus away' && each.at <= outage.at && outage.at < each.until))
    return [];
  const fails = failsDuring(given).toSorted((a, b) => a.at - b.at);
  const away = happeningsOf(story, 'probe cut off').filter(
    ({ at, until }) => at <= outage.at && outage.at < until,
  );
  const back = Math.max(outage.at, ...away.map(({ until }) => until));
  const isAway = ({ probe }: Pick<Made, 'probe'>) => away.some((each) => each.probe === probe);
  const heard = fails.find((each) => !isAway(each));
  const others = places.filter((place) =>
    story.probes.some(({ index, continent }) => continent === place && !isAway({ probe: index })),
  );
  if (!heard || heard.started > outage.until - 10_000 || others.length < 2) return [];
  const found = incidentsOf(given).find(
    ({ confirmed_at, started_at, resolved_at }) =>
      confirmed_at !== null &&
      started_at < outage.until &&
      (resolved_at ?? outage.until) > outage.at,
  );
  if (!found) return ['it was never confirmed, although two continents were back and saw it'];
  const faults: string[] = [];
  // A look that goes to a probe of another continent that is away is answered by nobody, and the
  // next turn tells.
  const isAsked = story.probes.every(
    ({ index, continent }) => !isAway({ probe: index }) || !others.includes(continent),
  );
  const decided = confirmed.get(found.id) ?? Number.POSITIVE_INFINITY;
  if (isAsked && heard.started < back && decided > heard.started + waitedFor + 3 * quick)
    faults.push(
      `it was confirmed ${decided - heard.started} ms after it was seen, although two continents saw it`,
    );
  // What is of now is told now, whatever of the past is still waited for.
  if (isAsked && heard.started < back) faults.push(...faultsOfAlert(given, found));
  const [first] = fails;
  const second = fails.find(({ continent }) => continent !== first?.continent);
  if (!first || !second || back > cut.until + lostAfter || truth.isCut(first.probe, back + 1))
    return faults;
  if (second.at - first.at > Math.min(minute, 2 * places.length * spec.interval_ms)) return faults;
  if (found.started_at !== first.at)
    faults.push(`it is dated ${found.started_at}, not by the first failure at ${first.at}`);
  // Of several that were asked at once, the first to answer need not be the first to have looked.
  if (Math.abs((found.confirmed_at ?? 0) - second.at) > quick)
    faults.push(
      `it is confirmed at ${found.confirmed_at}, not by the second failure at ${second.at}`,
    );
  return faults;
};

export const faultsOfOutages = (dependencies: Dependencies): string[] =>
  happeningsOf(dependencies.story, 'outage').flatMap((outage) => {
    const spec = dependencies.story.monitors[outage.monitor];
    if (!spec || outage.every !== null) return [];
    const all = [...new Set(dependencies.story.probes.map(({ continent }) => continent))];
    const places = all.filter(
      (place) => spec.continents === null || spec.continents.includes(place),
    );
    const seeing = places.filter((place) => outage.where.includes(place));
    const made = (dependencies.record.made[outage.monitor] ?? [])
      .filter((each) => each.counted > 0 && saysSomething(each))
      .toSorted((a, b) => a.started - b.started);
    const turn = places.length * spec.interval_ms;
    const given: Case = { ...dependencies, outage, spec, places, seeing, made };
    const around = disturbances(
      dependencies,
      outage,
      outage.at - 3 * turn - 2 * minute,
      outage.until + 2 * turn + 3 * minute,
    );
    const name = `outage of monitor ${spec.index} from ${outage.at} to ${outage.until} in ${outage.where.join('+')}`;
    if (around.length === 0) return faultsInPeace(given).map((fault) => `${name}: ${fault}`);
    if (around.every((each) => each === 'unwell' || each === 'probes cut off'))
      return faultsAfterCut(given).map((fault) => `${name}: ${fault}`);
    if (around.includes('probe cut off') && around.every((each) => cutOff.includes(each)))
      return faultsAfterReturn(given).map((fault) => `${name}: ${fault}`);
    const onlyOurs = around.every((each) => each === 'unwell' || ours.some((our) => our === each));
    return onlyOurs ? faultsInAbsence(given).map((fault) => `${name}: ${fault}`) : [];
  });

/**
 * The sums at the end (rules 21 to 24), counted in another way: boundary by boundary, with a
 * question for each stretch.
 */

type Stretch = { readonly from: number; readonly to: number };
const names = ['paused', 'maintenance', 'down', 'unknown', 'up'] as const;
type Sums = { [Name in (typeof names)[number]]: number };

/** Gaps are written a little after they begin: the last moments are not compared. */
const unsettled = 15_000;

const sweep = (
  from: number,
  to: number,
  layers: readonly (readonly [keyof Sums, readonly Stretch[]])[],
): Sums => {
  const turns = layers.flatMap(([name, list]) =>
    list.flatMap((each) => [
      { at: Math.min(Math.max(each.from, from), to), name, step: 1 },
      { at: Math.min(Math.max(each.to, from), to), name, step: -1 },
    ]),
  );
  turns.push({ at: to, name: 'up', step: 0 });
  const depth: Sums = { paused: 0, maintenance: 0, down: 0, unknown: 0, up: 1 };
  const sums: Sums = { paused: 0, maintenance: 0, down: 0, unknown: 0, up: 0 };
  let time = from;
  for (const turn of turns.toSorted((a, b) => a.at - b.at)) {
    const state = names.find((name) => depth[name] > 0) ?? 'up';
    sums[state] += turn.at - time;
    time = turn.at;
    depth[turn.name] += turn.step;
  }
  return sums;
};

/** Pauses as the operations made them, whatever overlapped. */
const pausesOf = (story: Story, truth: Truth, monitor: number, end: number): Stretch[] => {
  const edges = story.happenings
    .filter((each) => each.is === 'paused' && each.monitor === monitor)
    .flatMap(({ at, until }) => [at, until])
    .toSorted((a, b) => a - b);
  return edges.flatMap((edge, index) => {
    const next = edges[index + 1] ?? end;
    return truth.isPaused(monitor, edge) ? [{ from: edge, to: next }] : [];
  });
};

/** Time that no result covers. */
const uncovered = (from: number, to: number, covered: readonly Stretch[]): Stretch[] => {
  const holes: Stretch[] = [];
  let reached = from;
  for (const { from: start, to: stop } of covered.toSorted((a, b) => a.from - b.from)) {
    if (start > reached) holes.push({ from: reached, to: Math.min(start, to) });
    reached = Math.max(reached, stop);
    if (reached >= to) return holes.filter((hole) => hole.from < hole.to);
  }
  holes.push({ from: reached, to });
  return holes.filter((hole) => hole.from < hole.to);
};

/** Rule 23: so many ten-thousandths of a percent fit in, and not one more. */
const isRoundedDown = (percent: number, up: number, down: number): boolean => {
  const parts = BigInt(Math.round(percent * 10_000));
  const [all, whole] = [BigInt(up) * 1_000_000n, BigInt(up + down)];
  return parts * whole <= all && all < (parts + 1n) * whole;
};

/**
 * When what was seen before began to say nothing any more (rule 18): resumes, and edits in order of
 * their versions.
 */
const changesOf = (story: Story, monitor: number, paused: readonly Stretch[], truth: Truth) => {
  const edits = happeningsOf(story, 'edited').flatMap((edit) =>
    edit.monitor === monitor ? [edit.at] : [],
  );
  const resumes = paused.flatMap(({ to }) =>
    to < story.end && !truth.isPaused(monitor, to) ? [to] : [],
  );
  return { edits, all: [...edits, ...resumes].toSorted((a, b) => a - b) };
};

export const faultsOfUptime = (
  story: Story,
  truth: Truth,
  record: Record,
  database: Database,
  now: number,
): string[] =>
  story.monitors.flatMap(({ index, interval_ms, timeout_ms }) => {
    const end = now - unsettled;
    const allowed = 2 * interval_ms + timeout_ms;
    const made = (record.made[index] ?? []).filter(
      (each) => each.counted > 0 && saysSomething(each),
    );
    const paused = pausesOf(story, truth, index, end);
    const changes = changesOf(story, index, paused, truth);
    const until = (from: number, to: number) =>
      Math.min(to, changes.all.find((time) => time > from) ?? to);
    const seen = made.map(({ at, version }) => ({
      from: Math.max(at, story.start),
      to: Math.min(until(at, at + allowed), changes.edits[version - 1] ?? Number.POSITIVE_INFINITY),
    }));
    const covered = [
      ...seen.filter(({ from, to }) => from < to),
      ...(record.calm[index] ?? []).map(({ from, to }) => ({ from, to: until(from, to) })),
    ];
    const unknown = uncovered(story.start, end, covered);
    // Time that a wrong clock was ahead by is told twice, or never.
    const wasAhead = happeningsOf(story, 'clock ahead').length > 0;
    // What came after two changes of its monitor is not told apart by which of them it was before.
    const isBlurred =
      wasAhead ||
      made.some(
        ({ at, decided_at }) =>
          changes.all.filter((time) => time > at && time <= (decided_at ?? at)).length > 1,
      );
    const incidents = [...database.incidents.values()].filter(
      ({ monitor, incident }) => monitor === index && incident.confirmed_at !== null,
    );
    const down = incidents.map(({ incident }) => ({
      from: incident.started_at,
      to: incident.resolved_at ?? end,
    }));
    const rows = (kind: 'paused' | 'unknown') =>
      database
        .ledger(index, kind)
        .map(({ began_at, ended_at }) => ({ from: began_at, to: ended_at ?? end }));
    const expected = sweep(story.start, end, [
      ['paused', paused],
      ['maintenance', truth.covers(index)],
      ['down', down],
      ['unknown', unknown],
    ]);
    const told = uptime({
      window: { ...windowOf(365, end) },
      created_at: story.start,
      paused: rows('paused'),
      cover: database.cover(index),
      down,
      unknown: rows('unknown'),
    });
    const sum = told.paused + told.maintenance + told.down + told.unknown + told.up;
    const faults =
      sum === end - story.start
        ? []
        : [`monitor ${index}: the five states add up to ${sum} instead of ${end - story.start}`];
    for (const name of isBlurred ? [] : names) {
      if (told[name] !== expected[name])
        faults.push(
          `monitor ${index}: ${name} for ${told[name]} ms instead of ${expected[name]} ms`,
        );
    }
    if (told.percent !== null && !isRoundedDown(told.percent, told.up, told.down))
      faults.push(
        `monitor ${index}: ${told.percent} % of ${told.up} ms up and ${told.down} ms down, which is not rounded down to four decimals`,
      );
    const hasOutages = down.length > 0 && told.down > 0;
    if ((told.percent === 100) === hasOutages && told.up + told.down > 0)
      faults.push(`monitor ${index}: ${told.percent} % with ${told.down} ms of downtime`);
    return faults;
  });
