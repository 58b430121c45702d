import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { turns } from '../../shared/checks/placement.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';

/** A rolling restart of the probes of five continents, as an upgrade makes it. */

const continents = ['Africa', 'Asia', 'Europe', 'North America', 'Oceania'] as const;
const interval_s = 2;
const every = interval_s * 1_000;
/** What a process takes to end and to start on a small machine. */
const startMs = 1_500;
let network: Network;

beforeAll(async () => {
  network = await createNetwork();
});
afterAll(() => network.close());

/** The number of the turn at or before this moment. */
const turnAt = (monitor: string, ordinal: number, at: number): number => {
  const probe = { id: monitor, name: '', continent: 'Asia', organisation: null, healthy: true, quarantined: false } as const;
  const placed = { monitor, interval_ms: every, ordinal, continents: null, probe: null };
  return Math.floor((at - (turns(placed, 'Asia', { epoch: 0, probes: [probe] })?.offset_ms ?? 0)) / every);
};

/** The turns of every monitor between two moments that no probe took. */
const missing = async (from: number, to: number): Promise<string[]> => {
  const rows = await network.sql<{ monitor_id: string; ordinal: number; at: Date }[]>`
    select m.id as monitor_id, m.key as ordinal, r.at from results r join monitors m on m.key = r.monitor_key`;
  const taken = new Set(rows.map(({ monitor_id, ordinal, at }) => `${monitor_id} ${turnAt(monitor_id, ordinal, at.getTime())}`));
  const ordinals = new Map(rows.map(({ monitor_id, ordinal }) => [monitor_id, ordinal]));
  return [...ordinals].flatMap(([monitor, ordinal]) => {
    const [first, last] = [turnAt(monitor, ordinal, from) + 1, turnAt(monitor, ordinal, to)];
    const all = Array.from({ length: last - first }, (_, place) => `${monitor} ${first + place}`);
    return all.filter((turn) => !taken.has(turn));
  });
};

const monitors: string[] = [];
const probes: Awaited<ReturnType<Network['addProbe']>>[] = [];

beforeAll(async () => {
  await network.startCoordinator();
  const target = await network.startTarget();
  for (const continent of continents) probes.push(await network.addProbe(continent, continent, { handsOver: true }));
  for (let count = 0; count < 12; count += 1) monitors.push(await network.addMonitor({ target: target.url(), interval_s }));
  for (const monitor of monitors) await seenFrom(network.sql, monitor, 2);
});

/** Settles when a check of each monitor that began later is stored. */
const storedUntil = async (at: number): Promise<void> => {
  const isLater = async (): Promise<boolean> => {
    const [row] = await network.sql<{ reached: Date }[]>`select min(last) as reached from (
      select max(at) as last from results group by monitor_key) as each`;
    return (row?.reached.getTime() ?? 0) > at + every;
  };
  await eventually(isLater, 30_000);
};

test('leaves out no turn of any monitor', async () => {
  const from = Date.now();
  for (const [place, { made, close }] of probes.entries()) {
    await close();
    await setTimeout(startMs);
    probes[place] = { ...(await network.startProbe(made, { handsOver: true })), made };
  }
  const to = Date.now() + every;
  await storedUntil(to);
  expect(await missing(from, to)).toEqual([]);
  const [notices] = await network.sql<{ count: number }[]>`select count(*)::int as count from notices where kind = 'probe_lost'`;
  expect(notices?.count).toBe(0);
});

test('nor does a probe that is told to stop and stays away', async () => {
  const from = Date.now();
  await probes[0]?.close();
  const to = Date.now() + 4 * every;
  await storedUntil(to);
  expect(await missing(from, to)).toEqual([]);
});
