import type { Queryable } from './store-database.ts';

export type ShareRow = { readonly shared_at: Date; readonly shared_by: string | null };

/** A new link for an incident; the one before it shows nothing from now on. */
export const writeShare = async (
  sql: Queryable,
  share: {
    readonly incident: string;
    readonly organisation: string;
    readonly fingerprint: Buffer;
    readonly user: string | null;
    readonly at: Date;
  },
): Promise<void> => {
  const { incident, organisation, fingerprint, user, at } = share;
  await sql`insert into incident_shares (incident_id, organisation_id, fingerprint, shared_by, shared_at)
    values (${incident}, ${organisation}, ${fingerprint}, ${user}, ${at})
    on conflict (incident_id) do update set fingerprint = excluded.fingerprint, shared_by = excluded.shared_by, shared_at = excluded.shared_at`;
};

/** True when there was one. */
export const removeShare = async (sql: Queryable, organisation: string, incident: string): Promise<boolean> =>
  (await sql`delete from incident_shares where organisation_id = ${organisation} and incident_id = ${incident}`).count > 0;

export const shareOf = async (sql: Queryable, organisation: string, incident: string): Promise<ShareRow | undefined> => {
  const [row] = await sql<ShareRow[]>`
    select s.shared_at, u.email as shared_by from incident_shares s left join users u on u.id = s.shared_by
    where s.organisation_id = ${organisation} and s.incident_id = ${incident}`;
  return row;
};

/** Which incident a link shows; none of an organisation that is about to end. */
export const sharedIncident = async (
  sql: Queryable,
  fingerprint: Buffer,
): Promise<{ readonly incident: string; readonly organisation: string; readonly time_zone: string } | undefined> => {
  const [row] = await sql<{ incident: string; organisation: string; time_zone: string }[]>`
    select s.incident_id as incident, s.organisation_id as organisation, o.time_zone
    from incident_shares s join organisations o on o.id = s.organisation_id and o.ends_at is null where s.fingerprint = ${fingerprint}`;
  return row;
};
