/**
 * `npm run screenshots [-- FOLDER [NAME]]`: a picture of every page of pages/looks.ts, or of those whose names begin so, in light and dark, for desk
 * and phone, from the real pages over an organisation as one would meet it. For looking at, one by
 * one.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { awaitFont, desk, launchBrowser, openTab, phone } from '../support/browser.ts';
import { seedDemo } from '../support/demo.ts';
import { startServices } from '../support/services-run.ts';
import { seedOwnThings } from '../support/things-of-people.ts';
import { testRunsOfDemo } from '../support/trials.ts';
import { startWeb } from '../support/web.ts';
import { addressOf, pageLooks } from './looks.ts';

const folder = resolve(process.argv[2] ?? '.antipode/screenshots');
await mkdir(folder, { recursive: true });

const { services, stop } = await startServices();
const now = Date.now();
const web = await startWeb({
  trials: testRunsOfDemo,
  door: { signUp: 'invited', signUpPlan: 'free', mail: true },
  host: 'localhost',
  services,
  clock: { now: () => now },
});
const browser = await launchBrowser();
try {
  const demo = await seedDemo(web.sql, web.house.organisation, now);
  await seedOwnThings(web, now);
  await web.sql`update organisations set name = 'Shop' where id = ${web.house.organisation}`;
  for (const [role, email] of [
    ['owner', 'ana@shop.example'],
    ['admin', 'ben@shop.example'],
    ['member', 'chiara@shop.example'],
    ['viewer', 'vera@shop.example'],
  ] as const)
    await web.sql`with told as (update audit_log set who = ${email}
        where who = ${web.house[role].email})
      update users set email = ${email} where id = ${web.house[role].user}`;
  const failed: string[] = [];
  for (const look of pageLooks.filter(({ name }) => name.startsWith(process.argv[3] ?? '')))
    for (const scheme of ['light', 'dark'] as const)
      for (const [device, width] of [
        ['desk', desk],
        ['phone', phone],
      ] as const) {
        const cookie =
          look.as === 'stranger' ? look.cookie : await web.cookieOf(web.house[look.as]);
        const tab = await openTab(browser, web.url, { scheme, width, cookie });
        const file = join(folder, `${look.name}-${device}-${scheme}.png`);
        try {
          await tab.page.goto(`${web.url}${addressOf(look, demo)}`);
          await awaitFont(tab.page);
          await look.first?.(tab);
          // As tall as the page: while the browser takes what is beyond the screen, it forgets that
          // a finger points, and all would be smaller than it is.
          const height = Number(await tab.page.evaluate('document.documentElement.scrollHeight'));
          await tab.page.setViewportSize({ width, height });
          await tab.page.screenshot({ path: file });
          process.stdout.write(`${file}\n`);
        } catch (error) {
          // The others are worth having.
          failed.push(`${file}: ${error instanceof Error ? error.message : String(error)}`);
        }
        await tab.close();
      }
  if (failed.length > 0) {
    process.stderr.write(`${failed.length} pictures could not be taken:\n${failed.join('\n')}\n`);
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  await web.close();
  await stop();
}
