import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { openTab } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** The list of incidents, in a real browser. */

describeInBrowser('the list of incidents', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb();
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
    // A monitor that flaps: more than a page of incidents that began after the open one.
    for (let at = 0; at < 60; at += 1)
      await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, scope, layer)
        values (${newId()}, ${web.house.organisation}, ${demo.idOf('Wishlist')}, now() - interval '1 second', now() - interval '1 second', now(), 'Frankfurt', 'Europe', 'everywhere', 'tcp')`;
  });
  afterAll(() => web.close());

  for (const scripts of [true, false])
    test(`${scripts ? 'with' : 'without'} scripts: shows the open ones while there are any, and before all others`, async () => {
      const tab = await openTab(browser(), web.url, { scripts, cookie: await web.cookieOf(web.house.owner) });
      const { page } = tab;
      const rows = () => page.locator('main tbody tr').allInnerTexts();
      await page.goto(`${web.url}/incidents`);
      expect(await page.locator('.chips [aria-current="page"]').first().innerText()).toContain('Open');
      const open = await rows();
      expect(open).toEqual([expect.stringContaining('Search API'), expect.stringContaining('Checkout')]);

      await page.getByRole('navigation', { name: 'State' }).getByRole('link', { name: 'All' }).click();
      await expect.poll(async () => (await rows()).length).toBeGreaterThan(20);
      const states = (await rows()).map((each) => each.split('\t')[0]);
      expect(states.slice(0, 2)).toEqual(['Verifying', 'Down']);
      expect(states.slice(2).filter((each) => each === 'Down' || each === 'Verifying')).toEqual([]);
      // Further pages go on where the first one ended.
      const seen = new Set(await page.locator('main tbody tr').evaluateAll((all) => all.map(({ id }) => id)));
      await page.getByRole('link', { name: 'Earlier' }).click();
      await page.waitForURL(/cursor=/);
      const next = await page.locator('main tbody tr').evaluateAll((all) => all.map(({ id }) => id));
      expect(next.length).toBeGreaterThan(0);
      expect(next.filter((id) => seen.has(id))).toEqual([]);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

  test('shows all of them when none is open', async () => {
    const before = await web.sql`update incidents set resolved_at = now() where resolved_at is null returning id`;
    expect(before.length).toBeGreaterThan(0);
    const tab = await openTab(browser(), web.url, { cookie: await web.cookieOf(web.house.owner) });
    await tab.page.goto(`${web.url}/incidents`);
    expect(await tab.page.locator('.chips [aria-current="page"]').first().innerText()).toBe('All');
    expect(await tab.page.locator('main tbody tr').count()).toBeGreaterThan(20);
    await tab.close();
  });
});
