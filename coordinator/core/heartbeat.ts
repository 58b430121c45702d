import { ask, type Draft, keepEvidence, progress, put } from './draft.ts';
import {
  begun,
  close,
  confirm,
  isReportedByJob,
  notes,
  open,
  raise,
  remember,
} from './incident.ts';
import { cover } from './ledger.ts';
import { nothingKnown } from './observations.ts';
import { type Failure, heartbeatParams, type Incident, type SeenPing } from './types.ts';
import { deciding } from './views.ts';

/**
 * What pings do to a heartbeat's incident (rule 20). Probes judge lateness, which arrives as
 * results.
 */
export function onPing(draft: Draft, ping: SeenPing): void {
  if (ping.is === 'mark' && ping.next_good_at === null) return;
  if (ping.is !== 'mark') covered(draft, ping);
  if (draft.state.watched.paused_at !== null || ping.at < draft.state.decides_from) return;
  if (ping.is === 'mark') dateFromRecord(draft, ping);
  else if (ping.is === 'good') good(draft, ping);
  else bad(draft, ping);
}

/** A ping from before a resume or an edit covers no time after it (rule 18). */
function covered(draft: Draft, { at, covers_until }: SeenPing): void {
  const { watched, decides_from } = draft.state;
  const until = at < decides_from ? Math.min(covers_until, decides_from) : covers_until;
  const from = Math.max(at, watched.created_at);
  if (until <= from) return;
  const { covered: next, effects } = cover(draft.state, from, until);
  draft.state = { ...draft.state, ...next };
  draft.effects.push(...effects);
}

/**
 * A start, or a good ping that the probe knew, which arrives after the good ping that follows it.
 * By all that is written down by now, the incident that ended with that one began sooner or later,
 * or did not happen: the run of a start has a limit of its own, and what came before may have been
 * dated without this ping. Time that no one observed stays unknown.
 */
function dateFromRecord(draft: Draft, { fails_at, next_good_at }: SeenPing): void {
  const ended = draft.state.closed.find(
    (incident) => mayEndSooner(incident) && endOf(incident) === next_good_at,
  );
  if (!ended || ended.started_at === fails_at) return;
  const { started_at, confirmed_at, cause } = ended;
  if (fails_at !== null) {
    const confirmed =
      confirmed_at === null ? {} : { confirmed_at: Math.max(confirmed_at, fails_at) };
    write(draft, { ...ended, ...confirmed, started_at: fails_at }, 'moved');
  } else if (!isReportedByJob(cause))
    write(
      draft,
      {
        ...ended,
        note: notes.pingWasOnTime,
        resolved_at: Math.max(started_at, confirmed_at ?? started_at),
      },
      'moved',
    );
}

/** An incident that ended for another reason keeps its end. */
function mayEndSooner({ note }: Incident): boolean {
  return note === null || note === notes.unobserved;
}

function endOf({ resolved_at, started_at }: Incident): number {
  return resolved_at ?? started_at;
}

/** Writes a resolved incident beside the open one. */
function write(draft: Draft, incident: Incident, change: 'opened' | 'moved'): void {
  draft.effects.push({ is: 'incident', change, incident });
  remember(draft, incident);
}

function good(draft: Draft, ping: SeenPing): void {
  const { incident, views, beat_at } = draft.state;
  if (beat_at !== null && ping.at <= beat_at) {
    goodThatCameLate(draft, ping);
    return;
  }
  const still = views.filter((view) => view.ok || (view.failure?.began_at ?? view.at) > ping.at);
  draft.state = {
    ...draft.state,
    beat_at: ping.at,
    clock: Math.max(draft.state.clock, ping.at),
    views: still,
  };
  if (incident && ping.at >= incident.started_at) {
    const confirmed_at = confirmedBefore(incident, ping.at);
    close(
      draft,
      confirmed_at === incident.confirmed_at ? incident : { ...incident, confirmed_at },
      ping.at,
      null,
    );
  } else if (incident && incident.seen !== null && isNewsTo(incident, ping.at)) {
    // It was late only for us. What the job itself reported remains, and begins with its report.
    const { reported_at } = incident.progress;
    if (reported_at !== undefined) {
      put(draft, reportAlone(incident, reported_at), 'moved');
      return;
    }
    // Probes judge at once whether the deadline that this ping set has passed too.
    close(draft, incident, incident.started_at, notes.pingWasOnTime);
    ask(draft, deciding(draft.reach), 'recovery');
    // A probe that had received it may have ended the incident before we did.
  } else goodThatCameLate(draft, ping);
}

/** The incident without the silence that came before the job's report. */
function reportAlone(incident: Incident, reported_at: number): Incident {
  const cause = { class: 'heartbeat_failed', params: {} };
  const confirmed = { confirmed_at: reported_at, confirmed: null };
  return { ...incident, ...confirmed, started_at: reported_at, seen: null, cause };
}

/**
 * Pings that arrive after newer ones, because a ping receiver kept them or the database refused
 * writes for a while. Order of time decides, not order of arrival (rule 20). What they report is
 * over, so no one is alerted (rule 4).
 *
 * A resolved incident ended with this ping if the ping is older than the one that closed it. The
 * rest of that time may contain a new failure.
 */
export function goodThatCameLate(draft: Draft, ping: SeenPing): void {
  const { at, covers_until, fails_at } = ping;
  const closed = draft.state.closed.filter(mayEndSooner);
  const over = closed.find((incident) => at >= incident.started_at && at < endOf(incident));
  const after = closed.findLast((incident) => at < incident.started_at);
  const wasOnTime =
    over === undefined && after && covers_until >= after.started_at && isNewsTo(after, at)
      ? after
      : undefined;
  const found = over ?? wasOnTime;
  if (!found) {
    if (after && !countsFromLater(after, at)) dateFromRecord(draft, ping);
    return;
  }
  const { started_at } = found;
  const confirmed_at = over ? confirmedBefore(found, at) : found.confirmed_at;
  const resolved_at = Math.max(over ? at : started_at, confirmed_at ?? started_at);
  write(
    draft,
    { ...found, note: over ? null : notes.pingWasOnTime, confirmed_at, resolved_at },
    'moved',
  );
  // An earlier late failure may have recorded it already.
  const isKnown = draft.state.closed.some((other) => other.started_at === fails_at);
  if (fails_at !== null && fails_at < endOf(found) && !isKnown)
    lateFrom(draft, fails_at, at, endOf(found));
}

/**
 * Whether this good ping from before the incident shows that the deadline was met: the probe that
 * judged had not received it.
 */
export function isNewsTo({ cause }: Incident, at: number): boolean {
  const after = cause?.params[heartbeatParams.after];
  return !isReportedByJob(cause) && (typeof after !== 'number' || after < at);
}

/** The probe that judged knew a newer ping, which is still on its way to us. */
function countsFromLater({ cause }: Incident, at: number): boolean {
  const after = cause?.params[heartbeatParams.after];
  return typeof after === 'number' && after > at;
}

/**
 * When the incident that this good ping ended counts as confirmed: at the ping at the latest,
 * because a failure after it belongs to another outage, or was judged without this ping.
 */
export function confirmedBefore({ confirmed_at }: Incident, at: number): number | null {
  return confirmed_at !== null && confirmed_at > at ? at : confirmed_at;
}

function lateFrom(draft: Draft, began_at: number, at: number, until: number): void {
  const { deadline, after } = heartbeatParams;
  const cause = { class: 'heartbeat_late', params: { [deadline]: began_at, [after]: at } };
  const failure = { ...nothingKnown, began_at, cause };
  write(draft, past(draft, draft.moment.newId(), failure, began_at, until), 'opened');
}

function past(
  draft: Draft,
  id: string,
  failure: Failure,
  confirmed_at: number,
  resolved_at: number,
): Incident {
  return {
    ...begun(draft, null, failure.began_at, failure, id),
    confirmed_at: Math.max(confirmed_at, failure.began_at),
    resolved_at,
  };
}

function bad(draft: Draft, ping: SeenPing): void {
  const { incident } = draft.state;
  const { began_at, at, id, cause, evidence } = ping;
  const failure = { ...nothingKnown, began_at, cause, evidence };
  const until = madeUpAt(draft, ping);
  // Repeated after an older good ping split it from the outage that it had confirmed.
  const own = draft.state.closed.some((other) => other.id === id) ? draft.moment.newId() : id;
  if (until !== null) {
    badThatCameLate(draft, { ...ping, id: own }, failure, until);
    return;
  }
  const reported = incident
    ? withOwnReport(draft, incident, ping)
    : confirm(draft, open(draft, null, at, failure, own), null, at);
  if (reported === incident) return;
  // The job's report often says why it failed. A probe that judged from the record does not have
  // it.
  keepEvidence(
    draft,
    reported.id,
    reported.seen === null ? 'seen' : 'confirmed',
    receivingPlace(ping),
    at,
    failure,
  );
  raise(draft, reported, false);
}

/**
 * The good ping that resolved this bad one before it arrived, or null. After a restart only the
 * stored record may know it.
 */
function madeUpAt(
  { state: { incident, beat_at } }: Draft,
  { at, next_good_at }: SeenPing,
): number | null {
  if (beat_at !== null && at < beat_at) return next_good_at ?? beat_at;
  return next_good_at !== null && next_good_at <= (incident?.started_at ?? next_good_at)
    ? next_good_at
    : null;
}

/**
 * A failure that a good ping at `until` resolved before the failure arrived still leaves its
 * incident.
 */
export function badThatCameLate(
  draft: Draft,
  ping: SeenPing,
  failure: Failure,
  until: number,
): void {
  const { id, at } = ping;
  const isOf = (incident: Incident) =>
    incident.resolved_at === until ||
    // What a ping on time has ended was no outage: the failure is another.
    (incident.note !== notes.pingWasOnTime && at >= incident.started_at && at < endOf(incident));
  const closed = draft.state.closed.find(isOf);
  if (!closed) {
    write(draft, past(draft, id, failure, at, until), 'opened');
    keepEvidence(draft, id, 'seen', receivingPlace(ping), at, failure);
    return;
  }
  const isSooner = closed.confirmed_at === null || at < closed.confirmed_at;
  const begins = beginningOf(closed, ping);
  if (!isSooner && begins.started_at === closed.started_at) return;
  const sooner = { confirmed_at: Math.max(at, ping.began_at), confirmed: null };
  const moved = { ...closed, ...begins, ...(isSooner ? sooner : {}) };
  write(draft, moved, 'moved');
  keepEvidence(
    draft,
    closed.id,
    moved.seen === null ? 'seen' : 'confirmed',
    receivingPlace(ping),
    at,
    failure,
  );
}

export function receivingPlace({ evidence }: SeenPing) {
  const name = evidence?.received_by;
  return { continent: null, name: typeof name === 'string' ? name : '' };
}

/**
 * When an incident begins by the job's own report. If a good ping has split it off meanwhile,
 * earlier time no longer belongs to it: the report that says so is the one that confirmed it.
 */
export function beginningOf(
  { started_at, seen, confirmed, confirmed_at }: Incident,
  { began_at, at }: Pick<SeenPing, 'began_at' | 'at'>,
): Pick<Incident, 'started_at' | 'seen'> {
  const isParted = confirmed === null && confirmed_at === at && began_at > started_at;
  return began_at < started_at || isParted
    ? { started_at: began_at, seen: null }
    : { started_at, seen };
}

/**
 * The open incident with the job's own report. The report is certain, and may be older than what
 * others saw.
 */
function withOwnReport(draft: Draft, incident: Incident, { began_at, at }: SeenPing): Incident {
  const isSooner = incident.confirmed_at === null || at < incident.confirmed_at;
  const begins = beginningOf(incident, { began_at, at });
  const isFirst =
    incident.seen !== null && at < (incident.progress.reported_at ?? Number.POSITIVE_INFINITY);
  const reported = isFirst ? progress(draft, incident, { reported_at: at }) : incident;
  if (!isSooner && begins.started_at === incident.started_at) return incident;
  const moved = { ...reported, ...begins };
  put(draft, moved, 'moved');
  return isSooner
    ? confirm(draft, { ...moved, confirmed_at: null, confirmed: null }, null, at)
    : moved;
}
