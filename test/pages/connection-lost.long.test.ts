import { afterAll, beforeAll, expect, test } from 'vitest';
import { barriers, openTab } from '../support/browser.ts';
import { createTcpProxy } from '../support/connections.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** How soon a page says that it hears nothing any more, in a real browser. */

describeInBrowser('the dashboard', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb();
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  });
  afterAll(() => web.close());

  test('says when it has lost the service, while its times tick on, and heals by itself or by a button', async () => {
    const proxy = await createTcpProxy(web.url);
    const tab = await openTab(browser(), proxy.through(web.url), {
      cookie: await web.cookieOf('owner'),
      zone: 'Asia/Tokyo',
    });
    const { page } = tab;
    const bar = page.getByText(/^Connection lost at \d\d:\d\d:\d\d\. Reconnecting…$/);
    const dimmed = () =>
      page.evaluate("getComputedStyle(document.querySelector('main')).filter !== 'none'");
    const soon = { timeout: 12_000, interval: 100 };
    const ages = () => page.locator('#monitor-rows time').allInnerTexts();
    const title = await page.goto(proxy.through(web.url)).then(() => page.title());
    expect(await bar.isVisible()).toBe(false);

    proxy.cut();
    const [cutAt, before] = [Date.now(), await ages()];
    await expect.poll(() => bar.isVisible(), soon).toBe(true);
    expect(Date.now() - cutAt).toBeGreaterThanOrEqual(4_500);
    const lost =
      (Date.parse(`1970-01-01T${/\d\d:\d\d:\d\d/.exec(await bar.innerText())?.[0]}Z`) %
        86_400_000) -
      (cutAt % 86_400_000);
    expect(Math.abs(lost)).toBeLessThan(3_000);
    expect(await page.title()).toBe(`(offline) ${title}`);
    expect(await dimmed()).toBe(true);
    expect(await barriers(page)).toEqual([]);
    expect(await ages()).not.toEqual(before);
    await page.getByRole('button', { name: 'Retry' }).click();
    expect(await bar.isVisible()).toBe(true);

    proxy.heal();
    await page.getByRole('button', { name: 'Retry' }).click();
    await expect.poll(() => bar.isVisible(), { timeout: 1_500 }).toBe(false);
    expect(await page.title()).toBe(title);
    expect(await dimmed()).toBe(false);

    proxy.cut();
    await expect.poll(() => bar.isVisible(), soon).toBe(true);
    proxy.heal();
    await expect.poll(() => bar.isVisible(), soon).toBe(false);
    // The stream is there again, too.
    await web.sql`update monitors set name = 'Wish list' where id = ${demo.idOf('Wishlist')}`;
    await expect
      .poll(() => page.locator(`#monitor-${demo.idOf('Wishlist')}`).innerText())
      .toContain('Wish list');
    await web.sql`update monitors set name = 'Wishlist' where id = ${demo.idOf('Wishlist')}`;
    await tab.close();
    await proxy.close();
  }, 60_000);

  test('says that it has lost the service also where nothing is closed and nothing comes, once the stream is open and before', async () => {
    const proxy = await createTcpProxy(web.url);
    const cookie = await web.cookieOf('owner');
    const tabs = [
      await openTab(browser(), proxy.through(web.url), { cookie }),
      await openTab(browser(), proxy.through(web.url), { cookie }),
    ];
    const [open, opening] = tabs.map(({ page }) => page);
    const heard = open?.waitForResponse(/\/live\?/);
    await open?.goto(proxy.through(web.url));
    await heard;
    await opening?.route(/\/live\?/, async (route) => {
      proxy.silence();
      await route.continue();
    });
    // Once silent, the proxy may also keep back an image, for which the page would be awaited.
    await opening?.goto(proxy.through(web.url), { waitUntil: 'commit' });
    const shown = () =>
      Promise.all(tabs.map(({ page }) => page.getByText(/^Connection lost at /).isVisible()));
    await expect.poll(shown, { timeout: 40_000, interval: 500 }).toEqual([true, true]);
    proxy.heal();
    await expect.poll(shown, { timeout: 25_000, interval: 500 }).toEqual([false, false]);
    for (const tab of tabs) await tab.close();
    await proxy.close();
  }, 90_000);
});
