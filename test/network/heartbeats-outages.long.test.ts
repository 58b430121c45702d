import { describe, expect } from 'vitest';
import type { ProbeApp } from '../../probe/app.ts';
import { usualSettlingMs } from '../../probe/schedule/heartbeats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { eventually, passed } from '../support/eventually.ts';
import {
  addHeartbeat,
  call,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  keepTicking,
  ping,
  pingsWritten,
  resultsOf,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { test as plain } from '../support/network-test.ts';

/**
 * What becomes of heartbeats when parts are away: a network of its own for each test, behind a bus
 * that can be cut.
 */

const test = plain
  .extend('network', async ({ task: _ }, { onCleanup }) => {
    const network = await createNetwork({ relayed: {} });
    onCleanup(network.close);
    return network;
  })
  /** With ping receivers. */
  .extend(
    'probes',
    async ({ network }) =>
      [
        await network.addProbe('Africa', 'Africa', receiving),
        await network.addProbe('Asia', 'Asia', receiving),
      ] as const,
  );

/** As long as they really settle: a receiver may be back on the bus well after the one that judges. */
const receiving = { ear: true, pingSettlingMs: usualSettlingMs };

const receiverOf = (probe: ProbeApp | undefined): string => {
  if (!probe?.ear) throw new Error('this probe has no ear');
  return probe.ear;
};

const failures = async ({ sql }: Network, monitor: string): Promise<number> =>
  (await resultsOf(sql, monitor)).filter(({ outcome }) => outcome === 1).length;

describe.concurrent('a heartbeat', () => {
  test('that came while the coordinator was down is kept, counts as of then, and raises no alarm', async ({
    network,
    probes,
  }) => {
    const coordinator = await network.startCoordinator();
    const quiet = await addHeartbeat(network, { grace_s: 16 }, 4);
    const failed = await addHeartbeat(network, {}, 3_600);
    await ping(receiverOf(probes[0]), quiet);
    await ping(receiverOf(probes[0]), failed);
    await pingsWritten(network.sql, quiet.monitor, 1);
    await coordinator.close();

    await ping(receiverOf(probes[1]), failed, '/3');
    await ping(receiverOf(probes[0]), quiet);
    const taken = Date.now();
    // Longer than it may be silent for.
    for (let round = 0; round < 7; round += 1) {
      await passed(3_000);
      await ping(receiverOf(probes[round % 2]), quiet);
    }
    await ping(receiverOf(probes[0]), failed);
    expect(await pingsWritten(network.sql, quiet.monitor, 1)).toHaveLength(1);
    const beating = keepTicking(receiverOf(probes[0]), quiet);
    await network.startCoordinator();
    const pings = await pingsWritten(network.sql, quiet.monitor, 9);
    expect(Number(pings[1]?.at)).toBeLessThan(taken + 1_000);
    expect(await incidentsOf(network.sql, quiet.monitor)).toEqual([]);
    await beating.stop();
    // What failed and was mended meanwhile is told as what it was.
    const past = await incidentThat(network.sql, failed.monitor, isResolved);
    const [, bad, good] = await pingsWritten(network.sql, failed.monitor, 3);
    expect(past).toMatchObject({ started_at: bad?.at, resolved_at: good?.at });
  });

  test('is on the bus although no coordinator was there when the probe that accepted it began', async ({
    network,
    probes,
  }) => {
    const bus = await network.joinBus();
    const coordinator = await network.startCoordinator();
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const [first] = probes;
    await ping(receiverOf(first), heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    await coordinator.close();
    await first.close();
    const again = await network.startProbe(first.made, { ear: true });
    expect((await call(receiverOf(again), heartbeat.token)).status).toBe(200);
    // Nobody tells it the time, and it does not wait for that for long.
    await eventually(
      async () => (await bus.streamState(streams.pings.name))?.messages === 1,
      30_000,
    );
  });

  test('that came to its old address in time counts, although no coordinator was there until after the end of that address', async ({
    network,
    probes,
  }) => {
    const coordinator = await network.startCoordinator();
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(receiverOf(probes[0]), heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    await coordinator.close();
    expect((await call(receiverOf(probes[0]), `${heartbeat.token}/7`)).status).toBe(200);
    // By whose clock the ping is dated may be a little ahead.
    const until = Date.now() + 1_000;
    await network.sql`update beat_tokens set until = ${new Date(until)} where fingerprint = decode(${heartbeat.key}, 'hex')`;
    await passed(1_500);
    await network.startCoordinator();
    expect(await pingsWritten(network.sql, heartbeat.monitor, 2)).toMatchObject([
      { kind: 'success' },
      { exit_code: 7 },
    ]);
    await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
  });

  test('that came while the bus was down is answered, kept on disk by its receiver, and raises no alarm', async ({
    network,
    probes,
  }) => {
    const { relay: proxy } = network;
    const { url } = await network.startCoordinator();
    const heartbeat = await addHeartbeat(network, { grace_s: 12 }, 3);
    for (const address of [url, receiverOf(probes[0]), receiverOf(probes[1])])
      await ping(address, heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 3);

    proxy.cut();
    // Longer than it may be silent for.
    for (let round = 0; round < 10; round += 1) {
      for (const address of [url, receiverOf(probes[0]), receiverOf(probes[1])])
        expect(await call(address, heartbeat.token)).toEqual({ status: 200, text: 'OK' });
      expect((await call(receiverOf(probes[0]), 'an-unknown-token-as-before')).status).toBe(404);
      await passed(1_600);
    }
    expect(await pingsWritten(network.sql, heartbeat.monitor, 3)).toHaveLength(3);
    const beating = keepTicking(receiverOf(probes[0]), heartbeat);
    proxy.heal();
    const pings = await pingsWritten(network.sql, heartbeat.monitor, 33);
    expect(pings.map(({ at }) => Number(at))).toEqual(
      pings.map(({ at }) => Number(at)).toSorted((a, b) => a - b),
    );
    expect(await failures(network, heartbeat.monitor)).toBe(0);
    expect(
      (await incidentsOf(network.sql, heartbeat.monitor)).filter(
        ({ started_at, resolved_at }) => Number(resolved_at) < Number(started_at),
      ),
    ).toEqual([]);
    const more = await beating.stop();
    // It is judged as ever afterwards: silence is an outage again.
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 40_000);
    const last = (await pingsWritten(network.sql, heartbeat.monitor, 33 + more)).at(-1);
    expect(Number(down.started_at)).toBe(Number(last?.at) + 15_000);
  });

  test('that a ping receiver kept on its disk outlives the ping receiver', async ({
    network,
    probes,
  }) => {
    const { relay: proxy } = network;
    await network.startCoordinator();
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    const [first] = probes;
    await ping(receiverOf(first), heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    proxy.cut();
    expect(
      (await call(receiverOf(first), `${heartbeat.token}/5`, { method: 'POST', body: 'kept' }))
        .status,
    ).toBe(200);
    await first.close();
    proxy.heal();
    await network.startProbe(first.made, { ear: true });
    const pings = await pingsWritten(network.sql, heartbeat.monitor, 2);
    expect(pings.at(-1)).toMatchObject({ kind: 'fail', exit_code: 5, body: 'kept' });
    await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
  });

  test('is not late because the bus was wiped: keys and last pings come back from the database', async ({
    network,
    probes,
  }) => {
    const { relay: proxy } = network;
    const bus = await network.joinBus();
    const { url } = await network.startCoordinator();
    const heartbeat = await addHeartbeat(network, { grace_s: 4 }, 6);
    const daily = await addHeartbeat(network, { max_run_s: 600 }, 86_400);
    await ping(receiverOf(probes[0]), heartbeat);
    await ping(receiverOf(probes[0]), daily);
    await ping(receiverOf(probes[0]), daily, '/start');
    await pingsWritten(network.sql, daily.monitor, 2);
    await pingsWritten(network.sql, heartbeat.monitor, 1);

    proxy.cut();
    for (const { name } of Object.values(streams)) await bus.deleteStream(name);
    proxy.heal();
    await eventually(
      async () => (await bus.streamState(streams.lastPings.name))?.messages === 2,
      40_000,
    );
    // The two streams are filled one after the other, in whichever order.
    await eventually(
      async () => (await bus.streamState(streams.pingKeys.name))?.messages === 2,
      40_000,
    );
    for (let round = 0; round < 8; round += 1) {
      await eventually(
        async () =>
          (await call(round % 2 === 0 ? url : receiverOf(probes[1]), heartbeat.token)).status ===
          200,
      );
      await passed(1_500);
    }
    expect(await failures(network, heartbeat.monitor)).toBe(0);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
    expect(await incidentsOf(network.sql, daily.monitor)).toEqual([]);
    // And what is late after that is seen as ever.
    await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 30_000);
  });

  test('is not late although it came while no coordinator was there and the bus was wiped after it', async ({
    network,
    probes,
  }) => {
    const { relay: proxy } = network;
    const bus = await network.joinBus();
    const coordinator = await network.startCoordinator();
    const heartbeat = await addHeartbeat(network, { grace_s: 2 }, 20);
    await ping(receiverOf(probes[0]), heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    await coordinator.close();
    await passed(5_000);
    const called = Date.now();
    expect((await call(receiverOf(probes[0]), heartbeat.token)).status).toBe(200);
    const answered = Date.now();
    proxy.cut();
    for (const { name } of Object.values(streams)) await bus.deleteStream(name);
    proxy.heal();
    await network.startCoordinator();
    // Nothing but the ping receiver knows of the last ping: by the database, it would be late well
    // before.
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 60_000);
    expect(Number(down.started_at) - 22_000).toBeGreaterThan(called - 1_000);
    expect(Number(down.started_at) - 22_000).toBeLessThan(answered + 1_000);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toHaveLength(1);
  });

  test('is not late because the probe that checks it is cut off from the bus, or loses it for a moment', async ({
    network,
    probes,
  }) => {
    const { url } = await network.startCoordinator();
    const heartbeat = await addHeartbeat(network, { grace_s: 1 }, 3);
    await ping(url, heartbeat);
    const own = await network.startRelay();
    // All other probes stay; this one alone, wherever the heartbeat is judged, loses its bus again
    // and again.
    for (const probe of probes) await probe.close();
    const restarted = [];
    for (const { made } of probes)
      restarted.push(await network.startProbe(made, { ear: true, url: own.url }));
    for (let round = 0; round < 10; round += 1) {
      if (round % 3 === 0) own.cut();
      if (round % 3 === 2) own.heal();
      expect((await call(url, heartbeat.token)).status).toBe(200);
      await passed(1_500);
    }
    expect(await failures(network, heartbeat.monitor)).toBe(0);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
    own.heal();
    await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 30_000);
  });
});
