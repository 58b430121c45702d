import type { Incident } from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Database } from './database.ts';
import { dueAt } from './oracle-alerts.ts';
import { saysSomething } from './oracle-views.ts';
import type { Made, Record } from './result-record.ts';
import type { Happening, MonitorSpec, Story } from './story.ts';
import { happeningsOf, type Of, type Truth } from './truth.ts';

/** Every outage that really was, held against what was made of it: found, dated, confirmed in time, ended in time, told in time. */

export type Confirmations = ReadonlyMap<string, number>;
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
const cutOff: readonly (Happening['is'] | 'unwell')[] = ['unwell', 'probes cut off', 'probe cut off', 'bus away'];
const harmless: readonly Happening['is'][] = ['window', 'moved'];

const concerns = (happening: Happening, outage: Outage): boolean => {
  if (harmless.includes(happening.is) || happening === outage) return false;
  if (happening.is === 'outage' || happening.is === 'edited' || happening.is === 'paused') return happening.monitor === outage.monitor;
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
    const felt = each.is === 'rough bus' || each.is === 'probe sick' || each.is === 'probe skewed' ? lingering : 0;
    return concerns(each, outage) && each.at < to && each.until + felt >= from;
  });
  const unwell = record.unwell.some((at) => at >= from && at <= to);
  return [...others.map(({ is }) => is), ...(unwell ? (['unwell'] as const) : [])];
};

const incidentsOf = ({ database, outage }: Case): Incident[] =>
  [...database.incidents.values()].filter(({ monitor }) => monitor === outage.monitor).map(({ incident }) => incident);

const failsDuring = ({ made, outage, spec }: Case): Made[] =>
  made.filter((each) => each.outcome === 'fail' && each.started >= outage.at && each.started < outage.until + spec.timeout_ms);

/** How long until somebody who sees it has had a turn. */
const firstTurn = ({ spec, places, seeing }: Case): number => (places.length - seeing.length + 1) * spec.interval_ms;

const slowest = ({ outage, spec, seeing }: Case): number => (seeing.some((place) => outage.slow.includes(place)) ? spec.timeout_ms : 0);

/** Rules 12 and 13: dated by the check with which fewer than two failed, and seen soon because it is sampled. */
const faultsOfEnd = (given: Case, incident: Incident): string[] => {
  const { outage, made, spec, places } = given;
  const { confirmed_at, resolved_at } = incident;
  if (confirmed_at === null) return [];
  if (resolved_at === null) return ['it never ended'];
  const turn = places.length * spec.interval_ms;
  const decidedAt = ({ decided_at }: Made) => decided_at ?? Number.POSITIVE_INFINITY;
  const firstPass = Math.min(...made.filter((each) => each.outcome === 'ok' && each.started >= outage.until).map(decidedAt));
  const failing = places.filter((place) => {
    const known = made.filter((each) => each.continent === place && each.started < outage.until && decidedAt(each) <= firstPass);
    const last = known.at(-1);
    return last?.outcome === 'fail' && outage.until - last.at < turn;
  });
  // In the order in which they were decided, which is not always that in which they started.
  const byDecision = (a: Made, b: Made) => (a.decided_at ?? 0) - (b.decided_at ?? 0) || a.at - b.at;
  const passes = failing
    .flatMap(
      (place) =>
        made.filter((each) => each.continent === place && each.outcome === 'ok' && each.started >= outage.until).toSorted(byDecision)[0] ??
        [],
    )
    .toSorted(byDecision);
  const expected = passes[places.length === 1 ? 0 : passes.length - 2]?.at;
  const faults = expected !== undefined && resolved_at !== expected ? [`it ended at ${resolved_at}, not with the pass at ${expected}`] : [];
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
  const late = dueAt(truth, spec.index, due);
  return spec.channels.flatMap((channel) => {
    const got = record.delivered.find((each) => each.incident === incident.id && each.event === 'down' && each.channel === channel);
    const over = resolved_at ?? Number.POSITIVE_INFINITY;
    if (!got) return over > late + 2 * quick ? [`${channel} never got the "down" that was due at ${late}`] : [];
    if (got.at > late + 2 * quick) return [`${channel} got the "down" ${got.at - late} ms late`];
    return [];
  });
};

/** Where nothing else happened: to the millisecond. */
const faultsInPeace = (given: Case): string[] => {
  const { outage, spec, places, seeing, confirmed } = given;
  const fails = failsDuring(given);
  const lone = places.length === 1;
  const needed = firstTurn(given) + slowest(given) * (lone ? 3 : 1) + quick + (lone ? 12_000 + 2 * quick : 0);
  const candidates = incidentsOf(given).filter(
    ({ started_at, resolved_at }) => started_at < outage.until && (resolved_at ?? outage.until) > outage.at,
  );
  if (seeing.length === 0 || (seeing.length < 2 && !lone)) {
    const believed = candidates.find(({ confirmed_at }) => confirmed_at !== null);
    if (believed) return [`an outage of one continent was confirmed (incident ${believed.id})`];
    const seen = outage.until - outage.at > needed && seeing.length === 1 && candidates.length === 0;
    return seen ? ['a failure of one continent left no trace'] : [];
  }
  const found = candidates.find(({ confirmed_at }) => confirmed_at !== null);
  if (!found) return outage.until - outage.at > needed ? ['it was never found'] : [];
  const decided = confirmed.get(found.id) ?? 0;
  const faults: string[] = [];
  const known = fails.filter((each) => (each.decided_at ?? Number.POSITIVE_INFINITY) <= decided);
  const first = Math.min(...known.map(({ at }) => at));
  const isPlain = seeing.length === places.length || outage.slow.length === 0;
  if (isPlain && found.started_at !== first) faults.push(`it is dated ${found.started_at}, not by the first failure at ${first}`);
  const patience = lone ? 2 * (5_000 + quick) + 3 * slowest(given) : quick + slowest(given);
  if (isPlain && (found.confirmed_at ?? 0) > found.started_at + patience)
    faults.push(`it was confirmed ${(found.confirmed_at ?? 0) - found.started_at} ms after it was seen`);
  if (found.started_at > outage.at + firstTurn(given) + quick) faults.push(`it was seen ${found.started_at - outage.at} ms late`);
  const whole = seeing.length >= 2 || lone;
  if (whole && spec.interval_ms > 0) faults.push(...faultsOfEnd(given, found), ...faultsOfAlert(given, found));
  return faults;
};

/** Where only our own side was away for a while: found all the same, and dated right, if it lasted until we were back. */
const faultsInAbsence = (given: Case): string[] => {
  const { story, outage, seeing, places, spec } = given;
  const last = Math.max(...story.happenings.filter((each) => ours.includes(each.is) && each.at < outage.until).map(({ until }) => until));
  const lasted = outage.until - Math.max(last + 50_000, outage.at) > places.length * spec.interval_ms + spec.timeout_ms + 10_000;
  if (seeing.length < 2 || seeing.length < places.length || !lasted) return [];
  const found = incidentsOf(given).find(
    ({ confirmed_at, started_at, resolved_at }) =>
      confirmed_at !== null && started_at < outage.until && (resolved_at ?? outage.until) > outage.at,
  );
  if (!found) return ['it was never found, although all probes saw it and we came back'];
  // A wiped bus takes along what probes take for handed over: it comes again, but not in order.
  const isWiped = story.happenings.some((each) => each.is === 'bus wiped' && each.at >= outage.at - 2 * minute && each.at < outage.until);
  const isDated = isWiped || (found.started_at >= outage.at && found.started_at <= outage.at + spec.interval_ms + quick);
  return isDated ? [] : [`it is dated ${found.started_at}, although it began at ${outage.at}`];
};

/**
 * Rule 4: what began while no probe could reach the bus is dated as if it had been seen live, however far apart they handed over and whether
 * it was over by then: by the first failure of all, confirmed by the first one of another continent.
 */
const faultsAfterCut = (given: Case): string[] => {
  const { story, outage, seeing, places, spec } = given;
  const cut = happeningsOf(story, 'probes cut off').find(({ at, until }) => at <= outage.at && outage.at < until);
  if (!cut || places.length < 2 || seeing.length < places.length) return [];
  const fails = failsDuring(given).toSorted((a, b) => a.at - b.at);
  const [first] = fails;
  const second = fails.find(({ continent }) => continent !== first?.continent);
  // Seen by two while nobody was back yet.
  if (!first || !second || second.started > cut.until - cut.apart_ms - spec.timeout_ms) return [];
  if (second.at - first.at > Math.min(minute, 2 * places.length * spec.interval_ms)) return [];
  const found = incidentsOf(given).find(
    ({ confirmed_at, started_at, resolved_at }) =>
      confirmed_at !== null && started_at < outage.until && (resolved_at ?? outage.until) > outage.at,
  );
  if (!found) return ['it was never confirmed, although two continents saw it and handed over'];
  if (found.started_at !== first.at) return [`it is dated ${found.started_at}, not by the first failure at ${first.at}`];
  return found.confirmed_at === second.at ? [] : [`it is confirmed at ${found.confirmed_at}, not by the second failure at ${second.at}`];
};

/**
 * Rule 4: an outage that began when others were back while one was still away is confirmed at once by those who see it, and dated by whoever
 * saw it first, also if that one was away still.
 */
const faultsAfterReturn = (given: Case): string[] => {
  const { story, truth, outage, seeing, places, spec, confirmed } = given;
  const cuts = [...happeningsOf(story, 'probes cut off'), ...happeningsOf(story, 'bus away')];
  const cut = cuts.find(({ is, until }) => until + (is === 'bus away' ? 1_000 : 2_500) <= outage.at && outage.at < until + 30_000);
  if (!cut || seeing.length < places.length || outage.slow.length > 0) return [];
  const fails = failsDuring(given).toSorted((a, b) => a.at - b.at);
  const away = happeningsOf(story, 'probe cut off').filter(({ at, until }) => at <= outage.at && outage.at < until);
  const back = Math.max(outage.at, ...away.map(({ until }) => until));
  const isAway = ({ probe }: Pick<Made, 'probe'>) => away.some((each) => each.probe === probe);
  const heard = fails.find((each) => !isAway(each));
  const others = places.filter((place) => story.probes.some(({ index, continent }) => continent === place && !isAway({ probe: index })));
  if (!heard || heard.started > outage.until - 10_000 || others.length < 2) return [];
  const found = incidentsOf(given).find(
    ({ confirmed_at, started_at, resolved_at }) =>
      confirmed_at !== null && started_at < outage.until && (resolved_at ?? outage.until) > outage.at,
  );
  if (!found) return ['it was never confirmed, although two continents were back and saw it'];
  const faults: string[] = [];
  // A look that goes to a probe of another continent that is away is answered by nobody, and the next turn tells.
  const isAsked = story.probes.every(({ index, continent }) => !isAway({ probe: index }) || !others.includes(continent));
  const decided = confirmed.get(found.id) ?? Number.POSITIVE_INFINITY;
  if (isAsked && heard.started < back && decided > heard.started + 3 * quick)
    faults.push(`it was confirmed ${decided - heard.started} ms after it was seen, although two continents saw it`);
  // What is of now is told now, whatever of the past is still waited for.
  if (isAsked && heard.started < back) faults.push(...faultsOfAlert(given, found));
  const [first] = fails;
  const second = fails.find(({ continent }) => continent !== first?.continent);
  if (!first || !second || back > cut.until + lostAfter || truth.isCut(first.probe, back + 1)) return faults;
  if (second.at - first.at > Math.min(minute, 2 * places.length * spec.interval_ms)) return faults;
  if (found.started_at !== first.at) faults.push(`it is dated ${found.started_at}, not by the first failure at ${first.at}`);
  // Of several that were asked at once, the first to answer need not be the first to have looked.
  if (Math.abs((found.confirmed_at ?? 0) - second.at) > quick)
    faults.push(`it is confirmed at ${found.confirmed_at}, not by the second failure at ${second.at}`);
  return faults;
};

/** Whoever is back speaks within a second, hands over, and says so with the next presence; what came last has its moment to arrive. */
const handsOver = 8_000;

/** Rule 4: nobody waits for a probe that never checks the monitor: those who do have handed over, and what they saw is decided. */
const faultsOfWaiting = (given: Case): string[] => {
  const { story, outage, seeing, places, spec, confirmed } = given;
  const cuts = [...happeningsOf(story, 'probes cut off'), ...happeningsOf(story, 'bus away')];
  const cut = cuts.find(({ at, until }) => at <= outage.at && outage.at < until);
  const away = happeningsOf(story, 'probe cut off').filter(({ at, until }) => at < outage.until && until > outage.at);
  const concernsNobody = away.every(({ probe }) =>
    story.probes.some(({ index, continent }) => index === probe && !places.includes(continent)),
  );
  if (!cut || !concernsNobody || places.length < 2 || seeing.length < places.length || outage.slow.length > 0) return [];
  const fails = failsDuring(given).toSorted((a, b) => a.at - b.at);
  const second = fails.find(({ continent }) => continent !== fails[0]?.continent);
  // Seen by two before anybody was back, and lasting until all has been told.
  if (!second || second.started > cut.until - 1_000 || ('apart_ms' in cut && cut.apart_ms > 0)) return [];
  if (outage.until < cut.until + handsOver + spec.timeout_ms) return [];
  const found = incidentsOf(given).find(({ confirmed_at, started_at }) => confirmed_at !== null && started_at < outage.until);
  if (!found) return ['it was never confirmed, although those who check it were back'];
  const decided = confirmed.get(found.id) ?? Number.POSITIVE_INFINITY;
  return decided > cut.until + handsOver
    ? [`it was confirmed ${decided - cut.until} ms after those who check it were back: others were waited for`]
    : faultsOfAlert(given, found);
};

export const faultsOfOutages = (parts: Dependencies): string[] =>
  happeningsOf(parts.story, 'outage').flatMap((outage) => {
    const spec = parts.story.monitors[outage.monitor];
    if (!spec || outage.every !== null) return [];
    const all = [...new Set(parts.story.probes.map(({ continent }) => continent))];
    const places = all.filter((place) => spec.continents === null || spec.continents.includes(place));
    const seeing = places.filter((place) => outage.where.includes(place));
    const made = (parts.record.made[outage.monitor] ?? [])
      .filter((each) => each.counted > 0 && saysSomething(each))
      .toSorted((a, b) => a.started - b.started);
    const turn = places.length * spec.interval_ms;
    const given: Case = { ...parts, outage, spec, places, seeing, made };
    const around = disturbances(parts, outage, outage.at - 3 * turn - 2 * minute, outage.until + 2 * turn + 3 * minute);
    const name = `outage of monitor ${spec.index} from ${outage.at} to ${outage.until} in ${outage.where.join('+')}`;
    if (around.length === 0) return faultsInPeace(given).map((fault) => `${name}: ${fault}`);
    if (around.every((each) => each === 'unwell' || each === 'probes cut off'))
      return faultsAfterCut(given).map((fault) => `${name}: ${fault}`);
    if (around.includes('probe cut off') && around.every((each) => cutOff.includes(each)))
      return [...faultsAfterReturn(given), ...faultsOfWaiting(given)].map((fault) => `${name}: ${fault}`);
    const onlyOurs = around.every((each) => each === 'unwell' || ours.some((our) => our === each));
    return onlyOurs ? faultsInAbsence(given).map((fault) => `${name}: ${fault}`) : [];
  });
