import { once } from 'node:events';
import { createServer } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App } from '../../coordinator/app.ts';
import { createSignInLink } from '../../coordinator/people/contract.ts';
import { type OutputOf, rawInput } from '../../shared/api/operation.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine } from '../support/targets.ts';

/**
 * A monitor from its first letter to its end, in a real browser, over a network whose probes really
 * look.
 */

describeInBrowser('a monitor', (browser) => {
  let network: Network;
  let app: App & { readonly url: string };
  beforeAll(async () => {
    network = await createNetwork();
    app = await network.startCoordinator();
    await network.addProbes('Asia', 'Europe', 'North America');
  });
  afterAll(() => network.close());

  const comeIn = async (scripts: boolean): Promise<Tab> => {
    const link = createSignInLink;
    const { body } = await app.gate.executeForInstallation(
      link,
      rawInput(link, { email: network.house.member.email }),
    );
    // The gate's handlers are typed by their operations; a table of unlike operations cannot say
    // so.
    const { address } = body as OutputOf<typeof link>;
    const tab = await openTab(browser(), app.url, { scripts });
    await tab.page.goto(`${app.url}${new URL(address).pathname}`);
    await tab.page.waitForURL(`${app.url}/`);
    return tab;
  };

  const count = async (): Promise<number> =>
    (await network.sql<{ count: number }[]>`select count(*) as count from monitors`)[0]?.count ??
    -1;
  const sees = async (tab: Tab, words: string): Promise<void> =>
    expect.poll(() => tab.page.getByText(words).first().isVisible()).toBe(true);

  for (const scripts of [true, false]) {
    const how = scripts ? 'with scripts' : 'without scripts';

    test(`${how}: a server that speaks HTTP/2 only passes the test before it is saved`, async () => {
      const server = createServer((_request, response) => void response.end('well'));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      const tab = await comeIn(scripts);
      await tab.page.goto(`${app.url}/monitors/new`);
      await tab.page.getByLabel('Address', { exact: true }).fill(`http://127.0.0.1:${port}/`);
      await tab.page.getByRole('button', { name: 'Test from every continent' }).click();
      await sees(tab, 'All three checks passed.');
      expect(await count()).toBe(0);
      await tab.close();
      server.close();
    });

    test(`${how}: is tried, saved, changed, paused, resumed and deleted`, async () => {
      const target = await network.startTarget();
      let release = (): void => undefined;
      const held = new Promise<void>((go) => {
        release = go;
      });
      target.answer(
        {
          is: 'by',
          answer: (_request, response) =>
            void held.then(() => response.writeHead(503).end('broken <b>here</b>')),
        },
        ['Asia'],
      );
      const tab = await comeIn(scripts);
      const { page } = tab;
      await page.goto(`${app.url}/monitors/new`);
      await page.getByLabel('Address', { exact: true }).fill(target.url('/checkout'));
      await page.getByLabel(/^Name/).fill('Checkout');

      // What has answered is there while another still looks.
      const before = page.url();
      await page.getByRole('button', { name: 'Test from every continent' }).click();
      for (const continent of ['Europe', 'North America'])
        await expect
          .poll(() => page.locator('.answer', { hasText: continent }).isVisible())
          .toBe(true);
      await expect
        .poll(() => page.locator('.waiting:visible').allInnerTexts())
        .toEqual([expect.stringContaining('Asia')]);
      expect(await page.locator('.trial-verdict').count()).toBe(0);
      if (scripts) expect(page.url()).toBe(before);
      // And what somebody does meanwhile is not undone.
      if (scripts) await page.getByLabel(/^Name/).fill('Checkout of the shop');
      release();
      await sees(tab, 'Failed from Asia, passed from Europe and North America.');
      expect(await page.locator('.waiting:visible').count()).toBe(0);
      await page.getByText('Compare responses').click();
      await sees(tab, 'broken <b>here</b>');
      expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe(
        target.url('/checkout'),
      );
      expect(await page.getByLabel(/^Name/).inputValue()).toBe(
        scripts ? 'Checkout of the shop' : 'Checkout',
      );
      expect(await count()).toBe(0);

      // A fault stands beside its field, in an open fold, and the summary has the focus.
      await page.locator('.fold > summary', { hasText: 'Request' }).click();
      await page.getByLabel('Timeout').fill('soon');
      await page.getByRole('button', { name: 'Test from every continent' }).click();
      await expect
        .poll(() => page.locator('#field-config-timeout-ms-fault').isVisible())
        .toBe(true);
      await expect
        .poll(() => page.evaluate('document.activeElement.getAttribute("role")'))
        .toBe('alert');
      await page.getByLabel('Timeout').fill('');

      target.answer(fine);
      await page.getByLabel(/^Name/).fill('Checkout');
      await page.getByRole('button', { name: 'Create monitor' }).click();
      await sees(tab, 'Monitor created.');
      expect(await count()).toBe(1);

      await page.getByRole('link', { name: 'Edit' }).click();
      await page.getByLabel('Check every').selectOption({ label: 'custom …' });
      await page.getByLabel('Seconds').fill('90');
      await page.getByLabel('Seconds').blur();
      if (scripts) await sees(tab, '960 checks a day');
      await page.locator('.fold > summary', { hasText: 'Assertions' }).click();
      await page.getByLabel('Body contains').fill('fine');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await sees(tab, 'Checkout saved.');
      const [row] = await network.sql`select interval_s, config from monitors`;
      expect(row).toEqual({
        interval_s: 90,
        config: { alert_after_s: 15, body_contains: ['fine'] },
      });

      await page.getByRole('button', { name: 'Pause' }).click();
      await sees(tab, 'Checkout is paused.');
      // Also after the page has heard of the pause itself.
      await expect
        .poll(() => page.getByRole('heading', { level: 1 }).innerText())
        .toContain('Checkout has been paused');
      await sees(tab, 'Checkout is paused.');
      await page.goto(`${page.url()}/resume`);
      await page.getByRole('button', { name: 'Resume' }).click();
      await sees(tab, 'Checkout is resumed.');

      await page.getByLabel('More actions').click();
      await page.getByRole('link', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete monitor' }).click();
      await sees(tab, 'Checkout deleted. It is in the trash for 7 days.');
      expect(await count()).toBe(0);
      await page.goto(`${new URL(page.url()).origin}/monitors/trash`);
      await sees(tab, '7 days');
      await page.getByRole('button', { name: 'Restore Checkout' }).click();
      await sees(tab, 'Checkout restored.');
      expect(await count()).toBe(1);
      // A refused form is a page with the status of a refusal, of which the browser tells its
      // console.
      expect(tab.complaints.filter((each) => !each.includes('status of 400'))).toEqual([]);
      await tab.close();
    });

    test(`${how}: an edit is tested with the stored secrets, and a failing name fails everywhere`, async () => {
      const target = await network.startTarget();
      target.answer(broken);
      const id = await network.addMonitor({
        target: target.url(),
        interval_s: 3_600,
        name: 'Broken',
      });
      const tab = await comeIn(scripts);
      const failed = 'All three checks failed. Saved like this, it would be down right away.';
      await tab.page.goto(`${app.url}/monitors/${id}/edit#try`);
      await tab.page.getByRole('button', { name: 'Test from every continent' }).click();
      await sees(tab, failed);
      await tab.page.goto(`${app.url}/monitors/${id}`);
      await tab.page.getByLabel('More actions').click();
      await tab.page.getByRole('button', { name: 'Test now' }).click();
      await sees(tab, failed);
      expect(await tab.page.getByLabel(/^Name/).inputValue()).toBe('Broken');
      await tab.page.goto(`${app.url}/monitors/new?type=heartbeat`);
      await tab.page.getByLabel(/^Name/).fill('Backup');
      await tab.page.getByRole('button', { name: 'Create monitor' }).click();
      await sees(tab, 'Backup waits for its first ping');
      await expect
        .poll(() => tab.page.locator('#address .copyable code').first().innerText())
        .toMatch(/\/beat\//);
      expect(await tab.page.getByText(/your-job; curl .*\/beat\//).isVisible()).toBe(true);
      expect(tab.complaints).toEqual([]);
      await tab.close();
      await network.sql`delete from monitors`;
    });
  }
});
