import { beforeAll, describe, expect, test } from 'vitest';
import {
  accentFrom,
  logoTypeOf,
  pageLanguages,
  postKinds,
} from '../../../coordinator/status-pages/model.ts';
import { suggestedPost } from '../../../coordinator/status-pages/public/words.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import { createMonitor, deleteMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  createStatusPage,
  getStatusPage,
  listStatusPages,
  removeStatusPageGroup,
  removeStatusPageMonitor,
} from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('a status page', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
    unknownSender = await createTestOrganisation(bench.sql);
  });

  const page = async (of: TestOrganisation = house): Promise<string> =>
    (await bench.call(createStatusPage, of.owner, { name: 'Status', slug: newId() })).id;
  const monitor = async (
    name: string,
    group: string | null = null,
    of: TestOrganisation = house,
  ): Promise<string> =>
    (await bench.call(createMonitor, of.owner, { type: 'heartbeat', name, group })).id;

  test('is created under an address of its own, as far as the plan goes, also by many at once', async () => {
    const small = await createTestOrganisation(bench.sql, { plan: 'team' });
    const made = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        bench.refusal(createStatusPage, small.owner, { name: 'S', slug: `small-${index}` }),
      ),
    );
    expect(made.filter((code) => code === 'taken')).toHaveLength(5);
    expect(made.filter((code) => code === 'plan_limit_status_pages')).toHaveLength(4);
    const code = (slug: string) =>
      bench.refusal(createStatusPage, house.owner, { name: 'S', slug });
    expect(await code('SMALL-0')).toBe('slug_taken');
    for (const slug of ['', '-a', 'a--b', 'a/b', 'ä', 'x'.repeat(61)])
      expect(await code(slug), slug).toBe('slug_invalid');
  });

  test('is listed and read as it was made', async () => {
    const id = await page();
    expect(
      (await bench.call(listStatusPages, house.viewer)).items.map((item) => item.id),
    ).toContain(id);
    expect(await bench.call(getStatusPage, house.viewer, { page_id: id })).toMatchObject({
      id,
      name: 'Status',
      description: null,
      enabled: true,
      monitors: [],
      groups: [],
    });
  });

  test('publishes a monitor under a public name, once, at its place', async () => {
    const [id, one, two] = [await page(), await monitor('db-3'), await monitor('db-4')];
    expect(
      await bench.call(addStatusPageMonitor, house.member, {
        page_id: id,
        monitor: one,
        display_name: ' Shop ',
      }),
    ).toEqual({
      monitor: one,
      display_name: 'Shop',
      group: null,
      position: 0,
    });
    expect(
      await bench.call(addStatusPageMonitor, house.member, {
        page_id: id,
        monitor: two,
        position: 0,
      }),
    ).toEqual({
      monitor: two,
      display_name: 'db-4',
      group: null,
      position: 0,
    });
    expect(
      await bench.refusal(addStatusPageMonitor, house.member, { page_id: id, monitor: one }),
    ).toBe('already_published');
    const code = (input: object) =>
      bench.refusal(addStatusPageMonitor, house.owner, { page_id: id, monitor: two, ...input });
    expect(await code({ display_name: ' ' })).toBe('name_invalid');
    expect(await code({ position: -1 })).toBe('position_invalid');
    expect(await code({ position: 1e9 })).toBe('position_invalid');
    expect(await code({ monitor: newId() })).toBe('monitor_not_found');
    expect(await code({ monitor: await monitor('theirs', null, unknownSender) })).toBe(
      'monitor_not_found',
    );
    expect(
      (await bench.call(getStatusPage, house.viewer, { page_id: id })).monitors.map(
        ({ display_name }) => display_name,
      ),
    ).toEqual(['Shop', 'db-4']);
  });

  test('takes a monitor off, and other pages keep it', async () => {
    const [one, two, shared] = [await page(), await page(), await monitor('shared')];
    for (const page_id of [one, two])
      await bench.call(addStatusPageMonitor, house.owner, { page_id, monitor: shared });
    await bench.call(removeStatusPageMonitor, house.member, { page_id: one, monitor_id: shared });
    expect((await bench.call(getStatusPage, house.owner, { page_id: one })).monitors).toEqual([]);
    expect((await bench.call(getStatusPage, house.owner, { page_id: two })).monitors).toHaveLength(
      1,
    );
    expect(
      await bench.refusal(removeStatusPageMonitor, house.owner, {
        page_id: one,
        monitor_id: shared,
      }),
    ).toBe('status_page_monitor_not_found');
    await bench.call(deleteMonitor, house.owner, { monitor_id: shared });
    expect((await bench.call(getStatusPage, house.owner, { page_id: two })).monitors).toEqual([]);
  });

  test('publishes a group as a heading with its monitors, keeps the given names, and removes the heading alone', async () => {
    const id = await page();
    const group = (await bench.call(createGroup, house.owner, { name: 'Shop' })).id;
    const [one, two] = [await monitor('one', group), await monitor('two', group)];
    await bench.call(addStatusPageMonitor, house.owner, {
      page_id: id,
      monitor: two,
      display_name: 'Second',
    });
    expect(
      await bench.call(addStatusPageGroup, house.member, {
        page_id: id,
        group,
        display_name: 'Our shop',
      }),
    ).toEqual({
      group,
      display_name: 'Our shop',
      position: 1,
    });
    const whole = await bench.call(getStatusPage, house.viewer, { page_id: id });
    expect(whole.groups).toEqual([{ group, display_name: 'Our shop', position: 1 }]);
    expect(whole.monitors).toEqual([
      { monitor: two, display_name: 'Second', group, position: 0 },
      { monitor: one, display_name: 'one', group, position: 2 },
    ]);
    const later = await monitor('three', group);
    expect(
      await bench.call(addStatusPageMonitor, house.owner, { page_id: id, monitor: later }),
    ).toMatchObject({ group });
    expect(await bench.refusal(addStatusPageGroup, house.owner, { page_id: id, group })).toBe(
      'already_published',
    );
    expect(
      await bench.refusal(addStatusPageGroup, house.owner, { page_id: id, group: newId() }),
    ).toBe('group_not_found');
    await bench.call(removeStatusPageGroup, house.member, { page_id: id, group_id: group });
    const left = await bench.call(getStatusPage, house.viewer, { page_id: id });
    expect(left.groups).toEqual([]);
    expect(left.monitors.map((row) => row.group)).toEqual([null, null, null]);
    expect(
      await bench.refusal(removeStatusPageGroup, house.owner, { page_id: id, group_id: group }),
    ).toBe('status_page_group_not_found');
  });

  test('keeps its monitors when their group is deleted, and when they leave it', async () => {
    const id = await page();
    const group = (await bench.call(createGroup, house.owner, { name: 'Passing' })).id;
    const one = await monitor('kept', group);
    await bench.call(addStatusPageGroup, house.owner, { page_id: id, group });
    await bench.call(updateMonitor, house.owner, { monitor_id: one, ungroup: true });
    await bench.call(deleteGroup, house.owner, { group_id: group });
    expect(await bench.call(getStatusPage, house.owner, { page_id: id })).toMatchObject({
      groups: [],
      monitors: [{ monitor: one, display_name: 'kept', group: null }],
    });
  });
});

describe('model', () => {
  test('an accent is written in one way, and one that is hard to read is refused with one that would do', () => {
    expect(accentFrom(' 0A5BB5 ')).toBe('#0a5bb5');
    expect(accentFrom('#00f')).toBe('#0000ff');
    expect(accentFrom(' ')).toBeNull();
    let words = '';
    try {
      accentFrom('#ffcc00');
    } catch (error) {
      words = error instanceof Error ? error.message : '';
    }
    expect(words).toMatch(/^accent: #ffcc00 is hard to read on white \(1\.5 to 1/);
    expect(accentFrom(/(#[0-9a-f]{6}) is the nearest/.exec(words)?.[1] ?? '')).toMatch(/^#/);
  });

  test('a logo is known by its first bytes, whatever it is called', () => {
    expect(logoTypeOf(Buffer.from('89504e470d0a1a0a00', 'hex'))).toBe('image/png');
    expect(logoTypeOf(Buffer.from('ffd8ffe0', 'hex'))).toBe('image/jpeg');
    expect(logoTypeOf(Buffer.from('RIFF....WEBPVP8 '))).toBe('image/webp');
    for (const other of ['<svg/>', 'GIF89a', 'RIFF....WAVE', '', '\u0089PN'])
      expect(logoTypeOf(Buffer.from(other))).toBeUndefined();
  });

  test('the usual words name what they are about, in each language and for each kind differently', () => {
    const all = pageLanguages.flatMap((language) =>
      postKinds.map((kind) => suggestedPost(language, kind, 'Checkout')),
    );
    expect(new Set(all).size).toBe(16);
    for (const words of all) expect(words).toContain('Checkout');
    expect(suggestedPost('en', 'identified', 'Checkout', 'Search', 'Mail')).toBe(
      'We know why Checkout, Search and Mail are not working and are fixing it.',
    );
    const many = Array.from({ length: 500 }, (_, nth) => `Shop ${nth}`);
    expect(suggestedPost('de', 'resolved', ...many)).toBe(
      '500 Dienste funktionieren wieder wie gewohnt.',
    );
  });
});
