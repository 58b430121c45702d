import { isAhead } from './ahead.ts';
import { type Draft, keepEvidence, put } from './draft.ts';
import { confirm, count, passedSince } from './incident.ts';
import type { Failure, Incident, ProbeView, Seer } from './incident-types.ts';
import { layerOf } from './scope.ts';

/** Where an incident begins, when an older failure comes after it was opened (rules 3 and 4). */

/** Failures confirm one another when they started within a minute (rule 10). */
export const together = 60_000;

type Older = { readonly from: Seer; readonly at: number; readonly failure: Failure };

const isPassBetween =
  (from: number, to: number) =>
  ({ ok_at }: ProbeView): boolean =>
    ok_at !== null && ok_at > from && ok_at < to;

const begins = (draft: Draft, incident: Incident, { from, at, failure }: Older, change: Partial<Incident>): Incident => {
  const { began_at, cause } = failure;
  const { progress } = incident;
  const refuted = progress.refuted || passedSince(draft, from.continent, began_at);
  const moved: Incident = {
    ...incident,
    started_at: began_at,
    seen: from,
    cause,
    layer: layerOf(cause),
    progress: { ...progress, refuted },
    ...change,
  };
  put(draft, moved, 'moved');
  keepEvidence(draft, incident.id, 'seen', from, at, failure);
  return count(draft, moved, from.continent, false, began_at);
};

/** The failure of the continent that saw it first so far confirms the one that comes before it. */
const datedBefore = (draft: Draft, incident: Incident, seen: Seer, older: Older): Incident => {
  const { from, failure } = older;
  const { views } = draft.state;
  if (views.some(isPassBetween(failure.began_at, incident.started_at))) return incident;
  if (from.continent === seen.continent) return begins(draft, incident, older, {});
  const confirming = views.find((view) => view.from.probe === seen.probe && !view.ok);
  if (incident.confirmed_at !== null) {
    const moved = begins(draft, incident, older, { confirmed_at: incident.started_at, confirmed: seen });
    if (confirming?.failure) keepEvidence(draft, incident.id, 'confirmed', seen, confirming.at, confirming.failure);
    return moved;
  }
  const moved = begins(draft, incident, older, {});
  const isSecond = confirming && incident.started_at - failure.began_at <= together;
  return isSecond ? confirm(draft, moved, { ...confirming, at: incident.started_at }, incident.started_at) : moved;
};

/** Rule 4: what was decided ahead of the hand-over is dated by what is handed over as if all had come in order. */
const dateAnew = (draft: Draft, incident: Incident, older: Older): Incident => {
  const { seen, confirmed, confirmed_at, started_at } = incident;
  const { from, at, failure } = older;
  if (seen === null) return incident;
  if (failure.began_at < started_at) return datedBefore(draft, incident, seen, older);
  const isSecond = confirmed !== null && confirmed_at !== null && at < confirmed_at && from.continent !== seen.continent;
  if (!isSecond || at - started_at > together) return incident;
  const moved: Incident = { ...incident, confirmed_at: at, confirmed: from };
  put(draft, moved, 'moved');
  keepEvidence(draft, incident.id, 'confirmed', from, at, failure);
  return count(draft, moved, from.continent, false, at);
};

/**
 * Rule 3: while unconfirmed, an older failure moves the beginning back. Not across a pass of the continents concerned, which parts two
 * matters, and not further than a view lasts.
 */
export const moveBack = (draft: Draft, incident: Incident, from: Seer, at: number, failure: Failure): Incident => {
  const { state, reach, rules, moment } = draft;
  const { began_at } = failure;
  if (began_at < incident.started_at - 2 * reach.turn_ms) return incident;
  if (rules.ahead_is_dated_right && isAhead(incident, moment.now)) return dateAnew(draft, incident, { from, at, failure });
  if (!rules.older_failure_moves_back || incident.confirmed_at !== null || began_at >= incident.started_at) return incident;
  const concerned = (continent: Seer['continent']) => continent === from.continent || continent === incident.seen?.continent;
  const isBetween = isPassBetween(began_at, incident.started_at);
  if (state.views.some((view) => concerned(view.from.continent) && isBetween(view))) return incident;
  return begins(draft, incident, { from, at, failure }, {});
};
