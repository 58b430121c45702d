import type { Refusal } from '../../shared/base/errors.ts';
import type { Queryable } from '../database/connect.ts';
import { insertAudit } from '../gate/audit.ts';
import type { Organisation, Role } from '../gate/caller.ts';
import { lockOrganisation } from '../gate/records.ts';
import type { Move } from '../organisations/model.ts';
import { endInvitations } from '../organisations/owners.ts';
import {
  countMembers,
  countOwners,
  deleteMembers,
  insertMembers,
  memberOf,
  type NewRole,
  writeRoles,
} from '../people/queries.ts';
import { deleteTokensOf } from '../tokens/queries.ts';
import type { Provider } from './lookup.ts';
import { heldBack, roleAfter, roleProvisioned } from './model.ts';
import { endAccess } from './queries.ts';
import { standings } from './scim/queries.ts';

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
): Promise<Move> {
  const organisation = await lockOrganisation(sql, provider.organisation);
  const before = (await memberOf(sql, provider.organisation, user))?.role;
  const stays = { user, before, after: before };
  if (!organisation || organisation.ends_at !== null) return stays;
  const move = { ...stays, after: await roleBy(sql, provider, { user, groups }, before) };
  if (move.after === before) return stays;
  const refusal = (await heldBackIn(sql, organisation, [move])).get(move);
  if (refusal?.code === 'last_owner') return stays;
  if (refusal) throw refusal;
  await writeMoves(sql, organisation.id, [move]);
  return move;
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

/** The moves that an organisation, which is locked, cannot take as it is now. */
export async function heldBackIn<Each extends Move>(
  sql: Queryable,
  { id, plan }: Pick<Organisation, 'id' | 'plan'>,
  moves: readonly Each[],
): Promise<ReadonlyMap<Each, Refusal>> {
  const [members, owners] = [await countMembers(sql, id), await countOwners(sql, id)];
  return heldBack(moves, { plan, members, owners });
}

/** Each kind of change in one statement, for whomever it is about. */
export async function writeMoves(
  sql: Queryable,
  organisation: string,
  moves: readonly Move[],
): Promise<void> {
  const leaving = moves.filter(({ after }) => after === undefined).map(({ user }) => user);
  const coming = rolesOf(moves.filter(({ before }) => before === undefined));
  const changing = rolesOf(moves.filter(({ before }) => before !== undefined));
  if (leaving.length > 0) await deleteMembers(sql, organisation, ...leaving);
  if (coming.length > 0) await insertMembers(sql, organisation, ...coming);
  if (changing.length > 0) {
    await writeRoles(sql, organisation, ...changing);
    await deleteTokensOf(sql, organisation, ...changing.map(({ user }) => user));
  }
  await endInvitations(sql, organisation, ...moves);
}

function rolesOf(moves: readonly Move[]): readonly NewRole[] {
  return moves.flatMap(({ user, after: role }) => (role === undefined ? [] : [{ user, role }]));
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
  const move = await followGroups(sql, provider, member);
  if (move.after !== move.before) await recordMoves(sql, provider, [move], at);
}

export async function recordMoves(
  sql: Queryable,
  { name, organisation }: Serving,
  moves: readonly Move[],
  at: number,
): Promise<void> {
  if (moves.length === 0) return;
  await insertAudit(
    sql,
    ...moves.map(({ user, before, after }) => ({
      ...byProvider(name),
      at,
      organisation,
      operation: 'followProviderGroups',
      changed: {
        about: { user },
        before: { role: before ?? null },
        after: { role: after ?? null },
      },
    })),
  );
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
