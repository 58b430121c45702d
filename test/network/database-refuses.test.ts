import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { addHeartbeat, call, ping, pingsWritten } from '../support/heartbeats.ts';
import { incidentsOf, incidentThat, isConfirmed, isResolved, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { refuseWrites } from '../support/refusing-database.ts';
import { mayBusStandStill } from '../support/services.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** A database whose disk is full answers every question and takes nothing. */

let network: Network;
let url: string;

beforeAll(async () => {
  network = await createNetwork();
  ({ url } = await network.startCoordinator());
  for (const continent of ['Asia', 'Europe', 'North America'] as const) await network.addProbe(continent);
});
afterAll(() => network.close());

const watch = async (): Promise<{ target: Target; monitor: string }> => {
  const target = await network.startTarget();
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, 3);
  return { target, monitor };
};

/** Requests by the second in which they came, of so many turns of the monitor, each of which is one request in its second. */
const bySecond = async (target: Target, turns: number): Promise<number[]> => {
  const from = target.hits.length;
  const began = await eventually(() => target.hits[from]?.at, 20_000);
  await eventually(() => target.hits.some(({ at }) => at >= began + turns * 1_000), 60_000);
  const counts = Array.from({ length: turns }, () => 0);
  for (const { at } of target.hits.slice(from)) {
    const second = Math.floor((at - began) / 1_000);
    if (second < turns) counts[second] = (counts[second] ?? 0) + 1;
  }
  return counts;
};

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

describe('while the database refuses writes', () => {
  test('nobody is asked to look at what could not be written down: a target that fails is asked no more than at its turns', async () => {
    const { target, monitor } = await watch();
    const takeAgain = await refuseWrites(network.sql);
    target.answer(broken);
    const counts = await bySecond(target, 15);
    // Each second has its turn; two may fall into one, and none into the next.
    expect(sum(counts)).toBeLessThanOrEqual(17);
    expect(await incidentsOf(network.sql, monitor)).toEqual([]);
    await takeAgain();
    const found = await incidentThat(network.sql, monitor, isConfirmed, 30_000);
    expect(Number(found.started_at)).toBeLessThan(target.hits.at(-1)?.at ?? 0);
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 30_000);
  });

  test('rule 13: an outage that was written down before gets its turns and its samples, and in no second more', async () => {
    const { target, monitor } = await watch();
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed);
    const takeAgain = await refuseWrites(network.sql);
    const counts = await bySecond(target, 15);
    // Its turns, a sample every five seconds, and those who are asked once more because nobody knows what they said.
    expect(sum(counts)).toBeLessThanOrEqual(15 + 4 + 12);
    expect(Math.max(...counts.slice(5))).toBeLessThanOrEqual(4);
    await takeAgain();
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 30_000);
  });

  test('rule 20: a /fail that was answered 200 leaves its incident, though the success after it is worked on first', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(url, heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    const takeAgain = await refuseWrites(network.sql, 'beats', "new.kind = 'fail'");
    expect((await call(url, `${heartbeat.token}/fail`)).status).toBe(200);
    expect((await call(url, heartbeat.token)).status).toBe(200);
    await pingsWritten(network.sql, heartbeat.monitor, 2);
    // Where the bus stands between the two calls, a probe sees the /fail as the last word, and says so: alone, it confirms nothing.
    const known = await incidentsOf(network.sql, heartbeat.monitor);
    expect(mayBusStandStill() ? known.filter(isConfirmed) : known).toEqual([]);
    await takeAgain();
    const found = await incidentThat(network.sql, heartbeat.monitor, isResolved, 20_000);
    const [, failed, made] = await pingsWritten(network.sql, heartbeat.monitor, 3);
    expect([found.started_at, found.confirmed_at, found.resolved_at].map(Number)).toEqual(
      [failed, failed, made].map((each) => Number(each?.at)),
    );
    expect(failed?.kind).toBe('fail');
  });
});
