import { describe, expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isConfirmed, watch } from '../support/monitors.ts';
import { createNetwork } from '../support/network.ts';
import { test as plain } from '../support/network-test.ts';
import { broken } from '../support/targets.ts';

/**
 * A partition that waits for something that does not come, while its coordinator lives, renews its
 * lease and answers.
 */

const test = plain
  .extend('state', () => ({ newest: 0, isDeaf: (_call: number): boolean => false }))
  .extend('network', async ({ state }, { onCleanup }) => {
    const garble = (data: Buffer, call: number): Buffer => {
      const text = data.toString('latin1');
      // Coordinators alone poll results.
      if (text.includes('$JS.API.CONSUMER.MSG.NEXT.RESULTS.'))
        state.newest = Math.max(state.newest, call);
      const isDeaf = state.isDeaf(call);
      return isDeaf ? Buffer.from(text.replaceAll('$JS.API.', '$JX.API.'), 'latin1') : data;
    };
    const network = await createNetwork({ relayed: { garble } });
    onCleanup(network.close);
    // Somebody hears it, so that nobody is told that nobody listens.
    (await network.joinBus()).subscribe('$JX.>', () => undefined);
    return network;
  })
  /**
   * From now on connections up to this one are to that server: it takes what is published, and
   * answers nothing about streams. Without a number it is the connection of the one coordinator,
   * which may have been made anew on a slow machine.
   */
  .extend('deafen', ({ state }) => (upTo?: number): void => {
    const own = state.newest;
    state.isDeaf = (call) => (upTo === undefined ? call === own : call <= upTo);
  })
  /** Monitors that change all the while, until stop(): each change asks the bus what it holds. */
  .extend('changeMonitors', ({ network, target }, { onCleanup }) => {
    let changing: NodeJS.Timeout | undefined;
    const stop = (): void => clearInterval(changing);
    onCleanup(stop);
    return async (): Promise<{ readonly stop: () => void }> => {
      const made: string[] = [];
      for (let count = 0; count < 8; count += 1)
        made.push(
          await network.addMonitor({
            target: target.url(`/${count}`),
            config: { continents: ['Asia'] },
          }),
        );
      let interval_s = 10;
      changing = setInterval(() => {
        interval_s = interval_s === 10 ? 20 : 10;
        for (const id of made) void network.editMonitor(id, { interval_s });
      }, 500);
      return { stop };
    };
  });

test.concurrent('a partition whose message stalls is restarted, health says so meanwhile, and its outage is found', async ({
  network,
}) => {
  const { sql } = network;
  const coordinator = await network.startCoordinator({
    timing: { stallMs: 1_000, watchdogMs: 100, stalledMs: 300 },
  });
  await network.addProbes('Asia', 'Europe');
  const { target, monitor } = await watch(network);
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

describe.concurrent('a server of the bus that has lost the others', () => {
  const isWell = async (url: string): Promise<boolean> =>
    (await fetch(`${url}/health`)).status === 200;

  test('is left for another', async ({ network, deafen }) => {
    const coordinator = await network.startCoordinator({ timing: { stalledMs: 2_000 } });
    await network.addProbes('Asia', 'Europe');
    const { target, monitor } = await watch(network);
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

  test('is left by a coordinator whose partitions stalled three times, also where no other can hold them', async ({
    network,
    deafen,
    changeMonitors,
  }) => {
    const { relay } = network;
    const coordinator = await network.startCoordinator({ timing });
    await network.addProbes('Asia', 'Europe');
    const { target, monitor } = await watch(network);
    await eventually(() => isWell(coordinator.url));
    const changes = await changeMonitors();
    const before = relay.calls();
    deafen();
    await eventually(() => relay.calls() > before, 120_000);
    const { why } = (await (await fetch(`${coordinator.url}/health`)).json()) as {
      why: string[];
    };
    expect(why.join()).toContain('leaves its partitions to others for a while');
    changes.stop();
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed, 30_000);
    await eventually(() => isWell(coordinator.url), 30_000);
  });

  test('costs a coordinator whose partitions stall because of it its partitions, until it is connected again', async ({
    network,
    deafen,
    changeMonitors,
  }) => {
    const { relay } = network;
    const cut = await network.startCoordinator({ timing });
    const calls = relay.calls();
    const owners = () =>
      network.sql<{ owner: string | null; held: number }[]>`
        select owner, count(*)::int as held from leases group by owner order by held`;
    const [own] = await eventually(async () => {
      const rows = await owners();
      return rows.length === 1 && rows[0]?.owner ? rows : undefined;
    });
    const other = await network.startCoordinator({ timing });
    await network.addProbes('Asia', 'Europe');
    const shares = async (): Promise<string> => (await owners()).map(({ held }) => held).join();
    await eventually(async () => (await shares()) === '16,16', 30_000);
    await eventually(() => isWell(cut.url));
    const changes = await changeMonitors();
    deafen(calls);
    // It rests for two stall timeouts, in which another cannot take them all on a full machine.
    await eventually(async () => {
      const { why } = (await (await fetch(`${cut.url}/health`)).json()) as { why?: string[] };
      return why?.join().includes('leaves its partitions to others for a while');
    }, 120_000);
    await eventually(async () => (await owners()).every(({ owner }) => owner !== own?.owner));
    await eventually(() => isWell(other.url));
    changes.stop();
    await eventually(async () => (await shares()) === '16,16');
    await eventually(() => isWell(cut.url));
  });
});
