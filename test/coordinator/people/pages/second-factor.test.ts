import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '../../../../coordinator/organisations/contract.ts';
import { codeOf, stepAt } from '../../../../coordinator/people/second-factor.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { barriers, openTab, overflow, phone, type Tab } from '../../../support/browser.ts';
import { describeInBrowser } from '../../../support/in-browser.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** The second step of signing in, as people meet it. */

const password = 'correct horse';
const same = { 'sec-fetch-site': 'same-origin' };
const time = { now: Date.now() };
let web: TestWeb;
beforeAll(async () => {
  web = await startWeb({ clock: { now: () => time.now } });
});
afterAll(() => web.close());

const newPerson = async (): Promise<string> => {
  const email = `ada-${newId()}@shop.example`;
  await web.gate.execute(createUser, web.house.owner.caller, rawInput(createUser, { email, password, role: 'owner' }));
  return email;
};
const cookieFor = async (email: string): Promise<string> =>
  (await web.post('/sign-in', { email, password }, { headers: same })).headers.getSetCookie()[0]?.split(';')[0] ?? '';

const acts = ['/profile/two-step/set-up', '/profile/two-step/codes', '/profile/two-step/off'];

describe('the pages of the second step', () => {
  test('ask for the password first when that was given a while ago, and lead back to what was wanted', async () => {
    const email = await newPerson();
    const cookie = await cookieFor(email);
    await web.sql`update sessions set proven_at = ${new Date(time.now - 16 * 60_000)} where user_id = (select id from users where email = ${email})`;
    for (const path of acts) {
      const to = `/confirm?next=${encodeURIComponent(path)}`;
      expect((await web.get(path, { cookie })).headers.get('location')).toBe(to);
      expect((await web.post(path, { code: '000000', secret: 'x' }, { cookie, headers: same })).headers.get('location')).toBe(to);
    }
    const confirmed = await web.post('/confirm', { next: acts[0] ?? '', password }, { cookie, headers: same });
    expect(confirmed.headers.get('location')).toBe(acts[0]);
    expect((await web.get(acts[0] ?? '', { cookie })).status).toBe(200);
  });

  test('are nobody’s but the person’s own, and nothing of them is posted from another site', async () => {
    for (const path of ['/profile/two-step', ...acts]) expect((await web.get(path)).status).toBe(303);
    for (const path of [...acts, '/sign-in/second-step'])
      expect((await web.post(path, {}, { as: web.house.owner, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
  });

  test('lead from what does not fit to what does', async () => {
    const cookie = await cookieFor(await newPerson());
    expect((await web.get('/profile/two-step', { cookie })).headers.get('location')).toBe('/profile/two-step/set-up');
    expect((await web.post('/profile/two-step/off', {}, { cookie, headers: same })).headers.get('location')).toBe(
      '/profile/two-step/set-up',
    );
    expect((await web.get('/sign-in/second-step?next=/members')).headers.get('location')).toBe('/sign-in?next=%2Fmembers');
    const forged = await web.post('/sign-in/second-step', { code: '1' }, { cookie: `second_step=${'x'.repeat(43)}`, headers: same });
    expect(forged.headers.get('location')).toContain('/sign-in');
    expect(forged.headers.getSetCookie().join()).toContain('second_step=; Path=/; Max-Age=0');
  });

  test('are kept by nobody while they hold a secret', async () => {
    const cookie = await cookieFor(await newPerson());
    const { text, headers } = await web.get('/profile/two-step/set-up', { cookie });
    expect(headers.get('cache-control')).toBe('no-store');
    const [, secret = ''] = /name="secret" value="([A-Z2-7]{32})"/.exec(text) ?? [];
    const made = await web.post('/profile/two-step/set-up', { secret, code: codeOf(secret, stepAt(time.now)) }, { cookie, headers: same });
    expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect((await web.get('/profile/two-step', { cookie })).text).not.toContain(secret);
  });
});

describeInBrowser('the second step', (browser) => {
  /** The page's script asks whether the service is there before a form leaves, so that the answer comes a moment after the click. */
  const press = async (page: Tab['page'], name: string): Promise<void> => {
    const answered = page.waitForEvent('domcontentloaded');
    await page.getByRole('button', { name, exact: true }).click();
    await answered;
  };
  const signIn = async ({ page }: Tab, email: string): Promise<void> => {
    await page.goto(`${web.url}/sign-in?next=/profile`);
    await page.getByLabel('E-mail', { exact: true }).fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await press(page, 'Sign in');
  };
  const type = async ({ page }: Tab, label: string, code: string, verb: string): Promise<void> => {
    await page.getByLabel(label, { exact: true }).fill(code);
    await press(page, verb);
  };

  for (const scripts of [true, false])
    test(`${scripts ? 'with' : 'without'} scripts: is set up, asked for, passed by app and by a recovery code, and turned off`, async () => {
      const email = await newPerson();
      const tab = await openTab(browser(), web.url, { scripts });
      const { page } = tab;
      const now = (secret: string): string => codeOf(secret, stepAt(time.now));
      await signIn(tab, email);
      await page.getByRole('main').getByRole('link', { name: 'Set up' }).click();
      expect(await page.getByRole('img', { name: 'The secret below, as a QR code' }).count()).toBe(1);
      const secret = (await page.locator('#totp-secret').innerText()).replaceAll(' ', '');
      await type(tab, 'Code', '12', 'Turn it on');
      expect(await page.getByRole('alert').innerText()).toContain('clock of your phone');
      expect((await page.locator('#totp-secret').innerText()).replaceAll(' ', '')).toBe(secret);
      await type(tab, 'Code', now(secret), 'Turn it on');
      const codes = (await page.locator('#recovery-codes').innerText()).split('\n');
      expect(codes).toHaveLength(10);
      if (scripts) expect(await barriers(page)).toEqual([]);
      await page.getByRole('link', { name: 'I have kept them' }).click();
      expect(await page.getByRole('main').innerText()).toContain('10 recovery codes are left.');

      await page.context().clearCookies();
      await signIn(tab, email);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('One more step');
      if (scripts) expect(await barriers(page)).toEqual([]);
      await type(tab, 'Code', now(secret), 'Sign in');
      expect(await page.getByRole('alert').innerText()).toContain('used already');
      time.now += 30_000;
      await type(tab, 'Code', now(secret), 'Sign in');
      await page.waitForURL('**/profile');

      await page.context().clearCookies();
      await signIn(tab, email);
      await page.getByRole('link', { name: 'Use a recovery code' }).click();
      await type(tab, 'Recovery code', codes[3] ?? '', 'Sign in');
      await page.waitForURL('**/profile');
      expect(await page.getByRole('status').innerText()).toContain('9 recovery codes are left');

      await page.getByRole('listitem').or(page.locator('.setting')).getByRole('link', { name: 'Change' }).last().click();
      await page.getByRole('link', { name: 'Turn off' }).click();
      await page.getByRole('button', { name: 'Turn it off' }).click();
      expect(await page.getByRole('status').innerText()).toContain('your password alone');
      // A code that was wrong is answered 400, which the browser's console counts among the faults.
      expect(tab.complaints.filter((each) => !each.includes('status of 400'))).toEqual([]);
      await tab.close();
    });

  test('fits a phone while it is passed, also for a name of any length', async () => {
    const email = `${'long'.repeat(14)}-${newId().slice(0, 4)}@${'x'.repeat(60)}.example`;
    await web.gate.execute(createUser, web.house.owner.caller, rawInput(createUser, { email, password, role: 'owner' }));
    const tab = await openTab(browser(), web.url, { width: phone, scheme: 'dark' });
    await signIn(tab, email);
    await tab.page.goto(`${web.url}/profile/two-step/set-up`);
    expect(await overflow(tab.page)).toBe(0);
    const secret = (await tab.page.locator('#totp-secret').innerText()).replaceAll(' ', '');
    await type(tab, 'Code', codeOf(secret, stepAt(time.now)), 'Turn it on');
    expect([await overflow(tab.page), await barriers(tab.page)]).toEqual([0, []]);
    await tab.page.context().clearCookies();
    await signIn(tab, email);
    expect([await overflow(tab.page), await barriers(tab.page)]).toEqual([0, []]);
    await tab.close();
  });
});
