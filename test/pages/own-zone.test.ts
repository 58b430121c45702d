import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, openTab } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** The browser of the tests is in Berlin, the organisation in UTC. */
describeInBrowser('times', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb();
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  });
  afterAll(() => web.close());

  test('of a public page are those of the reader, and without scripts those of the page', async () => {
    const path = `${web.url}/status/${demo.page.slug}`;
    for (const [scripts, zone] of [
      [true, 'Europe/Berlin'],
      [false, 'UTC'],
    ] as const) {
      const tab = await openTab(browser(), web.url, { scripts });
      await tab.page.goto(path);
      expect(await tab.page.locator('[data-zone-name]').innerText()).toBe(`Times in ${zone}`);
      const times = await tab.page.locator('time').allInnerTexts();
      expect(times.length).toBeGreaterThan(2);
      expect(times.filter((time) => time.endsWith('UTC') === scripts)).toEqual([]);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    }
  });

  test('of the app are those of the device from the second page on', async () => {
    const tab = await openAs(browser(), web, '/incidents', 'viewer');
    await tab.page.goto(`${web.url}/incidents`);
    expect(
      await tab.page.locator('#preferences [name="zone"][aria-pressed="true"]').innerText(),
    ).toBe('Europe/Berlin');
    await tab.close();
  });
});
