import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs } from '../support/browser.ts';
import { storeChecks } from '../support/checks.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** The charts of a monitor's page, in a real browser. */
describeInBrowser('the response chart', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb();
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  });
  afterAll(() => web.close());

  test('says the time and every value under the pointer, and moves by the arrow keys', async () => {
    const tab = await openAs(browser(), web, `/monitors/${demo.idOf('Checkout')}`, 'viewer');
    const { page } = tab;
    const plot = page.locator('[data-chart]').first();
    const said = plot.locator('output');
    expect(await said.isVisible()).toBe(false);
    const box = await plot.boundingBox();
    if (box === null) throw new Error('the chart is not shown');
    await page.mouse.move(box.x + box.width * 0.7, box.y + 100);
    const pattern =
      /^\d+ \w+, \d\d:\d\d · Europe [\d.,]+ ms · N\. America [\d.,]+ ms · Asia [\d.,]+ ms$/;
    await expect.poll(() => said.innerText()).toMatch(pattern);
    const atPointer = await said.innerText();
    // What it says is what the page's table says, but for rounding.
    const europe = Number(/Europe ([\d.,]+) ms/.exec(atPointer)?.[1]);
    expect(europe).toBeGreaterThan(100);
    expect(europe).toBeLessThan(200);
    await plot.focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => said.innerText()).not.toBe(atPointer);
    await page.keyboard.press('End');
    await page.mouse.move(0, 0);
    await page.locator('h1').click();
    await expect.poll(() => said.isVisible()).toBe(false);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  test('says the real value of what is too slow for the axis', async () => {
    const id = demo.idOf('Staging');
    // The oldest of sixty took 5 s, nearly all of it to wait.
    const probes = await web.sql<{ key: number }[]>`
      select key from probes where continent = 'Europe'`;
    const checks = probes.flatMap(({ key }) =>
      Array.from({ length: 60 }, (_, nth) => {
        const [took_ms, first_byte] = nth === 59 ? [5_000, 4_862] : [100, 40];
        const phases = { dns: 3, tcp: 11, tls: 24, first_byte, total: took_ms };
        return { probe: key, at: Date.now() - (nth + 1) * 300_000, took_ms, phases };
      }),
    );
    await web.sql`delete from chunks where monitor_key = (
      select key from monitors where id = ${id})`;
    await storeChecks(web.sql, id, checks);
    const tab = await openAs(browser(), web, `/monitors/${id}`, 'viewer');
    const { page } = tab;
    const valuesAt = async (nth: number, key: string) => {
      const plot = page.locator('[data-chart]').nth(nth);
      await plot.press(key);
      return (await plot.locator('output').innerText()).replace(/^[^·]* · /, '');
    };
    expect(await valuesAt(0, 'Home')).toBe('Europe 5,000 ms');
    expect(await valuesAt(0, 'End')).toBe('Europe 100 ms');
    expect(await valuesAt(1, 'Home')).toBe(
      'DNS 3.0 ms · TCP 11 ms · TLS 24 ms · TTFB 4,862 ms · Body 100 ms',
    );
    expect(await valuesAt(1, 'End')).toBe(
      'DNS 3.0 ms · TCP 11 ms · TLS 24 ms · TTFB 40 ms · Body 22 ms',
    );
    await tab.close();
  });

  test('shows a shorter stretch where one drags over it, in an address of its own', async () => {
    const tab = await openAs(browser(), web, `/monitors/${demo.idOf('Checkout')}`, 'viewer');
    const { page } = tab;
    const plot = page.locator('[data-chart]').first();
    const ends = async () =>
      Promise.all(
        ['data-from', 'data-to'].map(async (name) => Number(await plot.getAttribute(name))),
      );
    const [from = 0, to = 0] = await ends();
    const box = await plot.boundingBox();
    if (box === null) throw new Error('the chart is not shown');
    await page.mouse.move(box.x + box.width * 0.5, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 100);
    expect(await plot.locator('b').isVisible()).toBe(true);
    await page.mouse.up();
    await page.waitForURL(/from=.*until=/);
    const [begin = 0, end = 0] = await ends();
    // Six hours of twenty-four, and a step that is as much finer.
    expect(Math.abs(begin - (from + to) / 2)).toBeLessThan(10 * 60_000);
    expect(Math.abs(end - begin - (to - from) / 4)).toBeLessThan(10 * 60_000);
    expect(await plot.getAttribute('data-step')).toBe('120000');
    await plot.press('End');
    await plot.press('Enter');
    await page.waitForURL((url) => Date.parse(url.searchParams.get('from') ?? '') > begin);
    await page.goBack();
    expect(await ends()).toEqual([begin, end]);
    await page.getByRole('link', { name: 'Week before' }).click();
    await page.waitForURL(/from=.*compare=week/);
    await page.getByRole('link', { name: 'Zoom out' }).click();
    await page.waitForURL((url) => !url.searchParams.has('from'));
    expect(await ends()).toEqual([from, to]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  test('chooses what it shows by the address, and is a table without scripts', async () => {
    const tab = await openAs(browser(), web, `/monitors/${demo.idOf('Checkout')}`, 'viewer', {
      scripts: false,
    });
    const { page } = tab;
    const drawn = () => page.locator('[data-chart] path[data-name="Asia"]').getAttribute('d');
    const median = await drawn();
    await page.getByRole('link', { name: 'p99', exact: true }).click();
    await page.waitForURL(/value=p99/);
    expect(await drawn()).not.toBe(median);
    await page.getByText('Show as a table').click();
    const table = page.getByRole('region', { name: 'Response times as a table' });
    expect(await table.locator('tbody tr').count()).toBeGreaterThan(4);
    expect(await table.locator('tbody tr').first().innerText()).toMatch(/\d ms/);
    await page.getByRole('link', { name: '7 days' }).first().click();
    await page.waitForURL(/window=7d/);
    expect(await page.getByRole('link', { name: 'p99', exact: true }).count()).toBe(1);
    await tab.close();
  });
});
