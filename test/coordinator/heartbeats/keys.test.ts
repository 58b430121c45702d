import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { monitorsById } from '../../../coordinator/engine/queries.ts';
import {
  createKeyLookup,
  createKeyRing,
  createPingSettings,
  type KeyRing,
  openPingBook,
  type PingBook,
} from '../../../coordinator/heartbeats/keys.ts';
import { getPingAddress } from '../../../coordinator/monitors/contract.ts';
import {
  type Announcements,
  createAnnouncements,
} from '../../../coordinator/probes/announcements.ts';
import { createSupervisor } from '../../../shared/actor/supervisor.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { announcementKeys, createAnnounce } from '../../../shared/bus/announcement.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { createPingRecords, type KnownKey } from '../../../shared/bus/pings.ts';
import { lastTokenOf, streams, subjects } from '../../../shared/bus/subjects.ts';
import { elementOf } from '../../../shared/checks/assignment.ts';
import { newPingToken, pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { eventually, passed } from '../../support/eventually.ts';
import { gateBench, statementsOf } from '../../support/gate.ts';
import { addHeartbeat, digestOf } from '../../support/monitors.ts';
import { createNetwork, type Network, testLog } from '../../support/network.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import { createAccount } from '../../support/services.ts';

describe('the keys that a coordinator knows', () => {
  const known = (organisation: string, until: number | null = null): KnownKey => ({
    organisation,
    monitor: 'm',
    until,
  });
  const pages = async function* (...all: (readonly (readonly [string, KnownKey])[])[]) {
    yield* all;
  };

  /** As a ping receiver sums up the keys it holds. */
  const receiverSays = (...keys: string[]) => {
    const digest = digestOf(keys.map((key) => elementOf(`${key}@0`)));
    return { count: digest.count(), digest: digest.text() };
  };

  const agree = (ring: KeyRing, own: string[], others: string[]): void => {
    expect(ring.digestOf('own')).toEqual(receiverSays(...own));
    expect(ring.digestOf('other')).toEqual(receiverSays(...others));
    expect(ring.digestOf(null)).toEqual(receiverSays(...own, ...others));
  };

  test('have the same digest as those of a ping receiver that received the same changes', () => {
    const ring = createKeyRing();
    agree(ring, [], []);
    ring.put('a', known('own'));
    ring.put('b', known('own'));
    ring.put('c', known('other'));
    ring.put('a', known('own', 5));
    agree(ring, ['a', 'b'], ['c']);
    ring.drop('b');
    ring.drop('b');
    ring.drop('unknown');
    agree(ring, ['a'], ['c']);
    expect(ring.find('a')).toEqual(known('own', 5));
    ring.drop('c');
    agree(ring, ['a'], []);
  });

  test('are those of the database after a reload, but for changes from meanwhile', async () => {
    const ring = createKeyRing();
    ring.put('gone', known('own'));
    ring.put('kept', known('own'));
    const read = async function* () {
      yield [
        ['kept', known('own', 9)],
        ['late', known('own')],
      ] as const;
      // By now the page above is of the past.
      ring.put('new', known('other'));
      ring.drop('late');
      ring.drop('next');
      yield [['next', known('own')]] as const;
    };
    await ring.replace(read());
    agree(ring, ['kept'], ['new']);
    expect(ring.find('kept')).toEqual(known('own', 9));
    await ring.replace(pages([['kept', known('own')]], [['new', known('other')]]));
    agree(ring, ['kept'], ['new']);
  });

  test('stay as they are when the database goes away in the midst of it', async () => {
    const ring = createKeyRing();
    ring.put('a', known('own'));
    const broken = async function* () {
      yield [['b', known('own')]] as const;
      throw new Error('away');
    };
    await expect(ring.replace(broken())).rejects.toThrow('away');
    agree(ring, ['a', 'b'], []);
  });
});

describe('the keys on the bus', () => {
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
    announcements = createAnnouncements({
      clock: { now: () => bench.now },
      log,
      secretKeys: [testSecretKey],
      onRefused: () => undefined,
    });
    const real = await connectBus({
      url,
      credentials,
      name: 'test',
      log,
      announce: announcements.announce,
    });
    const store: Bus['store'] = (subject, ...rest) => {
      if (subject.startsWith('beatkey.')) published.push(lastTokenOf(subject));
      return real.store(subject, ...rest);
    };
    bus = { ...real, store };
    await bus.ensureStream(streams.assignments);
  });
  afterAll(() => bus.close());

  /**
   * Opens the book, which looks after the bus first, and closes it; gives the keys that were
   * published meanwhile.
   */
  const lookAfterBus = async (): Promise<string[]> => {
    const from = published.length;
    const book = await openPingBook({
      supervisor: createSupervisor(log),
      sql: bench.sql,
      bus,
      log,
      announcements,
      records: createPingRecords(bus),
      clock: { now: () => bench.now },
      refreshMs: 3_600_000,
    });
    await book.close();
    return published.slice(from);
  };

  const addHeartbeat = async (name: string): Promise<{ monitor: string; key: string }> => {
    const { id: monitor } = await bench.call(createMonitor, house.owner, {
      type: 'heartbeat',
      name,
      interval_s: 300,
    });
    const { address } = await bench.call(getPingAddress, house.owner, { monitor_id: monitor });
    return { monitor, key: pingFingerprint(address.slice(address.lastIndexOf('/') + 1)) };
  };

  test('are left alone when only a new one is unpublished, and all restored when the bus has lost some', async () => {
    const { key: first } = await addHeartbeat('first');
    expect(await lookAfterBus()).toContain(first);
    const { key: second } = await addHeartbeat('second');
    expect(await lookAfterBus()).toEqual([second]);
    expect(await lookAfterBus()).toEqual([]);
    await bus.purge(streams.pingKeys.name, 'beatkey.>');
    expect((await lookAfterBus()).toSorted()).toEqual([first, second].toSorted());
  });

  test('and the records of pings take as many statements for thirty new heartbeats as for one', async () => {
    const records = createPingRecords(bus);
    const clock = { now: () => bench.now };
    const { follow } = createPingSettings({ sql: bench.sql, bus, records, clock });
    const publish = async (count: number): Promise<number> => {
      const added: { monitor: string; key: string }[] = [];
      for (let nth = 0; nth < count; nth += 1) added.push(await addHeartbeat(`${nth} of ${count}`));
      const rows = await monitorsById(
        bench.sql,
        added.map(({ monitor }) => monitor),
      );
      const statements = await statementsOf(async () => {
        await follow(rows.map((row) => ({ monitor: row.id, row })));
        const keys = await lookAfterBus();
        expect(keys.toSorted()).toEqual(added.map(({ key }) => key).toSorted());
      });
      for (const { id, organisation_id, config_version: terms } of rows)
        expect(await records.read(organisation_id, id)).toMatchObject({ terms, paused: false });
      return statements;
    };
    const alone = await publish(1);
    expect(await publish(30)).toBe(alone);
  });
});

describe('an unknown key', () => {
  test('is not looked up while an answer is overdue, and is again once it has come', async () => {
    const asked: string[] = [];
    const overdue = Promise.withResolvers<string | undefined>();
    const ask = (key: string): Promise<string | undefined> => {
      asked.push(key);
      return key === 'silent' ? overdue.promise : Promise.resolve(key);
    };
    const lookUp = createKeyLookup({ ask, log: testLog(), mostPerSecond: 1_000, patienceMs: 20 });
    expect(await lookUp('before')).toBe('before');
    expect(await lookUp('silent')).toBeUndefined();
    expect(await lookUp('meanwhile')).toBeUndefined();
    overdue.reject(new Error('the connection broke'));
    await new Promise(setImmediate);
    expect(await lookUp('after')).toBe('after');
    expect(asked).toEqual(['before', 'silent', 'after']);
  });

  test('is looked up at a limited rate', async () => {
    const asked: string[] = [];
    const ask = async (key: string): Promise<string> => {
      asked.push(key);
      return key;
    };
    const lookUp = createKeyLookup({ ask, log: testLog(), mostPerSecond: 3, patienceMs: 1_000 });
    expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(lookUp))).toEqual([
      'a',
      'b',
      'c',
      undefined,
      undefined,
    ]);
    expect(asked).toEqual(['a', 'b', 'c']);
  });
});

/**
 * The keys that a coordinator knows, with a real bus, and a real database that says nothing for a
 * while.
 */
describe('a heartbeat key', () => {
  let network: Network;
  let bus: Bus;
  let book: PingBook;

  /** Signs nothing by itself. */
  let plain: Bus;
  const refused: string[] = [];
  beforeAll(async () => {
    network = await createNetwork();
    const log = testLog();
    const { url, coordinatorCredentials: credentials } = network.account;
    const announcements = createAnnouncements({
      clock: systemClock,
      log,
      secretKeys: [testSecretKey],
      onRefused: (why) => refused.push(why),
    });
    bus = await connectBus({
      url,
      credentials,
      name: 'test of the book',
      log,
      announce: announcements.announce,
    });
    plain = await connectBus({ url, credentials, name: 'test of replays', log });
    book = await openPingBook({
      supervisor: createSupervisor(log),
      sql: network.sql,
      bus,
      records: createPingRecords(bus),
      clock: systemClock,
      log,
      announcements,
      refreshMs: 1_000,
    });
  });
  afterAll(async () => {
    await book?.close();
    await plain?.close();
    await bus?.close();
    await network?.close();
  });

  const madeUp = (): string => pingFingerprint(newPingToken());

  test('that does not exist is unknown also while the database does not answer, and known ones stay known', async () => {
    const known = await addHeartbeat(network, {}, 3_600);
    await eventually(async () => (await book.findKey(known.key)) !== undefined);
    const silence = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holding = network.sql.begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await tx`lock table beat_tokens in access exclusive mode`;
      begun.resolve();
      await silence.promise;
    });
    await begun.promise;
    const flood = await Promise.all(Array.from({ length: 500 }, () => book.findKey(madeUp())));
    expect(new Set(flood)).toEqual(new Set([undefined]));
    expect(await book.findKey(madeUp())).toBeUndefined();
    expect(await book.findKey(known.key)).toMatchObject({ monitor: known.monitor });
    silence.resolve();
    await holding;
    const later = await addHeartbeat(network, {}, 3_600);
    expect(await eventually(() => book.findKey(later.key))).toMatchObject({
      monitor: later.monitor,
    });
  });

  test('that was revoked does not return with earlier messages of coordinators', async () => {
    const key = madeUp();
    const subject = subjects.pingKey(network.organisation, key);
    const put = JSON.stringify({
      v: 1,
      organisation: network.organisation,
      monitor: newId(),
      until: null,
    });
    await bus.store(subject, put);
    await eventually(() => book.byHeart(key) !== undefined);
    await bus.store(subject, '');
    await eventually(() => book.byHeart(key) === undefined);
    const before = refused.length;
    for (const agoMs of [20_000, 3_600_000]) {
      const announce = createAnnounce(announcementKeys([testSecretKey]), () => Date.now() - agoMs);
      const unknown = agoMs === 20_000 ? key : madeUp();
      const on = subjects.pingKey(network.organisation, unknown);
      await plain.store(on, put, { headers: announce([{ subject: on, data: put }])[0] ?? {} });
      await passed(300);
      expect(book.byHeart(unknown)).toBeUndefined();
    }
    expect(refused.slice(before)).toEqual(['outdated', 'outdated']);
  });
});
