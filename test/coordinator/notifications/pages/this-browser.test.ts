import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Page, Worker } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTab, overflow, phone, type Tab } from '../../../support/browser.ts';
import { mint } from '../../../support/certificates.ts';
import { eventually } from '../../../support/eventually.ts';
import { describeInBrowser } from '../../../support/in-browser.ts';
import {
  newPushKeys,
  openReceiver,
  type Receiver,
  readPush,
  says,
} from '../../../support/receivers.ts';
import { sameSite, startWeb, type TestWeb } from '../../../support/web.ts';

/**
 * Web Push from its own page. No test reaches a push service: a receiver takes its place, reads
 * what came with the browser's keys, and the browser is handed what the service would have carried
 * to it.
 */

const path = '/alerts/this-browser';
const usual = getCACertificates('default');
let web: TestWeb;
let service: Receiver;
beforeAll(async () => {
  const authority = mint({ authority: true, commonName: 'push services' });
  const { chain, key } = mint({ names: ['127.0.0.1'], issuer: authority });
  setDefaultCACertificates([...usual, authority.certificate]);
  service = await openReceiver({ tls: { certificate: chain, key } });
  web = await startWeb({ host: 'localhost' });
});
afterAll(async () => {
  setDefaultCACertificates(usual);
  await service.close();
  await web.close();
});

const keys = newPushKeys();
const auth = Buffer.alloc(16, 7);
const subscriptionTo = (name: string) => ({
  endpoint: `${service.url}/send/${name}`,
  keys: { p256dh: keys.getPublicKey().toString('base64url'), auth: auth.toString('base64url') },
});
const fieldsOf = ({ endpoint, keys: of }: ReturnType<typeof subscriptionTo>) => ({
  'config.endpoint': endpoint,
  'config.p256dh': of.p256dh,
  'config.auth': of.auth,
});
const channels = () =>
  web.sql<{ id: string; name: string; kind: string; user_id: string; config: object }[]>`
    select id, name, kind, user_id, config from channels where deleted_at is null order by key`;

describe('the page', () => {
  test('explains itself without scripts, to users who may have a channel', async () => {
    const { text, headers } = await web.get(path, { as: 'member' });
    expect(text).toContain('New browser channel');
    expect(text).toContain('<noscript>');
    expect(headers.get('content-security-policy')).toContain('trusted-types antipode push-worker');
    expect((await web.get(path, { as: 'viewer' })).status).toBe(403);
    expect(await web.text('/alerts/new', 'member')).toContain(`href="${path}"`);
  });

  test('has its worker where it may speak to pages about alerts alone, not cached and allowed to fetch nothing', async () => {
    const { status, text, headers } = await web.get('/alerts/push-worker.js');
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
      'no-cache',
    ]);
    expect(headers.get('content-security-policy')).toBe("default-src 'none'");
    expect(headers.get('service-worker-allowed')).toBeNull();
    expect(text).toContain('notificationclick');
    expect(text).not.toContain('"fetch"');
  });

  test('refuses an invalid subscription and one that exists, and tests before it saves', async () => {
    const as = web.house.admin;
    const broken = await web.post(
      path,
      { ...fieldsOf(subscriptionTo('x')), 'config.auth': 'short' },
      { as, headers: sameSite },
    );
    expect([broken.status, broken.text.includes('role="alert"')]).toEqual([400, true]);
    service.answer(says(410));
    const refused = await web.post(`${path}/test`, fieldsOf(subscriptionTo('x')), {
      as,
      headers: sameSite,
    });
    expect(JSON.parse(refused.text)).toEqual({
      taken: false,
      words: 'Test not delivered: the browser ended its subscription (410).',
    });
    expect(await channels()).toEqual([]);
    expect(
      (
        await web.post(
          path,
          { ...fieldsOf(subscriptionTo('x')), name: 'Desk' },
          { as, headers: sameSite },
        )
      ).status,
    ).toBe(303);
    const again = await web.post(path, fieldsOf(subscriptionTo('x')), { as, headers: sameSite });
    expect([
      again.status,
      again.text.includes('This browser already has a channel: Desk.'),
    ]).toEqual([400, true]);
    const [desk] = await channels();
    expect(desk).toMatchObject({ name: 'Desk', kind: 'web_push', user_id: as.user, config: {} });
    // It is changed by the usual form, which keeps what only the browser knew.
    const edit = await web.get(`/alerts/${desk?.id}/edit`, { as });
    expect(edit.text).toContain('<input type="hidden" name="config.endpoint" value="***">');
    const kept = {
      'config.endpoint': '***',
      'config.p256dh': '***',
      'config.auth': '***',
      covers: 'all',
      delay_s: '300',
      act: 'save',
    };
    expect((await web.send(`/alerts/${desk?.id}/edit`, kept, as)).status).toBe(303);
    service.answer(says(201));
    const shown = await web.send(`/alerts/${desk?.id}/test`, {}, as);
    expect(shown.text).toContain('Test sent (');
    expect(service.got.at(-1)?.path).toBe('/send/x');
  });
});

describeInBrowser('a browser', (browser) => {
  const openPage = async (
    before: string,
    as: { scripts?: boolean; width?: number; url?: string } = {},
  ): Promise<Tab> => {
    const { url = web.url, ...look } = as;
    const tab = await openTab(browser(), url, {
      ...look,
      cookie: await web.cookieOf('member'),
    });
    if (before !== '') await tab.page.addInitScript(before);
    await tab.page.goto(`${url}${path}`);
    return tab;
  };
  /**
   * Browsers without a screen let nobody notify them: the answer of a person is put in its place.
   */
  const saysYes = `Object.defineProperty(Notification, 'permission', { get: () => 'default' }); Notification.requestPermission = async () => 'granted';`;
  const subscribes = (name: string): string =>
    `${saysYes} PushManager.prototype.subscribe = async (options) => { window.asked = options; return { toJSON: () => (${JSON.stringify(subscriptionTo(name))}) }; };`;
  const words = (page: Page): Promise<string> => page.getByRole('main').innerText();

  /** Hands the worker what the push service would have carried to it. */
  const carrier = async (page: Page): Promise<(data: string) => Promise<void>> => {
    const session = await page.context().newCDPSession(page);
    let registrationId: string | undefined;
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      registrationId = registrations.at(-1)?.registrationId ?? registrationId;
    });
    await session.send('ServiceWorker.enable');
    return async (data) => {
      const id = await eventually(() => registrationId);
      await session.send('ServiceWorker.deliverPushMessage', {
        origin: web.url,
        registrationId: id,
        data,
      });
    };
  };
  /** What it would show and open is written down: there is no screen to show it on. */
  const watched = async (page: Page): Promise<Worker> => {
    const worker = await eventually(() => page.context().serviceWorkers()[0]);
    await worker.evaluate(`self.shown = []; self.opened = [];
      self.registration.showNotification = async (title, options) => { self.shown.push({ title, ...options }); };
      self.clients.openWindow = async (address) => { self.opened.push(address); return null; };`);
    return worker;
  };
  const clicks = (worker: Worker, data: object, action = ''): Promise<unknown> =>
    worker.evaluate(`{
      const event = new ExtendableEvent('notificationclick');
      Object.assign(event, { action: ${JSON.stringify(action)}, notification: { close: () => {}, data: ${JSON.stringify(data)} } });
      self.dispatchEvent(event);
    }`);

  test('shows once a test has arrived, displays alerts, and opens our own pages alone', async () => {
    service.answer(says(201));
    const before = service.got.length;
    const tab = await openPage(subscribes('laptop'));
    const { page } = tab;
    const carry = await carrier(page);
    await page.getByRole('button', { name: 'Notify me here' }).click();
    const got = await eventually(() => service.got[before]);
    const worker = await watched(page);
    const options: unknown = await page.evaluate(
      '({ visible: asked.userVisibleOnly, bytes: asked.applicationServerKey.length })',
    );
    expect(options).toEqual({ visible: true, bytes: 65 });
    await expect.poll(() => words(page)).toContain('Test sent.');
    expect((await channels()).some(({ user_id }) => user_id === web.house.member.user)).toBe(false);

    await carry(readPush(got.body, { privateKey: keys.getPrivateKey(), auth }));
    await page.waitForURL(/\/alerts\/[0-9a-f-]{36}$/);
    expect(await words(page)).toContain('Channel created');
    expect(
      (await channels()).find(({ user_id }) => user_id === web.house.member.user),
    ).toMatchObject({ kind: 'web_push', config: {} });
    const tested: unknown = await worker.evaluate('self.shown[0].title');
    expect(tested).toMatch(/^This is a test: alerts of .+ reach you here$/);

    const own = { url: `${web.url}/incidents/1`, acknowledge: `${web.url}/acknowledge/x` };
    await carry(
      JSON.stringify({
        title: 'Checkout is down',
        body: 'status 503',
        event: 'down',
        tag: 't',
        at: 1,
        ...own,
      }),
    );
    await carry('no JSON');
    const shown = await eventually(async () => {
      const all: unknown = await worker.evaluate('self.shown.slice(1)');
      return Array.isArray(all) && all.length === 2 ? all : undefined;
    });
    const [down] = shown.filter(({ title }) => title === 'Checkout is down');
    expect(down).toMatchObject({
      body: 'status 503',
      tag: 't',
      renotify: true,
      requireInteraction: true,
      data: own,
    });
    expect(down.actions).toEqual([{ action: 'acknowledge', title: 'Acknowledge' }]);
    expect(shown.map(({ title }) => title)).toContain('Something changed');

    const opens = async (count: number): Promise<unknown> => {
      await eventually(async () => (await worker.evaluate('self.opened.length')) === count);
      return worker.evaluate('self.opened.at(-1)');
    };
    await clicks(worker, own);
    expect(await opens(1)).toBe(own.url);
    await clicks(worker, own, 'acknowledge');
    expect(await opens(2)).toBe(own.acknowledge);
    await clicks(worker, { url: 'https://elsewhere.example/' });
    expect(await opens(3)).toBe(`${web.url}/incidents`);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  test('explains what prevents notifications, and saves nothing then', async () => {
    const before = await channels();
    service.answer(says(403));
    const cases: readonly {
      readonly first: string;
      readonly press?: true;
      readonly says: string;
    }[] = [
      {
        first: `Object.defineProperty(Notification, 'permission', { get: () => 'denied' });`,
        says: 'Notifications are blocked for this site.',
      },
      {
        first: `${saysYes} delete window.PushManager;`,
        says: 'This browser does not support notifications.',
      },
      {
        first: 'delete window.PushManager; navigator.standalone = false;',
        says: 'Add to Home Screen',
      },
      {
        first: `Object.defineProperty(window, 'isSecureContext', { value: false });`,
        says: 'only over https',
      },
      {
        first: `${saysYes} PushManager.prototype.subscribe = async () => { throw new Error(); };`,
        press: true,
        says: 'The browser could not reach its push service',
      },
      { first: subscribes('refused'), press: true, says: 'subscribed with another key' },
    ];
    for (const { first, press, says: said } of cases) {
      const { page, close } = await openPage(first, { width: phone });
      if (press) await page.getByRole('button', { name: 'Notify me here' }).click();
      await expect.poll(() => words(page), { timeout: 30_000 }).toContain(said);
      expect(await overflow(page)).toBe(0);
      await close();
    }
    const numbered = await openPage('', { url: web.url.replace('localhost', '127.0.0.1') });
    await expect
      .poll(() => numbered.page.getByRole('link', { name: path }).getAttribute('href'))
      .toBe(`${web.url}${path}`);
    await numbered.close();
    expect(await channels()).toEqual(before);
  });

  test('without scripts says that it needs them, and has no button', async () => {
    const { page, close } = await openPage('', { scripts: false });
    expect(await words(page)).toContain('Browser notifications need JavaScript');
    expect(await page.getByRole('button', { name: 'Notify me here' }).isVisible()).toBe(false);
    await close();
  });
});
