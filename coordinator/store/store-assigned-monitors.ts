import type { Queryable } from './store-database.ts';
import { inPages } from './store-rows-in-pages.ts';

export type AssignedRow = {
  readonly id: string;
  readonly key: number;
  readonly config_version: number;
  readonly interval_s: number;
  readonly continents: readonly unknown[] | null;
  readonly probe: string | null;
  readonly has_secrets: boolean;
};

/** Every monitor that somebody should be checking now, with what its assignment is told by. In pages. */
export const assignedRows = (sql: Queryable): AsyncGenerator<AssignedRow[]> =>
  inPages(
    0,
    ({ key }) => key,
    (after) => sql<AssignedRow[]>`
      select id, key, config_version, interval_s, config -> 'continents' as continents, config ->> 'probe' as probe,
        secrets is not null as has_secrets
      from monitors where paused_at is null and key > ${after} order by key limit 1000`,
  );

/** Changes of monitors that are not published yet. */
export const openMonitorLines = async (sql: Queryable): Promise<number> => {
  const [row] = await sql<{ open: number }[]>`select count(*) as open from outbox where topic = 'monitor' and done_at is null`;
  return row?.open ?? 0;
};
