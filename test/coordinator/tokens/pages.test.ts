import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTokens, type Tokens } from '../../../coordinator/tokens/authenticate.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { openTab } from '../../support/browser.ts';
import { describeInBrowser } from '../../support/in-browser.ts';
import { testSecretKey } from '../../support/people.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

let web: TestWeb;
let tokens: Tokens;

beforeAll(async () => {
  web = await startWeb();
  tokens = createTokens({
    sql: web.sql,
    secretKey: testSecretKey,
    clock: systemClock,
    log: createLog({ name: 't', level: 'silent' }),
  });
});
afterAll(async () => {
  await tokens.close();
  await web.close();
});

const works = (token: string): Promise<boolean> =>
  tokens.authenticate(`Bearer ${token}`).then(
    () => true,
    () => false,
  );

const make = (form: Readonly<Record<string, string>>) => web.send('/tokens/new', form, 'member');

test('a new token is on the page that answers its form, with commands to try, and on no page after', async () => {
  const { status, text, headers } = await make({ name: 'CI', scope: 'read', expires_at: '' });
  const [token = ''] = /svc_[0-9A-Za-z]{40}/.exec(text) ?? [];
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(text).toContain(`curl -H &#39;Authorization: Bearer ${token}&#39; ${web.url}/api/v1/me`);
  expect(text).toContain(`ANTIPODE_TOKEN=${token} node antipode.mjs whoami`);
  expect(await works(token)).toBe(true);
  const list = await web.get('/tokens', { as: 'owner' });
  expect(list.text).toContain(token.slice(0, 8));
  expect(list.text).not.toContain(token.slice(8));
  // The log says who made it, for what; a part that cannot be guessed from says which.
  const [trace] = await web.sql<
    { changed: object }[]
  >`select changed from audit_log where operation = 'createToken' order by key desc limit 1`;
  expect(trace?.changed).toMatchObject({
    after: { name: 'CI', scope: 'read', begins: token.slice(0, 8), expires_at: null },
  });
  expect(JSON.stringify(trace)).not.toContain(token.slice(8));
});

test('a token ends at the beginning of the day that was chosen, by the clock of its organisation', async () => {
  await web.sql`update organisations set time_zone = 'Europe/Berlin' where id = ${web.house.organisation}`;
  await make({ name: 'Until summer', scope: 'read', expires_at: '2100-07-01' });
  const [row] = await web.sql<
    { expires_at: number }[]
  >`select expires_at from tokens where name = 'Until summer'`;
  expect(row?.expires_at).toBe(Date.parse('2100-06-30T22:00:00Z'));
  await web.sql`update organisations set time_zone = 'UTC' where id = ${web.house.organisation}`;
});

test('a form that is refused comes back with what was sent, and makes nothing', async () => {
  const { status, text } = await make({ name: '', scope: 'read_write', expires_at: '' });
  expect(status).toBe(400);
  expect(text).toContain('Must have 1 to 200 characters');
  expect(text).toMatch(/value="read_write" checked/);
  expect(text).not.toMatch(/svc_[0-9A-Za-z]{40}/);
});

test('owners alone are asked whether a token also manages members, and it does not by itself', async () => {
  const asked = 'Also manage members';
  const form = { name: 'Leavers', scope: 'read_write', expires_at: '' };
  const ticked = { ...form, manage_members: 'true' };
  expect((await web.get('/tokens/new', { as: 'admin' })).text).not.toContain(asked);
  expect((await web.send('/tokens/new', ticked, 'admin')).status).toBe(403);
  expect((await web.get('/tokens/new', { as: 'owner' })).text).toContain(asked);
  const { status, text } = await web.send('/tokens/new', { ...ticked, scope: 'read' }, 'owner');
  expect([status, text.includes('for a token that manages members')]).toEqual([400, true]);
  for (const [name, sent] of [['Plain', form] as const, ['Leavers', ticked] as const])
    await web.send('/tokens/new', { ...sent, name }, 'owner');
  expect(
    await web.sql`select name, manage_members from tokens
      where name in ('Plain', 'Leavers') order by key`,
  ).toEqual([
    { name: 'Plain', manage_members: false },
    { name: 'Leavers', manage_members: true },
  ]);
  expect((await web.get('/tokens', { as: 'owner' })).text).toContain(
    'Read, write and manage members',
  );
});

describeInBrowser('tokens', (browser) => {
  for (const scripts of [true, false])
    describe(scripts ? 'with scripts' : 'without scripts', () => {
      test('are created, shown once, and revoked', async () => {
        const cookie = await web.cookieOf('viewer');
        await web.sql`delete from tokens where user_id = ${web.house.viewer.user}`;
        const { page, close } = await openTab(browser(), web.url, { scripts, cookie });
        await page.goto(`${web.url}/tokens`);
        await page.getByRole('heading', { name: 'No program has access yet' }).waitFor();
        await page.getByRole('link', { name: 'New token' }).click();
        await page.getByText('You are a viewer, so your tokens can only read').waitFor();
        await page.getByLabel('Name').fill('Wall screen');
        await page.getByLabel('Expires').selectOption({ index: 2 });
        await page.getByRole('button', { name: 'Create token' }).click();
        await page.getByRole('heading', { name: 'Copy your token now' }).waitFor();
        const token = (await page.locator('.copyable code').first().textContent()) ?? '';
        expect(await works(token)).toBe(true);
        expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(scripts ? 3 : 0);
        await page.getByRole('link', { name: 'Done' }).click();
        await page.getByRole('link', { name: 'Revoke Wall screen' }).click();
        await page.getByRole('button', { name: 'Revoke token' }).click();
        await page.getByText('Token Wall screen revoked').waitFor();
        expect(await works(token)).toBe(false);
        await close();
      });
    });
});
