import { ask, type Draft, keepEvidence } from './draft.ts';
import { close, confirm, notes, open, raise } from './incident.ts';
import { type Failure, heartbeatParams, type SeenBeat, type SeenResult } from './incident-types.ts';
import { cover } from './ledger.ts';

/** What beats do to a heartbeat's incident (rule 20); lateness itself is judged by probes and comes as results. */

/** A judgement from an older beat than the newest good one that is known: its probe had not heard of that one. */
export const isVoid = ({ outcome, cause }: SeenResult, beat_at: number | null): boolean => {
  if (beat_at === null || outcome !== 'fail') return false;
  const { [heartbeatParams.after]: after, [heartbeatParams.deadline]: deadline } = cause?.params ?? {};
  return (typeof after === 'number' && after < beat_at) || (typeof deadline === 'number' && deadline < beat_at);
};

const covered = (draft: Draft, { at, covers_until }: SeenBeat): void => {
  if (covers_until <= at) return;
  const { covered: next, effects } = cover(draft.state, Math.max(at, draft.state.watched.created_at), covers_until);
  draft.state = { ...draft.state, ...next };
  draft.effects.push(...effects);
};

const good = (draft: Draft, beat: SeenBeat): void => {
  const { incident, views, beat_at } = draft.state;
  if (beat_at !== null && beat.at <= beat_at) return;
  const still = views.filter((view) => view.ok || (view.failure?.began_at ?? view.at) > beat.at);
  draft.state = { ...draft.state, beat_at: beat.at, clock: Math.max(draft.state.clock, beat.at), views: still };
  if (!incident) return;
  if (beat.at >= incident.started_at) close(draft, incident, beat.at, null);
  else if (incident.seen !== null) {
    // It was late only for us. Whether the deadline that this beat set has passed too is for the probes to say, at once.
    close(draft, incident, incident.started_at, notes.beatWasOnTime);
    ask(draft, draft.reach.able, 'recovery');
  }
};

const bad = (draft: Draft, beat: SeenBeat): void => {
  const { incident, beat_at } = draft.state;
  if (beat_at !== null && beat.at < beat_at) return;
  const failure: Failure = { began_at: beat.at, took_ms: 0, cause: beat.cause, phases: null, evidence: beat.evidence };
  if (incident && incident.confirmed_at !== null) return;
  const told = incident ?? open(draft, null, beat.at, failure);
  const name = beat.evidence?.taken_by;
  const by = { continent: null, name: typeof name === 'string' ? name : '' };
  // What the job said, often why it failed: a probe that judged by the record has not heard that.
  keepEvidence(draft, told.id, incident ? 'confirmed' : 'seen', by, beat.at, failure);
  raise(draft, confirm(draft, told, null, beat.at), false);
};

export const onBeat = (draft: Draft, beat: SeenBeat): void => {
  if (beat.is === 'mark') return;
  covered(draft, beat);
  if (draft.state.watched.paused_at !== null || beat.at < draft.state.decides_from) return;
  if (beat.is === 'good') good(draft, beat);
  else bad(draft, beat);
};
