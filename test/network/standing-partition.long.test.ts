import { describe, expect, test } from 'vitest';
import { connectBus } from '../../shared/bus/nats.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isConfirmed, seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network, testLog } from '../support/network.ts';
import { broken } from '../support/targets.ts';

/**
 * A partition that waits for something that does not come, while its coordinator lives, renews its
 * lease and answers.
 */

type AtEnd = (end: () => Promise<void>) => void;

test.concurrent('a partition whose message stalls is restarted, health says so meanwhile, and its outage is found', async ({
  onTestFinished,
}) => {
  const network = await createNetwork();
  onTestFinished(network.close);
  const { sql } = network;
  const coordinator = await network.startCoordinator({
    timing: { stallMs: 1_000, watchdogMs: 100, stalledMs: 300 },
  });
  for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
  const target = await network.startTarget();
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(sql, monitor, 2);
  const health = async () => (await fetch(`${coordinator.url}/health`)).status;
  await eventually(async () => (await health()) === 200);
  const epochs = async () => {
    const [row] = await sql<{ epoch: number }[]>`
      select l.epoch from leases l join monitors m on m.partition = l.partition where m.id = ${monitor}`;
    return row?.epoch ?? 0;
  };
  const before = await epochs();

  const isFreed = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const held = sql.begin(async (transaction) => {
    await transaction`set local idle_in_transaction_session_timeout = 0`;
    // Whoever opens an incident waits for its organisation; leases go on.
    await transaction`select 1 from organisations for update`;
    isHeld.resolve();
    await isFreed.promise;
  });
  await isHeld.promise;
  target.answer(broken);
  await eventually(async () => (await health()) === 503);
  await eventually(async () => (await epochs()) > before);
  isFreed.resolve();
  await held;
  await incidentThat(sql, monitor, isConfirmed, 30_000);
  await eventually(async () => (await health()) === 200);
});

type Place = {
  readonly network: Network;
  readonly proxy: TcpProxy;
  /**
   * From now on connections up to this one are to that server: it takes what is published, and
   * answers nothing about streams. Without a number it is the connection of the one coordinator,
   * which may have been made anew on a slow machine.
   */
  readonly deafen: (upTo?: number) => void;
};

const begin = async (atEnd: AtEnd): Promise<Place> => {
  let newest = 0;
  let isDeaf = (_call: number): boolean => false;
  const garble = (data: Buffer, call: number): Buffer => {
    const text = data.toString('latin1');
    // Coordinators alone poll results.
    if (text.includes('$JS.API.CONSUMER.MSG.NEXT.RESULTS.')) newest = Math.max(newest, call);
    return isDeaf(call) ? Buffer.from(text.replaceAll('$JS.API.', '$JX.API.'), 'latin1') : data;
  };
  const made: TcpProxy[] = [];
  const network = await createNetwork({
    busVia: async (url) => {
      const proxy = await createTcpProxy(url, { garble });
      made.push(proxy);
      return proxy.url;
    },
  });
  // Somebody hears it, so that nobody is told that nobody listens.
  const { url, coordinatorCredentials: credentials } = network.account;
  const silent = await connectBus({
    url,
    credentials,
    name: 'silent',
    log: testLog(),
    firstConnectionMs: 10_000,
  });
  silent.subscribe('$JX.>', () => undefined);
  const [proxy] = made;
  if (!proxy) throw new Error('nobody asked for the way to the bus');
  atEnd(async () => {
    await network.close();
    await silent.close();
    await proxy.close();
  });
  const deafen = (upTo?: number): void => {
    const own = newest;
    isDeaf = (call) => (upTo === undefined ? call === own : call <= upTo);
  };
  return { network, proxy, deafen };
};

describe.concurrent('a server of the bus that has lost the others', () => {
  const isWell = async (url: string): Promise<boolean> =>
    (await fetch(`${url}/health`)).status === 200;

  test('is left for another', async ({ onTestFinished }) => {
    const { network, deafen } = await begin(onTestFinished);
    const coordinator = await network.startCoordinator({ timing: { stalledMs: 2_000 } });
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const target = await network.startTarget();
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    await eventually(() => isWell(coordinator.url));
    deafen();
    await eventually(async () => !(await isWell(coordinator.url)), 30_000);
    await eventually(() => isWell(coordinator.url), 40_000);
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed, 30_000);
  });

  // So that nothing but the partitions notices. Below the 5 s after which a question to the bus
  // ends, so that its partitions stand; not much below, as each one that is given up waits for such
  // an end, and three times must fit into ten times this, on a full machine, too.
  const timing = { stallMs: 4_000, stalledMs: 600_000 };

  /** Monitors that change all the while: each change asks the bus what it holds. */
  const changeMonitors = async (
    network: Network,
    url: string,
    atEnd: AtEnd,
  ): Promise<{ readonly stop: () => void }> => {
    const made: string[] = [];
    for (let count = 0; count < 8; count += 1)
      made.push(
        await network.addMonitor({
          target: `${url}${count}`,
          interval_s: 10,
          config: { continents: ['Asia'] },
        }),
      );
    let interval_s = 10;
    const changing = setInterval(() => {
      interval_s = interval_s === 10 ? 20 : 10;
      for (const id of made) void network.editMonitor(id, { interval_s });
    }, 500);
    const stop = (): void => clearInterval(changing);
    atEnd(async () => stop());
    return { stop };
  };

  test('is left by a coordinator whose partitions stalled three times, also where no other can hold them', async ({
    onTestFinished,
  }) => {
    const { network, proxy, deafen } = await begin(onTestFinished);
    const coordinator = await network.startCoordinator({ timing });
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const target = await network.startTarget();
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    await eventually(() => isWell(coordinator.url));
    const changes = await changeMonitors(network, target.url('/'), onTestFinished);
    const before = proxy.calls();
    deafen();
    await eventually(() => proxy.calls() > before, 120_000);
    const { why } = (await (await fetch(`${coordinator.url}/health`)).json()) as { why: string[] };
    expect(why.join()).toContain('leaves its partitions to others for a while');
    changes.stop();
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed, 30_000);
    await eventually(() => isWell(coordinator.url), 30_000);
  });

  test('costs a coordinator whose partitions stall because of it its partitions, until it is connected again', async ({
    onTestFinished,
  }) => {
    const { network, proxy, deafen } = await begin(onTestFinished);
    const cut = await network.startCoordinator({ timing });
    const calls = proxy.calls();
    const other = await network.startCoordinator({ timing });
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const target = await network.startTarget();
    const shares = async (): Promise<number[]> => {
      const rows = await network.sql<
        { held: number }[]
      >`select count(*)::int as held from leases group by owner order by 1`;
      return rows.map(({ held }) => held);
    };
    await eventually(async () => (await shares()).join() === '16,16', 30_000);
    await eventually(() => isWell(cut.url));
    const changes = await changeMonitors(network, target.url('/'), onTestFinished);
    deafen(calls);
    await eventually(async () => (await shares()).join() === '32', 120_000);
    const { why } = (await (await fetch(`${cut.url}/health`)).json()) as { why: string[] };
    expect(why.join()).toContain('leaves its partitions to others for a while');
    expect(await isWell(other.url)).toBe(true);
    changes.stop();
    await eventually(async () => (await shares()).join() === '16,16', 30_000);
    await eventually(() => isWell(cut.url), 30_000);
  });
});
