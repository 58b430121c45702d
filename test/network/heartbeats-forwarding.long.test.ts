import { describe, expect } from 'vitest';
import { createTcpProxy } from '../support/connections.ts';
import { passed } from '../support/eventually.ts';
import {
  addHeartbeat,
  call,
  type Heartbeat,
  incidentsOf,
  incidentThat,
  isConfirmed,
  ping,
  pingsWritten,
  resultsOf,
  type StoredPing,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { test as plain } from '../support/network-test.ts';
import { mayBusStandStill } from '../support/services.ts';

/**
 * A ping receiver that is cut off from the bus, but not from the world: people reach it, and it
 * reaches the coordinator's own address.
 */

const test = plain
  /** Where coordinators listen, and everybody's way there. */
  .extend('coordinator', () => ({ url: '' }))
  .extend('web', ({ coordinator }) => createTcpProxy(() => coordinator.url))
  .extend('network', async ({ coordinator, web }, { onCleanup }) => {
    const network = await createNetwork({ baseUrl: web.through('http://coordinator') });
    onCleanup(async () => {
      await network.close();
      await web.close();
    });
    coordinator.url = (await network.startCoordinator()).url;
    return network;
  })
  /** Africa's way to the bus. */
  .extend('bus', ({ network }) => network.startRelay())
  /** The address of Africa's ping receiver. */
  .extend('ear', async ({ network, bus }) => {
    const { ear } = await network.addProbe('Africa', 'Africa', { ear: true, url: bus.url });
    await network.addProbes('Asia', 'Europe');
    return ear ?? '';
  });

/** Between which instants a ping came. */
type Came = { readonly from: number; readonly to: number };

/** The job pings only this ping receiver. */
const pingFor = async (ear: string, { token }: Heartbeat, rounds: number): Promise<Came[]> => {
  const times: Came[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const from = Date.now();
    expect(await call(ear, token, { method: 'POST', body: `round ${round}` })).toEqual({
      status: 200,
      text: 'OK',
    });
    times.push({ from, to: Date.now() });
    await passed(1_000);
  }
  return times;
};

const failures = async (network: Network, monitor: string): Promise<number> =>
  (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).length;

/** The clock of a probe is corrected by a measured offset, which is a few milliseconds off. */
const offBy = 250;

const atTheirTimes = (pings: readonly StoredPing[], times: readonly Came[]): void => {
  expect(pings).toHaveLength(times.length);
  for (const [index, { from, to }] of times.entries()) {
    expect(Number(pings[index]?.at), `beat ${index}`).toBeGreaterThan(from - offBy);
    expect(Number(pings[index]?.at), `beat ${index}`).toBeLessThan(to + offBy);
  }
};

describe.concurrent('a heartbeat whose job pings a ping receiver that is cut off from the bus', () => {
  test('is not late while the ping receiver reaches the coordinator’s address, and each ping counts once, with its own time', async ({
    network,
    bus,
    ear,
  }) => {
    // It goes on for longer than a ping may be late; a bus may stand still for longer than two
    // seconds.
    const [grace_s, rounds] = mayBusStandStill() ? [16, 26] : [2, 14];
    const heartbeat = await addHeartbeat(network, { grace_s }, 4);
    await ping(ear, heartbeat, '', { method: 'POST', body: 'before' });
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    bus.cut();
    const times = await pingFor(ear, heartbeat, rounds);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
    // They are there before the bus is back.
    const written = await pingsWritten(network.sql, heartbeat.monitor, rounds + 1);
    expect(written.map(({ body }) => body)).toEqual([
      'before',
      ...times.map((_, round) => `round ${round}`),
    ]);
    expect(await failures(network, heartbeat.monitor)).toBe(0);

    bus.heal();
    const after = await pingFor(ear, heartbeat, 6);
    const [, ...all] = await pingsWritten(network.sql, heartbeat.monitor, rounds + 7);
    atTheirTimes(all, [...times, ...after]);
    expect(new Set(all.map(({ ear: taker }) => taker))).toEqual(new Set(['Africa']));
    expect(await failures(network, heartbeat.monitor)).toBe(0);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
    // And silence is an outage as ever.
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed, 40_000);
    const last = (await pingsWritten(network.sql, heartbeat.monitor, rounds + 7)).at(-1);
    expect(Number(down.started_at)).toBe(Number(last?.at) + 4_000 + grace_s * 1_000);
    expect(await pingsWritten(network.sql, heartbeat.monitor, rounds + 7)).toHaveLength(rounds + 7);
  });

  test('is kept while neither the bus nor the coordinator’s address can be reached, and sent by whichever is back', async ({
    network,
    bus,
    web,
    ear,
  }) => {
    const heartbeat = await addHeartbeat(network, { grace_s: 600 }, 3_600);
    await ping(ear, heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    bus.cut();
    web.cut();
    const times = await pingFor(ear, heartbeat, 4);
    expect(await pingsWritten(network.sql, heartbeat.monitor, 1)).toHaveLength(1);
    web.heal();
    const [, ...kept] = await pingsWritten(network.sql, heartbeat.monitor, 5);
    atTheirTimes(kept, times);

    web.cut();
    await pingFor(ear, heartbeat, 2);
    bus.heal();
    expect(
      (await pingsWritten(network.sql, heartbeat.monitor, 7)).map(({ body }) => body).slice(5),
    ).toEqual(['round 0', 'round 1']);
    expect(await incidentsOf(network.sql, heartbeat.monitor)).toEqual([]);
  });

  test('fails at once by what its job says there, and is mended there', async ({
    network,
    bus,
    ear,
  }) => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(ear, heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    bus.cut();
    expect(
      (await call(ear, `${heartbeat.token}/7`, { method: 'POST', body: 'no room' })).status,
    ).toBe(200);
    const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
    expect((await call(ear, heartbeat.token)).status).toBe(200);
    const [, bad, good] = await pingsWritten(network.sql, heartbeat.monitor, 3);
    expect(bad).toMatchObject({ exit_code: 7, body: 'no room', ear: 'Africa' });
    const mended = await incidentThat(
      network.sql,
      heartbeat.monitor,
      ({ resolved_at }) => resolved_at !== null,
    );
    expect([down.started_at, mended.resolved_at]).toEqual([bad?.at, good?.at]);
  });
});
