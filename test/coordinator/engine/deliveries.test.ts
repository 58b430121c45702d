import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  closeDeliveries,
  isCaughtUp,
  openDeliveries,
  takeMessages,
  tickDeliveries,
} from '../../../coordinator/engine/bus-deliveries.ts';
import type { PartitionAnswer } from '../../../coordinator/engine/messages.ts';
import { usualTiming } from '../../../coordinator/engine/timing.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { type Bus, connectBus, type Delivered } from '../../../shared/bus/nats.ts';
import { partitionConsumer, streams, subjects } from '../../../shared/bus/subjects.ts';
import { eventually, passed } from '../../support/eventually.ts';
import { createAccount } from '../../support/services.ts';

const log = createLog({ name: 'test', level: 'silent' });
const probe = newId();
let bus: Bus;

beforeAll(async () => {
  const account = await createAccount();
  bus = await connectBus({
    url: account.url,
    credentials: account.coordinatorCredentials,
    name: 'test',
    log,
  });
  await bus.ensureStream(streams.results);
  for (const partition of [1, 2])
    await bus.ensureConsumer(streams.results.name, partitionConsumer(partition));
});
afterAll(() => bus.close());

const delivered: Delivered = {
  subject: 'first',
  data: new Uint8Array(),
  header: () => undefined,
  respond: () => false,
  reply: undefined,
  seq: 1,
  deliveries: 1,
  delivery: 1,
  storedAt: 0,
  pending: 0,
  ack: () => undefined,
  nak: () => undefined,
  working: () => undefined,
};

/** Of a partition that has been read, while the only probe says that it keeps nothing. */
const deliveriesOf = (
  partition: number,
  ask: Parameters<typeof openDeliveries>[0]['ask'] = () => Promise.resolve({ is: 'done' }),
  handedOver = () => true,
) =>
  openDeliveries({
    partition,
    deps: {
      bus,
      log,
      timing: usualTiming,
      presences: () => [{ probe, heard_at: performance.now(), handed_over: handedOver() }],
    },
    isLoaded: () => true,
    ask,
  });

const tickedDeliveriesOf = (partition: number) => {
  const deliveries = deliveriesOf(partition);
  const ticker = setInterval(() => tickDeliveries(deliveries, performance.now()), 20);
  return { deliveries, end: () => clearInterval(ticker) };
};

test('a partition is not caught up while the bus has something for it that has not come yet', async () => {
  await bus.store(subjects.result('Europe', 1, probe), 'of the past');
  const [full, empty] = [tickedDeliveriesOf(1), tickedDeliveriesOf(2)];
  await eventually(() => isCaughtUp(empty.deliveries));
  // As long again as it took the other.
  await passed(500);
  expect(isCaughtUp(full.deliveries)).toBe(false);
  const consumer = partitionConsumer(1).name;
  const pull = bus.pull({
    stream: streams.results.name,
    consumer,
    batch: 10,
    onMessages: async (messages) => {
      await takeMessages(full.deliveries, messages);
      for (const message of messages) message.ack();
    },
  });
  await eventually(() => isCaughtUp(full.deliveries));
  await pull.stop();
  full.end();
  empty.end();
});

test('a message that the partition postpones is held, and decided when all have handed over', async () => {
  const shown: string[][] = [];
  const answers: PartitionAnswer[] = [
    { is: 'waits', since: performance.now() - 5_000, from: ['another'] },
  ];
  let handedOver = false;
  const deliveries = deliveriesOf(
    3,
    async (message) => {
      if (message.is === 'deliveries')
        shown.push([
          message.backlog.until === null ? 'working' : 'holding',
          ...message.deliveries.map(({ subject }) => subject),
        ]);
      return (message.is === 'deliveries' && answers.shift()) || { is: 'done' };
    },
    () => handedOver,
  );
  // Nobody is waited for any more since the partition was taken over.
  handedOver = true;
  await eventually(() => !tickDeliveries(deliveries, performance.now()));
  handedOver = false;
  await takeMessages(deliveries, [delivered]);
  expect([shown, tickDeliveries(deliveries, performance.now())]).toEqual([
    [['working', 'first']],
    true,
  ]);
  await takeMessages(deliveries, [{ ...delivered, subject: 'second' }]);
  expect(shown).toHaveLength(1);
  handedOver = true;
  await eventually(() => !tickDeliveries(deliveries, performance.now()) && shown.length === 2);
  expect(shown[1]).toEqual(['working', 'first', 'second']);
  await closeDeliveries(deliveries);
});

test('what the database does not take is tried again in its order, before what came later, and nothing is judged by the clock meanwhile', async () => {
  const told: string[][] = [];
  let isAway = true;
  const deliveries = deliveriesOf(4, (message) => {
    if (isAway)
      return Promise.reject(Object.assign(new Error('no database'), { code: 'ECONNREFUSED' }));
    if (message.is === 'deliveries') told.push(message.deliveries.map(({ subject }) => subject));
    return Promise.resolve({ is: 'done' });
  });
  const waits = () => tickDeliveries(deliveries, performance.now());
  let given = 0;
  const messages = ['first', 'second', 'third'].map((subject) => ({
    ...delivered,
    subject,
    nak: () => {
      given += 1;
    },
  }));
  await eventually(() => !waits());
  for (const message of messages) await takeMessages(deliveries, [message]);
  expect(waits()).toBe(true);
  isAway = false;
  await eventually(() => !waits());
  expect(told).toEqual([['first', 'second', 'third']]);
  expect(given).toBe(0);
  await closeDeliveries(deliveries);
});

test('what cannot be processed for another reason is given back, and holds up nobody', async () => {
  const given: string[] = [];
  const deliveries = deliveriesOf(5, () => Promise.reject(new Error('a fault of ours')));
  const waits = () => tickDeliveries(deliveries, performance.now());
  await eventually(() => !waits());
  await takeMessages(deliveries, [{ ...delivered, nak: () => void given.push('first') }]);
  expect(given).toEqual(['first']);
  expect(waits()).toBe(false);
  await closeDeliveries(deliveries);
});
