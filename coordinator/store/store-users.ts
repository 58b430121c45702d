import { Refusal } from '../../shared/base/errors.ts';
import type { Role } from '../domain/organisation.ts';
import type { PlanName } from '../domain/plan-limits.ts';
import { isViolationOf, type Queryable } from './store-database.ts';

export type UserRow = { readonly id: string; readonly email: string };

/** @throws Refusal `email_taken`. */
export const insertUser = async (
  sql: Queryable,
  user: UserRow & { readonly password_hash: string; readonly name?: string; readonly email_verified_at?: Date },
): Promise<void> => {
  const { id, email, password_hash, name = '', email_verified_at = null } = user;
  try {
    await sql`insert into users (id, email, name, password_hash, email_verified_at)
      values (${id}, ${email}, ${name}, ${password_hash}, ${email_verified_at})`;
  } catch (error) {
    if (isViolationOf(error, 'users_email')) throw new Refusal('email_taken', `email: there is a user ${user.email} already.`);
    throw error;
  }
};

export const userByEmail = async (sql: Queryable, email: string): Promise<UserRow | undefined> => {
  const [row] = await sql<UserRow[]>`select id, email from users where lower(email) = lower(${email})`;
  return row;
};

/** One change at a time to what is a user's own. False when there is no such user any more. */
export const lockUser = async (sql: Queryable, id: string): Promise<boolean> =>
  (await sql`select 1 from users where id = ${id} for no key update`).count > 0;

/** The user whom an address belongs to, with what their password is judged by. */
export const credentialsByEmail = async (sql: Queryable, email: string): Promise<{ id: string; password_hash: string } | undefined> => {
  const [row] = await sql<{ id: string; password_hash: string }[]>`
    select id, password_hash from users where lower(email) = lower(${email})`;
  return row;
};

export const passwordHashOf = async (sql: Queryable, id: string): Promise<string | undefined> => {
  const [row] = await sql<{ password_hash: string }[]>`select password_hash from users where id = ${id}`;
  return row?.password_hash;
};

/** A new password ends all that was open under the old one. */
export const writePassword = async (sql: Queryable, id: string, password_hash: string): Promise<void> => {
  await sql`update users set password_hash = ${password_hash} where id = ${id}`;
};

export const writeName = async (sql: Queryable, id: string, name: string): Promise<void> => {
  await sql`update users set name = ${name} where id = ${id}`;
};

/** The mailbox is theirs: they followed a link that only it got. */
export const markVerified = async (sql: Queryable, id: string, at: Date): Promise<string | undefined> => {
  const [row] = await sql<{ email: string }[]>`
    update users set email_verified_at = coalesce(email_verified_at, ${at}) where id = ${id} returning email`;
  return row?.email;
};

/** Whether anybody owns anything here yet: before, nobody signs up. */
export const hasOwner = async (sql: Queryable): Promise<boolean> =>
  (await sql`select 1 from memberships where role = 'owner' limit 1`).length > 0;

export type ListedMember = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly created_at: Date;
};

export const membersOf = (sql: Queryable, organisation: string): Promise<ListedMember[]> =>
  sql<ListedMember[]>`select u.id, u.email, u.name, m.role, m.created_at from memberships m join users u on u.id = m.user_id
    where m.organisation_id = ${organisation} order by array_position(array['owner', 'admin', 'member', 'viewer'], m.role), lower(u.email)`;

export const emailOf = async (sql: Queryable, id: string): Promise<string | undefined> => {
  const [row] = await sql<{ email: string }[]>`select email from users where id = ${id}`;
  return row?.email;
};

export type OwnMembership = {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** When it is deleted, in milliseconds; null: nobody asked for that. */
  readonly ends_at: number | null;
};

/** The organisations of a user, the oldest first. */
export const membershipsOf = (sql: Queryable, user: string): Promise<OwnMembership[]> =>
  sql<
    OwnMembership[]
  >`select o.id, o.name, m.role, (extract(epoch from o.ends_at) * 1000)::float8 as ends_at from memberships m join organisations o on o.id = m.organisation_id
    where m.user_id = ${user} order by o.key`;

/** The plans of those that somebody owns, the oldest first. */
export const ownedPlans = async (sql: Queryable, user: string): Promise<PlanName[]> => {
  const rows = await sql<{ plan: PlanName }[]>`select o.plan from memberships m join organisations o on o.id = m.organisation_id
    where m.user_id = ${user} and m.role = 'owner' order by o.key`;
  return rows.map(({ plan }) => plan);
};

export type MemberRow = { readonly user_id: string; readonly email: string; readonly role: Role };

export const memberByEmail = async (sql: Queryable, organisation: string, email: string): Promise<MemberRow | undefined> => {
  const [row] = await sql<MemberRow[]>`
    select m.user_id, u.email, m.role from memberships m join users u on u.id = m.user_id
    where m.organisation_id = ${organisation} and lower(u.email) = lower(${email})`;
  return row;
};

export const memberOf = async (sql: Queryable, organisation: string, user: string): Promise<MemberRow | undefined> => {
  const [row] = await sql<MemberRow[]>`
    select m.user_id, u.email, m.role from memberships m join users u on u.id = m.user_id
    where m.organisation_id = ${organisation} and m.user_id = ${user}`;
  return row;
};

export const countMembers = async (sql: Queryable, organisation: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`select count(*) as count from memberships where organisation_id = ${organisation}`;
  return row?.count ?? 0;
};

export const countOwners = async (sql: Queryable, organisation: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from memberships where organisation_id = ${organisation} and role = 'owner'`;
  return row?.count ?? 0;
};

export const insertMember = async (sql: Queryable, organisation: string, user: string, role: Role): Promise<void> => {
  await sql`insert into memberships (organisation_id, user_id, role) values (${organisation}, ${user}, ${role})`;
};

export const writeRole = async (sql: Queryable, organisation: string, user: string, role: Role): Promise<void> => {
  await sql`update memberships set role = ${role} where organisation_id = ${organisation} and user_id = ${user}`;
};

/** Their tokens go with the membership. */
export const deleteMember = async (sql: Queryable, organisation: string, user: string): Promise<void> => {
  await sql`delete from memberships where organisation_id = ${organisation} and user_id = ${user}`;
};

/** What somebody is called, or else their address. */
export const ownName = async (sql: Queryable, id: string): Promise<string | undefined> => {
  const [row] = await sql<{ name: string }[]>`select coalesce(nullif(name, ''), email) as name from users where id = ${id}`;
  return row?.name;
};
