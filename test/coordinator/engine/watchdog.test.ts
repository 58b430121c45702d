import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPartitionWatchdog } from '../../../coordinator/engine/ownership.ts';
import { usualTiming } from '../../../coordinator/engine/timing.ts';
import { createLog } from '../../../shared/base/log.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { creatingPingsConsumer, streams, subjects } from '../../../shared/bus/subjects.ts';
import { createAccount } from '../../support/services.ts';

const log = createLog({ name: 'test', level: 'silent' });
let bus: Bus;

beforeAll(async () => {
  const account = await createAccount();
  bus = await connectBus({
    url: account.url,
    credentials: account.coordinatorCredentials,
    name: 'test',
    log,
  });
  await bus.ensureStream(streams.pings);
  await bus.ensureConsumer(streams.pings.name, creatingPingsConsumer);
});
afterAll(() => bus.close());

test('the leader is asked whether it reads the pings that create monitors', async () => {
  const leads = { now: false };
  const parts = createPartitionWatchdog({
    bus,
    partitions: { held: () => [], pass: () => Promise.reject(new Error('it holds none')) },
    timing: usualTiming,
    isLeader: () => leads.now,
  });
  expect(parts()).toEqual([]);
  leads.now = true;
  const [part] = parts();
  expect(part?.name).toBe('stream beats-create');
  expect(await part?.moved()).toBe(true); // Nothing waits.
  await bus.store(subjects.creatingPing('Europe', 'key'), 'a ping');
  expect(await part?.moved()).toBe(false);
  const pull = bus.pull({
    stream: streams.pings.name,
    consumer: creatingPingsConsumer.name,
    batch: 1,
    onMessages: async (deliveries) => {
      for (const delivered of deliveries) delivered.ack();
    },
  });
  await expect.poll(() => part?.moved()).toBe(true);
  await pull.stop();
});
