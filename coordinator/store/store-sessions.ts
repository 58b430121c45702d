import type { Role } from '../domain/organisation.ts';
import type { PlanName } from '../domain/plan-limits.ts';
import type { Queryable } from './store-database.ts';

/** A session with everything that a page depends on, as it is now. The organisation's part is null for who belongs to none. */
export type SessionHolder = {
  readonly id: string;
  readonly created_at: Date;
  readonly last_used_at: Date;
  readonly proven_at: Date;
  readonly user_id: string;
  readonly email: string;
  readonly name: string;
  readonly email_verified: boolean;
  readonly is_operator: boolean;
  readonly member: {
    readonly id: string;
    readonly name: string;
    readonly plan: PlanName;
    readonly time_zone: string;
    readonly ends_at: number | null;
    readonly role: Role;
  } | null;
};

/** In the organisation that the session chose, or the first that its user belongs to. */
export const sessionHolder = async (sql: Queryable, fingerprint: Buffer): Promise<SessionHolder | undefined> => {
  const [row] = await sql<SessionHolder[]>`
    select s.id, s.created_at, s.last_used_at, s.proven_at, s.user_id, u.email, u.name, u.email_verified_at is not null as email_verified, u.is_operator,
      (select json_build_object('id', o.id, 'name', o.name, 'plan', o.plan, 'time_zone', o.time_zone, 'ends_at', (extract(epoch from o.ends_at) * 1000)::float8, 'role', m.role)
        from memberships m join organisations o on o.id = m.organisation_id
        where m.user_id = s.user_id order by m.organisation_id = s.organisation_id desc nulls last, o.key limit 1) as member
    from sessions s join users u on u.id = s.user_id
    where s.fingerprint = ${fingerprint}`;
  return row;
};

export type NewSession = {
  readonly id: string;
  readonly fingerprint: Buffer;
  readonly user: string;
  readonly at: Date;
  readonly address: string;
  readonly device: string;
};

export const insertSession = async (sql: Queryable, { id, fingerprint, user, at, address, device }: NewSession): Promise<void> => {
  await sql`insert into sessions (id, fingerprint, user_id, created_at, last_used_at, proven_at, address, device)
    values (${id}, ${fingerprint}, ${user}, ${at}, ${at}, ${at}, ${address}, ${device})`;
};

/** The session that a cookie opens is over. */
export const deleteSessionOf = async (sql: Queryable, fingerprint: Buffer): Promise<void> => {
  await sql`delete from sessions where fingerprint = ${fingerprint}`;
};

/** True when it was one of the user's. */
export const deleteSession = async (sql: Queryable, user: string, id: string): Promise<boolean> =>
  (await sql`delete from sessions where user_id = ${user} and id = ${id}`).count > 0;

/** All sessions of a user, but for the one that is to stay; how many that were. */
export const deleteSessions = async (sql: Queryable, user: string, except: string | null): Promise<number> =>
  (await sql`delete from sessions where user_id = ${user} and id is distinct from ${except}`).count;

export const writeProven = async (sql: Queryable, id: string, at: Date): Promise<void> => {
  await sql`update sessions set proven_at = ${at} where id = ${id}`;
};

export const writeActiveOrganisation = async (sql: Queryable, id: string, organisation: string): Promise<void> => {
  await sql`update sessions set organisation_id = ${organisation} where id = ${id}`;
};

export type SessionRow = {
  readonly id: string;
  readonly created_at: Date;
  readonly last_used_at: Date;
  readonly address: string;
  readonly device: string;
};

export const sessionsOf = (sql: Queryable, user: string): Promise<SessionRow[]> =>
  sql<
    SessionRow[]
  >`select id, created_at, last_used_at, address, device from sessions where user_id = ${user} order by last_used_at desc, id`;

/** When sessions were last used, and from where, many in one statement; never backwards, as several coordinators report. */
export const writeSessionUses = async (
  sql: Queryable,
  uses: ReadonlyMap<string, { readonly at: number; readonly address: string }>,
): Promise<void> => {
  if (uses.size === 0) return;
  const rows = [...uses].map(([id, { at, address }]) => ({ id, at: new Date(at).toISOString(), address }));
  await sql`update sessions s set last_used_at = u.at, address = u.address
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as u (id uuid, at timestamptz, address text)
    where s.id = u.id and s.last_used_at < u.at`;
};
