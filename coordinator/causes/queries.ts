import { z } from 'zod';
import { isoText } from '../../shared/base/time.ts';
import { type FoundCause, isShareKind, type KnownCause } from '../core/causes.ts';
import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';
import { type CauseRow, causeName } from './model.ts';
import type { FailingMonitor, PassingMonitor, SeenFailure } from './shares.ts';

/**
 * The organisations in which several monitors are down, or were of one cause. `standing` changes
 * with each outage that is confirmed or ends.
 */
export function organisationsToReview(
  sql: Queryable,
  least: number,
): Promise<{ id: string; standing: string }[]> {
  return sql<{ id: string; standing: string }[]>`
    select o.id, (select count(*) || ' ' || coalesce(max(i.key), 0) from incidents i
      where i.organisation_id = o.id and i.resolved_at is null
        and i.confirmed_at is not null) as standing
    from (select organisation_id as id from incidents
        where resolved_at is null and confirmed_at is not null
        group by organisation_id having count(*) >= ${least}
      union select organisation_id from causes where ended_at is null) o`;
}

/** Whether several outages go on in the organisation of alert `a`, or a cause does. */
export function isToJudge(sql: Queryable) {
  return sql`(exists (select from causes c
      where c.organisation_id = a.organisation_id and c.ended_at is null)
    or (select count(*) from (select from incidents i where i.organisation_id = a.organisation_id
      and i.resolved_at is null and i.confirmed_at is not null limit 2) two) = 2)`;
}

/**
 * Those of these organisations that no other transaction judges: nobody waits for another's. A lock
 * of their rows would wait for whatever changes an organisation. In a transaction.
 */
export async function lockForJudging(
  sql: Queryable,
  organisations: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from unnest(${organisations}::uuid[]) id
    where pg_try_advisory_xact_lock(hashtextextended('causes of ' || id, 0))`;
  return rows.map(({ id }) => id);
}

/**
 * The confirmed outages of these organisations that go on, and what their failing checks saw: all,
 * or the newest that have no known cause.
 */
export async function failingMonitors(
  sql: Queryable,
  organisations: readonly string[],
  { which, limit }: { readonly which: 'all' | 'unexplained'; readonly limit: number | null },
): Promise<FailingMonitor[]> {
  const rows = await sql<Omit<FailingMonitor, 'seen'>[]>`
    select m.organisation_id as organisation, i.id as incident, i.started_at, i.cause,
      ${settingsColumns(sql)}
    from unnest(${organisations}::uuid[]) o cross join lateral (
      select * from incidents n where n.organisation_id = o and n.resolved_at is null
        and n.confirmed_at is not null and n.cause is not null
        ${which === 'all' ? sql`` : sql`and not exists (select from cause_members c where c.incident_id = n.id)`}
      order by n.key desc limit ${limit}::bigint) i
    join monitors m on m.id = i.monitor_id
    where m.type <> 'heartbeat' order by i.key`;
  if (rows.length === 0) return [];
  // By itself: a plan from when there was little evidence would read all of it for each outage. A side
  // whose coordinator was killed before it could keep what it saw says nothing.
  const seen = await sql<{ incident_id: string; seen: unknown }[]>`
    select e.incident_id, ${seenColumns(sql)} as seen from incident_evidence e
    where e.incident_id = any(${rows.map(({ incident }) => incident)}::uuid[])
      and e.part in ('seen', 'confirmed') and e.evidence is not null order by e.part desc`;
  const ofEach = Map.groupBy(seen, ({ incident_id }) => incident_id);
  return rows.map((row) => ({
    ...row,
    seen: (ofEach.get(row.incident) ?? []).map((one) => seenFailure.parse(one.seen)),
  }));
}

const text = z.string().nullable().catch(null);

/** What a probe wrote is not trusted to have any form. */
const seenFailure: z.ZodType<SeenFailure> = z.object({
  url: text,
  tried: z.array(z.string()).catch([]),
  status: z.number().nullable().catch(null),
  headers: z.array(z.tuple([z.string(), z.string()])).catch([]),
  fingerprint: text,
  issuer: text,
  hops: z.number().catch(1),
});

/** The monitors of these organisations that pass, or may. */
export function passingMonitors(
  sql: Queryable,
  organisations: readonly string[],
): Promise<PassingMonitor[]> {
  return sql<PassingMonitor[]>`
    select m.organisation_id as organisation, t.status = 'verifying' as verifying,
      ${settingsColumns(sql)}, coalesce(s.addresses, '{}') as addresses, s.server, s.redirect,
      c.fingerprint, c.issuer
    from monitor_status t join monitors m on m.id = t.monitor_id
      left join served s on s.monitor_id = m.id
      left join certificates c on c.monitor_id = m.id
    where t.organisation_id = any(${organisations}::uuid[]) and t.status in ('up', 'verifying')
      and m.type <> 'heartbeat' order by m.key`;
}

/** Of monitor `m`. */
function settingsColumns(sql: Queryable) {
  return sql`m.id as monitor, m.type, m.target, m.interval_s,
    case when m.type = 'dns' then m.config ->> 'resolver' end as resolver,
    coalesce(cardinality(m.places), 0) + (m.config ->> 'probe' is not null)::int as chosen,
    coalesce(case when m.places is not null or m.config ->> 'probe' is not null then (
      select json_agg(json_build_object('id', l.id, 'addresses',
        array(select distinct unnest(p.addresses) from probes p where p.place_id = l.id)))
      from places l where l.organisation_id = m.organisation_id
        and (l.id::text = any(m.places) or l.id::text = m.config ->> 'probe')) end,
      '[]'::json) as private_places`;
}

/** Of evidence `e`, which each kind of check writes as it likes. */
function seenColumns(sql: Queryable) {
  return sql`json_build_object(
    'url', e.evidence ->> 'url',
    'tried', jsonb_path_query_array(e.evidence, '$.attempts[*].address'),
    'status', e.evidence -> 'status',
    'headers', e.evidence -> 'headers',
    'fingerprint', e.evidence #>> '{tls,chain,0,fingerprint}',
    'issuer', e.evidence #>> '{tls,chain,0,issuer}',
    'hops', jsonb_path_query_first(e.evidence, 'lax $.redirects.size()'))`;
}

type OpenCause = KnownCause & { readonly organisation: string };

/** The causes of these organisations that have not ended. */
export async function openCauses(
  sql: Queryable,
  organisations: readonly string[],
  { withMembers }: { readonly withMembers: boolean },
): Promise<OpenCause[]> {
  const rows = await sql<(Omit<OpenCause, 'kind'> & { kind: string })[]>`
    select c.organisation_id as organisation, c.id, c.kind, c.value, c.began_at, c.manners,
      (select count(*) filter (where i.resolved_at is null) * 2 >= count(*) from cause_members n
        join incidents i on i.id = n.incident_id where n.cause_id = c.id) as grows,
      ${
        withMembers
          ? sql`array(select n.incident_id from cause_members n join incidents i on i.id = n.incident_id
              where n.cause_id = c.id and i.resolved_at is null)`
          : sql`'{}'::uuid[]`
      } as members
    from causes c where c.organisation_id = any(${organisations}::uuid[]) and c.ended_at is null
    order by c.key`;
  return rows.flatMap(({ kind, ...row }) => (isShareKind(kind) ? [{ ...row, kind }] : []));
}

type NewCause = FoundCause & { readonly id: string; readonly organisation: string };
type Member = { readonly cause: string; readonly incident: string };

/** In the transaction that judges these organisations. */
export async function insertCauses(
  sql: Queryable,
  found: readonly NewCause[],
  now: number,
): Promise<void> {
  if (found.length === 0) return;
  const rows = found.map(({ others, members, began_at, ...rest }) => ({
    ...{ ...rest, began_at: isoText(began_at), others: others.all, others_failing: others.failing },
  }));
  const written = await sql<{ id: string }[]>`
    insert into causes (id, organisation_id, kind, value, manners, began_at, found_at, passing,
      others_failing, others)
    select c.id, c.organisation, c.kind, c.value, c.manners, c.began_at,
      ${isoText(now)}::timestamptz, c.passing, c.others_failing, c.others
    from json_to_recordset(${jsonText(rows)}::text::json) as c (id uuid, organisation uuid,
      kind text, value text, manners text[], began_at timestamptz, passing int,
      others_failing int, others int)
    returning id`;
  await writeEvents(sql, 'cause.found', written);
  await insertMembers(
    sql,
    found.flatMap(({ id: cause, members }) => members.map((incident) => ({ cause, incident }))),
  );
}

export async function insertMembers(sql: Queryable, members: readonly Member[]): Promise<void> {
  if (members.length === 0) return;
  await sql`
    insert into cause_members (incident_id, cause_id, organisation_id)
    select i.id, c.id, c.organisation_id
    from json_to_recordset(${jsonText([...members])}::text::json) as m (cause uuid, incident uuid)
      join causes c on c.id = m.cause
      join incidents i on i.id = m.incident and i.organisation_id = c.organisation_id
    order by i.id
    on conflict (incident_id) do nothing`;
}

/** Outages that went on when they left their cause are no members any more; these causes are over. */
export async function endMemberships(
  sql: Queryable,
  organisation: string,
  { left, over }: { readonly left: readonly string[]; readonly over: readonly string[] },
  now: number,
): Promise<void> {
  await sql`
    delete from cause_members n using incidents i
    where n.organisation_id = ${organisation} and n.incident_id = any(${left}::uuid[])
      and i.id = n.incident_id and i.resolved_at is null`;
  const ended = await sql<{ id: string }[]>`
    update causes set ended_at = ${isoText(now)}::timestamptz
    where organisation_id = ${organisation} and id = any(${over}::uuid[]) and ended_at is null
    returning id`;
  await writeEvents(sql, 'cause.ended', ended);
}

async function writeEvents(
  sql: Queryable,
  event: 'cause.found' | 'cause.ended',
  causes: readonly { readonly id: string }[],
): Promise<void> {
  if (causes.length === 0) return;
  const rows = await causesToTell(
    sql,
    causes.map(({ id }) => id),
  );
  await sql`
    insert into events (organisation_id, what, cause_id, name)
    select c.organisation_id, ${event}, c.id, n.name
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(causeName)}::text[]) as n (id, name)
      join causes c on c.id = n.id order by c.key`;
}

export function causePage(
  sql: Queryable,
  organisation: string,
  state: 'all' | 'open' | 'ended',
  before: number,
  limit: number,
): Promise<CauseRow[]> {
  return sql<CauseRow[]>`
    select ${causeColumns(sql)} from causes c
    where c.organisation_id = ${organisation} and c.key < ${before}
      ${state === 'all' ? sql`` : state === 'open' ? sql`and c.ended_at is null` : sql`and c.ended_at is not null`}
    order by c.key desc limit ${limit}`;
}

export async function causeById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<CauseRow | undefined> {
  const [row] = await sql<CauseRow[]>`
    select ${causeColumns(sql)} from causes c
    where c.organisation_id = ${organisation} and c.id = ${id}`;
  return row;
}

/** What messages and events say of these causes; `last_end`: when a member last came back. */
export function causesToTell(sql: Queryable, ids: readonly string[]) {
  return sql<(CauseRow & { readonly last_end: number | null })[]>`
    select ${causeColumns(sql)}, (select max(i.resolved_at) from cause_members n
      join incidents i on i.id = n.incident_id where n.cause_id = c.id) as last_end
    from causes c where c.id = any(${ids}::uuid[])`;
}

function causeColumns(sql: Queryable) {
  return sql`c.key, c.id, c.kind, c.value, c.began_at, c.found_at, c.ended_at, c.passing,
    c.others_failing, c.others,
    (select l.name from places l where l.organisation_id = c.organisation_id
      and l.id::text = c.value) as place_name,
    (select count(*)::int from cause_members n where n.cause_id = c.id) as incidents,
    (select count(*)::int from cause_members n join incidents i on i.id = n.incident_id
      where n.cause_id = c.id and i.resolved_at is null) as open_incidents`;
}
