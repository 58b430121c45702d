import type { Queryable } from './database.ts';
import { jsonText } from './incidents-write.ts';

/** What a decision wants told: a "down" waits in the table until it is due; an "up" or "closed" goes to who got the "down". */
export type AlertWrite =
  | { readonly event: 'down'; readonly incident: string; readonly due_at: number }
  | { readonly event: 'up' | 'closed'; readonly incident: string; readonly at: number };

/** In the transaction that writes the incidents, after them. A "down" that is still held when the incident ends is dropped. */
export const writeAlerts = async (sql: Queryable, writes: readonly AlertWrite[]): Promise<void> => {
  const downs = writes.filter((write) => write.event === 'down');
  const ends = writes.filter((write) => write.event !== 'down');
  if (downs.length > 0) {
    const rows = downs.map(({ incident, due_at }) => ({ incident, due_at: new Date(due_at).toISOString() }));
    await sql`
      insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
      select i.organisation_id, i.monitor_id, i.id, 'down', 'held', d.due_at
      from json_to_recordset(${jsonText(rows)}::text::json) as d (incident uuid, due_at timestamptz) join incidents i on i.id = d.incident
      on conflict (incident_id, event, channel) do nothing`;
  }
  if (ends.length > 0) {
    await sql`update alerts set state = 'dropped', settled_at = now()
      where event = 'down' and state = 'held' and incident_id = any(${ends.map(({ incident }) => incident)}::uuid[])`;
    const rows = ends.map(({ incident, event, at }) => ({ incident, event, at: new Date(at).toISOString() }));
    await sql`
      insert into alerts (organisation_id, monitor_id, incident_id, event, channel, state, due_at)
      select d.organisation_id, d.monitor_id, d.incident_id, e.event, d.channel, 'due', e.at
      from json_to_recordset(${jsonText(rows)}::text::json) as e (incident uuid, event text, at timestamptz)
      join alerts d on d.incident_id = e.incident and d.event = 'down' and d.state in ('due', 'sent')
      on conflict (incident_id, event, channel) do nothing`;
  }
};
