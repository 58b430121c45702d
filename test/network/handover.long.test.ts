import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type MadeProbe, type Network, type Wanted } from '../support/network.ts';
import { startProbeProcess } from '../support/probes.ts';
import type { ChildProgram } from '../support/processes.ts';
import { storedChecks, turnsBetween } from '../support/stored-checks.ts';

/**
 * Rule 7: each turn is taken once, whichever probe ends and starts again. Each is a process: two of
 * Europe, one of Asia that has monitors of its own, and two of an office.
 */
describe('a fleet of five probes', () => {
  const [interval_s, longest_s] = [2, 10];
  let network: Network;
  let moved: string;
  const fleet: { made: MadeProbe; process: ChildProgram }[] = [];
  type Member = (typeof fleet)[number];

  beforeAll(async () => {
    moved = await mkdtemp(join(tmpdir(), 'antipode-moved-'));
    network = await createNetwork();
    await network.startCoordinator();
    const { url } = await network.startTarget();
    const office = await network.makeProbe('Europe', 'office 1', network.organisation);
    for (const made of [
      await network.makeProbe('Europe'),
      await network.makeProbe('Europe'),
      await network.makeProbe('Asia'),
      office,
      await network.makeProbe('Europe', 'office 2', network.organisation, office.id),
    ])
      fleet.push({ made, process: await startProbeProcess(made) });
    const kinds: readonly Partial<Wanted>[] = [
      {},
      {},
      { places: [office.id, 'Asia'] },
      { config: { probe: office.id } },
      // Nobody else takes these turns: the probe does when it is back, each monitor once.
      { config: { continents: ['Asia'] }, interval_s: longest_s },
    ];
    for (let count = 0; count < 6; count += 1)
      for (const kind of kinds) await network.addMonitor({ target: url(), interval_s, ...kind });
    await allCheckedSince(0);
  });
  afterAll(async () => {
    await Promise.all(fleet.map((member) => end(member)));
    await network.close();
    await rm(moved, { recursive: true, force: true });
  });

  const allCheckedSince = (since: number) =>
    eventually(async () => {
      const [row] = await network.sql<{ all: number }[]>`select count(*)::int as all from monitors`;
      const checks = await storedChecks(network.sql, { since });
      return new Set(checks.map(({ monitor }) => monitor)).size === row?.all;
    }, 60_000);

  const end = async ({ process }: Member, signal: NodeJS.Signals = 'SIGTERM') => {
    process.signal(signal);
    return process.exited;
  };
  const start = async (member: Member): Promise<void> => {
    member.process = await startProbeProcess(member.made);
  };

  const expectEachTurnOnceSince = async (from: number): Promise<void> => {
    const to = Date.now() + 3_000;
    await allCheckedSince(to + longest_s * 1_000);
    const { due, ...wrong } = await turnsBetween(network.sql, { from, to });
    expect(wrong).toEqual({ lost: [], twice: [] });
    expect(due).toBeGreaterThan(20);
  };

  test.for([
    ['SIGTERM', 0],
    ['SIGUSR1', 75],
  ] as const)(
    'restarted one by one with %s loses no turn and takes none twice',
    async ([signal, code]) => {
      const from = Date.now();
      for (const member of fleet) {
        expect(await end(member, signal)).toBe(code);
        await start(member);
      }
      await expectEachTurnOnceSince(from);
      expect(await network.sql`select 1 from notices where kind = 'probe_lost'`).toEqual([]);
    },
  );

  test('nor where one is stopped for good right after the other of its place was started again', async () => {
    const from = Date.now();
    const [first, second] = fleet.slice(3);
    if (!first || !second) throw new Error('there are five');
    await end(first);
    await start(first);
    await end(second);
    await expectEachTurnOnceSince(from);
    await start(second);
  });

  test('nor where one ends that others stand in for, and comes back with an empty folder', async () => {
    const from = Date.now();
    for (const [nth, member] of fleet.entries()) {
      if (member.made.continent === 'Asia') continue;
      await end(member);
      member.made = { ...member.made, folder: join(moved, String(nth)) };
      await start(member);
    }
    await expectEachTurnOnceSince(from);
  });
});
