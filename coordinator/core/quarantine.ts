import type { Continent } from '../../shared/base/continents.ts';
import { sideOf } from './places.ts';
import type { MonitorState, ProbeView, SeenResult } from './types.ts';
import { type Reach, tally } from './views.ts';

/**
 * Whether a probe can be trusted (rule 16). A probe is sick when a large share of its checks,
 * counted by distinct targets, fails for it alone while other continents pass. It is well again
 * after a run of shadow checks that agree with the others.
 *
 * What it says in quarantine is kept as a shadow only.
 */
export type Trust = {
  /**
   * Targets whose newest check by this probe failed and others refuted, and until when that counts.
   */
  readonly refuted: ReadonlyMap<string, number>;
  readonly sick_since: number | null;
  /** Consecutive shadow checks that agreed, and their distinct targets. */
  readonly clean: number;
  readonly cleanTargets: readonly string[];
};

/**
 * One check, and what the other continents say of the same target. `turn_ms`: the length of a turn,
 * after which it is checked again.
 */
export type ComparedCheck = {
  readonly target: string;
  readonly at: number;
  readonly ok: boolean;
  readonly others: 'pass' | 'fail' | 'nothing';
  readonly turn_ms: number;
};

/** How many distinct targets a probe checks, and whether it is the only one of its continent. */
type ProbeCoverage = { readonly targets: number; readonly isOnly: boolean };
/**
 * `isAll`: this coordinator knows all of the probe. Otherwise the probe is judged once the shares
 * of all coordinators are merged.
 */
type Observed = ProbeCoverage & { readonly isAll: boolean };

/**
 * The trust after one more check of a probe. It changes only as `sick_since` shows. A pass of a
 * target that passed before changes nothing and costs nothing.
 */
export function observe(trust: Trust, shown: ComparedCheck, observed: Observed): Trust {
  if (trust.sick_since !== null)
    return shown.at < trust.sick_since ? trust : shadow(trust, shown, observed.targets);
  const refuted = remember(trust.refuted, shown);
  if (refuted === trust.refuted) return trust;
  return observed.isAll && isLarge(refuted.size, observed)
    ? sickSince(shown.at)
    : { ...trust, refuted };
}

export const trusting: Trust = { refuted: new Map(), sick_since: null, clean: 0, cleanTargets: [] };

const fewestTargets = 3;

const cleanRun = 20;

function shadow(trust: Trust, { target, ok, others }: ComparedCheck, targets: number): Trust {
  // If others fail it proves nothing: a probe that fails everything agrees with them, and if it
  // passes, either side may be right.
  if (others !== 'pass') return trust;
  if (!ok) return { ...trust, clean: 0, cleanTargets: [] };
  const clean = trust.clean + 1;
  const isNew = trust.cleanTargets.length < fewestTargets && !trust.cleanTargets.includes(target);
  const cleanTargets = isNew ? [...trust.cleanTargets, target] : trust.cleanTargets;
  // A run is clean when it is long enough and covers several targets, or all that the probe has.
  const isOver = clean >= cleanRun && cleanTargets.length >= Math.min(fewestTargets, targets);
  return isOver ? trusting : { ...trust, clean, cleanTargets };
}

/**
 * How long a refuted failure counts. Where turns are longer it counts for two of them, like a view,
 * so that rarely checked targets count as much.
 */
const memory = 600_000;

function remember(
  refuted: Trust['refuted'],
  { target, at, ok, others, turn_ms }: ComparedCheck,
): Trust['refuted'] {
  const wrong = !ok && others === 'pass';
  const isOpen = !ok && others === 'nothing';
  if (isOpen || (!wrong && !refuted.has(target))) return refuted;
  const next = new Map([...refuted].filter(([other, until]) => other !== target && until > at));
  return wrong ? next.set(target, at + Math.max(memory, 2 * turn_ms)) : next;
}

const largeShare = 0.4;
/** Silencing the only probe of a continent needs this share, or this many targets. */
const largeShareOfOnly = 0.5;
const manyTargets = 20;

function isLarge(refuted: number, { targets, isOnly }: ProbeCoverage): boolean {
  return (
    refuted >= fewestTargets &&
    refuted >= targets * largeShare &&
    (!isOnly || refuted >= manyTargets || refuted >= targets * largeShareOfOnly)
  );
}

function sickSince(sick_since: number): Trust {
  return { ...trusting, sick_since };
}

/** The trust in a probe of which several coordinators know something, by their merged knowledge. */
export function judge(
  trust: Trust,
  now: number,
  { refuted, ...known }: ProbeCoverage & { readonly refuted: number },
): Trust {
  return trust.sick_since === null && isLarge(refuted, known) ? sickSince(now) : trust;
}

/**
 * The trust as the stored row says. Every coordinator judges, so another one than the one that
 * quarantined a probe must be able to release it.
 */
export function asWritten(known: Trust | undefined, quarantined_at: number | null): Trust {
  if (known && (known.sick_since === null) === (quarantined_at === null)) return known;
  return quarantined_at === null ? trusting : { ...trusting, sick_since: quarantined_at };
}

type Of = {
  readonly state: Pick<MonitorState, 'views' | 'clock'>;
  readonly reach: Pick<Reach, 'able' | 'turn_ms'>;
  readonly isSick: (probe: string) => boolean;
};

type ShownOf = { readonly probe: string; readonly shown: Omit<ComparedCheck, 'target'> };

/**
 * What this result, already part of the state, shows of its own probe and of the probe whose
 * failure it refutes.
 */
export function shownBy(result: SeenResult, of: Of): readonly ShownOf[] {
  const { at, outcome, handed_over } = result;
  const { probe, continent } = result.from;
  // A private probe may be right alone: it sees its own side, and neither side refutes the other.
  if (outcome === 'unknown' || sideOf(result.from) === 'inside') return [];
  const ok = outcome === 'ok';
  const { turn_ms } = of.reach;
  // A shadow check causes no rechecks: it is compared with the newest result of the others.
  const others =
    ok || of.isSick(probe)
      ? othersOf(of, continent, () => true)
      : othersOf(of, continent, rightAfterThat(result));
  // A backlog result is from a time that the others' views have passed.
  const own: readonly ShownOf[] =
    handed_over && !ok ? [] : [{ probe, shown: { at, ok, others, turn_ms } }];
  if (!ok) return own;
  const outside = of.state.views.filter(({ from }) => sideOf(from) === 'outside');
  const failing = tally(outside, of.state.clock, turn_ms).failing.filter(
    ({ from }) => from.continent !== continent,
  );
  return [
    ...own,
    ...failing.map(({ from, at: failedAt, failure }): ShownOf => {
      const counts = rightAfterThat({ at: failedAt, took_ms: failure?.took_ms ?? 0 });
      const others = othersOf(of, from.continent, counts);
      return { probe: from.probe, shown: { at: failedAt, ok: false, others, turn_ms } };
    }),
  ];
}

type Others = ComparedCheck['others'];

function othersOf(
  { state, reach }: Of,
  continent: Continent,
  counts: (pass: ProbeView) => boolean,
): Others {
  const elsewhere = state.views.filter(
    ({ from }) => from.continent !== continent && sideOf(from) === 'outside',
  );
  const { failing, passing } = tally(elsewhere, state.clock, reach.turn_ms);
  // A continent that cannot check now is not awaited.
  const asked = passing.filter(({ from }) => reach.able.includes(from.continent));
  if (failing.length > asked.length) return 'fail';
  return asked.length > 0 && asked.every(counts) ? 'pass' : 'nothing';
}

/**
 * Others recheck as soon as the failure is known (rule 9); a much later pass may be of another
 * time.
 */
const rightAfter = 10_000;

/** A failure is known when its check ends: for a silent target as late as its timeout. */
function rightAfterThat({ at, took_ms }: Pick<SeenResult, 'at' | 'took_ms'>) {
  return (pass: ProbeView): boolean => pass.at >= at && pass.at <= at + took_ms + rightAfter;
}

/**
 * What checks of one target show about the probes that made them (rule 16). A failure is refuted
 * when at least as many other continents pass right after it as fail: probes that are sick in the
 * same way must not vouch for each other. Earlier passes prove nothing, because every outage begins
 * after a pass. A continent that has not answered yet may have seen it too.
 */
export const maxHosts = 256;

export function smallestOf(hosts: ReadonlySet<number>): readonly number[] {
  return [...Float64Array.from(hosts).sort().subarray(0, maxHosts)];
}

/**
 * What one coordinator knows of a probe that may be sick (rule 16), small enough to send to the
 * others, and their merged knowledge. Each decides about its own monitors only, and several may
 * know the same host.
 */
export type Share = {
  /**
   * Hashes of the hosts that the probe checks, sorted: only the smallest, which are a fair sample
   * of many.
   */
  readonly hosts: readonly number[];
  /** The refuted ones among them, and until when that counts. */
  readonly refuted: ReadonlyMap<number, number>;
};

export function shareOf(
  hosts: readonly number[],
  refuted: ReadonlyMap<number, number>,
  now: number,
): Share {
  return {
    hosts,
    refuted: new Map(
      hosts
        .map((host): [number, number] => [host, refuted.get(host) ?? now])
        .filter(([, until]) => until > now),
    ),
  };
}

/** A refuted failure that repeats counts for longer. That change alone is sent rarely. */
const longer = 60_000;

export function isSameShare(share: Share, before: Share | undefined): boolean {
  return (
    before !== undefined &&
    before.hosts.length === share.hosts.length &&
    before.refuted.size === share.refuted.size &&
    share.hosts.every((host, index) => host === before.hosts[index]) &&
    [...share.refuted].every(
      ([host, until]) => until - (before.refuted.get(host) ?? Number.NEGATIVE_INFINITY) < longer,
    )
  );
}

/** Hashes of hosts are evenly distributed below this. */
const hashes = 2 ** 32;

/**
 * How many distinct hosts the probe checks, and how many are refuted. Beyond the sample's size both
 * are estimates.
 */
export function together(
  shares: readonly Share[],
  now: number,
): { readonly targets: number; readonly refuted: number } {
  const isSample = shares.some(({ hosts }) => hosts.length >= maxHosts);
  const all = [...new Set(shares.flatMap(({ hosts }) => hosts))].toSorted((a, b) => a - b);
  const hosts = isSample ? all.slice(0, maxHosts) : all;
  const refuted = hosts.filter((host) =>
    shares.some((share) => (share.refuted.get(host) ?? now) > now),
  ).length;
  if (!isSample) return { targets: hosts.length, refuted };
  const targets = Math.round(((hosts.length - 1) * hashes) / ((hosts.at(-1) ?? 0) + 1));
  return { targets, refuted: Math.round((refuted * targets) / hosts.length) };
}
