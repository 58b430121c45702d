import { describe, expect } from 'vitest';
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
  watch,
} from '../support/monitors.ts';
import type { CoordinatorProcess, Network } from '../support/network.ts';
import { test } from '../support/network-test.ts';
import { speakAs } from '../support/probes.ts';
import { mayBusStandStill } from '../support/services.ts';
import { repeatedChecks } from '../support/stored-checks.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * Several coordinators, equal, as processes: one is killed, frozen and thawed, replaced. Together
 * they hold one rate limit, and know which looks are still wanted.
 */

type Place = { readonly network: Network; readonly target: Target };

/** Settles when each owner whose lease is in force holds so many partitions. */
const shared = ({ sql }: Network, ...shares: readonly number[]) =>
  eventually(async () => {
    const rows = await sql<{ held: number }[]>`
      select count(*) as held from leases where expires_at > now() and owner is not null group by owner order by held desc`;
    return rows.map(({ held }) => held).join() === shares.join();
  });

const startTwo = async (
  { startCoordinatorProcess }: Network,
  more: Readonly<Record<string, string>> = {},
) => [await startCoordinatorProcess(more), await startCoordinatorProcess(more)] as const;

/** Two that share the partitions, and probes of two continents that check eight monitors. */
const begin = async (place: Place) => {
  const coordinators = await startTwo(place.network);
  await shared(place.network, 16, 16);
  await place.network.addProbes('Asia', 'Europe');
  return { coordinators, all: await monitors(place, 8) };
};

/**
 * Whose lease on the monitor's partition is in force: the name that a coordinator writes into its
 * log is not needed for that.
 */
const ownerOf = async ({ sql }: Network, monitor: string): Promise<string | undefined> => {
  const [row] = await sql<{ owner: string }[]>`
    select owner from leases where partition = ${partitionOf(monitor)} and expires_at > now() and owner is not null`;
  return row?.owner;
};

const monitors = async ({ network, target }: Place, count: number): Promise<string[]> => {
  const made = [];
  for (let index = 0; index < count; index += 1)
    made.push(await network.addMonitor({ target: target.url(`/${index}`), interval_s: 1 }));
  for (const monitor of made) await seenFrom(network.sql, monitor, 2);
  return made;
};

/** Every check that a target saw is a result in the database, once. */
const nothingLostNothingDoubled = async (
  { network, target }: Place,
  all: readonly string[],
): Promise<void> => {
  const seen = target.hits.filter(({ at }) => at < Date.now() - 2_000).length;
  const stored = async () =>
    (await Promise.all(all.map((monitor) => resultsOf(network.sql, monitor)))).flat();
  await eventually(async () => (await stored()).length >= seen, 40_000);
  expect(await repeatedChecks(network.sql)).toEqual([]);
  const rows = (
    await Promise.all(
      all.map(async (monitor) =>
        (await resultsOf(network.sql, monitor)).map((row) => ({ ...row, monitor })),
      ),
    )
  ).flat();
  expect(
    new Set(rows.map(({ monitor, continent, at }) => `${monitor} ${continent} ${Number(at)}`)).size,
  ).toBe(rows.length);
  // A check that was held up may have said so before it came to the target.
  expect(rows.filter(({ outcome }) => outcome !== 2).length).toBeLessThanOrEqual(
    target.hits.length,
  );
};

describe.concurrent('several coordinators', () => {
  test('share the partitions evenly, and again when one stops; nothing is lost on the way', async ({
    network,
    target,
  }) => {
    const { coordinators, all } = await begin({ network, target });
    const [first, second] = coordinators;
    const third = await network.startCoordinatorProcess();
    await shared(network, 11, 11, 10);
    expect(await first.stop(), first.output()).toBe(0);
    await shared(network, 16, 16);
    expect(await second.stop(), second.output()).toBe(0);
    await shared(network, 32);
    await nothingLostNothingDoubled({ network, target }, all);
    // Where nobody leads the streams for a while, that is an error which it tells.
    if (!mayBusStandStill()) expect(third.output()).not.toContain('"level":50');
  });

  test('take over from one that was killed, and an outage in that time is confirmed once', async ({
    network,
    target,
  }) => {
    const { coordinators, all } = await begin({ network, target });
    const [first] = coordinators;
    first.signal('SIGKILL');
    target.answer(broken);
    await shared(network, 32);
    for (const monitor of all) await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    for (const monitor of all)
      await eventually(async () => (await alertsOf(network.sql, monitor)).length === 1, 40_000);
    for (const monitor of all)
      expect((await incidentsOf(network.sql, monitor)).filter(isConfirmed)).toHaveLength(1);
    await nothingLostNothingDoubled({ network, target }, all);
  });

  test('take over from one that was frozen, which after its thaw writes nothing, alerts no one and takes its share again', async ({
    network,
    target,
  }) => {
    const { coordinators, all } = await begin({ network, target });
    const [first] = coordinators;
    first.signal('SIGSTOP');
    target.answer(broken);
    await shared(network, 32);
    for (const monitor of all) await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    first.signal('SIGCONT');
    await shared(network, 16, 16);
    target.answer(fine);
    for (const monitor of all) await incidentThat(network.sql, monitor, isResolved, 30_000);
    for (const monitor of all) {
      const incidents = (await incidentsOf(network.sql, monitor)).filter(
        ({ confirmed_at }) => confirmed_at !== null,
      );
      expect(incidents).toHaveLength(1);
      expect(
        (await alertsOf(network.sql, monitor)).filter(({ event }) => event === 'down').length,
      ).toBeLessThanOrEqual(1);
    }
    // Nobody was taken for lost because one of us stood still.
    expect(await network.sql`select kind from notices where kind <> 'time_zones_old'`).toEqual([]);
    await nothingLostNothingDoubled({ network, target }, all);
  });

  test('hold one limit of calls, also when the one that counted them is killed', async ({
    network,
  }) => {
    const limit = { RATE_LIMIT_PER_MINUTE: '30' };
    const [first, second] = await startTwo(network, limit);
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

  test('take over an open incident whose coordinator died: the others are asked again, and it is confirmed and notified once', async ({
    network,
    target,
  }) => {
    const first = await network.startCoordinatorProcess();
    await network.addProbes('Asia', 'Europe');
    target.answer(broken, ['Europe']);
    // Its turns come once an hour: whatever is seen of it after the first failure is seen because
    // somebody asked.
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 3_600 });
    await eventually(() => ownerOf(network, monitor));
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

  test('are upgraded one by one without a gap: outages meanwhile are confirmed, and no turn is missing', async ({
    network,
  }) => {
    const coordinators = await startTwo(network);
    await network.addProbes('Asia', 'Europe');
    const { target, monitor } = await watch(network);
    const began = Date.now();
    const standstill = watchStandstill();
    for (const old of coordinators) {
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
