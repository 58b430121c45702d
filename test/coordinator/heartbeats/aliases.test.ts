import createApp from 'fastify';
import { beforeEach, describe, expect, test } from 'vitest';
import { monitorsOfPartition } from '../../../coordinator/engine/queries.ts';
import { aliasFingerprint } from '../../../coordinator/heartbeats/alias-queries.ts';
import { allPingKeys, countHeartbeats, pingKey } from '../../../coordinator/heartbeats/queries.ts';
import { pingRoutes } from '../../../coordinator/heartbeats/routes.ts';
import { purgeMonitor } from '../../../coordinator/monitors/contract.ts';
import { planFile } from '../../../shared/api/files.ts';
import {
  batchMonitors,
  createMonitor,
  deleteMonitor,
  getMonitor,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { restoreMonitor } from '../../../shared/api/trash.ts';
import { parsePingCall } from '../../../shared/checks/heartbeat/state.ts';
import { gateBench } from '../../support/gate.ts';
import { announcedKeys } from '../../support/monitors.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
beforeEach(async () => {
  house = await createTestOrganisation(bench.sql);
});

const alias = () => crypto.randomUUID();
const job = (ping_alias: string, more = {}) => ({
  type: 'heartbeat',
  name: 'Job',
  config: { grace_s: 60, ping_alias },
  ...more,
});
const create = async (ping_alias: string, of = house): Promise<string> =>
  (await bench.call(createMonitor, of.member, job(ping_alias))).id;

/** Whose pings it brings; undefined: nobody's. */
const behind = async (ping_alias: string): Promise<string | undefined> =>
  (await pingKey(bench.sql, aliasFingerprint(ping_alias)))?.monitor;

const announced = announcedKeys(bench, () => house.organisation);

describe('an alias', () => {
  test('is an address of its monitor, told to the ping receivers, and shown to nobody', async () => {
    const own = alias();
    const id = await create(own);
    expect(await behind(own.toUpperCase())).toBe(id);
    expect(await announced()).toEqual([aliasFingerprint(own)]);
    const { config } = await bench.call(getMonitor, house.owner, { monitor_id: id });
    expect(config).toEqual({ grace_s: 60, ping_alias: '***' });
    for (const table of ['monitors', 'ping_aliases', 'outbox', 'audit_log'])
      expect(JSON.stringify(await bench.sql`select * from ${bench.sql(table)}`)).not.toContain(own);
    // Probes judge heartbeats without it.
    const [{ partition = 0 } = {}] = await bench.sql<{ partition: number }[]>`
      select partition from monitors where id = ${id}`;
    const rows = (await Array.fromAsync(monitorsOfPartition(bench.sql, partition))).flat();
    expect(rows.find((row) => row.id === id)?.secrets).toBeNull();
    const pages = await Array.fromAsync(allPingKeys(bench.sql));
    expect(pages.flat().length).toBe((await countHeartbeats(bench.sql)).keys);
  });

  test('goes to one of two who claim it at once, and the other is told so', async () => {
    const other = await createTestOrganisation(bench.sql);
    const own = alias();
    const claims = await Promise.allSettled([create(own), create(own, other)]);
    expect(claims.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(claims.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'ping_alias_taken' },
    });
  });

  test('follows its monitor as it changes, and goes to the trash and back', async () => {
    const [first, second] = [alias(), alias()];
    const id = await create(first);
    await bench.call(updateMonitor, house.member, {
      monitor_id: id,
      target: 'another note',
      config: { grace_s: 90, ping_alias: '***' },
    });
    expect(await behind(first)).toBe(id);
    await bench.call(updateMonitor, house.member, {
      monitor_id: id,
      config: { ping_alias: second },
    });
    expect([await behind(first), await behind(second)]).toEqual([undefined, id]);
    await announced();
    await bench.call(deleteMonitor, house.member, { monitor_id: id });
    expect(await behind(second)).toBeUndefined();
    expect(await announced()).toEqual([aliasFingerprint(second)]);
    await bench.call(restoreMonitor, house.member, { monitor_id: id });
    expect(await behind(second)).toBe(id);
    expect(await announced()).toEqual([aliasFingerprint(second)]);
    await bench.call(updateMonitor, house.member, { monitor_id: id, config: {} });
    expect(await behind(second)).toBeUndefined();
    const next = await create(second);
    expect(next).not.toBe(id);
    await bench.call(deleteMonitor, house.member, { monitor_id: next });
    await bench.call(purgeMonitor, house.admin, { monitor_id: next });
    expect(await behind(second)).toBeUndefined();
    expect(await create(second)).not.toBe(next);
  });

  test('in the trash goes to the next monitor of its organisation that has it', async () => {
    const other = await createTestOrganisation(bench.sql);
    const own = alias();
    const id = await create(own);
    await bench.call(deleteMonitor, house.member, { monitor_id: id });
    await expect(create(own, other)).rejects.toMatchObject({ code: 'ping_alias_taken' });
    const { objects } = await bench.call(planFile, house.member, {
      file: 'jobs',
      monitors: { one: job(own) },
    });
    expect(objects).toMatchObject([{ key: 'one', result: 'created' }]);
    const { items } = await bench.call(batchMonitors, house.member, {
      mode: 'all',
      items: [job(own, { external_id: 'a' })],
    });
    const next = items[0]?.id ?? '';
    expect(await behind(own)).toBe(next);
    await announced();
    const restore = () => bench.call(restoreMonitor, house.member, { monitor_id: id });
    await expect(restore()).rejects.toMatchObject({ code: 'ping_alias_taken' });
    expect(await behind(own)).toBe(next);
    await bench.call(updateMonitor, house.member, { monitor_id: next, config: {} });
    await restore();
    expect(await behind(own)).toBe(id);
    expect(await announced()).toEqual(expect.arrayContaining([aliasFingerprint(own)]));
    await bench.call(updateMonitor, house.member, { monitor_id: id, name: 'Again' });
    expect(await behind(own)).toBe(id);
  });

  test('is one monitor’s of all organisations, and its refusal does not say whose', async () => {
    const other = await createTestOrganisation(bench.sql);
    const [taken, free] = [alias(), alias()];
    const theirs = await create(taken, other);
    const refused = {
      code: 'ping_alias_taken',
      message: expect.stringContaining('another monitor'),
    };
    await expect(create(taken)).rejects.toMatchObject(refused);
    const mine = await create(free);
    await expect(
      bench.call(updateMonitor, house.member, { monitor_id: mine, config: { ping_alias: taken } }),
    ).rejects.toMatchObject(refused);
    const { items } = await bench.call(batchMonitors, house.member, {
      mode: 'each',
      items: [
        job(taken, { external_id: 'a' }),
        job(alias(), { external_id: 'b' }),
        job(free, { external_id: 'c' }),
      ],
    });
    expect(items.map(({ result, error }) => error?.code ?? result)).toEqual([
      'ping_alias_taken',
      'created',
      'ping_alias_taken',
    ]);
    const { objects } = await bench.call(planFile, house.member, {
      file: 'jobs',
      monitors: { one: job(taken), two: job(alias()) },
    });
    expect(objects).toMatchObject([
      { key: 'one', result: 'refused', error: { code: 'ping_alias_taken' } },
      { key: 'two', result: 'created' },
    ]);
    expect(JSON.stringify([items, objects])).not.toContain(theirs);
    expect(await behind(taken)).toBe(theirs);
  });

  test('is a UUID', async () => {
    for (const odd of ['a96a8bc5', `${alias()}0`, 'pk_AAAAAAAAAAAAAAAAAAAA'])
      await expect(create(odd)).rejects.toMatchObject({ code: 'config_invalid' });
  });

  test.each([
    ['', 'success', null],
    ['/', 'success', null],
    ['/start', 'start', null],
    ['/fail', 'fail', null],
    ['/log', 'log', null],
    ['/0', 'success', 0],
    ['/3', 'fail', 3],
  ])('takes what ends in "%s" as %s', (ending, kind, exit_code) => {
    const token = alias();
    expect(parsePingCall(`/ping/${token.toUpperCase()}${ending}`)).toEqual({
      token,
      named: null,
      kind,
      exit_code,
      rid: null,
    });
  });

  test.each(['/ping', '/ping/', '/ping/abc', `/ping/${alias()}/done`, `/ping/${alias()}/256`])(
    'is not in %s',
    (address) => expect(parsePingCall(address)).toBe('no_such_address'),
  );
});

test('reaches the coordinator beside the addresses of tokens', async () => {
  const app = createApp();
  const taken: string[] = [];
  pingRoutes(app, {
    take: async ({ address }) => {
      taken.push(address);
      return { status: 200, text: 'OK', headers: {} };
    },
  });
  const own = alias();
  for (const method of ['GET', 'POST', 'HEAD'] as const)
    expect((await app.inject({ method, url: `/ping/${own}/start?rid=1` })).statusCode).toBe(200);
  expect(taken).toEqual(Array.from({ length: 3 }, () => `/ping/${own}/start?rid=1`));
  await app.close();
});
