import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTurns } from '../../../coordinator/heartbeats/creating.ts';
import { createNaming } from '../../../coordinator/heartbeats/naming.ts';
import { allPingKeys, endOldPingKeys, pingKey } from '../../../coordinator/heartbeats/queries.ts';
import {
  batchMonitors,
  createMonitor,
  deleteMonitor,
  getMonitor,
  listMonitors,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import {
  createPingKey,
  endPingKey,
  listPingKeys,
  rotatePingKey,
} from '../../../shared/api/ping-keys.ts';
import { restoreMonitor } from '../../../shared/api/trash.ts';
import { createLog } from '../../../shared/base/log.ts';
import {
  creatingFingerprint,
  namedFingerprint,
  pingFingerprint,
} from '../../../shared/checks/heartbeat/config.ts';
import { gateBench } from '../../support/gate.ts';
import { announcedKeys } from '../../support/monitors.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

const bench = gateBench();
const day = 86_400_000;

let house: TestOrganisation;
beforeEach(async () => {
  house = await createTestOrganisation(bench.sql);
});

const make = async (name = 'Jobs'): Promise<{ id: string; fingerprint: string }> => {
  const { id, key } = await bench.call(createPingKey, house.owner, { name });
  return { id, fingerprint: pingFingerprint(key) };
};

const heartbeat = async (external_id: string | null): Promise<string> =>
  (await bench.call(createMonitor, house.member, { type: 'heartbeat', name: 'Job', external_id }))
    .id;

/** Whose pings a name under the key are; undefined: nobody's. */
const under = async (
  { fingerprint }: { fingerprint: string },
  external_id: string,
): Promise<string | undefined> =>
  (await pingKey(bench.sql, namedFingerprint(fingerprint, external_id)))?.monitor;

const announced = announcedKeys(bench, () => house.organisation);

describe('a ping key', () => {
  test('is shown once, and listed by its beginning', async () => {
    const made = await bench.call(createPingKey, house.admin, { name: ' Nightly ' });
    expect(made.key).toMatch(/^pk_[A-Za-z0-9_-]{24}$/);
    expect(made.address).toBe(`https://antipode.test/beat/${made.key}/EXTERNAL_ID`);
    const { items } = await bench.call(listPingKeys, house.owner, {});
    const { key, address: _address, ...listed } = made;
    expect(items).toEqual([listed]);
    expect(listed).toMatchObject({ name: 'Nightly', shown: key.slice(0, 8), until: null });
    const [row] = await bench.sql`select * from ping_keys where id = ${made.id}`;
    expect(JSON.stringify(row)).not.toContain(key);
  });

  test('has an address for every heartbeat with an external id, those that come later too', async () => {
    const before = await heartbeat('backup');
    await heartbeat(null);
    const key = await make();
    expect(await under(key, 'backup')).toBe(before);
    expect(await announced()).toEqual(
      [
        namedFingerprint(key.fingerprint, 'backup'),
        creatingFingerprint(key.fingerprint),
      ].toSorted(),
    );
    const later = await heartbeat('shop/mail');
    expect(await under(key, 'shop/mail')).toBe(later);
    expect(await announced()).toEqual([namedFingerprint(key.fingerprint, 'shop/mail')]);
    await bench.call(createMonitor, house.member, {
      type: 'https',
      target: 'https://example.org/',
      external_id: 'site',
    });
    expect(await under(key, 'site')).toBeUndefined();
    expect(await announced()).toEqual([]);
  });

  test('follows external ids as they change, move, and go to the trash and back', async () => {
    const key = await make();
    const [one, other] = [await heartbeat('one'), await heartbeat('other')];
    await bench.call(updateMonitor, house.member, { monitor_id: one, external_id: 'first' });
    expect([await under(key, 'one'), await under(key, 'first')]).toEqual([undefined, one]);
    await bench.call(batchMonitors, house.member, {
      items: [
        { type: 'heartbeat', external_id: 'third', name: 'Third' },
        { type: 'heartbeat', external_id: 'other', name: 'Renamed' },
      ],
    });
    expect(await under(key, 'third')).toBeDefined();
    await announced();
    await bench.call(deleteMonitor, house.member, { monitor_id: other });
    expect(await under(key, 'other')).toBeUndefined();
    expect(await announced()).toEqual([namedFingerprint(key.fingerprint, 'other')]);
    await bench.call(restoreMonitor, house.member, { monitor_id: other });
    expect(await under(key, 'other')).toBe(other);
    expect(await announced()).toEqual([namedFingerprint(key.fingerprint, 'other')]);
  });

  test('is replaced with an overlap, and ends with all its addresses', async () => {
    const job = await heartbeat('job');
    const old = await make();
    const made = await bench.call(rotatePingKey, house.owner, {
      ping_key_id: old.id,
      overlap_s: 3_600,
    });
    const fresh = { fingerprint: pingFingerprint(made.key) };
    const until = bench.now + 3_600_000;
    expect(await pingKey(bench.sql, namedFingerprint(old.fingerprint, 'job'))).toMatchObject({
      monitor: job,
      until,
    });
    expect(await pingKey(bench.sql, creatingFingerprint(old.fingerprint))).toMatchObject({ until });
    expect(await pingKey(bench.sql, namedFingerprint(fresh.fingerprint, 'job'))).toMatchObject({
      monitor: job,
      until: null,
    });
    await announced();
    await bench.call(endPingKey, house.owner, { ping_key_id: made.id });
    expect(await announced()).toEqual(
      [
        namedFingerprint(fresh.fingerprint, 'job'),
        creatingFingerprint(fresh.fingerprint),
      ].toSorted(),
    );
    expect(await pingKey(bench.sql, namedFingerprint(fresh.fingerprint, 'job'))).toMatchObject({
      until: bench.now,
    });
    expect(await bench.refusal(endPingKey, house.owner, { ping_key_id: made.id })).toBe(
      'ping_key_not_found',
    );
    // A ping from before may be on its way for weeks.
    await bench.sql`update ping_keys set until = now() - interval '31 days' where id = ${made.id}`;
    await bench.sql`update ping_key_addresses set until = now() - interval '31 days' where ping_key_id = ${made.id}`;
    const gone = (await endOldPingKeys(bench.sql)).map(({ key }) => key);
    expect(gone).toEqual(
      expect.arrayContaining([
        namedFingerprint(fresh.fingerprint, 'job'),
        creatingFingerprint(fresh.fingerprint),
      ]),
    );
    const left: string[] = [];
    for await (const page of allPingKeys(bench.sql)) left.push(...page.map(({ key }) => key));
    expect(left).toContain(namedFingerprint(old.fingerprint, 'job'));
    expect(left).not.toContain(namedFingerprint(fresh.fingerprint, 'job'));
  });

  test('has a name, and there are at most ten in force', async () => {
    expect(await bench.refusal(createPingKey, house.owner, { name: ' ' })).toBe('name_invalid');
    const { id } = await make();
    for (let count = 1; count < 10; count += 1) await make(`Key ${count}`);
    expect(await bench.refusal(createPingKey, house.owner, { name: 'x' })).toBe('ping_keys_full');
    await bench.call(endPingKey, house.owner, { ping_key_id: id });
    await make();
  });
});

describe('the first ping under a name', () => {
  const log = createLog({ name: 't', level: 'silent' });
  const naming = () =>
    createNaming({
      sql: bench.sql,
      clock: { now: () => bench.now },
      log,
      createHeartbeat: (caller, body) => bench.gate.execute(createMonitor, caller, { body }),
    });
  const first = (key: { id: string; fingerprint: string }, external_id: string, at = bench.now) =>
    [
      { key: namedFingerprint(key.fingerprint, external_id), at },
      { ping_key: key.id, external_id },
    ] as const;

  test('creates its heartbeat once, as the audit log tells', async () => {
    const key = await make('Nightly');
    const create = naming();
    const made = await create(...first(key, 'shop/backup'));
    expect(made).toMatchObject({
      organisation: house.organisation,
      monitor: await under(key, 'shop/backup'),
    });
    expect(await create(...first(key, 'shop/backup'))).toEqual(made);
    const monitor = await bench.call(getMonitor, house.viewer, { monitor_id: made?.monitor ?? '' });
    expect(monitor).toMatchObject({
      type: 'heartbeat',
      name: 'shop/backup',
      external_id: 'shop/backup',
      interval_s: 86_400,
    });
    const { items } = await bench.call(listAudit, house.owner, { operation: 'createMonitor' });
    expect(items).toMatchObject([{ through: 'api', who: 'Nightly' }]);
  });

  test('creates nothing for a key that has ended, and for one that somebody made up', async () => {
    const key = await make();
    const create = naming();
    const [ping, named] = first(key, 'job');
    expect(await create({ ...ping, key: 'a'.repeat(64) }, named)).toBeUndefined();
    expect(await create(ping, { ...named, ping_key: house.organisation })).toBeUndefined();
    await bench.call(endPingKey, house.owner, { ping_key_id: key.id });
    expect(await create(ping, named)).toBeUndefined();
    // It was sent while the key counted.
    expect(await create({ ...ping, at: bench.now - 1 }, named)).toBeDefined();
    expect((await bench.call(listMonitors, house.viewer, {})).items).toHaveLength(1);
  });

  test('leaves a heartbeat as it is that got its name without one', async () => {
    const key = await make();
    const id = await heartbeat('job');
    await bench.sql`delete from ping_key_addresses where monitor_id = ${id}`;
    const made = await naming()(...first(key, 'job'));
    expect(made).toMatchObject({ monitor: id });
    expect(await bench.call(getMonitor, house.viewer, { monitor_id: id })).toMatchObject({
      name: 'Job',
      interval_s: 60,
    });
  });

  test('creates no more than the plan allows, and says so once an hour, whatever the names', async () => {
    await bench.sql`update organisations set plan = 'free' where id = ${house.organisation}`;
    const key = await make();
    let tries = 0;
    const create = createNaming({
      sql: bench.sql,
      clock: { now: () => bench.now },
      log,
      createHeartbeat: (caller, body) => {
        tries += 1;
        return bench.gate.execute(createMonitor, caller, { body });
      },
    });
    const made: boolean[] = [];
    for (let at = 0; at < 40; at += 1)
      made.push((await create(...first(key, `job-${at}`))) !== undefined);
    const count = made.filter(Boolean).length;
    expect(count).toBeGreaterThan(0);
    expect(tries).toBe(count + 1);
    const refused = async () =>
      (await bench.call(listAudit, house.owner, { operation: 'refusePing', limit: 100 })).items;
    expect(await refused()).toHaveLength(1);
    bench.now += 60_000;
    await create(...first(key, 'job-39'));
    expect([tries, (await refused()).length]).toEqual([count + 2, 1]);
    bench.now += day;
    await create(...first(key, 'job-39'));
    expect(await refused()).toHaveLength(2);
  });
});

test('pings that create monitors take turns: three a second of each ping key', () => {
  let now = 0;
  const delayOf = createTurns(() => now);
  const burst = Array.from({ length: 7 }, () => delayOf('one'));
  expect(burst).toEqual([0, 0, 0, 1_000, 1_000, 1_000, 2_000]);
  expect(delayOf('other')).toBe(0);
  now = 1_000;
  expect([1, 2, 3, 4].map(() => delayOf('one'))).toEqual([0, 0, 0, 1_000]);
  const flood = Array.from({ length: 1_000 }, () => delayOf('one'));
  expect(Math.max(...flood)).toBe(60_000);
});

describe('the page of ping keys', () => {
  let web: TestWeb;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web.close());

  test('shows a key once, replaces it and ends it', async () => {
    const as = web.house.owner;
    const headers = { 'sec-fetch-site': 'same-origin' };
    const post = (path: string, form = {}) => web.post(path, form, { as, headers });
    const refused = await post('/ping-keys', { name: ' ' });
    expect(refused.status).toBe(400);
    const made = await post('/ping-keys', { name: 'Nightly <jobs>' });
    const [key] = /pk_[A-Za-z0-9_-]{24}/.exec(made.text) ?? [];
    expect(made.headers.get('cache-control')).toBe('no-store');
    const [row] = await web.sql<{ id: string }[]>`
      select id from ping_keys where organisation_id = ${web.house.organisation}`;
    const list = async () => (await web.get('/ping-keys', { as })).text;
    expect(await list()).toContain('Nightly &lt;jobs&gt;');
    expect(await list()).not.toContain(key);
    const replaced = await post(`/ping-keys/${row?.id}/rotate`);
    expect(replaced.text).toMatch(/pk_[A-Za-z0-9_-]{24}/);
    expect(replaced.text).not.toContain(key);
    expect((await post(`/ping-keys/${row?.id}/end`)).headers.get('location')).toBe('/ping-keys');
    expect(await list()).toContain('Ended');
  });
});
