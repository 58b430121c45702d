import { newId } from '../../shared/base/crypto.ts';
import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';

/**
 * Secrets that let somebody do one thing once, for a time: links that sign in, sign up, prove an
 * address or set a password, second steps, challenges of passkeys. Whoever uses one deletes it. A secret has
 * another fingerprint for each purpose (secrets/account-secrets.ts), so that none
 * is good for another.
 */
type OneTimeKind =
  | 'start link'
  | 'operator link'
  | 'second step'
  | 'e-mail'
  | 'password reset'
  | 'sign-up'
  | 'provider sign-in'
  | ChallengeKind;

export type ChallengeKind = 'add passkey' | 'prove by passkey' | 'sign in by passkey';

/** With the organisation to be created, or the invitation that was followed. */
type PendingAccount = {
  readonly name: string;
  readonly password_hash: string;
  readonly organisation: string | null;
  readonly time_zone: string | null;
  readonly invitation: string | null;
};

type NewOneTime = {
  readonly id?: string;
  readonly kind: OneTimeKind;
  /** Of who is not signed in: null. */
  readonly user: string | null;
  /** The address to be proven. */
  readonly email?: string;
  readonly account?: PendingAccount;
  readonly provider?: string;
  /** Null until its mail is made. */
  readonly fingerprint: Buffer | null;
  /** Null: it lasts until it is used or deleted. */
  readonly expires_at: number | null;
};

export async function insertOneTime(
  sql: Queryable,
  { id = newId(), kind, user, email, account, provider, fingerprint, expires_at }: NewOneTime,
): Promise<void> {
  await sql`insert into one_time_secrets (id, kind, user_id, email, account, provider_id,
      fingerprint, expires_at)
    values (${id}, ${kind}, ${user}, ${email ?? null},
      ${account ? JSON.stringify(account) : null}::text::jsonb, ${provider ?? null},
      ${fingerprint}, coalesce(${isoText(expires_at)}::timestamptz, 'infinity'))`;
}

type OneTime = {
  readonly user_id: string | null;
  readonly email: string | null;
  readonly account: PendingAccount | null;
  readonly provider_id: string | null;
};

/**
 * What is still valid, with the address that it proves or its user's. Read-only, because mail
 * scanners follow links.
 */
export async function lookAtOneTime(
  sql: Queryable,
  fingerprint: Buffer,
  now: number,
): Promise<OneTime | undefined> {
  const [row] = await sql<OneTime[]>`
    select s.user_id, coalesce(s.email, u.email) as email, s.account, s.provider_id
    from one_time_secrets s left join users u on u.id = s.user_id
    where ${fingerprint} in (s.fingerprint, s.keep_fingerprint) and s.expires_at > ${new Date(now)}`;
  return row;
}

/**
 * What was still valid, and is then used up: of two concurrent uses, one succeeds. `of`: only what
 * was made for this, and for this user.
 */
export async function useOneTime(
  sql: Queryable,
  fingerprint: Buffer,
  now: number,
  of?: { readonly kind: OneTimeKind; readonly user: string | null },
): Promise<OneTime | undefined> {
  const [row] = await sql<OneTime[]>`
    delete from one_time_secrets
    where ${fingerprint} in (fingerprint, keep_fingerprint) and expires_at > ${new Date(now)}
      ${of ? sql`and kind = ${of.kind} and user_id is not distinct from ${of.user}` : sql``}
    returning user_id, email, account, provider_id`;
  return row;
}

export async function deleteOneTime(
  sql: Queryable,
  user: string,
  kinds: readonly OneTimeKind[],
): Promise<void> {
  await sql`delete from one_time_secrets where user_id = ${user} and kind = any(${kinds})`;
}

/** Only the newest link of an address is valid. */
export async function deleteSignUps(sql: Queryable, email: string): Promise<void> {
  await sql`delete from one_time_secrets
    where kind = 'sign-up' and lower(email) = lower(${email})`;
}

/** The next start ends the links of earlier ones. */
export async function deleteStartLinks(sql: Queryable): Promise<void> {
  await sql`delete from one_time_secrets where kind = 'start link'`;
}

/** Gives a mail its link; undefined when it is over, or when the address has become another user's. */
export async function linkAddress(
  sql: Queryable,
  id: string,
  fingerprint: Buffer,
): Promise<string | undefined> {
  const [row] = await sql<
    { email: string }[]
  >`update one_time_secrets v set fingerprint = ${fingerprint} where id = ${id}
    and not exists (select 1 from users u where lower(u.email) = lower(v.email)
      and u.id <> v.user_id) returning email`;
  return row?.email;
}

/**
 * Gives the old mailbox its link, which ends the change. Returns the requested address, or
 * undefined when the change is over.
 */
export async function writeKeepLink(
  sql: Queryable,
  id: string,
  fingerprint: Buffer,
): Promise<string | undefined> {
  const [row] = await sql<
    { email: string }[]
  >`update one_time_secrets set keep_fingerprint = ${fingerprint} where id = ${id}
  returning email`;
  return row?.email;
}

/** The address that a user requested and has not proven yet. */
export async function wantedEmail(
  sql: Queryable,
  user: string,
  now: number,
): Promise<string | undefined> {
  const [row] = await sql<{ email: string }[]>`select email from one_time_secrets
    where user_id = ${user} and kind = 'e-mail' and expires_at > ${new Date(now)}`;
  return row?.email;
}
