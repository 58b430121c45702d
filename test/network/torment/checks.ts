import { setTimeout as pause } from 'node:timers/promises';
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Chance } from '../../simulation/story.ts';
import type { Heartbeat } from '../../support/monitors.ts';
import { describeIncident, type Incident, isUnmade, type Row, type StoredPing } from './ledger.ts';
import type { Outage } from './truth.ts';

/**
 * Whether dates are those of the checks that were stored (rules 3, 8, 10, 12): looked at while it
 * happens, for results and what they decide are committed together, so that every moment of the
 * database must be right by itself. Pure.
 */

/** A check that began before the target changed may have been answered after it. */
const checkMs = 3_000;
/** How long an answer may take beside its check: then its place is lost. */
const lostAfterMs = 15_000;
/** Failures that far apart confirm one another. */
const togetherMs = 60_000;
/** Two turns of a continent: a view is no older (see RULES.md). */
const viewMs = 2 * 9_000;

const newestOf = (rows: readonly Row[]): ReadonlyMap<Continent, Row> => {
  const newest = new Map<Continent, Row>();
  for (const row of rows) {
    const known = newest.get(row.continent);
    if (row.ok !== null && (!known || row.at > known.at)) newest.set(row.continent, row);
  }
  return newest;
};

/**
 * Failures that an incident before it was about, which closed since, are not its own; unless it
 * began with one: what a continent tells only after others have seen the outage end is an incident
 * beside that one (rules 3 and 12).
 */
const faultOf = (
  incident: Incident,
  outage: Outage,
  unsorted: readonly Row[],
  closedBefore: number,
): string | undefined => {
  const { started_at, confirmed_at, resolved_at, seen_continent, confirmed_continent } = incident;
  const rows = unsorted.toSorted((a, b) => a.at - b.at);
  const failures = rows.filter(
    ({ ok, at }) => ok === false && at >= outage.from - checkMs && at <= outage.until,
  );
  const isStart = (at: number, of: Continent | null) =>
    failures.some((row) => row.at === at && row.continent === of);
  if (!isStart(started_at, seen_continent))
    return `did not start when ${seen_continent} began a check that failed`;
  const own = failures.filter(({ at }) => at > closedBefore);
  const first = Math.min(...own.map(({ at }) => at));
  if (resolved_at === null && first < started_at)
    return `started later than the first failure, ${new Date(first).toISOString()}`;
  if (confirmed_at === null) return undefined;
  if (confirmed_continent === seen_continent) return `was confirmed from where it was seen`;
  // Who had failed shortly before, and told nothing since, confirms it in the moment in which it
  // begins (rule 10).
  const seenBefore = rows.findLast(
    ({ continent, at }) => continent === confirmed_continent && at < started_at,
  );
  const isAtOnce =
    confirmed_at === started_at &&
    seenBefore?.ok === false &&
    started_at - seenBefore.at <= togetherMs;
  if (!isAtOnce && !isStart(confirmed_at, confirmed_continent))
    return `was not confirmed when ${confirmed_continent} began a check that failed`;
  const others = own.filter(({ continent }) => continent !== seen_continent);
  const second = others.find(
    ({ at }) => rows.every((row) => !isDoubt(row, at, own)) && !isAwaited(rows, started_at, at),
  );
  if (resolved_at === null && second && second.at < confirmed_at)
    return `was confirmed later than by the second continent, ${new Date(second.at).toISOString()}`;
  if (resolved_at !== null) {
    const isEnd = rows.some(({ at, ok }) => ok === true && at === resolved_at);
    return isEnd ? undefined : 'did not end when a check began that passed';
  }
  const views = [...newestOf(rows).values()];
  const now = Math.max(...views.map(({ at }) => at));
  const fresh = views.filter(({ at }) => now - at < viewMs);
  const passing = fresh.filter(({ ok }) => ok === true).length;
  return passing >= 2 && fresh.length - passing < 2 && views.length === fresh.length
    ? `is open although ${passing} continents see it well`
    : undefined;
};

/**
 * Whether another continent saw the place well shortly before, and had not failed by then: two that
 * fail wait for the third, unless they are shown to be well (rule 46).
 */
const isDoubt = (row: Row, at: number, failures: readonly Row[]): boolean =>
  row.ok === true &&
  row.at <= at &&
  at - row.at < viewMs &&
  !failures.some((failure) => failure.continent === row.continent && failure.at <= at);

/**
 * Whether a third continent has not answered since it began, and may still do so: within a turn of
 * all, a check and what is on its way (rule 46).
 */
const isAwaited = (rows: readonly Row[], began: number, at: number): boolean => {
  if (at - began > viewMs / 2 + checkMs + lostAfterMs) return false;
  const heard = new Set(
    rows.flatMap((row) => (row.at >= began && row.at <= at ? [row.continent] : [])),
  );
  return rows.some(({ continent }) => !heard.has(continent));
};

type Crooked = { readonly place: string; readonly fault: string };

/** `rows` and `incidents` of one moment of the database. */
export const crookedDates = (
  incidents: readonly Incident[],
  outages: readonly Outage[],
  rows: readonly Row[],
  isJudged: (incident: Incident) => boolean = () => true,
): Crooked[] => {
  const byPlace = new Map<string, Row[]>();
  for (const row of rows) byPlace.set(row.place, [...(byPlace.get(row.place) ?? []), row]);
  return incidents.flatMap((incident) => {
    // What came to be one incident by an outage that nobody saw end is judged with the verdict.
    const touched = outages.filter(
      ({ place, from, until, onlyFrom }) =>
        onlyFrom === null &&
        place === incident.place &&
        incident.started_at >= from - checkMs &&
        incident.started_at <= until,
    );
    const [outage] = touched;
    if (!outage || touched.length > 1 || isUnmade(incident) || !isJudged(incident)) return [];
    const before = incidents.filter(
      ({ place, started_at }) => place === incident.place && started_at < incident.started_at,
    );
    const closedBefore = Math.max(0, ...before.map(({ resolved_at }) => resolved_at ?? 0));
    const fault = faultOf(incident, outage, byPlace.get(incident.place) ?? [], closedBefore);
    return fault === undefined
      ? []
      : [{ place: incident.place, fault: `${describeIncident(incident)} ${fault}` }];
  });
};

/**
 * Whether everything moves when nothing is wrong: a partition that stands, while whoever owns it
 * says that he is well, is found by this alone.
 */

/**
 * How long one may stand (issue: 30 s), counted from when everybody who was struck is whole again.
 */
const usuallyStandsMs = 30_000;
const lookMs = 500;

export const findStalled = async (parts: {
  /** Of these each must get a result that began after the calm did. */
  readonly places: readonly string[];
  readonly rowsSince: (since: number) => Promise<readonly Row[]>;
  readonly partitionOf: (place: string) => number;
  /** What coordinators say of themselves. */
  readonly health: () => Promise<string>;
  readonly standsMs?: number;
}): Promise<{ readonly standing: readonly string[]; readonly tookMs: number }> => {
  const { places, rowsSince, partitionOf, health, standsMs = usuallyStandsMs } = parts;
  const began = Date.now();
  let waiting = places;
  while (waiting.length > 0 && Date.now() - began < standsMs) {
    await pause(lookMs);
    const moved = new Set((await rowsSince(began).catch(() => [])).map(({ place }) => place));
    waiting = places.filter((place) => !moved.has(place));
  }
  const tookMs = Date.now() - began;
  if (waiting.length === 0) return { standing: [], tookMs };
  const partitions = [...new Set(waiting.map(partitionOf))].toSorted((a, b) => a - b);
  const since = new Date(began).toISOString();
  return {
    standing: [
      `partitions ${partitions.join(', ')} stood since ${since} though all was up (${waiting.join(', ')}); health: ${await health()}`,
    ],
    tookMs,
  };
};

/**
 * Whether no target gets more than its turns, its samples and the looks of rule 13, whatever fails.
 * Pure.
 */

type Request = { readonly at: number; readonly place: string };
/**
 * A time in which partitions may have changed hands: whoever takes one over may ask again, and has
 * a budget of his own.
 */
export type Upheaval = { readonly from: number; readonly until: number };

/** Each second, and so long that what comes back is seen: a flood may be a burst or go on. */
const windowsMs = [1_000, 15_000];
/** Twelve looks at once, and a sample. */
const atOnce = 13;
/** One comes back every 2 s, and a sample every 4 s. */
const budgetOf = (windowMs: number): number =>
  atOnce + windowMs / 2_000 + Math.ceil(windowMs / 4_000);
/** So long after an upheaval leases are still moving. */
const settlesMs = 10_000;

const placesOf = (requests: readonly Request[]): ReadonlyMap<string, readonly number[]> => {
  const byPlace = new Map<string, number[]>();
  for (const { place, at } of requests) {
    const known = byPlace.get(place);
    if (known) known.push(at);
    else byPlace.set(place, [at]);
  }
  return new Map([...byPlace].map(([place, times]) => [place, times.toSorted((a, b) => a - b)]));
};

export const floods = (
  requests: readonly Request[],
  upheavals: readonly Upheaval[],
  intervalMs: number,
): string[] => {
  const byPlace = placesOf(requests);
  return windowsMs.flatMap((windowMs) => {
    // A probe that begins again, or hears of others, places its turns anew.
    const turns = windowMs / intervalMs + 4;
    // Each of the four probes takes a target for comparison with one that fails (rule 46).
    const compared = 4 * Math.round(windowMs / 10_000);
    const found: string[] = [];
    for (const [place, times] of byPlace) {
      let first = 0;
      let silentUntil = 0;
      for (const [index, at] of times.entries()) {
        while ((times[first] ?? at) <= at - windowMs) first += 1;
        const count = index - first + 1;
        const owners =
          1 +
          upheavals.filter(({ from, until }) => from <= at && until + settlesMs >= at - windowMs)
            .length;
        if (at < silentUntil || count <= turns + compared + owners * budgetOf(windowMs)) continue;
        found.push(
          `${place} got ${count} requests in the ${windowMs / 1_000} s before ${new Date(at).toISOString()}`,
        );
        silentUntil = at + windowMs;
      }
    }
    return found;
  });
};

/**
 * Jobs that ping: at a coordinator or a probe, whoever answers first, with silences and failures;
 * and what became of each ping.
 */

/** A ping that was answered 200; `body` is its alone. */
type Ping = {
  readonly place: string;
  readonly body: string;
  readonly at: number;
  readonly kind: 'success' | 'fail';
};

export type Jobs = {
  readonly taken: readonly Ping[];
  /** Answers that were a lie: the address is one that exists. */
  readonly denied: readonly string[];
  /** From now on every job does its work and pings. */
  readonly heal: () => void;
  readonly stop: () => Promise<void>;
};

export type Job = { readonly place: string; readonly heartbeat: Heartbeat };

const everyMs = 2_000;
const patienceMs = 3_000;
/**
 * An answer may be lost on its way; then a job tries elsewhere with the same run id, as curl's
 * --retry does.
 */
const triesAtMost = 4;

export const startJobs = (
  chance: Chance,
  jobs: readonly Job[],
  addresses: readonly string[],
): Jobs => {
  const taken: Ping[] = [];
  const denied: string[] = [];
  let isHealed = false;
  let isStopped = false;

  const ping = async ({ place, heartbeat: { token } }: Job, kind: Ping['kind']): Promise<void> => {
    const rid = newId();
    for (let tries = 0; tries < triesAtMost && !isStopped; tries += 1) {
      const address = chance.pick(addresses);
      const path = `${token}${kind === 'fail' ? '/fail' : ''}?rid=${rid}`;
      try {
        const body = newId();
        const { status } = await fetch(`${address}/beat/${path}`, {
          method: 'POST',
          body,
          signal: AbortSignal.timeout(patienceMs),
        });
        if (status === 200) return void taken.push({ place, body, at: Date.now(), kind });
        if (status === 404) denied.push(`${place} by ${address} at ${new Date().toISOString()}`);
      } catch {
        // Nobody is there: that is what torment is.
      }
      await pause(200);
    }
  };

  const work = async (job: Job): Promise<void> => {
    let silentUntil = 0;
    while (!isStopped) {
      const now = Date.now();
      if (isHealed || now >= silentUntil) {
        const isFailure = !isHealed && chance.happens(0.03);
        await ping(job, isFailure ? 'fail' : 'success');
        if (!isHealed && chance.happens(0.03))
          silentUntil = Date.now() + 1_000 * chance.between(20, 90);
      }
      await pause(everyMs);
    }
  };
  const working = jobs.map(work);
  return {
    taken,
    denied,
    heal: () => {
      isHealed = true;
    },
    stop: async () => {
      isStopped = true;
      await Promise.all(working);
    },
  };
};

/**
 * Whether no ping was lost or counted twice, and every silence and every failure is an incident,
 * dated by them (rules 19, 20). Pure.
 */

export type PingVerdict = {
  readonly taken: number;
  readonly lost: readonly string[];
  readonly crooked: readonly string[];
};

/**
 * Judging needs probes on two continents with a fresh view; a silence that lasts so much longer
 * than it may must have been noticed.
 */
const noticedMs = 75_000;

const at = (time: number): string => new Date(time).toISOString();

const faultsOf = (
  place: string,
  pings: readonly StoredPing[],
  incidents: readonly Incident[],
  deadlineMs: number,
): string[] => {
  const goods = pings.filter(({ kind }) => kind === 'success').map((ping) => ping.at);
  const bads = pings.filter(({ kind }) => kind === 'fail').map((ping) => ping.at);
  const faults: string[] = [];
  for (const bad of bads)
    if (
      !incidents.some(
        ({ started_at, resolved_at }) => started_at <= bad && (resolved_at ?? bad) >= bad,
      )
    )
      faults.push(`${place} failed at ${at(bad)}, and no incident tells of it`);
  for (const [index, good] of goods.entries()) {
    const next = goods[index + 1];
    const due = good + deadlineMs;
    if (
      next !== undefined &&
      next - due > noticedMs &&
      !incidents.some(({ started_at }) => started_at > good && started_at < next)
    )
      faults.push(
        `${place} was silent from ${at(good)} to ${at(next)}, and no incident tells of it`,
      );
  }
  for (const incident of incidents) {
    const { started_at, resolved_at, confirmed_at } = incident;
    if (confirmed_at === null) continue;
    const before = goods.findLast((good) => good < started_at);
    // The ping had come in time, to a place that could tell nobody: the incident ends when it is
    // heard of, in the moment of its confirmation.
    if (before !== undefined && before + deadlineMs > started_at && resolved_at === confirmed_at)
      continue;
    if (!bads.includes(started_at) && (before === undefined || before + deadlineMs !== started_at))
      faults.push(
        `${describeIncident(incident)} started neither at a failure nor at the deadline of the good ping before it, ${before && at(before)}`,
      );
    const after = goods.find((good) => good > started_at);
    // Nothing ends before it was confirmed, by places that had not heard of the ping either.
    if (resolved_at !== (after === undefined ? null : Math.max(after, confirmed_at)))
      faults.push(
        `${describeIncident(incident)} did not end with the next good ping, ${after && at(after)}`,
      );
  }
  return faults;
};

export const judgePings = (input: {
  readonly places: readonly string[];
  readonly taken: readonly Ping[];
  readonly stored: readonly StoredPing[];
  readonly incidents: readonly Incident[];
  readonly denied: readonly string[];
  readonly deadlineMs: number;
  /** What was taken later is still on its way. */
  readonly until: number;
}): PingVerdict => {
  const { places, taken, stored, incidents, denied, deadlineMs, until } = input;
  const counts = new Map<string, number>();
  for (const { body } of stored) counts.set(body, (counts.get(body) ?? 0) + 1);
  return {
    taken: taken.length,
    lost: taken.flatMap((ping) =>
      ping.at <= until && !counts.has(ping.body)
        ? [`${ping.place} ${ping.kind} ${at(ping.at)}`]
        : [],
    ),
    crooked: [
      ...denied.map((one) => `${one} was told that there is no such address`),
      ...[...counts].flatMap(([body, count]) =>
        count > 1 ? [`the ping ${body} is there ${count} times`] : [],
      ),
      ...places.flatMap((place) =>
        faultsOf(
          place,
          stored.filter((ping) => ping.place === place),
          incidents.filter((incident) => incident.place === place),
          deadlineMs,
        ),
      ),
    ],
  };
};
