import type { Queryable } from '../database/connect.ts';
import type { Results } from '../results/reading.ts';
import {
  type MonitorList,
  type MonitorWithStatus,
  monitorStatusPage,
  observedPage,
  withBeats,
} from './status-queries.ts';

/**
 * Pages of monitors whose rows are cached in memory. A cached row counts only while the database
 * says that its version is the newest, so that pages are never stale, whoever made the change; but
 * most rows of most pages need not be read again.
 */
export type RememberedMonitors = {
  readonly page: (sql: Queryable, list: MonitorList) => Promise<readonly MonitorWithStatus[]>;
};

const maxKept = 20_000;

export function createRememberedMonitors(results: Results): RememberedMonitors {
  const kept = new Map<string, MonitorWithStatus>();

  const keep = (row: MonitorWithStatus): void => {
    // The row that was read longest ago is evicted first.
    kept.delete(row.id);
    kept.set(row.id, row);
    if (kept.size <= maxKept) return;
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  };

  return {
    page: async (sql, list) => {
      const now = await observedPage(sql, results, list);
      const known = now.flatMap((seen) => {
        const row = kept.get(seen.id);
        return row?.version === seen.version ? [{ ...row, ...seen }] : [];
      });
      if (known.length === now.length) return withBeats(sql, list.organisation, known);
      // One statement for the whole page, because all of it must be of one moment.
      const rows = await monitorStatusPage(sql, results, list);
      for (const row of rows) keep(row);
      return rows;
    },
  };
}
