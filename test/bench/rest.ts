import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import manifest from '../../package.json' with { type: 'json' };
import { eventually } from '../support/eventually.ts';
import type { Bench, Figure } from './figure.ts';
import { cpuOf } from './processes.ts';

/**
 * What the whole service takes that `npm start` runs: memory, CPU and wake-ups of each process with
 * nothing to check, and CPU a check with 100 monitors a minute.
 */

const settleMs = 60_000;
const monitors = 100;
const most = { mb: 300, corePercent: 2, wakes: 60, msACheck: 10, coordinatorMb: 130, probeMb: 80 };

type Used = { readonly cpuMs: number; readonly wakes: number };
type Row = {
  readonly name: string;
  readonly mb: number;
  readonly percent: number;
  readonly wakes: number;
};

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

/** What every process of the launcher takes over so long, those of one kind together. */
async function watch(launcher: number, windowMs: number): Promise<readonly Row[]> {
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

function sumOf(name: string, rows: readonly Row[]): Row {
  const sum = (of: (row: Row) => number): number => rows.reduce((all, row) => all + of(row), 0);
  return {
    name,
    mb: sum(({ mb }) => mb),
    percent: sum(({ percent }) => percent),
    wakes: sum(({ wakes }) => wakes),
  };
}

const localShape = z.object({ base_url: z.string(), api_token: z.string() });
type Service = {
  readonly launcher: ChildProcess & { readonly pid: number };
  readonly local: z.infer<typeof localShape>;
};

/** By the line that npm runs, without npm. */
async function startService(home: string): Promise<Service> {
  const launcher = spawn('sh', ['-c', manifest.scripts.start], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, ANTIPODE_HOME: home, PORT: '0' },
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

async function endService({ launcher }: Service): Promise<void> {
  const ended = once(launcher, 'exit');
  launcher.kill('SIGTERM');
  await ended;
}

/** So many monitors of a minute on a target of ours; how many checks it has answered. */
async function monitorOneTarget({ local }: Service) {
  let checks = 0;
  const target = createServer((_request, response) => {
    checks += 1;
    response.end('up');
  });
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  const address = target.address();
  if (address === null || typeof address === 'string') throw new Error('the target has no port');
  for (let nth = 1; nth <= monitors; nth += 1) {
    const answer = await fetch(`${local.base_url}/api/v1/monitors`, {
      method: 'POST',
      headers: { authorization: `Bearer ${local.api_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: `Monitor ${nth}`,
        type: 'https',
        target: `http://127.0.0.1:${address.port}/${nth}`,
        interval_s: 60,
      }),
    });
    if (!answer.ok) throw new Error(`no monitor was made: ${await answer.text()}`);
  }
  return { made: () => checks, end: () => target.close() };
}

function figureOf(
  { name, mb, percent, wakes }: Row,
  goal = '–',
  holds: boolean | null = null,
): Figure {
  return {
    what: `at rest: ${name}`,
    ours: `${mb.toFixed(0)} MB, ${percent.toFixed(2)} % of a core, ${wakes.toFixed(0)} wake-ups a second`,
    against: '–',
    ratio: null,
    goal,
    holds,
  };
}

function figureOfPart(row: Row): Figure {
  const mostMb = { coordinator: most.coordinatorMb, probes: 3 * most.probeMb }[row.name];
  return mostMb === undefined ? figureOf(row) : figureOf(row, `≤ ${mostMb} MB`, row.mb <= mostMb);
}

export const rest: Bench = {
  name: 'rest',
  about: `what npm start takes without a monitor, by process, and CPU a check with ${monitors} monitors a minute`,
  run: async (say, { windowMs = 60_000 } = {}) => {
    const home = await mkdtemp(join(tmpdir(), 'antipode-bench-rest-'));
    // Postgres of root runs as another user below it.
    await chmod(home, 0o711);
    const ends: (() => unknown)[] = [() => rm(home, { recursive: true, force: true })];
    try {
      say('starting');
      // What a start compiles and strips it keeps; most starts find it.
      await endService(await startService(home));
      const service = await startService(home);
      ends.push(() => endService(service));
      say('until it is settled');
      await pause(settleMs);
      say('without a monitor');
      const parts = await watch(service.launcher.pid, windowMs);
      const all = sumOf('all', parts);
      say(`${monitors} monitors`);
      const target = await monitorOneTarget(service);
      ends.push(target.end);
      await pause(settleMs);
      const before = target.made();
      const busy = sumOf('all', await watch(service.launcher.pid, 2 * windowMs));
      const checks = target.made() - before;
      const each = (busy.percent * 10 * 2 * windowMs) / 1_000 / checks;
      const isSmall =
        all.mb <= most.mb && all.percent <= most.corePercent && all.wakes <= most.wakes;
      return [
        ...parts.map(figureOfPart),
        figureOf(all, `≤ ${most.mb} MB, ≤ ${most.corePercent} %, ≤ ${most.wakes}`, isSmall),
        {
          what: `CPU a check, ${monitors} monitors a minute (${checks} checks)`,
          ours: `${each.toFixed(1)} ms, ${busy.mb.toFixed(0)} MB`,
          against: '–',
          ratio: null,
          goal: `≤ ${most.msACheck} ms`,
          holds: each <= most.msACheck,
        },
      ];
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};
