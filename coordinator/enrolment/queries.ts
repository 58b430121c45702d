import type { Continent } from '../../shared/base/continents.ts';
import type { Queryable } from '../database/connect.ts';
import { keepPlace, type NamedPlace, placeOf } from '../probes/places.ts';
import type { NamedProbe } from '../probes/queries.ts';

/**
 * Join tokens: each makes one host one probe, within an hour. Only a token's fingerprint is stored.
 */

export type InvitationRow = {
  readonly id: string;
  readonly key: number;
  readonly organisation_id: string | null;
  /** The private place that it joins; null: one of its own. */
  readonly place_id: string | null;
  readonly name: string;
  readonly continent: Continent;
  /** Of a public one. */
  readonly region: string | null;
  readonly shown: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly used_at: number | null;
  readonly used_key: string | null;
  readonly probe_id: string | null;
  /** When the probe that joined with it was last heard. */
  readonly last_seen_at: number | null;
};

type NewInvitation = Pick<
  InvitationRow,
  'id' | 'place_id' | 'name' | 'continent' | 'region' | 'shown' | 'created_at' | 'expires_at'
> & {
  readonly organisation: string | null;
  readonly fingerprint: Buffer;
};

/** Unused ones are of no use a day after their end. */
const idempotencyKeptMs = 86_400_000;

export async function insertProbeInvitation(sql: Queryable, of: NewInvitation): Promise<void> {
  await sql`delete from probe_invitations where used_at is null
    and expires_at < ${new Date(of.created_at - idempotencyKeptMs)}`;
  await sql`insert into probe_invitations (id, organisation_id, place_id, name, continent,
    region, fingerprint, shown, created_at, expires_at)
    values (${of.id}, ${of.organisation}, ${of.place_id}, ${of.name}, ${of.continent},
      ${of.region}, ${of.fingerprint}, ${of.shown}, ${new Date(of.created_at)}, ${new Date(of.expires_at)})`;
}

/** All of them, for the operator; those of no organisation; or those of one. */
type WhoseInvitations = 'all' | { readonly organisation: string };

/**
 * The place that the probes of open invitations will make: by its name or its id. It is written
 * down, so that whoever joins first makes it.
 */
export async function keepInvitedPlace(
  sql: Queryable,
  organisation: string,
  called: string,
  now: number,
): Promise<NamedPlace | undefined> {
  const [place] = await sql<NamedPlace[]>`
    select coalesce(i.place_id, i.id) as id, coalesce(l.name, i.name) as name, i.continent
    from probe_invitations i
    left join places l on l.id = i.place_id and l.organisation_id = i.organisation_id
    where i.organisation_id = ${organisation} and i.used_at is null and i.revoked_at is null
      and i.expires_at > ${new Date(now)}
      and ${called} in (coalesce(l.name, i.name), coalesce(i.place_id, i.id)::text)
    order by i.key limit 1`;
  if (!place) return undefined;
  await keepPlace(sql, organisation, place);
  await sql`update probe_invitations set place_id = id
    where id = ${place.id} and organisation_id = ${organisation} and place_id is null`;
  return place;
}

/** The newest first, below `from`; revoked ones are gone. */
export async function probeInvitations(
  sql: Queryable,
  whose: WhoseInvitations,
  from: number,
  limit: number,
  id: string | null = null,
): Promise<readonly InvitationRow[]> {
  return sql<InvitationRow[]>`
  select i.id, i.key, i.organisation_id, i.place_id, i.name, i.continent, i.region, i.shown,
    i.created_at, i.expires_at, i.used_at, i.used_key, i.probe_id,
    p.last_seen_at
  from probe_invitations i left join probes p on p.id = i.probe_id
  where i.revoked_at is null
    and i.key < ${from} ${whose === 'all' ? sql`` : sql`and i.organisation_id = ${whose.organisation}`}
    ${id === null ? sql`` : sql`and i.id = ${id}`}
  order by i.key desc limit ${limit}`;
}

/** Revokes an unused invitation. False when there is none. */
export async function revokeProbeInvitation(
  sql: Queryable,
  whose: WhoseInvitations,
  id: string,
  now: number,
): Promise<boolean> {
  const rows = await sql`update probe_invitations set revoked_at = ${new Date(now)}
    where id = ${id} and used_at is null
      and revoked_at is null ${whose === 'all' ? sql`` : sql`and organisation_id = ${whose.organisation}`}
    returning id`;
  return rows.length > 0;
}

/**
 * The invitation of a token, locked until the transaction ends: of two hosts with the same token
 * one waits for the other.
 */
export async function lockProbeInvitation(
  sql: Queryable,
  fingerprint: Buffer,
): Promise<InvitationRow | undefined> {
  const [row] = await sql<InvitationRow[]>`
    select id, key, organisation_id, place_id, name, continent, region, shown, created_at, expires_at,
      used_at, used_key, probe_id, null::timestamptz as last_seen_at
    from probe_invitations where fingerprint = ${fingerprint} and revoked_at is null for update`;
  return row;
}

export async function spendProbeInvitation(
  sql: Queryable,
  id: string,
  by: { readonly key: string; readonly probe: string; readonly at: number },
): Promise<void> {
  await sql`update probe_invitations
    set used_at = ${new Date(by.at)}, used_key = ${by.key}, probe_id = ${by.probe} where id = ${id}`;
}

type KnownProbe = NamedProbe & {
  readonly id: string;
  readonly place_id: string | null;
  readonly region: string | null;
};

/** The probe that has this key already, or `ended` when it never may again. */
export async function invitationState(
  sql: Queryable,
  key: string,
): Promise<KnownProbe | 'ended' | undefined> {
  const [probe] = await sql<KnownProbe[]>`
    select id, ${placeOf(sql)} as place_id, name, continent, region,
      organisation_id as organisation
    from probes p
    where revoked_at is null and keys @> ${JSON.stringify([{ key, until: null }])}::text::jsonb`;
  if (probe) return probe;
  return (await sql`select 1 from revoked_keys where key = ${key}`).length > 0
    ? 'ended'
    : undefined;
}
