import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../../shared/base/errors.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { holdAlone } from '../database/sql.ts';
import { placeOf } from '../probes/places.ts';
import { checksIn, chunksOfDay, dateOf, dayMs, settledMs } from './days.ts';
import { createParquet, type NamedCheck } from './parquet.ts';

/**
 * Every check of a day as Parquet, for those who want them longer than the service keeps them. A
 * day is archived once rows are made of it (`days.ts`), and again when one of them changes.
 */

export type ArchiveDependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Called after every day. */
  readonly progress: (day: string, checks: number) => void;
  /** For people: what could not be read. */
  readonly warn: (line: string) => void;
};

export type Archived = {
  readonly written: readonly string[];
  /** They have not changed since they were written. */
  readonly unchanged: readonly string[];
  /** Rows are being made of them; a later run writes them. */
  readonly unsettled: readonly string[];
};

/**
 * Writes days into a folder, each as a folder `day=2026-11-20` of its own: it is there whole, or
 * not at all. Undefined while another process does so.
 */
export const archiveDays = (
  folder: string,
  dependencies: ArchiveDependencies,
): Promise<Archived | undefined> =>
  holdAlone(dependencies.sql, 'archive', async () => {
    const { sql, clock, progress } = dependencies;
    await mkdir(folder, { recursive: true });
    const done = { written: [] as string[], unchanged: [] as string[], unsettled: [] as string[] };
    for (const { day, changed_at, is_settled } of await archivableDays(sql, clock.now())) {
      const name = dateOf(day);
      const last = await manifestOf(join(folder, `day=${name}`));
      if (last !== undefined && Date.parse(last.changed_at) >= changed_at) {
        done.unchanged.push(name);
      } else if (!is_settled) {
        done.unsettled.push(name);
      } else {
        progress(name, await archiveDay(folder, day, changed_at, dependencies));
        done.written.push(name);
      }
    }
    return done;
  });

const manifestName = 'archive.json';
const manifestShape = z.object({ changed_at: z.string(), checks: z.number() });

async function manifestOf(folder: string): Promise<z.infer<typeof manifestShape> | undefined> {
  const path = join(folder, manifestName);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return manifestShape.parse(JSON.parse(text));
  } catch {
    throw new Error(
      `${path} is not what an archive writes; move its folder away, and run it again`,
    );
  }
}

/** A folder of a day takes the place of the one before it; a run that was killed leaves `.…` only. */
async function archiveDay(
  folder: string,
  day: number,
  changed_at: number,
  { sql, warn }: ArchiveDependencies,
): Promise<number> {
  const name = `day=${dateOf(day)}`;
  const [partial, former] = [join(folder, `.${name}.partial`), join(folder, `.${name}.former`)];
  await rm(partial, { recursive: true, force: true });
  await rm(former, { recursive: true, force: true });
  await mkdir(partial);
  const files = createFiles(partial);
  for await (const checks of checksOfDay(sql, day, null, warn)) await files.add(checks);
  const checks = await files.end();
  if (!(await isKept(sql, day)))
    throw new Error(`the day ${dateOf(day)} was deleted while it was archived; it is left out`);
  const manifest = { changed_at: new Date(changed_at).toISOString(), checks };
  await writeFile(join(partial, manifestName), `${JSON.stringify(manifest)}\n`, { flush: true });
  await rename(join(folder, name), former).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  await rename(partial, join(folder, name));
  await rm(former, { recursive: true, force: true });
  return checks;
}

/** About 50 MB. */
const maxChecksOfFile = 5_000_000;

function createFiles(folder: string) {
  let file:
    | { readonly stream: WriteStream; readonly table: ReturnType<typeof createParquet> }
    | undefined;
  let [nth, inFile, all] = [0, 0, 0];
  const close = async (): Promise<void> => {
    if (!file) return;
    file.stream.end(file.table.end());
    await once(file.stream, 'close');
    file = undefined;
    inFile = 0;
  };
  return {
    add: async (checks: readonly NamedCheck[]): Promise<void> => {
      if (inFile >= maxChecksOfFile) await close();
      if (!file) {
        nth += 1;
        const path = join(folder, `checks-${String(nth).padStart(5, '0')}.parquet`);
        file = { stream: createWriteStream(path, { flush: true }), table: createParquet() };
      }
      if (!file.stream.write(file.table.add(checks))) await once(file.stream, 'drain');
      inFile += checks.length;
      all += checks.length;
    },
    end: async (): Promise<number> => {
      await close();
      return all;
    },
  };
}

type KeptDay = {
  readonly day: number;
  /** Each row of it is made, and none is to be made again. */
  readonly is_settled: boolean;
};
type ArchivableDay = KeptDay & {
  /** When the newest of its rows last changed. */
  readonly changed_at: number;
};

/** No chunk is kept longer. */
const maxKeptMs = 400 * dayMs;

/** Days that are over and have chunks. */
const keptDays = (sql: Queryable, now: number) => sql`
  kept as materialized (
    select day::date as day
    from generate_series(${dateOf(now - maxKeptMs)}::date, ${dateOf(now - settledMs)}::date - 1,
      '1 day') as day
    where exists (select 1 from chunks c where c.at >= day::timestamp at time zone 'UTC'
      and c.at < (day::timestamp + interval '1 day') at time zone 'UTC'))`;

/** Those of which rows were made, the oldest first. */
async function archivableDays(sql: Queryable, now: number): Promise<ArchivableDay[]> {
  const rows = await sql<{ day: Date; changed_at: Date; is_settled: boolean }[]>`
    with ${keptDays(sql, now)}
    select k.day, r.changed_at,
      not exists (select 1 from stale_days s where s.day = k.day) as is_settled
    from kept k
      cross join lateral (select max(made_at) as changed_at from daily_rollups where day = k.day) r
    where r.changed_at is not null order by k.day`;
  return rows.map(({ day, changed_at, is_settled }) => ({
    day: day.getTime(),
    changed_at: changed_at.getTime(),
    is_settled,
  }));
}

/** Those of one organisation, which checks of another never leave unsettled, the oldest first. */
export async function daysOfOrganisation(
  sql: Queryable,
  now: number,
  organisation: string,
): Promise<KeptDay[]> {
  const rows = await sql<{ day: Date; is_settled: boolean }[]>`
    with ${keptDays(sql, now)}, unsettled as materialized (
      select distinct s.day from stale_days s join ${everyMonitor(sql)} on m.key = s.monitor_key
      where m.organisation_id = ${organisation})
    select day, day not in (select day from unsettled) as is_settled from kept order by day`;
  return rows.map(({ day, is_settled }) => ({ day: day.getTime(), is_settled }));
}

/** Whether the chunks of a day are still there. */
export const isKept = async (sql: Queryable, day: number): Promise<boolean> =>
  (
    await sql`select 1 from chunks where at >= ${new Date(day)} and at < ${new Date(day + dayMs)}
    limit 1`
  ).length > 0;

type MonitorRow = Pick<
  NamedCheck,
  'organisation_id' | 'organisation' | 'monitor_id' | 'monitor'
> & {
  readonly key: number;
};
type Probe = Pick<NamedCheck, 'continent' | 'place'>;

/** How many monitors are read at once: some 70,000 checks of a minute. */
const atOnce = 50;

/**
 * The checks of a day with their names, in order of monitor and time, in pieces; those of one
 * organisation, or of all. Deleted monitors are in it until they leave the trash.
 */
export async function* checksOfDay(
  sql: Queryable,
  day: number,
  organisation: string | null,
  warn: (line: string) => void,
): AsyncGenerator<readonly NamedCheck[]> {
  const probes = await probesByKey(sql, organisation);
  for (let after = 0; ; ) {
    const monitors = await nextMonitors(sql, organisation, after);
    const last = monitors.at(-1);
    if (last === undefined) return;
    after = last.key;
    const chunks = Map.groupBy(
      await chunksOfDay(
        sql,
        day,
        monitors.map(({ key }) => key),
      ),
      ({ monitor_key }) => monitor_key,
    );
    const checks = monitors.flatMap(({ key, ...names }) =>
      checksIn(chunks.get(key) ?? [], (at, fault) =>
        warn(
          `a chunk of monitor ${names.monitor_id} at ${at} is damaged (${fault}): what is readable of it is written`,
        ),
      ).flatMap((check) => {
        const probe = probes.get(check.probe);
        return probe === undefined ? [] : [{ ...check, ...names, ...probe }];
      }),
    );
    if (checks.length > 0) yield checks;
  }
}

/** Conditions on it stand outside: the planner then reads a piece of it by index. */
const everyMonitor = (sql: Queryable) => sql`(
  select key, id, name, organisation_id from monitors
  union all select monitor_key, monitor_id, name, organisation_id from deleted_monitors) m`;

/** Also those that have no row of a day yet. */
const nextMonitors = (
  sql: Queryable,
  organisation: string | null,
  after: number,
): Promise<MonitorRow[]> => sql<MonitorRow[]>`
  select m.key, m.id as monitor_id, m.name as monitor, o.id as organisation_id,
    o.name as organisation
  from (
    select * from ${everyMonitor(sql)} where key > ${after}
      and ${organisation === null ? sql`true` : sql`organisation_id = ${organisation}`}
    order by key limit ${atOnce}) m
    join organisations o on o.id = m.organisation_id
  order by m.key`;

async function probesByKey(
  sql: Queryable,
  organisation: string | null,
): Promise<ReadonlyMap<number, Probe>> {
  const rows = await sql<(Probe & { readonly key: number })[]>`
    select p.key, p.continent,
      case when ${placeOf(sql)} is not null then coalesce(l.name, p.name) end as place
    from probes p left join places l on l.id = p.place_id and l.organisation_id = p.organisation_id
    where ${organisation === null ? sql`true` : sql`(p.organisation_id is null or p.organisation_id = ${organisation})`}`;
  return new Map(rows.map(({ key, ...probe }) => [key, probe]));
}
