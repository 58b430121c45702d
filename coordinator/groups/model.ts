import type { Status } from '../monitors/status.ts';

type GroupMember = { readonly status: Status; readonly affects_group_status: boolean };

const worstFirst = ['down', 'verifying', 'pending', 'up'] as const satisfies readonly Status[];

/**
 * Rule 29: the worst status of its enabled members that affect it; `paused` when none is enabled;
 * `pending` without members, or when none of its members affects it.
 */
export function groupStatus(members: readonly GroupMember[]): Status {
  const counting = members.filter(({ affects_group_status }) => affects_group_status);
  const worst = worstFirst.find((status) => counting.some((member) => member.status === status));
  if (worst !== undefined) return worst;
  const nobodyEnabled = members.length > 0 && members.every(({ status }) => status === 'paused');
  return nobodyEnabled || counting.length > 0 ? 'paused' : 'pending';
}
