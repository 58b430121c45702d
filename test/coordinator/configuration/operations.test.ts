import { beforeEach, describe, expect, test } from 'vitest';
import { createChannel, getChannel } from '../../../shared/api/channels.ts';
import { applyFile, getFile, planFile } from '../../../shared/api/files.ts';
import { createGroup, listGroups } from '../../../shared/api/groups.ts';
import { createMonitor, getMonitor, listMonitors } from '../../../shared/api/monitors.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import { getStatusPage } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('files', () => {
  const bench = gateBench();
  let house: TestOrganisation;

  beforeEach(async () => {
    shop = filled();
    house = await createTestOrganisation(bench.sql, { plan: 'business' });
    await bench.addProbe('Europe');
  });

  const filled = () => ({
    groups: { web: { description: 'What customers see' } },
    monitors: {
      checkout: {
        type: 'https',
        target: 'https://shop.example/checkout',
        group: 'web',
        tags: ['shop'],
        config: { bearer_token: 'secret-1', expected_status: ['2xx'] },
      },
      'jobs/backup': { type: 'heartbeat', interval_s: 3_600, enabled: false },
    },
    channels: {
      pager: {
        kind: 'webhook',
        config: { url: 'https://hooks.example/a' },
        covers: 'chosen',
        monitors: ['checkout'],
        groups: ['web'],
        reminder_s: 600,
      },
    },
    maintenance: {
      weekly: {
        starts_at: '2036-11-24T02:00',
        ends_at: '2036-11-24T03:00',
        rrule: 'FREQ=WEEKLY;BYDAY=MO',
        time_zone: 'Europe/Berlin',
        groups: ['web'],
      },
    },
    objectives: { fast: { group: 'web', tag: 'Shop', target: 95, latency_ms: 400 } },
    status_pages: {
      [`shop-${newId()}`]: {
        name: 'Shop status',
        accent: '#0a5bb5',
        access: 'password',
        password: 'correct horse',
        rows: [{ group: 'web' }, { monitor: 'checkout', display_name: 'Checkout' }],
      },
    },
  });
  let shop: ReturnType<typeof filled>;

  type Answer = Awaited<ReturnType<typeof applied>>;
  const applied = (body: object, file = 'shop') =>
    bench.call(applyFile, house.owner, { file, ...body });
  const planned = (body: object, file = 'shop') =>
    bench.call(planFile, house.owner, { file, ...body });
  const resultsOf = ({ objects }: Answer): Record<string, string> =>
    Object.fromEntries(objects.map(({ kind, key, result }) => [`${kind} ${key}`, result]));
  const idOf = ({ objects }: Answer, key: string): string =>
    objects.find((each) => each.key === key)?.id ?? '';
  /** Everything that differs from a plan that changes nothing. */
  const differences = ({ objects }: Answer) =>
    objects.filter(({ result }) => result !== 'unchanged');

  test('makes everything that a file has, and then has nothing to do', async () => {
    const first = await applied(shop);
    expect(first.objects.map(({ error }) => error).filter(Boolean)).toEqual([]);
    expect(first.applied).toBe(true);
    expect([...new Set(Object.values(resultsOf(first)))]).toEqual(['created']);
    const monitor = await bench.call(getMonitor, house.owner, {
      monitor_id: idOf(first, 'checkout'),
    });
    expect(monitor).toMatchObject({
      name: 'checkout',
      external_id: 'shop/checkout',
      group: idOf(first, 'web'),
      tags: ['shop'],
      config: { bearer_token: '***' },
    });
    expect(
      await bench.call(getMonitor, house.owner, { monitor_id: idOf(first, 'jobs/backup') }),
    ).toMatchObject({ enabled: false });
    const [slug = ''] = Object.keys(shop.status_pages);
    const page = await bench.call(getStatusPage, house.owner, { page_id: idOf(first, slug) });
    expect(page).toMatchObject({ slug, has_password: true, accent: '#0a5bb5' });
    expect(page.monitors.map(({ display_name }) => display_name)).toEqual(['Checkout']);

    expect(differences(await planned(shop))).toEqual([]);
    const [{ xact: before } = { xact: 0 }] = await bench.sql<{ xact: number }[]>`
      select count(*)::int as xact from outbox`;
    expect(differences(await applied(shop))).toEqual([]);
    const [{ xact: after } = { xact: 0 }] = await bench.sql<{ xact: number }[]>`
      select count(*)::int as xact from outbox`;
    expect(after).toBe(before);
    expect((await bench.call(getFile, house.viewer, { file: 'shop' })).objects).toHaveLength(7);
  });

  test('plans each change with its field, and changes nothing by that', async () => {
    const first = await applied(shop);
    const other = {
      ...shop,
      monitors: {
        checkout: {
          ...shop.monitors.checkout,
          interval_s: 30,
          config: { bearer_token: 'secret-2', expected_status: ['2xx'] },
        },
        'jobs/backup': shop.monitors['jobs/backup'],
        search: { type: 'https', target: 'https://shop.example/search' },
      },
      channels: { pager: { ...shop.channels.pager, monitors: ['search'], reminder_s: 0 } },
      maintenance: {},
    };
    const plan = await planned(other);
    expect(plan.applied).toBe(false);
    expect(resultsOf(plan)).toMatchObject({
      'monitors checkout': 'changed',
      'monitors jobs/backup': 'unchanged',
      'monitors search': 'created',
      'channels pager': 'changed',
      'maintenance weekly': 'kept',
    });
    const changes = (key: string) => plan.objects.find((each) => each.key === key)?.changes;
    expect(changes('checkout')).toEqual({
      interval_s: { before: 60, after: 30 },
      secrets: { before: null, after: 'others' },
    });
    expect(changes('pager')).toEqual({
      monitors: { before: ['checkout'], after: ['search'] },
      reminder_s: { before: 600, after: null },
    });
    expect(plan.objects.find(({ key }) => key === 'search')?.id).toBeNull();
    expect((await bench.call(listMonitors, house.owner)).items).toHaveLength(2);
    expect(
      await bench.call(getMonitor, house.owner, { monitor_id: idOf(first, 'checkout') }),
    ).toMatchObject({ interval_s: 60 });

    await applied(other);
    expect(differences(await planned(other))).toEqual([
      expect.objectContaining({ key: 'weekly', result: 'kept' }),
    ]);
    expect(resultsOf(await planned({ ...other, prune: true }))['maintenance weekly']).toBe(
      'deleted',
    );
    await applied({ ...other, prune: true });
    expect(differences(await planned({ ...other, prune: true }))).toEqual([]);
  });

  test('changes the target of an objective, and refuses to make it one of something else', async () => {
    const objective = shop.objectives.fast;
    await applied(shop);
    const stricter = { ...shop, objectives: { fast: { ...objective, target: 99 } } };
    expect(differences(await applied(stricter))).toMatchObject([
      { key: 'fast', result: 'changed', changes: { target: { before: 95, after: 99 } } },
    ]);
    for (const other of [
      { group: null },
      { monitor: 'checkout' },
      { tag: null },
      { latency_ms: 500 },
    ]) {
      const plan = await planned({ ...shop, objectives: { fast: { ...objective, ...other } } });
      expect(resultsOf(plan)['objectives fast']).toBe('refused');
      expect(plan.objects.find(({ key }) => key === 'fast')?.error?.code).toBe('type_differs');
    }
    const gone = await applied({ ...shop, objectives: {}, prune: true });
    expect(resultsOf(gone)['objectives fast']).toBe('deleted');
  });

  test('deletes only what the file made, and puts every field back that was left out', async () => {
    const by = await bench.call(createMonitor, house.owner, {
      type: 'https',
      target: 'https://hand.example/',
    });
    await applied(shop);
    const rest = {
      monitors: { checkout: { type: 'https', target: 'https://shop.example/checkout' } },
    };
    const done = await applied({ ...rest, prune: true });
    expect(Object.values(resultsOf(done)).filter((result) => result === 'deleted')).toHaveLength(6);
    expect((await bench.call(listGroups, house.owner)).items).toEqual([]);
    const left = (await bench.call(listMonitors, house.owner)).items;
    expect(left.map(({ id }) => id).toSorted()).toEqual([by.id, idOf(done, 'checkout')].toSorted());
    expect(left.find(({ id }) => id !== by.id)).toMatchObject({
      tags: [],
      group: null,
      config: {},
      name: 'checkout',
    });
  });

  test('does all or nothing, and says of every object what is wrong with it', async () => {
    const answer = await applied({
      groups: { web: {} },
      monitors: {
        good: { type: 'https', target: 'https://good.example/', group: 'web' },
        bad: { type: 'https', target: 'ftp://bad.example/' },
        lost: { type: 'https', target: 'https://lost.example/', group: 'nowhere' },
        nul: { type: 'https', target: 'https://nul.example/', external_id: '\0' },
        odd: { type: 'ping', target: 'odd.example' },
      },
      channels: {
        pager: {
          kind: 'webhook',
          config: { url: 'https://h.example/' },
          covers: 'chosen',
          monitors: ['good', 'bad'],
        },
      },
    });
    expect(answer.applied).toBe(false);
    const errors = Object.fromEntries(
      answer.objects.flatMap(({ key, error }) => (error ? [[key, error]] : [])),
    );
    expect(Object.keys(errors).toSorted()).toEqual(['bad', 'lost', 'nul', 'odd', 'pager']);
    expect(errors.bad?.code).toBe('target_invalid');
    expect(errors.lost).toEqual({
      code: 'reference_unknown',
      message: 'there is no group "nowhere" in the file, and none has it as its external id.',
    });
    expect(errors.nul?.code).toBe('external_id_invalid');
    expect(errors.odd?.code).toBe('monitor_type_unknown');
    expect(errors.pager?.message).toBe('the monitor "bad" is refused itself.');
    expect((await bench.call(listMonitors, house.owner)).items).toEqual([]);
    expect((await bench.call(getFile, house.owner, { file: 'shop' })).objects).toEqual([]);
  });

  test('rule 47: monitors of one file depend on each other in any order, and may turn round', async () => {
    const https = { type: 'https', target: 'https://shop.example/' };
    const file = (shopParents: string[], gatewayParents: string[]) => ({
      groups: { routers: {} },
      monitors: {
        shop: { ...https, depends_on_monitors: shopParents, depends_on_groups: ['routers'] },
        gateway: { ...https, depends_on_monitors: gatewayParents },
      },
    });
    const done = await applied(file(['gateway'], []));
    expect(done.applied).toBe(true);
    const parents = async (key: string) =>
      (await bench.call(getMonitor, house.owner, { monitor_id: idOf(done, key) }))
        .depends_on_monitors;
    expect(await parents('shop')).toEqual([idOf(done, 'gateway')]);
    expect(differences(await planned(file(['gateway'], [])))).toEqual([]);
    expect(differences(await planned(file([], ['shop'])))).toEqual([
      expect.objectContaining({
        key: 'shop',
        changes: { depends_on_monitors: { before: ['gateway'], after: [] } },
      }),
      expect.objectContaining({
        key: 'gateway',
        changes: { depends_on_monitors: { before: [], after: ['shop'] } },
      }),
    ]);
    await applied(file([], ['shop']));
    expect(await parents('shop')).toEqual([]);
    const circle = await applied(file(['gateway'], ['shop']));
    expect(circle.applied).toBe(false);
    expect(circle.objects.find(({ key }) => key === 'shop')?.error).toEqual({
      code: 'dependencies_invalid',
      message:
        'A monitor cannot depend on itself: "shop" depends on "gateway", which depends on "shop". Take one of these dependencies away.',
    });
    const chain = await planned(
      {
        monitors: {
          last: { ...https, depends_on_monitors: ['middle'] },
          middle: { ...https, depends_on_monitors: ['bad'] },
          bad: { ...https, target: 'ftp://shop.example/' },
        },
      },
      'chain',
    );
    expect(chain.objects.map(({ key, error }) => [key, error?.message])).toEqual([
      ['last', 'the monitor "middle" is refused itself.'],
      ['middle', 'the monitor "bad" is refused itself.'],
      ['bad', expect.stringContaining('target')],
    ]);
    const lost = await planned(file(['nobody'], []));
    expect(lost.objects.find(({ key }) => key === 'shop')?.error?.code).toBe('reference_unknown');
  });

  test('adopts what exists, by its id, its external id or the name of a group', async () => {
    const https = { type: 'https', target: 'https://hand.example/' };
    const byId = await bench.call(createMonitor, house.owner, https);
    const called = await bench.call(createMonitor, house.owner, { ...https, external_id: 'own' });
    const group = await bench.call(createGroup, house.owner, { name: 'web' });
    const hook = { kind: 'webhook', config: { url: 'https://hooks.example/b' } };
    const channel = await bench.call(createChannel, house.owner, { ...hook, try: false });
    const file = {
      groups: { web: {} },
      monitors: {
        one: { ...https, id: byId.id, name: byId.name },
        two: { ...https, external_id: 'own' },
      },
      channels: {
        pager: { ...hook, id: channel.id, name: channel.name, config: channel.config },
      },
    };
    const done = await applied(file);
    expect(done.objects.map(({ error }) => error).filter(Boolean)).toEqual([]);
    expect(['web', 'one', 'two', 'pager'].map((key) => idOf(done, key))).toEqual([
      group.id,
      byId.id,
      called.id,
      channel.id,
    ]);
    expect(await bench.call(getChannel, house.owner, { channel_id: channel.id })).toMatchObject({
      config: channel.config,
    });
    expect(differences(await planned(file))).toEqual([]);
    for (const id of [byId.id.toUpperCase(), byId.id.replaceAll('-', ''), `urn:uuid:${byId.id}`]) {
      const monitors = { ...file.monitors, one: { ...file.monitors.one, id } };
      // In a file of its own nothing is managed yet, so that the id decides.
      await bench.sql`delete from file_objects where organisation_id = ${house.organisation}`;
      const again = await applied({ ...file, monitors });
      expect([id, idOf(again, 'one')]).toEqual([id, byId.id]);
    }
    expect(
      (await planned({ monitors: { theirs: { ...https, id: byId.id } } }, 'other')).objects,
    ).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: 'managed_elsewhere' }) }),
    ]);
    const stranger = await createTestOrganisation(bench.sql);
    expect(
      (
        await bench.call(planFile, stranger.owner, {
          file: 'shop',
          monitors: { x: { ...https, id: byId.id } },
        })
      ).objects,
    ).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: 'reference_unknown' }) }),
    ]);
  });

  test('makes groups together, whose names may move from one to the next', async () => {
    const first = await applied({ groups: { b: { name: 'Two' }, a: { name: 'One' } } });
    const moved = await applied({
      groups: { b: { name: 'Three' }, a: { name: 'Two' }, c: { name: 'one' } },
    });
    expect(moved.objects.map(({ key, result, changes }) => [key, result, changes])).toEqual([
      ['b', 'changed', { name: { before: 'Two', after: 'Three' } }],
      ['a', 'changed', { name: { before: 'One', after: 'Two' } }],
      ['c', 'created', {}],
    ]);
    expect(['a', 'b'].map((key) => idOf(moved, key))).toEqual(
      ['a', 'b'].map((key) => idOf(first, key)),
    );
    const { items } = await bench.call(listGroups, house.owner);
    expect(items.map(({ name }) => name).toSorted()).toEqual(['Three', 'Two', 'one']);
    const { items: entries } = await bench.call(listAudit, house.owner, { limit: 50 });
    expect(entries.map(({ operation }) => operation).toSorted()).toEqual([
      'applyFile',
      'applyFile',
      'putGroups',
      'putGroups',
    ]);
  });

  test('refuses each group that another is in the way of, and the names beyond the plan', async () => {
    await bench.call(createGroup, house.owner, { name: 'Taken', external_id: 'other' });
    const refusals = async (groups: object) =>
      (await planned({ groups })).objects.flatMap(({ key, error }) =>
        error === null ? [] : [[key, error.code]],
      );
    expect(
      await refusals({
        a: { name: 'Same' },
        b: { name: 'SAME' },
        c: { external_id: 'x' },
        d: { external_id: 'x' },
        e: { name: 'taken' },
        f: { name: ' ' },
        g: { external_id: 'other', name: 'Same' },
      }),
    ).toEqual([
      ['b', 'name_taken'],
      ['d', 'external_id_taken'],
      ['e', 'name_taken'],
      ['f', 'name_invalid'],
      ['g', 'name_taken'],
    ]);
    await bench.sql`update organisations set plan = 'free' where id = ${house.organisation}`;
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, {}]));
    expect(await refusals(many)).toEqual([
      ['k19', 'plan_limit_groups'],
      ['k20', 'plan_limit_groups'],
    ]);
  });

  test('refuses unknown fields and keys with all of their places', async () => {
    await expect(
      planned({
        monitors: {
          'No Key': { type: 'https', target: 'https://a.example/' },
          a: { type: 'https', intervall_s: 3 },
        },
        channels: { b: { config: {} } },
      }),
    ).rejects.toThrow(/is no key.*did you mean "interval_s".*kind: Field required/s);
    expect(await bench.refusal(planFile, house.owner, { file: 'Shop!' })).toBe('file_name_invalid');
  });

  test('tells the audit log of what was done, and not of plans', async () => {
    await planned(shop);
    await applied(shop);
    const { items } = await bench.call(listAudit, house.owner, { limit: 50 });
    const operations = items.map(({ operation }) => operation);
    expect(operations.filter((each) => each === 'applyFile')).toHaveLength(1);
    expect(operations).toContain('createChannel');
    expect(operations).toContain('putMonitors');
    expect(JSON.stringify(items)).not.toContain('secret-1');
  });

  test('count as one call for each fifty objects, begun, and a large one as a hundred', () => {
    const calls = (objects: number) =>
      applyFile.calls?.({
        groups: { web: {} },
        monitors: Object.fromEntries(Array.from({ length: objects - 1 }, (_, n) => [`m${n}`, {}])),
      });
    expect([1, 50, 51, 1_000, 20_000].map(calls)).toEqual([1, 1, 2, 20, 100]);
    expect(planFile.calls?.('nonsense')).toBe(1);
  });
});
