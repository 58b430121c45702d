import { Refusal } from '../../shared/base/errors.ts';
import { isoText } from '../../shared/base/time.ts';
import { isViolationOf, type Queryable } from '../database/connect.ts';
import type { GroupRole } from './group-roles.ts';

export type ProviderRow = {
  readonly id: string;
  /** Null: the installation's. */
  readonly organisation_id: string | null;
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: Uint8Array | null;
  readonly groups_claim: string;
  readonly group_roles: readonly GroupRole[];
  readonly domain: string | null;
  readonly domain_token: string | null;
  readonly domain_proved_at: number | null;
  readonly only_way: boolean;
  /** Since when it provisions by SCIM; null: it does not. */
  readonly scim_since: number | null;
};

/** No password was ever this; one may be set by mail. */
export const noPassword = 'none';

function columns(sql: Queryable) {
  return sql`id, organisation_id, issuer, client_id, client_secret, groups_claim, group_roles,
    domain, domain_token, domain_proved_at, only_way, scim_since`;
}

export async function providerOf(
  sql: Queryable,
  organisation: string,
): Promise<ProviderRow | undefined> {
  const [row] = await sql<ProviderRow[]>`
    select ${columns(sql)} from sign_in_providers
    where organisation_id = ${organisation}`;
  return row;
}

/** Whose provider vouches for addresses of this domain. */
export async function providerOfDomain(
  sql: Queryable,
  domain: string,
): Promise<{ readonly organisation_id: string; readonly issuer: string } | undefined> {
  const [row] = await sql<{ organisation_id: string; issuer: string }[]>`
    select organisation_id, issuer from sign_in_providers
    where domain = ${domain} and domain_proved_at is not null`;
  return row;
}

type OwnProvider = Omit<ProviderRow, 'organisation_id' | 'client_secret' | 'scim_since'> & {
  readonly organisation_id: string;
  readonly client_secret: Buffer;
};

export async function insertOwnProvider(sql: Queryable, row: OwnProvider): Promise<void> {
  await sql`insert into sign_in_providers (id, organisation_id, issuer, client_id, client_secret,
      groups_claim, group_roles, domain, domain_token, domain_proved_at, only_way)
    values (${row.id}, ${row.organisation_id}, ${row.issuer}, ${row.client_id},
      ${row.client_secret}, ${row.groups_claim}, ${JSON.stringify(row.group_roles)}::text::jsonb,
      ${row.domain}, ${row.domain_token}, ${isoText(row.domain_proved_at)}, ${row.only_way})`;
}

export async function writeOwnProvider(sql: Queryable, row: OwnProvider): Promise<void> {
  await sql`update sign_in_providers set client_secret = ${row.client_secret},
      groups_claim = ${row.groups_claim},
      group_roles = ${JSON.stringify(row.group_roles)}::text::jsonb, domain = ${row.domain},
      domain_token = ${row.domain_token}, domain_proved_at = ${isoText(row.domain_proved_at)},
      only_way = ${row.only_way}
    where organisation_id = ${row.organisation_id} and id = ${row.id}`;
}

/** With its identities and their sessions. */
export async function deleteOwnProvider(sql: Queryable, organisation: string): Promise<void> {
  await sql`delete from sign_in_providers where organisation_id = ${organisation}`;
}

/** Of the other organisations that proved a domain, those whose record is gone. */
export async function forgetProofs(
  sql: Queryable,
  { organisation_id, domain }: Pick<ProviderRow, 'organisation_id' | 'domain'>,
  tokens: readonly string[],
): Promise<void> {
  await sql`update sign_in_providers set domain_proved_at = null, only_way = false
    where organisation_id <> ${organisation_id} and domain = ${domain}
      and domain_proved_at is not null and not domain_token = any(${tokens}::text[])`;
}

/** @throws Refusal `domain_taken`. */
export async function writeDomainProved(
  sql: Queryable,
  { id, organisation_id, domain }: Pick<ProviderRow, 'id' | 'organisation_id' | 'domain'>,
  at: number,
): Promise<void> {
  try {
    await sql`update sign_in_providers set domain_proved_at = ${new Date(at)}
      where id = ${id} and organisation_id = ${organisation_id} and domain = ${domain}`;
  } catch (error) {
    if (isViolationOf(error, 'sign_in_providers_domain'))
      throw new Refusal('domain_taken', {
        domain: `another organisation proved that ${domain ?? 'it'} is its own.`,
      });
    throw error;
  }
}

/** The id of the installation's, which stays while its issuer and client do. */
export async function ensureInstallationProvider(
  sql: Queryable,
  id: string,
  { issuer, client_id }: Pick<ProviderRow, 'issuer' | 'client_id'>,
): Promise<string> {
  await sql`insert into sign_in_providers (id, issuer, client_id)
    values (${id}, ${issuer}, ${client_id}) on conflict do nothing`;
  const [row] = await sql<{ id: string }[]>`select id from sign_in_providers
    where organisation_id is null and issuer = ${issuer} and client_id = ${client_id}`;
  return row?.id ?? id;
}

/** Whether the installation's is the only way in; the one before it has no say any more. */
export async function writeOnlyWay(
  sql: Queryable,
  only: Pick<ProviderRow, 'issuer' | 'client_id'> | null,
): Promise<void> {
  const isOnly =
    only === null ? sql`false` : sql`(issuer = ${only.issuer} and client_id = ${only.client_id})`;
  await sql`update sign_in_providers set only_way = ${isOnly}
    where organisation_id is null and only_way <> ${isOnly}`;
}

/** The one that was named, or else the first. */
export async function joinedOrganisation(
  sql: Queryable,
  named: string | null,
): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select id from organisations
    ${named === null ? sql`` : sql`where id = ${named}`} order by key limit 1`;
  return row?.id;
}

export type IdentityRow = { readonly id: string; readonly user_id: string };

export async function identityOf(
  sql: Queryable,
  provider: string,
  subject: string,
): Promise<IdentityRow | undefined> {
  const [row] = await sql<IdentityRow[]>`select id, user_id from identities
    where provider_id = ${provider} and subject = ${subject}`;
  return row;
}

/** The providers of a user's identities. */
export async function connectedOf(sql: Queryable, user: string): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`select provider_id as id from identities
    where user_id = ${user}`;
  return rows.map(({ id }) => id);
}

/** Those of the organisations that a user belongs to. */
export async function ownProvidersOf(sql: Queryable, user: string): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`select p.id from sign_in_providers p
    join memberships m on m.organisation_id = p.organisation_id where m.user_id = ${user}`;
  return rows.map(({ id }) => id);
}

/** With its sessions. False: there was none. */
export async function deleteIdentity(
  sql: Queryable,
  provider: string,
  user: string,
): Promise<boolean> {
  return (
    (await sql`delete from identities where provider_id = ${provider} and user_id = ${user}`)
      .count > 0
  );
}

/** False: the subject or the user has another one of this provider. */
export async function insertIdentity(
  sql: Queryable,
  {
    id,
    provider,
    subject,
    user,
    at,
  }: {
    readonly id: string;
    readonly provider: string;
    readonly subject: string;
    readonly user: string;
    readonly at: number;
  },
): Promise<boolean> {
  return (
    (
      await sql`insert into identities (id, provider_id, subject, user_id, created_at, checked_at)
      values (${id}, ${provider}, ${subject}, ${user}, ${new Date(at)}, ${new Date(at)})
      on conflict do nothing`
    ).count > 0
  );
}

/** A sign-in that brings no token keeps the one before. */
export async function writeRefreshToken(
  sql: Queryable,
  id: string,
  token: Buffer | null,
  at: number,
): Promise<void> {
  await sql`update identities set refresh_token = coalesce(${token}, refresh_token),
    checked_at = ${new Date(at)} where id = ${id}`;
}

/** False: it was seen before. */
export async function rememberLogout(
  sql: Queryable,
  {
    id,
    fingerprint,
    until,
  }: { readonly id: string; readonly fingerprint: Buffer; readonly until: number },
): Promise<boolean> {
  return (
    (
      await sql`insert into one_time_secrets (id, kind, fingerprint, expires_at)
      values (${id}, 'logout token', ${fingerprint}, ${new Date(until)})
      on conflict (fingerprint) do nothing`
    ).count > 0
  );
}

/**
 * Ends the sessions that a provider vouched for: one of them, or all of a subject. Whether the
 * subject is still there is asked at once.
 */
export async function endVouchedSessions(
  sql: Queryable,
  provider: string,
  {
    subject,
    session,
  }: { readonly subject: string | undefined; readonly session: string | undefined },
): Promise<readonly (IdentityRow & { readonly is_kept: boolean })[]> {
  const ofSession = session === undefined ? sql`` : sql`and s.provider_session = ${session}`;
  return sql<(IdentityRow & { readonly is_kept: boolean })[]>`
    with theirs as (
      select i.id, i.user_id, i.refresh_token is not null as is_kept from identities i
      where i.provider_id = ${provider} and ${
        subject === undefined
          ? sql`exists (select from sessions s where s.identity_id = i.id ${ofSession})`
          : sql`i.subject = ${subject}`
      }),
    gone as (delete from sessions s using theirs t where s.identity_id = t.id ${ofSession}),
    due as (update identities i set checked_at = to_timestamp(0) from theirs t where i.id = t.id)
    select id, user_id, is_kept from theirs`;
}

/**
 * Ends what a user who is gone at their provider could still do: in the organisation of the
 * provider, or everywhere for the installation's.
 */
export async function endAccess(
  sql: Queryable,
  { provider, user }: { readonly provider: string; readonly user: string },
  only: string | null,
): Promise<void> {
  const here = only === null ? sql`` : sql`and organisation_id = ${only}`;
  await sql`update identities set refresh_token = null
    where provider_id = ${provider} and user_id = ${user}`;
  await sql`delete from sessions where user_id = ${user} ${
    only === null
      ? sql``
      : sql`and identity_id in (select id from identities where provider_id = ${provider})`
  }`;
  await sql`delete from tokens where user_id = ${user} ${here}`;
  await sql`delete from connections where user_id = ${user} ${here}`;
}

export type DueIdentity = IdentityRow & {
  readonly provider_id: string;
  readonly subject: string;
  readonly refresh_token: Uint8Array;
};

/** Takes identities that open something and were not asked about lately; no other takes them. */
export function takeDueIdentities(
  sql: Queryable,
  { at, before, limit }: { readonly at: number; readonly before: number; readonly limit: number },
): Promise<DueIdentity[]> {
  return sql<DueIdentity[]>`
    update identities i set checked_at = ${new Date(at)}
    from (select id from identities d
      where refresh_token is not null and checked_at <= ${new Date(before)}
        and (exists (select from sessions where user_id = d.user_id)
          or exists (select from tokens where user_id = d.user_id)
          or exists (select from connections where user_id = d.user_id))
      order by checked_at limit ${limit} for update skip locked) due
    where i.id = due.id
    returning i.id, i.user_id, i.provider_id, i.subject, i.refresh_token`;
}

export function providersByIds(sql: Queryable, ids: readonly string[]): Promise<ProviderRow[]> {
  return sql<ProviderRow[]>`select ${columns(sql)} from sign_in_providers
    where id = any(${ids}::uuid[]) and organisation_id is not null`;
}
