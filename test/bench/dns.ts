import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { z } from 'zod';
import { debianProgram, type Program } from '../support/debian.ts';
import { startKnot } from '../support/knot.ts';
import { type Bench, type Figure, interleaved } from './figure.ts';
import { type Module, startBlackbox } from './https/blackbox.ts';
import { cores, find, pinned, start, stop } from './processes.ts';

/**
 * CPU of one DNS check (UDP, an A record, the answer compared) against blackbox exporter's prober, against dnsperf, which compares nothing and so is
 * the limit, and against node:dgram alone, which no check written for node can beat. A knot answers on the core that the load has.
 *
 * dnsperf is measured twice. At full speed it asks so much more often than a check can that knot keeps it waiting, on most machines: whole batches of
 * answers then come for one wake-up, and a question costs it half. At the rate of our check in the same round, both are woken alike: the same work.
 */

const rounds = 6;
const roundMs = 2_000;
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

/** CPU of one query of dnsperf over one socket, in milliseconds; so many a second, or as many as it can. */
const dnsperf = async (program: Program, folder: string, port: number): Promise<(perSecond?: number) => Promise<number>> => {
  const queries = join(folder, 'queries');
  await writeFile(queries, `${name} A\n`);
  return async (perSecond) => {
    const most = perSecond === undefined ? '' : `-Q ${Math.round(perSecond)}`;
    const command = `${program.file} -s 127.0.0.1 -p ${port} -d ${queries} -l ${roundMs / 1_000} -c 1 -T 1 -q ${inFlight} ${most}; times`;
    const [shell, ...given] = pinned(cores.subject, ['sh', '-c', command]);
    const { stdout } = await promisify(execFile)(shell, given, { env: { ...process.env, ...program.env } });
    const completed = Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1]);
    const ofChildren = stdout.trim().split('\n').at(-1) ?? '';
    const seconds = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
      (sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest),
      0,
    );
    return (seconds * 1_000) / completed;
  };
};

/** One of the programs in `dns/`, in a process of its own on the core of the subject. */
const contestant = async (program: string, ends: (() => Promise<unknown>)[]): Promise<(order: object) => Promise<Checked>> => {
  const child = start(cores.subject, [process.execPath, join(import.meta.dirname, `dns/${program}.ts`)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  ends.push(() => stop(child));
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('a part of the bench did not start');
  const answers = createInterface({ input: stdout });
  const tooLong = 10 * roundMs;
  return async (order) => {
    const answer = once(answers, 'line', { signal: AbortSignal.timeout(tooLong) });
    stdin.write(`${JSON.stringify(order)}\n`);
    const done = checked.parse(JSON.parse(String((await answer)[0])));
    if (done.failed > done.checks / 1_000) throw new Error(`${done.failed} of ${done.checks} checks failed`);
    return done;
  };
};

const figure = (what: string, ours: number, theirs: number, peer: string, goal: number, goalText: string): Figure => {
  const microseconds = (value: number): string => `${(value * 1_000).toFixed(1)} µs`;
  const there = !Number.isNaN(theirs);
  return {
    what,
    ours: microseconds(ours),
    against: there ? `${peer} ${microseconds(theirs)}` : `${peer} could not be had`,
    ratio: there ? ours / theirs : null,
    goal: goalText,
    holds: there ? ours / theirs <= goal : null,
  };
};

export const dns: Bench = {
  name: 'dns',
  about: 'CPU of one DNS check against blackbox exporter and dnsperf',
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-dns-'));
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      // What loads and answers keeps off the core of the subject; what this process starts inherits that.
      const taskset = find('taskset');
      if (taskset) execFileSync(taskset, ['-pc', String(cores.load), String(process.pid)]);
      const knot = await startKnot();
      if (!knot) throw new Error('there is no knotd to ask');
      ends.push(knot.stop);
      const { port } = knot;

      const check = await contestant('bare', ends);
      const naked = await contestant('naked', ends);
      const order = { resolver: `127.0.0.1:${port}`, name, expected: addresses, in_flight: inFlight, ms: roundMs };
      let perSecond = 0;

      const blackbox = await startBlackbox(folder, '', module);
      if (blackbox) ends.push(blackbox.close);
      const limit = await debianProgram('dnsperf', ['dnsperf', 'libldns3']);
      const ask = limit && (await dnsperf(limit, folder, port));
      const none = async (): Promise<number> => Number.NaN;
      const seen = await interleaved(
        {
          check: async () => {
            const { checks, cpu_ms } = await check(order);
            perSecond = (checks * 1_000) / roundMs;
            return cpu_ms / checks;
          },
          dnsperf: ask ? () => ask(perSecond) : none,
          flatOut: ask ? () => ask() : none,
          naked: async () => {
            const { checks, cpu_ms } = await naked(order);
            return cpu_ms / checks;
          },
          blackbox: blackbox ? () => blackbox.cpuPerProbe(`127.0.0.1:${port}`, roundMs, { in_flight: inFlight }) : none,
        },
        rounds,
        say,
      );
      return [
        figure('check alone, UDP', seen.check, seen.dnsperf, 'dnsperf at the same rate', 2.5, '≤ 2.50 ×'),
        figure('check alone, UDP', seen.check, seen.flatOut, 'dnsperf at full speed', 2.5, '≤ 2.50 ×'),
        figure('check alone, UDP', seen.check, seen.naked, 'node:dgram without a check', 1.7, '≤ 1.70 ×'),
        figure('check alone, UDP', seen.check, seen.blackbox, 'blackbox', 1 / 20, '≤ 0.05 ×'),
      ];
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};
