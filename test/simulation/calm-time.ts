import { allowedSilence } from '../../coordinator/core/ledger.ts';
import type { MonitorState, ProbeView } from '../../coordinator/core/types.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { continentsOf, probeOf } from '../../shared/checks/placement.ts';
import type { Probe } from './probe.ts';
import type { Story } from './story.ts';
import { placedOf } from './watched-monitors.ts';

/**
 * A calm time is jumped over: while every check passes and nothing is open, the state after it is the state before it with the last
 * turn of each continent in it. A test holds this against deciding every single result.
 */
export const afterCalm = (
  monitor: number,
  state: MonitorState,
  network: Roster,
  lastTurn: (probe: string, monitor: number) => number | undefined,
): MonitorState => {
  if (state.watched.paused_at !== null) return state;
  const placed = placedOf(monitor, state.watched);
  const fresh = continentsOf(placed, network).flatMap((continent): ProbeView[] => {
    const probe = probeOf(placed, continent, network);
    const at = probe && lastTurn(probe.id, monitor);
    if (!probe || at === undefined || at <= state.clock) return [];
    return [{ from: { probe: probe.id, name: probe.name, continent }, at, ok: true, ok_at: at, failure: null }];
  });
  if (fresh.length === 0) return state;
  const others = state.views.filter(({ from }) => !fresh.some((view) => view.from.probe === from.probe));
  const clock = Math.max(state.clock, ...fresh.map(({ at }) => at));
  return {
    ...state,
    views: [...others, ...fresh],
    clock,
    covered_until: Math.max(state.covered_until, clock + allowedSilence(state.watched)),
  };
};

/** How much of ordinary life is lived before trouble begins again. */
export const leadIn = (story: Story): number => Math.max(...story.monitors.map(({ interval_ms }) => interval_ms)) + 60_000;

export const probeById = (probes: readonly Probe[], id: string): Probe | undefined => probes.find(({ spec }) => spec.id === id);
