import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { z } from 'zod';
import { startKnot } from '../support/name-servers.ts';
import { debianProgram, type Program } from '../support/processes.ts';
import { type Bench, type Figure, median, ratioByRound, roundByRound } from './figure.ts';
import { type Module, startBlackbox } from './https/blackbox.ts';
import { cores, find, pinned, start, stop } from './processes.ts';

/**
 * CPU of one DNS check (UDP, an A record, the answer compared) against blackbox exporter's prober,
 * against dnsperf, which compares nothing and so is the limit, and against node:dgram alone, which
 * no check written for node can ping. A knot answers on the core that the load has.
 *
 * What a query costs dnsperf depends on its rate: at 15,000 a second, where each answer and each
 * question wakes somebody, it is four times what it is at full speed, where whole batches come for
 * one wake-up. So it is measured twice: at the rate that our check had a moment ago, and at full
 * speed, where it is at its best. The ratios are those of the same round.
 */

const rounds = 9;
const roundMs = 1_500;
const inFlight = 50;
const name = 'www.knot.test';
const addresses = ['192.0.2.1', '192.0.2.2'];

const checked = z.object({ checks: z.number(), failed: z.number(), cpu_ms: z.number() });
type Checked = z.infer<typeof checked>;

const module: Module = {
  name: 'dns',
  config: `modules:
  dns:
    prober: dns
    timeout: 8s
    dns:
      preferred_ip_protocol: ip4
      query_name: ${name}
      query_type: A
      valid_rcodes: [NOERROR]
      validate_answer_rrs:
        fail_if_not_matches_regexp: ["${name}.\\\\t.*\\\\tIN\\\\tA\\\\t192\\\\.0\\\\.2\\\\..*"]
`,
};

const run = promisify(execFile);

/**
 * CPU of one query of dnsperf over one socket, in milliseconds; so many a second, or as many as it
 * can. What its start costs is not counted.
 */
const dnsperf = async (
  program: Program,
  folder: string,
  port: number,
): Promise<(perSecond?: number) => Promise<number>> => {
  const queries = join(folder, 'queries');
  await writeFile(queries, `${name} A\n`);
  const used = async (
    more: string,
  ): Promise<{ readonly completed: number; readonly cpu_ms: number }> => {
    // bash counts in milliseconds, where `times` of other shells has ticks of ten.
    const command = `TIMEFORMAT='%3U %3S'; time ${program.file} -s 127.0.0.1 -p ${port} -d ${queries} -c 1 -T 1 -q ${inFlight} ${more}`;
    const [bash, ...given] = pinned(cores.subject, ['bash', '-c', command]);
    const { stdout, stderr } = await run(bash, given, { env: { ...process.env, ...program.env } });
    const [user = 0, system = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
    return {
      completed: Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1]),
      cpu_ms: (user + system) * 1_000,
    };
  };
  const starts: number[] = [];
  for (let nth = 0; nth < 5; nth += 1) starts.push((await used('-n 1')).cpu_ms);
  return async (perSecond) => {
    const most = perSecond === undefined ? '' : `-Q ${Math.round(perSecond)}`;
    const { completed, cpu_ms } = await used(`-l ${roundMs / 1_000} ${most}`);
    return (cpu_ms - median(starts)) / completed;
  };
};

/** One of the programs in `dns/`, in a process of its own on the core of the subject. */
const contestant = async (
  program: string,
  ends: (() => Promise<unknown>)[],
): Promise<(order: object) => Promise<Checked>> => {
  const child = start(
    cores.subject,
    [process.execPath, join(import.meta.dirname, `dns/${program}.ts`)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  ends.push(() => stop(child));
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('a part of the bench did not start');
  const answers = createInterface({ input: stdout });
  const tooLong = 10 * roundMs;
  return async (order) => {
    const answer = once(answers, 'line', { signal: AbortSignal.timeout(tooLong) });
    stdin.write(`${JSON.stringify(order)}\n`);
    const done = checked.parse(JSON.parse(String((await answer)[0])));
    if (done.failed > done.checks / 1_000)
      throw new Error(`${done.failed} of ${done.checks} checks failed`);
    return done;
  };
};

type Values = readonly number[];

/** `goal`: what the ratio is meant to be at most; null where it is only shown. */
const figure = (
  what: string,
  ours: Values,
  theirs: Values,
  peer: string,
  goal: number | null,
): Figure => {
  const microseconds = (values: Values): string => `${(median(values) * 1_000).toFixed(1)} µs`;
  const ratio = ratioByRound(ours, theirs);
  const there = !Number.isNaN(ratio);
  return {
    what,
    ours: microseconds(ours),
    against: there ? `${peer} ${microseconds(theirs)}` : `${peer} could not be had`,
    ratio: there ? ratio : null,
    goal: goal === null ? 'shown' : `≤ ${goal.toFixed(2)} ×`,
    holds: there && goal !== null ? ratio <= goal : null,
  };
};

export const dns: Bench = {
  name: 'dns',
  about: 'CPU of one DNS check against blackbox exporter and dnsperf',
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-dns-'));
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      // What loads and answers keeps off the core of the subject; what this process starts inherits
      // that.
      const taskset = find('taskset');
      if (taskset) execFileSync(taskset, ['-pc', String(cores.load), String(process.pid)]);
      const knot = await startKnot();
      if (!knot) throw new Error('there is no knotd to ask');
      ends.push(knot.stop);
      const { port } = knot;

      const order = {
        resolver: `127.0.0.1:${port}`,
        name,
        expected: addresses,
        in_flight: inFlight,
        ms: roundMs,
      };
      const rates: number[] = [];
      const contest = async (program: string): Promise<() => Promise<number>> => {
        const perform = await contestant(program, ends);
        return async () => {
          const { checks, cpu_ms } = await perform(order);
          if (program === 'bare') rates.push((checks * 1_000) / roundMs);
          return cpu_ms / checks;
        };
      };
      const blackbox = await startBlackbox(folder, '', module);
      if (blackbox) ends.push(blackbox.close);
      const limit = await debianProgram('dnsperf', ['dnsperf', 'libldns3']);
      const ask = limit && (await dnsperf(limit, folder, port));
      const none = async (): Promise<number> => Number.NaN;
      const seen = await roundByRound(
        {
          check: await contest('bare'),
          dnsperf: ask ? () => ask(rates.at(-1)) : none,
          flatOut: ask ? () => ask() : none,
          naked: await contest('naked'),
          turns: await contest('turns'),
          blackbox: blackbox
            ? () => blackbox.cpuPerProbe(`127.0.0.1:${port}`, roundMs, { in_flight: inFlight })
            : none,
        },
        rounds,
        say,
      );
      const rate = `${(median(rates.slice(1)) / 1_000).toFixed(0)},000 a second`;
      const [alone, inRunner] = ['check alone, UDP', 'from turn to report, UDP'];
      return [
        figure(alone, seen.check, seen.dnsperf, `dnsperf at the same rate, ${rate},`, 2.5),
        figure(alone, seen.check, seen.flatOut, 'dnsperf at full speed', 2.5),
        figure(alone, seen.check, seen.naked, 'node:dgram without a check', 1.7),
        figure(alone, seen.check, seen.blackbox, 'blackbox', 1 / 20),
        figure(inRunner, seen.turns, seen.dnsperf, 'dnsperf at the rate of the check', null),
        figure(inRunner, seen.turns, seen.blackbox, 'blackbox', 1 / 20),
      ];
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};
