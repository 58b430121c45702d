import type { Continent } from '../../shared/base/continents.ts';
import type { MonitorState, ProbeView, SeenResult } from './types.ts';
import { type Reach, tally } from './views.ts';

/**
 * Whether a probe can be trusted (rule 16): sick when a large share of what it checks, counted by distinct targets, fails for it
 * alone while other continents pass; well again after a run of shadow checks that agree with the others.
 *
 * Modes: trusted (sick_since null) → quarantined (sick_since set; what it sees is kept as a shadow only) → trusted.
 */
export type Trust = {
  /** Targets that its newest check found failing and others refuted, and until when that counts. */
  readonly refuted: ReadonlyMap<string, number>;
  readonly sick_since: number | null;
  /** Shadow checks in a row that agreed, and the distinct targets among them. */
  readonly clean: number;
  readonly cleanTargets: readonly string[];
};

/** One check, and what the other continents say of the same target. `turn_ms`: how long a turn at it takes, after which it is checked again. */
export type Shown = {
  readonly target: string;
  readonly at: number;
  readonly ok: boolean;
  readonly others: 'pass' | 'fail' | 'nothing';
  readonly turn_ms: number;
};

export const trusting: Trust = { refuted: new Map(), sick_since: null, clean: 0, cleanTargets: [] };

/** A refuted failure counts so long, and where turns are longer for two of them, like a view: targets that are checked seldom count as much. */
const memory = 600_000;
const fewestTargets = 3;
const largeShare = 0.4;
/** What silences all that is seen of a continent needs as much of it, or so many targets. */
const largeShareOfOnly = 0.5;
const manyTargets = 20;
const cleanRun = 20;

const remember = (refuted: Trust['refuted'], { target, at, ok, others, turn_ms }: Shown): Trust['refuted'] => {
  const wrong = !ok && others === 'pass';
  const isOpen = !ok && others === 'nothing';
  if (isOpen || (!wrong && !refuted.has(target))) return refuted;
  const next = new Map([...refuted].filter(([other, until]) => other !== target && until > at));
  return wrong ? next.set(target, at + Math.max(memory, 2 * turn_ms)) : next;
};

const shadow = (trust: Trust, { target, ok, others }: Shown, targets: number): Trust => {
  // Where others fail it proves nothing: whoever fails everything agrees with them, and if it passes, who is right is not known.
  if (others !== 'pass') return trust;
  if (!ok) return { ...trust, clean: 0, cleanTargets: [] };
  const clean = trust.clean + 1;
  const isNew = trust.cleanTargets.length < fewestTargets && !trust.cleanTargets.includes(target);
  const cleanTargets = isNew ? [...trust.cleanTargets, target] : trust.cleanTargets;
  // A run is clean when it is long enough and was seen on several targets, or on all that the probe has.
  const isOver = clean >= cleanRun && cleanTargets.length >= Math.min(fewestTargets, targets);
  return isOver ? trusting : { ...trust, clean, cleanTargets };
};

/** How many distinct targets a probe checks, and whether nobody else of its continent is there to see them. */
type Known = { readonly targets: number; readonly isOnly: boolean };
/** `isAll`: nobody else knows more of the probe; else it is judged once all that is known has been put together. */
export type Observed = Known & { readonly isAll: boolean };

const isLarge = (refuted: number, { targets, isOnly }: Known): boolean =>
  refuted >= fewestTargets &&
  refuted >= targets * largeShare &&
  (!isOnly || refuted >= manyTargets || refuted >= targets * largeShareOfOnly);

const sickSince = (sick_since: number): Trust => ({ ...trusting, sick_since });

/**
 * The trust after one more check of a probe. It falls and returns by itself: `sick_since` tells.
 * A pass of a target that it had right before changes nothing and costs nothing.
 */
export const observe = (trust: Trust, shown: Shown, observed: Observed): Trust => {
  if (trust.sick_since !== null) return shown.at < trust.sick_since ? trust : shadow(trust, shown, observed.targets);
  const refuted = remember(trust.refuted, shown);
  if (refuted === trust.refuted) return trust;
  return observed.isAll && isLarge(refuted.size, observed) ? sickSince(shown.at) : { ...trust, refuted };
};

/** The trust in a probe of which several know something, by what they know together. */
export const judge = (trust: Trust, now: number, { refuted, ...known }: Known & { readonly refuted: number }): Trust =>
  trust.sick_since === null && isLarge(refuted, known) ? sickSince(now) : trust;

/**
 * What is believed of a probe, given what is written down of it: every coordinator judges, and whoever goes on after the one that
 * quarantined a probe must be able to let it return.
 */
export const asWritten = (known: Trust | undefined, quarantined_at: number | null): Trust => {
  if (known && (known.sick_since === null) === (quarantined_at === null)) return known;
  return quarantined_at === null ? trusting : { ...trusting, sick_since: quarantined_at };
};

/**
 * What checks of one target show about the probes that made them (rule 16). A failure is refuted when every other continent passed right
 * after it: passes from before it say nothing, for every outage begins after a pass; and whoever has not answered yet may have seen it too.
 */

/** Others look as soon as the failure is known (rule 9); who passed much later may have seen another time of the target. */
const rightAfter = 10_000;

type Of = {
  readonly state: Pick<MonitorState, 'views' | 'clock'>;
  readonly reach: Pick<Reach, 'able' | 'turn_ms'>;
  readonly isSick: (probe: string) => boolean;
};

type Others = Shown['others'];

const othersOf = ({ state, reach }: Of, continent: Continent, counts: (pass: ProbeView) => boolean): Others => {
  const elsewhere = state.views.filter((view) => view.from.continent !== continent);
  const { failing, passing } = tally(elsewhere, state.clock, reach.turn_ms);
  if (failing.length > 0) return 'fail';
  // Nobody waits for the word of a continent that cannot check now.
  const asked = passing.filter(({ from }) => reach.able.includes(from.continent));
  return asked.length > 0 && asked.every(counts) ? 'pass' : 'nothing';
};

/** A failure is known when its check ends, which for a silent target is as late as its time limit. */
const rightAfterThat =
  ({ at, took_ms }: Pick<SeenResult, 'at' | 'took_ms'>) =>
  (pass: ProbeView): boolean =>
    pass.at >= at && pass.at <= at + took_ms + rightAfter;

export type ShownOf = { readonly probe: string; readonly shown: Omit<Shown, 'target'> };

/** What this result, which the state contains, shows of its own probe, and of the one whose failure it refutes. */
export const shownBy = (result: SeenResult, of: Of): readonly ShownOf[] => {
  const { at, outcome, handed_over } = result;
  const { probe, continent } = result.from;
  if (outcome === 'unknown') return [];
  const ok = outcome === 'ok';
  const { turn_ms } = of.reach;
  // A shadow prompts nobody to look: it is held against whatever others saw last.
  const others = ok || of.isSick(probe) ? othersOf(of, continent, () => true) : othersOf(of, continent, rightAfterThat(result));
  // What was kept tells of a time that others have left behind.
  const own: readonly ShownOf[] = handed_over && !ok ? [] : [{ probe, shown: { at, ok, others, turn_ms } }];
  if (!ok) return own;
  const [lonely, another] = tally(of.state.views, of.state.clock, turn_ms).failing;
  if (!lonely || another || lonely.from.continent === continent) return own;
  const said = othersOf(of, lonely.from.continent, rightAfterThat({ at: lonely.at, took_ms: lonely.failure?.took_ms ?? 0 }));
  return [...own, { probe: lonely.from.probe, shown: { at: lonely.at, ok: false, others: said, turn_ms } }];
};

/**
 * What one coordinator knows of a probe that may be sick (rule 16), small enough to be told to the others, and what all of them know together. Each
 * decides about its own monitors only, and several may know the same host.
 */
export type Share = {
  /** Hashes of the hosts that the probe checks, in order: the smallest of them, which are a fair sample of many. */
  readonly hosts: readonly number[];
  /** Those of them that are refuted, and until when that counts. */
  readonly refuted: ReadonlyMap<number, number>;
};

export const maxHosts = 256;
/** Hashes of hosts are below this, evenly. */
const hashes = 2 ** 32;

export const smallestOf = (hosts: ReadonlySet<number>): readonly number[] => [...Float64Array.from(hosts).sort().subarray(0, maxHosts)];

export const shareOf = (hosts: readonly number[], refuted: ReadonlyMap<number, number>, now: number): Share => ({
  hosts,
  refuted: new Map(hosts.map((host): [number, number] => [host, refuted.get(host) ?? now]).filter(([, until]) => until > now)),
});

/** A refuted failure that is seen again counts for longer: that alone is told only once in a while. */
const longer = 60_000;

export const saysTheSame = (share: Share, told: Share | undefined): boolean =>
  told !== undefined &&
  told.hosts.length === share.hosts.length &&
  told.refuted.size === share.refuted.size &&
  share.hosts.every((host, index) => host === told.hosts[index]) &&
  [...share.refuted].every(([host, until]) => until - (told.refuted.get(host) ?? Number.NEGATIVE_INFINITY) < longer);

/** How many distinct hosts the probe checks, and how many of them are refuted. Of more than a sample holds both are estimated. */
export const together = (shares: readonly Share[], now: number): { readonly targets: number; readonly refuted: number } => {
  const isSample = shares.some(({ hosts }) => hosts.length >= maxHosts);
  const all = [...new Set(shares.flatMap(({ hosts }) => hosts))].toSorted((a, b) => a - b);
  const hosts = isSample ? all.slice(0, maxHosts) : all;
  const refuted = hosts.filter((host) => shares.some((share) => (share.refuted.get(host) ?? now) > now)).length;
  if (!isSample) return { targets: hosts.length, refuted };
  const targets = Math.round(((hosts.length - 1) * hashes) / ((hosts.at(-1) ?? 0) + 1));
  return { targets, refuted: Math.round((refuted * targets) / hosts.length) };
};
