import type { Queryable } from '../database/connect.ts';
import type { Person } from './caller.ts';
import { notFound, orNotFound } from './context.ts';
import type { PlanName } from './plans.ts';

export type NewOrganisation = {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly time_zone: string;
};

export type OrganisationRow = NewOrganisation & {
  /** When it will be deleted, in milliseconds; null: no one asked for deletion. */
  readonly ends_at: number | null;
};

export async function organisationById(
  sql: Queryable,
  id: string,
): Promise<OrganisationRow | undefined> {
  const [row] = await sql<
    OrganisationRow[]
  >`select ${columns(sql)} from organisations o where o.id = ${id}`;
  return row;
}

function columns(sql: Queryable) {
  return sql`o.id, o.name, o.plan, o.time_zone, (extract(epoch from o.ends_at) * 1000)::float8 as ends_at`;
}

/**
 * Organisations of this name, without case: at most two; one with the same spelling comes first.
 */
export function organisationsNamed(sql: Queryable, name: string): Promise<OrganisationRow[]> {
  return sql<
    OrganisationRow[]
  >`select ${columns(sql)} from organisations o where lower(o.name) = lower(${name})
    order by o.name = ${name} desc, o.key limit 2`;
}

/**
 * One writer per organisation at a time, until the end of the transaction. Counts stay true (plan
 * limits), and keys of its rows grow in the order of commit, so that pages by key skip nothing.
 */
export async function lockOrganisation(
  sql: Queryable,
  id: string,
): Promise<OrganisationRow | undefined> {
  const [row] = await sql<OrganisationRow[]>`
    select ${columns(sql)} from organisations o where o.id = ${id} for no key update`;
  return row;
}

/**
 * For a call that must not run twice at once on any coordinator: whether no other transaction works
 * on the call of this number. If one does, this neither waits nor locks. The end of the
 * transaction, in any case, releases the call.
 */
export async function lockOrganisationForCall(
  sql: Queryable,
  id: string,
  number: bigint,
): Promise<{ readonly isFree: boolean; readonly organisation: OrganisationRow | undefined }> {
  const [row] = await sql<
    (OrganisationRow & { readonly is_free: boolean; readonly is_there: boolean })[]
  >`
    with claim as materialized (select pg_try_advisory_xact_lock(${String(number)}::bigint) as is_free)
    select c.is_free, o.id is not null as is_there, o.* from claim c left join lateral (
      select ${columns(sql)} from organisations o where o.id = ${id}
        and c.is_free for no key update) o on true`;
  if (row === undefined) return { isFree: false, organisation: undefined };
  const { is_free: isFree, is_there, ...organisation } = row;
  return { isFree, organisation: is_there ? organisation : undefined };
}

/** The organisation that something belongs to, for an operator who knows only its id. */
export const ownerOf = {
  monitor: async (sql: Queryable, id: string) =>
    (await sql<Owner[]>`select organisation_id from monitors where id = ${id}`)[0]?.organisation_id,
  incident: async (sql: Queryable, id: string) =>
    (await sql<Owner[]>`select organisation_id from incidents where id = ${id}`)[0]
      ?.organisation_id,
  channel: async (sql: Queryable, id: string) =>
    (
      await sql<
        Owner[]
      >`select organisation_id from channels where id = ${id} and deleted_at is null`
    )[0]?.organisation_id,
  token: async (sql: Queryable, id: string) =>
    (await sql<Owner[]>`select organisation_id from tokens where id = ${id}`)[0]?.organisation_id,
} as const;

type Owner = { readonly organisation_id: string };

/**
 * Locks a user's own data, so that changes run one at a time. False when the user no longer exists.
 */
export async function lockUser(sql: Queryable, id: string): Promise<boolean> {
  return (await sql`select 1 from users where id = ${id} for no key update`).count > 0;
}

type SignedInUser = Pick<Person, 'user' | 'session'>;

export async function isOperator(sql: Queryable, person: SignedInUser): Promise<boolean> {
  return (await operatorBy(sql, person)).count > 0;
}

/** Like isOperator(), locked until the end of the transaction. */
export async function lockOperator(sql: Queryable, person: SignedInUser): Promise<boolean> {
  return (await sql`${operatorBy(sql, person)} for no key update of u`).count > 0;
}

function operatorBy(sql: Queryable, { user, session }: SignedInUser) {
  return sql`select 1 from users u left join sessions s on s.id = ${session}
    left join identities i on i.id = s.identity_id
    left join sign_in_providers p on p.id = i.provider_id
    where u.id = ${user} and ${operates(sql)}`;
}

/**
 * Whether a session of provider `p`, if of any, lets user `u` operate the installation. While the
 * installation's provider is the only way in, another way does so for owners alone, who keep one,
 * and for all where no operator could get in otherwise.
 */
export function operates(sql: Queryable) {
  const owns = (user: string) =>
    sql`exists (select from memberships where user_id = ${sql(user)} and role = 'owner')`;
  return sql`(u.is_operator and p.organisation_id is null and (${owns('u.id')}
    or not exists (select from sign_in_providers w join users o on o.is_operator
      where w.organisation_id is null and w.only_way and w.id is distinct from p.id
        and (${owns('o.id')} or exists (
          select from identities where provider_id = w.id and user_id = o.id)))))`;
}

/** @throws Refusal when one of these is no monitor of the organisation. */
export async function requireMonitors(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const { count } = await sql`select 1 from monitors where organisation_id = ${organisation}
    and id = any(${ids}::uuid[])`;
  if (count < new Set(ids).size) throw notFound('monitor_not_found');
}

type MonitorKey = { readonly key: number; readonly partition: number };

/** The number that large tables use for it, and its partition. @throws Refusal. */
export async function monitorKey(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<MonitorKey> {
  const [row] = await sql<MonitorKey[]>`select key, partition from monitors
    where organisation_id = ${organisation} and id = ${id}`;
  return orNotFound(row, 'monitor_not_found');
}

export async function createdAt(sql: Queryable, id: string): Promise<number> {
  const [row] = await sql<
    { created_at: number }[]
  >`select created_at from organisations where id = ${id}`;
  return row?.created_at ?? 0;
}
