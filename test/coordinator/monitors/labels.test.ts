import { beforeAll, describe, expect, test } from 'vitest';
import { listDashboard } from '../../../coordinator/monitors/contract.ts';
import { search } from '../../../coordinator/search/contract.ts';
import { createGroup, getGroup, listGroups, updateGroup } from '../../../shared/api/groups.ts';
import { createMonitor, getMonitor, listMonitors, updateMonitor } from '../../../shared/api/monitors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let unknownSender: TestOrganisation;
const https = { type: 'https', target: 'https://till.example.com/' };

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  unknownSender = await createTestOrganisation(bench.sql);
  await bench.addProbe('Europe');
});

const listed = async (input: object) => (await bench.call(listMonitors, house.viewer, input)).items.map(({ name }) => name);

describe('a monitor that a program calls by an id of its own', () => {
  test('keeps what is not sent of whether it counts for its group', async () => {
    const counts = async (sent: object) => bench.call(createMonitor, house.owner, { ...https, external_id: 'quiet', ...sent });
    expect(await counts({ affects_group_status: false })).toMatchObject({ affects_group_status: false });
    expect(await counts({ interval_s: 120 })).toMatchObject({ affects_group_status: false, interval_s: 120 });
    expect(await counts({ affects_group_status: true })).toMatchObject({ affects_group_status: true });
    expect(await bench.call(createMonitor, house.owner, { ...https, external_id: 'loud' })).toMatchObject({ affects_group_status: true });
  });

  test('is made once, and changed to what is sent when it is asked for again', async () => {
    const sent = { ...https, name: 'Till', external_id: ' shop/till ', tags: ['EU', 'shop', 'eu'] };
    const made = await bench.answer(createMonitor, house.owner, sent);
    expect(made.status).toBeUndefined();
    expect(made.body).toMatchObject({ name: 'Till', external_id: 'shop/till', tags: ['eu', 'shop'], interval_s: 60 });
    const again = await bench.answer(createMonitor, house.member, { ...https, external_id: 'shop/till', interval_s: 120 });
    expect(again).toMatchObject({ status: 200, body: { name: 'Till', interval_s: 120, tags: ['eu', 'shop'] } });
    expect(again.body).toHaveProperty('id', Object(made.body).id);
    expect(await listed({ external_id: 'shop/till' })).toEqual(['Till']);
    expect(await listed({ external_id: 'shop' })).toEqual([]);
    expect(await bench.refusal(createMonitor, house.owner, { type: 'dns', target: 'example.com', external_id: 'shop/till' })).toBe(
      'type_differs',
    );
    // A refused change changes nothing.
    expect(await bench.refusal(createMonitor, house.owner, { ...https, external_id: 'shop/till', name: 'x', interval_s: 1 })).toBe(
      'interval_out_of_range',
    );
    expect(await listed({ external_id: 'shop/till' })).toEqual(['Till']);
    const theirs = await bench.answer(createMonitor, unknownSender.owner, { ...https, external_id: 'shop/till' });
    expect(theirs.status).toBeUndefined();
  });

  test('is one, however many ask for it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => bench.answer(createMonitor, house.owner, { ...https, name: 'Race', external_id: 'race' })),
    );
    expect(answers.filter(({ status }) => status === undefined)).toHaveLength(1);
    expect(await listed({ external_id: 'race' })).toEqual(['Race']);
  });

  test('takes no id of another, and gives its own back', async () => {
    const one = await bench.call(createMonitor, house.owner, { ...https, external_id: 'one' });
    const two = await bench.call(createMonitor, house.owner, { ...https, external_id: 'two' });
    expect(await bench.refusal(updateMonitor, house.owner, { monitor_id: two.id, external_id: 'one' })).toBe('external_id_taken');
    expect(await bench.call(updateMonitor, house.owner, { monitor_id: one.id, external_id: '' })).toMatchObject({ external_id: null });
    expect(await bench.call(updateMonitor, house.owner, { monitor_id: two.id, external_id: 'one' })).toMatchObject({ external_id: 'one' });
    expect(await bench.call(updateMonitor, house.owner, { monitor_id: two.id, name: 'Two' })).toMatchObject({ external_id: 'one' });
    for (const external_id of ['x'.repeat(201), 'a\nb', '\u200b'])
      expect(await bench.refusal(createMonitor, house.owner, { ...https, external_id }), external_id).toBe('external_id_invalid');
  });
});

describe('tags', () => {
  test('are replaced whole or left, and narrow the list and the dashboard to those that have one', async () => {
    const { id } = await bench.call(createMonitor, house.owner, { ...https, name: 'Tagged', tags: ['it"s', 'back\\slash', 'größe'] });
    expect((await bench.call(getMonitor, house.viewer, { monitor_id: id })).tags).toEqual(['back\\slash', 'größe', 'it"s']);
    for (const tag of ['it"s', 'back\\slash', 'GRÖSSE'.replace('SS', 'ß'), ' größe '])
      expect(await listed({ tag }), tag).toEqual(['Tagged']);
    expect((await bench.call(updateMonitor, house.owner, { monitor_id: id, name: 'Still' })).tags).toHaveLength(3);
    expect((await bench.call(updateMonitor, house.owner, { monitor_id: id, tags: ['night'] })).tags).toEqual(['night']);
    const { items, matching } = await bench.call(listDashboard, house.viewer, { tag: 'Night' });
    expect([items.map(({ name, tags }) => [name, tags]), matching]).toEqual([[['Still', ['night']]], 1]);
    expect((await bench.call(listDashboard, unknownSender.viewer, { tag: 'night' })).items).toEqual([]);
    expect((await bench.call(updateMonitor, house.owner, { monitor_id: id, tags: [] })).tags).toEqual([]);
    expect(await listed({ tag: 'night' })).toEqual([]);
  });

  test('are found as words are, whole and in part, together with names and targets', async () => {
    const of = await createTestOrganisation(bench.sql);
    const found = async (text: string) => (await bench.call(listMonitors, of.viewer, { text })).items.map(({ name }) => name);
    await bench.call(createMonitor, of.owner, { ...https, name: 'Checkout', tags: ['payments', '100%'] });
    await bench.call(createMonitor, of.owner, { ...https, name: 'Payments API' });
    await bench.call(createMonitor, of.owner, { ...https, name: 'Blog', tags: ['night', 'shift'] });
    expect(await found('PAYMENTS')).toEqual(['Checkout', 'Payments API']);
    expect(await found('pay till check')).toEqual(['Checkout']);
    expect(await found('100%')).toEqual(['Checkout']);
    // Each word is of one tag: two that stand side by side are no third.
    expect(await found('nightshift')).toEqual([]);
    expect(await found('shift night')).toEqual(['Blog']);
    expect((await bench.call(listMonitors, house.viewer, { text: '100%' })).items).toEqual([]);
  });

  test('and ids that nobody can have are on no monitor, wherever they are looked for', async () => {
    for (const text of ['a\u0000', '\u0000']) {
      expect(await listed({ tag: text })).toEqual([]);
      expect(await listed({ external_id: text })).toEqual([]);
      expect((await bench.call(listDashboard, house.viewer, { tag: text })).items).toEqual([]);
      expect((await bench.call(search, house.viewer, { q: `${text}\u0000 zzz` })).items).toEqual([]);
    }
  });

  test('are few, short and of one word', async () => {
    const wrong = [Array.from({ length: 21 }, (_, nth) => `t${nth}`), ['x'.repeat(51)], ['two words'], ['a,b'], [''], ['a\u0000']];
    for (const tags of wrong)
      expect(await bench.refusal(createMonitor, house.owner, { ...https, tags }), String(tags)).toBe('tags_invalid');
    expect(await bench.refusal(createMonitor, house.owner, { ...https, tags: 'shop' })).toBe('faults');
    // Fifty signs as people count them, each of two units.
    const signs = '\u{1f600}'.repeat(50);
    expect((await bench.call(createMonitor, house.owner, { ...https, tags: [signs] })).tags).toEqual([signs]);
    expect(await bench.refusal(createMonitor, house.owner, { ...https, tags: [`${signs}x`] })).toBe('tags_invalid');
  });
});

describe('a group that a program calls by an id of its own', () => {
  test('is made once, changed when asked for again, and takes over the one of its name', async () => {
    const made = await bench.answer(createGroup, house.owner, { name: 'Web', description: 'Old', external_id: 'web' });
    expect(made.status).toBeUndefined();
    const again = await bench.answer(createGroup, house.owner, { name: 'Website', external_id: 'web' });
    expect(again).toMatchObject({
      status: 200,
      body: { id: Object(made.body).id, name: 'Website', description: 'Old', external_id: 'web' },
    });
    const plain = await bench.call(createGroup, house.owner, { name: 'Jobs' });
    expect(plain.external_id).toBeNull();
    expect(await bench.answer(createGroup, house.owner, { name: 'jobs', external_id: 'jobs' })).toMatchObject({
      ...{ status: 200, body: { id: plain.id, name: 'Jobs', external_id: 'jobs' } },
    });
    expect(await bench.refusal(createGroup, house.owner, { name: 'Jobs', external_id: 'other' })).toBe('name_taken');
    expect(await bench.refusal(createGroup, house.owner, { name: 'Website', external_id: 'jobs' })).toBe('name_taken');
    expect(await bench.refusal(updateGroup, house.owner, { group_id: plain.id, external_id: 'web' })).toBe('external_id_taken');
    expect(await bench.call(updateGroup, house.owner, { group_id: plain.id, external_id: '' })).toMatchObject({ external_id: null });
    expect(await bench.call(getGroup, house.viewer, { group_id: plain.id })).toMatchObject({ name: 'Jobs', external_id: null });
    expect((await bench.call(listGroups, unknownSender.viewer)).items).toEqual([]);
  });
});
