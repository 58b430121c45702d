import { ask, type Draft, keepEvidence, put } from './decision-draft.ts';
import { type Failure, heartbeatParams, type Incident, type SeenPing, type SeenResult } from './decision-types.ts';
import { close, confirm, notes, open, raise } from './incident.ts';
import { badThatCameLate, beginningOf, confirmedBefore, goodThatCameLate, isNewsTo, startThatCameLate, whoTook } from './late-pings.ts';
import { cover } from './ledger.ts';

/** What pings do to a heartbeat's incident (rule 20); lateness itself is judged by probes and comes as results. */

/** A judgement from an older ping than the newest good one that is known: its probe had not heard of that one. */
export const isVoid = ({ outcome, cause }: SeenResult, beat_at: number | null): boolean => {
  if (beat_at === null || outcome !== 'fail') return false;
  const { [heartbeatParams.after]: after, [heartbeatParams.deadline]: deadline } = cause?.params ?? {};
  return (typeof after === 'number' && after < beat_at) || (typeof deadline === 'number' && deadline < beat_at);
};

/** What was agreed before a resume or an edit says nothing of the time after it (rule 18). */
const covered = (draft: Draft, { at, covers_until }: SeenPing): void => {
  const { watched, decides_from } = draft.state;
  const until = at < decides_from ? Math.min(covers_until, decides_from) : covers_until;
  const from = Math.max(at, watched.created_at);
  if (until <= from) return;
  const { covered: next, effects } = cover(draft.state, from, until);
  draft.state = { ...draft.state, ...next };
  draft.effects.push(...effects);
};

const good = (draft: Draft, ping: SeenPing): void => {
  const { incident, views, beat_at } = draft.state;
  if (beat_at !== null && ping.at <= beat_at) {
    goodThatCameLate(draft, ping);
    return;
  }
  const still = views.filter((view) => view.ok || (view.failure?.began_at ?? view.at) > ping.at);
  draft.state = { ...draft.state, beat_at: ping.at, clock: Math.max(draft.state.clock, ping.at), views: still };
  if (incident && ping.at >= incident.started_at) {
    const confirmed_at = confirmedBefore(incident, ping.at);
    close(draft, confirmed_at === incident.confirmed_at ? incident : { ...incident, confirmed_at }, ping.at, null);
  } else if (incident && incident.seen !== null && isNewsTo(incident, ping.at)) {
    // It was late only for us. Whether the deadline that this ping set has passed too is for the probes to say, at once.
    close(draft, incident, incident.started_at, notes.pingWasOnTime);
    ask(draft, draft.reach.able, 'recovery');
    // A place that had heard of it may have ended the incident before we did.
  } else goodThatCameLate(draft, ping);
};

/** The open incident with what the job itself says of it, which is sure, and may be of before what others saw. */
const toldOf = (draft: Draft, incident: Incident, { began_at, at }: SeenPing): Incident => {
  const isSooner = incident.confirmed_at === null || at < incident.confirmed_at;
  const begins = beginningOf(incident, { began_at, at });
  if (!isSooner && begins.started_at === incident.started_at) return incident;
  const moved = { ...incident, ...begins };
  put(draft, moved, 'moved');
  return isSooner ? confirm(draft, { ...moved, confirmed_at: null, confirmed: null }, null, at) : moved;
};

/** The good ping that made up for this bad one before it was told; null when none has. After a restart it may be known from the record alone. */
const madeUpAt = ({ state: { incident, beat_at } }: Draft, { at, next_good_at }: SeenPing): number | null => {
  if (beat_at !== null && at < beat_at) return next_good_at ?? beat_at;
  return next_good_at !== null && next_good_at <= (incident?.started_at ?? next_good_at) ? next_good_at : null;
};

const bad = (draft: Draft, ping: SeenPing): void => {
  const { incident } = draft.state;
  const { began_at, at, id, cause, evidence } = ping;
  const failure: Failure = { began_at, took_ms: 0, cause, phases: null, evidence };
  const until = madeUpAt(draft, ping);
  // Told once more, after an older good ping has parted it from the outage that it had confirmed.
  const own = draft.state.closed.some((other) => other.id === id) ? draft.moment.newId() : id;
  if (until !== null) {
    badThatCameLate(draft, { ...ping, id: own }, failure, until);
    return;
  }
  const told = incident ? toldOf(draft, incident, ping) : confirm(draft, open(draft, null, at, failure, own), null, at);
  if (told === incident) return;
  // What the job said, often why it failed: a probe that judged by the record has not heard that.
  keepEvidence(draft, told.id, told.seen === null ? 'seen' : 'confirmed', whoTook(ping), at, failure);
  raise(draft, told, false);
};

export const onPing = (draft: Draft, ping: SeenPing): void => {
  if (ping.is === 'mark' && ping.next_good_at === null) return;
  if (ping.is !== 'mark') covered(draft, ping);
  if (draft.state.watched.paused_at !== null || ping.at < draft.state.decides_from) return;
  if (ping.is === 'mark') startThatCameLate(draft, ping);
  else if (ping.is === 'good') good(draft, ping);
  else bad(draft, ping);
};
