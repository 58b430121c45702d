import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endPingTokens } from '../../coordinator/monitors/queries.ts';
import type { ProbeApp } from '../../probe/app.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { isPublic, parseAddress } from '../../shared/base/network.ts';
import { presenceMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import {
  addHeartbeat,
  alertsOf,
  call,
  deltaOf,
  deltaSubject,
  downIsSent,
  type Heartbeat,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  ping,
  publishedFor,
  resultsOf,
} from '../support/monitors.ts';
import { createNetwork, type MadeProbe, type Network, quickResync } from '../support/network.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * An installation where the host of one probe allows private ranges and those of two others do not
 * (rules 1, 5 and 14).
 */

const isInside = (text: string): boolean => {
  const address = parseAddress(text);
  return address !== undefined && !isPublic(address);
};
/** Where this machine's own name leads, if that is inside its network as nearly everywhere. */
const home = await lookup(hostname(), 4)
  .then(({ address }) => (isInside(address) ? address : undefined))
  .catch(() => undefined);

/**
 * A probe that holds something else than the database wants it to: presence tells, and it is
 * mended.
 */
describe.concurrent('a probe', () => {
  let network: Network;
  let bus: Bus;

  beforeAll(async () => {
    network = await createNetwork();
    await network.startCoordinator({ timing: { digestMs: 500, ...quickResync() } });
    bus = await network.joinBus(true);
  });
  afterAll(() => network.close());

  const last = async (subject: string): Promise<Uint8Array | undefined> =>
    (await bus.last(streams.assignments.name, subject))?.data;

  /** A monitor of an hour that the probes of its continents hold and have looked at. */
  const addHourly = async (
    target: Target,
    continent: Continent,
    probe: MadeProbe,
  ): Promise<string> => {
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 1,
      config: { continents: [continent] },
    });
    await eventually(() => target.hits.length > 1, 40_000);
    await network.editMonitor(monitor, { interval_s: 3_600 });
    await eventually(async () => {
      const said = await publishedFor(bus, continent, monitor);
      return said?.interval_ms === 3_600_000;
    });
    await everythingTaken(probe);
    return monitor;
  };

  const everythingTaken = (probe: MadeProbe) =>
    eventually(async () => {
      const { name } = probeConsumers.assignments(probe.id, '');
      const state = await bus.consumerState(streams.assignments.name, name);
      return state?.pending === 0 && state.unacknowledged === 0;
    });

  test('whose copy differs by its interval alone gets it again, also where the bus itself had it wrong', async () => {
    const probe = await network.addProbe('Europe');
    const target = await network.startTarget();
    const monitor = await addHourly(target, 'Europe', probe.made);
    const from = target.hits.length;
    await network.sql`update monitors set interval_s = 1 where id = ${monitor}`;
    await eventually(() => target.hits.length > from + 4, 90_000);
    await probe.close();
  });

  test('that missed a message for good gets it all the same', async () => {
    const probe = await network.addProbe('Asia');
    const target = await network.startTarget();
    const monitor = await addHourly(target, 'Asia', probe.made);
    await probe.close();
    await network.sql`update monitors set interval_s = 1 where id = ${monitor}`;
    await network.editMonitor(monitor, {});
    const consumer = probeConsumers.assignments(probe.made.id, '').name;
    const taken = Promise.withResolvers<void>();
    const thief = bus.pull({
      stream: streams.assignments.name,
      consumer,
      batch: 10,
      onMessages: async (messages) => {
        for (const message of messages) message.ack();
        if (messages.some(({ subject }) => subject.endsWith(monitor))) taken.resolve();
      },
    });
    await taken.promise;
    await eventually(
      async () =>
        (await bus.consumerState(streams.assignments.name, consumer))?.unacknowledged === 0,
    );
    await thief.stop();
    const from = target.hits.length;
    const again = await network.startProbe(probe.made);
    await eventually(() => target.hits.length > from + 3, 90_000);
    await again.close();
  });

  test('with a monitor that the database does not have drops it', async () => {
    const [target, known] = [await network.startTarget(), await network.startTarget()];
    const probe = await network.addProbe('Africa');
    const monitor = await network.addMonitor({
      target: known.url(),
      interval_s: 1,
      config: { continents: ['Africa'] },
    });
    const assignment = await eventually(() => publishedFor(bus, 'Africa', monitor));
    const stranger = newId();
    const where = deltaOf('Africa', { monitor: stranger, ordinal: assignment.ordinal });
    await eventually(() => known.hits.length > 0);
    await eventually(() =>
      bus.store(where, JSON.stringify({ ...assignment, monitor: stranger, target: target.url() })),
    );
    // It may be dropped before it was checked twice, or at all.
    await eventually(async () => target.hits.length > 0 || (await last(where)) === undefined);
    await eventually(async () => (await last(where)) === undefined, 90_000);
    await everythingTaken(probe.made);
    // As long as the known one is checked so often, the stranger would have been, too.
    const settled = target.hits.length + 1;
    const from = known.hits.length;
    await eventually(() => known.hits.length > from + 4, 40_000);
    expect(target.hits.length).toBeLessThanOrEqual(settled);
    await probe.close();
  });
});

/**
 * A probe that was away for longer than a tombstone lies on the bus: nothing there tells it any
 * more what was deleted meanwhile.
 */
describe.concurrent('a probe that comes back after deletion markers were removed from the bus', () => {
  let network: Network;
  let bus: Bus;

  beforeAll(async () => {
    network = await createNetwork();
    await network.startCoordinator({
      timing: { digestMs: 500, housekeepMs: 300, tombstoneMs: 1_500, ...quickResync() },
    });
    bus = await network.joinBus();
  });
  afterAll(() => network.close());

  const receiverOf = ({ ear }: ProbeApp): string => {
    if (ear === null) throw new Error('this probe has no ear');
    return ear;
  };

  const everythingTaken = (probe: MadeProbe) =>
    eventually(async () => {
      const { name } = probeConsumers.assignments(probe.id, '');
      const [assigned, keys] = await Promise.all([
        bus.consumerState(streams.assignments.name, name),
        bus.consumerState(streams.pingKeys.name, probeConsumers.pingKeys(probe.id, null).name),
      ]);
      return [assigned, keys].every((state) => state?.pending === 0 && state.unacknowledged === 0);
    });

  /** How many monitors the probe says it holds, each time that it says so. */
  const countsSaid = (probe: MadeProbe) => {
    const counts: number[] = [];
    const hearing = bus.subscribe(subjects.presence(probe.id), ({ data }) => {
      counts.push(
        presenceMessage.parse(JSON.parse(new TextDecoder().decode(data))).assignments.count,
      );
    });
    return { counts, stop: hearing.stop };
  };

  /** Deletes them, and settles when the bus holds no trace of them. */
  const deleteForGood = async (
    continent: Continent,
    monitor: string,
    heartbeat: Heartbeat,
  ): Promise<void> => {
    await network.sql.begin((tx) => endPingTokens(tx, network.organisation, [heartbeat.monitor]));
    await network.deleteMonitor(monitor);
    await network.deleteMonitor(heartbeat.monitor);
    for (const gone of [monitor, heartbeat.monitor]) {
      await eventually(async () => (await publishedFor(bus, continent, gone)) === null);
      await bus.purge(streams.assignments.name, deltaSubject(continent, gone));
    }
    const key = subjects.pingKey(network.organisation, heartbeat.key);
    await eventually(
      async () => (await bus.last(streams.pingKeys.name, key)) === undefined,
      30_000,
    );
  };

  const addPair = async (
    continent: Continent,
    ear: string,
  ): Promise<{ monitor: string; heartbeat: Heartbeat }> => {
    const target = await network.startTarget();
    const config = { continents: [continent] };
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1, config });
    const heartbeat = await addHeartbeat(network, config, 3_600);
    await ping(ear, heartbeat);
    await eventually(() => target.hits.length > 0, 40_000);
    return { monitor, heartbeat };
  };

  test('drops what was deleted, and its ping receiver the keys, although the bus has nothing for it any more', async () => {
    const probe = await network.addProbe('Europe', 'europe', { ear: true });
    const { monitor, heartbeat } = await addPair('Europe', receiverOf(probe));
    await everythingTaken(probe.made);
    await probe.close();
    await deleteForGood('Europe', monitor, heartbeat);
    const said = countsSaid(probe.made);
    const again = await network.startProbe(probe.made, { ear: true });
    await eventually(() => said.counts.at(-1) === 0, 90_000);
    // It had come back with what it held when it went.
    expect(said.counts[0]).toBe(2);
    await eventually(
      async () => (await call(receiverOf(again), heartbeat.token)).status === 404,
      90_000,
    );
    said.stop();
    await again.close();
  });

  test('keeps what is still there', async () => {
    const probe = await network.addProbe('Asia', 'asia', { ear: true });
    const gone = await addPair('Asia', receiverOf(probe));
    const kept = await addPair('Asia', receiverOf(probe));
    await everythingTaken(probe.made);
    await probe.close();
    await deleteForGood('Asia', gone.monitor, gone.heartbeat);
    const said = countsSaid(probe.made);
    const again = await network.startProbe(probe.made, { ear: true });
    await eventually(() => said.counts.at(-1) === 2, 90_000);
    expect(said.counts[0]).toBe(4);
    await eventually(
      async () => (await call(receiverOf(again), gone.heartbeat.token)).status === 404,
      90_000,
    );
    expect((await call(receiverOf(again), kept.heartbeat.token)).status).toBe(200);
    said.stop();
    await again.close();
  });
});

describe.concurrent('private addresses', () => {
  let network: Network;
  const strangers: readonly Continent[] = ['Africa', 'Europe'];

  beforeAll(async () => {
    network = await createNetwork();
    await network.startCoordinator();
    await network.addProbe('Asia', 'Asia', {
      allow: ['127.0.0.0/8', ...(home === undefined ? [] : [home])].join(),
    });
    for (const continent of strangers) await network.addProbe(continent, continent, { allow: '' });
  });
  afterAll(() => network.close());

  test('a private address is checked by the probe that may, as often as was asked for, and its outage confirmed by it alone', async () => {
    const target = await network.startTarget();
    // Ten seconds of failures make it sure, and two turns without one make an end of it: with turns
    // of a second, a short standstill is that long.
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 3 });
    await eventually(async () => (await resultsOf(network.sql, monitor)).length >= 5, 60_000);
    target.answer(broken);
    expect(await incidentThat(network.sql, monitor, isConfirmed, 60_000)).toMatchObject({
      confirmed_continent: null,
    });
    await downIsSent(network.sql, monitor);
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 60_000);
    const results = await resultsOf(network.sql, monitor);
    expect(new Set(results.map(({ continent }) => continent))).toEqual(new Set(['Asia']));
    expect((await alertsOf(network.sql, monitor)).map(({ event }) => event)).toEqual([
      'down',
      'up',
    ]);
  });

  test('a private probe whose host allows it no longer says nothing about its target: nothing is confirmed by it alone, and the operator is shown', async () => {
    const target = await network.startTarget();
    const made = await network.makeProbe('Asia', 'office', network.organisation);
    const before = await network.startProbe(made);
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 1,
      config: { probe: made.id },
    });
    const seen = async (outcome: number) =>
      (await resultsOf(network.sql, monitor)).filter((each) => each.outcome === outcome).length;
    await eventually(async () => (await seen(0)) >= 2, 60_000);
    await before.close();
    const after = await network.startProbe(made, { allow: '' });
    await eventually(async () => (await seen(2)) >= 3, 60_000);
    await eventually(
      async () =>
        (
          await network.sql`select 1 from notices where kind = 'nobody_can_check' and ended_at is null`
        ).length > 0,
      60_000,
    );
    expect(await seen(1)).toBe(0);
    expect(await incidentsOf(network.sql, monitor)).toEqual([]);
    await after.close();
  });

  test.skipIf(!home)(
    'a name that resolves to one is unknown to probes without access: no incident, and none to be confirmed',
    async () => {
      const open = await network.startTarget({ host: '0.0.0.0' });
      const monitor = await network.addMonitor({
        target: `http://${hostname()}:${open.port}/`,
        interval_s: 1,
      });
      const from = async (continent: Continent) =>
        (await resultsOf(network.sql, monitor)).filter((each) => each.continent === continent);
      for (const continent of strangers)
        await eventually(async () => (await from(continent)).length >= 3, 60_000);
      for (const continent of strangers)
        expect(new Set((await from(continent)).map(({ outcome }) => outcome))).toEqual(
          new Set([2]),
        );
      await eventually(async () => (await from('Asia')).some(({ outcome }) => outcome === 0));
      expect(await incidentsOf(network.sql, monitor)).toEqual([]);
    },
    240_000,
  );
});
