import { beforeAll, describe, expect, test } from 'vitest';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from '../../../shared/api/groups.ts';
import { createMonitor, getMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, reading, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  unknownSender = await createTestOrganisation(bench.sql);
});

describe('createGroup', () => {
  test('makes a group, and gives the same one for the same name trimmed and without case', async () => {
    const made = await bench.answer(createGroup, house.member, { name: '  Größe  ', description: 'First' });
    expect(made.status).toBeUndefined();
    expect(made.body).toMatchObject({ name: 'Größe', description: 'First', monitors: 0 });
    const again = await bench.answer(createGroup, house.owner, { name: 'GRÖßE', description: 'Second' });
    expect(again).toEqual({ status: 200, body: made.body });
    for (const name of ['GRÖSSE', 'grösse', 'GRÖẞE', 'Gro\u0308ße'])
      expect((await bench.answer(createGroup, house.owner, { name })).body).toEqual(made.body);
    expect((await bench.answer(createGroup, unknownSender.owner, { name: 'Größe' })).status).toBeUndefined();
  });

  test('makes one group, however many ask for it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => bench.answer(createGroup, house.owner, { name: index % 2 ? 'Race' : 'RACE ' })),
    );
    expect(answers.filter(({ status }) => status === undefined)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test('wants a name of one line and a description that is not too long', async () => {
    for (const name of ['', '   ', 'x'.repeat(201), 'a\nb', 'a\u007f', '\u200b', '\u00a0\u2060\u00ad'])
      expect(await bench.refusal(createGroup, house.owner, { name }), JSON.stringify(name)).toBe('name_invalid');
    expect(await bench.refusal(createGroup, house.owner, { name: '😀'.repeat(200) })).toBe('taken');
    for (const description of ['x'.repeat(2001)])
      expect(await bench.refusal(createGroup, house.owner, { name: 'Fine', description })).toBe('description_invalid');
    expect(await bench.refusal(createGroup, house.owner, {})).toBe('faults');
  });

  test('is for who may write', async () => {
    expect(await bench.refusal(createGroup, house.viewer, { name: 'No' })).toBe('role_insufficient');
    expect(await bench.refusal(createGroup, reading(house.owner), { name: 'No' })).toBe('scope_insufficient');
  });
});

describe('a group', () => {
  test('is read by everyone in its organisation, and counts its monitors', async () => {
    const { id } = await bench.call(createGroup, house.owner, { name: 'Counted' });
    for (const name of ['a', 'b']) await bench.call(createMonitor, house.owner, { type: 'heartbeat', name, group: id });
    expect((await bench.call(getGroup, house.viewer, { group_id: id })).monitors).toBe(2);
    expect((await bench.call(listGroups, house.viewer)).items.find((group) => group.id === id)?.monitors).toBe(2);
    expect(await bench.refusal(getGroup, unknownSender.owner, { group_id: id })).toBe('group_not_found');
    expect(await bench.refusal(getGroup, house.owner, { group_id: newId() })).toBe('group_not_found');
  });

  test('changes what is sent; an empty description takes the old one away', async () => {
    const { id } = await bench.call(createGroup, house.owner, { name: 'Before', description: 'Old' });
    expect(await bench.call(updateGroup, house.member, { group_id: id, name: 'After' })).toMatchObject({
      name: 'After',
      description: 'Old',
    });
    expect(await bench.call(updateGroup, house.member, { group_id: id, name: null, description: '' })).toMatchObject({
      ...{ name: 'After', description: null },
    });
    expect(await bench.call(updateGroup, house.member, { group_id: id, name: 'AFTER' })).toMatchObject({ name: 'AFTER' });
  });

  test('cannot take the name of another', async () => {
    const { id } = await bench.call(createGroup, house.owner, { name: 'Mine' });
    await bench.call(createGroup, house.owner, { name: 'Other' });
    expect(await bench.refusal(updateGroup, house.owner, { group_id: id, name: ' other' })).toBe('name_taken');
    expect(await bench.refusal(updateGroup, house.owner, { group_id: id, name: ' ' })).toBe('name_invalid');
    expect(await bench.refusal(updateGroup, unknownSender.owner, { group_id: id, name: 'x' })).toBe('group_not_found');
    expect(await bench.refusal(updateGroup, house.viewer, { group_id: id, name: 'x' })).toBe('role_insufficient');
  });

  test('goes and leaves its monitors, whose membership ends', async () => {
    const { id } = await bench.call(createGroup, house.owner, { name: 'Going' });
    const monitor = await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'stays', group: id });
    expect(await bench.refusal(deleteGroup, unknownSender.owner, { group_id: id })).toBe('group_not_found');
    expect(await bench.refusal(deleteGroup, house.viewer, { group_id: id })).toBe('role_insufficient');
    expect((await bench.answer(deleteGroup, house.member, { group_id: id })).body).toBeUndefined();
    expect((await bench.call(getMonitor, house.owner, { monitor_id: monitor.id })).group).toBeNull();
    expect(await bench.sql`select ended_at is null as open from group_memberships where monitor_id = ${monitor.id}`).toEqual([
      { open: false },
    ]);
    expect(await bench.refusal(deleteGroup, house.owner, { group_id: id })).toBe('group_not_found');
  });
});
