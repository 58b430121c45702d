import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import manifest from '../../../package.json' with { type: 'json' };
import { eventually } from '../../support/eventually.ts';
import { cpuOf } from '../processes.ts';
import type { MemoryGroup } from './memory-group.ts';

/** The whole service by the line of `npm start`, and what its processes take. */

type Used = { readonly cpuMs: number; readonly wakes: number };
export type Row = {
  readonly name: string;
  readonly mb: number;
  readonly percent: number;
  readonly wakes: number;
};

/** What every process of the launcher takes over so long, those of one kind together. */
export async function watch(launcher: number, windowMs: number): Promise<readonly Row[]> {
  const before = new Map([...family(launcher).keys()].map((pid) => [pid, usedBy(pid)]));
  const began = performance.now();
  await pause(windowMs);
  const seconds = (performance.now() - began) / 1_000;
  const rows = [...family(launcher)].map(([pid, name]): Row => {
    const [then, now] = [before.get(pid) ?? { cpuMs: 0, wakes: 0 }, usedBy(pid)];
    return {
      name,
      mb: proportionalMb(pid),
      percent: (now.cpuMs - then.cpuMs) / 10 / seconds,
      wakes: (now.wakes - then.wakes) / seconds,
    };
  });
  return [...Map.groupBy(rows, ({ name }) => name)].map(([name, its]) => sumOf(name, its));
}

export function sumOf(name: string, rows: readonly Row[]): Row {
  const sum = (of: (row: Row) => number): number => rows.reduce((all, row) => all + of(row), 0);
  return {
    name,
    mb: sum(({ mb }) => mb),
    percent: sum(({ percent }) => percent),
    wakes: sum(({ wakes }) => wakes),
  };
}

const localShape = z.object({ base_url: z.string(), api_token: z.string() });
export type Service = {
  readonly launcher: ChildProcess & { readonly pid: number };
  readonly local: z.infer<typeof localShape>;
};

/** By the line that npm runs, without npm. */
export async function startService(
  home: string,
  environment: Readonly<Record<string, string>> = {},
  group?: MemoryGroup,
): Promise<Service> {
  const line = group ? `${group.join} && ${manifest.scripts.start}` : manifest.scripts.start;
  const launcher = spawn('sh', ['-c', line], {
    cwd: join(import.meta.dirname, '../../..'),
    env: { ...process.env, ANTIPODE_HOME: home, PORT: '0', ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { pid } = launcher;
  if (pid === undefined) throw new Error('the launcher did not start');
  const local = await eventually(
    async () => localShape.parse(JSON.parse(await readFile(join(home, 'local.json'), 'utf8'))),
    120_000,
    250,
  );
  return { launcher: Object.assign(launcher, { pid }), local };
}

export async function endService({ launcher }: Service): Promise<void> {
  const ended = once(launcher, 'exit');
  launcher.kill('SIGTERM');
  await ended;
}

/** Postgres of root runs as another user below it. */
export async function createHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'antipode-bench-'));
  await chmod(home, 0o711);
  return home;
}

/** Below an address, so many monitors that differ by their path. */
export async function addMonitors(
  { local }: Service,
  {
    url,
    count,
    interval_s,
  }: { readonly url: string; readonly count: number; readonly interval_s: number },
): Promise<void> {
  const items = Array.from({ length: count }, (_, nth) => ({
    external_id: `m${nth}`,
    name: `Monitor ${nth}`,
    type: 'https',
    target: `${url}/${nth}`,
    interval_s,
  }));
  const answer = await fetch(`${local.base_url}/api/v1/monitors/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${local.api_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ items }),
  });
  if (!answer.ok) throw new Error(`no monitor was made: ${await answer.text()}`);
}

/** Each process below the launcher, and what it is called. */
function family(launcher: number): ReadonlyMap<number, string> {
  const parents = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? ofProcess(pid, 'stat') : undefined;
    if (stat === undefined) continue;
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    parents.set(parent, [...(parents.get(parent) ?? []), pid]);
  }
  const found = new Map<number, string>();
  const add = (pid: number): void => {
    const command = ofProcess(pid, 'cmdline')?.replaceAll('\0', ' ') ?? '';
    found.set(pid, kindOf(command));
    for (const child of parents.get(pid) ?? []) add(child);
  };
  add(launcher);
  return found;
}

function kindOf(command: string): string {
  if (command.includes('coordinator/main')) return 'coordinator';
  if (command.includes('probe')) return 'probes';
  if (command.includes('postgres')) return 'postgres';
  if (command.includes('nats-server')) return 'nats';
  if (command.includes('gatus')) return 'gatus';
  return command.includes('start.ts') ? 'launcher' : 'others';
}

/** One that has ended meanwhile has no files. */
function ofProcess(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** The switches of its threads to and from a core are its wake-ups. */
function usedBy(pid: number): Used {
  const threads = readdirSync(`/proc/${pid}/task`).map(
    (thread) => ofProcess(pid, `task/${thread}/status`) ?? '',
  );
  const wakes = threads.map((text) =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1] ?? 0),
  );
  return { cpuMs: cpuOf(pid), wakes: wakes.reduce((sum, each) => sum + each, 0) };
}

function proportionalMb(pid: number): number {
  const found = /^Pss:\s+(\d+) kB/m.exec(ofProcess(pid, 'smaps_rollup') ?? '');
  return Number(found?.[1] ?? 0) / 1_024;
}
