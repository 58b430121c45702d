import { beforeAll, describe, expect, test } from 'vitest';
import { getPingAddress } from '../../../coordinator/monitors/contract.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import { batchMonitors, getMonitor, listMonitors } from '../../../shared/api/monitors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, reading, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let unknownSender: TestOrganisation;
const https = { type: 'https', target: 'https://till.example.com/' };

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  unknownSender = await createTestOrganisation(bench.sql);
  await bench.addProbe('Europe');
});

const send = (items: readonly object[], mode = 'all', who = house) => bench.call(batchMonitors, who.owner, { items, mode });
const count = async (who = house) => (await bench.call(listMonitors, who.owner, { limit: 200 })).items.length;

describe('a batch of monitors', () => {
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
    const [one, two, three] = await Promise.all(told.items.map(({ id }) => bench.call(getMonitor, house.owner, { monitor_id: id ?? '' })));
    expect(one).toMatchObject({ group, tags: ['shop'], config: { bearer_token: '***' }, status: 'pending', enabled: true });
    expect(two).toMatchObject({ external_id: 'jobs/two', interval_s: 3_600 });
    expect(three).toMatchObject({ target: 'example.com', interval_s: 120 });
    expect((await bench.call(listMonitors, house.owner)).items.map(({ id }) => id)).toEqual(told.items.map(({ id }) => id));
    expect((await bench.call(getPingAddress, house.owner, { monitor_id: two?.id ?? '' })).address).toMatch(/\/beat\/.+/);
    const [stored] = await bench.sql<{ secrets: Buffer }[]>`select secrets from monitors where id = ${one?.id ?? ''}`;
    expect(await bench.secrets.open(bench.sql, stored?.secrets ?? Buffer.alloc(0), `monitor ${one?.id}`)).toContain('a-secret');
    const lines = await bench.sql<{ change: string }[]>`
      select payload->>'change' as change from outbox where topic = 'monitor' and organisation_id = ${house.organisation}`;
    expect(lines.map(({ change }) => change)).toEqual(['created', 'created', 'created']);
    const [members] = await bench.sql`select count(*)::int as of from group_memberships where group_id = ${group} and ended_at is null`;
    expect(members).toEqual({ of: 1 });
  });

  test('changes those whose external id is known, and keeps what is not sent', async () => {
    const first = await send([{ ...https, name: 'Kept', external_id: 'a', affects_group_status: false, config: { bearer_token: 'kept' } }]);
    const again = await send([
      { ...https, external_id: 'a', interval_s: 300 },
      { ...https, name: 'New', external_id: 'b' },
    ]);
    expect(again).toMatchObject({ applied: true, created: 1, changed: 1 });
    expect(again.items[0]).toMatchObject({ result: 'changed', id: first.items[0]?.id, name: 'Kept', external_id: 'a' });
    const monitor_id = first.items[0]?.id ?? '';
    expect(await bench.call(getMonitor, house.owner, { monitor_id })).toMatchObject({
      ...{ name: 'Kept', interval_s: 300, affects_group_status: false, config: { bearer_token: '***' } },
    });
    const [stored] = await bench.sql<{ secrets: Buffer }[]>`select secrets from monitors where id = ${monitor_id}`;
    expect(await bench.secrets.open(bench.sql, stored?.secrets ?? Buffer.alloc(0), `monitor ${monitor_id}`)).toContain('kept');
  });

  test('does all or none, unless each may be done by itself', async () => {
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
      ...['left', 'interval_out_of_range', 'monitor_type_unknown', 'group_not_found', 'left', 'external_id_taken', 'type_differs'],
    ]);
    expect(await count()).toBe(before);
    expect(await send(items, 'each')).toMatchObject({ applied: true, created: 2, refused: 5 });
    expect(await count()).toBe(before + 2);
  });

  test('never passes the plan, and refuses what is beyond it', async () => {
    const free = await createTestOrganisation(bench.sql, { plan: 'free' });
    const items = Array.from({ length: 22 }, (_, nth) => ({ ...https, name: `n${nth}`, interval_s: 180 }));
    expect(await send(items, 'all', free)).toMatchObject({ applied: false, refused: 2 });
    const each = await send(items, 'each', free);
    expect(each).toMatchObject({ created: 20, refused: 2 });
    expect(each.items.at(-1)?.error?.code).toBe('plan_limit_monitors');
  });

  test('takes 500 and no more, of the form, from who may write', async () => {
    const told = await send(
      Array.from({ length: 500 }, (_, nth) => ({ ...https, external_id: `n/${nth}` })),
      'all',
      unknownSender,
    );
    expect(told).toMatchObject({ applied: true, created: 500 });
    expect(await count(unknownSender)).toBe(200);
    for (const items of [[], Array.from({ length: 501 }, () => https), [{ target: 'x' }], 'x'])
      expect(await bench.refusal(batchMonitors, house.owner, { items })).toBe('faults');
    expect(await bench.refusal(batchMonitors, house.viewer, { items: [https] })).toBe('role_insufficient');
    expect(await bench.refusal(batchMonitors, reading(house.owner), { items: [https] })).toBe('scope_insufficient');
  });

  test('counts as one call for each ten monitors, begun', () => {
    const calls = (items: number) => batchMonitors.calls?.({ items: Array.from({ length: items }, () => https) });
    expect([1, 10, 11, 500].map(calls)).toEqual([1, 1, 2, 50]);
    expect(batchMonitors.calls?.('nonsense')).toBe(1);
  });
});
