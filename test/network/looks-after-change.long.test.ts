import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { eventually, type Standstill, watchStandstill } from '../support/eventually.ts';
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
import { broken, fine, type Target } from '../support/targets.ts';

/** What people do to monitors while they are checked, and monitors that few may check. */

let network: Network;
let url: string;
let standstill: Standstill;

beforeAll(async () => {
  standstill = watchStandstill();
  network = await createNetwork();
  ({ url } = await network.startCoordinator());
  await network.addProbes('Asia', 'Europe');
});
afterAll(async () => {
  standstill.stop();
  await network.close();
});

const watchBroken = async (): Promise<{ target: Target; monitor: string }> => {
  const target = await network.startTarget();
  target.answer(broken);
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await incidentThat(network.sql, monitor, isConfirmed);
  await eventually(async () => (await alertsOf(network.sql, monitor))[0]?.state === 'due');
  return { target, monitor };
};

const silentFor = async (target: Target, turns: number): Promise<void> => {
  // As long as others are checked so often, this one would have been, too.
  const other = await network.startTarget();
  await network.addMonitor({ target: other.url(), interval_s: 1 });
  // A probe takes changes in order: who checks this one has heard of the one before.
  await eventually(() => new Set(other.hits.map(({ continent }) => continent)).size === 2);
  const before = target.hits.length;
  const from = other.hits.length;
  await eventually(() => other.hits.length >= from + turns);
  expect(target.hits.length).toBe(before);
};

const statusOf = async (
  monitor: string,
): Promise<{ status: string; uptime: { percent: number; down_seconds: number } }> => {
  const answer = await fetch(`${url}/api/v1/monitors/${monitor}/status?days=1`, {
    headers: { authorization: `Bearer ${network.house.owner.readWrite}` },
  });
  expect(answer.status).toBe(200);
  return JSON.parse(await answer.text());
};

/** Asked seldom: a token has so many calls a minute. */
const untilUp = (monitor: string): Promise<boolean> =>
  eventually(async () => (await statusOf(monitor)).status === 'up', 30_000, 250);

describe.concurrent('a monitor', () => {
  test('of an hour is checked as soon as it is created, changed or resumed, once each', async () => {
    const [known, first, second] = [
      await network.startTarget(),
      await network.startTarget(),
      await network.startTarget(),
    ];
    await network.addMonitor({ target: known.url(), interval_s: 1 });
    await eventually(() => new Set(known.hits.map(({ continent }) => continent)).size === 2);
    const monitor = await network.addMonitor({ target: first.url(), interval_s: 3_600 });
    await eventually(async () => (await resultsOf(network.sql, monitor)).length === 1);
    await untilUp(monitor);
    await network.editMonitor(monitor, { target: second.url() });
    await eventually(() => second.hits.length > 0);
    await network.pauseMonitor(monitor, true);
    await network.pauseMonitor(monitor, false);
    await eventually(() => second.hits.length > 1);
    expect([first.hits.length, second.hits.length]).toEqual([1, 2]);
  });

  test('is changed all the same when no coordinator was notified of its outbox line', async () => {
    const target = await network.startTarget();
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 3_600 });
    await eventually(() => target.hits.length > 0);
    const elsewhere = await network.startTarget();
    await network.sql.begin(async (transaction) => {
      await transaction`update monitors set target = ${elsewhere.url()}, config_version = config_version + 1 where id = ${monitor}`;
      const payload = JSON.stringify({ monitor, change: 'edited', what_is_checked_changed: true });
      await transaction`insert into outbox (topic, partition, organisation_id, payload)
        select 'monitor', partition, organisation_id, ${payload}::text::jsonb from monitors where id = ${monitor}`;
    });
    await eventually(() => elsewhere.hits.length > 0);
  });

  test('that is paused during an outage is no longer checked within a second; its incident closes and says why', async () => {
    const { target, monitor } = await watchBroken();
    await network.pauseMonitor(monitor, true);
    const closed = await incidentThat(network.sql, monitor, isResolved);
    expect(closed.note).toBe('the monitor was paused');
    expect((await alertsOf(network.sql, monitor)).map(({ event }) => event)).toEqual([
      'down',
      'closed',
    ]);
    await silentFor(target, 3);
    await network.pauseMonitor(monitor, false);
    await incidentThat(network.sql, monitor, isConfirmed);
    const ledger =
      await network.sql`select ended_at from ledger where monitor_id = ${monitor} and kind = 'paused'`;
    expect(ledger.map(({ ended_at }) => ended_at !== null)).toEqual([true]);
  });

  test('that is deleted and restored is checked again; the time between is a pause, and its outage ended with it', async () => {
    const { target, monitor } = await watchBroken();
    const call = async (method: string, path: string): Promise<number> =>
      (
        await fetch(`${url}/api/v1/monitors/${path}`, {
          method,
          headers: { authorization: `Bearer ${network.house.owner.readWrite}` },
        })
      ).status;
    expect(await call('DELETE', monitor)).toBe(204);
    await silentFor(target, 3);
    target.answer(fine);
    expect(await call('POST', `deleted/${monitor}/restore`)).toBe(200);
    await untilUp(monitor);
    const [incident, ...others] = await incidentsOf(network.sql, monitor);
    expect([incident?.note, others]).toEqual(['the monitor was deleted', []]);
    // Also where the engine hears of both at once.
    const hits = target.hits.length;
    expect(await call('DELETE', monitor)).toBe(204);
    expect(await call('POST', `deleted/${monitor}/restore`)).toBe(200);
    await eventually(() => target.hits.length > hits + 2);
    await untilUp(monitor);
    const rows = await network.sql<{ kind: string; is_open: boolean; began_at: number }[]>`
      select kind, began_at, ended_at is null as is_open from ledger where monitor_id = ${monitor}
      order by began_at, kind`;
    expect(rows.filter(({ kind }) => kind === 'paused').map(({ is_open }) => is_open)).toEqual([
      false,
      false,
    ]);
    expect(rows.filter(({ is_open }) => is_open)).toEqual([]);
    // What was covered before the first deletion stays so.
    const [pause] = rows.filter(({ kind }) => kind === 'paused');
    expect(
      rows.filter(({ kind, began_at }) => kind === 'unknown' && began_at < (pause?.began_at ?? 0))
        .length,
    ).toBeLessThanOrEqual(1);
  });

  test('whose target is edited during an outage is checked at the new one; the incident closes and says why', async () => {
    const { monitor } = await watchBroken();
    const other = await network.startTarget();
    const answers = Promise.withResolvers<void>();
    other.answer({
      is: 'by',
      answer: (_request, response) =>
        void answers.promise.then(() => response.writeHead(200).end('fine')),
    });
    await network.editMonitor(monitor, { target: other.url() });
    const closed = await incidentThat(network.sql, monitor, isResolved);
    expect(closed.note).toBe('what is checked was changed');
    // A look that is not answered ends after ten seconds, and fails.
    expect((await statusOf(monitor)).status).toBe('pending');
    answers.resolve();
    await untilUp(monitor);
    await eventually(() => other.hits.length >= 2);
    expect(
      (await incidentsOf(network.sql, monitor)).filter(({ resolved_at }) => resolved_at === null),
    ).toEqual([]);
  });

  test.each<readonly [string, (monitor: string, other: Target) => Promise<void>]>([
    [
      'whose target is edited',
      (monitor, other) => network.editMonitor(monitor, { target: other.url() }),
    ],
    [
      'that is paused and resumed',
      async (monitor, other) => {
        await network.pauseMonitor(monitor, true);
        await network.sql`update monitors set target = ${other.url()} where id = ${monitor}`;
        await network.pauseMonitor(monitor, false);
      },
    ],
  ])(
    '%s is pending until somebody has looked again, which is at once, and that time is unknown',
    async (_, change) => {
      const first = await network.startTarget();
      const monitor = await network.addMonitor({ target: first.url(), interval_s: 3_600 });
      await untilUp(monitor);
      const other = await network.startTarget();
      const answers = Promise.withResolvers<void>();
      other.answer({
        is: 'by',
        answer: (_request, response) =>
          void answers.promise.then(() => response.writeHead(200).end('fine')),
      });
      await change(monitor, other);
      const seen = [await statusOf(monitor)];
      await eventually(
        async () => {
          seen.push(await statusOf(monitor));
          return other.hits.length > 0;
        },
        30_000,
        250,
      );
      seen.push(await statusOf(monitor));
      expect([...new Set(seen.map(({ status }) => status))]).toEqual(['pending']);
      answers.resolve();
      await untilUp(monitor);
      const gaps = await network.sql<{ lasted: number }[]>`
      select extract(epoch from ended_at - began_at)::float8 as lasted from ledger
      where monitor_id = ${monitor} and kind = 'unknown' order by began_at`;
      // From its making to its first look, and from the change to the look after it: that begins
      // within milliseconds, and a probe whose clock is off by as much leaves no time between.
      expect([1, 2]).toContain(gaps.length);
      expect(gaps.every(({ lasted }) => lasted > 0)).toBe(true);
    },
  );

  test('that is deleted during an outage is no longer checked, and recipients of "down" get "closed"', async () => {
    const { target, monitor } = await watchBroken();
    await network.deleteMonitor(monitor);
    await eventually(async () => (await alertsOf(network.sql, monitor)).length === 2);
    expect((await alertsOf(network.sql, monitor)).map(({ event }) => event)).toEqual([
      'down',
      'closed',
    ]);
    await silentFor(target, 3);
  });

  test('that only one continent may check confirms an outage with two more failures in a row, and no other confirms it', async () => {
    const target = await network.startTarget();
    const continents: Continent[] = ['Europe'];
    // Ten seconds of failures make it sure, and two turns without one make an end of it: with turns
    // of a second, a short standstill is that long.
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 3,
      config: { continents },
    });
    await seenFrom(network.sql, monitor, 1);
    target.answer(broken);
    const confirmed = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    expect(confirmed).toMatchObject({ seen_continent: 'Europe', confirmed_continent: null });
    expect(
      (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).length,
    ).toBeGreaterThanOrEqual(3);
    expect(target.hits.every(({ continent }) => continent === 'Europe')).toBe(true);
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 40_000);
  });

  test('is checked once an interval in all, evenly from its continents in turn', async () => {
    const target = await network.startTarget();
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    const from = target.hits.length;
    /**
     * Neighbours that nothing held up: by how much the second came later, and whether it came from
     * elsewhere.
     */
    const onTime = () =>
      target.hits.slice(from).flatMap((hit, index, hits) => {
        const next = hits[index + 1];
        if (!next || standstill.between(hit.at - 200, next.at) > 0) return [];
        return [{ gap: next.at - hit.at, isFromElsewhere: next.continent !== hit.continent }];
      });
    await eventually(() => onTime().length >= 4, 60_000);
    for (const { gap, isFromElsewhere } of onTime()) {
      expect(Math.abs(gap - 1_000)).toBeLessThan(300);
      expect(isFromElsewhere).toBe(true);
    }
  });

  test('that fails from one continent all the time has 100 % uptime, one unconfirmed incident and no alert', async () => {
    const target = await network.startTarget();
    target.answer(broken, ['Asia']);
    // Two turns without a failure make an end of it: with turns of a second, a short standstill is
    // that long.
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 3 });
    await eventually(
      async () =>
        (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).length >= 4,
      60_000,
    );
    const known = await incidentsOf(network.sql, monitor);
    // Where a bus stood still for a while, one may have ended as no longer observed before the next
    // failure came through.
    const asExpected = { confirmed_at: null, seen_continent: 'Asia' };
    expect(known).toMatchObject(mayBusStandStill() ? known.map(() => asExpected) : [asExpected]);
    expect(known.at(-1)?.resolved_at).toBeNull();
    expect(await alertsOf(network.sql, monitor)).toEqual([]);
    expect(await statusOf(monitor)).toMatchObject({
      status: 'verifying',
      uptime: { percent: 100, down_seconds: 0 },
    });
  });
});
