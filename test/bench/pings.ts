import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { newPingToken } from '../../shared/checks/heartbeat/config.ts';
import { createAccount } from '../support/services.ts';
import { startServices } from '../support/services-run.ts';
import { type Bench, interleaved } from './figure.ts';
import { cores, find, start, stop } from './processes.ts';

/**
 * How many pings a ping receiver takes a second and core: each on the bus, twice, before it is
 * answered. The bus and the callers have the other core.
 */

const rounds = 3;
const roundMs = 2_000;
const inFlight = 100;
const heartbeats = Array.from({ length: 1_000 }, () => ({
  token: newPingToken(),
  monitor: newId(),
}));
const leastPerCore = 4_000;

type Running = {
  readonly address: string;
  readonly cpu: () => Promise<number>;
  readonly close: () => Promise<void>;
};

const startProcess = async (order: unknown): Promise<Running> => {
  const child = start(
    cores.subject,
    [process.execPath, join(import.meta.dirname, 'pings/receiver.ts')],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  if (!child.stdin || !child.stdout) throw new Error('the ear did not start');
  const lines = createInterface({ input: child.stdout });
  const ask = async (text: string): Promise<unknown> => {
    const answer = once(lines, 'line');
    child.stdin?.write(`${text}\n`);
    return JSON.parse(String((await answer)[0]));
  };
  const address = String(await ask(JSON.stringify(order)));
  return { address, cpu: async () => Number(await ask('cpu')), close: () => stop(child) };
};

const agent = new Agent({ keepAlive: true, maxSockets: inFlight });

const call = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    request(url, { agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end();
  });

/** CPU of the ping receiver for one ping, in milliseconds. */
const cpuPerPing = async ({ address, cpu }: Running): Promise<number> => {
  const before = await cpu();
  const end = performance.now() + roundMs;
  let pings = 0;
  const lane = async (nth: number): Promise<void> => {
    for (let turn = nth; performance.now() < end; turn += inFlight) {
      const status = await call(
        `${address}/beat/${heartbeats[turn % heartbeats.length]?.token ?? ''}`,
      );
      if (status !== 200) throw new Error(`a beat was answered ${status}`);
      pings += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, nth) => lane(nth)));
  return ((await cpu()) - before) / pings;
};

export const pings: Bench = {
  name: 'pings',
  about: 'beats that an ear takes a second and core',
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-beats-'));
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const taskset = find('taskset');
      if (taskset) execFileSync(taskset, ['-pc', String(cores.load), String(process.pid)]);
      const { services, stop: endServices } = await startServices(async () => undefined);
      ends.push(endServices);
      const { url, coordinatorCredentials: credentials } = await createAccount(services);
      const bus = await connectBus({
        url,
        credentials,
        name: 'bench',
        log: createLog({ name: 'bench', level: 'error' }),
      });
      ends.push(bus.close);
      for (const stream of [streams.pings, streams.lastPings]) await bus.ensureStream(stream);
      const ours = await startProcess({
        url,
        credentials,
        folder,
        organisation: newId(),
        heartbeats,
      });
      ends.push(ours.close);
      const plain = await startProcess(null);
      ends.push(plain.close);
      ends.push(async () => agent.destroy());
      const seen = await interleaved(
        { ours: () => cpuPerPing(ours), plain: () => cpuPerPing(plain) },
        rounds,
        say,
      );
      const perCore = 1_000 / seen.ours;
      const stored = (await bus.streamState(streams.pings.name))?.messages ?? 0;
      if (stored === 0) throw new Error('no beat reached the bus');
      return [
        {
          what: 'beats taken a second and core',
          ours: `${Math.round(perCore)}`,
          against: `${leastPerCore} a second and core`,
          ratio: perCore / leastPerCore,
          goal: '≥ 1.00 ×',
          holds: perCore >= leastPerCore,
        },
        {
          what: 'CPU of one beat, on the bus',
          ours: `${(seen.ours * 1_000).toFixed(0)} µs`,
          against: `node:http that only says OK ${(seen.plain * 1_000).toFixed(0)} µs`,
          ratio: seen.ours / seen.plain,
          goal: '≤ 6.00 ×',
          holds: seen.ours / seen.plain <= 6,
        },
      ];
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};
