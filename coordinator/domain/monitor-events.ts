import { mayCheck } from './continent-reach.ts';
import { tally } from './continent-views.ts';
import type { Draft } from './decision-draft.ts';
import { close, notes } from './incident.ts';
import { withoutProbe } from './incident-sightings.ts';
import { forgetFrom } from './ledger.ts';

/** What happens to the monitor itself while it is watched (rules 16 and 17). */

/** Rule 18: what was seen before counts no more, and until somebody looks again nobody knows how it is. */
const beginAnew = (draft: Draft, at: number): void => {
  const { covered, effects } = forgetFrom(draft.state, at);
  draft.state = { ...draft.state, ...covered, views: [], decides_from: at };
  draft.effects.push(...effects);
};

const closeOpen = (draft: Draft, at: number, note: string): void => {
  const { incident } = draft.state;
  if (incident && draft.rules.pausing_closes) close(draft, incident, at, note, 'closed');
};

export const onPaused = (draft: Draft, at: number): void => {
  const { watched } = draft.state;
  if (watched.paused_at !== null) return;
  closeOpen(draft, at, notes.paused);
  draft.state = { ...draft.state, watched: { ...watched, paused_at: at } };
  const put = [{ began_at: at, ended_at: null, interval_ms: watched.interval_ms }];
  draft.effects.push({ is: 'ledger', kind: 'paused', put, drop: [] });
};

export const onResumed = (draft: Draft, at: number): void => {
  const { watched } = draft.state;
  if (watched.paused_at === null) return;
  const put = [{ began_at: watched.paused_at, ended_at: Math.max(at, watched.paused_at), interval_ms: watched.interval_ms }];
  draft.effects.push({ is: 'ledger', kind: 'paused', put, drop: [] });
  draft.state = { ...draft.state, watched: { ...watched, paused_at: null } };
  beginAnew(draft, at);
};

/** The new row is in the state already. */
export const onEdited = (draft: Draft, at: number, changed: boolean): void => {
  const { watched, views } = draft.state;
  if (changed) {
    closeOpen(draft, at, notes.edited);
    beginAnew(draft, at);
  } else draft.state = { ...draft.state, views: views.filter(({ from }) => mayCheck(watched, from.probe, from.continent)) };
};

export const onDeleted = (draft: Draft, at: number): void => {
  closeOpen(draft, at, notes.deleted);
};

/** Rule 16: what a sick probe alone opened closes with that reason; what others saw too stands. */
export const onQuarantined = (draft: Draft, at: number, probe: string): void => {
  const { views, incident } = draft.state;
  draft.state = { ...draft.state, views: views.filter((view) => view.from.probe !== probe) };
  withoutProbe(draft, probe);
  const { failing } = tally(draft.state.views, draft.state.clock, draft.reach.turn_ms);
  const alone = incident?.confirmed_at === null && incident.seen?.probe === probe && failing.length === 0;
  if (incident && alone) close(draft, incident, at, notes.quarantined, 'closed');
};
