import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  alertsOf,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  seenFrom,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { mayBusStandStill } from '../support/services.ts';
import { repeatedChecks } from '../support/stored-checks.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** Several coordinators, equal, as processes: one is killed, frozen and thawed, replaced. */

type Place = { readonly network: Network; readonly target: Target };

const begin = async (atEnd: (end: () => Promise<void>) => void): Promise<Place> => {
  const network = await createNetwork();
  atEnd(network.close);
  return { network, target: await network.startTarget() };
};

/** How many partitions each owner holds whose lease is in force. */
const shares = async ({ network }: Place): Promise<number[]> => {
  const rows = await network.sql<{ held: number }[]>`
    select count(*) as held from leases where expires_at > now() and owner is not null group by owner order by held desc`;
  return rows.map(({ held }) => held);
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
    onTestFinished,
  }) => {
    const place = await begin(onTestFinished);
    const { network } = place;
    const [first, second] = [
      await network.startCoordinatorProcess(),
      await network.startCoordinatorProcess(),
    ];
    await eventually(async () => (await shares(place)).join() === '16,16');
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const all = await monitors(place, 8);
    const third = await network.startCoordinatorProcess();
    await eventually(async () => (await shares(place)).join() === '11,11,10');
    expect(await first.stop(), first.output()).toBe(0);
    await eventually(async () => (await shares(place)).join() === '16,16');
    expect(await second.stop(), second.output()).toBe(0);
    await eventually(async () => (await shares(place)).join() === '32');
    await nothingLostNothingDoubled(place, all);
    // Where nobody leads the streams for a while, that is an error which it tells.
    if (!mayBusStandStill()) expect(third.output()).not.toContain('"level":50');
  });

  test('take over from one that was killed, and an outage in that time is confirmed once', async ({
    onTestFinished,
  }) => {
    const place = await begin(onTestFinished);
    const { network, target } = place;
    const [first] = [
      await network.startCoordinatorProcess(),
      await network.startCoordinatorProcess(),
    ];
    await eventually(async () => (await shares(place)).join() === '16,16');
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const all = await monitors(place, 8);
    first.signal('SIGKILL');
    target.answer(broken);
    await eventually(async () => (await shares(place)).join() === '32');
    for (const monitor of all) await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    for (const monitor of all)
      await eventually(async () => (await alertsOf(network.sql, monitor)).length === 1, 40_000);
    for (const monitor of all)
      expect((await incidentsOf(network.sql, monitor)).filter(isConfirmed)).toHaveLength(1);
    await nothingLostNothingDoubled(place, all);
  });

  test('take over from one that was frozen, which after its thaw writes nothing, alerts no one and takes its share again', async ({
    onTestFinished,
  }) => {
    const place = await begin(onTestFinished);
    const { network, target } = place;
    const [first] = [
      await network.startCoordinatorProcess(),
      await network.startCoordinatorProcess(),
    ];
    await eventually(async () => (await shares(place)).join() === '16,16');
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const all = await monitors(place, 8);
    first.signal('SIGSTOP');
    target.answer(broken);
    await eventually(async () => (await shares(place)).join() === '32');
    for (const monitor of all) await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    first.signal('SIGCONT');
    await eventually(async () => (await shares(place)).join() === '16,16');
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
    await nothingLostNothingDoubled(place, all);
  });
});
