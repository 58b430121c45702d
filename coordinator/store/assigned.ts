import type { Queryable } from './database.ts';

export type AssignedVersion = {
  readonly id: string;
  readonly config_version: number;
  readonly continents: readonly string[] | null;
  readonly probe: string | null;
};

/** Every monitor that somebody should be checking now, with its version and where from. In pages. */
export async function* assignedVersions(sql: Queryable): AsyncGenerator<AssignedVersion[]> {
  let last = 0;
  for (;;) {
    const page = await sql<(AssignedVersion & { key: number })[]>`
      select id, key, config_version, config -> 'continents' as continents, config ->> 'probe' as probe
      from monitors where paused_at is null and key > ${last} order by key limit 5000`;
    if (page.length === 0) return;
    yield page;
    last = page.at(-1)?.key ?? last;
  }
}

/** Changes of monitors that are not published yet. */
export const openMonitorLines = async (sql: Queryable): Promise<number> => {
  const [row] = await sql<{ open: number }[]>`select count(*) as open from outbox where topic = 'monitor' and done_at is null`;
  return row?.open ?? 0;
};
