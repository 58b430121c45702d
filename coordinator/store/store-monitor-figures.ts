import type { Status } from '../domain/monitor-status.ts';
import type { Queryable } from './store-database.ts';

export type MonitorFigure = {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly status: Status;
  readonly response_ms: number | null;
  /** Of all monitors. */
  readonly count: number;
};

/** The oldest monitors of an organisation first, with how they are now. */
export const monitorFigures = (sql: Queryable, organisation: string, most: number): Promise<readonly MonitorFigure[]> => sql<
  MonitorFigure[]
>`
  select m.id, m.name, m.type, s.status, s.response_ms, count(*) over ()::int as count
  from monitor_status s join monitors m on m.id = s.monitor_id
  where s.organisation_id = ${organisation} order by s.monitor_key limit ${most}`;
