import { Refusal } from '../../shared/base/errors.ts';
import { storable } from '../../shared/base/names.ts';
import { isoText } from '../../shared/base/time.ts';
import { isViolationOf, type Queryable } from '../database/connect.ts';
import { countOf, jsonText } from '../database/sql.ts';
import type { Role } from '../gate/caller.ts';
import { orNotFound } from '../gate/context.ts';
import type { PlanName } from '../gate/plans.ts';
import { deleteOneTime } from './one-time.ts';

/**
 * Sets the user's address, proven. Password links that went to the previous address become invalid.
 * @throws Refusal `email_taken`.
 */
export async function writeEmail(
  sql: Queryable,
  user: string,
  email: string,
  verified_at: number | null,
): Promise<void> {
  try {
    await sql`update users set email = ${email}, email_verified_at = ${isoText(verified_at)}
      where id = ${user}`;
    await deleteOneTime(sql, user, ['password reset']);
  } catch (error) {
    if (isViolationOf(error, 'users_email')) throw emailTaken(email);
    throw error;
  }
}

type NewInvitation = {
  readonly id: string;
  readonly organisation: string;
  readonly email: string;
  readonly role: Role;
  readonly fingerprint: Buffer | null;
  readonly invited_by: string | null;
  readonly at: number;
  readonly expires_at: number;
};

/** Replaces an earlier invitation to the same address, whose link ends. */
export async function insertInvitation(sql: Queryable, one: NewInvitation): Promise<void> {
  const { id, organisation, email, role, fingerprint, invited_by, at, expires_at } = one;
  await sql`delete from invitations where organisation_id = ${organisation}
    and lower(email) = lower(${email})`;
  await sql`insert into invitations (id, organisation_id, email, role, fingerprint, invited_by,
    created_at, expires_at)
    values (${id}, ${organisation}, ${email}, ${role}, ${fingerprint}, ${invited_by}, ${new Date(at)},
      ${new Date(expires_at)})`;
}

export type InvitationRow = {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly organisation_id: string;
  readonly organisation: string;
  readonly inviter: string | null;
  /** Only the mailbox has its link. */
  readonly mailed: boolean;
  readonly created_at: number;
  readonly expires_at: number;
};

export async function invitationBy(
  sql: Queryable,
  fingerprint: Buffer,
  now: number,
): Promise<InvitationRow | undefined> {
  const [row] = await sql<
    InvitationRow[]
  >`${invitations(sql)} where i.fingerprint = ${fingerprint} and i.expires_at > ${new Date(now)}`;
  return row;
}

function invitations(sql: Queryable) {
  return sql`
  select i.id, i.email, i.role, i.mailed, i.organisation_id, o.name as organisation, u.email as inviter,
    i.created_at, i.expires_at
  from invitations i join organisations o on o.id = i.organisation_id left join users u
    on u.id = i.invited_by`;
}

export async function invitationById(
  sql: Queryable,
  id: string,
  now: number,
): Promise<InvitationRow | undefined> {
  const [row] = await sql<
    InvitationRow[]
  >`${invitations(sql)} where i.id = ${id} and i.expires_at > ${new Date(now)}`;
  return row;
}

export async function invitationTo(
  sql: Queryable,
  organisation: string,
  email: string,
  now: number,
): Promise<InvitationRow | undefined> {
  const [row] = await sql<InvitationRow[]>`${invitations(sql)}
    where i.organisation_id = ${organisation} and lower(i.email) = lower(${email})
      and i.expires_at > ${new Date(now)}`;
  return row;
}

export function invitationsOf(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<InvitationRow[]> {
  return sql<
    InvitationRow[]
  >`${invitations(sql)} where i.organisation_id = ${organisation} and i.expires_at > ${new Date(now)}
  order by i.created_at, i.id`;
}

export async function linkInvitation(
  sql: Queryable,
  id: string,
  fingerprint: Buffer,
): Promise<void> {
  await sql`update invitations set fingerprint = ${fingerprint}, mailed = true where id = ${id}`;
}

/** Undefined when it does not exist: of two concurrent uses, one succeeds. */
export async function useInvitation(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<{ readonly email: string; readonly role: Role } | undefined> {
  const [row] = await sql<{ email: string; role: Role }[]>`
    delete from invitations where organisation_id = ${organisation} and id = ${id}
    returning email, role`;
  return row;
}

/** Deletes all invitations by some users, and by others only those that make an owner. */
export async function deleteInvitationsBy(
  sql: Queryable,
  organisation: string,
  { all, ofOwners }: { readonly all: readonly string[]; readonly ofOwners: readonly string[] },
): Promise<void> {
  await sql`delete from invitations where organisation_id = ${organisation}
    and (invited_by = any(${all}::uuid[])
      or role = 'owner' and invited_by = any(${ofOwners}::uuid[]))`;
}

type UserRow = { readonly id: string; readonly email: string };

type NewUser = UserRow & {
  readonly password_hash: string;
  readonly name?: string;
  readonly email_verified_at?: number;
};

/** @throws Refusal `email_taken`. */
export async function insertUsers(sql: Queryable, ...users: readonly NewUser[]): Promise<void> {
  const rows = users.map(({ name = '', email_verified_at = null, ...user }) => ({
    ...user,
    name,
    email_verified_at: isoText(email_verified_at),
  }));
  const inserted = await sql<{ id: string }[]>`
    insert into users (id, email, name, password_hash, email_verified_at)
    select u.* from json_to_recordset(${jsonText(rows)}::text::json) as u (id uuid, email text,
      name text, password_hash text, email_verified_at timestamptz)
    on conflict (lower(email)) do nothing returning id`;
  const ids = new Set(inserted.map(({ id }) => id));
  const taken = users.find(({ id }) => !ids.has(id));
  if (taken) throw emailTaken(taken.email);
}

function emailTaken(email: string): Refusal {
  return new Refusal('email_taken', { email: `there is a user ${email} already.` });
}

export async function userByEmail(sql: Queryable, email: string): Promise<UserRow | undefined> {
  if (!storable(email)) return undefined;
  const [row] = await sql<
    UserRow[]
  >`select id, email from users where lower(email) = lower(${email})`;
  return row;
}

/** @throws Refusal `user_not_found`. */
export async function userNamed(sql: Queryable, email: string): Promise<UserRow> {
  return orNotFound(await userByEmail(sql, email.trim()), 'user_not_found');
}

export async function userById(sql: Queryable, id: string): Promise<UserRow | undefined> {
  const [row] = await sql<UserRow[]>`select id, email from users where id = ${id}`;
  return row;
}

/** The user of an address, with the data to verify their password. */
export async function credentialsByEmail(
  sql: Queryable,
  email: string,
): Promise<{ id: string; password_hash: string } | undefined> {
  if (!storable(email)) return undefined;
  const [row] = await sql<{ id: string; password_hash: string }[]>`
    select id, password_hash from users where lower(email) = lower(${email})`;
  return row;
}

export async function passwordHashOf(sql: Queryable, id: string): Promise<string | undefined> {
  const [row] = await sql<
    { password_hash: string }[]
  >`select password_hash from users where id = ${id}`;
  return row?.password_hash;
}

/** A new password ends everything that was open under the old one. */
export async function writePassword(
  sql: Queryable,
  id: string,
  password_hash: string,
): Promise<void> {
  await sql`update users set password_hash = ${password_hash} where id = ${id}`;
}

export async function writeName(sql: Queryable, id: string, name: string): Promise<void> {
  await sql`update users set name = ${name} where id = ${id}`;
}

/** Marks the mailbox as verified: the user followed a link that only the mailbox got. */
export async function markVerified(
  sql: Queryable,
  id: string,
  at: number,
): Promise<string | undefined> {
  const [row] = await sql<{ email: string }[]>`
    update users set email_verified_at = coalesce(email_verified_at, ${new Date(at)}) where id = ${id}
    returning email`;
  return row?.email;
}

/** Whether any organisation has an owner yet: before, no one can sign up. */
export async function hasOwner(sql: Queryable): Promise<boolean> {
  return (await sql`select 1 from memberships where role = 'owner' limit 1`).length > 0;
}

/** Whether any organisation has a provider that signs in its members. */
export async function hasOwnProviders(sql: Queryable): Promise<boolean> {
  const rows =
    await sql`select 1 from sign_in_providers where domain_proved_at is not null limit 1`;
  return rows.length > 0;
}

type ListedMember = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly joined_at: number;
};

export function membersOf(sql: Queryable, organisation: string): Promise<ListedMember[]> {
  return sql<
    ListedMember[]
  >`select u.id, u.email, u.name, m.role, m.created_at as joined_at from memberships m join users u
    on u.id = m.user_id
    where m.organisation_id = ${organisation}
    order by array_position(array['owner', 'admin', 'member', 'viewer'], m.role), lower(u.email)`;
}

export type OwnMembership = {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** When it will be deleted, in milliseconds; null: no one asked for deletion. */
  readonly ends_at: number | null;
};

/** The organisations of a user, oldest first. */
export function membershipsOf(sql: Queryable, user: string): Promise<OwnMembership[]> {
  return sql<
    OwnMembership[]
  >`select o.id, o.name, m.role, (extract(epoch from o.ends_at) * 1000)::float8 as ends_at
  from memberships m join organisations o on o.id = m.organisation_id
    where m.user_id = ${user} order by o.key`;
}

/** The plans of the organisations that a user owns, oldest first. */
export async function ownedPlans(sql: Queryable, user: string): Promise<PlanName[]> {
  const rows = await sql<
    { plan: PlanName }[]
  >`select o.plan from memberships m join organisations o on o.id = m.organisation_id
    where m.user_id = ${user} and m.role = 'owner' order by o.key`;
  return rows.map(({ plan }) => plan);
}

export type MemberRow = { readonly user_id: string; readonly email: string; readonly role: Role };

export async function memberByEmail(
  sql: Queryable,
  organisation: string,
  email: string,
): Promise<MemberRow | undefined> {
  if (!storable(email)) return undefined;
  const [row] = await sql<MemberRow[]>`
    select m.user_id, u.email, m.role from memberships m join users u on u.id = m.user_id
    where m.organisation_id = ${organisation} and lower(u.email) = lower(${email})`;
  return row;
}

export async function memberOf(
  sql: Queryable,
  organisation: string,
  user: string,
): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`
    select m.user_id, u.email, m.role from memberships m join users u on u.id = m.user_id
    where m.organisation_id = ${organisation} and m.user_id = ${user}`;
  return row;
}

export async function countMembers(sql: Queryable, organisation: string): Promise<number> {
  return countOf(sql`select count(*) from memberships where organisation_id = ${organisation}`);
}

export async function countOwners(sql: Queryable, organisation: string): Promise<number> {
  return countOf(sql`
    select count(*) from memberships where organisation_id = ${organisation}
      and role = 'owner'`);
}

export type NewRole = { readonly user: string; readonly role: Role };

export async function insertMembers(
  sql: Queryable,
  organisation: string,
  ...members: readonly NewRole[]
): Promise<void> {
  await sql`insert into memberships (organisation_id, user_id, role)
    select ${organisation}::uuid, m.* from ${rolesIn(sql, members)}`;
}

function rolesIn(sql: Queryable, members: readonly NewRole[]) {
  return sql`json_to_recordset(${JSON.stringify(members)}::text::json) as m ("user" uuid, role text)`;
}

export async function writeRoles(
  sql: Queryable,
  organisation: string,
  ...members: readonly NewRole[]
): Promise<void> {
  await sql`update memberships o set role = m.role from ${rolesIn(sql, members)}
    where o.organisation_id = ${organisation} and o.user_id = m."user"`;
}

/** Their tokens are deleted with the membership. */
export async function deleteMembers(
  sql: Queryable,
  organisation: string,
  ...users: readonly string[]
): Promise<void> {
  await sql`delete from memberships where organisation_id = ${organisation}
    and user_id = any(${users}::uuid[])`;
}

/** A user's name, or else their address. */
export async function ownName(sql: Queryable, id: string): Promise<string | undefined> {
  const [row] = await sql<
    { name: string }[]
  >`select coalesce(nullif(name, ''), email) as name from users where id = ${id}`;
  return row?.name;
}
