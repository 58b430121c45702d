import { expect, test } from 'vitest';
import { createLog } from '../../../shared/base/log.ts';
import { type Connection, startPull } from '../../../shared/bus/bus-pull.ts';

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
