import type { Interval } from '../../shared/base/time.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { MonitorHistory } from '../domain/monitor-history.ts';
import type { Queryable } from './store-database.ts';
import { type CoverRow, causedCoverFrom, coverColumns, coverFrom, ms } from './store-maintenance-cover.ts';

type Stretch = readonly [from: number, to: number | null];

type Row = CoverRow & {
  readonly id: string;
  readonly type: Kind;
  readonly interval_s: number;
  readonly config: Config;
  readonly created_at: Date;
  readonly paused_at: Date | null;
  readonly ledger: readonly (readonly [kind: 'paused' | 'unknown', ...Stretch])[];
  /** Resolved ones were confirmed, or are not here; when, is asked of an open one only. */
  readonly incidents: readonly (readonly [...Stretch, confirmed_at: number | null, id: string])[];
  readonly last_result_at: number | null;
  readonly last_covering_at: number | null;
  readonly last_beat_at: number | null;
  readonly last_resolved_at: number | null;
  readonly last_gap_ended_at: number | null;
  readonly resumed_at: number | null;
  readonly begins_anew_at: number | null;
};

const lasting = (stretches: readonly Stretch[], now: number): Interval[] => stretches.map(([from, to]) => ({ from, to: to ?? now }));

const historyFrom = (row: Row, now: number): MonitorHistory => {
  const { id, type, interval_s, config, last_result_at, last_covering_at, last_beat_at, last_resolved_at, last_gap_ended_at, resumed_at } =
    row;
  const of = (wanted: 'paused' | 'unknown'): Stretch[] => row.ledger.flatMap(([kind, from, to]) => (kind === wanted ? [[from, to]] : []));
  const paused_at = row.paused_at?.getTime() ?? null;
  const [unknown, open] = [of('unknown'), row.incidents.find(([, to]) => to === null)];
  return {
    ...{
      id,
      kind: type,
      interval_s,
      config,
      last_result_at,
      last_covering_at,
      last_beat_at,
      last_resolved_at,
      last_gap_ended_at,
      resumed_at,
    },
    created_at: row.created_at.getTime(),
    paused_at,
    // The row of the monitor knows of a pause before the ledger does.
    paused: lasting(paused_at === null ? of('paused') : [...of('paused'), [paused_at, null]], now),
    cover: coverFrom(row),
    causedCover: causedCoverFrom(row),
    begins_anew_at: row.begins_anew_at,
    down: row.incidents.flatMap(([from, to, confirmed_at, incident]) =>
      to === null && confirmed_at === null ? [] : [{ from, to: to ?? now, incident }],
    ),
    unknown: lasting(unknown, now),
    incident: open ? { started_at: open[0], confirmed_at: open[2] } : null,
    gap_since: unknown.find(([, to]) => to === null)?.[0] ?? null,
  };
};

/**
 * Of one it is asked by itself: of an array the database expects ten, so that it takes a plan for every call to be cheaper than one for all,
 * and making it takes three times as long as the call.
 */
const among = (sql: Queryable, monitors: readonly string[]) => {
  const [one] = monitors;
  return one !== undefined && monitors.length === 1 ? sql`w.id = ${one}` : sql`w.id = any(${[...monitors]}::uuid[])`;
};

/**
 * The histories of some monitors of an organisation since `from`, in one statement and so of one moment. Raw results are asked for
 * their newest only; they reach back as long as they are kept.
 */
export const monitorHistories = async (
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
  { from, to: now }: Interval,
): Promise<readonly MonitorHistory[]> => {
  const since = new Date(from);
  const rows = await sql<Row[]>`
    select w.id, w.type, w.interval_s, w.config, w.created_at, w.paused_at,
      (select coalesce(json_agg(json_build_array(l.kind, ${ms(sql, 'l.began_at')}, ${ms(sql, 'l.ended_at')})), '[]') from ledger l
        where l.monitor_id = w.id and (l.ended_at is null or l.ended_at > ${since})) as ledger,
      (select coalesce(json_agg(json_build_array(${ms(sql, 'i.started_at')}, ${ms(sql, 'i.resolved_at')},
          case when i.resolved_at is null then ${ms(sql, 'i.confirmed_at')} end, i.id)), '[]')
        from incidents i where i.monitor_id = w.id and (i.resolved_at is null or (i.resolved_at > ${since} and i.confirmed_at is not null)))
        as incidents,
      ${coverColumns(sql, since, new Date(now))},
      (select ${ms(sql, 'r.at')} from results r where r.monitor_key = w.key and r.outcome < 2 order by r.at desc limit 1) as last_result_at,
      (select ${ms(sql, 'r.at')} from results r where r.monitor_key = w.key and (r.outcome = 1 or (r.outcome = 0 and w.type <> 'heartbeat'))
        order by r.at desc limit 1) as last_covering_at,
      (select ${ms(sql, 'max(b.at)')} from beats b where b.monitor_id = w.id and b.kind in ('success', 'fail')) as last_beat_at,
      (select ${ms(sql, 'max(i.resolved_at)')} from incidents i where i.monitor_id = w.id) as last_resolved_at,
      (select ${ms(sql, 'max(l.ended_at)')} from ledger l where l.monitor_id = w.id and l.kind = 'unknown') as last_gap_ended_at,
      (select ${ms(sql, 'max(l.ended_at)')} from ledger l where l.monitor_id = w.id and l.kind = 'paused') as resumed_at,
      (select ${ms(sql, 'min(o.created_at)')} from outbox o where o.done_at is null and o.topic = 'monitor' and o.partition = w.partition
        and o.payload->>'monitor' = w.id::text and (o.payload->>'change' = 'resumed' or o.payload->>'what_is_checked_changed' = 'true'))
        as begins_anew_at
    from monitors w where w.organisation_id = ${organisation} and ${among(sql, monitors)}`;
  return rows.map((row) => historyFrom(row, now));
};
