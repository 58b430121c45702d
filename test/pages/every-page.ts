/**
 * What holds for every page, in a real browser: `npm test` looks at the main ones, wide and narrow in
 * light and dark each, `npm run test:long` at all others, each in one of two looks: what they are made
 * of has all four on the main ones.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  desk,
  faultsOf,
  openTab,
  overflow,
  phone,
  type Scheme,
  type Tab,
} from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { seedOwnThings, spoilNames } from '../support/things-of-people.ts';
import { testRunsOfDemo } from '../support/trials.ts';
import { startWeb, type TestWeb, untilChanged } from '../support/web.ts';
import { addressOf, type PageLook } from './looks.ts';

export type Schemes = Readonly<Record<'wide' | 'narrow', readonly Scheme[]>>;

/** The pages take turns with the schemes. */
export const describeLooks = (
  name: string,
  looks: readonly PageLook[],
  schemes: readonly [Schemes, ...Schemes[]],
): void =>
  describeInBrowser(name, (browser) => {
    let web: TestWeb;
    let demo: Demo;
    beforeAll(async () => {
      // It stands still, so that two visits see the same.
      const now = Date.now();
      web = await startWeb({
        trials: testRunsOfDemo,
        host: 'localhost',
        clock: { now: () => now },
      });
      demo = await seedDemo(web.sql, web.house.organisation, now);
      await seedOwnThings(web, now);
      // The first page that is looked at hears when changes are listened to, and fetches itself
      // once more; what each weighs is told without that.
      await untilChanged(web);
    });
    afterAll(() => web.close());

    // Three tabs see everything: a new one for each visit would take most of the time of all these
    // tests.
    let wide: Tab;
    let bare: Tab;
    let narrow: Tab;
    beforeAll(async () => {
      // In the zone of pages without scripts, so that both say the same times.
      wide = await openTab(browser(), web.url, { width: desk, zone: 'UTC' });
      const other = { keepsAssets: true } as const;
      bare = await openTab(browser(), web.url, { ...other, width: desk, scripts: false });
      narrow = await openTab(browser(), web.url, { ...other, width: phone });
    });

    const arrive = async (tab: Tab, of: PageLook): Promise<void> => {
      await tab.startAnew(of.as === 'stranger' ? of.cookie : await web.cookieOf(web.house[of.as]));
      await tab.page.goto(`${web.url}${addressOf(of, demo)}`);
    };

    /**
     * The one of every page; what a form of passkeys or of this browser needs besides is fetched
     * there alone.
     */
    const isScript = /\/assets\/script-/;

    const fetchedOf = async ({
      page,
      fetched,
    }: Tab): Promise<{ count: number; bytes: number; script: number }> => {
      await page.waitForLoadState('networkidle');
      const sum = (of: Tab['fetched']): number => of.reduce((bytes, each) => bytes + each.bytes, 0);
      return {
        // The font of a preview is the one of the page around it.
        count: fetched.filter(({ bytes }) => bytes > 0).length,
        bytes: sum(fetched),
        script: sum(fetched.filter(({ url }) => isScript.test(url))),
      };
    };

    /**
     * A page that says that nothing is there, or not for this reader, or not so, is no fault of the
     * page.
     */
    const complaintsOf = ({ complaints }: Tab): readonly string[] =>
      complaints.filter((each) => !/status of 4\d\d/.test(each));

    /**
     * What is for one of both only says so: a passkey needs scripts, and so does copying; and with
     * scripts times tick on.
     */
    const textOf = async ({ page }: Tab): Promise<string> => {
      const text = `(() => { document.querySelectorAll('[data-scripts], [data-copy], time[data-ago], time[data-lasting]').forEach((each) => each.remove()); return document.querySelector('main').innerText; })()`;
      return String(await page.evaluate(text));
    };

    /**
     * Forms in which Enter does something else than the one act that they are for: the button that
     * stands first in them decides.
     */
    const misledByEnter = ({ page }: Tab) =>
      page.locator('form').evaluateAll((forms) =>
        forms.flatMap((form) => {
          const buttons = [...form.querySelectorAll('button')].filter(
            ({ type }) => type === 'submit',
          );
          const acts = buttons.map(({ name, value }) => `${name}=${value}`);
          const main = buttons.find((each) => each.matches('.button-main'));
          const isMisled =
            main === undefined
              ? new Set(acts).size > 1 && !acts[0]?.startsWith('act=save')
              : // A form with a search in it saves only where nothing was typed to be searched for.
                acts[0] !== `${main.name}=${main.value}` && acts[0] !== 'act=enter';
          const hasField = form.querySelector('input:not([type="hidden"])') !== null;
          return hasField && isMisled && buttons[0]?.formMethod !== 'dialog'
            ? [`${form.action}: ${acts}`]
            : [];
        }),
      );

    /** Words of tables that go on in the next line without a hyphen. */
    const brokenWords = async ({ page }: Tab): Promise<unknown> =>
      page.evaluate(`(() => {
        const broken = [];
        for (const cell of document.querySelectorAll('td')) {
          const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
          for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
            for (const { 0: word, index } of node.data.matchAll(/(?<!\\S)\\p{L}{2,14}(?!\\S)/gu)) {
              const range = document.createRange();
              range.setStart(node, index);
              range.setEnd(node, index + word.length);
              const lines = [...range.getClientRects()].map(({ top }) => Math.round(top));
              if (new Set(lines).size > 1) broken.push(word);
            }
        }
        return broken;
      })()`);

    /** Words that run into what is beside them, because a template breaks its line there. */
    const gluedWords = async ({ page }: Tab): Promise<unknown> =>
      page.evaluate(`(() =>
        [...document.querySelectorAll('main :is(a, b, code):not(:empty)')]
          .filter((each) => getComputedStyle(each).display === 'inline')
          .filter(({ previousSibling: before, nextSibling: after, textContent: text }) =>
            (before?.nodeType === 3 && /[\\p{L}.,:;]$/u.test(before.data) && /^\\p{L}/u.test(text)) ||
            (after?.nodeType === 3 && /^\\p{L}/u.test(after.data)))
          .map(({ outerHTML }) => outerHTML.slice(0, 200))
      )()`);

    /** What speaks as the API does: keys and code that are not set as code. How a token begins is data. */
    const wordsOfPrograms = async ({ page }: Tab): Promise<unknown> =>
      page.evaluate(`(() => {
        const found = [];
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
          if (node.parentElement.closest('code, pre, kbd, samp, textarea, script, style, .code') === null)
            for (const [word] of node.data.matchAll(/\`|\\S*[a-z]_[a-z]\\S*/g))
              if (!/^svcj?_/.test(word)) found.push(word);
        return found;
      })()`);

    /**
     * What a finger misses: everything that can be pressed answers 22 px around its middle. Links
     * inside running text are exempt, as in WCAG 2.5.5.
     */
    const missedByFinger = async ({ page }: Tab): Promise<unknown> =>
      page.evaluate(`(() => {
        const reach = 21;
        // What lies behind an open menu is reached once it is closed.
        const open = document.querySelector(':popover-open');
        const targets = 'a[href], button, summary, select, textarea, input:not([type=hidden])';
        const isInText = (each) =>
          each.matches('a') && getComputedStyle(each).display === 'inline' &&
          [...each.parentNode.childNodes].some(
            (node) => node !== each && node.nodeType === 3 && /[\\p{L}\\d]/u.test(node.data));
        const labelsOf = (each) => [...(each.labels ?? [])];
        return [...document.querySelectorAll(targets)].flatMap((each) => {
          if (!each.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return [];
          if (each.closest('.skip, .unseen') || isInText(each)) return [];
          if (open?.contains(each) === false) return [];
          each.scrollIntoView({ block: 'center', inline: 'center' });
          const { x, y, width, height } = each.getBoundingClientRect();
          if (width === 0 || height === 0) return [];
          const hits = (dx, dy) => {
            const hit = document.elementFromPoint(x + width / 2 + dx, y + height / 2 + dy);
            return hit !== null && (each.contains(hit) || labelsOf(each).some((one) => one.contains(hit)));
          };
          const widest = Math.max(width, ...labelsOf(each).map((one) => one.getBoundingClientRect().width));
          const fits = hits(0, -reach) && hits(0, reach) &&
            (widest >= 2 * reach || (hits(-reach, 0) && hits(reach, 0)));
          return fits ? [] : [\`\${each.tagName} \${each.className} \${(each.textContent.trim() || each.name).slice(0, 30)} \${Math.round(width)}×\${Math.round(height)}\`];
        });
      })()`);

    for (const [nth, page] of looks.entries()) {
      const { wide: onDesk, narrow: onPhone } = schemes[nth % schemes.length] ?? schemes[0];
      test(`${page.name}: nothing keeps anybody from using it, light or dark, wide or narrow; it costs little, and is the same without scripts`, async () => {
        await arrive(wide, page);
        // What is fetched late comes while axe looks; but for where somebody does more than to
        // arrive.
        const fetching = fetchedOf(wide);
        if (page.first) await fetching;
        await page.first?.(wide);
        const faults = [
          ...(await faultsOf(wide, phone, onPhone)),
          ...(await faultsOf(wide, desk, onDesk)),
        ];
        expect.soft(faults).toEqual([]);
        const { count, bytes, script } = await fetching;
        expect.soft(count).toBeLessThanOrEqual(9);
        expect.soft(bytes).toBeLessThanOrEqual(60 * 1024);
        expect.soft(script).toBeLessThanOrEqual(8 * 1024);

        expect.soft(await misledByEnter(wide)).toEqual([]);
        expect.soft(await brokenWords(wide)).toEqual([]);
        expect.soft(await wordsOfPrograms(wide)).toEqual([]);
        expect.soft(await gluedWords(wide)).toEqual([]);

        await arrive(bare, page);
        await page.first?.(bare);
        expect.soft([...complaintsOf(wide), ...complaintsOf(bare)]).toEqual([]);
        if (page.isNewEachTime !== true) expect.soft(await textOf(bare)).toBe(await textOf(wide));

        // The dashboard's table is seen on the page of a group.
        if (page.name.startsWith('dashboard')) return;
        await wide.resize(phone);
        expect.soft(await missedByFinger(wide)).toEqual([]);
        await wide.resize(desk);
      });
    }

    // After all the others: from here on nothing has a decent name.
    describe('with names, targets and bodies that mean harm', () => {
      beforeAll(() => spoilNames(web.sql, web.house));

      for (const page of looks)
        test(`${page.name}: shows them as text, and does not reach beyond the side of a phone`, async () => {
          await arrive(narrow, page);
          await page.first?.(narrow);
          expect(
            await narrow.page.locator('[data-harm], main script, main img[src="x"]').count(),
          ).toBe(0);
          expect(await narrow.page.evaluate('window.harm === undefined')).toBe(true);
          expect(await overflow(narrow.page)).toBe(0);
          expect(complaintsOf(narrow)).toEqual([]);
        });
    });
  });
