import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPingBook } from '../../../coordinator/heartbeats/keys.ts';
import { getPingAddress } from '../../../coordinator/monitors/contract.ts';
import { type Announcements, createAnnouncements } from '../../../coordinator/probes/announcements.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { createPingRecords } from '../../../shared/bus/pings.ts';
import { lastTokenOf, streams } from '../../../shared/bus/subjects.ts';
import { pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from '../../support/people.ts';
import { createAccount } from '../../support/services.ts';

const log = pino({ level: 'silent' });
const bench = gateBench();
let house: TestOrganisation;
let bus: Bus;
let announcements: Announcements;
/** The keys that were published, in order. */
const published: string[] = [];

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  await bench.addProbe('Europe');
  const { url, coordinatorCredentials: credentials } = await createAccount();
  announcements = await createAnnouncements({
    ...{ sql: bench.sql, clock: { now: () => bench.now }, log, secretKeys: [testSecretKey], setting: 'auto', aliveMs: 5_000 },
    onRefused: () => undefined,
  });
  const real = await connectBus({ url, credentials, name: 'test', log, announce: announcements.announce });
  const store: Bus['store'] = (subject, ...rest) => {
    if (subject.startsWith('beatkey.')) published.push(lastTokenOf(subject));
    return real.store(subject, ...rest);
  };
  bus = { ...real, store };
  await bus.ensureStream(streams.assignments);
});
afterAll(() => bus.close());

/** Opens the book, which looks after the bus first, and closes it; gives the keys that were published meanwhile. */
const lookAfterBus = async (): Promise<string[]> => {
  const from = published.length;
  const book = await openPingBook({
    ...{
      sql: bench.sql,
      bus,
      log,
      announcements,
      records: createPingRecords(bus),
      clock: { now: () => bench.now },
      lookAgainMs: 3_600_000,
    },
  });
  await book.close();
  return published.slice(from);
};

const addHeartbeat = async (name: string): Promise<string> => {
  const { id } = await bench.call(createMonitor, house.owner, { type: 'heartbeat', name, interval_s: 300 });
  const { address } = await bench.call(getPingAddress, house.owner, { monitor_id: id });
  return pingFingerprint(address.slice(address.lastIndexOf('/') + 1));
};

describe('the keys on the bus', () => {
  test('are left alone when only one is new that nobody has published yet, and all brought back when the bus has lost some', async () => {
    const first = await addHeartbeat('first');
    expect(await lookAfterBus()).toContain(first);
    const second = await addHeartbeat('second');
    expect(await lookAfterBus()).toEqual([second]);
    expect(await lookAfterBus()).toEqual([]);
    await bus.purge(streams.pingKeys.name, 'beatkey.>');
    expect((await lookAfterBus()).toSorted()).toEqual([first, second].toSorted());
  });
});
