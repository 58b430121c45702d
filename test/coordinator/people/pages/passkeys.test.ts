import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUser } from '../../../../coordinator/organisations/contract.ts';
import { codeOf, stepAt } from '../../../../coordinator/people/second-factor.ts';
import { inviteMember } from '../../../../shared/api/members.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { barriers, openTab, overflow, phone, type Tab } from '../../../support/browser.ts';
import { describeInBrowser } from '../../../support/in-browser.ts';
import { inPerson } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

const password = 'correct horse';
const same = { 'sec-fetch-site': 'same-origin' };
const time = { now: Date.now() };
let web: TestWeb;
beforeAll(async () => {
  web = await startWeb({ host: 'localhost', clock: { now: () => time.now } });
});
afterAll(() => web.close());

const newPerson = async (): Promise<string> => {
  const email = `ada-${newId()}@shop.example`;
  await web.gate.execute(
    createUser,
    inPerson(web.house.owner.caller),
    rawInput(createUser, { email, password, role: 'owner' }),
  );
  return email;
};

/** Passkeys, with a browser that has an authenticator of its own (WebAuthn's virtual one). */
describe('passkeys', () => {
  describe('without a browser that answers', () => {
    test('an invalid answer is refused in words, and signs no one in', async () => {
      const clientDataJSON = Buffer.from(
        JSON.stringify({ type: 'webauthn.get', challenge: 'x', origin: web.url }),
      ).toString('base64url');
      const response = { clientDataJSON, authenticatorData: 'AA', signature: 'AA' };
      for (const answer of [
        '',
        '{',
        '{}',
        '[]',
        'null',
        JSON.stringify({ id: 'x', rawId: 'x', type: 'public-key', response }),
        JSON.stringify({ id: '\0', rawId: 'x', type: 'public-key', response }),
      ]) {
        const { status, text, headers } = await web.send('/sign-in/passkey', { answer });
        expect([answer, status, headers.getSetCookie()]).toEqual([answer, 400, []]);
        expect(text).toContain('role="alert"');
      }
      const sent = { answer: '{}', name: 'x' };
      expect((await web.send('/profile/passkeys/new', sent, 'viewer')).status).toBe(400);
      expect((await web.send('/confirm/passkey', sent, 'viewer')).status).toBe(400);
      // Who has none is not asked for one.
      expect((await web.send('/confirm/passkey/options', {}, 'viewer')).status).toBe(400);
    });

    test('unused challenges cannot fill the database', async () => {
      const answers = [];
      for (let index = 0; index < 61; index += 1)
        answers.push((await web.send('/sign-in/passkey/options', {})).status);
      expect([answers.slice(0, 60).every((status) => status === 200), answers[60]]).toEqual([
        true,
        429,
      ]);
      await web.sql`delete from attempts`;
    });

    test('adding and removing wants a proof that is not old', async () => {
      const email = await newPerson();
      const signedIn = await web.send('/sign-in', { email, password });
      const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const [user] = await web.sql<{ id: string }[]>`select id from users where email = ${email}`;
      const id = newId();
      await web.sql`insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, is_synced, created_at)
      values (${id}, ${user?.id ?? ''}, ${id}, '', 0, '{}', 'Phone', true, now())`;
      await web.sql`update sessions set proven_at = now() - interval '16 minutes' where user_id = ${user?.id ?? ''}`;
      for (const path of ['/profile/passkeys/new', `/profile/passkeys/${id}/remove`]) {
        const to = `/confirm?next=${encodeURIComponent(path)}`;
        expect((await web.get(path, { cookie })).headers.get('location')).toBe(to);
        expect(
          (
            await web.post(path, { name: 'x', answer: '{}' }, { cookie, headers: same })
          ).headers.get('location'),
        ).toBe(to);
      }
      expect((await web.send(`/profile/passkeys/${id}/remove`, {}, 'owner')).status).toBe(404);
      expect(await web.text('/profile/passkeys', 'owner')).not.toContain(id);
    });
  });

  describeInBrowser('a passkey', (browser) => {
    const authenticatorIn = async (
      page: Page,
    ): Promise<{ session: CDPSession; authenticatorId: string }> => {
      const session = await page.context().newCDPSession(page);
      await session.send('WebAuthn.enable');
      const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      });
      return { session, authenticatorId };
    };
    const open = async (look: Parameters<typeof openTab>[2] = {}): Promise<Tab> =>
      openTab(browser(), web.url, look);
    const signIn = async (page: Page, email: string): Promise<void> => {
      await page.goto(`${web.url}/sign-in?next=/profile/passkeys`);
      await page.getByLabel('E-mail', { exact: true }).fill(email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL(`${web.url}/profile/passkeys`);
    };
    const add = async (page: Page, name: string): Promise<void> => {
      await page.goto(`${web.url}/profile/passkeys/new`);
      await page.getByLabel('Name', { exact: true }).fill(name);
      await page.getByRole('button', { name: 'Create passkey' }).click();
      await page.waitForURL(`${web.url}/profile/passkeys`);
    };
    const usePasskey = (page: Page) => page.getByRole('button', { name: 'Use a passkey' }).click();

    test('is created, signs in without address and password, confirms the user, and is removed', async () => {
      const email = await newPerson();
      const tab = await open();
      const { page } = tab;
      await authenticatorIn(page);
      await signIn(page, email);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('No passkeys yet');
      const hostile = '"><img src=x data-harm>';
      await add(page, hostile);
      expect(await page.getByRole('status').innerText()).toContain(`Passkey ${hostile} added`);
      expect(await page.locator('[data-harm]').count()).toBe(0);

      await page.context().clearCookies();
      await page.goto(`${web.url}/sign-in?next=/profile/passkeys`);
      await usePasskey(page);
      await page.waitForURL(`${web.url}/profile/passkeys`);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('One passkey');
      expect(await page.getByRole('main').innerText()).not.toContain('Never');

      await web.sql`update sessions set proven_at = now() - interval '16 minutes' where user_id = (select id from users where email = ${email})`;
      await page.getByRole('link', { name: 'Remove' }).click();
      await page.waitForURL('**/confirm?next=*');
      await usePasskey(page);
      await page.waitForURL('**/remove');
      await page.getByRole('button', { name: 'Remove passkey' }).click();
      await page.waitForURL(`${web.url}/profile/passkeys`);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('No passkeys yet');

      // The device still has it; the service does not.
      await page.context().clearCookies();
      await page.goto(`${web.url}/sign-in`);
      await usePasskey(page);
      await expect
        .poll(() => page.getByRole('alert').first().innerText())
        .toContain('not known here');
      const rows = await web.sql<
        { operation: string; text: string }[]
      >`select operation, changed::text as text from audit_log
      where user_id = (select id from users where email = ${email}) and operation ilike '%passkey%' order by key`;
      expect(rows.map(({ operation }) => operation)).toEqual([
        'addPasskey',
        'signInByPasskey',
        'proveByPasskey',
        'removePasskey',
      ]);
      for (const { text } of rows) expect(text).not.toMatch(/signature|clientDataJSON/);
      expect(tab.complaints.filter((each) => !each.includes('status of 400'))).toEqual([]);
      await tab.close();
    });

    test('joins by an invitation without a password, and signs in again', async () => {
      const email = `ada-${newId()}@shop.example`;
      const { body } = await web.gate.execute(
        inviteMember,
        web.house.owner.caller,
        rawInput(inviteMember, { email, role: 'member' }),
      );
      const tab = await open();
      const { page } = tab;
      await authenticatorIn(page);
      await page.goto(`${web.url}${new URL((body as { address: string }).address).pathname}`);
      const join = page.getByRole('button', { name: 'Use a passkey instead' });
      // Without a name nothing is created.
      await join.click();
      await page.getByLabel('Your name').fill('Ada');
      await join.click();
      await page.waitForURL(`${web.url}/`);
      expect(await page.getByRole('status').first().innerText()).toContain('You joined');
      await page.goto(`${web.url}/profile/passkeys`);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('One passkey');
      await page.context().clearCookies();
      await page.goto(`${web.url}/sign-in?next=/profile/passkeys`);
      await usePasskey(page);
      await page.waitForURL(`${web.url}/profile/passkeys`);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

    test('may be one of several, and replaces the second step', async () => {
      const email = await newPerson();
      const tab = await open();
      const { page } = tab;
      const { session, authenticatorId } = await authenticatorIn(page);
      await signIn(page, email);
      await add(page, 'Phone');
      await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
      await authenticatorIn(page);
      await add(page, 'Laptop');
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('2 passkeys');
      // The same device is not asked to keep a second one.
      await page.goto(`${web.url}/profile/passkeys/new`);
      await page.getByRole('button', { name: 'Create passkey' }).click();
      await expect
        .poll(() => page.getByRole('alert').innerText())
        .toContain('No passkey was created');
      const [user] = await web.sql<{ id: string }[]>`select id from users where email = ${email}`;
      await web.sql`insert into second_factors (user_id, secret, created_at, last_step) values (${user?.id ?? ''}, ${Buffer.alloc(60)}, now(), 0)`;
      await page.context().clearCookies();
      await page.goto(`${web.url}/sign-in?next=/profile/passkeys`);
      await usePasskey(page);
      await page.waitForURL(`${web.url}/profile/passkeys`);
      await tab.close();
    });

    test('answers once: neither its answer nor that of another page or person is taken for it', async () => {
      const [ada, eve] = [await newPerson(), await newPerson()];
      const tab = await open();
      const { page } = tab;
      await authenticatorIn(page);
      await signIn(page, ada);
      await add(page, 'Phone');
      await page.context().clearCookies();
      await page.goto(`${web.url}/sign-in`);
      const sent = page.waitForRequest(
        (request) => request.method() === 'POST' && request.url().endsWith('/sign-in/passkey'),
      );
      await usePasskey(page);
      const answer = new URLSearchParams((await sent).postData() ?? '').get('answer') ?? '';
      await page.waitForURL(`${web.url}/`);
      expect(JSON.parse(answer)).toMatchObject({ type: 'public-key' });
      const again = await web.send('/sign-in/passkey', { answer });
      expect([again.status, again.headers.getSetCookie()]).toEqual([400, []]);
      const cookieOfEve =
        (await web.send('/sign-in', { email: eve, password })).headers
          .getSetCookie()[0]
          ?.split(';')[0] ?? '';
      expect(
        (await web.post('/confirm/passkey', { answer }, { cookie: cookieOfEve, headers: same }))
          .status,
      ).toBe(400);

      // A fresh one that was never sent: asked for to sign in, it proves nothing, and changed in
      // one bit it signs nobody in.
      await page.context().clearCookies();
      await page.goto(`${web.url}/sign-in`);
      await page.route('**/sign-in/passkey', (route) => route.abort());
      const kept = page.waitForRequest(
        (request) => request.method() === 'POST' && request.url().endsWith('/sign-in/passkey'),
      );
      await usePasskey(page);
      const fresh = new URLSearchParams((await kept).postData() ?? '').get('answer') ?? '';
      const cookieOfAda =
        (await web.send('/sign-in', { email: ada, password })).headers
          .getSetCookie()[0]
          ?.split(';')[0] ?? '';
      expect(
        (
          await web.post(
            '/confirm/passkey',
            { answer: fresh },
            { cookie: cookieOfAda, headers: same },
          )
        ).status,
      ).toBe(400);
      const changed = JSON.parse(fresh) as { response: { signature: string } };
      const signature = Buffer.from(changed.response.signature, 'base64url');
      signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
      changed.response.signature = signature.toString('base64url');
      expect(
        (await web.post('/sign-in/passkey', { answer: JSON.stringify(changed) }, { headers: same }))
          .status,
      ).toBe(400);
      expect((await web.send('/sign-in/passkey', { answer: fresh })).status).toBe(303);
      await tab.close();
    });

    test('needs scripts, and says so', async () => {
      const tab = await open({ scripts: false });
      await tab.page.goto(`${web.url}/sign-in`);
      expect(await tab.page.getByRole('main').innerText()).toContain('Passkeys need JavaScript');
      expect(await tab.page.getByRole('button', { name: 'Use a passkey' }).isVisible()).toBe(false);
      await tab.close();
    });

    test('is redirected to where it is valid, from the same machine by its number', async () => {
      const numbered = web.url.replace('localhost', '127.0.0.1');
      const tab = await openTab(browser(), numbered, { width: phone });
      await tab.page.goto(`${numbered}/sign-in`);
      expect(await tab.page.getByText('Passkeys work only at').isVisible()).toBe(false);
      await tab.page.getByRole('button', { name: 'Use a passkey' }).click();
      await expect
        .poll(() => tab.page.getByRole('link', { name: web.url }).getAttribute('href'))
        .toBe(`${web.url}/sign-in?next=%2F`);
      expect(await overflow(tab.page)).toBe(0);
      await tab.close();
    });
  });
});

/** The second step of signing in, as people meet it. */
describe('second factor', () => {
  const cookieFor = async (email: string): Promise<string> =>
    (await web.send('/sign-in', { email, password })).headers.getSetCookie()[0]?.split(';')[0] ??
    '';

  const acts = ['/profile/two-step/set-up', '/profile/two-step/codes', '/profile/two-step/off'];

  describe('the pages of the second step', () => {
    test('ask for the password first when that was entered a while ago, and lead back to the page before', async () => {
      const email = await newPerson();
      const cookie = await cookieFor(email);
      await web.sql`update sessions set proven_at = ${new Date(time.now - 16 * 60_000)} where user_id = (select id from users where email = ${email})`;
      for (const path of acts) {
        const to = `/confirm?next=${encodeURIComponent(path)}`;
        expect((await web.get(path, { cookie })).headers.get('location')).toBe(to);
        expect(
          (
            await web.post(path, { code: '000000', secret: 'x' }, { cookie, headers: same })
          ).headers.get('location'),
        ).toBe(to);
      }
      const confirmed = await web.post(
        '/confirm',
        { next: acts[0] ?? '', password },
        { cookie, headers: same },
      );
      expect(confirmed.headers.get('location')).toBe(acts[0]);
      expect((await web.get(acts[0] ?? '', { cookie })).status).toBe(200);
    });

    test('lead from what does not fit to what does', async () => {
      const cookie = await cookieFor(await newPerson());
      expect((await web.get('/profile/two-step', { cookie })).headers.get('location')).toBe(
        '/profile/two-step/set-up',
      );
      expect(
        (await web.post('/profile/two-step/off', {}, { cookie, headers: same })).headers.get(
          'location',
        ),
      ).toBe('/profile/two-step/set-up');
      expect((await web.get('/sign-in/second-step?next=/members')).headers.get('location')).toBe(
        '/sign-in?next=%2Fmembers',
      );
      const forged = await web.post(
        '/sign-in/second-step',
        { code: '1' },
        { cookie: `second_step=${'x'.repeat(43)}`, headers: same },
      );
      expect(forged.headers.get('location')).toContain('/sign-in');
      expect(forged.headers.getSetCookie().join()).toContain('second_step=; Path=/; Max-Age=0');
    });

    test('are not cached while they show a secret', async () => {
      const cookie = await cookieFor(await newPerson());
      const { text, headers } = await web.get('/profile/two-step/set-up', { cookie });
      expect(headers.get('cache-control')).toBe('no-store');
      const [, secret = ''] = /name="secret" value="([A-Z2-7]{32})"/.exec(text) ?? [];
      const made = await web.post(
        '/profile/two-step/set-up',
        { secret, code: codeOf(secret, stepAt(time.now)) },
        { cookie, headers: same },
      );
      expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect((await web.get('/profile/two-step', { cookie })).text).not.toContain(secret);
    });
  });

  describeInBrowser('the second step', (browser) => {
    /**
     * The page's script asks whether the service is there before a form leaves, so that the answer
     * comes a moment after the click.
     */
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
    const type = async (
      { page }: Tab,
      label: string,
      code: string,
      verb: string,
    ): Promise<void> => {
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
        await page.getByRole('img', { name: 'The secret below, as a QR code' }).waitFor();
        const secret = (await page.locator('#totp-secret').innerText()).replaceAll(' ', '');
        await type(tab, 'Code', '12', 'Turn on');
        expect(await page.getByRole('alert').innerText()).toContain('clock of your phone');
        expect((await page.locator('#totp-secret').innerText()).replaceAll(' ', '')).toBe(secret);
        await type(tab, 'Code', now(secret), 'Turn on');
        const codes = (await page.locator('#recovery-codes').innerText()).split('\n');
        expect(codes).toHaveLength(10);
        if (scripts) expect(await barriers(page)).toEqual([]);
        await page.getByRole('link', { name: 'Done' }).click();
        expect(await page.getByRole('main').innerText()).toContain('10 recovery codes are left');

        await page.context().clearCookies();
        await signIn(tab, email);
        expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(
          'Two-step verification',
        );
        if (scripts) expect(await barriers(page)).toEqual([]);
        await type(tab, 'Code', now(secret), 'Sign in');
        expect(await page.locator('.field-fault').innerText()).toContain('used already');
        time.now += 30_000;
        await type(tab, 'Code', now(secret), 'Sign in');
        await page.waitForURL('**/profile');

        await page.context().clearCookies();
        await signIn(tab, email);
        await page.getByRole('link', { name: 'Use a recovery code' }).click();
        await type(tab, 'Recovery code', codes[3] ?? '', 'Sign in');
        await page.waitForURL('**/profile');
        expect(await page.getByRole('status').innerText()).toContain('9 recovery codes are left');

        await page
          .getByRole('listitem')
          .or(page.locator('.setting'))
          .getByRole('link', { name: 'Change' })
          .last()
          .click();
        await page.getByRole('link', { name: 'Turn off' }).click();
        await page.getByRole('button', { name: 'Turn off' }).click();
        expect(await page.getByRole('status').innerText()).toContain(
          'Two-step verification is off',
        );
        // A code that was wrong is answered 400, which the browser's console counts among the
        // faults.
        expect(tab.complaints.filter((each) => !each.includes('status of 400'))).toEqual([]);
        await tab.close();
      });

    test('fits a phone while it is passed, also for a name of any length', async () => {
      const email = `${'long'.repeat(14)}-${newId().slice(0, 4)}@${'x'.repeat(60)}.example`;
      await web.gate.execute(
        createUser,
        inPerson(web.house.owner.caller),
        rawInput(createUser, { email, password, role: 'owner' }),
      );
      const tab = await openTab(browser(), web.url, { width: phone, scheme: 'dark' });
      await signIn(tab, email);
      await tab.page.goto(`${web.url}/profile/two-step/set-up`);
      expect(await overflow(tab.page)).toBe(0);
      const secret = (await tab.page.locator('#totp-secret').innerText()).replaceAll(' ', '');
      await type(tab, 'Code', codeOf(secret, stepAt(time.now)), 'Turn on');
      expect([await overflow(tab.page), await barriers(tab.page)]).toEqual([0, []]);
      await tab.page.context().clearCookies();
      await signIn(tab, email);
      expect([await overflow(tab.page), await barriers(tab.page)]).toEqual([0, []]);
      await tab.close();
    });
  });
});
