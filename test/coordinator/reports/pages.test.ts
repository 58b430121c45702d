import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
  const shop = { type: 'https', name: 'Shop', target: 'https://shop.example/secret-path' };
  await web.gate.execute(createMonitor, web.house.owner.caller, rawInput(createMonitor, shop));
});
afterAll(() => web.close());

test('a link to a report is shown once, opens without an account, and shows nothing once revoked', async () => {
  const page = await web.text('/reports?period=this-month', 'member');
  // The month that is seen is shared, not whichever is the present one then.
  const [, form = ''] = /action="(\/reports\/share\?period=\d{4}-\d\d#share)"/.exec(page) ?? [];
  const made = await web.send(form, { days: '30' }, 'member');
  expect(made.headers.get('cache-control')).toBe('no-store');
  const [, path = ''] =
    new RegExp(`${web.url}(/shared/reports/[A-Za-z0-9_-]{32})`).exec(made.text) ?? [];
  const open = await web.get(path);
  expect(open.status).toBe(200);
  expect(open.text).toContain('Shop');
  expect(open.text).not.toMatch(/secret-path|href="\/monitors/);
  expect([
    open.headers.get('x-robots-tag'),
    open.headers.get('cache-control'),
    open.headers.get('referrer-policy'),
  ]).toEqual(['noindex', 'no-store', 'no-referrer']);
  const list = await web.text('/reports', 'member');
  expect(list).not.toContain(path);
  const [revoke = ''] = /\/reports\/shares\/[0-9a-f-]+\/withdraw/.exec(list) ?? [];
  expect((await web.send(revoke, {}, 'member')).status).toBe(303);
  expect((await web.get(path)).status).toBe(404);
  expect((await web.get('/shared/reports/x')).status).toBe(404);
});
