import type { Queryable } from './database.ts';
import { monitorPage, monitorVersions, type ShownMonitor } from './monitors.ts';

/**
 * Pages of monitors whose rows are kept in memory. A kept row counts only while the database says that its version is still the
 * newest, so what is shown is never old, whoever changed it; but most rows of most pages need not come over the wire and be read again.
 */
export type ShownMonitors = {
  readonly page: (sql: Queryable, organisation: string, after: number, most: number) => Promise<readonly ShownMonitor[]>;
};

const mostKept = 20_000;

export const createShownMonitors = (): ShownMonitors => {
  const kept = new Map<string, ShownMonitor>();

  const keep = (row: ShownMonitor): void => {
    // What was read longest ago is forgotten first.
    kept.delete(row.id);
    kept.set(row.id, row);
    if (kept.size <= mostKept) return;
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  };

  return {
    page: async (sql, organisation, after, most) => {
      const now = await monitorVersions(sql, organisation, after, most);
      const known = now.flatMap(({ id, version }) => {
        const row = kept.get(id);
        return row?.version === version ? [row] : [];
      });
      if (known.length === now.length) return known;
      // One statement for the whole page, because it must be of one moment.
      const rows = await monitorPage(sql, organisation, after, most);
      for (const row of rows) keep(row);
      return rows;
    },
  };
};
