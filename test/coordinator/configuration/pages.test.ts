import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyFile } from '../../../shared/api/files.ts';
import { startWeb, type TestWeb, type Values } from '../../support/web.ts';

/** What a file manages is marked on the pages, and asks before it is changed by hand. */

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const post = (path: string, form: Values) => web.send(path, form, 'owner');
const get = async (path: string) => await web.text(path, 'owner');

const applied = async (body: object) => {
  const answered = await web.gate.execute(applyFile, web.house.owner.caller, {
    path: { file: 'shop' },
    body,
  });
  const parsed = applyFile.response?.parse(answered.body, []);
  return parsed?.ok ? parsed.value.objects : [];
};

test('says which file manages it, and saves only what is confirmed', async () => {
  const objects = await applied({
    groups: { web: {} },
    monitors: { checkout: { type: 'heartbeat', interval_s: 3_600 } },
  });
  const id = (key: string): string => objects.find((each) => each.key === key)?.id ?? '';
  const [monitor, group] = [`/monitors/${id('checkout')}`, `/groups/${id('web')}`];
  for (const path of [monitor, `${monitor}/edit`, `${monitor}/delete`, group, `${group}/edit`])
    expect([path, (await get(path)).includes('Managed by shop/antipode.yaml')]).toEqual([
      path,
      true,
    ]);

  const form = { type: 'heartbeat', name: 'By hand', interval_s: '3600', act: 'save' };
  const asked = await post(`${monitor}/edit`, form);
  expect([asked.status, asked.text.includes('shop/antipode.yaml manages this')]).toEqual([
    409,
    true,
  ]);
  expect(asked.text).toContain('name="name" value="By hand"');
  expect(await get(monitor)).not.toContain('By hand');
  expect((await post(`${monitor}/edit`, { ...form, change_managed: 'yes' })).status).toBe(303);
  expect(await get(monitor)).toContain('By hand');
  expect((await post(`${monitor}/pause`, {})).status).toBe(409);
  const several = { 'monitors[]': [id('checkout')], change: 'pause', back: '/' };
  const held = await post('/monitors/change', several);
  expect([held.status, held.text.includes('shop/antipode.yaml manages some of these')]).toEqual([
    409,
    true,
  ]);
  expect((await post('/monitors/change', { ...several, change_managed: 'yes' })).status).toBe(303);
  // Mutes are of people, not of the file.
  expect((await post('/monitors/change', { ...several, change: 'mute' })).status).toBe(303);
  expect((await post(`${monitor}/mute`, { minutes: '5' })).status).toBe(303);

  const by = await post('/monitors/new', { ...form, name: 'Other' });
  const other = (by.headers.get('location') ?? '').split(/[?#]/)[0] ?? '';
  expect(await get(other.replace('/address', ''))).not.toContain('Managed by');
});
