import type { Continent } from '../../shared/base/continents.ts';
import type { Reach } from './continent-reach.ts';
import { tally } from './continent-views.ts';
import type { MonitorState, ProbeView, SeenResult } from './decision-types.ts';
import type { Shown } from './quarantine.ts';

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

export const mostHosts = 256;
/** Hashes of hosts are below this, evenly. */
const hashes = 2 ** 32;

export const smallestOf = (hosts: ReadonlySet<number>): readonly number[] => [...Float64Array.from(hosts).sort().subarray(0, mostHosts)];

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
  const isSample = shares.some(({ hosts }) => hosts.length >= mostHosts);
  const all = [...new Set(shares.flatMap(({ hosts }) => hosts))].toSorted((a, b) => a - b);
  const hosts = isSample ? all.slice(0, mostHosts) : all;
  const refuted = hosts.filter((host) => shares.some((share) => (share.refuted.get(host) ?? now) > now)).length;
  if (!isSample) return { targets: hosts.length, refuted };
  const targets = Math.round(((hosts.length - 1) * hashes) / ((hosts.at(-1) ?? 0) + 1));
  return { targets, refuted: Math.round((refuted * targets) / hosts.length) };
};
