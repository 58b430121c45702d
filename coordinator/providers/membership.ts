import type { Queryable } from '../database/connect.ts';
import { insertAudit } from '../gate/audit.ts';
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
import type { Provider } from './lookup.ts';
import { roleAfter, roleProvisioned } from './model.ts';
import { endAccess } from './queries.ts';
import { standings } from './scim/queries.ts';

type Followed = { readonly before: Role | undefined; readonly after: Role | undefined };

/** A provider with the organisation in which its groups give roles. */
export type Serving = Provider & { readonly organisation: string };

export function isServing(provider: Provider): provider is Serving {
  return provider.organisation !== undefined;
}

type Member = {
  readonly user: string;
  /** As the provider says at the sign-in. */
  readonly groups?: readonly string[] | undefined;
};

/**
 * Gives a user the role of their groups, and takes it away with them. The last owner stays, or
 * nobody could manage the organisation any more. One that awaits deletion is read-only.
 */
export async function followGroups(
  sql: Queryable,
  provider: Serving,
  { user, groups }: Member,
): Promise<Followed> {
  const { organisation } = provider;
  const locked = await lockOrganisation(sql, organisation);
  const member = await memberOf(sql, organisation, user);
  const before = member?.role;
  const after = await roleBy(sql, provider, { user, groups }, before);
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

/**
 * What is provisioned counts for whom it names: two truths about a person would take turns. Other
 * members follow what the provider says when they sign in.
 */
async function roleBy(
  sql: Queryable,
  provider: Serving,
  { user, groups }: Member,
  before: Role | undefined,
): Promise<Role | undefined> {
  if (!provider.isProvisioned) return roleAfter(provider.table, groups, before);
  const [standing] = await standings(sql, provider, { user });
  if (standing === undefined && before !== undefined)
    return roleAfter(provider.table, groups, before);
  return roleProvisioned(provider.table, standing, before);
}

/** The role of whoever has no account yet: whoever is provisioned has theirs. */
export function newcomerRole(
  { isProvisioned, table }: Provider,
  groups: readonly string[] | undefined,
  invited: Role | undefined,
): Role | undefined {
  return isProvisioned
    ? roleProvisioned(table, undefined, invited)
    : roleAfter(table, groups, invited);
}

/** As followGroups(), outside a sign-in, and written down. */
export async function followAndRecord(
  sql: Queryable,
  provider: Serving,
  member: Member,
  at: number,
): Promise<void> {
  const { before, after } = await followGroups(sql, provider, member);
  if (before === after) return;
  await insertAudit(sql, {
    ...byProvider(provider.name),
    at,
    organisation: provider.organisation,
    operation: 'followProviderGroups',
    changed: {
      about: { user: member.user },
      before: { role: before ?? null },
      after: { role: after ?? null },
    },
  });
}

/** Ends what somebody whom their provider removed could still do here. */
export async function endProviderAccess(
  sql: Queryable,
  { id, name, isOwn, organisation }: Provider,
  user: string,
  at: number,
): Promise<void> {
  await endAccess(sql, { provider: id, user }, isOwn ? (organisation ?? null) : null);
  await insertAudit(sql, {
    ...byProvider(name),
    at,
    organisation: organisation ?? null,
    user,
    operation: 'endProviderAccess',
    changed: { about: { user }, after: { provider: name } },
  });
}

function byProvider(who: string) {
  return { user: null, who, through: 'page', token_name: null, address: null } as const;
}
