import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { barriers, openAs, phone } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** What is done on a phone at night. */
describe('phone', () => {
  describeInBrowser('an incident on a phone', (browser) => {
    let web: TestWeb;
    let demo: Demo;
    beforeAll(async () => {
      web = await startWeb();
      demo = await seedDemo(web.sql, web.house.organisation, Date.now());
      await web.sql`delete from channels where name = 'Pager'`;
    });
    afterAll(() => web.close());

    for (const [width, height] of [
      [390, 664],
      [320, 568],
    ] as const)
      test(`${width} px wide says what is down, and is acknowledged, in the first screen, then is handed back`, async () => {
        const path = `/incidents/${demo.incident}`;
        const look = { width, height };
        const { page, close } = await openAs(browser(), web, path, 'member', look);
        const bottomOf = async (name: string): Promise<number> => {
          const box = await page.getByRole('button', { name, exact: true }).boundingBox();
          return box === null ? Number.NaN : box.y + box.height;
        };
        expect(await bottomOf('Acknowledge')).toBeLessThan(height);
        for (const words of [
          'https://shop.example/checkout',
          'since',
          'Seen from Europe',
          '+263 ms',
        ])
          expect(await page.locator('#banner').innerText()).toContain(words);
        await page.getByRole('button', { name: 'Acknowledge', exact: true }).click();
        await page.locator('#owner').getByText('Acknowledged by').waitFor();
        expect(await page.locator('#owner').innerText()).toContain(web.house.member.email);
        await page.getByRole('button', { name: 'Hand back' }).click();
        await page.getByRole('button', { name: 'Acknowledge', exact: true }).waitFor();
        await close();
      });

    test('shows all of its banner above the bar of a phone, with each continent where it is on the map', async () => {
      const look = { width: phone, height: 844 };
      const { page, complaints, close } = await openAs(
        browser(),
        web,
        `/incidents/${demo.incident}`,
        'member',
        look,
      );
      const [all, bar] = [page.locator('#banner'), page.locator('#rail nav')];
      const [box, barBox] = [await all.boundingBox(), await bar.boundingBox()];
      expect((box?.y ?? 0) + (box?.height ?? Number.NaN)).toBeLessThan(barBox?.y ?? 0);
      for (const width of [phone, 1280]) {
        await page.setViewportSize({ width, height: 844 });
        const map = await all.locator('.world').boundingBox();
        const middleOf = async (place: string): Promise<number> => {
          const box = await all.locator('.seen li').filter({ hasText: place }).boundingBox();
          return (
            ((box?.x ?? Number.NaN) + (box?.width ?? 0) / 2 - (map?.x ?? 0)) / (map?.width ?? 0)
          );
        };
        expect(await middleOf('N. America')).toBeCloseTo(0.17, 1);
        expect(await middleOf('Europe')).toBeCloseTo(0.48, 1);
        expect(await middleOf('Asia')).toBeCloseTo(0.76, 1);
      }
      expect(complaints).toEqual([]);
      await close();
    });
  });
});

/** The list of incidents, in a real browser. */
describe('incidents', () => {
  describeInBrowser('the list of incidents', (browser) => {
    let web: TestWeb;
    let demo: Demo;
    beforeAll(async () => {
      web = await startWeb();
      demo = await seedDemo(web.sql, web.house.organisation, Date.now());
      // A monitor that flaps: more than one page is read from, all after the open one began.
      await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, scope, layer)
        select gen_random_uuid(), ${web.house.organisation}, ${demo.idOf('Wishlist')}, now() - interval '1 second', now() - interval '1 second', now(), 'Frankfurt', 'Europe', 'everywhere', 'tcp'
        from generate_series(1, 1200)`;
    });
    afterAll(() => web.close());

    for (const scripts of [true, false])
      test(`${scripts ? 'with' : 'without'} scripts: shows the open ones while there are any, and before all others`, async () => {
        const tab = await openAs(browser(), web, '/incidents', 'owner', { scripts });
        const { page } = tab;
        const rows = () => page.locator('main tbody tr').allInnerTexts();
        expect(await page.locator('.chips [aria-current="page"]').first().innerText()).toContain(
          'Open',
        );
        const open = await rows();
        expect(open).toEqual([
          expect.stringContaining('Checkout'),
          expect.stringContaining('Search API'),
        ]);

        await page
          .getByRole('navigation', { name: 'State' })
          .getByRole('link', { name: 'All' })
          .click();
        await expect.poll(rows).toContainEqual(expect.stringMatching(/Wishlist\s*1000 times/));
        const states = (await rows()).map((each) => each.split('\t')[0]?.trim());
        expect(states.slice(0, 2)).toEqual(['Down', 'Verifying']);
        expect(states.slice(2).filter((each) => each === 'Down' || each === 'Verifying')).toEqual(
          [],
        );
        // Further pages go on where the first one ended.
        const seen = new Set(
          await page.locator('main tbody tr').evaluateAll((all) => all.map(({ id }) => id)),
        );
        await page.getByRole('link', { name: 'Earlier' }).click();
        await page.waitForURL(/cursor=/);
        const next = await page
          .locator('main tbody tr')
          .evaluateAll((all) => all.map(({ id }) => id));
        expect(next.length).toBeGreaterThan(0);
        expect(next.filter((id) => seen.has(id))).toEqual([]);
        expect(tab.complaints).toEqual([]);
        await tab.close();
      });

    test('says an incident in three lines on a phone, its cause in one of its own, and leaves out none of the choices above', async () => {
      const tab = await openAs(browser(), web, '/incidents', 'owner', { width: phone });
      const row = tab.page.locator('main tbody tr').filter({ hasText: 'Checkout' });
      const box = await row.boundingBox();
      expect(box?.height).toBeLessThanOrEqual(85);
      const chips = await tab.page.locator('.filters .chips a').all();
      const tops = await Promise.all(chips.map(async (each) => (await each.boundingBox())?.y));
      expect(new Set(tops).size).toBe(2);
      const textOf = async (): Promise<string> => (await row.innerText()).replaceAll(/\s+/g, ' ');
      expect(await textOf()).toMatch(/Down.*Checkout.*Status 503.*min/);
      await row.click();
      await tab.page.waitForURL(`**/incidents/${demo.incident}`);
      await tab.close();
    });

    test('goes from row to row by keys, and acknowledges the one in focus', async () => {
      const tab = await openAs(browser(), web, '/incidents', 'member');
      const { page } = tab;
      // Nothing is in focus, and Search API waits for its confirmation.
      for (const key of ['e', 'j', 'j', 'e', 'k']) await page.keyboard.press(key);
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Checkout');
      await page.keyboard.press('e');
      await page.waitForURL(`**/incidents/${demo.incident}`);
      await page.getByText('Acknowledged by').first().waitFor();
      await page.getByRole('button', { name: 'Hand back' }).click();
      await page.getByRole('button', { name: 'Acknowledge', exact: true }).waitFor();
      await page.keyboard.press('e');
      await page.getByText('Acknowledged by').first().waitFor();
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

    test('shows all of them when none is open', async () => {
      const before =
        await web.sql`update incidents set resolved_at = now() where resolved_at is null returning id`;
      expect(before.length).toBeGreaterThan(0);
      const tab = await openAs(browser(), web, '/incidents');
      expect(await tab.page.locator('.chips [aria-current="page"]').first().innerText()).toBe(
        'All',
      );
      expect(await tab.page.locator('main tbody tr').count()).toBeGreaterThan(0);
      await tab.close();
    });
  });
});

/** A window planned in a real browser. */
describe('maintenance', () => {
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
        const path = `/maintenance/new?monitor=${demo.idOf('Checkout')}`;
        const tab = await openAs(browser(), web, path, 'owner', { scripts });
        const { page } = tab;
        await page.getByLabel('Name').fill('Kept while it follows');
        await page.getByLabel('Starts').fill('2030-03-24T02:30');
        await page.getByLabel('Ends').fill('2030-03-24T03:30');
        await page.getByLabel('Repeats').selectOption('weekly');
        if (!scripts) await page.getByRole('button', { name: 'Refresh' }).click();
        await expect
          .poll(() => page.locator('#ahead').innerText())
          .toContain('Every week on Sunday.');
        await expect.poll(() => page.locator('#ahead tbody tr').count()).toBe(10);
        expect(await page.getByLabel('Name').inputValue()).toBe('Kept while it follows');
        await page.getByRole('button', { name: 'Schedule', exact: true }).click();
        await expect
          .poll(() => page.locator('h1').innerText())
          .toContain('Kept while it follows starts in');
        expect(tab.complaints).toEqual([]);
        await tab.close();
      });
  });
});

/** What pages say of alerts that cannot arrive, before one is lost. */
describe('delivery', () => {
  const unset = 'Cannot deliver: e-mail is not set up';

  describeInBrowser('alerts that cannot be delivered', (browser) => {
    let web: TestWeb;
    let demo: Demo;
    let mailed: TestWeb;
    beforeAll(async () => {
      web = await startWeb();
      demo = await seedDemo(web.sql, web.house.organisation, Date.now());
      mailed = await startWeb({ door: { signUp: 'invited', signUpPlan: 'free', mail: true } });
    });
    afterAll(async () => {
      await web.close();
      await mailed.close();
    });

    const everywhere = () => [
      '/',
      '/incidents',
      '/maintenance',
      '/groups',
      '/status-pages',
      '/probes',
      '/members',
      '/tokens',
      '/profile',
    ];

    test('faults are shown on every page: amber while one channel fails, red while none can deliver, and nothing while all can', async () => {
      const tab = await openAs(browser(), web, '/', 'viewer');
      const bar = tab.page.locator('#delivery');
      for (const path of everywhere()) {
        await tab.page.goto(`${web.url}${path}`);
        expect([path, await bar.locator('p').innerText()]).toEqual([
          path,
          '2 channels cannot deliver alerts',
        ]);
        expect(await bar.getAttribute('class')).toContain('notice-verifying');
      }
      // There the headline says it.
      await tab.page.goto(`${web.url}/alerts`);
      expect(await bar.count()).toBe(0);
      expect(await tab.page.locator('h1').innerText()).toBe('2 channels cannot deliver alerts');
      await tab.page.goto(web.url);
      expect(await barriers(tab.page)).toEqual([]);
      await web.sql`update channels set enabled = false where id = ${demo.channels.ops}`;
      for (const path of everywhere()) {
        await tab.page.goto(`${web.url}${path}`);
        expect([path, await bar.innerText()]).toEqual([
          path,
          expect.stringContaining('No alert can be delivered: Pager and ana@shop.example'),
        ]);
        expect(await bar.getAttribute('class')).toContain('notice-down');
      }
      expect(await barriers(tab.page)).toEqual([]);
      await web.sql`update channels set enabled = true, refused_at = null, failure = null where id = any(${[demo.channels.ops, demo.channels.pager]})`;
      // There is no mail here, so that what needs it cannot deliver.
      await web.sql`update channels set enabled = false where kind = 'email'`;
      for (const path of everywhere()) {
        await tab.page.goto(`${web.url}${path}`);
        expect([path, await bar.count()]).toEqual([path, 0]);
      }
      await tab.close();
    });

    test('faults of mail are shown by the form, the monitor, the alerts and the dashboard where mail is not set up', async () => {
      await web.sql`update channels set deleted_at = now()`;
      await web.sql`insert into channels (id, organisation_id, kind, name, config, enabled, verified_at, covers, delay_s)
      values (${newId()}, ${web.house.organisation}, 'email', 'owner@shop.example', ${JSON.stringify({ address: 'owner@shop.example' })}, true, now(), 'all', 0)`;
      for (const scripts of [true, false]) {
        const tab = await openAs(browser(), web, '/', 'owner', { scripts, width: phone });
        const wordsAt = async (path: string, part = 'main') => {
          await tab.page.goto(`${web.url}${path}`);
          return tab.page.locator(part).innerText();
        };
        expect(await wordsAt('/', '#delivery.notice-down')).toContain(
          'No alert can be delivered: e-mail is not set up',
        );
        expect(await wordsAt(`/monitors/${demo.idOf('Checkout')}`, '#told')).toContain(unset);
        expect(await wordsAt('/monitors/new', '#would-be-told')).toContain(
          '1 channel cannot deliver',
        );
        expect(await wordsAt('/alerts', 'tbody tr')).toContain(
          'Cannot deliver\nE-mail is not set up Fix',
        );
        expect(await wordsAt('/alerts/new?kind=email', 'main')).toContain(unset);
        if (scripts) expect(await barriers(tab.page)).toEqual([]);
        await tab.close();
      }
    });

    test('faults are not mentioned where mail is set up, nor where nothing could fail yet', async () => {
      const tab = await openAs(browser(), mailed, '/');
      const bar = tab.page.locator('#delivery');
      expect(await bar.count()).toBe(0);
      await mailed.sql`insert into channels (id, organisation_id, kind, name, config, enabled, verified_at, covers, delay_s)
      values (${newId()}, ${mailed.house.organisation}, 'email', 'owner@shop.example', ${JSON.stringify({ address: 'owner@shop.example' })}, true, now(), 'all', 0)`;
      await tab.page.goto(`${mailed.url}/alerts`);
      expect(await bar.count()).toBe(0);
      expect(await tab.page.locator('main').innerText()).not.toContain(unset);
      // A monitor whose failure nobody would hear of.
      await mailed.sql`update channels set deleted_at = now()`;
      await mailed.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${newId()}, ${mailed.house.organisation}, 0, 'Shop', 'https', 'https://shop.example/', 60)`;
      await tab.page.goto(mailed.url);
      expect(await bar.innerText()).toContain('No alert can be delivered: no channels yet');
      await tab.close();
    });
  });
});
