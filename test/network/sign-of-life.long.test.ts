import { describe, expect, test as plain } from 'vitest';
import { eventually, passed } from '../support/eventually.ts';
import { watch } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { openReceiver, type Receiver } from '../support/receivers.ts';

/**
 * Rule 53 in real minutes, with coordinators as processes of usual timing; sign-of-life.test.ts has
 * the other faults.
 */

const minuteMs = 60_000;
const soonMs = 150_000;

const test = plain
  .extend('receiver', async ({ task: _ }, { onCleanup }) => {
    const receiver = await openReceiver();
    onCleanup(receiver.close);
    return receiver;
  })
  .extend('network', async ({ receiver }, { onCleanup }) => {
    const settings = { HEARTBEAT_URL: `${receiver.url}/beat/f8a1c2e4` };
    const network = await createNetwork({ settings });
    onCleanup(network.close);
    return network;
  });

const pinged = async ({ got }: Receiver): Promise<void> => {
  const before = got.length;
  await eventually(() => got.length > before, soonMs);
};

/** A minute after the fault the last ping has come; the next one comes when it is over. */
const expectSilence = async (receiver: Receiver, heal: () => unknown): Promise<void> => {
  await passed(minuteMs);
  const before = receiver.got.length;
  await passed(1.2 * minuteMs);
  expect(receiver.got).toHaveLength(before);
  await heal();
  await pinged(receiver);
};

/** A coordinator, its probes, something to check, and a ping. */
const begin = async (
  { network, receiver }: { readonly network: Network; readonly receiver: Receiver },
  more: Readonly<Record<string, string>> = {},
) => {
  const coordinator = await network.startCoordinatorProcess(more);
  await network.addProbes('Europe', 'Asia');
  await watch(network);
  await pinged(receiver);
  return coordinator;
};

describe.concurrent('rule 53: the pings end within a minute', { timeout: 900_000 }, () => {
  test('when the database is gone', async ({ network, receiver }) => {
    const relay = await network.startRelay('database');
    await begin({ network, receiver }, { DATABASE_URL: relay.url });
    relay.cut();
    await expectSilence(receiver, relay.heal);
  });

  test('when the database stands still', async ({ network, receiver }) => {
    const relay = await network.startRelay('database');
    await begin({ network, receiver }, { DATABASE_URL: relay.url });
    relay.silence();
    await expectSilence(receiver, relay.heal);
  });

  test('when the only coordinator is killed, and not when another goes on', async ({
    network,
    receiver,
  }) => {
    const coordinator = await begin({ network, receiver });
    const other = await network.startCoordinatorProcess();
    coordinator.signal('SIGKILL');
    await pinged(receiver);
    await pinged(receiver);
    other.signal('SIGSTOP');
    await expectSilence(receiver, () => other.signal('SIGCONT'));
  });

  test('and go on when one of two coordinators is cut off, from the bus or from the database', async ({
    network,
    receiver,
  }) => {
    const ways = {
      database: await network.startRelay('database'),
      bus: await network.startRelay(),
    };
    await begin({ network, receiver }, { DATABASE_URL: ways.database.url, NATS_URL: ways.bus.url });
    await network.startCoordinatorProcess();
    for (const way of [ways.bus, ways.database]) {
      way.cut();
      await pinged(receiver);
      await pinged(receiver);
      way.heal();
      await pinged(receiver);
    }
  });
});
