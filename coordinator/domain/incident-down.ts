import { tally } from './continent-views.ts';
import { type Draft, progress, progressLightly } from './decision-draft.ts';
import type { Incident, SeenResult } from './decision-types.ts';
import { close, count, raise } from './incident.ts';
import { askRecovery } from './looks-to-ask.ts';
import { samplingStep } from './sampling.ts';

/** What results do to a confirmed incident (rules 12 and 14). */

/** The first pass where only one continent may check: its second is asked for soon, whatever the method. */
const lookAgainSoon = (draft: Draft, incident: Incident): void => {
  const { sampling } = incident.progress;
  const soon = draft.moment.now + samplingStep;
  const next_at = sampling.next_at === null ? soon : Math.min(sampling.next_at, soon);
  progressLightly(draft, incident, { sampling: { ...sampling, next_at } });
};

export const passWhileDown = (draft: Draft, incident: Incident, result: SeenResult, wasFailing: boolean): void => {
  const { state, reach, rules } = draft;
  const seen = count(draft, incident, result.from.continent, true, result.at);
  if (state.watched.kind === 'heartbeat') return;
  const { failing, passing } = tally(state.views, state.clock, reach.turn_ms);
  // What somebody saw before the outage says nothing of its end.
  const since = passing.filter(({ at }) => at >= incident.started_at).length;
  const below = failing.length < 2 ? (seen.progress.below_since ?? result.at) : null;
  const dated = below === seen.progress.below_since ? seen : progress(draft, seen, { below_since: below });
  const over = rules.dated_by_the_first_pass ? (below ?? result.at) : result.at;
  if (reach.lone) {
    if (seen.progress.run > 0 || !rules.two_passes_close) close(draft, dated, over, null);
    else lookAgainSoon(draft, progress(draft, dated, { run: 1, run_at: result.at }));
    return;
  }
  const enough = since >= 2 || since >= Math.max(1, reach.able.length) || !rules.two_passes_close;
  if (wasFailing) askRecovery(draft, dated, result.from.continent, result);
  const current = draft.state.incident ?? dated;
  if (failing.length <= 1 && enough) close(draft, current, over, null);
  else raise(draft, current, result.handed_over);
};

export const failWhileDown = (draft: Draft, incident: Incident, result: SeenResult): void => {
  const { state, reach } = draft;
  const seen = count(draft, incident, result.from.continent, false, result.at);
  const { failing } = tally(state.views, state.clock, reach.turn_ms);
  const again = failing.length >= 2 || reach.lone;
  const worse = again && seen.progress.below_since !== null;
  const down = worse ? progress(draft, seen, { below_since: null, run: 0 }) : seen;
  raise(draft, down, result.handed_over);
};
