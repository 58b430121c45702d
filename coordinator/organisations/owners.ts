import { Refusal } from '../../shared/base/errors.ts';
import type { Queryable } from '../database/connect.ts';
import { mayManage, type Role } from '../gate/caller.ts';
import type { InOrganisation } from '../gate/context.ts';
import { countOwners, deleteInvitationsBy, type MemberRow } from '../people/queries.ts';
import { lastOwner, type Move } from './model.ts';

/**
 * An organisation without owners could not be managed any more; only the operator may leave one so.
 */
export async function refuseLastOwner(
  { sql, organisation, caller }: InOrganisation,
  member: MemberRow,
): Promise<void> {
  if (
    member.role !== 'owner' ||
    caller.is === 'operator' ||
    (await countOwners(sql, organisation.id)) > 1
  )
    return;
  throw lastOwner();
}

/**
 * Only owners add and remove owners, in person: an admin who could would be one, and a stolen token
 * would take the organisation from whoever made it.
 */
export function refuseUnlessOwner({ caller }: InOrganisation, ...roles: readonly Role[]): void {
  if (caller.is === 'operator' || !roles.includes('owner')) return;
  if (caller.is === 'token')
    throw new Refusal('role_insufficient', {
      role: 'a token never makes, changes or removes an owner; an owner does it on the page Members.',
    });
  if (caller.role === 'owner') return;
  throw new Refusal('role_insufficient', {
    role: 'owners alone make owners, and take that away; ask one of them.',
  });
}

/**
 * Ends the invitations that members may not make any more: one of their own, to another mailbox,
 * would give the role back.
 */
export async function endInvitations(
  sql: Queryable,
  organisation: string,
  ...moves: readonly Move[]
): Promise<void> {
  const invites = (role: Role | undefined): boolean => role !== undefined && mayManage(role);
  const losing = moves.filter(({ before, after }) => invites(before) && after !== 'owner');
  if (losing.length === 0) return;
  const usersOf = (some: readonly Move[]) => some.map(({ user }) => user);
  await deleteInvitationsBy(sql, organisation, {
    all: usersOf(losing.filter(({ after }) => !invites(after))),
    ofOwners: usersOf(losing.filter(({ after }) => invites(after))),
  });
}
