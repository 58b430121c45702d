import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mailShape } from '../../coordinator/account-mail/queries.ts';
import { asHtml, reportMail } from '../../coordinator/account-mail/templates.ts';
import { createReportMailing } from '../../coordinator/reports/mailing.ts';
import { projectFolder } from '../../deploy/node/places.mjs';
import { createLog } from '../../shared/base/log.ts';
import { awaitFont, binary, desk, differingShare, openTab, phone } from '../support/browser.ts';
import { testResults } from '../support/checks.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';
import { addressOf, mainLooks, type PageLook, pageLooks } from './looks.ts';

/**
 * The main pages look as they did when somebody last looked at them. Browser and font are of a
 * fixed version, clock and names stand still. What differs is written to `.antipode/pictures`; if
 * it is meant so, it is copied into `test/pages/pictures`.
 */

const most = 0.001;
/** A4 without its margins, in CSS px. */
const a4 = 718;
const now = Date.parse('2026-11-20T12:00:00Z');

const kept = join(projectFolder, 'test/pages/pictures');
const seen = join(projectFolder, '.antipode/pictures');

describeInBrowser('the main pages', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    await mkdir(seen, { recursive: true });
    web = await startWeb({ clock: { now: () => now } });
    demo = await seedDemo(web.sql, web.house.organisation, now);
    await web.sql`update organisations set name = 'Shop'`;
    await web.sql`update users set email = 'ana@shop.example' where id = ${web.house.owner.user}`;
  });
  afterAll(() => web.close());

  const take = async (
    look: PageLook,
    scheme: 'light' | 'dark',
    width: number,
    paper = false,
  ): Promise<Buffer> => {
    const cookie = look.as === 'stranger' ? undefined : await web.cookieOf(web.house[look.as]);
    const tab = await openTab(browser(), web.url, { scheme, width, cookie });
    // Times would tick on.
    await tab.page.clock.setFixedTime(now);
    await tab.page.goto(`${web.url}${addressOf(look, demo)}`);
    await awaitFont(tab.page);
    await look.first?.(tab);
    if (paper) await tab.page.emulateMedia({ media: 'print' });
    const picture = await tab.page.screenshot({ caret: 'hide', fullPage: paper });
    await tab.close();
    return picture;
  };

  const expectUnchanged = async (name: string, picture: Buffer): Promise<void> => {
    const before = await readFile(join(kept, name)).catch(() => undefined);
    const share = before === undefined ? 1 : await differingShare(browser(), before, picture);
    if (share > most) await writeFile(join(seen, name), picture);
    expect(
      share,
      `.antipode/pictures/${name} is not test/pages/pictures/${name}`,
    ).toBeLessThanOrEqual(most);
  };

  // A young monitor and one with a month behind it: their charts say different things.
  const charted = pageLooks.filter(({ name }) =>
    ['monitor-new-to-us', 'monitor-of-a-month'].includes(name),
  );

  // Another browser draws letters another way.
  for (const look of [...mainLooks, ...charted])
    for (const [device, scheme, width] of [
      ['desk', 'light', desk],
      ['phone', 'dark', phone],
    ] as const)
      test.skipIf(binary?.isPinned !== true)(
        `${look.name} is unchanged, ${scheme}, on a ${device}`,
        async () =>
          expectUnchanged(`${look.name}-${device}-${scheme}.png`, await take(look, scheme, width)),
      );

  // Who reads in the dark prints on white all the same.
  for (const look of mainLooks.filter(({ name }) => name === 'incident'))
    test.skipIf(binary?.isPinned !== true)(`${look.name} is unchanged on paper`, async () =>
      expectUnchanged(`${look.name}-paper.png`, await take(look, 'dark', a4, true)),
    );

  // A mail is read elsewhere, and looks as its own styles say.
  for (const [device, width] of [
    ['desk', desk],
    ['phone', phone],
  ] as const)
    test.skipIf(binary?.isPinned !== true)(
      `the mail of a report is unchanged, on a ${device}`,
      async () => {
        const due = Date.parse('2026-11-23T08:00Z');
        await web.sql`update report_mails set next_at = '2026-11-23T08:00Z'`;
        await web.sql`delete from deliveries where event = 'report'`;
        await createReportMailing({
          ...{ sql: web.sql, results: testResults(), clock: { now: () => due } },
          log: createLog({ name: 'pictures', level: 'silent' }),
          isLeader: () => true,
          hasMail: true,
        }).tick();
        const [row] = await web.sql<{ mail: unknown }[]>`select json_build_object('kind', event,
          'recipient', recipient, 'about', told) as mail from deliveries where event = 'report'`;
        const mail = mailShape.parse(row?.mail);
        if (mail.kind !== 'report') throw new Error('no report was mailed');
        const here = 'https://antipode.example';
        const letter = asHtml(reportMail(mail.about, `${here}/reports`, `${here}/reports/leave/x`));
        const tab = await openTab(browser(), web.url, { scheme: 'light', width });
        await tab.page.setContent(letter);
        await tab.page.addStyleTag({ content: '*{font-family:sans-serif!important}' });
        const picture = await tab.page.screenshot({ caret: 'hide', fullPage: true });
        await tab.close();
        await expectUnchanged(`report-mail-${device}-light.png`, picture);
      },
    );

  test('are eleven, and two with charts', () => {
    expect([mainLooks.length, charted.length]).toEqual([11, 2]);
  });
});
