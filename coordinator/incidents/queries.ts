import type { Continents } from '../../shared/base/text.ts';
import { isoText } from '../../shared/base/time.ts';
import type { Cause, Json, Outcome, Phases } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { countOf } from '../database/sql.ts';
import { outcomeOf } from '../results/check.ts';
import { continentsOf, type StoredSides, sidesOf } from './writes.ts';

/** Who acknowledged an incident (rule 34), and who is notified of that. */

type Acknowledgement = {
  readonly incidents: readonly string[];
  readonly organisation: string;
  readonly user: string | null;
  /** A person's name, or the channel whose link was followed. */
  readonly as: string;
  /** Who assigned it to them, in place of whoever had it; absent: they took it themselves. */
  readonly assignedBy?: string;
  readonly now: number;
};

/**
 * The first acknowledgement counts, unless it is assigned; incidents that are over or unconfirmed
 * are left alone. Recipients of the "down" are notified. @returns the acknowledged incidents.
 */
export async function writeAcknowledgement(
  sql: Queryable,
  { incidents, organisation, user, as, assignedBy, now }: Acknowledgement,
): Promise<string[]> {
  const at = new Date(now);
  const rows = await sql<{ id: string }[]>`
    update incidents set acknowledged_at = ${at}, acknowledged_by = ${user}, acknowledged_as = ${as}
    where organisation_id = ${organisation} and id = any(${incidents}::uuid[])
      and ${
        assignedBy === undefined
          ? sql`acknowledged_at is null`
          : sql`acknowledged_by is distinct from ${user}`
      }
      and resolved_at is null and confirmed_at is not null
    returning id`;
  const ids = rows.map(({ id }) => id);
  await sql`
    insert into incident_owners (incident_id, organisation_id, at, event, owner, by_name)
    select id, ${organisation}, ${at}, ${assignedBy === undefined ? 'acknowledged' : 'assigned'},
      ${as}, ${assignedBy ?? null}
    from unnest(${ids}::uuid[]) as id`;
  await sql`
    insert into alert_steps (organisation_id, channel_id, monitor_id, incident_id, event, seq, state,
      due_at, look_at, created_at)
    select distinct s.organisation_id, s.channel_id, s.monitor_id, s.incident_id, 'acknowledged',
      (select count(*) from alert_steps b where b.incident_id = s.incident_id
        and b.channel_id = s.channel_id and b.event = 'acknowledged')::int, 'held',
      ${at}::timestamptz, ${at}::timestamptz, ${at}::timestamptz
    from alert_steps s where s.incident_id = any(${ids}::uuid[])
      and s.event in ('down', 'flapping') and s.state = 'told'
    on conflict (incident_id, channel_id, event, seq) do nothing`;
  return ids;
}

/**
 * Nobody has the incident any more: what its acknowledgement had ended goes on, and every recipient
 * of the "down" gets a reminder at once. False where it is over, or nobody had it.
 */
export async function writeHandBack(
  sql: Queryable,
  {
    incident,
    organisation,
    by,
    now,
  }: {
    readonly incident: string;
    readonly organisation: string;
    readonly by: string;
    readonly now: number;
  },
): Promise<boolean> {
  const at = new Date(now);
  const [owner] = await sql<{ name: string }[]>`
    select coalesce(acknowledged_as, '') as name from incidents
    where organisation_id = ${organisation} and id = ${incident} and resolved_at is null
      and acknowledged_at is not null for update`;
  if (owner === undefined) return false;
  await sql`
    update incidents set acknowledged_at = null, acknowledged_by = null, acknowledged_as = null
    where organisation_id = ${organisation} and id = ${incident}`;
  await sql`
    insert into incident_owners (incident_id, organisation_id, at, event, owner, by_name)
    values (${incident}, ${organisation}, ${at}, 'handed_back', ${owner.name}, ${by})`;
  // Not sent yet, and not true any more.
  await sql`
    update alert_steps set state = 'dropped', because = 'handed_back', settled_at = ${at}
    where organisation_id = ${organisation} and incident_id = ${incident}
      and event = 'acknowledged' and state = 'held'`;
  await sql`
    update alert_steps set state = 'held', because = null, settled_at = null, look_at = ${at}
    where organisation_id = ${organisation} and incident_id = ${incident}
      and (state = 'dropped' and because = 'acknowledged'
        or state = 'held' and event = 'reminder')`;
  await sql`
    insert into alert_steps (organisation_id, channel_id, monitor_id, incident_id, event, seq, state,
      due_at, look_at, created_at)
    select distinct s.organisation_id, s.channel_id, s.monitor_id, s.incident_id, 'reminder',
      (select coalesce(max(b.seq), 0) + 1 from alert_steps b where b.incident_id = s.incident_id
        and b.channel_id = s.channel_id and b.event = 'reminder'), 'held',
      ${at}::timestamptz, ${at}::timestamptz, ${at}::timestamptz
    from alert_steps s where s.organisation_id = ${organisation}
      and s.incident_id = ${incident} and s.event in ('down', 'flapping')
      and s.state = 'told' and not exists (
        select 1 from alert_steps b where b.incident_id = s.incident_id
          and b.channel_id = s.channel_id and b.event = 'reminder' and b.state = 'held')`;
  return true;
}

type OwnerChange = {
  readonly at: number;
  readonly event: 'acknowledged' | 'assigned' | 'handed_back';
  readonly owner: string;
  readonly by: string | null;
};

/** Who has had an incident, oldest first. */
export function ownersOf(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<OwnerChange[]> {
  return sql<OwnerChange[]>`
    select event, owner, by_name as by, at from incident_owners
    where organisation_id = ${organisation} and incident_id = ${incident} order by id`;
}

export async function acknowledgementOf(
  sql: Queryable,
  incident: string,
): Promise<{ acknowledged_at: number; acknowledged_by: string } | undefined> {
  const [row] = await sql<{ acknowledged_at: number; acknowledged_by: string }[]>`
    select acknowledged_at, coalesce(acknowledged_as, '') as acknowledged_by from incidents
    where id = ${incident} and acknowledged_at is not null`;
  return row;
}

export async function insertNote(
  sql: Queryable,
  note: {
    readonly id: string;
    readonly incident: string;
    readonly organisation: string;
    readonly user: string | null;
    readonly at: number;
    readonly text: string;
  },
): Promise<NoteRow | undefined> {
  const { id, incident, organisation, user, at, text } = note;
  const [row] = await sql<NoteRow[]>`
    insert into incident_notes (id, incident_id, organisation_id, written_by, written_at, text)
    values (${id}, ${incident}, ${organisation}, ${user}, ${new Date(at)}, ${text})
    returning id, (select u.email from users u where u.id = incident_notes.written_by) as by,
      written_at as at, text`;
  return row;
}

export async function countNotes(sql: Queryable, incident: string): Promise<number> {
  return countOf(sql`select count(*) from incident_notes where incident_id = ${incident}`);
}

type NoteRow = {
  readonly id: string;
  readonly by: string | null;
  readonly at: number;
  readonly text: string;
};

/** Oldest first. */
export function notesOf(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<NoteRow[]> {
  return sql<NoteRow[]>`
    select n.id, u.email as by, n.written_at as at, n.text from incident_notes n left join users u
      on u.id = n.written_by
    where n.organisation_id = ${organisation} and n.incident_id = ${incident}
    order by n.written_at, n.id`;
}

type PostMortem = {
  readonly text: string;
  readonly by: string | null;
  readonly at: number;
  readonly published_at: number | null;
};

export async function postMortemOf(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<PostMortem | undefined> {
  const [row] = await sql<PostMortem[]>`
    select p.text, u.email as by, p.written_at as at, p.published_at
    from post_mortems p left join users u on u.id = p.written_by
    where p.organisation_id = ${organisation} and p.incident_id = ${incident}`;
  return row;
}

/** Replaces the previous one, and keeps the time of first publication. */
export async function writePostMortem(
  sql: Queryable,
  written: {
    readonly incident: string;
    readonly organisation: string;
    readonly user: string | null;
    readonly at: number;
    readonly text: string;
    readonly published: boolean;
  },
): Promise<void> {
  const { incident, organisation, user, at, text, published } = written;
  await sql`
    insert into post_mortems (incident_id, organisation_id, text, written_by, written_at,
      published_at)
    values (${incident}, ${organisation}, ${text}, ${user}, ${new Date(at)}, ${isoText(published ? at : null)})
    on conflict (incident_id) do update set text = excluded.text, written_by = excluded.written_by,
      written_at = excluded.written_at,
      published_at = case when ${published}
        then coalesce(post_mortems.published_at, excluded.published_at) end`;
}

export async function removePostMortem(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<void> {
  await sql`delete from post_mortems
    where organisation_id = ${organisation} and incident_id = ${incident}`;
}

export type IncidentRow = {
  readonly key: number;
  readonly id: string;
  readonly monitor_id: string;
  readonly monitor_name: string;
  readonly cause: Cause | null;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly seen_probe: string | null;
  readonly seen_continent: string | null;
  readonly confirmed_probe: string | null;
  readonly confirmed_continent: string | null;
  readonly note: string | null;
  readonly scope: string | null;
  readonly layer: string | null;
  readonly acknowledged_at: number | null;
  /** A person's name, or the channel whose link was followed. */
  readonly acknowledged_as: string | null;
  readonly continents: Continents | null;
  readonly sides: StoredSides | null;
  readonly cause_id: string | null;
  readonly seen_in: ProbePlace | null;
  readonly confirmed_in: ProbePlace | null;
};

/** Where a probe is, beside its continent. */
export type ProbePlace = {
  readonly region: string | null;
  readonly place: string | null;
  readonly origin_as: number | null;
};

export function incidentColumns(sql: Queryable) {
  return sql`i.key, i.id, i.monitor_id, m.name as monitor_name, i.cause, i.started_at,
    i.confirmed_at, i.resolved_at,
  i.seen_probe, i.seen_continent, i.confirmed_probe, i.confirmed_continent, i.note, i.scope,
    i.layer, i.acknowledged_at, i.acknowledged_as, ${continentsOf(sql)} as continents,
    ${sidesOf(sql)} as sides,
    (select n.cause_id from cause_members n where n.incident_id = i.id) as cause_id, ${probePlaceOf(sql, 'seen')} as seen_in,
    ${probePlaceOf(sql, 'confirmed')} as confirmed_in`;
}

/** Null where nothing more is known. */
function probePlaceOf(sql: Queryable, part: 'seen' | 'confirmed') {
  const [name, continent, place] = [
    sql(`i.${part}_probe`),
    sql(`i.${part}_continent`),
    sql(`i.${part}_place`),
  ];
  return sql`(select json_build_object('region', case when p.organisation_id is null then p.region end,
      'place', l.name, 'origin_as', p.origin_as)
    from (select) one
      left join places l on l.id = ${place} and l.organisation_id = i.organisation_id
      left join lateral (select p.organisation_id, p.region, p.origin_as from probes p
        where p.name = ${name} and p.continent = ${continent} and p.organisation_id
          is not distinct from case when ${place} is not null then i.organisation_id end
        limit 1) p on true)`;
}

export async function incidentById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<IncidentRow | undefined> {
  const [row] = await sql<IncidentRow[]>`
    select ${incidentColumns(sql)} from incidents i join monitors m on m.id = i.monitor_id
    where i.organisation_id = ${organisation} and i.id = ${id}`;
  return row;
}

type EvidenceRow = {
  readonly part: 'seen' | 'confirmed' | 'matrix';
  /** null: the job reported it. */
  readonly continent: string | null;
  /** The private place of a monitor with chosen places, by its name. */
  readonly place: string | null;
  readonly probe: string;
  readonly at: number;
  readonly outcome: Outcome;
  readonly took_ms: number;
  readonly cause: Cause | null;
  readonly phases: Phases | null;
  readonly evidence: Json;
};

/**
 * What the failing checks and all others saw (rule 15): first the seeing check, then the confirming
 * one, then the matrix.
 */
export async function incidentEvidence(
  sql: Queryable,
  id: string,
): Promise<readonly EvidenceRow[]> {
  const rows = await sql<(Omit<EvidenceRow, 'outcome'> & { outcome: number })[]>`
    select e.part, nullif(split_part(e.continent, '/', 1), '') as continent, l.name as place, e.probe,
      e.at, e.outcome, e.took_ms, e.cause, e.phases, e.evidence
    from incident_evidence e join incidents i on i.id = e.incident_id
      left join places l on l.organisation_id = i.organisation_id
        and l.id::text = nullif(split_part(e.continent, '/', 2), '')
    where e.incident_id = ${id}
    order by array_position(array['seen', 'confirmed', 'matrix'], e.part), e.continent`;
  return rows.map((row) => ({ ...row, outcome: outcomeOf(row.outcome) }));
}

type NotificationState = {
  readonly event: 'down' | 'up' | 'closed' | 'was_down';
  readonly channel: string;
  readonly state: 'held' | 'due' | 'sent' | 'dropped';
  readonly due_at: number | null;
  readonly settled_at: number | null;
};

/** An incident's notifications, sent or held, in order. */
export function notificationsOf(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<NotificationState[]> {
  return sql<NotificationState[]>`
    select event, channel, state, due_at, settled_at from alerts
    where organisation_id = ${organisation} and incident_id = ${incident} order by id`;
}
