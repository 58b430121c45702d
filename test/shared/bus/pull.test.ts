import { expect, test } from 'vitest';
import { createLog } from '../../../shared/base/log.ts';
import { type Connection, startPull } from '../../../shared/bus/pull.ts';

const connectionThat = (publish: Connection['publish']): Connection => ({
  log: createLog({ name: 'test', level: 'silent' }),
  createInbox: () => '_INBOX.test',
  publish,
  listen: () => ({ stop: () => undefined }),
  onStatus: () => ({ stop: () => undefined }),
});

test('a pull that is stopped while it begins asks for nothing, and ends without waiting for an answer', async () => {
  const asked: string[] = [];
  const beginning = Promise.withResolvers<void>();
  const begins = Promise.withResolvers<void>();
  const pull = startPull(
    connectionThat((subject) => void asked.push(subject)),
    {
      ...{ stream: 'S', consumer: 'C', batch: 1 },
      onBegin: () => {
        begins.resolve();
        return beginning.promise;
      },
      onMessages: async () => undefined,
    },
  );
  await begins.promise;
  const stopped = pull.stop();
  beginning.resolve();
  await stopped;
  expect(asked).toEqual([]);
});

test('a pull that is stopped while nobody answers what it begins with ends all the same', async () => {
  const begins = Promise.withResolvers<void>();
  const pull = startPull(
    connectionThat(() => undefined),
    {
      ...{ stream: 'S', consumer: 'C', batch: 1 },
      onBegin: () => {
        begins.resolve();
        return new Promise<void>(() => undefined);
      },
      onMessages: async () => undefined,
    },
  );
  await begins.promise;
  expect(await pull.stop().then(() => 'ended')).toBe('ended');
});

test('a pull that is stopped while nobody answers that its consumer be made ends all the same', async () => {
  const misses = Promise.withResolvers<void>();
  let hear: Parameters<Connection['listen']>[1] | undefined;
  const pull = startPull(
    {
      ...connectionThat((_, __, inbox) => {
        const message = { subject: inbox ?? '', data: new Uint8Array(), header: () => undefined, respond: () => false, reply: undefined };
        setImmediate(() => hear?.({ message, reply: '', status: 503, description: 'No Responders' }));
      }),
      listen: (_, handler) => {
        hear = handler;
        return { stop: () => undefined };
      },
    },
    {
      ...{ stream: 'S', consumer: 'C', batch: 1 },
      onMissing: () => {
        misses.resolve();
        return new Promise<void>(() => undefined);
      },
      onMessages: async () => undefined,
    },
  );
  await misses.promise;
  expect(await pull.stop().then(() => 'ended')).toBe('ended');
});
