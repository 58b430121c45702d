import { afterEach, expect, test } from 'vitest';
import { readOrigins } from '../../../coordinator/probes/origins.ts';
import type { ProbeRow } from '../../../coordinator/probes/queries.ts';
import { createNetwork } from '../../../coordinator/probes/roster.ts';
import type { StoredValue } from '../../../shared/bus/jetstream.ts';
import { type Message, rosterMessage } from '../../../shared/bus/messages.ts';
import { testLog } from '../../support/network.ts';
import { probeRow } from '../../support/probe-rows.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();
const now = Date.now();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** The network of a leader on a bus that keeps one roster and answers when it is told to. */
const leader = async (refreshMs: number, probes: readonly ProbeRow[] = []) => {
  const stored: string[] = [];
  const answered = Promise.withResolvers<void>();
  let there: StoredValue | undefined;
  let hear: (message: Message) => void = () => undefined;
  const network = await createNetwork({
    sql,
    origins: readOrigins('203.0.113.0/24 AS64500'),
    bus: {
      isConnected: () => true,
      last: async () => there,
      onStatus: () => ({ stop: () => undefined }),
      store: async (subject, data) => {
        stored.push(String(data));
        await answered.promise;
        there = {
          subject,
          data: Buffer.from(data),
          seq: stored.length,
          storedAt: now,
          header: () => undefined,
        };
        return { seq: stored.length, duplicate: false };
      },
      subscribe: (_subject, onMessage) => {
        hear = onMessage;
        return { stop: () => undefined };
      },
    },
    clock: { now: () => now },
    log: testLog(),
    timing: { refreshMs, lostAfterMs: 15_000 },
    directory: { all: () => probes, byId: () => undefined, refresh: async () => undefined },
    announcements: { read: () => ({ revision: now }), refuse: () => undefined },
    isLeader: () => true,
  });
  ends.push(network.close);
  return {
    network,
    stored,
    answer: answered.resolve,
    hear: (message: Message) => hear(message),
    lose: () => {
      there = undefined;
    },
  };
};

test('an outdated roster that arrives while the leader stores its own is replaced at the next turn', async () => {
  const { network, stored, answer, hear } = await leader(60_000);
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
  answer();
  await first;
  await network.tick();
  expect(stored).toHaveLength(2);
});

test('a roster that the bus has lost is published again, though nothing changed', async () => {
  const { network, stored, answer, lose } = await leader(0);
  answer();
  await network.tick();
  await network.tick();
  expect(stored).toHaveLength(1);
  lose();
  await network.tick();
  expect(stored).toHaveLength(2);
});

test('the roster names the region of a public probe that has one', async () => {
  const rows = [probeRow('fra-1', now, { region: 'Frankfurt' }), probeRow('ams-1', now)];
  const { network, stored, answer } = await leader(60_000, rows);
  answer();
  await network.tick();
  const { probes } = rosterMessage.parse(JSON.parse(stored[0] ?? ''));
  expect(probes.map(({ name, region }) => [name, region])).toEqual([
    ['fra-1', 'Frankfurt'],
    ['ams-1', undefined],
  ]);
});
