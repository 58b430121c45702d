import type { Continent } from '../../shared/base/continents.ts';
import type { MonitorState, ProbeView, SeenResult } from './incident-types.ts';
import type { Shown } from './quarantine.ts';
import type { Reach } from './reach.ts';
import { tally } from './views.ts';

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
