import type { Queryable } from './store-database.ts';

/** Who took up an incident (rule 34), and who is told of it. */

export type Acknowledgement = {
  readonly incidents: readonly string[];
  readonly organisation: string;
  readonly user: string | null;
  /** In words: a person's name, or the channel whose link was followed. */
  readonly as: string;
  readonly now: number;
};

/** The first who does counts; those that are over, or not confirmed, are left alone. Whoever was told of the "down" is told. @returns which ones were. */
export const writeAcknowledgement = async (
  sql: Queryable,
  { incidents, organisation, user, as, now }: Acknowledgement,
): Promise<string[]> => {
  const at = new Date(now);
  const rows = await sql<{ id: string }[]>`
    update incidents set acknowledged_at = ${at}, acknowledged_by = ${user}, acknowledged_as = ${as}
    where organisation_id = ${organisation} and id = any(${[...incidents]}::uuid[]) and acknowledged_at is null and resolved_at is null
      and confirmed_at is not null
    returning id`;
  const ids = rows.map(({ id }) => id);
  await sql`
    insert into alert_steps (organisation_id, channel_id, monitor_id, incident_id, event, state, due_at, look_at, created_at)
    select distinct organisation_id, channel_id, monitor_id, incident_id, 'acknowledged', 'held', ${at}::timestamptz, ${at}::timestamptz, ${at}::timestamptz
    from alert_steps where incident_id = any(${ids}::uuid[]) and event in ('down', 'flapping') and state = 'told'
    on conflict (incident_id, channel_id, event, seq) do nothing`;
  return ids;
};

export const acknowledgementOf = async (sql: Queryable, incident: string): Promise<{ at: Date; as: string } | undefined> => {
  const [row] = await sql<{ at: Date; as: string }[]>`
    select acknowledged_at as at, coalesce(acknowledged_as, '') as as from incidents where id = ${incident} and acknowledged_at is not null`;
  return row;
};
