/** What the pages that are opened most cost, of an organisation with 204 monitors. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, openTab } from '../support/browser.ts';
import { demoCount, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb, untilChanged } from '../support/web.ts';

const kilobyte = 1024;

const shiftSoFar = `new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) sum += value;
  }).observe({ type: 'layout-shift', buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
})`;

describeInBrowser('with 204 monitors', (browser) => {
  let web: TestWeb;
  let slug: string;
  beforeAll(async () => {
    const now = Date.now();
    web = await startWeb({ clock: { now: () => now } });
    slug = (await seedDemo(web.sql, web.house.organisation, now)).page.slug;
    await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      select gen_random_uuid(), ${web.house.organisation}, 0, 'Shop ' || n, 'https', 'https://shop-' || n || '.example/', 60
      from generate_series(${demoCount + 1}::int, 204) as n`;
    await untilChanged(web);
  });
  afterAll(() => web.close());

  test.each([
    ['the dashboard', '/'],
    ['the form of a monitor', '/monitors/new'],
  ])(
    '%s costs at most 60 KB at the first visit and 8 KB with headers at the next, and nothing in it moves',
    async (_, path) => {
      const { page, fetched, close } = await openAs(browser(), web, path);
      await page.waitForLoadState('networkidle');
      const first = fetched.reduce((sum, { bytes }) => sum + bytes, 0);
      expect(first).toBeLessThanOrEqual(60 * kilobyte);
      expect(await page.evaluate(shiftSoFar)).toBe(0);
      const before = fetched.length;
      const next = await page.goto(`${web.url}${path}`);
      await page.waitForLoadState('networkidle');
      expect(fetched.slice(before).flatMap(({ url, bytes }) => (bytes > 0 ? [url] : []))).toEqual([
        `${web.url}${path}`,
      ]);
      const { responseBodySize = Number.NaN, responseHeadersSize = Number.NaN } =
        (await next?.request().sizes()) ?? {};
      expect(responseBodySize + responseHeadersSize).toBeLessThanOrEqual(8 * kilobyte);
      await close();
    },
  );

  // On a slow line, or a busy machine, the text is there first.
  test.each(['in time', 'late'])(
    'nothing in the dashboard moves when its font comes %s and its clock ticks',
    async (comes) => {
      const cookie = await web.cookieOf('owner');
      const { page, close } = await openTab(browser(), web.url, { cookie });
      const ticked = page.locator('.below').getByText(/Updated \d+ s ago/);
      if (comes === 'late')
        await page.route(/inter-basic/, async (route) => {
          await ticked.waitFor();
          await route.continue();
        });
      await page.goto(web.url);
      await ticked.waitFor();
      await page.evaluate('document.fonts.ready.then(() => true)');
      expect(await page.evaluate(shiftSoFar)).toBe(0);
      await close();
    },
  );

  test('nothing in a public page moves when its font comes late', async () => {
    const { page, close } = await openTab(browser(), web.url);
    const fontComes = Promise.withResolvers<void>();
    await page.route(/inter-basic/, async (route) => {
      await fontComes.promise;
      await route.continue();
    });
    await page.goto(`${web.url}/status/${slug}`, { waitUntil: 'domcontentloaded' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.evaluate(shiftSoFar);
    fontComes.resolve();
    await page.evaluate('document.fonts.ready.then(() => true)');
    expect(await page.evaluate(shiftSoFar)).toBe(0);
    await close();
  });

  test('the box that ticks all is where it will be before the rest of the list has come', async () => {
    const { page, close } = await openAs(browser(), web, '/');
    const left = 'document.querySelector("[data-all]").getBoundingClientRect().left';
    const whole = await page.evaluate(left);
    await page.evaluate(
      'for (const each of document.querySelectorAll("thead td ~ *, tbody")) each.remove()',
    );
    expect(await page.evaluate(left)).toBe(whole);
    await close();
  });
});
