import { beforeAll, describe, expect, test } from 'vitest';
import { operatorIn } from '../../../coordinator/gate/caller.ts';
import { getPingAddress } from '../../../coordinator/monitors/contract.ts';
import { pingTokenOf } from '../../../coordinator/secrets/at-rest.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import {
  batchMonitors,
  createMonitor,
  deleteMonitor,
  getMonitor,
  listMonitors,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('operations', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql, { name: 'Shop' });
    unknownSender = await createTestOrganisation(bench.sql);
    await bench.addProbe('Europe');
    await bench.addProbe('Asia');
  });

  const https = { type: 'https', target: 'https://example.com/health' };

  /** What was told to whoever acts on it, oldest first. */
  const told = async (monitor: string): Promise<unknown[]> =>
    (
      await bench.sql<
        { payload: unknown }[]
      >`select payload from outbox where topic = 'monitor' and payload ->> 'monitor' = ${monitor} order by id`
    ).map(({ payload }) => payload);

  describe('createMonitor', () => {
    test('returns the monitor, which is then in the list and sent to its owner', async () => {
      const made = await bench.call(createMonitor, house.member, {
        ...https,
        config: { expected_status: ['2xx'], note: 'kept' },
      });
      expect(made).toMatchObject({
        name: 'example.com',
        type: 'https',
        target: https.target,
        interval_s: 60,
        enabled: true,
        group: null,
        affects_group_status: true,
        config: { expected_status: ['2xx'], note: 'kept' },
      });
      expect(made.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(await bench.call(getMonitor, house.viewer, { monitor_id: made.id })).toEqual(made);
      expect((await bench.call(listMonitors, house.viewer)).items.map(({ id }) => id)).toContain(
        made.id,
      );
      expect(await told(made.id)).toEqual([
        { monitor: made.id, change: 'created', what_is_checked_changed: false },
      ]);
    });

    test('keeps secrets encrypted and shows masks', async () => {
      const config = { basic_auth: { username: 'ada', password: 'hunter2' }, bearer_token: null };
      const made = await bench.call(createMonitor, house.owner, { ...https, config });
      expect(made.config).toMatchObject({ basic_auth: { username: 'ada', password: '***' } });
      const [row] = await bench.sql<
        { text: string; secrets: Buffer }[]
      >`select m::text as text, secrets from monitors m where id = ${made.id}`;
      expect(row?.text).not.toContain('hunter2');
      expect(row?.secrets.includes('hunter2')).toBe(false);
    });

    test('gives a heartbeat a token that is on its page only', async () => {
      const made = await bench.call(createMonitor, house.owner, {
        type: 'heartbeat',
        name: 'Backup',
        interval_s: 300,
      });
      const { address } = await bench.call(getPingAddress, house.viewer, { monitor_id: made.id });
      const token =
        /^https:\/\/antipode\.test\/beat\/([A-Za-z0-9_-]{16,64})$/.exec(address)?.[1] ?? '';
      expect(JSON.stringify(made)).not.toContain(token);
      const [row] = await bench.sql<{ token: Buffer; key: string }[]>`
      select token, encode(fingerprint, 'hex') as key from beat_tokens where monitor_id = ${made.id}`;
      expect(row?.key).toBe(pingFingerprint(token));
      expect(
        await bench.secrets.open(bench.sql, row?.token ?? Buffer.alloc(0), pingTokenOf(made.id)),
      ).toBe(token);
      const lines =
        await bench.sql`select payload from outbox where topic = 'ping_key' and payload ->> 'key' = ${row?.key ?? ''}`;
      expect(lines).toEqual([{ payload: { key: row?.key } }]);
      const other = await bench.call(createMonitor, house.owner, https);
      expect(await bench.refusal(getPingAddress, house.owner, { monitor_id: other.id })).toBe(
        'not_a_heartbeat',
      );
    });

    test('judges places and private addresses by the rows of probes, not by who is there', async () => {
      const at = (config: object, target = https.target) =>
        bench.refusal(createMonitor, house.owner, { ...https, target, config });
      expect(await at({ continents: ['Oceania'] })).toBe('nobody_can_check');
      expect(await at({ continents: ['Oceania', 'Asia'] })).toBe('taken');
      expect(await at({}, 'http://10.0.0.5/')).toBe('target_forbidden');
      const own = await bench.addProbe('Oceania', { house, allow: ['10.0.0.0/8'] });
      expect(await at({ probe: own }, 'http://10.0.0.5/')).toBe('taken');
      expect(await at({ probe: own }, 'http://192.168.0.5/')).toBe('target_forbidden');
      expect(await at({}, 'http://10.0.0.5/')).toBe('target_forbidden');
      expect(
        await bench.refusal(createMonitor, unknownSender.owner, {
          ...https,
          config: { probe: own },
        }),
      ).toBe('nobody_can_check');
      await bench.sql`update probes set revoked_at = now() where id = ${own}`;
      expect(await at({ probe: own })).toBe('nobody_can_check');
    });

    test('knows the groups of its own organisation only', async () => {
      const group = (await bench.call(createGroup, unknownSender.owner, { name: 'Theirs' })).id;
      expect(await bench.refusal(createMonitor, house.owner, { ...https, group })).toBe(
        'group_not_found',
      );
      expect(await bench.refusal(createMonitor, house.owner, { ...https, group: newId() })).toBe(
        'group_not_found',
      );
      expect(await bench.refusal(createMonitor, unknownSender.owner, { ...https, group })).toBe(
        'taken',
      );
    });

    test('never passes the plan, however many ask at once', async () => {
      const small = await createTestOrganisation(bench.sql, { plan: 'free' });
      const outcomes = await Promise.all(
        Array.from({ length: 30 }, () => bench.refusal(createMonitor, small.owner, https)),
      );
      expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(20);
      expect(outcomes.filter((outcome) => outcome === 'plan_limit_monitors')).toHaveLength(10);
      expect(
        await bench.sql`select 1 from monitors where organisation_id = ${small.organisation}`,
      ).toHaveLength(20);
      await bench.sql`update organisations set plan = 'team' where id = ${small.organisation}`;
      expect(await bench.refusal(createMonitor, small.owner, { ...https, interval_s: 60 })).toBe(
        'taken',
      );
      expect(await bench.refusal(createMonitor, small.owner, { ...https, interval_s: 30 })).toBe(
        'plan_limit_interval',
      );
    });

    test('by the operator passes the same gate', async () => {
      const operator = operatorIn({
        id: house.organisation,
        name: 'Shop',
        plan: 'self_hosted',
        time_zone: 'UTC',
        ends_at: null,
      });
      expect(await bench.refusal(createMonitor, operator, { ...https, name: 'By hand' })).toBe(
        'taken',
      );
      expect(await bench.refusal(createMonitor, operator, { ...https, target: 'nonsense' })).toBe(
        'target_invalid',
      );
      expect(
        await bench.refusal(
          createMonitor,
          operatorIn({ ...operator.organisation, id: newId() }),
          https,
        ),
      ).toBe('organisation_not_found');
    });

    test('returns every error of the input at once, before the rules are applied', async () => {
      expect(
        await bench.refusal(createMonitor, house.owner, { target: 3, interval_s: 'often' }),
      ).toBe('faults');
    });
  });

  describe('updateMonitor', () => {
    const fresh = (more: object = {}) =>
      bench.call(createMonitor, house.owner, { ...https, ...more });

    test('changes what is sent and leaves what is null or absent', async () => {
      const made = await fresh({ config: { note: 'a' } });
      const changed = await bench.call(updateMonitor, house.member, {
        monitor_id: made.id,
        name: 'Shop',
        target: null,
        config: null,
      });
      expect(changed).toEqual({ ...made, name: 'Shop' });
      expect(await bench.call(updateMonitor, house.member, { monitor_id: made.id })).toEqual(
        changed,
      );
      expect(await told(made.id)).toHaveLength(1);
    });

    test('keeps a masked secret, accepts a new one, and notifies the owner when the config changed', async () => {
      const made = await fresh({ config: { bearer_token: 'first' } });
      const secret = async () => {
        const [row] = await bench.sql<
          { secrets: Buffer }[]
        >`select secrets from monitors where id = ${made.id}`;
        return bench.secrets.open(bench.sql, row?.secrets ?? Buffer.alloc(0), `monitor ${made.id}`);
      };
      await bench.call(updateMonitor, house.owner, { monitor_id: made.id, config: made.config });
      expect(await secret()).toContain('first');
      await bench.call(updateMonitor, house.owner, {
        monitor_id: made.id,
        config: { bearer_token: 'second' },
      });
      expect(await secret()).toContain('second');
      expect((await told(made.id)).slice(1)).toEqual([
        { monitor: made.id, change: 'edited', what_is_checked_changed: true },
      ]);
      const [row] = await bench.sql<
        { config_version: number }[]
      >`select config_version from monitors where id = ${made.id}`;
      expect(row?.config_version).toBe(2);
      await bench.call(updateMonitor, house.owner, { monitor_id: made.id, config: {} });
      expect(await bench.sql`select secrets from monitors where id = ${made.id}`).toEqual([
        { secrets: null },
      ]);
    });

    test('pauses and resumes, at the time sent to the owner', async () => {
      const made = await fresh();
      const paused = await bench.call(updateMonitor, house.owner, {
        monitor_id: made.id,
        enabled: false,
      });
      expect(paused.enabled).toBe(false);
      const [row] = await bench.sql<{ same: boolean }[]>`
      select m.paused_at = o.created_at as same from monitors m, outbox o
      where m.id = ${made.id} and o.payload ->> 'monitor' = ${made.id} and o.payload ->> 'change' = 'paused'`;
      expect(row?.same).toBe(true);
      await bench.call(updateMonitor, house.owner, { monitor_id: made.id, enabled: false });
      await bench.call(updateMonitor, house.owner, { monitor_id: made.id, enabled: true });
      expect(await told(made.id)).toMatchObject([
        { change: 'created' },
        { change: 'paused' },
        { change: 'resumed' },
      ]);
      expect(await bench.sql`select paused_at from monitors where id = ${made.id}`).toEqual([
        { paused_at: null },
      ]);
    });

    test('moves between groups and out of them, and the memberships are written down', async () => {
      const [one, two] = [
        await bench.call(createGroup, house.owner, { name: 'One' }),
        await bench.call(createGroup, house.owner, { name: 'Two' }),
      ];
      const made = await fresh({ group: one.id });
      expect(
        (await bench.call(updateMonitor, house.owner, { monitor_id: made.id, group: two.id }))
          .group,
      ).toBe(two.id);
      expect(
        (await bench.call(updateMonitor, house.owner, { monitor_id: made.id, ungroup: true }))
          .group,
      ).toBeNull();
      expect(
        (await bench.call(updateMonitor, house.owner, { monitor_id: made.id, group: null })).group,
      ).toBeNull();
      const both = bench.call(updateMonitor, house.owner, {
        monitor_id: made.id,
        group: one.id,
        ungroup: true,
      });
      await expect(both).rejects.toMatchObject({
        faults: [{ type: 'value_error', loc: ['body', 'ungroup'] }],
      });
      const memberships = await bench.sql`
      select group_id, ended_at is null as open from group_memberships where monitor_id = ${made.id} order by began_at`;
      expect(memberships).toEqual([
        { group_id: one.id, open: false },
        { group_id: two.id, open: false },
      ]);
      expect(
        await bench.refusal(updateMonitor, house.owner, { monitor_id: made.id, group: newId() }),
      ).toBe('group_not_found');
    });

    test('keeps a runbook until it is empty, tells of its change, and refuses one that is too long', async () => {
      const { id } = await fresh();
      const update = (runbook: string | null) =>
        bench.call(updateMonitor, house.owner, { monitor_id: id, runbook });
      const text = `1. Stop\n2. Start\n${'é'.repeat(1_983)}`;
      expect(await update(text)).toMatchObject({ runbook: text });
      expect(
        await bench.call(updateMonitor, house.owner, { monitor_id: id, name: 'A' }),
      ).toMatchObject({
        runbook: text,
      });
      expect(await update(null)).toMatchObject({ runbook: text });
      const tooLong = { monitor_id: id, runbook: `${text}e` };
      expect(await bench.refusal(updateMonitor, house.owner, tooLong)).toBe('runbook_invalid');
      expect(await update(' ')).toMatchObject({ runbook: null });
      const events = await bench.sql<{ what: string }[]>`
        select what from events where monitor_id = ${id} and what = 'monitor.changed'`;
      expect(events).toHaveLength(3);
    });

    test('of many at once loses none of the changes', async () => {
      const { id } = await fresh();
      await Promise.all([
        bench.call(updateMonitor, house.owner, { monitor_id: id, name: 'Renamed' }),
        bench.call(updateMonitor, house.owner, { monitor_id: id, interval_s: 120 }),
        bench.call(updateMonitor, house.owner, { monitor_id: id, affects_group_status: false }),
        bench.call(updateMonitor, house.owner, { monitor_id: id, config: { method: 'HEAD' } }),
      ]);
      expect(await bench.call(getMonitor, house.owner, { monitor_id: id })).toMatchObject({
        name: 'Renamed',
        interval_s: 120,
        affects_group_status: false,
        config: { method: 'HEAD' },
      });
    });
  });

  describe('deleteMonitor', () => {
    test('deletes the history, the bulk of it later, and notifies the owner and the ping receivers', async () => {
      const made = await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Job' });
      const [row] = await bench.sql<
        { key: number }[]
      >`select key from monitors where id = ${made.id}`;
      await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at) values (${newId()}, ${house.organisation}, ${made.id}, now())`;
      await bench.sql`insert into ledger (monitor_id, kind, began_at, interval_s) values (${made.id}, 'unknown', now(), 60)`;
      const [token] = await bench.sql<{ key: string }[]>`
        select encode(fingerprint, 'hex') as key from beat_tokens where monitor_id = ${made.id}`;
      expect(await bench.answer(deleteMonitor, house.member, { monitor_id: made.id })).toEqual({
        body: undefined,
      });
      expect(await bench.refusal(getMonitor, house.owner, { monitor_id: made.id })).toBe(
        'monitor_not_found',
      );
      for (const table of ['incidents', 'ledger', 'beat_tokens'] as const)
        expect(
          await bench.sql`select 1 from ${bench.sql(table)} where monitor_id = ${made.id}`,
        ).toHaveLength(0);
      // Its results stay while it can be restored.
      expect(
        await bench.sql`select from forgotten_monitors where monitor_key = ${row?.key ?? 0}`,
      ).toEqual([]);
      expect((await told(made.id)).at(-1)).toMatchObject({ change: 'deleted' });
      expect(
        await bench.sql`select from outbox where topic = 'ping_key' and payload ->> 'key' = ${token?.key ?? ''}`,
      ).toHaveLength(2);
      expect(await bench.refusal(deleteMonitor, house.owner, { monitor_id: made.id })).toBe(
        'monitor_not_found',
      );
    });
  });

  test('one blocked organisation blocks no other, however many of its callers wait', async () => {
    const [slow, other] = [
      await createTestOrganisation(bench.sql),
      await createTestOrganisation(bench.sql),
    ];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let held: () => void = () => undefined;
    const holding = new Promise<void>((resolve) => {
      held = resolve;
    });
    const holder = bench.sql.begin(async (transaction) => {
      await transaction`select 1 from organisations where id = ${slow.organisation} for update`;
      held();
      await released;
    });
    await holding;
    // More than the pool has connections.
    const waiting = Array.from({ length: 40 }, () =>
      bench.refusal(createMonitor, slow.owner, https),
    );
    expect(await bench.refusal(createMonitor, other.owner, https)).toBe('taken');
    expect((await bench.call(listMonitors, slow.owner)).items).toEqual([]);
    release();
    await holder;
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['taken']));
  });
});

describe('a batch of monitors', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;
  const https = { type: 'https', target: 'https://till.example.com/' };

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
    unknownSender = await createTestOrganisation(bench.sql);
    await bench.addProbe('Europe');
  });

  const send = (items: readonly object[], mode = 'all', who = house) =>
    bench.call(batchMonitors, who.owner, { items, mode });
  const count = async (who = house) =>
    (await bench.call(listMonitors, who.owner, { limit: 200 })).items.length;

  test('makes each as a creation by itself would, in their order, secrets, group and heartbeat address included', async () => {
    const { id: group } = await bench.call(createGroup, house.owner, { name: 'Shop' });
    const told = await send([
      { ...https, name: 'One', group, config: { bearer_token: 'a-secret' }, tags: ['Shop'] },
      { type: 'heartbeat', name: 'Two', interval_s: 3_600, external_id: 'jobs/two' },
      { type: 'dns', target: 'example.com', interval_s: 120 },
    ]);
    expect(told.items.map(({ error }) => error)).toEqual([null, null, null]);
    expect(told).toMatchObject({ applied: true, created: 3, changed: 0, refused: 0 });
    expect(told.items.map(({ result, name }) => [result, name])).toEqual([
      ['created', 'One'],
      ['created', 'Two'],
      ['created', 'example.com'],
    ]);
    const foreign = await send([{ ...https, group }], 'all', unknownSender);
    expect(foreign.items[0]?.error?.code).toBe('group_not_found');
    const [one, two, three] = await Promise.all(
      told.items.map(({ id }) => bench.call(getMonitor, house.owner, { monitor_id: id ?? '' })),
    );
    expect(one).toMatchObject({
      group,
      tags: ['shop'],
      config: { bearer_token: '***' },
      status: 'pending',
      enabled: true,
    });
    expect(two).toMatchObject({ external_id: 'jobs/two', interval_s: 3_600 });
    expect(three).toMatchObject({ target: 'example.com', interval_s: 120 });
    expect((await bench.call(listMonitors, house.owner)).items.map(({ id }) => id)).toEqual(
      told.items.map(({ id }) => id),
    );
    expect(
      (await bench.call(getPingAddress, house.owner, { monitor_id: two?.id ?? '' })).address,
    ).toMatch(/\/beat\/.+/);
    const [stored] = await bench.sql<
      { secrets: Buffer }[]
    >`select secrets from monitors where id = ${one?.id ?? ''}`;
    expect(
      await bench.secrets.open(bench.sql, stored?.secrets ?? Buffer.alloc(0), `monitor ${one?.id}`),
    ).toContain('a-secret');
    const lines = await bench.sql<{ change: string }[]>`
      select payload->>'change' as change from outbox where topic = 'monitor' and organisation_id = ${house.organisation}`;
    expect(lines.map(({ change }) => change)).toEqual(['created', 'created', 'created']);
    const [members] =
      await bench.sql`select count(*)::int as of from group_memberships where group_id = ${group} and ended_at is null`;
    expect(members).toEqual({ of: 1 });
  });

  test('changes those whose external id is known, and keeps what is not sent', async () => {
    const first = await send([
      {
        ...https,
        name: 'Kept',
        external_id: 'a',
        affects_group_status: false,
        config: { bearer_token: 'kept' },
      },
    ]);
    const again = await send([
      { ...https, external_id: 'a', interval_s: 300 },
      { ...https, name: 'New', external_id: 'b' },
    ]);
    expect(again).toMatchObject({ applied: true, created: 1, changed: 1 });
    expect(again.items[0]).toMatchObject({
      result: 'changed',
      id: first.items[0]?.id,
      name: 'Kept',
      external_id: 'a',
    });
    const monitor_id = first.items[0]?.id ?? '';
    expect(await bench.call(getMonitor, house.owner, { monitor_id })).toMatchObject({
      name: 'Kept',
      interval_s: 300,
      affects_group_status: false,
      config: { bearer_token: '***' },
    });
    const [stored] = await bench.sql<
      { secrets: Buffer }[]
    >`select secrets from monitors where id = ${monitor_id}`;
    expect(
      await bench.secrets.open(
        bench.sql,
        stored?.secrets ?? Buffer.alloc(0),
        `monitor ${monitor_id}`,
      ),
    ).toContain('kept');
  });

  test('is all or nothing, unless each may be done by itself', async () => {
    const items = [
      { ...https, name: 'Good' },
      { ...https, name: 'Bad', interval_s: 1 },
      { type: 'ping', name: 'Odd' },
      { ...https, group: '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f' },
      { ...https, external_id: 'twice' },
      { ...https, external_id: 'twice' },
      { type: 'dns', target: 'example.com', external_id: 'a' },
    ];
    const before = await count();
    const none = await send(items);
    expect(none).toMatchObject({ applied: false, created: 0, changed: 0, refused: 5 });
    expect(none.items.map(({ result, error }) => error?.code ?? result)).toEqual([
      'left',
      'interval_out_of_range',
      'monitor_type_unknown',
      'group_not_found',
      'left',
      'external_id_taken',
      'type_differs',
    ]);
    expect(await count()).toBe(before);
    expect(await send(items, 'each')).toMatchObject({ applied: true, created: 2, refused: 5 });
    expect(await count()).toBe(before + 2);
  });

  test('never passes the plan, and refuses what is beyond it', async () => {
    const free = await createTestOrganisation(bench.sql, { plan: 'free' });
    const items = Array.from({ length: 22 }, (_, nth) => ({
      ...https,
      name: `n${nth}`,
      interval_s: 180,
    }));
    expect(await send(items, 'all', free)).toMatchObject({ applied: false, refused: 2 });
    const each = await send(items, 'each', free);
    expect(each).toMatchObject({ created: 20, refused: 2 });
    expect(each.items.at(-1)?.error?.code).toBe('plan_limit_monitors');
  });

  test('takes 500 and no more, of the form', async () => {
    const told = await send(
      Array.from({ length: 500 }, (_, nth) => ({ ...https, external_id: `n/${nth}` })),
      'all',
      unknownSender,
    );
    expect(told).toMatchObject({ applied: true, created: 500 });
    expect(await count(unknownSender)).toBe(200);
    for (const items of [[], Array.from({ length: 501 }, () => https), [{ target: 'x' }], 'x'])
      expect(await bench.refusal(batchMonitors, house.owner, { items })).toBe('faults');
  });

  test('counts as one call for each ten monitors, begun', () => {
    const calls = (items: number) =>
      batchMonitors.calls?.({ items: Array.from({ length: items }, () => https) });
    expect([1, 10, 11, 500].map(calls)).toEqual([1, 1, 2, 50]);
    expect(batchMonitors.calls?.('nonsense')).toBe(1);
  });
});
