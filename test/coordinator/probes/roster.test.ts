import { expect, test } from 'vitest';
import { createNetwork } from '../../../coordinator/probes/roster.ts';
import type { Message } from '../../../shared/bus/messages.ts';
import { testLog } from '../../support/network.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();

test('an outdated roster that is heard while the leader stores its own is replaced at the next turn', async () => {
  const stored: string[] = [];
  const answered = Promise.withResolvers<void>();
  let hear: (message: Message) => void = () => undefined;
  const now = Date.now();
  const network = await createNetwork({
    sql,
    bus: {
      isConnected: () => true,
      last: async () => undefined,
      onStatus: () => ({ stop: () => undefined }),
      store: async (_subject, data) => {
        stored.push(String(data));
        await answered.promise;
        return { seq: stored.length, duplicate: false };
      },
      subscribe: (_subject, onMessage) => {
        hear = onMessage;
        return { stop: () => undefined };
      },
    },
    clock: { now: () => now },
    log: testLog(),
    timing: { lookAgainMs: 60_000, lostAfterMs: 15_000 },
    directory: { all: () => [], byId: () => undefined, refresh: async () => undefined },
    announcements: { read: () => ({ revision: now }), refuse: () => undefined },
    isLeader: () => true,
  });
  const first = network.tick();
  await expect.poll(() => stored.length).toBe(1);
  const data = Buffer.from(JSON.stringify({ v: 1, epoch: now - 60_000, probes: [] }));
  hear({
    subject: 'roster',
    data,
    reply: undefined,
    header: () => undefined,
    respond: () => false,
  });
  answered.resolve();
  await first;
  await network.tick();
  expect(stored).toHaveLength(2);
  network.close();
});
