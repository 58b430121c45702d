import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { eventually, watchStandstill } from '../support/eventually.ts';
import {
  alertsOf,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  seenFrom,
} from '../support/monitors.ts';
import type { CoordinatorProcess } from '../support/network.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { speakAs } from '../support/probes.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * What several coordinators hold together: the rate limit, looks that are still wanted, and an
 * upgrade one by one.
 */

let network: Network;
let target: Target;

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
});
afterEach(() => network.close());

/**
 * Whose lease on the monitor's partition is in force: the name that a coordinator writes into its
 * log is not needed for that.
 */
const ownerOf = async (monitor: string): Promise<string | undefined> => {
  const [row] = await network.sql<{ owner: string }[]>`
    select owner from leases where partition = ${partitionOf(monitor)} and expires_at > now() and owner is not null`;
  return row?.owner;
};

describe('several coordinators together', () => {
  test('hold one limit of calls, also when the one that counted them is killed', async () => {
    const limit = { RATE_LIMIT_PER_MINUTE: '30' };
    const [first, second] = [
      await network.startCoordinatorProcess(limit),
      await network.startCoordinatorProcess(limit),
    ];
    const headers = { authorization: `Bearer ${network.house.owner.read}` };
    const call = async ({ url }: CoordinatorProcess): Promise<number> =>
      (await fetch(`${url}/api/v1/monitors`, { headers })).status;
    for (let calls = 0; calls < 30; calls += 1) expect(await call(first)).toBe(200);
    expect(await call(first)).toBe(429);
    let passed = 0;
    await eventually(
      async () => {
        const status = await call(second);
        if (status === 200) passed += 1;
        return status === 429;
      },
      30_000,
      250,
    );
    // What one of them does not know yet is what came since they last compared.
    expect(passed).toBeLessThanOrEqual(5);
    first.signal('SIGKILL');
    expect(await call(second)).toBe(429);
  });

  test('take over an open incident whose coordinator died: the others are asked again, and it is confirmed and notified once', async () => {
    const [first] = [await network.startCoordinatorProcess()];
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    target.answer(broken, ['Europe']);
    // Its turns come once an hour: whatever is seen of it after the first failure is seen because
    // somebody asked.
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 3_600 });
    await eventually(() => ownerOf(monitor));
    const voice = await speakAs(await network.makeProbe('Europe'));
    await eventually(async () => {
      await voice.say(monitor, [{ seq: 1, at: Date.now(), outcome: 'fail' }]);
      return (await incidentsOf(network.sql, monitor)).length === 1;
    });
    await eventually(async () =>
      (await resultsOf(network.sql, monitor)).some(({ continent }) => continent === 'Asia'),
    );
    expect(await incidentsOf(network.sql, monitor)).toMatchObject([
      { confirmed_at: null, resolved_at: null },
    ]);
    first.signal('SIGKILL');
    target.answer(broken);
    await network.startCoordinatorProcess();
    await incidentThat(network.sql, monitor, isConfirmed, 30_000);
    await eventually(async () => (await alertsOf(network.sql, monitor)).length > 0);
    expect((await alertsOf(network.sql, monitor)).map(({ event }) => event)).toEqual(['down']);
    await voice.close();
  });

  test('are upgraded one by one without a gap: outages meanwhile are confirmed, and no turn is missing', async () => {
    const [first, second] = [
      await network.startCoordinatorProcess(),
      await network.startCoordinatorProcess(),
    ];
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    const began = Date.now();
    const standstill = watchStandstill();
    for (const old of [first, second]) {
      const next = await network.startCoordinatorProcess();
      const known = (await incidentsOf(network.sql, monitor)).length;
      target.answer(broken);
      expect(await old.stop(), old.output()).toBe(0);
      await eventually(async () =>
        (await incidentsOf(network.sql, monitor)).slice(known).some(isConfirmed),
      );
      // What heals before its "down" is released is never told (rule 25).
      await eventually(async () =>
        (await alertsOf(network.sql, monitor)).every(({ state }) => state === 'due'),
      );
      target.answer(fine);
      await eventually(async () => (await incidentsOf(network.sql, monitor)).every(isResolved));
      // Partitions on their way from one owner to the next are nobody's for a moment.
      await eventually(async () => (await fetch(`${next.url}/health`)).status === 200);
    }
    const until = Date.now();
    await eventually(
      async () => Number((await resultsOf(network.sql, monitor)).at(-1)?.at) > until,
    );
    const times = (await resultsOf(network.sql, monitor))
      .map(({ at }) => Number(at))
      .filter((at) => at >= began - 1_500);
    const gaps = times
      .slice(1)
      .map((at, index) => at - (times[index] ?? 0) - standstill.between(times[index] ?? 0, at));
    standstill.stop();
    expect(Math.max(...gaps)).toBeLessThan(4_000);
    const incidents = await incidentsOf(network.sql, monitor);
    expect(incidents.filter(({ confirmed_at }) => confirmed_at !== null)).toHaveLength(2);
    const events = (await alertsOf(network.sql, monitor)).map(({ event }) => event);
    expect(events.toSorted()).toEqual(['down', 'down', 'up', 'up']);
  });
});
