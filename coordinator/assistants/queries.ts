import { isoText } from '../../shared/base/time.ts';
import { isViolationOf, type Queryable } from '../database/connect.ts';
import type { Role, Scope } from '../gate/caller.ts';
import type { PlanName } from '../gate/plans.ts';

/** An access token of an assistant with everything that a call depends on, as it is now. */
type ConnectionHolder = {
  readonly fingerprint: string;
  readonly expires_at: number | null;
  /** The token's audience, according to its record. */
  readonly audience: string | null;
  readonly id: string;
  readonly client_name: string;
  readonly scope: Scope;
  readonly user_id: string;
  readonly role: Role;
  readonly organisation_id: string;
  readonly organisation: string;
  readonly plan: PlanName;
  readonly time_zone: string;
  readonly ends_at: number | null;
};

/**
 * Holders of access tokens by hexadecimal fingerprint; unknown ones are absent. One query, whatever
 * their number.
 */
export function connectionHolders(
  sql: Queryable,
  fingerprints: readonly string[],
): Promise<ConnectionHolder[]> {
  return sql<ConnectionHolder[]>`
    select encode(r.fingerprint, 'hex') as fingerprint, r.expires_at, r.payload->>'aud' as audience,
      c.id, c.client_name, c.scope, c.user_id, m.role,
      o.id as organisation_id, o.name as organisation, o.plan, o.time_zone,
        (extract(epoch from o.ends_at) * 1000)::float8 as ends_at
    from oauth_records r
    join connections c on c.id = r.connection_id
    join memberships m on m.organisation_id = c.organisation_id and m.user_id = c.user_id
    join organisations o on o.id = c.organisation_id
    where r.model = 'AccessToken'
      and r.fingerprint = any(${fingerprints.map((hex) => `\\x${hex}`)}::bytea[])`;
}

type NewConnection = {
  readonly id: string;
  readonly organisation: string;
  readonly user: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_host: string;
  readonly scope: Scope;
  readonly created_at: number;
};

export async function insertConnection(sql: Queryable, connection: NewConnection): Promise<void> {
  const { id, organisation, user, client_id, client_name, redirect_host, scope, created_at } =
    connection;
  await sql`insert into connections (id, organisation_id, user_id, client_id, client_name,
    redirect_host, scope, created_at)
    values (${id}, ${organisation}, ${user}, ${client_id}, ${client_name}, ${redirect_host},
      ${scope}, ${new Date(created_at)})`;
}

export type ListedConnection = {
  readonly key: number;
  readonly id: string;
  readonly client: string;
  readonly redirect_host: string;
  readonly scope: Scope;
  readonly user_id: string;
  readonly role: Role;
  readonly email: string;
  /** The owner's name. */
  readonly owner: string;
  readonly created_at: number;
  readonly last_used_at: number | null;
};

/**
 * Connections of an organisation, newest first; `user`: those of one member alone, `id`: that one
 * alone.
 */
export function connectionPage(
  sql: Queryable,
  organisation: string,
  { user, id }: { readonly user: string | null; readonly id: string | null },
  before: number,
  limit: number,
): Promise<ListedConnection[]> {
  return sql<ListedConnection[]>`
    select c.key, c.id, c.client_name as client, c.redirect_host, c.scope, c.user_id, m.role, u.email,
      u.name as owner, c.created_at, c.last_used_at
    from connections c
    join memberships m on m.organisation_id = c.organisation_id and m.user_id = c.user_id
    join users u on u.id = c.user_id
    where c.organisation_id = ${organisation} and c.key < ${before}
      ${user === null ? sql`` : sql`and c.user_id = ${user}`} ${id === null ? sql`` : sql`and c.id = ${id}`}
    order by c.key desc limit ${limit}`;
}

/** Deletes it with everything that was issued under it. */
export async function deleteConnection(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<void> {
  await sql`delete from connections where id = ${id} and organisation_id = ${organisation}`;
}

/** Those of a user in every organisation. */
export async function deleteConnectionsOf(sql: Queryable, user: string): Promise<void> {
  await sql`delete from connections where user_id = ${user}`;
}

/**
 * Writes when connections were last used, many in one statement; times never move backwards,
 * because several coordinators report.
 */
export async function writeConnectionUses(
  sql: Queryable,
  uses: ReadonlyMap<string, number>,
): Promise<void> {
  if (uses.size === 0) return;
  const rows = [...uses].map(([id, at]) => ({ id, at: new Date(at).toISOString() }));
  await sql`update connections c set last_used_at = greatest(c.last_used_at, u.at)
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as u (id uuid, at timestamptz)
    where c.id = u.id`;
}

/** The key of a record of the assistants' sign-in: its model, and a fingerprint of its id. */
type RecordKey = { readonly model: string; readonly fingerprint: Buffer };

type OauthRecord = {
  readonly payload: Readonly<Record<string, unknown>>;
  readonly consumed_at: number | null;
};

type NewRecord = RecordKey & {
  /** The connection that it ends with. */
  readonly connection: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: number;
  readonly expires_at: number | null;
};

/** False when its connection has ended. */
export async function writeRecord(sql: Queryable, record: NewRecord): Promise<boolean> {
  const { model, fingerprint, connection, payload, at, expires_at } = record;
  try {
    await sql`insert into oauth_records (model, fingerprint, connection_id, payload, created_at,
      expires_at)
      values (${model}, ${fingerprint}, ${connection}, ${JSON.stringify(payload)}::text::jsonb,
        ${new Date(at)}, ${isoText(expires_at)})
      on conflict (model, fingerprint) do update
      set payload = excluded.payload, expires_at = excluded.expires_at`;
    return true;
  } catch (error) {
    if (isViolationOf(error, 'oauth_records_connection_id_fkey')) return false;
    throw error;
  }
}

export async function readRecord(
  sql: Queryable,
  { model, fingerprint }: RecordKey,
  now: number,
): Promise<OauthRecord | undefined> {
  const [row] = await sql<OauthRecord[]>`
    select payload, consumed_at from oauth_records
    where model = ${model} and fingerprint = ${fingerprint}
      and (expires_at is null or expires_at > ${new Date(now)})`;
  return row;
}

/** True for the first use: of two concurrent ones, one succeeds. */
export async function consumeRecord(
  sql: Queryable,
  { model, fingerprint }: RecordKey,
  at: number,
): Promise<boolean> {
  return (
    (
      await sql`update oauth_records set consumed_at = ${new Date(at)} where model = ${model}
      and fingerprint = ${fingerprint} and consumed_at is null`
    ).count > 0
  );
}

export async function deleteRecord(
  sql: Queryable,
  { model, fingerprint }: RecordKey,
): Promise<void> {
  await sql`delete from oauth_records where model = ${model} and fingerprint = ${fingerprint}`;
}

/** Deletes it with everything that was issued under it. */
export async function endConnection(sql: Queryable, id: string): Promise<void> {
  await sql`delete from connections where id = ${id}`;
}

/**
 * Deletes what no longer gives access: expired records; connections with nothing left, such as a
 * consent that was abandoned, or one unused until its refresh token expired; and registered clients
 * that no one connected.
 */
export async function forgetEndedRecords(
  sql: Queryable,
  now: number,
  kept: { readonly consentMs: number; readonly clientMs: number },
) {
  await sql`delete from oauth_records where expires_at <= ${new Date(now)}`;
  await sql`delete from connections c where c.created_at <= ${new Date(now - kept.consentMs)}
    and not exists (
    select from oauth_records r where r.connection_id = c.id
      and r.model in ('AccessToken', 'RefreshToken', 'AuthorizationCode'))`;
  await sql`delete from oauth_records r where r.model = 'Client'
    and r.created_at <= ${new Date(now - kept.clientMs)} and not exists (
    select from connections c where c.client_id = r.payload->>'client_id')`;
}
