import { groupStatus } from '../../domain/group-status.ts';
import type { ShownGroup } from '../../store/store-groups.ts';

/** A group with how its monitors are: its status by rule 29, its counts of all that are in it. */
export const groupOut = ({ id, name, description, external_id, members, created_at }: ShownGroup) => {
  const count = (status: string): number => members.reduce((sum, each) => (each.status === status ? sum + each.count : sum), 0);
  return {
    ...{ id, name, description },
    monitors: members.reduce((sum, each) => sum + each.count, 0),
    created_at: created_at.toISOString(),
    external_id,
    status: groupStatus(members),
    ...{ down: count('down'), verifying: count('verifying'), up: count('up'), pending: count('pending'), paused: count('paused') },
  };
};
