import type { Continent } from '../../shared/base/continents.ts';
import type { Queryable } from './store-database.ts';

/** Join tokens: each makes one host one probe, within an hour. What is stored of a token is its fingerprint. */

export type InvitationRow = {
  readonly id: string;
  readonly key: number;
  readonly organisation_id: string | null;
  readonly name: string;
  readonly continent: Continent;
  readonly shown: string;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly used_at: Date | null;
  readonly used_key: string | null;
  readonly probe_id: string | null;
  /** When the probe that came of it was heard last. */
  readonly last_seen_at: Date | null;
};

type NewInvitation = Pick<InvitationRow, 'id' | 'name' | 'continent' | 'shown' | 'created_at' | 'expires_at'> & {
  readonly organisation: string | null;
  readonly fingerprint: Buffer;
};

/** Those that nobody followed are of no use a day after their end. */
const keptForMs = 86_400_000;

export const insertProbeInvitation = async (sql: Queryable, of: NewInvitation): Promise<void> => {
  await sql`delete from probe_invitations where used_at is null and expires_at < ${new Date(of.created_at.getTime() - keptForMs)}`;
  await sql`insert into probe_invitations (id, organisation_id, name, continent, fingerprint, shown, created_at, expires_at)
    values (${of.id}, ${of.organisation}, ${of.name}, ${of.continent}, ${of.fingerprint}, ${of.shown}, ${of.created_at}, ${of.expires_at})`;
};

/** What the plan counts: private probes that are not ended, and the open invitations of more. Of an organisation that is locked. */
export const countPrivateProbes = async (sql: Queryable, organisation: string, now: Date): Promise<number> => {
  const [row] = await sql<{ present: number }[]>`select (
      (select count(*) from probes where organisation_id = ${organisation} and revoked_at is null)
      + (select count(*) from probe_invitations
        where organisation_id = ${organisation} and used_at is null and revoked_at is null and expires_at > ${now})
    )::int as present`;
  return row?.present ?? 0;
};

/** Whether a probe or an open invitation has this name already, among the public ones or in this organisation. */
export const isProbeNameTaken = async (sql: Queryable, organisation: string | null, name: string, now: Date): Promise<boolean> => {
  const [row] = await sql<{ taken: boolean }[]>`select
      exists (select 1 from probes where organisation_id is not distinct from ${organisation} and name = ${name} and revoked_at is null)
      or exists (select 1 from probe_invitations where organisation_id is not distinct from ${organisation} and name = ${name}
        and used_at is null and revoked_at is null and expires_at > ${now}) as taken`;
  return row?.taken === true;
};

/** Everybody's, for the operator; those of nobody's organisation; or those of one. */
export type WhoseInvitations = 'all' | { readonly organisation: string };

/** The newest first, below `from`; those that were taken back are gone. */
export const probeInvitations = async (
  sql: Queryable,
  whose: WhoseInvitations,
  from: number,
  most: number,
  id: string | null = null,
): Promise<readonly InvitationRow[]> => sql<InvitationRow[]>`
  select i.id, i.key, i.organisation_id, i.name, i.continent, i.shown, i.created_at, i.expires_at, i.used_at, i.used_key, i.probe_id,
    p.last_seen_at
  from probe_invitations i left join probes p on p.id = i.probe_id
  where i.revoked_at is null and i.key < ${from} ${whose === 'all' ? sql`` : sql`and i.organisation_id = ${whose.organisation}`}
    ${id === null ? sql`` : sql`and i.id = ${id}`}
  order by i.key desc limit ${most}`;

/** Takes back what nobody has followed yet. False when there is none. */
export const revokeProbeInvitation = async (sql: Queryable, whose: WhoseInvitations, id: string, now: Date): Promise<boolean> => {
  const rows = await sql`update probe_invitations set revoked_at = ${now}
    where id = ${id} and used_at is null and revoked_at is null ${whose === 'all' ? sql`` : sql`and organisation_id = ${whose.organisation}`}
    returning id`;
  return rows.length > 0;
};

/** What a token stands for, locked until the transaction ends: of two hosts with the same token one waits for the other. */
export const lockProbeInvitation = async (sql: Queryable, fingerprint: Buffer): Promise<InvitationRow | undefined> => {
  const [row] = await sql<InvitationRow[]>`
    select id, key, organisation_id, name, continent, shown, created_at, expires_at, used_at, used_key, probe_id, null::timestamptz as last_seen_at
    from probe_invitations where fingerprint = ${fingerprint} and revoked_at is null for update`;
  return row;
};

export const spendProbeInvitation = async (
  sql: Queryable,
  id: string,
  by: { readonly key: string; readonly probe: string; readonly at: Date },
): Promise<void> => {
  await sql`update probe_invitations set used_at = ${by.at}, used_key = ${by.key}, probe_id = ${by.probe} where id = ${id}`;
};
