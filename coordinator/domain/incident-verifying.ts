import { failureOf, isOfLastDown, newestOf, tally, together } from './continent-views.ts';
import { ask, type Draft, progress } from './decision-draft.ts';
import type { Incident, ProbeView, SeenResult } from './decision-types.ts';
import { close, confirm, count, notes, open, raise } from './incident.ts';
import { askAgain, askFirst } from './looks-to-ask.ts';

/** What results do to an incident that is not confirmed, or not open yet (rules 8 to 11 and 14). */

/** Distance of the failures with which a lone continent confirms itself, less what a corrected clock may be wrong by (rule 14). */
const loneDistance = 5_000 - 500;

type Pair = { readonly second: ProbeView; readonly partner: ProbeView };

/** The failing view that confirms, and the failure of another continent that it stands beside: never two of one continent. */
const confirming = (draft: Draft, incident: Incident): Pair | undefined => {
  const { rules, state, reach } = draft;
  const views = tally(state.views, state.clock, reach.turn_ms).failing;
  // One that lies beside an outage that is over is not confirmed by what was that outage (rule 3).
  const failing = isOfLastDown(state, incident.started_at) ? views.filter(({ at }) => !isOfLastDown(state, at)) : views;
  const pairs: Pair[] = [];
  for (const second of failing) {
    if (rules.another_continent_confirms && second.from.continent === incident.seen?.continent) continue;
    for (const partner of failing) {
      if (rules.another_continent_confirms && partner.from.continent === second.from.continent) continue;
      if (rules.within_a_minute && Math.abs(partner.at - second.at) > together) continue;
      pairs.push({ second, partner });
    }
  }
  // Together with the continent that saw it first, if that one still does; else the earliest.
  const bySeeing = (pair: Pair) => (pair.partner.from.continent === incident.seen?.continent ? 0 : 1);
  return pairs.toSorted((a, b) => bySeeing(a) - bySeeing(b) || a.second.at - b.second.at)[0];
};

/** Rule 10, second paragraph: after a refutation the long lonely failure was another matter, and the outage begins with the latest one. */
const partFromLonely = (draft: Draft, incident: Incident, { second, partner }: Pair): { incident: Incident; second: ProbeView } => {
  const first = partner.from.continent === incident.seen?.continent || partner.at <= second.at ? partner : second;
  const other = first === partner ? second : partner;
  const began_at = first.failure?.began_at ?? first.at;
  if (!draft.rules.lonely_failure_is_another_matter || !incident.progress.refuted || !first.failure || began_at <= incident.started_at)
    return { incident, second };
  close(draft, incident, began_at, notes.oneContinent);
  return { incident: open(draft, first.from, first.at, first.failure), second: other };
};

const confirmIfSeenByTwo = (draft: Draft, incident: Incident, result: SeenResult): Incident => {
  const pair = confirming(draft, incident);
  if (!pair) return incident;
  const parted = partFromLonely(draft, incident, pair);
  const asked =
    parted.incident.id === incident.id
      ? incident
      : askFirst(draft, parted.incident, parted.incident.seen?.continent ?? pair.second.from.continent, result);
  return raise(draft, confirm(draft, asked, parted.second, parted.second.at), result.handed_over);
};

/** Rule 14: the only continent confirms by two more failures in a row. */
const confirmAlone = (draft: Draft, incident: Incident, result: SeenResult): Incident => {
  const { run, run_at } = incident.progress;
  if (!draft.rules.lone_continent_confirms_itself || result.at < run_at + loneDistance) return incident;
  if (run === 0) return progress(draft, incident, { run: 1, run_at: result.at });
  return raise(draft, confirm(draft, incident, null, result.at), result.handed_over);
};

/**
 * The first failure while nothing is open. It may be a late one of a probe that was lost, from within an outage that others saw end: staleness
 * is judged for each probe (rule 3) and what is over stays as it is (rule 24), so it becomes an incident of its own that lies beside the other,
 * with what that probe saw; time that both were down counts once (rule 21).
 */
export const openWith = (draft: Draft, result: SeenResult): void => {
  const failure = failureOf(result);
  const opened = open(draft, result.from, result.at, failure);
  const asked = askFirst(draft, opened, result.from.continent, result);
  if (!draft.reach.lone) confirmIfSeenByTwo(draft, asked, result);
};

export const failWhileVerifying = (draft: Draft, incident: Incident, result: SeenResult): void => {
  const { continent } = result.from;
  const seen = count(draft, incident, continent, false, result.at);
  const judged = draft.reach.lone ? confirmAlone(draft, seen, result) : confirmIfSeenByTwo(draft, seen, result);
  if (judged.confirmed_at === null) askAgain(draft, judged, continent, result);
};

export const passWhileVerifying = (draft: Draft, incident: Incident, result: SeenResult): void => {
  const { continent } = result.from;
  const seen = count(draft, incident, continent, true, result.at);
  if (continent !== incident.seen?.continent) {
    if (result.at > incident.started_at && !incident.progress.refuted) progress(draft, seen, { refuted: true });
    return;
  }
  if (!draft.rules.passing_continent_closes) return;
  close(draft, seen, result.at, null);
  // Who else still fails opens an incident of its own with its next failure: asked for now, not only when its turn comes.
  const { failing } = tally(draft.state.views, draft.state.clock, draft.reach.turn_ms);
  if (!result.handed_over)
    ask(
      draft,
      failing.map(({ from }) => from.continent).filter((other) => draft.reach.able.includes(other)),
      'recovery',
    );
};

/** The past comes in pieces, one right after the other. */
const pastIsOver = 5_000;

/** When an unconfirmed incident ends as no longer observed: two turns after the last that was heard of its continent (rule 11). */
export const unobservedAt = ({ state, reach }: Pick<Draft, 'state' | 'reach'>, incident: Incident): number => {
  const last = incident.seen ? newestOf(state.views, incident.seen.continent)?.at : undefined;
  return Math.max(last ?? incident.started_at, incident.started_at) + 2 * reach.turn_ms;
};

/** When that is to be decided: not while the past is still being told, which may have heard of it since (rule 4). */
export const lapsesAt = (draft: Pick<Draft, 'state' | 'reach'>, incident: Incident): number =>
  Math.max(unobservedAt(draft, incident), incident.progress.past_at + pastIsOver);

export const lapse = (draft: Draft, incident: Incident): void => {
  if (!draft.rules.unobserved_lapses || draft.moment.now < lapsesAt(draft, incident)) return;
  close(draft, incident, unobservedAt(draft, incident), notes.unobserved);
};
