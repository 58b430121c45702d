import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTab, phone, type Tab } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { seedOwnThings } from '../support/things-of-people.ts';
import { testRunsOfDemo } from '../support/trials.ts';
import { startWeb, type TestWeb } from '../support/web.ts';
import { addressOf, pageLooks } from './looks.ts';

/**
 * What a finger meets, in a browser on a touch screen: everything that can be pressed answers 22 px
 * around its middle. Links inside running text are exempt, as in WCAG 2.5.5.
 */
const missed = `(() => {
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
})()`;

// The dashboard's table is seen on the page of a group.
const looks = pageLooks.filter(({ name }) => !/^(?:dashboard|monitor|public)/.test(name));

describeInBrowser('a finger', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  let tab: Tab;
  beforeAll(async () => {
    const now = Date.now();
    web = await startWeb({ trials: testRunsOfDemo, host: 'localhost', clock: { now: () => now } });
    demo = await seedDemo(web.sql, web.house.organisation, now);
    await seedOwnThings(web, now);
    tab = await openTab(browser(), web.url, { width: phone });
  });
  afterAll(async () => {
    await tab.close();
    await web.close();
  });

  for (const look of looks)
    test(`meets everything that can be pressed on ${look.name}`, async () => {
      await tab.startAnew(
        look.as === 'stranger' ? look.cookie : await web.cookieOf(web.house[look.as]),
      );
      await tab.page.goto(`${web.url}${addressOf(look, demo)}`);
      await look.first?.(tab);
      expect(await tab.page.evaluate(missed)).toEqual([]);
    });
});
