import { groupStatus } from '../../domain/group-status.ts';
import type { GroupCounts } from '../../store/group-standings.ts';
import { groupOut } from './group-out.ts';

/** A group with how its monitors are: its status by rule 29, its counts of all that are in it. */
export const standingOut = (row: GroupCounts) => {
  const count = (status: string): number => row.members.reduce((sum, each) => (each.status === status ? sum + each.count : sum), 0);
  const monitors = row.members.reduce((sum, each) => sum + each.count, 0);
  return {
    ...groupOut({ ...row, monitors }),
    status: groupStatus(row.members),
    ...{ down: count('down'), verifying: count('verifying'), up: count('up'), pending: count('pending'), paused: count('paused') },
  };
};
