import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, passed } from '../support/eventually.ts';
import { resultsOf, seenFrom } from '../support/monitors.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../support/network.ts';
import { hasBinaries } from '../support/services.ts';
import { type MortalServices, startMortalServices } from '../support/services-run.ts';

/**
 * A database whose connections stay open while nobody answers on them, as when its machine swaps or
 * its disk hangs.
 */

const stillMs = 40_000;
const isPossible = hasBinaries();

let mortal: MortalServices;
let network: Network;
let coordinators: readonly CoordinatorProcess[] = [];
let monitor: string;

beforeAll(async () => {
  if (!isPossible) return;
  mortal = await startMortalServices();
  network = await createNetwork({ services: mortal.services });
  coordinators = [await network.startCoordinatorProcess(), await network.startCoordinatorProcess()];
  await network.addProbe('Europe');
  await network.addProbe('Asia');
  const target = await network.startTarget();
  monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, 2);
});
afterAll(async () => {
  await network?.close();
  await mortal?.stop();
});

/** The server and each of its sessions, which have process groups of their own. */
const processesOf = (server: number): readonly number[] => {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const status = readFileSync(`/proc/${name}/stat`, 'utf8');
        return Number(status.slice(status.lastIndexOf(')') + 4).split(' ')[0]) === server;
      } catch {
        return false; // It has ended.
      }
    });
  return [server, ...children.map(Number)];
};

test.runIf(isPossible)(
  'Postgres stands still for 40 s: no coordinator ends, and all is well within 30 s',
  async () => {
    const ended: unknown[] = [];
    for (const { exited } of coordinators) void exited.then((code) => ended.push(code));
    const still = processesOf(mortal.postgres.pid());
    expect(still.length).toBeGreaterThan(10);
    for (const pid of still) process.kill(pid, 'SIGSTOP');
    await passed(stillMs);
    for (const pid of still) process.kill(pid, 'SIGCONT');
    const back = Date.now();
    await eventually(async () => {
      const answers = await Promise.all(coordinators.map(({ url }) => fetch(`${url}/health`)));
      return answers.every(({ ok }) => ok);
    }, 30_000);
    const isWritten = async (): Promise<boolean> =>
      (await resultsOf(network.sql, monitor)).some(({ at }) => Number(at) > back);
    await eventually(isWritten, 30_000);
    expect(ended).toEqual([]);
  },
);
