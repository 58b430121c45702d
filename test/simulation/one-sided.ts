import { decide, nextTick } from '../../coordinator/core/decide.ts';
import { createState } from '../../coordinator/core/lifecycle.ts';
import type {
  MonitorEvent,
  MonitorState,
  ObservingProbe,
  SeenResult,
} from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Cause, Outcome } from '../../shared/checks/result.ts';
import { type Chance, createChance } from './story.ts';

/**
 * How often an outage is false, and how often one is missed: one failure after the other, each on
 * one continent alone, through the pure core. Now and then the target really fails. What a probe
 * knows by itself (rule 16, its own self-check) is left out, so that only confirmation stands
 * between a failure and an alarm.
 */

type OneSided = {
  /** Failures on one continent alone, and the false outages among them. */
  failures: number;
  false_outages: number;
  /** Real outages that last long enough to be found, and those that were not. */
  outages: number;
  missed: number;
  checks: number;
};

/** No more than so many of a million are false, with a confidence of 95 %. */
export function boundPerMillion(events: number, trials: number): number {
  // Poisson: the mean at which so few or fewer are seen once in twenty times.
  let [low, high] = [events, events + 10 + 5 * Math.sqrt(events + 1)];
  for (let step = 0; step < 60; step += 1) {
    const mean = (low + high) / 2;
    let [term, sum] = [Math.exp(-mean), Math.exp(-mean)];
    for (let k = 1; k <= events; k += 1) {
      term *= mean / k;
      sum += term;
    }
    if (sum > 0.05) low = mean;
    else high = mean;
  }
  return (high / trials) * 1_000_000;
}

/** Runs until so many one-sided failures have happened. */
export function liveOneSided(
  seed: number,
  failures: number,
  onProgress: (soFar: OneSided) => void = () => undefined,
): OneSided {
  const sum: OneSided = { failures: 0, false_outages: 0, outages: 0, missed: 0, checks: 0 };
  const chance = createChance(seed);
  while (sum.failures < failures) {
    liveMonitor(chance, Math.min(failuresOfOne, failures - sum.failures), sum);
    onProgress(sum);
  }
  return sum;
}

const failuresOfOne = 500;
const second = 1_000;
const interval_ms = 60 * second;
const timeout_ms = 10 * second;
const continents: readonly Continent[] = ['Asia', 'Europe', 'North America'];

/** Europe has two probes in one network: what befalls one befalls both. */
const probes: readonly ObservingProbe[] = [...continents, 'Europe' as const].map(
  (continent, nth) => ({ probe: `${nth}`, name: continent, continent }),
);
const roster: Roster = {
  epoch: 1,
  probes: probes.map(({ probe, name, continent }) => ({
    ...{ id: probe, name, continent },
    ...{ organisation: null, healthy: true, quarantined: false },
  })),
};

/**
 * What fails on one continent alone, by its share: published measurements put 82 % near the one who
 * measures, 15 % into the network and 3 % at the server.
 */
const manners = [
  { share: 30, cause: 'name_not_found', took_ms: 30 },
  { share: 25, cause: 'timeout', took_ms: timeout_ms, loses: true },
  { share: 15, cause: 'connection_refused', took_ms: 20 },
  { share: 7, cause: 'certificate_not_trusted', took_ms: 80 },
  { share: 5, cause: 'text_missing', took_ms: 100 },
  { share: 10, cause: 'timeout', took_ms: timeout_ms },
  { share: 5, cause: 'connection_reset', took_ms: 200, loses: true },
  { share: 2, cause: 'unexpected_status', took_ms: 100 },
  { share: 1, cause: 'blocked_by_firewall', took_ms: 100 },
] as const;
const allShares = manners.reduce((total, { share }) => total + share, 0);

type Manner = { readonly cause: string; readonly took_ms: number; readonly loses?: boolean };
type Fault = {
  /** null: the target itself. */
  readonly continent: Continent | null;
  readonly from: number;
  readonly to: number;
  readonly manner: Manner;
  /** The part of the checks that fails meanwhile. */
  readonly part: number;
};

/** Every hundredth is real, and a tenth of these begins while one continent fails anyway. */
const realPart = 0.01;
const realAmidst = 0.1;
/** A turn, and answers that time out. */
const findable_ms = interval_ms + 3 * timeout_ms;
const quiet_ms = 2 * interval_ms;

function liveMonitor(chance: Chance, failures: number, sum: OneSided): void {
  const monitor = createMonitor(chance);
  let now = 0;
  for (let nth = 0; nth < failures; nth += 1) {
    now = monitor.run([], now, now + quiet_ms * (0.5 + chance.next()));
    const oneSided = faultOf(chance, now, chance.pick(continents));
    const isReal = chance.next() < realPart;
    const amidst = isReal && chance.next() < realAmidst;
    if (isReal && !amidst) {
      const real = faultOf(chance, now, null);
      now = monitor.run([real], now, real.to + timeout_ms);
      count(monitor.confirmed(), real, sum);
      now = monitor.run([], now, now + quiet_ms);
      monitor.confirmed();
      continue;
    }
    const real = amidst ? faultOf(chance, (oneSided.from + oneSided.to) / 2, null) : undefined;
    const faults = real ? [oneSided, real] : [oneSided];
    now = monitor.run(faults, now, Math.max(...faults.map(({ to }) => to)) + timeout_ms);
    if (real) count(monitor.confirmed(), real, sum);
    else {
      sum.failures += 1;
      sum.false_outages += monitor.confirmed();
    }
    now = monitor.run([], now, now + quiet_ms);
    // Answers come late, too.
    const late = monitor.confirmed();
    if (!real) sum.false_outages += late;
  }
  sum.checks += monitor.checks();
}

function count(confirmed: number, real: Fault, sum: OneSided): void {
  if (real.to - real.from < findable_ms) return;
  sum.outages += 1;
  if (confirmed === 0) sum.missed += 1;
}

/** From a second to a quarter of an hour, as often of each order. */
function faultOf(chance: Chance, from: number, continent: Continent | null): Fault {
  const manner = mannerAt(chance.next() * allShares);
  const lasts = Math.exp(chance.next() * Math.log(900)) * second;
  const part = continent !== null && manner.loses ? 0.2 + 0.8 * chance.next() : 1;
  return { continent, from, to: from + lasts, manner, part };
}

function mannerAt(at: number): Manner {
  let upTo = 0;
  for (const manner of manners) {
    upTo += manner.share;
    if (at < upTo) return manner;
  }
  return manners[0];
}

type Arrival = { readonly at: number; readonly event: MonitorEvent };
type Run = { readonly at: number; readonly continent: Continent; readonly look: string | null };

/** One monitor, its probes and the coordinator, without the network between them. */
function createMonitor(chance: Chance) {
  let state: MonitorState = createState({
    ...{ id: 'monitor', organisation: 'organisation', kind: 'https', interval_ms, timeout_ms },
    ...{ continents: null, probe: null, config_version: 1, alert_after_ms: 0, sampled: true },
    ...{ created_at: 0, paused_at: null },
  });
  let [ids, seq, turn, told] = [0, 0, 0, 0];
  const confirmed = new Set<string>();
  let turnAt = chance.next() * interval_ms;
  const runs: Run[] = [];
  const arrivals: Arrival[] = [];
  // Clocks of probes differ by a little.
  const ahead = new Map(continents.map((each) => [each, (chance.next() - 0.5) * 2 * second]));

  const hear = (event: MonitorEvent, now: number): void => {
    const newId = (): string => {
      ids += 1;
      return `${ids}`;
    };
    const decision = decide(state, event, { now, network: roster, newId });
    state = decision.state;
    for (const effect of decision.effects) {
      if (effect.is === 'incident' && effect.incident.confirmed_at !== null)
        confirmed.add(effect.incident.id);
      if (effect.is !== 'look') continue;
      for (const place of effect.places)
        insert(runs, {
          ...{ at: now + 20 + 300 * chance.next(), look: effect.look },
          continent: continents.find((each) => each === place) ?? 'Asia',
        });
    }
  };

  const check = ({ at, continent, look }: Run, faults: readonly Fault[]): void => {
    const fault = faults.find(
      (each) =>
        (each.continent === null || each.continent === continent) &&
        each.from <= at &&
        at < each.to &&
        chance.next() < each.part,
    );
    const outcome: Outcome = fault ? 'fail' : 'ok';
    const cause: Cause | null = fault ? { class: fault.manner.cause, params: {} } : null;
    const took_ms = fault ? fault.manner.took_ms : 20 + 300 * chance.next();
    seq += 1;
    const result: SeenResult = {
      ...{ seq, monitor: 'monitor', config_version: 1, took_ms, outcome, cause, look },
      at: Math.max(0, Math.round(at + (ahead.get(continent) ?? 0))),
      ...{ phases: null, evidence: null, quarantined: false, handed_over: false },
      ...(fault ? { others: { passed: 5, failed: 0 } } : {}),
      from: chance.pick(probes.filter((probe) => probe.continent === continent)),
    };
    // One in a hundred comes late.
    const late = chance.next() < 0.01 ? 20 * second * chance.next() : 0;
    const event = { is: 'result', result } as const;
    insert(arrivals, { at: at + took_ms + 20 + 100 * chance.next() + late, event });
  };

  return {
    /** @returns the end. */
    run: (faults: readonly Fault[], from: number, until: number): number => {
      let now = from;
      for (;;) {
        const tickAt = Math.max(now, nextTick(state, roster) ?? Number.POSITIVE_INFINITY);
        const runAt = runs[0]?.at ?? Number.POSITIVE_INFINITY;
        const arrivesAt = arrivals[0]?.at ?? Number.POSITIVE_INFINITY;
        const at = Math.min(tickAt, runAt, arrivesAt, turnAt);
        if (at > until) return until;
        now = at;
        if (at === arrivesAt) {
          const first = arrivals.shift();
          if (first) hear(first.event, Math.round(at));
        } else if (at === runAt) {
          const first = runs.shift();
          if (first) check(first, faults);
        } else if (at === turnAt) {
          const continent = continents[turn % continents.length] ?? 'Asia';
          check({ at, continent, look: null }, faults);
          turn += 1;
          turnAt += interval_ms;
        } else {
          hear({ is: 'tick' }, Math.ceil(at));
          now = Math.ceil(at) + 1;
        }
      }
    },
    /** How many outages were confirmed since it was last asked. */
    confirmed: (): number => {
      const since = confirmed.size - told;
      told = confirmed.size;
      return since;
    },
    checks: (): number => seq,
  };
}

function insert<Timed extends { readonly at: number }>(all: Timed[], one: Timed): void {
  let at = all.length;
  while (at > 0 && (all[at - 1]?.at ?? 0) > one.at) at -= 1;
  all.splice(at, 0, one);
}
