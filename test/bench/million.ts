import { freePort } from '../../deploy/local/home.ts';
import { eventually, passed } from '../support/eventually.ts';
import type { Bench, Figure } from './figure.ts';
import { copyRate } from './ingest.ts';
import { type Fed, feed } from './million/feed.ts';
import { pageTimes } from './million/pages.ts';
import { cores, find } from './processes.ts';
import { type ByPart, type Rig, startRig } from './scale/rig.ts';

/**
 * A million monitors in a real Postgres and nats-server, one coordinator and three probes on this
 * machine, against the same with 1,000. About 250 checks a second are real; a feeder adds results
 * as fast as they are taken. `MONITORS=10000` tries another size.
 */

const size = Number(process.env.MONITORS ?? 1_000_000);
const base = 1_000;
const realPerSecond = 250;
/** For each monitor; null where it is told, and no limit is set. */
const mostBytes = { coordinator: 1_600, probe: null, bus: null, database: null } as const;
/** Monitors whose target breaks; they are checked every 10 s whatever the others do. */
const canaries = 40;
const usualWindowMs = 20_000;

type Seen = {
  readonly count: number;
  readonly started: { readonly loaded: number; readonly first: number; readonly all: number };
  /** Of assignments, in the stream. */
  readonly messages: number;
  readonly memory: Omit<ByPart, 'probes'> & { readonly probe: number };
  /** CPU of all processes for a real check, in milliseconds. */
  readonly check: number;
  readonly fed: Fed;
  readonly copy: number;
  readonly pages: ReadonlyMap<string, number>;
  readonly found: { readonly p50: number; readonly p95: number };
};

const measure = async (
  count: number,
  windowMs: number,
  say: (progress: string) => void,
): Promise<Seen> => {
  const metrics = await freePort();
  const rig = await startRig(
    [
      { count, interval_s: Math.min(3_600, Math.max(10, count / realPerSecond)), target: 'well' },
      { count: canaries, interval_s: 10, target: 'breakable' },
    ],
    ['Asia', 'Europe', 'North America'],
    say,
    900_000,
    { METRICS_PORT: String(metrics) },
    // Three probes are other machines: beside the coordinator they would take its core from it.
    cores.load,
  );
  const began = performance.now();
  try {
    const committed = () => committedOf(`http://127.0.0.1:${metrics}/metrics`);
    await eventually(async () => (await committed()) > 0, 60_000, 20);
    const { loaded, assigned } = rig.took;
    const first = assigned + performance.now() - began;
    const messages = await rig.messages();
    say('CPU of a check');
    await passed(windowMs / 2);
    const before = { cpu: sum(await rig.cpu()), checks: await committed() };
    await passed(windowMs);
    const checks = (await committed()) - before.checks;
    const check = (sum(await rig.cpu()) - before.cpu) / checks;
    const { probes, ...memory } = await rig.memory();
    say('as many results as it takes');
    const fed = await feed(rig);
    const program = find('psql');
    const url = rig.network.environment.DATABASE_URL ?? '';
    const copy = program ? await copyRate(program, rig.sql, url, 200_000) : Number.NaN;
    const pages = await pageTimes(rig, say);
    say('a coordinator is killed');
    const found = await detectionBesideAKill(rig);
    return {
      count,
      started: { loaded, first, all: assigned },
      messages,
      memory: { ...memory, probe: probes / 3 },
      check,
      fed,
      copy,
      pages,
      found,
    };
  } finally {
    await rig.close();
  }
};

const sum = (cpu: Awaited<ReturnType<Rig['cpu']>>): number =>
  cpu.coordinator + cpu.probes + cpu.bus + cpu.database;

async function committedOf(metrics: string): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return [...text.matchAll(/^antipode_results_committed_total\{[^}]*\} (\d+)/gm)].reduce(
    (all, [, count]) => all + Number(count),
    0,
  );
}

/** All partitions of one that is killed move to another while targets break. */
async function detectionBesideAKill(rig: Rig): Promise<Seen['found']> {
  const another = await rig.startAnother();
  // It gets half of the partitions.
  another.atWork.catch(() => undefined);
  await eventually(
    async () => (await fetch(`${another.url}/readyz`).catch(() => undefined))?.ok === true,
    120_000,
    100,
  );
  rig.breakTarget();
  process.kill(rig.coordinator.pid, 'SIGKILL');
  const seen = new Map<string, number>();
  await eventually(
    async () => {
      const rows = await rig.sql<{ id: string; started_at: number }[]>`
        select id, started_at from incidents where confirmed_at is not null`;
      for (const { id, started_at } of rows)
        if (!seen.has(id)) seen.set(id, Date.now() - started_at);
      return seen.size >= canaries;
    },
    300_000,
    20,
  );
  const sorted = [...seen.values()].toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}

export const million: Bench = {
  name: 'million',
  onlyByName: true,
  about: 'a million monitors against 1,000 (MONITORS=10000: another size; 10 to 16 min, 16 GiB)',
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    if (!Number.isInteger(size) || size <= base)
      throw new Error(`MONITORS: give a whole number above ${base}`);
    const few = await measure(base, windowMs, (progress) => say(`${base}: ${progress}`));
    const many = await measure(size, windowMs, (progress) => say(`${size}: ${progress}`));
    return figuresOf(few, many);
  },
};

function figuresOf(few: Seen, many: Seen): Figure[] {
  const name = `${many.count} monitors`;
  const beside = (what: string, of: (seen: Seen) => number, unit: string, digits = 1): Figure => ({
    what: `${name}: ${what}`,
    ours: `${of(many).toFixed(digits)} ${unit}`,
    against: `with ${few.count} ${of(few).toFixed(digits)} ${unit}`,
    ratio: of(many) / of(few),
    goal: '–',
    holds: null,
  });
  const limited = (what: string, value: number, unit: string, limit: number | null): Figure => ({
    what: `${name}: ${what}`,
    ours: `${value.toFixed(0)} ${unit}`,
    against: '–',
    ratio: null,
    goal: limit === null ? '–' : `≤ ${limit} ${unit}`,
    // What a process of few monitors holds for other reasons weighs more than they do.
    holds: limit === null || many.count < 100_000 ? null : value <= limit,
  });
  const each = (part: keyof Seen['memory']): number =>
    ((many.memory[part] - few.memory[part]) * 1_024 * 1_024) / (many.count - few.count);
  return [
    beside(
      'start of the coordinator until all is loaded',
      ({ started }) => started.loaded,
      'ms',
      0,
    ),
    beside(
      'start of the probes until the first check is stored',
      ({ started }) => started.first,
      'ms',
      0,
    ),
    beside(
      'start of the probes until they have all monitors',
      ({ started }) => started.all,
      'ms',
      0,
    ),
    beside('messages of assignments', (seen) => seen.messages, 'messages', 0),
    beside('CPU of a real check, all processes', ({ check }) => check, 'ms', 2),
    ...(['coordinator', 'probe', 'bus', 'database'] as const).flatMap((part) => {
      const of = part === 'probe' ? 'a probe' : `the ${part}`;
      return [
        beside(`memory of ${of}`, ({ memory }) => memory[part], 'MiB', 0),
        limited(`memory of ${of} for each`, each(part), 'B', mostBytes[part]),
      ];
    }),
    {
      what: `${name}: results a second, beside the real checks`,
      ours: `${many.fed.rate.toFixed(0)}/s of ${many.fed.results}`,
      against: `psql COPY ${many.copy.toFixed(0)}/s`,
      ratio: many.fed.rate / many.copy,
      goal: '–',
      holds: null,
    },
    beside('CPU of the coordinator for a result', ({ fed }) => fed.cpu, 'µs'),
    beside('storage of a result until its hour is sealed', ({ fed }) => fed.stored, 'B'),
    beside('log of a result', ({ fed }) => fed.logged, 'B'),
    ...[...many.pages.keys()].map((path) =>
      beside(`page ${path}, p99`, ({ pages }) => pages.get(path) ?? Number.NaN, 'ms'),
    ),
    beside('detection while a coordinator is killed, p50', ({ found }) => found.p50, 'ms', 0),
    beside('detection while a coordinator is killed, p95', ({ found }) => found.p95, 'ms', 0),
  ];
}
