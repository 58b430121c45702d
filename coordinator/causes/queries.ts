import { z } from 'zod';
import { isoText } from '../../shared/base/time.ts';
import { type FoundCause, isShareKind, type KeptCause, type KnownCause } from '../core/causes.ts';
import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';
import type { CauseRow } from './model.ts';
import type { FailingMonitor, PassingMonitor, SeenFailure } from './shares.ts';

/**
 * The organisations in which several monitors are down, or were of one cause. `standing` changes
 * with each outage that is confirmed or ends.
 */
export function organisationsToJudge(
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

/** The confirmed outages of an organisation that go on, and what their failing checks saw. */
export async function failingMonitors(
  sql: Queryable,
  organisation: string,
): Promise<FailingMonitor[]> {
  const rows = await sql<(Omit<FailingMonitor, 'seen'> & { seen: unknown[] })[]>`
    select i.id as incident, i.started_at, i.cause, ${settingsColumns(sql)},
      (select coalesce(json_agg(${seenColumns(sql)} order by e.part desc), '[]') from incident_evidence e
        where e.incident_id = i.id and e.part in ('seen', 'confirmed')) as seen
    from incidents i join monitors m on m.id = i.monitor_id
    where i.organisation_id = ${organisation} and i.resolved_at is null
      and i.confirmed_at is not null and i.cause is not null and m.type <> 'heartbeat'
    order by i.key`;
  return rows.map((row) => ({ ...row, seen: row.seen.map((one) => seenFailure.parse(one)) }));
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

/** The monitors of an organisation that pass. */
export async function passingMonitors(
  sql: Queryable,
  organisation: string,
): Promise<PassingMonitor[]> {
  return sql<PassingMonitor[]>`
    select ${settingsColumns(sql)}, coalesce(s.addresses, '{}') as addresses, s.server, s.redirect,
      c.fingerprint, c.issuer
    from monitor_status t join monitors m on m.id = t.monitor_id
      left join served s on s.monitor_id = m.id
      left join certificates c on c.monitor_id = m.id
    where t.organisation_id = ${organisation} and t.status = 'up' and m.type <> 'heartbeat'`;
}

/** Of monitor `m`. */
function settingsColumns(sql: Queryable) {
  return sql`m.type, m.target, m.interval_s,
    case when m.type = 'dns' then m.config ->> 'resolver' end as resolver,
    coalesce(m.config ->> 'probe', case when cardinality(m.places) = 1
      then (select l.id::text from places l where l.organisation_id = m.organisation_id
        and l.id::text = m.places[1]) end) as place`;
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

/** The causes of an organisation that have not ended, with the incidents that are still open. */
export async function knownCauses(sql: Queryable, organisation: string): Promise<KnownCause[]> {
  const rows = await sql<(Omit<KnownCause, 'kind'> & { kind: string })[]>`
    select c.id, c.kind, c.value, c.began_at, array(
      select n.incident_id from cause_members n join incidents i on i.id = n.incident_id
      where n.cause_id = c.id and i.resolved_at is null) as members
    from causes c where c.organisation_id = ${organisation} and c.ended_at is null`;
  return rows.flatMap(({ kind, ...row }) => (isShareKind(kind) ? [{ ...row, kind }] : []));
}

export type CauseWrite = {
  readonly organisation: string;
  readonly now: number;
  readonly found: readonly (FoundCause & { readonly id: string })[];
  readonly kept: readonly KeptCause[];
};

/** In a transaction. Another coordinator may have found the same meanwhile: then its row counts. */
export async function writeCauses(
  sql: Queryable,
  { organisation, now, found, kept }: CauseWrite,
): Promise<void> {
  const at = isoText(now);
  const rows = found.map(({ id, kind, value, began_at, passing, others }) => ({
    ...{ id, kind, value, passing, began_at: isoText(began_at) },
    ...{ others: others.all, others_failing: others.failing },
  }));
  const written = await sql<{ id: string }[]>`
    insert into causes (id, organisation_id, kind, value, began_at, found_at, passing,
      others_failing, others)
    select c.id, ${organisation}, c.kind, c.value, c.began_at, ${at}::timestamptz, c.passing,
      c.others_failing, c.others
    from json_to_recordset(${jsonText(rows)}::text::json) as c (id uuid, kind text, value text,
      began_at timestamptz, passing int, others_failing int, others int)
    on conflict (organisation_id, kind, value) where ended_at is null do nothing
    returning id`;
  const own = new Set(written.map(({ id }) => id));
  const members = [...kept, ...found.filter(({ id }) => own.has(id))].flatMap(
    ({ id, members: incidents }) => incidents.map((incident) => ({ cause: id, incident })),
  );
  await sql`
    delete from cause_members n using incidents i
    where n.organisation_id = ${organisation} and i.id = n.incident_id and i.resolved_at is null
      and not exists (select 1 from json_to_recordset(${jsonText(members)}::text::json)
        as m (cause uuid, incident uuid) where m.incident = n.incident_id and m.cause = n.cause_id)`;
  await sql`
    insert into cause_members (incident_id, cause_id, organisation_id)
    select i.id, m.cause, ${organisation}
    from json_to_recordset(${jsonText(members)}::text::json) as m (cause uuid, incident uuid)
      join incidents i on i.id = m.incident and i.organisation_id = ${organisation}
    on conflict (incident_id) do nothing`;
  const ended = kept.filter(({ members: left }) => left.length === 0).map(({ id }) => id);
  await sql`
    update causes set ended_at = ${at}::timestamptz
    where organisation_id = ${organisation} and id = any(${ended}::uuid[]) and ended_at is null`;
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

function causeColumns(sql: Queryable) {
  return sql`c.key, c.id, c.kind, c.value, c.began_at, c.found_at, c.ended_at, c.passing,
    c.others_failing, c.others,
    (select l.name from places l where l.organisation_id = c.organisation_id
      and l.id::text = c.value) as place_name,
    (select count(*)::int from cause_members n where n.cause_id = c.id) as incidents,
    (select count(*)::int from cause_members n join incidents i on i.id = n.incident_id
      where n.cause_id = c.id and i.resolved_at is null) as open_incidents`;
}
