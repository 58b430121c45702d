import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMailer } from '../../coordinator/account-mail/mail-sending.ts';
import type { MailTemplate } from '../../coordinator/account-mail/sender.ts';
import { newId } from '../../shared/base/crypto.ts';
import { systemClock } from '../../shared/base/time.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { testLog } from '../support/network.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/**
 * Five people run their whole account by its pages alone: from signing up to the end of the
 * organisation, and back.
 */

type Filled = {
  readonly fill?: Readonly<Record<string, string>>;
  readonly choose?: Readonly<Record<string, string>>;
  readonly press: string;
};

describeInBrowser('five people', (browser) => {
  let web: TestWeb;
  const letters: MailTemplate[] = [];
  const tabs: Tab[] = [];
  beforeAll(async () => {
    web = await startWeb({
      host: 'localhost',
      door: { signUp: 'open', signUpPlan: 'team', mail: true },
    });
  });
  afterAll(() => web.close());

  /** The link of a kind in the newest mail to somebody. */
  const linkTo = async (to: string, kind: 'finish' | 'join'): Promise<string> => {
    await createMailer({
      place: newId(),
      sql: web.sql,
      clock: systemClock,
      log: testLog(),
      accountSecrets: web.accountSecrets,
      baseUrl: () => web.url,
      sender: { send: async (letter) => void letters.push(letter), close: () => undefined },
    }).tick();
    const text = letters.findLast((letter) => letter.to === to)?.text ?? '';
    const [link] = new RegExp(`http\\S+/${kind}/\\S+`).exec(text) ?? [];
    if (link === undefined) throw new Error(`no ${kind} link came to ${to}`);
    return link;
  };

  const goTo = (page: Page, path: string): Promise<unknown> =>
    page.goto(path.startsWith('http') ? path : `${web.url}${path}`);

  /**
   * Does what leads to another document, and waits for that one: the one before must be whole, or
   * its own end would be taken for it.
   */
  const byClick = async (page: Page, what: Locator): Promise<void> => {
    await page.waitForLoadState('domcontentloaded');
    const answered = page.waitForEvent('domcontentloaded');
    await what.click();
    await answered;
  };

  /**
   * Fills in the form that is there, and sends it; waits for the answer, whose document is another.
   */
  const send = async (page: Page, { fill = {}, choose = {}, press }: Filled): Promise<void> => {
    for (const [name, value] of Object.entries(fill))
      await page.locator(`main [name="${name}"]`).fill(value);
    for (const [name, value] of Object.entries(choose))
      await page.locator(`main input[name="${name}"][value="${value}"]`).check();
    await byClick(page, page.locator('main').getByRole('button', { name: press, exact: true }));
  };
  const sendAt = async (page: Page, path: string, form: Filled): Promise<void> => {
    await goTo(page, path);
    await send(page, form);
  };
  const sentence = (page: Page): Promise<string> => page.locator('h1').innerText();
  const saidOn = (page: Page): Promise<string> => page.locator('#said').innerText();
  const text = (page: Page): Promise<string> => page.locator('body').innerText();

  const arrive = async (): Promise<Page> => {
    const tab = await openTab(browser(), web.url);
    tabs.push(tab);
    return tab.page;
  };
  const account = (name: string) => ({
    name,
    email: `${name.toLowerCase()}@shop.example`,
    password: `the password of ${name}`,
  });

  /** Follows an invitation to an account of one's own. */
  const join = async (name: string): Promise<Page> => {
    const page = await arrive();
    const { email } = account(name);
    await goTo(page, await linkTo(email, 'join'));
    expect(await sentence(page)).toBe('Join Corner shop');
    const { password } = account(name);
    await send(page, { fill: { name, password }, press: 'Join' });
    expect(await text(page)).toContain('You joined Corner shop.');
    return page;
  };

  const invite = async (by: Page, name: string, role: string): Promise<void> => {
    await sendAt(by, '/members/invite', {
      fill: { email: account(name).email },
      choose: { role },
      press: 'Send invitation',
    });
    expect(await saidOn(by)).toContain(`Invitation sent to ${account(name).email}`);
  };
  /** Somebody's row among the members. */
  const rowOf = async (by: Page, name: string) => {
    await goTo(by, '/members');
    return by.locator('tr', { hasText: account(name).email });
  };

  test('run an organisation by its pages, part from it, and end it, and have it back', async () => {
    const owner = await arrive();
    await sendAt(owner, '/sign-up', {
      fill: { ...account('Olga'), organisation: 'Corner shop' },
      press: 'Sign up',
    });
    await goTo(owner, await linkTo(account('Olga').email, 'finish'));
    await send(owner, { fill: { password: account('Olga').password }, press: 'Create account' });
    await invite(owner, 'Adam', 'admin');
    const admin = await join('Adam');
    await invite(admin, 'Mia', 'member');
    await invite(admin, 'Vera', 'viewer');
    await invite(admin, 'Nick', 'viewer');
    const [member, viewer, fifth] = [await join('Mia'), await join('Vera'), await join('Nick')];
    await goTo(owner, '/members');
    expect(await sentence(owner)).toBe('5 members of Corner shop');

    // Each makes what they may.
    await sendAt(member, '/monitors/new?type=heartbeat', {
      fill: { name: 'Nightly backup' },
      press: 'Create monitor',
    });
    expect(await sentence(member)).toContain('Nightly backup');
    await sendAt(member, '/groups/new', { fill: { name: 'Night' }, press: 'Create group' });
    expect(await sentence(member)).toContain('Night');
    await sendAt(
      member,
      `/maintenance/new?when=now&group=${new URL(member.url()).pathname.split('/').at(-1)}`,
      {
        fill: { name: 'New disks' },
        press: 'Start now',
      },
    );
    expect(await text(member)).toContain('New disks');
    await sendAt(member, '/tokens/new', {
      fill: { name: 'Deployments' },
      choose: { scope: 'read' },
      press: 'Create token',
    });
    expect(await text(member)).toMatch(/svc_\w{20}/);
    await sendAt(admin, '/alerts/new?kind=webhook', {
      fill: { 'config.url': 'https://hooks.shop.example/' },
      press: 'Create channel',
    });
    expect(await sentence(admin)).toBe('Channel created');
    await sendAt(admin, '/status-pages/new', {
      fill: { name: 'Shop status', slug: 'corner-shop' },
      press: 'Create page',
    });
    expect(await saidOn(admin)).toContain('Shop status created');

    // The viewer sees all of it, and changes nothing.
    for (const [path, seen] of [
      ['/', 'Nightly backup'],
      ['/groups', 'Night'],
      ['/maintenance', 'New disks'],
      ['/status-pages', 'Shop status'],
    ] as const) {
      await goTo(viewer, path);
      expect(await text(viewer)).toContain(seen);
      expect(await viewer.locator('main .button-main').count()).toBe(0);
    }
    for (const path of [
      '/monitors/new',
      '/maintenance/new',
      '/status-pages/new',
      '/organisation/delete',
      '/audit',
    ]) {
      await goTo(viewer, path);
      expect([path, await sentence(viewer)]).toEqual([path, 'Not allowed for your role']);
    }

    // Roles change at once; one leaves, and one is taken out.
    const nick = await rowOf(admin, 'Nick');
    await nick.getByRole('button', { name: 'More' }).click();
    await byClick(admin, nick.getByRole('link', { name: 'Change role' }));
    await send(admin, { choose: { role: 'member' }, press: 'Save' });
    await goTo(fifth, '/monitors/new');
    expect(await sentence(fifth)).toBe('New monitor');
    await goTo(fifth, '/members');
    await fifth.getByRole('button', { name: 'More actions' }).click();
    await byClick(fifth, fifth.getByRole('link', { name: 'Leave organisation' }));
    await send(fifth, { press: 'Leave organisation' });
    expect(await saidOn(fifth)).toBe('You left Corner shop.');
    const mia = await rowOf(owner, 'Mia');
    await mia.getByRole('button', { name: 'More' }).click();
    await byClick(owner, mia.getByRole('link', { name: 'Remove' }));
    await send(owner, { press: 'Remove member' });
    expect(await sentence(owner)).toBe('3 members of Corner shop');
    for (const page of [fifth, member]) {
      await goTo(page, '/');
      expect(await sentence(page)).toBe('No organisation yet');
    }

    // The end, which everybody sees on every page, and only an owner undoes.
    await goTo(owner, '/organisation');
    await byClick(owner, owner.getByRole('link', { name: 'Delete' }));
    await send(owner, { fill: { name: 'The shop' }, press: 'Delete in seven days' });
    expect(await text(owner)).toContain('The name does not match');
    await send(owner, { fill: { name: 'Corner shop' }, press: 'Delete in seven days' });
    for (const [page, path] of [
      [owner, '/'],
      [admin, '/members'],
      [viewer, '/incidents'],
    ] as const) {
      await goTo(page, path);
      expect(await page.locator('#ending').innerText()).toContain('Corner shop will be deleted on');
      expect(await page.getByRole('button', { name: 'Undo deletion' }).count()).toBe(
        page === owner ? 1 : 0,
      );
    }
    await goTo(admin, '/monitors/new');
    expect(await text(admin)).toContain('nothing in it can be changed');
    await send(owner, { press: 'Undo deletion' });
    expect(await saidOn(owner)).toContain(
      'Corner shop is no longer being deleted. One monitor resumed.',
    );
    await goTo(viewer, '/');
    expect(await viewer.locator('#ending').count()).toBe(0);
    expect(
      letters.filter(({ to }) => to === account('Olga').email).map(({ subject }) => subject),
    ).toHaveLength(1);
    // What was refused is told by its status, too; what was left before it was whole may say so.
    for (const { complaints } of tabs)
      expect(complaints.filter((each) => /^fault|policy/i.test(each))).toEqual([]);
    for (const tab of tabs) await tab.close();
  });
});
