import { z } from 'zod';
import { continents } from '../../shared/base/continents.ts';
import { type DescribedSides, describeSides, type SideSeen } from '../../shared/base/sides.ts';
import { isoText } from '../../shared/base/time.ts';
import type {
  EvidenceRow,
  Gap,
  Incident,
  LedgerRow,
  ObservingProbe,
  Outage,
  Progress,
} from '../core/types.ts';
import type { Queryable, Statement } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';
import { outcomeNumbers } from '../results/check.ts';

export type IncidentWrite = {
  readonly monitor: string;
  readonly opened: boolean;
  readonly incident: Incident;
};

export function writeIncidents(sql: Queryable, writes: readonly IncidentWrite[]): Statement[] {
  if (writes.length === 0) return [];
  // One statement may change a row only once. Each write is the whole row, so the last one counts.
  const last = new Map(writes.map((write) => [write.incident.id, write]));
  const opened = writes.filter((write) => write.opened).map((write) => write.monitor);
  const rows = [...last.values()].map(({ monitor, incident }) => ({
    id: incident.id,
    monitor_id: monitor,
    cause: incident.cause,
    started_at: isoText(incident.started_at),
    confirmed_at: isoText(incident.confirmed_at),
    resolved_at: isoText(incident.resolved_at),
    seen_probe: incident.seen?.name ?? null,
    seen_continent: incident.seen?.continent ?? null,
    seen_place: incident.seen?.place ?? null,
    confirmed_probe: incident.confirmed?.name ?? null,
    confirmed_continent: incident.confirmed?.continent ?? null,
    confirmed_place: incident.confirmed?.place ?? null,
    note: incident.note,
    scope: incident.scope,
    layer: incident.layer,
    progress: { progress: incident.progress, seen: incident.seen, confirmed: incident.confirmed },
  }));
  return putIncidents(sql, opened, jsonText(rows));
}

/**
 * Closed incidents first, so that there is never more than one open. Those of deleted monitors are
 * left out.
 */
function putIncidents(sql: Queryable, opened: readonly string[], rows: string): Statement[] {
  // Pages go by key, so keys must rise in the order of commit: the organisation's lock ensures
  // that.
  const lock = sql`select 1 from organisations
    where id in (select organisation_id from monitors where id = any(${opened}::uuid[]))
    order by id for no key update`;
  const put = sql`
    insert into incidents (id, organisation_id, monitor_id, cause, started_at, confirmed_at,
      resolved_at, seen_probe, seen_continent, seen_place,
      confirmed_probe, confirmed_continent, confirmed_place, note, scope, layer, progress)
    select i.id, m.organisation_id, m.id, i.cause, i.started_at, i.confirmed_at, i.resolved_at,
      i.seen_probe, i.seen_continent, i.seen_place,
      i.confirmed_probe, i.confirmed_continent, i.confirmed_place, i.note, i.scope, i.layer, i.progress
    from json_to_recordset(${rows}::text::json) as i (id uuid, monitor_id uuid, cause jsonb,
      started_at timestamptz,
      confirmed_at timestamptz, resolved_at timestamptz, seen_probe text, seen_continent text,
        seen_place uuid, confirmed_probe text,
      confirmed_continent text, confirmed_place uuid, note text, scope text, layer text, progress jsonb)
    join monitors m on m.id = i.monitor_id
    order by i.resolved_at is null, i.started_at
    on conflict (id) do update
    set cause = excluded.cause, started_at = excluded.started_at,
      confirmed_at = excluded.confirmed_at,
      resolved_at = excluded.resolved_at, seen_probe = excluded.seen_probe,
        seen_continent = excluded.seen_continent, seen_place = excluded.seen_place,
      confirmed_probe = excluded.confirmed_probe,
        confirmed_continent = excluded.confirmed_continent,
        confirmed_place = excluded.confirmed_place, note = excluded.note,
      scope = excluded.scope, layer = excluded.layer, progress = excluded.progress`;
  return opened.length > 0 ? [lock, put] : [put];
}

export type EvidenceWrite = { readonly incident: string; readonly row: EvidenceRow };

/**
 * Inserts or replaces evidence; the seeing and the confirming check have one row each. `opened`: the
 * incidents that have no evidence yet.
 */
export function writeEvidence(
  sql: Queryable,
  writes: readonly EvidenceWrite[],
  opened: ReadonlySet<string>,
): Statement[] {
  if (writes.length === 0) return [];
  // One statement may change a row only once, so the last write of a row counts.
  const last = new Map(
    writes.map((write) => [
      `${write.incident} ${write.row.part} ${write.row.part === 'matrix' ? keyOf(write.row) : ''}`,
      write,
    ]),
  );
  const rows = [...last.values()].map(({ incident, row }) => ({
    incident_id: incident,
    part: row.part,
    continent: keyOf(row),
    probe: row.probe,
    at: isoText(row.at),
    outcome: outcomeNumbers[row.outcome],
    took_ms: row.took_ms,
    cause: row.cause,
    phases: row.phases,
    evidence: row.evidence,
  }));
  const text = jsonText(rows);
  // Where another continent sees or confirms it than before.
  const moved = rows.flatMap(({ incident_id, part, continent }) =>
    part === 'matrix' || opened.has(incident_id) ? [] : [{ incident_id, part, continent }],
  );
  const drop = sql`
    delete from incident_evidence old
    using json_to_recordset(${jsonText(moved)}::text::json) as e (incident_id uuid, part text,
      continent text)
    where old.incident_id = e.incident_id and old.part = e.part and old.continent <> e.continent`;
  const put = sql`
    insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, cause,
      phases, evidence)
    select e.* from json_to_recordset(${text}::text::json) as e (incident_id uuid, part text,
      continent text, probe text, at timestamptz,
      outcome smallint, took_ms real, cause jsonb, phases jsonb, evidence jsonb)
    join incidents i on i.id = e.incident_id
    on conflict (incident_id, part, continent) do update
    set probe = excluded.probe, at = excluded.at, outcome = excluded.outcome,
      took_ms = excluded.took_ms, cause = excluded.cause, phases = excluded.phases,
        evidence = excluded.evidence`;
  return moved.length > 0 ? [drop, put] : [put];
}

/** Part of a key, so not null: the continent, and behind it the private place. */
function keyOf({ continent, place }: EvidenceRow): string {
  return place === undefined ? (continent ?? '') : `${continent}/${place}`;
}

export type LedgerWrite = {
  readonly monitor: string;
  readonly kind: 'paused' | 'unknown';
  readonly put: readonly LedgerRow[];
  readonly drop: readonly number[];
};

/**
 * Rows of the ledger by (monitor, kind, start). Drops first, then closed rows, then open ones,
 * because at most one may be open.
 */
export function writeLedger(sql: Queryable, writes: readonly LedgerWrite[]): Statement[] {
  // In order: a later write may put what an earlier one dropped, and the other way round.
  const put = new Map<string, object>();
  const drop = new Map<string, object>();
  for (const { monitor, kind, ...write } of writes) {
    for (const began of write.drop) {
      put.delete(`${monitor} ${kind} ${began}`);
      drop.set(`${monitor} ${kind} ${began}`, {
        monitor_id: monitor,
        kind,
        began_at: isoText(began),
      });
    }
    for (const row of write.put)
      put.set(`${monitor} ${kind} ${row.began_at}`, {
        monitor_id: monitor,
        kind,
        began_at: isoText(row.began_at),
        ended_at: isoText(row.ended_at),
        interval_s: Math.round(row.interval_ms / 1_000),
      });
  }
  const statements: Statement[] = [];
  if (drop.size > 0)
    statements.push(sql`delete from ledger l
      using json_to_recordset(${jsonText([...drop.values()])}::text::json) as d (monitor_id uuid,
        kind text, began_at timestamptz)
      where l.monitor_id = d.monitor_id and l.kind = d.kind and l.began_at = d.began_at`);
  if (put.size > 0)
    statements.push(sql`
      insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
      select p.* from json_to_recordset(${jsonText([...put.values()])}::text::json)
        as p (monitor_id uuid, kind text, began_at timestamptz, ended_at timestamptz,
          interval_s int)
      join monitors m on m.id = p.monitor_id
      order by p.ended_at is null, p.began_at
      on conflict (monitor_id, kind, began_at) do update
      set ended_at = excluded.ended_at, interval_s = excluded.interval_s`);
  return statements;
}

type OpenRow = {
  id: string;
  monitor_id: string;
  cause: Incident['cause'];
  started_at: number;
  confirmed_at: number | null;
  note: string | null;
  scope: Incident['scope'];
  layer: Incident['layer'];
  progress: unknown;
};

/** The open incidents of a partition's monitors, by monitor. */
export async function openIncidents(
  sql: Queryable,
  partition: number,
): Promise<Map<string, Incident>> {
  const rows = await sql<OpenRow[]>`
    select i.id, i.monitor_id, i.cause, i.started_at, i.confirmed_at, i.note, i.scope, i.layer,
      i.progress
    from incidents i join monitors m on m.id = i.monitor_id where i.resolved_at is null
      and m.partition = ${partition}`;
  return new Map(rows.map((row) => [row.monitor_id, incidentFrom(row)]));
}

const observingProbe: z.ZodType<ObservingProbe> = z.object({
  probe: z.string(),
  name: z.string(),
  continent: z.enum(continents),
  place: z.string().optional(),
});
const kept = z.object({
  progress: z.custom<Progress>((value) => typeof value === 'object' && value !== null),
  seen: observingProbe.nullable(),
  confirmed: observingProbe.nullable(),
});

/** The state machine's progress was written by this file and is not validated again. */
function incidentFrom({
  id,
  cause,
  started_at,
  confirmed_at,
  note,
  scope,
  layer,
  progress,
}: OpenRow): Incident {
  return {
    id,
    cause,
    note,
    scope,
    layer,
    ...kept.parse(progress),
    started_at,
    confirmed_at,
    resolved_at: null,
  };
}

export type KeptFailure = Pick<EvidenceRow, 'at' | 'took_ms' | 'cause' | 'phases' | 'evidence'> & {
  readonly part: 'seen' | 'confirmed';
};

/**
 * The failures that opened and confirmed the open incidents of a partition's monitors, by incident.
 */
export async function keptFailures(
  sql: Queryable,
  partition: number,
): Promise<ReadonlyMap<string, readonly KeptFailure[]>> {
  const rows = await sql<(KeptFailure & { incident_id: string })[]>`
    select e.incident_id, e.part, e.at, e.took_ms, e.cause, e.phases, e.evidence
    from incident_evidence e join incidents i on i.id = e.incident_id join monitors m
      on m.id = i.monitor_id
    where i.resolved_at is null and m.partition = ${partition} and m.type <> 'heartbeat'
      and e.part in ('seen', 'confirmed')`;
  return Map.groupBy(rows, ({ incident_id }) => incident_id);
}

type Wanted = { readonly after: number; readonly most: number };

/**
 * The newest incidents of each of a partition's heartbeats that ended after this time, limited in
 * number, the newest first, by monitor.
 */
export async function lastClosed(
  sql: Queryable,
  partition: number,
  { after, most: limit }: Wanted,
): Promise<Map<string, Incident[]>> {
  const rows = await sql<(OpenRow & { resolved_at: number })[]>`
    select i.id, i.monitor_id, i.cause, i.started_at, i.confirmed_at, i.resolved_at, i.note,
      i.scope, i.layer, i.progress
    from monitors m, lateral (
      select * from incidents where monitor_id = m.id and resolved_at > ${new Date(after)}
      order by resolved_at desc limit ${limit}) i
    where m.partition = ${partition} and m.type = 'heartbeat' order by i.resolved_at desc`;
  return Map.groupBy(
    rows.map((row) => ({
      monitor: row.monitor_id,
      incident: { ...incidentFrom(row), resolved_at: row.resolved_at },
    })),
    ({ monitor }) => monitor,
  )
    .entries()
    .reduce(
      (found, [monitor, ended]) =>
        found.set(
          monitor,
          ended.map(({ incident }) => incident),
        ),
      new Map<string, Incident[]>(),
    );
}

/**
 * Each monitor's last confirmed outage that ended after this time, without heartbeats, by monitor.
 */
export async function lastDowns(
  sql: Queryable,
  partition: number,
  after: number,
): Promise<Map<string, Outage>> {
  const rows = await sql<{ monitor_id: string; started_at: number; resolved_at: number }[]>`
    select i.monitor_id, i.started_at, i.resolved_at from monitors m, lateral (
      select monitor_id, started_at, resolved_at from incidents
      where monitor_id = m.id and confirmed_at is not null and resolved_at is not null
      order by started_at desc limit 1) i
    where m.partition = ${partition} and m.type <> 'heartbeat'
      and i.resolved_at > ${new Date(after)}`;
  return new Map(
    rows.map(({ monitor_id, started_at, resolved_at }) => [
      monitor_id,
      { from: started_at, to: resolved_at },
    ]),
  );
}

/**
 * Gaps of a partition's monitors that are open or ended after this time, oldest first, by monitor.
 */
export async function recentGaps(
  sql: Queryable,
  partition: number,
  after: number,
): Promise<Map<string, Gap[]>> {
  const rows = await sql<
    { monitor_id: string; began_at: number; ended_at: number | null; interval_s: number }[]
  >`
    select l.monitor_id, l.began_at, l.ended_at, l.interval_s from ledger l join monitors m
      on m.id = l.monitor_id
    where m.partition = ${partition} and l.kind = 'unknown'
      and (l.ended_at is null or l.ended_at > ${new Date(after)})
    order by l.began_at`;
  const found = new Map<string, Gap[]>();
  for (const { monitor_id, began_at, ended_at, interval_s } of rows) {
    const gap = {
      from: began_at,
      to: ended_at,
      interval_ms: interval_s * 1_000,
    };
    const before = found.get(monitor_id);
    if (before) before.push(gap);
    else found.set(monitor_id, [gap]);
  }
  return found;
}

/**
 * The continents that the scope was judged from; null where none are stored, or where private places
 * saw it, which stand there by their ids.
 */
export function continentsOf(sql: Queryable) {
  return sql`case when i.progress -> 'progress' ? 'asked'
    and (i.seen_place is null or not i.progress -> 'progress' -> 'failed' ? i.seen_place::text)
    then json_build_object(
    'failed', i.progress -> 'progress' -> 'failed', 'passed', i.progress -> 'progress' -> 'passed',
    'asked', i.progress -> 'progress' -> 'asked') end`;
}

/**
 * Who saw `incidents i`, from where and when, as pages show it (web/witnesses.ts): one check of each
 * place, the one that saw it before its recheck. `isPublic`: without private places.
 */
export function witnessesOf(sql: Queryable, { isPublic = false } = {}) {
  return sql`(select coalesce(json_agg(json_build_object('place', coalesce(l.name, w.continent),
      'outcome', (array['ok', 'fail', 'unknown'])[w.outcome + 1],
      'after_ms', round(extract(epoch from w.at - i.started_at) * 1000)) order by w.part, w.at), '[]')
    from (select distinct on (e.continent) split_part(e.continent, '/', 1) as continent,
        nullif(split_part(e.continent, '/', 2), '') as place, e.outcome, e.at,
        array_position(array['seen', 'confirmed', 'matrix'], e.part) as part
      from incident_evidence e where e.incident_id = i.id and i.layer is distinct from 'heartbeat'
        ${isPublic ? sql`and e.continent not like '%/%'` : sql``}
      order by e.continent, 5) w
    left join places l on l.id::text = w.place and l.organisation_id = i.organisation_id)`;
}

/** What each side of an incident saw, as the core counted it; null where one side checks. */
export type StoredSides = {
  readonly is_outside: boolean;
  readonly own: SideOfPlaces;
  readonly across: SideOfPlaces;
  /** Of the private places by id. */
  readonly names: Readonly<Record<string, string>> | null;
};

type SideOfPlaces = { readonly failed: readonly string[]; readonly passed: readonly string[] };

/** Of `incidents i`. */
export function sidesOf(sql: Queryable) {
  return sql`
  case when i.progress -> 'progress' ? 'across' then json_build_object(
    'is_outside', i.seen_place is null,
    'own', json_build_object('failed', i.progress -> 'progress' -> 'failed',
      'passed', i.progress -> 'progress' -> 'passed'),
    'across', i.progress -> 'progress' -> 'across',
    'names', (select json_object_agg(l.id, l.name) from places l
      where l.organisation_id = i.organisation_id)) end`;
}

/** Two continents make an outage of a side that the incident is not of. */
const enough = 2;

export function sidesFrom(stored: StoredSides | null, isConfirmed: boolean): DescribedSides | null {
  if (stored === null) return null;
  const { is_outside, own, across, names } = stored;
  const [mine, other] = [seenBy(own, names), seenBy(across, names)];
  return is_outside
    ? describeSides({ outside: mine, inside: other }, isConfirmed)
    : describeSides({ outside: other, inside: mine }, other.failing.length >= enough);
}

/** What failed once counts as failing, as for the scope (rule 15). */
function seenBy({ failed, passed }: SideOfPlaces, names: StoredSides['names']): SideSeen {
  const called = (place: string): string => names?.[place] ?? place;
  return {
    failing: failed.map(called),
    passing: passed.filter((place) => !failed.includes(place)).map(called),
  };
}
