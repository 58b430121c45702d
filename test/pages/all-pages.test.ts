import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pages } from '../../coordinator/faces/web/pages/index.ts';
import { barriers, desk, openTab, overflow, phone, type Tab } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { seedOwnThings } from '../support/own-things.ts';
import { spoilNames } from '../support/spoiled-names.ts';
import { trialsOfDemo } from '../support/trials.ts';
import { startWeb, type TestWeb } from '../support/web.ts';
import { addressOf, type PageLook, pageLooks } from './looks.ts';

/** What holds for every page, in a real browser. */

/** No documents; or, of links in mails, all the one page that says that the link is not good. */
const notLookedAt = [
  '/join/:secret/sign-up',
  '/finish/:secret',
  '/reset/:secret',
  '/verify/:secret',
  '/favicon.svg',
  '/favicon.ico',
  '/robots.txt',
  '/manifest.webmanifest',
];
const nameless: Demo = {
  idOf: () => 'x',
  incident: 'x',
  share: 'x',
  page: { id: 'x', slug: 'x' },
  channels: { ops: 'x', pager: 'x', message: 'x', links: { acknowledge: 'x', unsubscribe: 'x' } },
};

describeInBrowser('every page', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    // It stands still, so that two visits see the same.
    const now = Date.now();
    web = await startWeb({ trials: trialsOfDemo, host: 'localhost', clock: { now: () => now } });
    demo = await seedDemo(web.sql, web.house.organisation, now);
    await seedOwnThings(web, now);
  });
  afterAll(() => web.close());

  const arrive = async (of: PageLook, look: Parameters<typeof openTab>[2]): Promise<Tab> => {
    const cookie = of.as === 'stranger' ? of.cookie : await web.cookieOf(web.house[of.as]);
    const tab = await openTab(browser(), web.url, { ...look, cookie });
    await tab.page.goto(`${web.url}${addressOf(of, demo)}`);
    return tab;
  };

  const visit = async (of: PageLook, look: Parameters<typeof openTab>[2]): Promise<Tab> => {
    const tab = await arrive(of, look);
    await of.first?.(tab);
    return tab;
  };

  /** What is for one of both only says so: a passkey needs scripts. */
  const textOf = async ({ page }: Tab): Promise<string> => {
    const text = `(() => { document.querySelectorAll('[data-scripts]').forEach((each) => each.remove()); return document.querySelector('main').innerText; })()`;
    return String(await page.evaluate(text));
  };

  for (const page of pageLooks) {
    for (const width of [desk, phone])
      test(`${page.name}: nothing keeps anybody from using it, light or dark, at ${width} pixels, and it does not reach beyond the side`, async () => {
        const tab = await visit(page, { width });
        for (const colorScheme of ['light', 'dark'] as const) {
          await tab.page.emulateMedia({ colorScheme });
          expect([colorScheme, await barriers(tab.page)]).toEqual([colorScheme, []]);
        }
        expect(await overflow(tab.page)).toBe(0);
        await tab.close();
      });

    test(`${page.name}: the browser complains of nothing, with scripts and without, and both show the same`, async () => {
      const [with_, without] = [await visit(page, { scripts: true }), await visit(page, { scripts: false })];
      // A page that says that nothing is there, or not for this reader, or not so, is no fault of the page.
      const complaints = [...with_.complaints, ...without.complaints].filter((each) => !/status of 4\d\d/.test(each));
      expect(complaints).toEqual([]);
      const texts = await Promise.all([with_, without].map((tab) => textOf(tab)));
      if (page.isNewEachTime !== true) expect(texts[0]).toBe(texts[1]);
      await Promise.all([with_.close(), without.close()]);
    });

    test(`${page.name}: what is fetched stays within the budget, at first and after`, async () => {
      const tab = await arrive(page, {});
      await tab.page.waitForLoadState('networkidle').catch(() => undefined);
      const bytes = tab.fetched.reduce((sum, each) => sum + each.bytes, 0);
      expect(tab.fetched.length).toBeLessThanOrEqual(7);
      expect(bytes).toBeLessThanOrEqual(75 * 1024);
      expect(tab.fetched.filter(({ type }) => type === 'Script').reduce((sum, each) => sum + each.bytes, 0)).toBeLessThanOrEqual(8 * 1024);
      await tab.close();
    });
  }

  // After all the others: from here on nothing has a decent name.
  describe('with names, targets and bodies that mean harm', () => {
    beforeAll(() => spoilNames(web.sql, web.house));

    for (const page of pageLooks)
      test(`${page.name}: shows them as text, and does not reach beyond the side of a phone`, async () => {
        const tab = await visit(page, { width: phone });
        expect(await tab.page.locator('[data-harm], main script, main img[src="x"]').count()).toBe(0);
        expect(await tab.page.evaluate('window.harm === undefined')).toBe(true);
        expect(await overflow(tab.page)).toBe(0);
        expect(tab.complaints.filter((each) => !/status of 4\d\d/.test(each))).toEqual([]);
        await tab.close();
      });
  });
});

test('every page is looked at', () => {
  const looked = pageLooks.map(({ path }) => new URL(typeof path === 'string' ? path : path(nameless), 'http://x').pathname);
  const shape = (path: string): RegExp => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`);
  const unseen = pages.filter(({ method, path }) => method === 'GET' && !looked.some((each) => shape(path).test(each)));
  expect(unseen.map(({ path }) => path)).toEqual(notLookedAt);
});
