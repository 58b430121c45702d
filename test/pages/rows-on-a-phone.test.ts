import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, phone } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { seedOwnThings } from '../support/things-of-people.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** A name and four lines of facts, and what is around them. */
const mostLines = 12 + 24 + 4 * 20 + 8 + 1;

describeInBrowser('a list on a phone', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb();
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
    await seedOwnThings(web, Date.now());
  });
  afterAll(() => web.close());

  test('has rows that cover nothing, and what they say begins behind their symbols', async () => {
    const tab = await openAs(browser(), web, '/members', 'owner', { width: phone });
    for (const path of [
      '/members',
      '/alerts',
      '/tokens',
      '/objectives',
      `/objectives/${demo.objective}`,
      '/certificates',
      '/webhooks',
      '/maintenance',
      '/status-pages',
      '/probes',
      '/groups',
      '/incidents',
      '/reports?period=2026',
      '/profile/sessions',
    ]) {
      await tab.page.goto(`${web.url}${path}`);
      const rows = await tab.page.locator('.cards tbody tr:not(.part):visible').evaluateAll((all) =>
        all.map((row) => ({
          height: row.getBoundingClientRect().height,
          covered: [...row.querySelectorAll('td:not(.acts), .stacked > *')].filter(
            (each) =>
              each.getBoundingClientRect().right >
              (row.querySelector('.acts > *')?.getBoundingClientRect().left ??
                Number.POSITIVE_INFINITY),
          ).length,
          // What is beyond is covered: the dot before the first fact of a line.
          begins:
            Math.min(
              ...[...row.querySelectorAll('td:not(.acts), .stacked > :not(.tile)')]
                .filter((each) => each.getClientRects().length > 0)
                .map((each) => each.getBoundingClientRect().left + 12),
            ) - (row.closest('.table-card')?.getBoundingClientRect().left ?? Number.NaN),
        })),
      );
      expect([path, rows.filter(({ height }) => height > mostLines + 1)]).toEqual([path, []]);
      expect([path, rows.filter(({ covered }) => covered > 0)]).toEqual([path, []]);
      const begins = rows.map(({ begins }) => Math.round(begins));
      // The frame, the room inside it, and a symbol or initials with the room behind them.
      expect([path, begins.filter((each) => ![1 + 16, 1 + 40, 1 + 48].includes(each))]).toEqual([
        path,
        [],
      ]);
    }
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  test('says whether an incident lasts, and what a probe checks', async () => {
    const tab = await openAs(browser(), web, '/reports?period=2026', 'owner', { width: phone });
    expect(await tab.page.getByText('Ongoing').filter({ visible: true }).count()).toBe(3);
    await tab.page.goto(`${web.url}/probes`);
    const checks = tab.page.locator('[data-label="Your checks"]').filter({ visible: true });
    expect(await checks.count()).toBeGreaterThan(0);
    await tab.close();
  });

  test('shows all that was changed in the audit log, within its row', async () => {
    const tab = await openAs(browser(), web, '/audit', 'owner', { width: phone });
    const beyond = await tab.page
      .locator('tr[id^="entry-"]')
      .evaluateAll(
        (rows) =>
          rows.filter((row) =>
            [...row.querySelectorAll('td, .stacked > *')].some(
              (each) =>
                each.getBoundingClientRect().bottom > row.getBoundingClientRect().bottom + 1,
            ),
          ).length,
      );
    expect(beyond).toBe(0);
    expect(await tab.page.locator('.changes').count()).toBeGreaterThan(0);
    await tab.close();
  });
});
