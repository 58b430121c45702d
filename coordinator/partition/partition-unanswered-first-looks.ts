import type { Roster } from '../../shared/checks/assignment.ts';
import type { MonitorState } from '../domain/decision-types.ts';
import { firstLook, isUnseen } from '../domain/first-look.ts';
import { type DecisionBatch, lookAt, stateOf, termsOf } from './partition-decision-batch.ts';
import type { Unseen } from './partition-state.ts';

/**
 * First looks that may have been in vain: no probe was well when the monitor was made, or the look was lost with its probe, the coordinator, or
 * on its way. They are looked through whenever the roster changes, and when one of them has been waited for long enough, until somebody has
 * seen the monitor.
 */

export const nobodyUnseen = (): Unseen => ({ awaited: new Map(), epoch: Number.NaN, nextEnd: Number.POSITIVE_INFINITY });

/** Remembers the monitor if nobody has seen it yet. */
export const noteUnseen = (unseen: Unseen, monitor: MonitorState): void => {
  if (isUnseen(monitor)) unseen.awaited.set(monitor.watched.id, undefined);
};

/** Whether there may be a first look to ask for, beside those of what is made from now on, which are asked for at once. */
export const wantsFirstLooks = (unseen: Unseen, { epoch }: Roster, now: number): boolean => {
  if (unseen.awaited.size === 0) unseen.epoch = epoch;
  return unseen.epoch !== epoch || now >= unseen.nextEnd;
};

/** Has somebody look at this monitor now, if that is not awaited already, and remembers it until somebody has seen it. */
export const askForFirst = (unseen: Unseen, decisions: DecisionBatch, monitor: string, roster: Roster, now: number): void => {
  const known = stateOf(decisions, monitor);
  const key = termsOf(decisions, monitor)?.key;
  if (!known || key === undefined) return;
  const { awaited, look } = firstLook({ ...known.watched, monitor, ordinal: key }, unseen.awaited.get(monitor), roster, now);
  if (look) lookAt(decisions, monitor, look);
  if (!isUnseen(known)) return;
  unseen.awaited.set(monitor, awaited);
  if (awaited) unseen.nextEnd = Math.min(unseen.nextEnd, awaited.until);
};

export const askUnseen = (unseen: Unseen, decisions: DecisionBatch, roster: Roster, now: number): void => {
  unseen.epoch = roster.epoch;
  unseen.nextEnd = Number.POSITIVE_INFINITY;
  for (const monitor of unseen.awaited.keys()) {
    const known = stateOf(decisions, monitor);
    if (known && isUnseen(known)) askForFirst(unseen, decisions, monitor, roster, now);
    else unseen.awaited.delete(monitor);
  }
};
