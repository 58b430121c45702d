import type { Status } from '../domain/monitor-status.ts';
import type { Queryable } from './store-database.ts';

export type MonitorFigure = {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly status: Status;
  /** Of the newest check, if that passed; null for heartbeats, and where none was seen of late. */
  readonly response_ms: number | null;
  /** Of all monitors. */
  readonly count: number;
};

/** No check is rarer than once a day; and few parts of the table are read. */
const ofLate = 48 * 3_600_000;

/** The oldest monitors of an organisation first, with how they are now. */
export const monitorFigures = (sql: Queryable, organisation: string, most: number, now: number): Promise<readonly MonitorFigure[]> => sql<
  MonitorFigure[]
>`
  select m.id, m.name, m.type, s.status, case when newest.outcome = 0 then newest.took_ms end as response_ms, s.count
  from (select *, count(*) over ()::int as count from monitor_status where organisation_id = ${organisation} order by monitor_key limit ${most}) s
  join monitors m on m.id = s.monitor_id
  left join lateral (
    select outcome, took_ms from results where monitor_key = s.monitor_key and m.type <> 'heartbeat' and at > ${new Date(now - ofLate)} and outcome < 2
    order by at desc limit 1) newest on true
  order by s.monitor_key`;
