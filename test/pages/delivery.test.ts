import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { barriers, openTab, phone } from '../support/browser.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** What pages say of alerts that cannot arrive, before one is lost. */

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
    '/alerts',
    '/probes',
    '/members',
    '/tokens',
    '/profile',
  ];

  test('are said on every page: amber while one channel fails, red while none can deliver, and nothing while all can', async () => {
    const tab = await openTab(browser(), web.url, { cookie: await web.cookieOf(web.house.viewer) });
    const bar = tab.page.locator('#delivery');
    for (const path of everywhere()) {
      await tab.page.goto(`${web.url}${path}`);
      expect([path, await bar.innerText()]).toEqual([path, expect.stringContaining('Pager cannot deliver alerts.')]);
      expect(await bar.getAttribute('class')).toContain('notice-verifying');
    }
    expect(await barriers(tab.page)).toEqual([]);
    await web.sql`update channels set enabled = false where id = ${demo.channels.ops}`;
    for (const path of everywhere()) {
      await tab.page.goto(`${web.url}${path}`);
      expect([path, await bar.innerText()]).toEqual([path, expect.stringContaining('No alert can be delivered')]);
      expect(await bar.getAttribute('class')).toContain('notice-down');
    }
    expect(await barriers(tab.page)).toEqual([]);
    await web.sql`update channels set enabled = true, refused_at = null, failure = null where id in ${web.sql([demo.channels.ops, demo.channels.pager])}`;
    for (const path of everywhere()) {
      await tab.page.goto(`${web.url}${path}`);
      expect([path, await bar.count()]).toEqual([path, 0]);
    }
    await tab.close();
  });

  test('by mail are said by the form, the monitor, the alerts and the dashboard where mail is not set up', async () => {
    await web.sql`update channels set deleted_at = now()`;
    await web.sql`insert into channels (id, organisation_id, kind, name, config, enabled, verified_at, covers, delay_s)
      values (${newId()}, ${web.house.organisation}, 'email', 'owner@shop.example', ${web.sql.json({ address: 'owner@shop.example' })}, true, now(), 'all', 0)`;
    for (const scripts of [true, false]) {
      const tab = await openTab(browser(), web.url, { scripts, width: phone, cookie: await web.cookieOf(web.house.owner) });
      const wordsAt = async (path: string, part = 'main') => {
        await tab.page.goto(`${web.url}${path}`);
        return tab.page.locator(part).innerText();
      };
      expect(await wordsAt('/', '#delivery.notice-down')).toContain(unset);
      expect(await wordsAt(`/monitors/${demo.idOf('Checkout')}`, '#told')).toContain(unset);
      expect(await wordsAt('/monitors/new', '#would-be-told')).toContain(unset.toLowerCase());
      expect(await wordsAt('/alerts', 'tbody tr')).toContain(unset);
      expect(await wordsAt('/alerts/new?kind=email', '.channel-form-page')).toContain(unset);
      if (scripts) expect(await barriers(tab.page)).toEqual([]);
      await tab.close();
    }
  });

  test('are not spoken of where mail is set up, nor where there is nothing yet that could fail', async () => {
    const tab = await openTab(browser(), mailed.url, { cookie: await mailed.cookieOf(mailed.house.owner) });
    const bar = tab.page.locator('#delivery');
    await tab.page.goto(mailed.url);
    expect(await bar.count()).toBe(0);
    await mailed.sql`insert into channels (id, organisation_id, kind, name, config, enabled, verified_at, covers, delay_s)
      values (${newId()}, ${mailed.house.organisation}, 'email', 'owner@shop.example', ${mailed.sql.json({ address: 'owner@shop.example' })}, true, now(), 'all', 0)`;
    await tab.page.goto(`${mailed.url}/alerts`);
    expect(await bar.count()).toBe(0);
    expect(await tab.page.locator('main').innerText()).not.toContain(unset);
    // A monitor whose failure nobody would hear of.
    await mailed.sql`update channels set deleted_at = now()`;
    await mailed.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${newId()}, ${mailed.house.organisation}, 0, 'Shop', 'https', 'https://shop.example/', 60)`;
    await tab.page.goto(mailed.url);
    expect(await bar.innerText()).toContain('There is no channel yet.');
    await tab.close();
  });
});
