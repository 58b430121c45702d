import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPingBook, type PingBook } from '../../../coordinator/heartbeats/keys.ts';
import { createAnnouncements } from '../../../coordinator/probes/announcements.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { announcementKeys, createAnnounce } from '../../../shared/bus/announcement.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { createPingRecords } from '../../../shared/bus/pings.ts';
import { subjects } from '../../../shared/bus/subjects.ts';
import { newPingToken, pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { eventually, passed } from '../../support/eventually.ts';
import { addHeartbeat } from '../../support/monitors.ts';
import { createNetwork, type Network, testLog } from '../../support/network.ts';
import { testSecretKey } from '../../support/people.ts';

/** The keys that a coordinator knows, with a real bus, and a real database that says nothing for a while. */

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
  const announcements = await createAnnouncements({
    ...{ sql: network.sql, clock: systemClock, log, secretKeys: [testSecretKey], setting: 'auto', aliveMs: 5_000 },
    onRefused: (why) => refused.push(why),
  });
  bus = await connectBus({ url, credentials, name: 'test of the book', log, announce: announcements.announce });
  plain = await connectBus({ url, credentials, name: 'test of replays', log });
  book = await openPingBook({
    ...{ sql: network.sql, bus, records: createPingRecords(bus), clock: systemClock, log, announcements, lookAgainMs: 1_000 },
  });
});
afterAll(async () => {
  await book?.close();
  await plain?.close();
  await bus?.close();
  await network?.close();
});

const madeUp = (): string => pingFingerprint(newPingToken());

describe('a heartbeat key', () => {
  test('that nobody knows is unknown also while the database says nothing, and those that are known stay so', async () => {
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
    expect(await eventually(() => book.findKey(later.key))).toMatchObject({ monitor: later.monitor });
  });

  test('that was taken back does not come again with what coordinators said of it before', async () => {
    const key = madeUp();
    const subject = subjects.pingKey(network.organisation, key);
    const put = JSON.stringify({ v: 1, organisation: network.organisation, monitor: newId(), until: null });
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
