import { beforeAll, describe, expect, test } from 'vitest';
import { listDashboard } from '../../../coordinator/monitors/contract.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { search } from '../../../coordinator/search/contract.ts';
import { createGroup, getGroup, listGroups, updateGroup } from '../../../shared/api/groups.ts';
import {
  createMonitor,
  getMonitor,
  getMonitorStatus,
  listMonitors,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Outcome } from '../../../shared/checks/result.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('lists', () => {
  const bench = gateBench();
  const minute = 60_000;
  const day = 86_400_000;
  const now = Math.floor(Date.now() / 1000) * 1000;
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;
  let probe: string;
  let group: string;

  const iso = (at: number): string => new Date(at).toISOString();

  /** A monitor of some hours ago that was seen up since, or is otherwise. */
  const add = async (input: object, name: string): Promise<string> => {
    const { id } = await bench.call(createMonitor, house.owner, { name, ...input });
    await bench.sql`update monitors set created_at = ${iso(now - day)} where id = ${id}`;
    // What a partition would have done with the news of it.
    await bench.sql`update outbox set done_at = now()`;
    return id;
  };
  const see = async (id: string, at: number, outcome: Outcome = 'ok'): Promise<void> => {
    await storeChecks(bench.sql, id, [{ probe, at, took_ms: 12, outcome }]);
    await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    values (${id}, 'unknown', ${iso(now - day)}, ${iso(now - day + minute)}, 60) on conflict do nothing`;
  };
  const fail = async (id: string, at: number, confirmed: boolean): Promise<void> => {
    await see(id, at, 'fail');
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
    values (${newId()}, ${house.organisation}, ${id}, ${iso(at)}, ${confirmed ? iso(at + 1_000) : null})`;
  };

  const ids: Record<string, string> = {};

  beforeAll(async () => {
    bench.now = now;
    house = await createTestOrganisation(bench.sql);
    unknownSender = await createTestOrganisation(bench.sql);
    probe = await bench.addProbe('Europe');
    await makeResultDays(bench.sql, now - 3 * day, now + 2 * day);
    group = (await bench.call(createGroup, house.owner, { name: 'Shop' })).id;
    const https = { type: 'https', target: 'https://till.example.com/' };
    ids.up = await add({ ...https, group }, 'Zebra');
    ids.down = await add(https, 'apple');
    ids.verifying = await add({ ...https, group }, 'Mango');
    ids.pending = await add({ type: 'dns', target: 'example.com' }, 'banana');
    ids.paused = await add({ type: 'heartbeat' }, 'Apple pie');
    ids.silent = await add({ ...https, affects_group_status: false, group }, 'cherry');
    ids.beating = await add({ type: 'heartbeat', interval_s: 3_600 }, 'Nightly');
    await see(ids.up, now - minute);
    await fail(ids.down, now - 30 * minute, true);
    await fail(ids.verifying, now - minute, false);
    await bench.call(updateMonitor, house.owner, { monitor_id: ids.paused, enabled: false });
    // Nobody has noticed its silence yet.
    await see(ids.silent, now - 10 * minute);
    await bench.sql`insert into beats (id, monitor_id, kind, at, method, ear, body)
    values (${newId()}, ${ids.beating}, 'success', ${iso(now - 20 * minute)}, 'GET', 'x', '')`;
    await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    values (${ids.beating}, 'unknown', ${iso(now - day)}, ${iso(now - 20 * minute)}, 3600)`;
    await bench.sql`update outbox set done_at = now()`;
  });

  const named = (of: readonly { readonly id: string }[]) =>
    of.map(({ id }) => Object.keys(ids).find((name) => ids[name] === id) ?? id);
  const listed = async (input: object = {}) =>
    named((await bench.call(listMonitors, house.viewer, input)).items);

  describe('the status in a monitor', () => {
    test.each(['up', 'down', 'verifying', 'pending', 'paused', 'silent', 'beating'])(
      'that is %s equals that of the status operation, alone and in the list',
      async (which) => {
        const id = ids[which] ?? '';
        const { status, since, last_checked_at } = await bench.call(
          getMonitorStatus,
          house.viewer,
          { monitor_id: id },
        );
        const told = { status, since, last_checked_at };
        expect(await bench.call(getMonitor, house.viewer, { monitor_id: id })).toMatchObject(told);
        expect(
          (await bench.call(listMonitors, house.viewer)).items.find((item) => item.id === id),
        ).toMatchObject(told);
        expect(status).toBe({ silent: 'pending', beating: 'up' }[which] ?? which);
      },
    );

    test('follows what its owner did, before its partition has decided about it', async () => {
      const of = await createTestOrganisation(bench.sql);
      const made = await bench.call(createMonitor, of.owner, {
        type: 'https',
        target: 'https://new.example.com/',
      });
      expect(made).toMatchObject({
        status: 'pending',
        since: made.created_at,
        last_checked_at: null,
      });
      await bench.sql`update monitors set created_at = ${iso(now - day)} where id = ${made.id}`;
      await see(made.id, now - minute);
      const monitor_id = made.id;
      expect(await bench.call(getMonitor, of.owner, { monitor_id })).toMatchObject({
        status: 'up',
        last_checked_at: iso(now - minute),
      });
      expect(
        await bench.call(updateMonitor, of.owner, { monitor_id, enabled: false }),
      ).toMatchObject({ status: 'paused' });
      bench.now = Date.now() + minute;
      const resumed = await bench.call(updateMonitor, of.owner, { monitor_id, enabled: true });
      expect(resumed).toMatchObject({ status: 'pending', last_checked_at: iso(now - minute) });
      const { status, since } = await bench.call(getMonitorStatus, of.owner, { monitor_id });
      expect({ status, since }).toEqual({ status: 'pending', since: resumed.since });
      bench.now = now;
    });
  });

  describe('a list of monitors', () => {
    test('filters by status, type, group, target, or each word', async () => {
      expect(await listed({ status: 'down' })).toEqual(['down']);
      expect(await listed({ status: 'verifying' })).toEqual(['verifying']);
      expect(await listed({ status: 'paused' })).toEqual(['paused']);
      expect(await listed({ type: 'heartbeat' })).toEqual(['paused', 'beating']);
      expect(await listed({ group })).toEqual(['up', 'verifying', 'silent']);
      expect(await listed({ enabled: false })).toEqual(['paused']);
      expect(await listed({ enabled: true })).toHaveLength(6);
      expect(await listed({ text: 'APPLE' })).toEqual(['down', 'paused']);
      expect(await listed({ text: 'till shop' })).toEqual(['up', 'verifying', 'silent']);
      expect(await listed({ text: '%' })).toEqual([]);
      expect(await listed({ text: 'x'.repeat(1_000) })).toEqual([]);
      await expect(listed({ text: 'x'.repeat(1_001) })).rejects.toMatchObject({
        faults: [{ type: 'string_too_long', loc: ['query', 'text'] }],
      });
      expect(
        await listed({ type: 'https', group, status: 'up', enabled: true, text: 'z' }),
      ).toEqual(['up']);
      expect(await listed({ status: 'down', type: 'dns' })).toEqual([]);
    });

    test('refuses what is no status, type or order, and a group that is not there', async () => {
      for (const input of [
        { status: 'broken' },
        { type: 'ping' },
        { sort: 'colour' },
        { enabled: 'perhaps' },
        { group: 'x' },
      ])
        expect(await bench.refusal(listMonitors, house.owner, input), JSON.stringify(input)).toBe(
          'faults',
        );
      expect(await bench.refusal(listMonitors, house.owner, { group: newId() })).toBe(
        'group_not_found',
      );
      expect(await bench.refusal(listMonitors, unknownSender.owner, { group })).toBe(
        'group_not_found',
      );
    });

    test('is sorted by name, or by the newest change', async () => {
      expect(await listed({ sort: 'name' })).toEqual([
        'down',
        'paused',
        'pending',
        'silent',
        'verifying',
        'beating',
        'up',
      ]);
      const changed = (await bench.call(listMonitors, house.owner, { sort: 'changed' })).items;
      expect(named(changed).slice(0, 4)).toEqual(['paused', 'verifying', 'beating', 'down']);
    });

    test.each([
      {},
      { sort: 'name' },
      { sort: 'changed' },
      { group, sort: 'name' },
      { enabled: true },
      { type: 'https' },
      { text: 'example' },
    ])('is paged without a gap or a repeat: %j', async (asked) => {
      const input = 'group' in asked ? { ...asked, group } : asked;
      const whole = await listed(input);
      const walked: string[] = [];
      for (
        let cursor: string | null = null, first = true;
        first || cursor !== null;
        first = false
      ) {
        const page: { items: readonly { id: string }[]; next_cursor: string | null } =
          await bench.call(listMonitors, house.viewer, {
            ...input,
            limit: 2,
            ...(cursor === null ? {} : { cursor }),
          });
        walked.push(...named(page.items));
        cursor = page.next_cursor;
      }
      expect(walked).toEqual(whole);
    });

    test('continues after its last row though that was renamed or deleted', async () => {
      const first = await bench.call(listMonitors, house.owner, { sort: 'name', limit: 2 });
      expect(named(first.items)).toEqual(['down', 'paused']);
      await bench.call(updateMonitor, house.owner, { monitor_id: ids.paused, name: 'zzz' });
      expect(await listed({ sort: 'name', limit: 2, cursor: first.next_cursor })).toEqual([
        'pending',
        'silent',
      ]);
      await bench.call(updateMonitor, house.owner, { monitor_id: ids.paused, name: 'Apple pie' });
    });

    test('refuses a cursor of another order or filter, and its cursors reveal nothing', async () => {
      const { next_cursor: cursor } = await bench.call(listMonitors, house.owner, {
        sort: 'name',
        limit: 1,
      });
      for (const input of [
        {},
        { sort: 'changed' },
        { sort: 'name', type: 'https' },
        { sort: 'name', text: 'a' },
      ])
        expect(
          await bench.refusal(listMonitors, house.owner, { ...input, cursor }),
          JSON.stringify(input),
        ).toBe('faults');
      expect(await bench.refusal(listMonitors, unknownSender.owner, { sort: 'name', cursor })).toBe(
        'faults',
      );
      expect(Buffer.from(cursor ?? '', 'base64url').toString('latin1')).not.toContain('apple');
      expect(
        (await bench.call(listMonitors, house.owner, { sort: 'name', limit: 1 })).next_cursor,
      ).toBe(cursor);
    });
  });

  test('a group has one status, and counts its monitors by status', async () => {
    const standing = {
      status: 'verifying',
      monitors: 3,
      down: 0,
      verifying: 1,
      up: 2,
      pending: 0,
      paused: 0,
    };
    expect(await bench.call(getGroup, house.viewer, { group_id: group })).toMatchObject(standing);
    expect((await bench.call(listGroups, house.viewer)).items).toMatchObject([standing]);
    expect(await bench.call(createGroup, house.owner, { name: 'Empty' })).toMatchObject({
      status: 'pending',
      monitors: 0,
      up: 0,
    });
  });
});

describe('labels', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;
  const https = { type: 'https', target: 'https://till.example.com/' };

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
    unknownSender = await createTestOrganisation(bench.sql);
    await bench.addProbe('Europe');
  });

  const listed = async (input: object) =>
    (await bench.call(listMonitors, house.viewer, input)).items.map(({ name }) => name);

  describe('a monitor with an external id', () => {
    test('keeps what is not sent of whether it counts for its group', async () => {
      const counts = async (sent: object) =>
        bench.call(createMonitor, house.owner, { ...https, external_id: 'quiet', ...sent });
      expect(await counts({ affects_group_status: false })).toMatchObject({
        affects_group_status: false,
      });
      expect(await counts({ interval_s: 120 })).toMatchObject({
        affects_group_status: false,
        interval_s: 120,
      });
      expect(await counts({ affects_group_status: true })).toMatchObject({
        affects_group_status: true,
      });
      expect(
        await bench.call(createMonitor, house.owner, { ...https, external_id: 'loud' }),
      ).toMatchObject({ affects_group_status: true });
    });

    test('is created once, and updated when it is sent again', async () => {
      const sent = {
        ...https,
        name: 'Till',
        external_id: ' shop/till ',
        tags: ['EU', 'shop', 'eu'],
      };
      const made = await bench.answer(createMonitor, house.owner, sent);
      expect(made.status).toBeUndefined();
      expect(made.body).toMatchObject({
        name: 'Till',
        external_id: 'shop/till',
        tags: ['eu', 'shop'],
        interval_s: 60,
      });
      const again = await bench.answer(createMonitor, house.member, {
        ...https,
        external_id: 'shop/till',
        interval_s: 120,
      });
      expect(again).toMatchObject({
        status: 200,
        body: { name: 'Till', interval_s: 120, tags: ['eu', 'shop'] },
      });
      expect(again.body).toHaveProperty('id', Object(made.body).id);
      expect(await listed({ external_id: 'shop/till' })).toEqual(['Till']);
      expect(await listed({ external_id: 'shop' })).toEqual([]);
      expect(
        await bench.refusal(createMonitor, house.owner, {
          type: 'dns',
          target: 'example.com',
          external_id: 'shop/till',
        }),
      ).toBe('type_differs');
      // A refused change changes nothing.
      expect(
        await bench.refusal(createMonitor, house.owner, {
          ...https,
          external_id: 'shop/till',
          name: 'x',
          interval_s: 1,
        }),
      ).toBe('interval_out_of_range');
      expect(await listed({ external_id: 'shop/till' })).toEqual(['Till']);
      const theirs = await bench.answer(createMonitor, unknownSender.owner, {
        ...https,
        external_id: 'shop/till',
      });
      expect(theirs.status).toBeUndefined();
    });

    test('is one, however many requests come at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          bench.answer(createMonitor, house.owner, { ...https, name: 'Race', external_id: 'race' }),
        ),
      );
      expect(answers.filter(({ status }) => status === undefined)).toHaveLength(1);
      expect(await listed({ external_id: 'race' })).toEqual(['Race']);
    });

    test('takes no id of another, and gives its own back', async () => {
      const one = await bench.call(createMonitor, house.owner, { ...https, external_id: 'one' });
      const two = await bench.call(createMonitor, house.owner, { ...https, external_id: 'two' });
      expect(
        await bench.refusal(updateMonitor, house.owner, { monitor_id: two.id, external_id: 'one' }),
      ).toBe('external_id_taken');
      expect(
        await bench.call(updateMonitor, house.owner, { monitor_id: one.id, external_id: '' }),
      ).toMatchObject({ external_id: null });
      expect(
        await bench.call(updateMonitor, house.owner, { monitor_id: two.id, external_id: 'one' }),
      ).toMatchObject({
        external_id: 'one',
      });
      expect(
        await bench.call(updateMonitor, house.owner, { monitor_id: two.id, name: 'Two' }),
      ).toMatchObject({ external_id: 'one' });
      for (const external_id of ['x'.repeat(201), 'a\nb', '\u200b'])
        expect(
          await bench.refusal(createMonitor, house.owner, { ...https, external_id }),
          external_id,
        ).toBe('external_id_invalid');
    });
  });

  describe('tags', () => {
    test('are replaced as a whole or kept, and filter the list and the dashboard', async () => {
      const { id } = await bench.call(createMonitor, house.owner, {
        ...https,
        name: 'Tagged',
        tags: ['it"s', 'back\\slash', 'größe'],
      });
      expect((await bench.call(getMonitor, house.viewer, { monitor_id: id })).tags).toEqual([
        'back\\slash',
        'größe',
        'it"s',
      ]);
      for (const tag of ['it"s', 'back\\slash', 'GRÖSSE'.replace('SS', 'ß'), ' größe '])
        expect(await listed({ tag }), tag).toEqual(['Tagged']);
      expect(
        (await bench.call(updateMonitor, house.owner, { monitor_id: id, name: 'Still' })).tags,
      ).toHaveLength(3);
      expect(
        (await bench.call(updateMonitor, house.owner, { monitor_id: id, tags: ['night'] })).tags,
      ).toEqual(['night']);
      const { items, matching } = await bench.call(listDashboard, house.viewer, { tag: 'Night' });
      expect([items.map(({ name, tags }) => [name, tags]), matching]).toEqual([
        [['Still', ['night']]],
        1,
      ]);
      expect(
        (await bench.call(updateMonitor, house.owner, { monitor_id: id, tags: [] })).tags,
      ).toEqual([]);
      expect(await listed({ tag: 'night' })).toEqual([]);
    });

    test('are searched like words, whole and in part, together with names and targets', async () => {
      const of = await createTestOrganisation(bench.sql);
      const found = async (text: string) =>
        (await bench.call(listMonitors, of.viewer, { text })).items.map(({ name }) => name);
      await bench.call(createMonitor, of.owner, {
        ...https,
        name: 'Checkout',
        tags: ['payments', '100%'],
      });
      await bench.call(createMonitor, of.owner, { ...https, name: 'Payments API' });
      await bench.call(createMonitor, of.owner, {
        ...https,
        name: 'Blog',
        tags: ['night', 'shift'],
      });
      expect(await found('PAYMENTS')).toEqual(['Checkout', 'Payments API']);
      expect(await found('pay till check')).toEqual(['Checkout']);
      expect(await found('100%')).toEqual(['Checkout']);
      // Each word is of one tag: two that stand side by side are no third.
      expect(await found('nightshift')).toEqual([]);
      expect(await found('shift night')).toEqual(['Blog']);
      expect((await bench.call(listMonitors, house.viewer, { text: '100%' })).items).toEqual([]);
    });

    test('and invalid ids match no monitor, wherever they are searched', async () => {
      for (const text of ['a\u0000', '\u0000']) {
        expect(await listed({ tag: text })).toEqual([]);
        expect(await listed({ external_id: text })).toEqual([]);
        expect((await bench.call(listDashboard, house.viewer, { tag: text })).items).toEqual([]);
        expect((await bench.call(search, house.viewer, { q: `${text}\u0000 zzz` })).items).toEqual(
          [],
        );
      }
    });

    test('are limited in number and length, and single words', async () => {
      const wrong = [
        Array.from({ length: 21 }, (_, nth) => `t${nth}`),
        ['x'.repeat(51)],
        ['two words'],
        ['a,b'],
        [''],
        ['a\u0000'],
      ];
      for (const tags of wrong)
        expect(
          await bench.refusal(createMonitor, house.owner, { ...https, tags }),
          String(tags),
        ).toBe('tags_invalid');
      expect(await bench.refusal(createMonitor, house.owner, { ...https, tags: 'shop' })).toBe(
        'faults',
      );
      // Fifty signs as people count them, each of two units.
      const signs = '\u{1f600}'.repeat(50);
      expect(
        (await bench.call(createMonitor, house.owner, { ...https, tags: [signs] })).tags,
      ).toEqual([signs]);
      expect(
        await bench.refusal(createMonitor, house.owner, { ...https, tags: [`${signs}x`] }),
      ).toBe('tags_invalid');
    });
  });

  describe('a group with an external id', () => {
    test('is created once, updated when sent again, and takes over the one of its name', async () => {
      const made = await bench.answer(createGroup, house.owner, {
        name: 'Web',
        description: 'Old',
        external_id: 'web',
      });
      expect(made.status).toBeUndefined();
      const again = await bench.answer(createGroup, house.owner, {
        name: 'Website',
        external_id: 'web',
      });
      expect(again).toMatchObject({
        status: 200,
        body: { id: Object(made.body).id, name: 'Website', description: 'Old', external_id: 'web' },
      });
      const plain = await bench.call(createGroup, house.owner, { name: 'Jobs' });
      expect(plain.external_id).toBeNull();
      expect(
        await bench.answer(createGroup, house.owner, { name: 'jobs', external_id: 'jobs' }),
      ).toMatchObject({
        status: 200,
        body: { id: plain.id, name: 'Jobs', external_id: 'jobs' },
      });
      expect(
        await bench.refusal(createGroup, house.owner, { name: 'Jobs', external_id: 'other' }),
      ).toBe('name_taken');
      expect(
        await bench.refusal(createGroup, house.owner, { name: 'Website', external_id: 'jobs' }),
      ).toBe('name_taken');
      expect(
        await bench.refusal(updateGroup, house.owner, { group_id: plain.id, external_id: 'web' }),
      ).toBe('external_id_taken');
      expect(
        await bench.call(updateGroup, house.owner, { group_id: plain.id, external_id: '' }),
      ).toMatchObject({ external_id: null });
      expect(await bench.call(getGroup, house.viewer, { group_id: plain.id })).toMatchObject({
        name: 'Jobs',
        external_id: null,
      });
    });
  });
});
