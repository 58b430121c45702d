import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import type { Role, Scope } from '../gate/caller.ts';
import type { PlanName } from '../gate/plans.ts';

/** A token with everything that a call depends on, as it is now. */
type TokenHolder = {
  readonly fingerprint: string;
  readonly id: string;
  readonly name: string;
  readonly scope: Scope;
  readonly manage_members: boolean;
  readonly expires_at: number | null;
  readonly user_id: string;
  readonly role: Role;
  readonly organisation_id: string;
  readonly organisation: string;
  readonly plan: PlanName;
  readonly time_zone: string;
  readonly ends_at: number | null;
};

/**
 * Holders of tokens by hexadecimal fingerprint; unknown ones are absent. One query, whatever their
 * number.
 */
export function tokenHolders(
  sql: Queryable,
  fingerprints: readonly string[],
): Promise<TokenHolder[]> {
  return sql<TokenHolder[]>`
    select encode(t.fingerprint, 'hex') as fingerprint, t.id, t.name, t.scope, t.manage_members,
      t.expires_at, t.user_id, m.role,
      o.id as organisation_id, o.name as organisation, o.plan, o.time_zone,
        (extract(epoch from o.ends_at) * 1000)::float8 as ends_at
    from tokens t
    join memberships m on m.organisation_id = t.organisation_id and m.user_id = t.user_id
    join organisations o on o.id = t.organisation_id
    where t.fingerprint = any(${fingerprints.map((hex) => `\\x${hex}`)}::bytea[])`;
}

type NewToken = {
  readonly id: string;
  readonly organisation: string;
  readonly user: string;
  readonly name: string;
  readonly scope: Scope;
  readonly manage_members: boolean;
  readonly fingerprint: Buffer;
  readonly shown: string;
  readonly created_at: number;
  readonly expires_at: number | null;
};

/** False: its user no longer belongs to the organisation. */
export async function insertToken(sql: Queryable, token: NewToken): Promise<boolean> {
  const { id, organisation, user, name, scope, fingerprint, shown } = token;
  const { count } =
    await sql`insert into tokens (id, organisation_id, user_id, name, scope, manage_members, fingerprint,
      shown, created_at, expires_at)
    select ${id}, m.organisation_id, m.user_id, ${name}, ${scope}, ${token.manage_members},
      ${fingerprint}, ${shown}, ${new Date(token.created_at)}, ${isoText(token.expires_at)}
    from memberships m where m.organisation_id = ${organisation}
      and m.user_id = ${user} for key share`;
  return count > 0;
}

export type ListedToken = {
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly shown: string;
  readonly scope: Scope;
  readonly manage_members: boolean;
  readonly user_id: string;
  readonly email: string;
  /** The owner's name. */
  readonly owner: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
};

/**
 * Tokens of an organisation, newest first; `user`: those of one member alone, `id`: that one alone.
 */
export function tokenPage(
  sql: Queryable,
  organisation: string,
  { user, id }: { readonly user: string | null; readonly id: string | null },
  before: number,
  limit: number,
): Promise<ListedToken[]> {
  return sql<ListedToken[]>`
    select t.key, t.id, t.name, t.shown, t.scope, t.manage_members, t.user_id, u.email, u.name as owner, t.created_at,
      t.expires_at, t.last_used_at
    from tokens t join users u on u.id = t.user_id
    where t.organisation_id = ${organisation} and t.key < ${before}
      ${user === null ? sql`` : sql`and t.user_id = ${user}`} ${id === null ? sql`` : sql`and t.id = ${id}`}
    order by t.key desc limit ${limit}`;
}

/** The owner of this token, if it belongs to the organisation. */
export async function tokenOwner(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<Pick<ListedToken, 'user_id' | 'email' | 'name' | 'scope'> | undefined> {
  const [row] = await tokenPage(sql, organisation, { user: null, id }, Number.MAX_SAFE_INTEGER, 1);
  return row;
}

export async function deleteToken(sql: Queryable, organisation: string, id: string): Promise<void> {
  await sql`delete from tokens where id = ${id} and organisation_id = ${organisation}`;
}

/** A change of role ends every token of these members. */
export async function deleteTokensOf(
  sql: Queryable,
  organisation: string,
  ...users: readonly string[]
): Promise<void> {
  await sql`delete from tokens where organisation_id = ${organisation}
    and user_id = any(${users}::uuid[])`;
}

/** Those of a user in every organisation. */
export async function deleteAllTokensOf(sql: Queryable, user: string): Promise<void> {
  await sql`delete from tokens where user_id = ${user}`;
}

/**
 * Writes when tokens were last used, many in one statement; times never move backwards, because
 * several coordinators report.
 */
export async function writeLastUsed(
  sql: Queryable,
  uses: ReadonlyMap<string, number>,
): Promise<void> {
  if (uses.size === 0) return;
  const rows = [...uses].map(([id, at]) => ({ id, at: new Date(at).toISOString() }));
  await sql`update tokens t set last_used_at = greatest(t.last_used_at, u.at)
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as u (id uuid, at timestamptz)
    where t.id = u.id`;
}
