import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Demo, seedDemo } from '../../support/demo.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

let web: TestWeb;
let demo: Demo;

beforeAll(async () => {
  web = await startWeb();
  demo = await seedDemo(web.sql, web.house.organisation, Date.now());
});
afterAll(() => web.close());

const read = async (path: string, as = web.house.owner): Promise<string> =>
  (await web.get(path, { as })).text;

test('an objective of a group is made by a form, and a target that leaves no budget comes back', async () => {
  const form = { name: 'Promise', of: `group:${demo.groupOf('Shop')}`, period: 'month' };
  const wrong = await web.send('/objectives/new', { ...form, target: '100' }, 'owner');
  expect([wrong.status, wrong.text.includes('value="Promise"')]).toEqual([400, true]);
  const made = await web.send('/objectives/new', { ...form, target: '99.95' }, 'owner');
  expect(made.status).toBe(303);
  const page = await read(made.headers.get('location') ?? '');
  for (const words of ['Promise', '99.95%', 'Shop, ']) expect(page).toContain(words);
});

test('the list and its pages say what is left, and who may only read is offered nothing', async () => {
  const list = await read('/objectives');
  // The shop is down at this moment.
  for (const words of [
    'Shop',
    'Burns fast',
    ' left',
    'class="fill-verifying level"',
    'New objective',
  ])
    expect(list).toContain(words);
  const path = `/objectives/${demo.objective}`;
  expect(await read(path)).toContain('class="line line-budget"');
  expect(await read(path)).toContain(`${path}/delete`);
  expect(await read('/objectives', web.house.viewer)).not.toContain('New objective');
  expect(await read(path, web.house.viewer)).not.toContain(`${path}/delete`);
});

test('one whose budget is overspent is missed, however fast it burns', async () => {
  const form = { name: 'Strict', of: `group:${demo.groupOf('Shop')}`, period: '30d' };
  const made = await web.send('/objectives/new', { ...form, target: '99.999' }, 'owner');
  const page = await read(made.headers.get('location') ?? '');
  expect([page.includes('Missed'), page.includes('Overspent')]).toEqual([true, true]);
});
