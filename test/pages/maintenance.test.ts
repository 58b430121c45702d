import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTab } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** A window planned in a real browser. */

describeInBrowser('maintenance', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb({ host: 'localhost' });
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  });
  afterAll(() => web.close());

  for (const scripts of [true, false])
    test(`${scripts ? 'with scripts: its times follow' : 'without scripts: a button shows'} what is chosen, and then it is planned`, async () => {
      const tab = await openTab(browser(), web.url, { scripts, cookie: await web.cookieOf(web.house.owner) });
      const { page } = tab;
      await page.goto(`${web.url}/maintenance/new?monitor=${demo.idOf('Checkout')}`);
      await page.getByLabel('What it is for').fill('Kept while it follows');
      await page.getByLabel('Begins').fill('2030-03-24T02:30');
      await page.getByLabel('Ends').fill('2030-03-24T03:30');
      await page.getByLabel('Repeats').selectOption('weekly');
      if (!scripts) await page.getByRole('button', { name: 'Show it' }).click();
      await expect.poll(() => page.locator('#ahead').innerText()).toContain('Every week on Sunday.');
      await expect.poll(() => page.locator('#ahead tbody tr').count()).toBe(10);
      expect(await page.getByLabel('What it is for').inputValue()).toBe('Kept while it follows');
      await page.getByRole('button', { name: 'Plan it' }).click();
      await expect.poll(() => page.locator('h1').innerText()).toContain('Kept while it follows begins in');
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });
});
