import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Person } from '../../support/people.ts';
import { type Answer, hostile, startWeb, type TestWeb, type Values } from '../../support/web.ts';

/** Groups on pages: made, filled, emptied, renamed, deleted. */

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const get = (path: string, as: Person = web.house.owner): Promise<Answer> => web.get(path, { as });
const post = (path: string, form: Values, as: Person = web.house.owner): Promise<Answer> =>
  web.send(path, form, as);
const placeOf = ({ status, headers, text }: Answer): string => {
  if (status !== 303) throw new Error(`${status}: ${/<ul>.*/.exec(text)?.[0]}`);
  return headers.get('location') ?? '';
};
const monitor = async (name: string): Promise<string> =>
  placeOf(
    await post('/monitors/new', { type: 'heartbeat', name, interval_s: '3600', act: 'save' }),
  ).split(/[/?#]/)[2] ?? '';
const make = async (name: string): Promise<string> => placeOf(await post('/groups/new', { name }));

test('without groups, the page is one sentence and one button; a viewer reads who can create them', async () => {
  const { text } = await get('/groups');
  expect(text).toContain('No groups yet');
  expect(text).toContain('href="/groups/new"');
  const viewer = await get('/groups', web.house.viewer);
  expect(viewer.text).toContain('Your role can only read');
  expect(viewer.text).not.toContain('href="/groups/new"');
  expect((await get('/groups/new', web.house.viewer)).status).toBe(403);
});

test('a group is made, monitors are moved in from where they are, and out again', async () => {
  const [one, two] = [await monitor('One'), await monitor('Two')];
  const [shop, other] = [await make('Shop'), await make('Other')];
  expect(await make('  shop ')).toBe(shop);
  expect((await get(shop)).text).toContain('Shop has no monitors yet');
  const nothing = await post(`${shop}/add`, {});
  expect([nothing.status, nothing.text.includes('Select between one and 100 monitors')]).toEqual([
    400,
    true,
  ]);
  expect(placeOf(await post(`${shop}/add`, { 'monitors[]': [one, two] }))).toBe(shop);
  expect((await get(`${other}/add`)).text).toContain('now in Shop');
  placeOf(await post(`${other}/add`, { 'monitors[]': two }));
  const { text } = await get(shop);
  expect([text.includes('>One</a>'), text.includes('>Two</a>')]).toEqual([true, false]);
  expect(
    placeOf(await post('/monitors/change', { back: shop, 'monitors[]': one, change: 'group:' })),
  ).toBe(shop);
  expect((await get(shop)).text).not.toContain('>One</a>');
  expect((await get('/groups')).text).toContain('None of your 2 groups is down');
});

test('it is renamed, and a name that there is stays whose it is', async () => {
  const own = await make('Platform');
  expect((await post(`${own}/edit`, { name: 'Shop' })).text).toContain('id="field-name-fault"');
  placeOf(await post(`${own}/edit`, { name: hostile, description: 'All that runs' }));
  const { text } = await get(own);
  expect(text).not.toContain(hostile);
  expect(text).toContain('All that runs');
});

test('everything that names it is shown before it is deleted, and its monitors stay', async () => {
  const [own, id] = [await make('Stores'), await monitor('Store')];
  placeOf(await post(`${own}/add`, { 'monitors[]': id }));
  const group = own.split('/').at(-1) ?? '';
  const times = {
    when: 'planned',
    starts_at: '2090-01-01T00:00',
    ends_at: '2090-01-01T01:00',
    repeats: 'once',
  };
  placeOf(
    await post('/maintenance/new', {
      name: 'Stocktaking',
      ...times,
      'groups[]': group,
      act: 'save',
    }),
  );
  const { text } = await get(`${own}/delete`);
  expect(text).toContain('Its monitor stays, without a group, with all its history.');
  expect(text).toContain('Maintenance covers them through it no longer: Stocktaking.');
  expect(placeOf(await post(`${own}/delete`, {}))).toBe('/groups');
  expect((await get(own)).status).toBe(404);
  expect((await get(`/monitors/${id}`)).status).toBe(200);
});
