import { Refusal } from '../../shared/base/errors.ts';
import type { Role } from '../domain/organisation.ts';
import { isViolationOf, type Queryable } from './store-database.ts';

/** What people were sent a link for: accounts that wait, proofs of an address, new passwords. Each link is good once. */

export type NewSignUp = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly password_hash: string;
  readonly organisation: string | null;
  readonly time_zone: string | null;
  readonly invitation: string | null;
  readonly at: Date;
  readonly expires_at: Date;
};

/** Ends the earlier ones of that address: one link alone is good. */
export const insertSignUp = async (sql: Queryable, one: NewSignUp): Promise<void> => {
  const { id, email, name, password_hash, organisation, time_zone, invitation, at, expires_at } = one;
  await sql`delete from sign_ups where lower(email) = lower(${email})`;
  await sql`insert into sign_ups (id, email, name, password_hash, organisation, time_zone, invitation_id, created_at, expires_at)
    values (${id}, ${email}, ${name}, ${password_hash}, ${organisation}, ${time_zone}, ${invitation}, ${at}, ${expires_at})`;
};

/** Gives it a link; its address, or undefined when it is gone. */
export const linkSignUp = async (sql: Queryable, id: string, fingerprint: Buffer): Promise<string | undefined> => {
  const [row] = await sql<{ email: string }[]>`update sign_ups set fingerprint = ${fingerprint} where id = ${id} returning email`;
  return row?.email;
};

export type SignUpRow = {
  readonly email: string;
  readonly name: string;
  readonly password_hash: string;
  readonly organisation: string | null;
  readonly time_zone: string | null;
  readonly invitation_id: string | null;
};

/** What waits behind a link, which stays good. */
export const signUpBy = async (sql: Queryable, fingerprint: Buffer, now: Date): Promise<SignUpRow | undefined> => {
  const [row] = await sql<SignUpRow[]>`select email, name, password_hash, organisation, time_zone, invitation_id
    from sign_ups where fingerprint = ${fingerprint} and expires_at > ${now}`;
  return row;
};

/** What waits behind a link, which is good no more. */
export const useSignUp = async (sql: Queryable, fingerprint: Buffer, now: Date): Promise<SignUpRow | undefined> => {
  const [row] = await sql<SignUpRow[]>`delete from sign_ups where fingerprint = ${fingerprint} and expires_at > ${now}
    returning email, name, password_hash, organisation, time_zone, invitation_id`;
  return row;
};

export const insertVerification = async (
  sql: Queryable,
  { id, user, email, at, expires_at }: { id: string; user: string; email: string; at: Date; expires_at: Date },
): Promise<void> => {
  await sql`delete from email_verifications where user_id = ${user}`;
  await sql`insert into email_verifications (id, user_id, email, created_at, expires_at) values (${id}, ${user}, ${email}, ${at}, ${expires_at})`;
};

/** Gives it a link; undefined when it is gone, or when the address has become another user's. */
export const linkVerification = async (sql: Queryable, id: string, fingerprint: Buffer): Promise<string | undefined> => {
  const [row] = await sql<{ email: string }[]>`update email_verifications v set fingerprint = ${fingerprint} where id = ${id}
    and not exists (select 1 from users u where lower(u.email) = lower(v.email) and u.id <> v.user_id) returning email`;
  return row?.email;
};

/** The address that the link proves, for the user whose it is to be alone. */
export const useVerification = async (sql: Queryable, user: string, fingerprint: Buffer, now: Date): Promise<string | undefined> => {
  const [row] = await sql<{ email: string }[]>`
    delete from email_verifications where fingerprint = ${fingerprint} and user_id = ${user} and expires_at > ${now} returning email`;
  return row?.email;
};

/** Gives the old mailbox its link; the address that is wanted, or undefined when the change is over. */
export const linkKeeping = async (sql: Queryable, id: string, fingerprint: Buffer): Promise<string | undefined> => {
  const [row] = await sql<
    { email: string }[]
  >`update email_verifications set keep_fingerprint = ${fingerprint} where id = ${id} returning email`;
  return row?.email;
};

/** Ends a change of address; whose it was, and to what. */
export const useKeeping = async (
  sql: Queryable,
  fingerprint: Buffer,
  now: Date,
): Promise<{ user_id: string; email: string } | undefined> => {
  const [row] = await sql<{ user_id: string; email: string }[]>`
    delete from email_verifications where keep_fingerprint = ${fingerprint} and expires_at > ${now} returning user_id, email`;
  return row;
};

export const deleteVerifications = async (sql: Queryable, user: string): Promise<void> => {
  await sql`delete from email_verifications where user_id = ${user}`;
};

/** The address that a user wants and has not proven yet. */
export const wantedEmail = async (sql: Queryable, user: string, now: Date): Promise<string | undefined> => {
  const [row] = await sql<{ email: string }[]>`select email from email_verifications where user_id = ${user} and expires_at > ${now}`;
  return row?.email;
};

/** The user's address, proven. Links to a new password that went to the one before end with it. @throws Refusal `email_taken`. */
export const writeEmail = async (sql: Queryable, user: string, email: string, verified_at: Date | null): Promise<void> => {
  try {
    await sql`update users set email = ${email}, email_verified_at = ${verified_at} where id = ${user}`;
    await deleteResets(sql, user);
  } catch (error) {
    if (isViolationOf(error, 'users_email')) throw new Refusal('email_taken', `email: there is a user ${email} already.`);
    throw error;
  }
};

export const insertReset = async (
  sql: Queryable,
  { fingerprint, user, at, expires_at }: { fingerprint: Buffer; user: string; at: Date; expires_at: Date },
): Promise<void> => {
  await sql`insert into password_resets (fingerprint, user_id, created_at, expires_at) values (${fingerprint}, ${user}, ${at}, ${expires_at})`;
};

export const useReset = async (sql: Queryable, fingerprint: Buffer, now: Date): Promise<string | undefined> => {
  const [row] = await sql<{ user_id: string }[]>`
    delete from password_resets where fingerprint = ${fingerprint} and expires_at > ${now} returning user_id`;
  return row?.user_id;
};

export type LinkKind = 'sign-up' | 'e-mail' | 'e-mail kept' | 'password reset';

/** The address that a link is about, if it is still good. Looks only: scanners of mail follow links. */
export const lookAtLink = async (sql: Queryable, kind: LinkKind, fingerprint: Buffer, now: Date): Promise<string | undefined> => {
  const rows =
    kind === 'sign-up'
      ? await sql<{ email: string }[]>`select email from sign_ups where fingerprint = ${fingerprint} and expires_at > ${now}`
      : kind === 'e-mail'
        ? await sql<{ email: string }[]>`select email from email_verifications where fingerprint = ${fingerprint} and expires_at > ${now}`
        : kind === 'e-mail kept'
          ? await sql<
              { email: string }[]
            >`select email from email_verifications where keep_fingerprint = ${fingerprint} and expires_at > ${now}`
          : await sql<{ email: string }[]>`select u.email from password_resets r join users u on u.id = r.user_id
            where r.fingerprint = ${fingerprint} and r.expires_at > ${now}`;
  return rows[0]?.email;
};

/** Whatever a person was sent that a new password ends. */
export const deleteResets = async (sql: Queryable, user: string): Promise<void> => {
  await sql`delete from password_resets where user_id = ${user}`;
};

export type NewInvitation = {
  readonly id: string;
  readonly organisation: string;
  readonly email: string;
  readonly role: Role;
  readonly fingerprint: Buffer | null;
  readonly invited_by: string | null;
  readonly at: Date;
  readonly expires_at: Date;
};

/** In the place of an earlier one to the same address, whose link ends. */
export const insertInvitation = async (sql: Queryable, one: NewInvitation): Promise<void> => {
  const { id, organisation, email, role, fingerprint, invited_by, at, expires_at } = one;
  await sql`delete from invitations where organisation_id = ${organisation} and lower(email) = lower(${email})`;
  await sql`insert into invitations (id, organisation_id, email, role, fingerprint, invited_by, created_at, expires_at)
    values (${id}, ${organisation}, ${email}, ${role}, ${fingerprint}, ${invited_by}, ${at}, ${expires_at})`;
};

export type InvitationRow = {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly organisation_id: string;
  readonly organisation: string;
  readonly inviter: string | null;
  readonly created_at: Date;
  readonly expires_at: Date;
};

const invitations = (sql: Queryable) => sql`
  select i.id, i.email, i.role, i.organisation_id, o.name as organisation, u.email as inviter, i.created_at, i.expires_at
  from invitations i join organisations o on o.id = i.organisation_id left join users u on u.id = i.invited_by`;

export const invitationBy = async (sql: Queryable, fingerprint: Buffer, now: Date): Promise<InvitationRow | undefined> => {
  const [row] = await sql<InvitationRow[]>`${invitations(sql)} where i.fingerprint = ${fingerprint} and i.expires_at > ${now}`;
  return row;
};

export const invitationById = async (sql: Queryable, id: string, now: Date): Promise<InvitationRow | undefined> => {
  const [row] = await sql<InvitationRow[]>`${invitations(sql)} where i.id = ${id} and i.expires_at > ${now}`;
  return row;
};

export const invitationsOf = (sql: Queryable, organisation: string, now: Date): Promise<InvitationRow[]> =>
  sql<InvitationRow[]>`${invitations(sql)} where i.organisation_id = ${organisation} and i.expires_at > ${now} order by i.created_at, i.id`;

export const linkInvitation = async (sql: Queryable, id: string, fingerprint: Buffer): Promise<void> => {
  await sql`update invitations set fingerprint = ${fingerprint} where id = ${id}`;
};

/** True when it was there: of two that come at once, one finds it. */
export const useInvitation = async (sql: Queryable, organisation: string, id: string): Promise<boolean> =>
  (await sql`delete from invitations where organisation_id = ${organisation} and id = ${id}`).count > 0;
