import { afterAll, beforeAll, expect, test } from 'vitest';
import { usualTiming } from '../../../coordinator/house/timing.ts';
import { createPartitionDeliveries } from '../../../coordinator/partition/deliveries.ts';
import { systemClock } from '../../../shared/base/clock.ts';
import { newId } from '../../../shared/base/ids.ts';
import { createLog } from '../../../shared/base/log.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../../shared/bus/streams.ts';
import { subjects } from '../../../shared/bus/subjects.ts';
import { eventually, passed } from '../../support/eventually.ts';
import { createAccount } from '../../support/services.ts';

const log = createLog({ name: 'test', level: 'silent' });
const probe = newId();
let bus: Bus;

beforeAll(async () => {
  const account = await createAccount();
  bus = await connectBus({ url: account.url, credentials: account.coordinatorCredentials, name: 'test', log });
  await bus.ensureStream(streams.results);
  for (const partition of [1, 2]) await bus.ensureConsumer(streams.results.name, partitionConsumer(partition));
});
afterAll(() => bus.close());

/** Of a partition that has been read, while all probes say that they keep nothing. */
const deliveriesOf = (partition: number) => {
  const deliveries = createPartitionDeliveries({
    partition,
    parts: { bus, log, clock: systemClock, timing: usualTiming },
    words: () => [{ probe, heard_at: performance.now(), handed_over: true }],
    isLoaded: () => true,
    tell: () => Promise.resolve(),
  });
  const ticker = setInterval(() => deliveries.tick(performance.now()), 20);
  return { ...deliveries, end: () => clearInterval(ticker) };
};

test('a partition is not caught up while the bus has something for it that has not come yet', async () => {
  await bus.store(subjects.result('Europe', 1, probe), 'of the past');
  const [full, empty] = [deliveriesOf(1), deliveriesOf(2)];
  await eventually(() => empty.isCaughtUp());
  // As long again as it took the other.
  await passed(500);
  expect(full.isCaughtUp()).toBe(false);
  const consumer = partitionConsumer(1).name;
  const pull = bus.pull({
    ...{ stream: streams.results.name, consumer, batch: 10 },
    onMessages: async (messages) => {
      await full.take(messages);
      for (const message of messages) message.ack();
    },
  });
  await eventually(() => full.isCaughtUp());
  await pull.stop();
  full.end();
  empty.end();
});
