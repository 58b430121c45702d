import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, phone } from '../support/browser.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

describeInBrowser('a list on a phone', (browser) => {
  let web: TestWeb;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web.close());

  test('has rows of two lines, but for the audit log, which shows all that was changed', async () => {
    const monitor = {
      type: 'https',
      target: 'https://shop.example/',
      interval_s: '60',
      act: 'save',
    };
    expect((await web.send('/monitors/new', monitor, 'owner')).status).toBe(303);
    const tab = await openAs(browser(), web, '/audit', 'owner', { width: phone });
    const row = tab.page.locator('tr[id^="entry-"]').first();
    for (const cell of ['Who', 'What', 'Changes']) {
      const [inside, around] = await Promise.all([
        row.locator(`[data-label="${cell}"]`).boundingBox(),
        row.boundingBox(),
      ]);
      const bottom = (inside?.y ?? Number.NaN) + (inside?.height ?? 0);
      expect(bottom).toBeLessThanOrEqual((around?.y ?? 0) + (around?.height ?? 0));
    }
    await tab.page.goto(`${web.url}/members`);
    const heights = await tab.page
      .locator('tr[id^="member-"]')
      .evaluateAll((rows) => rows.map((each) => each.getBoundingClientRect().height));
    expect(heights).toEqual([64, 64, 64, 64]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
