import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '../../../../coordinator/organisations/contract.ts';
import { createSignInLink } from '../../../../coordinator/people/contract.ts';
import { createAccountSecrets } from '../../../../coordinator/secrets/account-secrets.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { barriers, openTab, overflow, phone } from '../../../support/browser.ts';
import { click, navigate } from '../../../support/connections.ts';
import { describeInBrowser } from '../../../support/in-browser.ts';
import { testSecretKey } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

let web: TestWeb;
const password = 'correct horse';
const same = { 'sec-fetch-site': 'same-origin' };

beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const person = async (): Promise<string> => {
  const email = `ada-${newId()}@shop.example`;
  await web.gate.execute(
    createUser,
    web.house.owner.caller,
    rawInput(createUser, { email, password, role: 'member' }),
  );
  return email;
};
const linkFor = async (email: string): Promise<string> => {
  const operation = createSignInLink;
  const { body } = await web.gate.executeForInstallation(operation, rawInput(operation, { email }));
  return new URL((body as { address: string }).address).pathname;
};

describe('the link', () => {
  test('signs in by a click, once, and lands on the front', async () => {
    const path = await linkFor(await person());
    const { status, location, cookies } = await navigate(`${web.url}${path}`);
    expect([status, location]).toEqual([303, '/']);
    expect(cookies.join()).toMatch(
      /svc_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax/,
    );
    expect((await navigate(`${web.url}${path}`)).status).toBe(404);
  });

  test('is not used up by a preview or an automatic request', async () => {
    const path = await linkFor(await person());
    for (const headers of [
      {},
      { ...click, 'sec-purpose': 'prefetch' },
      { ...click, 'sec-purpose': 'prefetch;prerender' },
      { ...click, purpose: 'prefetch' },
      { 'sec-fetch-mode': 'navigate' },
      // A click on a page of someone else, which would sign this browser in as whoever made the
      // link.
      { ...click, 'sec-fetch-site': 'cross-site' },
      { ...click, 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-mode': 'no-cors', 'sec-fetch-user': '?1' },
    ]) {
      const { status, text, cookies } = await navigate(`${web.url}${path}`, headers);
      expect([headers, status, cookies]).toEqual([headers, 200, []]);
      expect(text).toContain('<button class="button button-main">Sign in</button>');
    }
    expect((await navigate(`${web.url}${path}`, click, 'HEAD')).cookies).toEqual([]);
    expect((await web.post(path, {})).status).toBe(403);
    const { status, headers } = await web.send(path, {});
    expect([status, headers.get('location')]).toEqual([303, '/']);
  });
});

describe('signing in', () => {
  test('leads to the requested page, on this service only', async () => {
    const email = await person();
    const into = async (next: string) =>
      (await web.send('/sign-in', { email, password, next })).headers.get('location');
    expect(await into('/profile?x=1')).toBe('/profile?x=1');
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '',
    ])
      expect([next, await into(next)]).toEqual([next, '/']);
  });

  test('says in the form that it failed, without the password', async () => {
    const email = await person();
    const { status, text, headers } = await web.send('/sign-in', {
      email,
      password: 'wrong horse',
    });
    expect([status, headers.getSetCookie()]).toEqual([400, []]);
    expect(text).toContain('The e-mail address or the password is wrong.');
    expect(text).toContain(`value="${email}"`);
    expect(text).not.toContain('wrong horse');
  });

  test('is not offered to a signed-in user', async () => {
    expect((await web.get('/sign-in', { as: 'owner' })).headers.get('location')).toBe('/');
  });
});

describe('a new password by the link of a mail', () => {
  test('signs this browser in', async () => {
    const email = await person();
    const { text, fingerprint } = await createAccountSecrets(web.sql, {
      secretKey: testSecretKey,
    }).mint('password reset');
    await web.sql`insert into one_time_secrets (id, kind, fingerprint, user_id, expires_at)
      select gen_random_uuid(), 'password reset', ${fingerprint}, id, now() + interval '1 hour' from users where email = ${email}`;
    const { status, headers } = await web.send(`/reset/${text}`, { password: 'battery staple' });
    expect([status, headers.get('location')]).toEqual([303, '/']);
    const cookie = headers.getSetCookie().map((each) => each.split(';')[0]);
    expect((await web.get('/', { cookie: cookie.join('; ') })).text).toContain(email);
  });
});

describe('signing out', () => {
  test('ends the session, and lets the browser forget the pages', async () => {
    const email = await person();
    const cookie =
      (await web.send('/sign-in', { email, password })).headers.getSetCookie()[0]?.split(';')[0] ??
      '';
    expect((await web.get('/', { cookie })).text).toContain(email);
    const { headers } = await web.post('/sign-out', {}, { cookie, headers: same });
    expect(headers.get('location')).toBe('/sign-in');
    expect(headers.get('clear-site-data')).toBe('"cache"');
    expect(headers.getSetCookie().join()).toContain('svc_session=; Max-Age=0');
    expect((await web.get('/', { cookie })).text).not.toContain(email);
  });
});

describe('the password once more', () => {
  test('is not asked of users without one: a new link confirms as well, and the page says how', async () => {
    const email = await person();
    const enter = async (cookie = '') => {
      const { headers } = await web.post(await linkFor(email), {}, { cookie, headers: same });
      return headers.getSetCookie()[0]?.split(';')[0] ?? '';
    };
    const cookie = await enter();
    await web.sql`update sessions set proven_at = proven_at - interval '1 hour'`;
    const dangerous = await web.get('/profile/password', { cookie });
    expect([dangerous.status, dangerous.headers.get('location')]).toEqual([
      303,
      '/confirm?next=%2Fprofile%2Fpassword',
    ]);
    expect((await web.get('/confirm', { cookie })).text).toContain(
      `user sign-in-link \\\n  --email ${email}`,
    );
    expect((await web.get('/profile/password', { cookie: await enter(cookie) })).status).toBe(200);
  });

  test('is asked for in a form, and leads back', async () => {
    const email = await person();
    const cookie =
      (await web.send('/sign-in', { email, password })).headers.getSetCookie()[0]?.split(';')[0] ??
      '';
    const wrong = await web.post(
      '/confirm',
      { password: 'wrong horse', next: '/members' },
      { cookie, headers: same },
    );
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('aria-invalid="true"');
    const right = await web.post(
      '/confirm',
      { password, next: '/members' },
      { cookie, headers: same },
    );
    expect(right.headers.get('location')).toBe('/members');
  });
});

describeInBrowser('in a browser', (browser) => {
  for (const scripts of [true, false])
    describe(scripts ? 'with scripts' : 'without scripts', () => {
      test('a newcomer clicks the link and is in; signs out, and in again with a password', async () => {
        const email = await person();
        const path = await linkFor(email);
        const { page, complaints, close } = await openTab(browser(), web.url, { scripts });
        await page.goto(`${web.url}${path}`);
        // A browser that a program steers sends no sign of a person; people have a button then.
        if (page.url().includes('/enter/'))
          await page.getByRole('button', { name: 'Sign in' }).click();
        await page.waitForURL(`${web.url}/`);
        await page.getByText(email).first().waitFor({ state: 'attached' });
        await page.locator('.account-button').click();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.waitForURL(`${web.url}/sign-in`);
        await page.getByLabel('E-mail').fill(email);
        await page.getByLabel('Password').fill('wrong horse');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('alert').waitFor();
        await page.getByLabel('Password').fill(password);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.waitForURL(`${web.url}/`);
        // The form that was refused is a page with that status, which a browser notes.
        expect(complaints.filter((each) => !each.includes('status of 400'))).toEqual([]);
        await close();
      });
    });

  for (const scripts of [true, false])
    test(`a user without a password confirms by a new link, as the page says, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const email = await person();
      const { page, close } = await openTab(browser(), web.url, { scripts });
      const enter = async (): Promise<void> => {
        await page.goto(`${web.url}${await linkFor(email)}`);
        if (page.url().includes('/enter/'))
          await page.getByRole('button', { name: 'Sign in' }).click();
        await page.waitForURL(`${web.url}/`);
      };
      await enter();
      await web.sql`update sessions set proven_at = proven_at - interval '1 hour'`;
      await page.goto(`${web.url}/profile/password`);
      await page.waitForURL(/\/confirm\?/);
      expect(await page.locator('main').innerText()).toContain(
        `user sign-in-link \\\n  --email ${email}`,
      );
      await enter();
      await page.goto(`${web.url}/profile/password`);
      expect(new URL(page.url()).pathname).toBe('/profile/password');
      await close();
    });

  test('nothing keeps anybody from using the pages, light or dark, narrow or wide', async () => {
    const used = await linkFor(await person());
    await navigate(`${web.url}${used}`);
    const open = await linkFor(await person());
    for (const scheme of ['light', 'dark'] as const)
      for (const width of [phone, 1280])
        for (const path of ['/sign-in', open, used]) {
          const { page, close } = await openTab(browser(), web.url, { scheme, width });
          await page.goto(`${web.url}${path}`);
          expect([path, scheme, width, await barriers(page), await overflow(page)]).toEqual([
            path,
            scheme,
            width,
            [],
            0,
          ]);
          await close();
        }
  });
});
