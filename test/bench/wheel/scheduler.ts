/**
 * One way to know when 100,000 monitors are due, in a process of its own that sends what is due to
 * the bus: `wheel` is the probe's schedule, `timers` a timer for each monitor, `ticker` no monitors
 * at all, only as many sendings. Says on standard output, as JSON, what it cost.
 */
import { existsSync, openSync, readSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createSchedule } from '../../../probe/schedule/wheel.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { connectBus } from '../../../shared/bus/nats.ts';
import type { Assignment, Roster } from '../../../shared/checks/assignment.ts';
import { shareOf } from '../../../shared/checks/placement.ts';

const { values } = parseArgs({
  options: { way: { type: 'string' }, monitors: { type: 'string' }, ms: { type: 'string' } },
});
const { NATS_URL: url = '', NATS_CREDENTIALS: credentials = '' } = process.env;
const [way, count, windowMs] = [values.way, Number(values.monitors), Number(values.ms)];
const interval_ms = 60_000;
const slotMs = 50;
const perBatch = 100;

const self = newId();
const roster: Roster = {
  epoch: 1,
  probes: [
    {
      id: self,
      name: 'bench',
      continent: 'Europe',
      organisation: null,
      healthy: true,
      quarantined: false,
    },
  ],
};
const made: Assignment[] = Array.from({ length: count }, (_, ordinal) => ({
  monitor: newId(),
  organisation: self,
  kind: 'https' as const,
  target: `https://host-${ordinal}.example/`,
  interval_ms,
  timeout_ms: 10_000,
  config: {},
  sealed: null,
  config_version: 1,
  ordinal,
  continents: null,
  probe: null,
}));

// As they come from the bus: with strings that are whole.
const assignments: Assignment[] = JSON.parse(JSON.stringify(made));
made.length = 0;

const bus = await connectBus({
  url,
  credentials,
  name: 'bench',
  log: createLog({ name: 'bench', level: 'error' }),
  firstConnectionMs: 10_000,
});
const held = (): number => {
  for (let nth = 0; nth < 3; nth += 1) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const before = held();

let measuring = false;
const lateness: number[] = [];
const ownLateness: number[] = [];
const bySecond = new Map<number, number>();
let waiting: string[] = [];
const send = (): void => {
  if (waiting.length === 0) return;
  bus.publish('bench.due', JSON.stringify(waiting));
  waiting = [];
};
/**
 * How long this process has stood ready while others had the core, in milliseconds, as the kernel
 * counts it; nothing where it does not say.
 */
const stats = existsSync('/proc/self/schedstat')
  ? openSync('/proc/self/schedstat', 'r')
  : undefined;
const line = Buffer.alloc(64);
const stoodReady = (): number =>
  stats === undefined
    ? 0
    : Number(line.toString('latin1', 0, readSync(stats, line, 0, line.length, 0)).split(' ')[1]) /
      1e6;
let readyBefore = 0;
let stood = 0;
const rest = (): void => {
  send();
  readyBefore = stoodReady();
};
/** `late` counts from when the way could have told at the earliest. */
const due = (monitor: string, at: number, late: number): void => {
  if (waiting.length === 0) {
    stood = Math.max(0, stoodReady() - readyBefore);
    setImmediate(rest);
  }
  waiting.push(monitor);
  if (waiting.length >= perBatch) send();
  if (!measuring) return;
  lateness.push(late);
  ownLateness.push(late - Math.min(stood, Math.max(0, late)));
  const second = Math.floor(at / 1_000);
  bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
};
const slotEnd = (at: number): number => (Math.floor(at / slotMs) + 1) * slotMs;
const now = (): number => performance.timeOrigin + performance.now();

const ways: Readonly<Record<string, () => void>> = {
  wheel: () => {
    const clock = { ...systemClock, now };
    const schedule = createSchedule({
      self,
      clock,
      onDue: ({ monitor }, at) => due(monitor, at, now() - slotEnd(at)),
    });
    schedule.setRoster(roster);
    for (const assignment of assignments) schedule.put(assignment);
    schedule.start();
  },
  timers: () => {
    for (const assignment of assignments) {
      const turns = shareOf(assignment, self, roster);
      if (!turns) continue;
      let at = now() + ((((turns.offset_ms - now()) % interval_ms) + interval_ms) % interval_ms);
      const fire = (): void => {
        due(assignment.monitor, at, now() - at);
        at += interval_ms;
        setTimeout(fire, at - now());
      };
      setTimeout(fire, at - now());
    }
  },
  ticker: () => {
    const perTick = (count * slotMs) / interval_ms;
    // Between the ends of slots, so that it does not meet a schedule that is measured beside it.
    let [nth, owed, next] = [0, 0, slotEnd(now()) + slotMs / 2];
    const tick = (): void => {
      for (owed += perTick; owed >= 1; owed -= 1)
        due(assignments[nth++ % count]?.monitor ?? '', next - slotMs, now() - next);
      next += slotMs;
      setTimeout(tick, Math.max(1, next - now()));
    };
    setTimeout(tick, next - now());
  },
};
ways[way ?? '']?.();
const bytes = held() - before;

// Compilers and queues settle before anything counts.
await new Promise((resolve) => setTimeout(resolve, Math.min(5_000, windowMs / 2)));
measuring = true;
const [cpu, began] = [process.cpuUsage(), performance.now()];
await new Promise((resolve) => setTimeout(resolve, windowMs));
const { user, system } = process.cpuUsage(cpu);
const took = performance.now() - began;
measuring = false;

const spread = (seen: readonly number[]) => {
  const sorted = seen.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? Number.NaN };
};
// The first and the last second were not seen whole.
const seconds = [...bySecond].toSorted(([a], [b]) => a - b).slice(1, -1);
const counts = seconds.map(([, turns]) => turns);
const mean = counts.reduce((sum, turns) => sum + turns, 0) / counts.length;
const said = {
  fired: lateness.length,
  per_second: lateness.length / (took / 1_000),
  cpu_percent: (user + system) / 10 / took,
  bytes_each: bytes / count,
  all: spread(lateness),
  own: spread(ownLateness),
  busiest: Math.max(...counts) / mean,
};
process.stdout.write(`${JSON.stringify(said)}\n`, () => process.exit(0));
