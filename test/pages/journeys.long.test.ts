import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMailer } from '../../coordinator/account-mail/mail-sending.ts';
import type { MailTemplate } from '../../coordinator/account-mail/sender.ts';
import type { App } from '../../coordinator/app.ts';
import { createSignInLink } from '../../coordinator/people/contract.ts';
import { notifySubscribers } from '../../coordinator/status-pages/public/subscribing.ts';
import { type OutputOf, rawInput } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { systemClock } from '../../shared/base/time.ts';
import { openTab, phone, type Tab } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { createNetwork, type Network, testLog } from '../support/network.ts';
import { openReceiver, type Receiver, says } from '../support/receivers.ts';
import { rowsFor } from '../support/rows.ts';
import { broken, fine, type Target } from '../support/targets.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/**
 * Twelve journeys through the pages, each as a person makes it, by what can be read. What made
 * somebody stumble there once is what they look for.
 */

const shown = (page: Page, words: string | RegExp): Promise<void> =>
  page.getByText(words).filter({ visible: true }).first().waitFor();
const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();
const follow = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('link', { name, exact: true }).first().click();
const headline = (page: Page): Promise<string> =>
  page.getByRole('heading', { level: 1 }).innerText();
/** Whether it is on the screen without scrolling further. */
const isInSight = (page: Page, selector: string): Promise<unknown> =>
  page.evaluate(`(() => {
    const { top, bottom } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  })()`);

describeInBrowser('journeys from nothing, over probes that really look', (browser) => {
  let network: Network;
  let app: App & { readonly url: string };
  let target: Target;
  let receiver: Receiver;
  let tab: Tab;
  let page: Page;
  beforeAll(async () => {
    network = await createNetwork();
    app = await network.startCoordinator();
    await network.addProbes('Asia', 'Europe', 'North America');
    target = await network.startTarget();
    receiver = await openReceiver();
    receiver.answer(says(200));
    const link = createSignInLink;
    const { body } = await app.gate.executeForInstallation(
      link,
      rawInput(link, { email: network.house.owner.email }),
    );
    // The gate's handlers are typed by their operations; a table of unlike operations cannot say
    // so.
    const { address } = body as OutputOf<typeof link>;
    tab = await openTab(browser(), app.url);
    page = tab.page;
    page.setDefaultTimeout(8_000);
    await page.goto(`${app.url}${new URL(address).pathname}`);
    await page.waitForURL(`${app.url}/`);
  });
  afterAll(async () => {
    await tab.close();
    await receiver.close();
    await network.close();
  });

  test('1: the first monitor is tested by its first press, with the result in sight', async () => {
    await page.getByLabel('Address', { exact: true }).fill(target.url('/checkout'));
    await press(page, 'Test');
    await shown(page, /^All three checks passed\./);
    await expect.poll(() => isInSight(page, '.trial-verdict'), { timeout: 2_000 }).toBe(true);
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe(
      target.url('/checkout'),
    );
    await press(page, 'Create monitor');
    await shown(page, 'Monitor created.');
    await expect.poll(() => headline(page), { timeout: 15_000 }).toContain('has been up');
  });

  test('3: a channel keeps its ticks through a test, shows its result in sight, and is saved by Enter', async () => {
    await page.goto(app.url);
    await shown(page, 'No alert can be delivered');
    await follow(page, 'Alerts');
    await follow(page, 'another kind');
    await page.getByRole('link', { name: /ntfy/ }).first().click();
    await page.getByLabel('Server').fill(receiver.url);
    await page.getByLabel('Topic').fill('ops');
    await page.getByLabel('Selected groups and monitors').check();
    const box = page.getByRole('checkbox', { name: /127/ });
    await box.check();
    await press(page, 'Send a test');
    await page.locator('#trial').waitFor();
    await expect.poll(() => isInSight(page, '#trial'), { timeout: 2_000 }).toBe(true);
    expect(await box.isChecked()).toBe(true);
    expect(receiver.got).toHaveLength(1);
    await page.getByLabel('Topic').press('Enter');
    await page.waitForURL((url) => /^\/alerts\/[0-9a-f-]{36}$/.test(url.pathname));
    expect(receiver.got).toHaveLength(1);
    await page.goto(app.url);
    await page.locator('#failing').waitFor();
    expect(await page.getByText('No alert can be delivered').count()).toBe(0);
  });

  test('2: an outage appears on the open dashboard, is notified, and its owner is named until it ends', async () => {
    await page.goto(app.url);
    target.answer(broken);
    const strip = page.locator('#failing');
    await expect
      .poll(() => strip.innerText(), { timeout: 90_000, interval: 250 })
      .toContain('127.0.0.1');
    await expect.poll(() => headline(page), { timeout: 30_000 }).toContain('down');
    expect(await isInSight(page, '#failing')).toBe(true);
    await expect.poll(() => receiver.got.length, { timeout: 15_000 }).toBe(2);
    await follow(page, /^Incidents/);
    await page.locator('main tbody').getByRole('link').first().click();
    await press(page, 'Acknowledge');
    await shown(page, 'Acknowledged by');
    const owner = network.house.owner.email;
    expect(await page.locator('#owner').innerText()).toContain(owner);
    const incident = page.url();
    await page.goto(app.url);
    expect(await strip.innerText()).toContain(`${owner} has it`);
    await page.goto(`${app.url}/incidents`);
    expect(await page.locator('main tbody').innerText()).toContain(owner);
    await page.goto(incident);
    target.answer(fine);
    await expect.poll(() => headline(page), { timeout: 90_000 }).toMatch(/was down/);
  }, 240_000);

  test('6: an invitation by link asks for no password, and one by mail for no address', async () => {
    await page.goto(app.url);
    await follow(page, 'Members');
    await follow(page, /Invite/);
    await expect.poll(() => headline(page)).toContain('Invite a member');
    await page.getByLabel('E-mail').fill('vera@shop.example');
    await page.getByRole('radio', { name: /Viewer/i }).check();
    await press(page, 'Send invitation');
    await expect.poll(() => headline(page)).toBe('Invitation created');
    const link = await page.locator('.copyable code').innerText();
    const guest = await openTab(browser(), app.url);
    await guest.page.goto(link);
    await shown(guest.page, 'vera@shop.example');
    await guest.page.getByLabel('Your name').fill('Vera');
    await guest.page.getByLabel('Password').fill('the password of Vera');
    await press(guest.page, 'Join');
    await guest.page.getByRole('link', { name: /127/ }).first().waitFor();
    await guest.close();
  });

  test('7: a token is created without another password, with lines to copy', async () => {
    await page.goto(app.url);
    await follow(page, 'API & assistants');
    await follow(page, /New token/);
    await page.getByLabel('Name').fill('Deployments');
    await press(page, 'Create token');
    await expect.poll(() => headline(page)).toBe('Copy your token now');
    await shown(page, /^curl -H 'Authorization: Bearer svc_/);
    await follow(page, 'Done');
    await shown(page, 'Deployments');
  });

  test('8: assistants stand in the navigation, with the line for each client', async () => {
    await page.goto(app.url);
    await follow(page, 'API & assistants');
    const text = await page.locator('main').innerText();
    for (const client of ['Claude', 'ChatGPT', 'VS Code', 'Cursor']) expect(text).toContain(client);
    expect(await page.locator('main').textContent()).toContain(`${app.url}/mcp`);
    expect(tab.complaints.filter((each) => /^fault|policy/i.test(each))).toEqual([]);
  });

  test('11: a heartbeat is created with its address and cron line in sight, which stay', async () => {
    await page.goto(`${app.url}/monitors/new`);
    await follow(page, 'Heartbeat');
    await page.getByLabel(/^Name/).fill('Backup');
    await press(page, 'Create monitor');
    await shown(page, /^Monitor created\. Backup waits for its first ping/);
    const part = page.locator('#address');
    const address = await part.locator('code').first().innerText();
    const line = `your-job; curl -fsS -m 10 --retry 5 -o /dev/null ${address}/$?`;
    expect(address).toContain(`${app.url}/beat/`);
    const areInSight = async (): Promise<readonly boolean[]> => [
      await part.getByText(line).isVisible(),
      await part.getByRole('button', { name: 'Copy' }).first().isVisible(),
      await part.getByRole('button', { name: 'Copy' }).nth(1).isVisible(),
    ];
    expect(await areInSight()).toEqual([true, true, true]);
    expect((await fetch(address)).status).toBe(200);
    await expect.poll(() => headline(page), { timeout: 15_000 }).toContain('Backup has been up');
    expect(await areInSight()).toEqual([true, true, true]);
    await page.reload();
    expect(await areInSight()).toEqual([true, true, true]);
  });
});

describeInBrowser('journeys of a team that has been at it for long', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  let receiver: Receiver;
  const letters: MailTemplate[] = [];
  beforeAll(async () => {
    web = await startWeb({
      host: 'localhost',
      door: { signUp: 'open', signUpPlan: 'team', mail: true },
    });
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
    await web.sql`delete from channels where name = 'Pager'`;
    receiver = await openReceiver();
    // As many as make a list long.
    const paused = Array.from({ length: 260 }, (_, index) => ({
      id: newId(),
      organisation_id: web.house.organisation,
      partition: 0,
      name: `Branch ${index + 1}`,
      type: 'https',
      target: `https://branch-${index + 1}.shop.example/`,
      interval_s: 60,
      enabled: false,
      paused_at: Date.now(),
    }));
    await web.sql`insert into monitors ${rowsFor(web.sql, 'monitors', paused)}`;
  });
  afterAll(async () => {
    await receiver.close();
    await web.close();
  });

  const open = async (width?: number): Promise<Tab> => {
    const cookie = await web.cookieOf('owner');
    const tab = await openTab(browser(), web.url, {
      cookie,
      ...(width === undefined ? {} : { width, height: 664 }),
    });
    tab.page.setDefaultTimeout(10_000);
    await tab.page.goto(web.url);
    return tab;
  };
  const close = async (tab: Tab): Promise<void> => {
    expect(tab.complaints).toEqual([]);
    await tab.close();
  };

  test('4: a status page takes its names from the monitors and one Save, and a new subscriber gets no old news', async () => {
    const tab = await open();
    const { page } = tab;
    await follow(page, 'Status pages');
    await follow(page, /New status page|New page/);
    await page.getByLabel('Name').fill('Harbour');
    await page.getByLabel('Address').fill('harbour');
    await press(page, 'Create page');
    await shown(page, /Harbour created/);
    await page.getByLabel('In', { exact: true }).selectOption({ label: 'Group: Shop' });
    await press(page, /^Add all/);
    expect(await page.getByLabel('Public name of Checkout').inputValue()).toBe('Checkout');
    expect(await page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(1);
    await press(page, 'Save');
    await shown(page, /^Saved\./);
    expect(await page.getByText(/wait for names?/).count()).toBe(0);

    const visitor = await openTab(browser(), web.url);
    await visitor.page.goto(`${web.url}/status/harbour`);
    await shown(visitor.page, 'Checkout');
    await visitor.page.getByLabel('Your e-mail address').fill('ada@reader.example');
    await visitor.page.getByRole('button', { name: 'Subscribe' }).first().click();
    await shown(visitor.page, 'Check your inbox');
    const mail = () =>
      createMailer({
        place: newId(),
        sql: web.sql,
        clock: systemClock,
        log: testLog(),
        accountSecrets: web.accountSecrets,
        baseUrl: () => web.url,
        sender: { send: async (letter) => void letters.push(letter), close: () => undefined },
      }).tick();
    const lettersToAda = () => letters.filter(({ to }) => to === 'ada@reader.example');
    await mail();
    const [link] = /http\S+\/confirm\/\S+/.exec(lettersToAda()[0]?.text ?? '') ?? [];
    await visitor.page.goto(link ?? 'about:blank');
    await press(visitor.page, 'Confirm subscription');
    await shown(visitor.page, 'You are subscribed');
    const tell = async (): Promise<void> => {
      await notifySubscribers(web.sql, { now: Date.now(), hasMail: true });
      await mail();
    };
    await tell();
    expect(lettersToAda()).toHaveLength(1);

    await page.goto(`${web.url}/status-pages`);
    await follow(page, 'Harbour');
    await page.getByRole('link', { name: /^Post (on|about) Checkout/ }).click();
    await page.getByRole('radio', { name: /^Identified/ }).check();
    await press(page, 'Post');
    await shown(page, /^Posted on Harbour/);
    await tell();
    expect(lettersToAda()).toHaveLength(2);
    await visitor.close();
    await close(tab);
  });

  test('5: weekly maintenance shows its times by itself, from the first chosen day on, for the group that was ticked', async () => {
    const tab = await open();
    const { page } = tab;
    await follow(page, 'Maintenance');
    await follow(page, 'Schedule maintenance');
    await page.getByLabel('Name').fill('New disks');
    await page.getByLabel('Starts').fill('2030-03-25T02:30');
    await page.getByLabel('Ends').fill('2030-03-25T03:30');
    await page.getByLabel('Repeats').selectOption('weekly');
    await page.getByRole('checkbox', { name: 'Mon', exact: true }).uncheck();
    await page.getByRole('checkbox', { name: 'Sun', exact: true }).check();
    await page.getByRole('checkbox', { name: 'Stores', exact: true }).check();
    const ahead = page.locator('#ahead');
    await expect.poll(() => ahead.innerText()).toContain('Every week on Sunday.');
    expect(await ahead.locator('tbody tr').first().innerText()).toMatch(/Sun.*31/);
    await press(page, 'Schedule');
    await expect.poll(() => headline(page)).toContain('New disks starts in');
    const covered = await web.sql<{ name: string }[]>`
      select groups.name from maintenance_choices join groups on groups.id = group_id
      join maintenance_windows on maintenance_windows.id = window_id
      where maintenance_windows.name = 'New disks'`;
    expect(covered.map(({ name }) => name)).toEqual(['Stores']);
    await close(tab);
  });

  test('9: one of 300 is found by keys, and a second search starts afresh', async () => {
    const tab = await open();
    const { page } = tab;
    const search = page.getByRole('searchbox', { name: 'Search or type a command' });
    const find = async (words: string): Promise<void> => {
      await page.keyboard.press('/');
      await search.waitFor();
      await page.keyboard.type(words);
      await expect.poll(() => search.inputValue()).toBe(words);
    };
    await find('osaka');
    await page.locator('#palette a', { hasText: 'Store Osaka' }).first().waitFor();
    await page.keyboard.press('Escape');
    await find('branch 217');
    await page.locator('#palette a', { hasText: 'Branch 217' }).first().waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => headline(page)).toContain('Branch 217');
    await close(tab);
  });

  test('10: a phone acknowledges by the link of a message, and goes on to the incident, or by its bar', async () => {
    const tab = await open(phone);
    const { page } = tab;
    const isTouchable = async (name: string): Promise<boolean> => {
      const box = await page
        .getByRole('navigation')
        .getByRole(name === 'More' ? 'button' : 'link', { name: new RegExp(`^${name}`) })
        .first()
        .boundingBox();
      return box !== null && box.height >= 44 && box.width >= 44 && box.x + box.width <= phone;
    };
    for (const name of ['Monitors', 'Incidents', 'Alerts', 'More'])
      expect([name, await isTouchable(name)]).toEqual([name, true]);
    await follow(page, /^Incidents/);
    await page
      .locator('main tbody')
      .getByRole('link', { name: /Checkout/ })
      .first()
      .waitFor();

    await page.goto(`${web.url}/acknowledge/${demo.channels.links.acknowledge}`);
    await press(page, 'Acknowledge');
    await follow(page, 'View incident');
    await expect.poll(() => headline(page)).toContain('Checkout');
    await shown(page, /^Acknowledged by|has it/);
    await close(tab);
  });

  test('12: what was paused, many at once, or deleted is undone by one press', async () => {
    const tab = await open();
    const { page } = tab;
    for (const name of ['Vault', 'Flags'])
      await page.getByRole('checkbox', { name: `Select ${name}` }).check();
    await press(page, 'Pause');
    await shown(page, 'Two monitors paused.');
    await press(page, 'Undo');
    await shown(page, 'Undone.');
    await page.getByRole('link', { name: 'Vault', exact: true }).click();
    await page.getByLabel('More actions').click();
    await follow(page, 'Delete');
    await press(page, 'Delete monitor');
    await shown(page, 'Vault deleted. It is in the trash for 7 days.');
    await press(page, 'Undo');
    await shown(page, 'Undone.');
    await page.getByRole('link', { name: 'Vault', exact: true }).waitFor();
    await close(tab);
  });
});
