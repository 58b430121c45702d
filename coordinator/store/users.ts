import { Refusal } from '../../shared/base/refusal.ts';
import type { Role } from '../domain/organisation.ts';
import { isViolationOf, type Queryable } from './database.ts';

export type UserRow = { readonly id: string; readonly email: string };

/** @throws Refusal `email_taken`. */
export const insertUser = async (sql: Queryable, user: UserRow & { readonly password_hash: string }): Promise<void> => {
  try {
    await sql`insert into users (id, email, password_hash) values (${user.id}, ${user.email}, ${user.password_hash})`;
  } catch (error) {
    if (isViolationOf(error, 'users_email')) throw new Refusal('email_taken', `email: there is a user ${user.email} already.`);
    throw error;
  }
};

export const userByEmail = async (sql: Queryable, email: string): Promise<UserRow | undefined> => {
  const [row] = await sql<UserRow[]>`select id, email from users where lower(email) = lower(${email})`;
  return row;
};

export type MemberRow = { readonly user_id: string; readonly email: string; readonly role: Role };

export const memberByEmail = async (sql: Queryable, organisation: string, email: string): Promise<MemberRow | undefined> => {
  const [row] = await sql<MemberRow[]>`
    select m.user_id, u.email, m.role from memberships m join users u on u.id = m.user_id
    where m.organisation_id = ${organisation} and lower(u.email) = lower(${email})`;
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
