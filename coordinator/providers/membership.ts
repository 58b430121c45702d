import type { Queryable } from '../database/connect.ts';
import type { Role } from '../gate/caller.ts';
import { enforceLimit } from '../gate/plans.ts';
import { lockOrganisation } from '../gate/records.ts';
import { endInvitations } from '../organisations/owners.ts';
import {
  countMembers,
  countOwners,
  deleteMember,
  insertMember,
  memberOf,
  writeRole,
} from '../people/queries.ts';
import { deleteTokensOf } from '../tokens/queries.ts';
import type { GroupRole } from './group-roles.ts';
import { roleAfter } from './model.ts';

type Followed = { readonly before: Role | undefined; readonly after: Role | undefined };

/**
 * Gives a user the role of their groups, and takes it away with them. The last owner stays, or
 * nobody could manage the organisation any more. One that awaits deletion is read-only.
 */
export async function followGroups(
  sql: Queryable,
  {
    organisation,
    user,
    table,
    groups,
  }: {
    readonly organisation: string;
    readonly user: string;
    readonly table: readonly GroupRole[];
    readonly groups: readonly string[] | undefined;
  },
): Promise<Followed> {
  const locked = await lockOrganisation(sql, organisation);
  const member = await memberOf(sql, organisation, user);
  const before = member?.role;
  const after = roleAfter(table, groups, before);
  const stays = { before, after: before };
  if (!locked || locked.ends_at !== null || after === before) return stays;
  if (member === undefined) {
    if (after === undefined) return stays;
    enforceLimit('members', locked.plan, await countMembers(sql, organisation));
    await insertMember(sql, organisation, user, after);
    return { before, after };
  }
  if (before === 'owner' && (await countOwners(sql, organisation)) < 2) return stays;
  if (after === undefined) await deleteMember(sql, organisation, user);
  else {
    await writeRole(sql, organisation, user, after);
    await deleteTokensOf(sql, organisation, user);
  }
  await endInvitations(sql, organisation, member, after ?? null);
  return { before, after };
}
