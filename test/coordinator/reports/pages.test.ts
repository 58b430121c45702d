import { afterAll, beforeAll, expect, test } from 'vitest';
import { leavingLink } from '../../../coordinator/notifications/links.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { testSecretKey } from '../../support/people.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb({ door: { signUp: 'invited', signUpPlan: 'free', mail: true } });
  await web.sql`update users set email_verified_at = now()`;
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
  expect(open.text).toContain(`${web.house.name}. `);
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

test('a viewer has the report that is seen mailed, sees when, and ends it here or by the link of a mail', async () => {
  const page = await web.text('/reports?period=2026-10&unknown=down&promised=99.9', 'viewer');
  expect(page).toContain('You get no mail of this report.');
  const [, form = ''] = /action="(\/reports\/mail\?[^"#]+)#mail"/.exec(page) ?? [];
  const sent = await web.send(form.replaceAll('&amp;', '&'), { every: 'week' }, 'viewer');
  expect(sent.status).toBe(303);
  const seen = await web.text('/reports?period=2025&unknown=down&promised=99.9', 'viewer');
  expect(seen).toMatch(/You get it each week, next on/);
  // Other reports are not mailed, but the list of them is in sight.
  const other = await web.text('/reports?unknown=down', 'viewer');
  expect(other).toContain('You get no mail of this report.');
  const [end = ''] = /\/reports\/mails\/[0-9a-f-]+\/end/.exec(other) ?? [];
  expect(await web.text('/reports', 'member')).not.toContain('Reports that are mailed to you');
  const [, id = ''] = /mails\/([0-9a-f-]+)\//.exec(end) ?? [];
  const link = `/reports/leave/${await leavingLink(
    createAccountSecrets(web.sql, { secretKey: testSecretKey }),
    id,
    'report leaving',
  )}`;
  expect((await web.get(link)).text).toContain('Stop these mails?');
  // As a mail service posts it: from elsewhere, without a cookie.
  const headers = { origin: 'https://mail.example', 'sec-fetch-site': 'cross-site' };
  const left = await web.post(link, { 'List-Unsubscribe': 'One-Click' }, { headers });
  expect([left.status, (await web.get(link)).status]).toEqual([200, 200]);
  expect(await web.text('/reports?unknown=down&promised=99.9', 'viewer')).toContain(
    'You get no mail of this report.',
  );
  expect((await web.send(end, {}, 'viewer')).status).toBe(404);
});

test('promises no mail where none is set up', async () => {
  const silent = await startWeb();
  const page = await silent.text('/reports', 'viewer');
  expect(page).toContain('Cannot deliver: e-mail is not set up.');
  expect(page).not.toContain('You get no mail of this report.');
  await silent.close();
});
