import type { Roster } from '../../shared/checks/assignment.ts';
import { firstLook, isUnseen } from '../domain/first-look.ts';
import type { MonitorState } from '../domain/incident-types.ts';
import type { Round } from './partition-round.ts';
import type { PartitionState } from './partition-state.ts';

/**
 * First looks that may have been in vain: no probe was well when the monitor was made, or the look was lost with the coordinator. They are
 * asked for again whenever the roster changes, until somebody has seen the monitor.
 */

/** Remembers the monitor if nobody has seen it yet. */
export const noteUnseen = (state: PartitionState, monitor: MonitorState | undefined): void => {
  if (monitor && isUnseen(monitor)) state.unseen.add(monitor.watched.id);
};

/** Whether the roster has changed since those that nobody has seen were last asked for; what is made from now on is asked for at once. */
export const wantsFirstLooks = (state: PartitionState, { epoch }: Roster): boolean => {
  if (state.unseen.size === 0) state.lookedBy = epoch;
  return state.lookedBy !== epoch;
};

export const askUnseen = (state: PartitionState, round: Round, roster: Roster, now: number): void => {
  state.lookedBy = roster.epoch;
  for (const monitor of state.unseen) {
    const known = round.stateOf(monitor);
    const ordinal = state.monitors.keyOf(monitor);
    if (!known || ordinal === undefined || !isUnseen(known)) {
      state.unseen.delete(monitor);
      continue;
    }
    const first = firstLook({ ...known.watched, monitor, ordinal }, roster, now);
    if (first !== undefined) round.lookAt(monitor, first);
  }
};
