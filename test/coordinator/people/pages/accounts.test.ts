import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMailer } from '../../../../coordinator/account-mail/mail-sending.ts';
import { createMailSender, type MailSender } from '../../../../coordinator/account-mail/sender.ts';
import type { Sending } from '../../../../coordinator/deliveries/sending.ts';
import { createUser } from '../../../../coordinator/organisations/contract.ts';
import { inviteMember } from '../../../../shared/api/members.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { createLog } from '../../../../shared/base/log.ts';
import { systemClock } from '../../../../shared/base/time.ts';
import { barriers, openTab, overflow, phone } from '../../../support/browser.ts';
import { describeInBrowser } from '../../../support/in-browser.ts';
import { inPerson } from '../../../support/people.ts';
import { type Mailbox, openMailbox } from '../../../support/receivers.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/**
 * Two installations: one that sends mail, where anybody may sign up, and one as `npm start` makes
 * it.
 */
let open: TestWeb;
let small: TestWeb;
let mailbox: Mailbox;
let sender: MailSender;
let mailer: Sending;
const password = 'correct horse';
const same = { 'sec-fetch-site': 'same-origin' };

beforeAll(async () => {
  mailbox = await openMailbox();
  sender = createMailSender({ url: mailbox.url, from: 'Antipode <antipode@antipode.test>' });
  open = await startWeb({ door: { signUp: 'open', signUpPlan: 'team', mail: true } });
  small = await startWeb();
  const { sql, accountSecrets, url } = open;
  mailer = createMailer({
    place: newId(),
    sql,
    clock: systemClock,
    log: createLog({ name: 't', level: 'silent' }),
    sender,
    accountSecrets,
    baseUrl: () => url,
  });
});
afterAll(async () => {
  sender.close();
  await mailbox.close();
  await open.close();
  await small.close();
});

const fresh = (): string => `ada-${newId()}@shop.example`;
/** The address that the newest mail to somebody names below a folder. */
const mailed = async (email: string, folder: string): Promise<string> => {
  await mailer.tick();
  const { text } = await mailbox.newestTo(email);
  const [address = ''] = new RegExp(`http://[\\w.:]+/${folder}/[\\w-]{43}`).exec(text) ?? [];
  return address;
};
const person = async (web: TestWeb): Promise<string> => {
  const email = fresh();
  await web.gate.execute(
    createUser,
    inPerson(web.house.owner.caller),
    rawInput(createUser, { email, password, role: 'owner' }),
  );
  return email;
};
const cookieFor = async (web: TestWeb, email: string, secret = password): Promise<string> => {
  const { headers } = await web.send('/sign-in', { email, password: secret });
  return headers.getSetCookie()[0]?.split(';')[0] ?? '';
};

describe('without mail', () => {
  test('sign-up says what is needed, and a forgotten password names the operator’s command', async () => {
    expect((await small.get('/sign-up')).text).toContain('You need an invitation');
    expect((await small.get('/forgot')).text).toContain(
      'user sign-in-link \\\n  --email you@example.org',
    );
  });
});

describe('links of mails', () => {
  test('that are invalid say so, all in the same words', async () => {
    const texts = new Set<string>();
    for (const folder of ['finish', 'reset', 'keep', 'join']) {
      const { status, text, headers } = await open.get(`/${folder}/${'x'.repeat(43)}`);
      expect([folder, status, headers.get('cache-control')]).toEqual([folder, 404, 'no-store']);
      texts.add(/<main[\s\S]*<\/main>/.exec(text)?.[0] ?? '');
    }
    expect(texts.size).toBe(1);
  });
});

describe('sensitive pages', () => {
  test('ask for the password first, when that was entered a while ago', async () => {
    const email = await person(small);
    const cookie = await cookieFor(small, email);
    await small.sql`update sessions set proven_at = now() - interval '16 minutes' where user_id = (select id from users where email = ${email})`;
    for (const path of ['/profile/email', '/profile/password', '/members/invite', '/tokens/new']) {
      const to = `/confirm?next=${encodeURIComponent(path)}`;
      expect((await small.get(path, { cookie })).headers.get('location')).toBe(to);
      expect(
        (
          await small.post(
            path,
            { email: fresh(), role: 'member', password: 'x' },
            { cookie, headers: same },
          )
        ).headers.get('location'),
      ).toBe(to);
    }
    expect((await small.get('/profile/name', { cookie })).status).toBe(200);
  });
});

test('another user’s session cannot be ended, nor another organisation’s invitation be revoked', async () => {
  const [mine, other] = [await person(small), await person(small)];
  const cookie = await cookieFor(small, mine);
  const theirs = await cookieFor(small, other);
  const [row] = await small.sql<
    { id: string }[]
  >`select s.id from sessions s join users u on u.id = s.user_id where u.email = ${other}`;
  expect(
    (await small.post(`/profile/sessions/${row?.id}/end`, {}, { cookie, headers: same })).status,
  ).toBe(404);
  expect((await small.get('/profile', { cookie: theirs })).status).toBe(200);
});

describeInBrowser('people', (browser) => {
  const fill = async (
    page: Awaited<ReturnType<typeof openTab>>['page'],
    values: Readonly<Record<string, string>>,
  ): Promise<void> => {
    for (const [label, value] of Object.entries(values))
      await page.getByLabel(label, { exact: true }).fill(value);
  };

  for (const scripts of [true, false])
    describe(scripts ? 'with scripts' : 'without scripts', () => {
      test('sign up, prove their address, and own an organisation', async () => {
        const email = fresh();
        const look = { scripts, zone: 'Europe/Berlin' };
        const { page, close } = await openTab(browser(), open.url, look);
        await page.goto(`${open.url}/sign-in`);
        await page.getByRole('link', { name: 'Sign up' }).click();
        const zone = page.getByLabel('Time zone');
        await expect.poll(() => zone.inputValue()).toBe(scripts ? 'Europe/Berlin' : 'UTC');
        await fill(page, {
          'Your name': 'Ada',
          'E-mail': email,
          Password: 'short',
          Organisation: 'Engines',
        });
        await zone.selectOption('Europe/London');
        await page.getByRole('button', { name: 'Sign up' }).click();
        await page
          .locator('.field-fault')
          .getByText('Password must have at least 10 characters')
          .waitFor();
        await fill(page, { Password: password });
        await page.getByRole('button', { name: 'Sign up' }).click();
        await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
        await page.goto(await mailed(email, 'finish'));
        await page.getByText('Engines').waitFor();
        await fill(page, { Password: password });
        await page.getByRole('button', { name: 'Create account' }).click();
        await page.waitForURL(`${open.url}/`);
        await page.getByText('Engines').first().waitFor();
        await close();
      });

      test('choose a new password by a mail, are in by it, and sign in with it later', async () => {
        const email = await person(open);
        const { page, close } = await openTab(browser(), open.url, { scripts });
        await page.goto(`${open.url}/sign-in`);
        await page.getByRole('link', { name: 'Forgot your password?' }).click();
        await fill(page, { 'E-mail': email });
        await page.getByRole('button', { name: 'Send link' }).click();
        await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
        await page.goto(await mailed(email, 'reset'));
        await fill(page, { 'New password': 'battery staple' });
        await page.getByRole('button', { name: 'Change password' }).click();
        await page.getByText('You are signed in.').waitFor();
        await page.context().clearCookies();
        await page.goto(`${open.url}/sign-in`);
        await fill(page, { 'E-mail': email, Password: 'battery staple' });
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.waitForURL(`${open.url}/`);
        await close();
      });

      test('change name, address and password, and see where they are signed in', async () => {
        const [email, wanted] = [await person(open), fresh()];
        const elsewhere = await cookieFor(open, email);
        const { page, close } = await openTab(browser(), open.url, {
          scripts,
          cookie: await cookieFor(open, email),
        });
        await page.goto(`${open.url}/profile`);
        await page.locator('a[href="/profile/name"]').click();
        await fill(page, { Name: 'Ada Lovelace' });
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor();
        await page.goto(`${open.url}/profile/email`);
        await fill(page, { 'E-mail': wanted });
        await page.getByRole('button', { name: 'Send link' }).click();
        await page.getByText(`We sent a link to ${wanted}`).waitFor();
        await page.goto(await mailed(wanted, 'verify'));
        await page.getByRole('button', { name: 'Confirm address' }).click();
        await page.waitForURL(`${open.url}/profile`);
        await page.locator('#said').getByText(wanted).waitFor();
        await page.goto(`${open.url}/profile/sessions`);
        await page.getByRole('heading', { name: 'You are signed in on 2 browsers' }).waitFor();
        await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
        await page
          .getByRole('heading', { name: 'You are signed in on this browser only' })
          .waitFor();
        expect((await open.get('/profile', { cookie: elsewhere })).status).toBe(303);
        await page.goto(`${open.url}/profile/password`);
        await fill(page, { 'New password': 'battery staple' });
        await page.getByRole('button', { name: 'Change password' }).click();
        await page.waitForURL(`${open.url}/profile`);
        expect(await cookieFor(open, wanted, 'battery staple')).toContain('svc_session=');
        await close();
      });

      test('invite others by a link that is shown; who follows it makes an account and is in', async () => {
        const { page, close } = await openTab(browser(), small.url, {
          scripts,
          cookie: await cookieFor(small, await person(small)),
        });
        await page.goto(`${small.url}/members`);
        await page.getByRole('link', { name: 'Invite member' }).click();
        const email = fresh();
        await fill(page, { 'E-mail': email });
        await page.getByLabel('Viewer').check();
        await page.getByRole('button', { name: 'Send invitation' }).click();
        const address = (await page.locator('.copyable code').textContent()) ?? '';
        await page.goto(`${small.url}/members`);
        await page.getByRole('cell', { name: email, exact: true }).waitFor();
        await close();
        const guest = await openTab(browser(), small.url, { scripts });
        await guest.page.goto(address);
        await guest.page.getByText(email).waitFor();
        await fill(guest.page, { 'Your name': 'Bo', Password: password });
        await guest.page.getByRole('button', { name: 'Join' }).click();
        await guest.page.waitForURL(`${small.url}/`);
        await guest.page.getByText(small.house.name).first().waitFor();
        await guest.close();
      });

      test('with an account join by an invitation, and switch between organisations', async () => {
        const operation = inviteMember;
        const { body } = await small.gate.execute(
          operation,
          small.house.owner.caller,
          rawInput(operation, { email: fresh(), role: 'member' }),
        );
        const email = await person(small);
        await small.sql`delete from memberships where user_id = (select id from users where email = ${email})`;
        const { page, close } = await openTab(browser(), small.url, { scripts });
        await page.goto((body as { address: string }).address);
        await page.getByRole('link', { name: 'Sign in instead' }).click();
        await fill(page, { 'E-mail': email, Password: password });
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('button', { name: `Join as ${email}` }).click();
        await page.waitForURL(`${small.url}/`);
        await small.sql`with other as (insert into organisations (id, name, plan, time_zone) values (${newId()}, 'Side project', 'team', 'UTC') returning id)
          insert into memberships (organisation_id, user_id, role) select other.id, u.id, 'owner' from other, users u where u.email = ${email}`;
        await page.goto(`${small.url}/organisations`);
        await page.getByRole('button', { name: 'Switch to Side project' }).click();
        await page.waitForURL(`${small.url}/`);
        await page.locator('.account').getByText('Side project').waitFor();
        await close();
      });
    });

  /** Their other pages are among those that `test/pages` looks at. */
  test('find nothing in their way where a link led them, light or dark, narrow or wide', async () => {
    const operation = inviteMember;
    const { body } = await small.gate.execute(
      operation,
      small.house.owner.caller,
      rawInput(operation, { email: fresh(), role: 'member' }),
    );
    const join = new URL((body as { address: string }).address).pathname;
    for (const scheme of ['light', 'dark'] as const)
      for (const width of [phone, 1280]) {
        const nobody = await openTab(browser(), small.url, { scheme, width });
        const anyone = await openTab(browser(), open.url, { scheme, width });
        const looks = [
          ...[join, `/reset/${'x'.repeat(43)}`].map((path) => ({
            page: nobody.page,
            url: `${small.url}${path}`,
          })),
          ...['/sign-in', '/sign-up', '/forgot'].map((path) => ({
            page: anyone.page,
            url: `${open.url}${path}`,
          })),
        ];
        for (const { page, url } of looks) {
          await page.goto(url);
          expect([url, scheme, width, await barriers(page), await overflow(page)]).toEqual([
            url,
            scheme,
            width,
            [],
            0,
          ]);
        }
        for (const { close } of [nobody, anyone]) await close();
      }
  });
});
