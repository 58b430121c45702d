import type { Continent } from '../../shared/base/continents.ts';
import type { Outcome } from '../../shared/checks/result.ts';
import type { Failure, MonitorState, ProbeView, SeenResult } from './decision-types.ts';
import { heartbeatParams } from './decision-types.ts';

/** When what a failing check found began: a missed deadline for a heartbeat (rule 20), else the start of the check. */
export const beganAt = ({ at, cause }: Pick<SeenResult, 'at' | 'cause'>): number => {
  const deadline = cause?.params[heartbeatParams.deadline];
  return typeof deadline === 'number' ? Math.min(at, deadline) : at;
};

/** A start so far ahead of us tells of the probe's clock and not of the target (rule 1). */
export const clockTolerance = 5_000;

/**
 * What a result counts as when it is decided on at `now`: unknown if its probe is quarantined or its clock is wrong (rules 1 and 16). Raw
 * results are to be stored so, because a state is rebuilt from them.
 */
export const countsAs = ({ outcome, quarantined, at }: Pick<SeenResult, 'outcome' | 'quarantined' | 'at'>, now: number): Outcome =>
  quarantined || at > now + clockTolerance ? 'unknown' : outcome;

/** Failures confirm one another when they started within a minute (rule 10). */
export const together = 60_000;

export const failureOf = (result: SeenResult): Failure => ({
  began_at: beganAt(result),
  took_ms: result.took_ms,
  cause: result.cause,
  phases: result.phases,
  evidence: result.evidence,
});

/** The views after this usable result, and whether it is the newest of its probe: an older one changes no view (rule 3). */
export const see = (
  views: readonly ProbeView[],
  result: SeenResult,
): { readonly views: readonly ProbeView[]; readonly newest: boolean } => {
  const ok = result.outcome === 'ok';
  const index = views.findIndex((view) => view.from.probe === result.from.probe);
  const before = views[index];
  if (before && result.at <= before.at) {
    if (!ok || (before.ok_at !== null && before.ok_at >= result.at)) return { views, newest: false };
    return { views: views.with(index, { ...before, ok_at: result.at }), newest: false };
  }
  const ok_at = ok ? result.at : (before?.ok_at ?? null);
  const view: ProbeView = { from: result.from, at: result.at, ok, ok_at, failure: ok ? null : failureOf(result) };
  return { views: before ? views.with(index, view) : [...views, view], newest: true };
};

/** Which of two views of one continent counts: the newer one; a failure where both started together. */
const counts = (a: ProbeView, b: ProbeView): boolean => a.at > b.at || (a.at === b.at && !a.ok && b.ok);

/** A continent's view: the newest ok or fail of any of its probes, whatever its age. */
export const newestOf = (views: readonly ProbeView[], continent: Continent): ProbeView | undefined => {
  let newest: ProbeView | undefined;
  for (const view of views) if (view.from.continent === continent && (!newest || counts(view, newest))) newest = view;
  return newest;
};

/** Whether a failure that started then was the confirmed outage that ended last: when it comes late it is no evidence of another (rule 3). */
export const isOfLastDown = ({ last_down }: Pick<MonitorState, 'last_down'>, at: number): boolean =>
  last_down !== null && at >= last_down.from && at < last_down.to;

/** F and P of the rules as the views themselves: one for each continent that has seen the monitor within two of its turns before `time`. */
export type Tally = { readonly failing: readonly ProbeView[]; readonly passing: readonly ProbeView[] };

export const tally = (views: readonly ProbeView[], time: number, turn_ms: number): Tally => {
  const failing: ProbeView[] = [];
  const passing: ProbeView[] = [];
  for (const view of views) {
    if (time - view.at > 2 * turn_ms || newestOf(views, view.from.continent) !== view) continue;
    (view.ok ? passing : failing).push(view);
  }
  return { failing, passing };
};
