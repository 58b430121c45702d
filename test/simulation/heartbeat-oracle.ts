import type { Incident } from '../../coordinator/core/types.ts';
import type { HeartbeatStory, Ping } from './heartbeat-story.ts';

/**
 * What rules 19 and 20 say of a job's life, from its pings alone, and what is wrong with what was
 * made of it.
 */

type Expected = {
  readonly from: number;
  readonly to: number | null;
  readonly by: 'job' | 'silence';
};
export type Alert = {
  readonly event: 'down' | 'up' | 'closed' | 'was_down';
  readonly incident: string;
};
export type Outcome = {
  readonly incidents: readonly {
    readonly incident: Incident;
    readonly confirmedWhen: number | null;
  }[];
  readonly alerts: readonly Alert[];
};

const latest = (pings: readonly Ping[], kind: Ping['kind']): Ping | undefined =>
  pings.findLast((ping) => ping.kind === kind);

/** Runs under way after these pings: one ends with the first ping of its name that is an end. */
const underWay = (pings: readonly Ping[]): Ping[] =>
  pings.filter(
    (ping, index) =>
      ping.kind === 'start' &&
      !pings
        .slice(index + 1)
        .some(({ kind, rid }) => (kind === 'success' || kind === 'fail') && rid === ping.rid),
  );

/** Whether the job fails at this moment, and by what. */
const failing = (
  { pings, interval_ms, grace_ms, max_run_ms }: HeartbeatStory,
  time: number,
): Expected['by'] | undefined => {
  const past = pings.filter(({ at }) => at <= time);
  const [good, bad] = [latest(past, 'success'), latest(past, 'fail')];
  if (bad && (!good || bad.at > good.at)) return 'job';
  // Before any good ping the first start counts as one.
  const counted = good ?? past.find(({ kind }) => kind === 'start');
  const deadline = counted && counted.at + interval_ms + grace_ms;
  const ends = max_run_ms === null ? [] : underWay(past).map(({ at }) => at + max_run_ms);
  // A good ping after the end of a run's time makes up for it.
  const counting = ends.filter((end) => end > (good?.at ?? 0));
  if (counting.some((end) => end <= time)) {
    const [first = 0] = counting;
    const isHeldBack =
      deadline !== undefined && first - (max_run_ms ?? 0) > deadline && deadline > time;
    return isHeldBack ? undefined : 'silence';
  }
  if (deadline === undefined || deadline > time) return undefined;
  // A run that began in time has its own limit.
  const [first] = counting;
  return first !== undefined && max_run_ms !== null && first - max_run_ms <= deadline
    ? undefined
    : 'silence';
};

/**
 * Every outage that the rules make of these pings: from its first moment to the next good ping,
 * which alone ends it.
 */
export const expectedOutages = (story: HeartbeatStory): Expected[] => {
  const { pings, interval_ms, grace_ms, max_run_ms, end } = story;
  const turns = pings.flatMap(({ at, kind }) => [
    at,
    ...(kind === 'success' || kind === 'start' ? [at + interval_ms + grace_ms] : []),
    ...(kind === 'start' && max_run_ms !== null ? [at + max_run_ms] : []),
  ]);
  const outages: Expected[] = [];
  let until = Number.NEGATIVE_INFINITY;
  for (const from of [...new Set(turns)].toSorted((a, b) => a - b)) {
    if (from < until || from > end) continue;
    const by = failing(story, from);
    if (by === undefined) continue;
    const to = pings.find(({ kind, at }) => kind === 'success' && at > from)?.at ?? null;
    outages.push({ from, to, by });
    until = to ?? Number.POSITIVE_INFINITY;
  }
  return outages;
};

/** A judgement half a second after the deadline, its way, a look from elsewhere, and its way. */
const seenWithin = 3_000;
/** After a stretch in which a part was away: views settle, and what was kept is decided. */
const feltFor = 60_000;

const isFelt = ({ aways }: HeartbeatStory, from: number): boolean =>
  aways.some(({ at, until }) => at < from + seenWithin && until + feltFor > from);

/**
 * Whether this incident is what was made of that outage: it begins with it, to the millisecond,
 * whoever told of it first.
 */
const isOf = ({ started_at }: Incident, { from }: Expected): boolean => started_at === from;

export const faultsOfHeartbeat = (
  story: HeartbeatStory,
  { incidents, alerts }: Outcome,
): string[] => {
  const faults: string[] = [];
  const expected = expectedOutages(story);
  for (const { incident } of incidents) {
    const { id, started_at, confirmed_at, resolved_at, seen, confirmed, note } = incident;
    const real = expected.find((each) => isOf(incident, each));
    const name = `incident ${id} from ${started_at} to ${resolved_at}`;
    const downs = alerts.filter(({ incident: of, event }) => of === id && event === 'down').length;
    const lates = alerts.filter(
      ({ incident: of, event }) => of === id && event === 'was_down',
    ).length;
    const ends =
      alerts.filter(({ incident: of, event }) => of === id && event !== 'down').length - lates;
    // It was late for us alone, and nothing is left of it but its note.
    const isOver =
      note === 'the beat had come in time and reached us late' &&
      resolved_at === Math.max(started_at, confirmed_at ?? started_at);
    if (isOver) continue;
    if (!real)
      faults.push(`${name}: the job did not fail then${note === null ? '' : ` (${note})`}`);
    // What nobody confirmed is no downtime, and ends for us when those who judge it have heard of a
    // later ping.
    else if (resolved_at !== null && resolved_at !== real.to && confirmed_at !== null)
      faults.push(`${name}: it ended with the ping at ${real.to}`);
    else if (resolved_at === null && real.to !== null)
      faults.push(`${name}: it never ended, although a good ping came at ${real.to}`);
    if (confirmed_at === null) {
      if (downs > 0) faults.push(`${name}: nobody confirmed it, and it alerted`);
      continue;
    }
    if (seen && confirmed && seen.continent === confirmed.continent)
      faults.push(`${name}: confirmed where it was seen`);
    // The job confirmed it: by a report within it, or by one that a good ping, which reached us
    // later, has split from it since. Then it ends, and counts as confirmed, with that ping.
    const isReported = story.pings.some(
      ({ at, kind }) =>
        kind === 'fail' &&
        (at === confirmed_at ||
          (at > confirmed_at && confirmed_at === resolved_at && isFelt(story, at))),
    );
    if (seen && !confirmed && real?.by === 'silence' && !isReported)
      faults.push(`${name}: confirmed by one continent`);
    if (lates > 1 || (lates > 0 && (downs > 0 || resolved_at === null)))
      faults.push(`${name}: told late ${lates} times beside ${downs} downs`);
    // What was over before anybody could be told of it is told late, if at all (rule 4).
    const isPast = real !== undefined && isFelt(story, real.from);
    if (downs !== 1 && !(downs === 0 && isPast && resolved_at !== null))
      faults.push(`${name}: ${downs} downs`);
    if (ends !== (resolved_at === null ? 0 : downs))
      faults.push(`${name}: ${ends} ends of ${downs} downs`);
  }
  for (const each of expected) {
    const { from, to, by } = each;
    const lasted = Math.min(to ?? story.end, story.end) - from;
    const disturbed = story.aways.filter(
      (away) => away.at < from + seenWithin && away.until + feltFor > from,
    );
    const back = Math.max(from, ...disturbed.map(({ until }) => until + feltFor));
    const found = incidents.find(
      ({ incident }) => isOf(incident, each) && incident.confirmed_at !== null,
    );
    const isLong = (to ?? story.end) > back + seenWithin && lasted > seenWithin;
    const name = `outage from ${from} to ${to} by ${by}`;
    // What the job said itself was answered: it leaves its incident whatever befell us.
    const isTold = story.pings.some(
      ({ kind, at }) => kind === 'fail' && at >= from && at < (to ?? Number.POSITIVE_INFINITY),
    );
    if (!found && (isLong || isTold)) faults.push(`${name}: it was never found`);
    else if (found?.confirmedWhen && isLong && found.confirmedWhen > back + seenWithin)
      faults.push(`${name}: it was confirmed ${found.confirmedWhen - from} ms after it began`);
  }
  return faults;
};
