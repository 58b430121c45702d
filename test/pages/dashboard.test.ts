import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { type Look, openAs, type Tab } from '../support/browser.ts';
import { makeCause } from '../support/causes.ts';
import { type Demo, demoCount, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { startWeb, type TestWeb, type Who } from '../support/web.ts';

/** How far a touch around the middle of each control still means it. */
type Reach = { what: string; isHit: boolean; wide: number; high: number };
const reachOfTargets = `
  (() => {
    const controlAt = (x, y) => {
      const touched = document.elementFromPoint(x, y);
      const control = touched?.closest('a, button, summary, input, select');
      return control ?? touched?.closest('label')?.control ?? null;
    };
    const controls = 'a, button, summary, input:not([type=hidden]), select';
    return [...document.querySelectorAll(controls)]
      .filter((each) => each.checkVisibility() && !each.matches('[disabled], .skip, svg a, .prose a'))
      .map((each) => {
        each.scrollIntoView({ block: 'center', inline: 'center' });
        const { left, top, width, height } = each.getBoundingClientRect();
        const [x, y] = [left + width / 2, top + Math.min(height / 2, 22)];
        const reach = (dx, dy) => {
          let far = 0;
          while (far < 44 && controlAt(x + dx * (far + 1), y + dy * (far + 1)) === each) far += 1;
          return far;
        };
        return {
          what: each.outerHTML.slice(0, 120),
          isHit: controlAt(x, y) === each,
          wide: reach(-1, 0) + reach(1, 0) + 1,
          high: reach(0, -1) + reach(0, 1) + 1,
        };
      });
  })()`;

/** What people do on the first page, in a real browser. */

describeInBrowser('the dashboard', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  beforeAll(async () => {
    web = await startWeb();
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  });
  afterAll(() => web.close());

  const open = (path: string, look?: Look, who?: Who): Promise<Tab> =>
    openAs(browser(), web, path, who, look);
  const rows = ({ page }: Tab) => page.locator('#monitor-rows .monitor');

  for (const scripts of [true, false]) {
    const how = scripts ? 'with scripts' : 'without scripts';

    test(`${how}: chips filter, the search finds, headings sort, each by an address of its own`, async () => {
      const tab = await open('/', { scripts });
      expect(await rows(tab).count()).toBe(demoCount);
      await tab.page.getByRole('link', { name: 'Paused 2' }).click();
      expect(new URL(tab.page.url()).search).toBe('?status=paused');
      await expect.poll(() => rows(tab).count()).toBe(2);
      await tab.page.getByRole('link', { name: `All ${demoCount}` }).click();
      await tab.page.getByLabel('Search by name, address, group or tag').fill('store os');
      await tab.page.keyboard.press('Enter');
      await expect.poll(() => rows(tab).count()).toBe(3);
      await tab.page.getByRole('link', { name: 'Uptime, 30 days' }).click();
      expect(new URL(tab.page.url()).search).toBe('?q=store%20os&sort=downtime');
      expect(await rows(tab).first().getByRole('rowheader').innerText()).toContain('Store Oslo');
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

    test(`${how}: several are paused and resumed at once, and the page says so once`, async () => {
      const tab = await open('/?q=vault', { scripts });
      const act = async (change: 'Pause' | 'Resume') => {
        await tab.page.getByRole('checkbox', { name: 'Select Vault' }).check();
        await tab.page.getByRole('button', { name: change }).click();
      };
      await act('Pause');
      await expect.poll(() => tab.page.getByText('One monitor paused.').count()).toBe(1);
      expect(await rows(tab).first().innerText()).toContain('Paused');
      await tab.page.reload();
      expect(await tab.page.getByText('One monitor paused.').count()).toBe(0);
      await act('Resume');
      await expect.poll(() => tab.page.getByText('One monitor resumed.').count()).toBe(1);
      await tab.page.getByRole('button', { name: 'Undo' }).click();
      await expect.poll(() => tab.page.getByText('Undone.').count()).toBe(1);
      expect(await rows(tab).first().innerText()).toContain('Paused');
      await act('Resume');
      // A tick on the page that is being left would be lost.
      await expect.poll(() => tab.page.getByText('One monitor resumed.').count()).toBe(1);
      await tab.page.getByRole('checkbox', { name: 'Select Vault' }).check();
      await tab.page.getByRole('button', { name: 'Tag…' }).click();
      await tab.page.getByLabel('Tag', { exact: true }).fill('safe');
      await tab.page.getByRole('button', { name: 'Add', exact: true }).click();
      await expect.poll(() => tab.page.getByText('One monitor tagged.').count()).toBe(1);
      expect(await rows(tab).first().innerText()).toContain('safe');
      await tab.page.getByRole('button', { name: 'Undo' }).click();
      await expect.poll(() => tab.page.getByText('Undone.').count()).toBe(1);
      for (const choice of ['Until resolved', 'Unmute']) {
        await tab.page.getByRole('checkbox', { name: 'Select Vault' }).check();
        await tab.page.getByRole('button', { name: 'Mute…' }).click();
        await tab.page.getByRole('button', { name: choice, exact: true }).click();
        const words = `One monitor ${choice === 'Unmute' ? 'unmuted' : 'muted'}.`;
        await expect.poll(() => tab.page.getByText(words).count()).toBe(1);
      }
      await tab.page.getByRole('checkbox', { name: 'Select Vault' }).check();
      await tab.page.getByRole('button', { name: 'Maintenance' }).click();
      await tab.page.waitForURL('**/maintenance/new?**');
      expect(await tab.page.getByRole('checkbox', { name: 'Vault' }).isChecked()).toBe(true);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });
  }

  test('says of a part of the list that it is a part, and what fails elsewhere', async () => {
    const tab = await open('/?q=vault');
    expect(await tab.page.getByRole('heading', { level: 1 }).innerText()).toMatch(
      /^Everything shown is up\. 1 other is down\./,
    );
    const strip = tab.page.locator('#failing');
    expect(await strip.innerText()).toContain('All shown are up');
    expect(await tab.page.title()).not.toContain('All up');
    await strip.getByRole('link', { name: /not shown (?:is|are)/ }).click();
    await tab.page.waitForURL('**/?sort=state');
    expect(await rows(tab).first().innerText()).toContain('Down');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  test('shows a change as soon as it is committed, and keeps what is typed, ticked and in its place', async () => {
    const tab = await open('/');
    const order = () =>
      tab.page.locator('#monitor-rows [id]').evaluateAll((all) => all.map(({ id }) => id));
    const before = await order();
    const strip = tab.page.locator('#failing');
    const topOf = async (selector: string): Promise<number> =>
      (await tab.page.locator(selector).boundingBox())?.y ?? Number.NaN;
    const failing = async () =>
      (await strip.locator('> ul > li').allInnerTexts()).map((each) =>
        each.replaceAll(/\s+/g, ' ').trim(),
      );
    expect(await failing()).toEqual([
      expect.stringMatching(
        /^Checkout down \d+ min Status 503, expected 2xx Europe down first N\. America agrees \+263 ms Asia up/,
      ),
      expect.stringMatching(
        /^Search API verifying \d+ (?:s|min) Status 503, expected 2xx Asia down/,
      ),
    ]);
    const field = tab.page.getByLabel('Search by name, address, group or tag');
    await field.pressSequentially('half a wo');
    await tab.page.getByRole('checkbox', { name: 'Select Cart' }).check();
    const read = `#monitor-${demo.idOf('Cart')}`;
    const place = await topOf(read);
    expect(await topOf('#failing')).toBeLessThan(0);
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent, scope, layer)
      values (gen_random_uuid(), ${web.house.organisation}, ${demo.idOf('Wishlist')}, now(), now(), 'Frankfurt', 'Europe', 'everywhere', 'tcp')`;
    await expect
      .poll(() => tab.page.getByRole('heading', { level: 1 }).innerText())
      .toBe('Wishlist and Checkout are down');
    expect(await tab.page.locator(`#monitor-${demo.idOf('Wishlist')}`).innerText()).toContain(
      'Down',
    );
    expect(await tab.page.title()).toBe('Down: 2 · Antipode');
    expect(await order()).toEqual(before);
    // It joins the section above the list, and what is being read stays where it is.
    expect(await failing()).toContainEqual(expect.stringContaining('Wishlist'));
    expect(await strip.innerText()).toContain('2 down, 1 verifying');
    expect(await topOf(read)).toBeCloseTo(place, 0);
    expect(await tab.page.getByRole('checkbox', { name: 'Select all' }).isVisible()).toBe(true);
    expect(await field.inputValue()).toBe('half a wo');
    expect(await tab.page.getByRole('checkbox', { name: 'Select Cart' }).isChecked()).toBe(true);
    await web.sql`update incidents set resolved_at = now() where monitor_id = ${demo.idOf('Wishlist')}`;
    await expect
      .poll(() => tab.page.getByRole('heading', { level: 1 }).innerText())
      .toBe('Checkout is down');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  for (const scripts of [true, false])
    test(`filters compose by links, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const tab = await open('/', { scripts });
      const { page } = tab;
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('link', { name: 'Heartbeat' }).click();
      await page.waitForURL('**/?kind=heartbeat');
      await expect.poll(() => rows(tab).count()).toBe(2);
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('link', { name: 'Jobs 2' }).click();
      await page.waitForURL('**/?kind=heartbeat&group=*');
      expect(await page.getByRole('link', { name: 'All 2' }).count()).toBe(1);
      await page.getByRole('link', { name: 'Remove filter Jobs' }).click();
      await page.waitForURL('**/?kind=heartbeat');
      // What a strip says where it is not up, by pointer and to a screen reader.
      await page.goto(`${web.url}/?q=checkout`);
      const strip = page.locator('.monitors .strip');
      const title = await strip.locator('title').last().textContent();
      expect(title).toMatch(/^\d\d:\d\d–\d\d:\d\d: down \d+ min(?: \d+ s)?$/);
      expect(await strip.getAttribute('aria-label')).toContain(title ?? 'nothing');
      await page.goto(`${web.url}/?kind=heartbeat`);
      await page.getByRole('link', { name: 'Clear filter' }).click();
      await expect.poll(() => rows(tab).count()).toBe(demoCount);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

  test('works by keys: search, help, next row, selecting it, places', async () => {
    const tab = await open('/');
    const { page } = tab;
    await page.keyboard.press('/');
    await page
      .getByRole('searchbox', { name: 'Search or type a command' })
      .pressSequentially('osaka');
    await expect
      .poll(() => page.locator('#palette a').allInnerTexts())
      .toEqual(
        ['Store Osaka', 'Pause Store Osaka', 'Edit Store Osaka'].map((name) =>
          expect.stringContaining(name),
        ),
      );
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await expect
      .poll(() => page.getByRole('heading', { name: 'Keyboard shortcuts' }).isVisible())
      .toBe(true);
    await page.goBack();
    // What fails comes before the list.
    const focused = () => page.evaluate('document.activeElement.textContent');
    await page.keyboard.press('j');
    expect(await focused()).toBe('Checkout');
    // Past those of a closed group.
    for (const _ of ['Search API', 'Auth', 'Builds']) await page.keyboard.press('j');
    expect(await focused()).toBe('Builds');
    const box = page.getByRole('checkbox', { name: 'Select Builds' });
    await page.keyboard.press('x');
    expect(await box.isChecked()).toBe(true);
    await page.keyboard.press('x');
    expect(await box.isChecked()).toBe(false);
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.waitForURL('**/incidents');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  test('has on a phone what fails first with who saw it, rows of 64 px, chips in one line and a plus in the bar', async () => {
    const tab = await open('/', { width: 390 });
    const { page } = tab;
    const heights = async (selector: string): Promise<ReadonlySet<number>> => {
      const all = await page.locator(selector).all();
      return new Set(
        await Promise.all(
          all.map(async (each) => Math.round((await each.boundingBox())?.height ?? 0)),
        ),
      );
    };
    const failing = await heights('#failing > ul > li');
    expect([...failing].every((height) => height < 90)).toBe(true);
    expect(await page.locator('#failing .witnesses b').allInnerTexts()).toEqual([
      ...['Europe', 'N. America', 'Asia'],
      'Asia',
    ]);
    expect(await heights('#monitor-rows .monitor:visible')).toEqual(new Set([64]));
    expect([...(await heights('.filters > .chips ul'))].every((height) => height < 50)).toBe(true);
    const shown = page.getByRole('link', { name: 'New monitor' }).filter({ visible: true });
    expect(await shown.count()).toBe(1);
    await shown.click();
    await page.waitForURL('**/monitors/new');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  for (const scripts of [true, false])
    test(`${scripts ? 'with' : 'without'} scripts: a group in which nothing needs a look is closed, and is opened by its name`, async () => {
      const tab = await open('/', { scripts });
      const { page } = tab;
      const isShown = (name: string) => page.getByRole('link', { name, exact: true }).isVisible();
      const closed = page.locator('.group-row details:not([open])');
      expect(await closed.count()).toBe(1);
      expect(await closed.innerText()).toMatch(/^Jobs\s+2$/);
      expect([await isShown('Invoices'), await isShown('Auth')]).toEqual([false, true]);
      await page.locator('.group-row summary', { hasText: 'Jobs' }).click();
      expect(await isShown('Invoices')).toBe(true);
      // What the reader opened stays so when the page is refreshed.
      if (scripts) {
        await web.sql`update monitors set name = 'Bills' where id = ${demo.idOf('Invoices')}`;
        await expect.poll(() => isShown('Bills')).toBe(true);
        await web.sql`update monitors set name = 'Invoices' where id = ${demo.idOf('Invoices')}`;
      }
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

  test('acknowledges from the list of what fails', async () => {
    const tab = await open('/', {}, 'member');
    await tab.page.getByRole('button', { name: 'Acknowledge Checkout' }).click();
    await tab.page.waitForURL(`**/incidents/${demo.incident}`);
    await tab.page.goto(`${web.url}/`);
    expect(await tab.page.locator('#failing').innerText()).toContain(
      `${web.house.member.email} has it`,
    );
    await web.sql`update incidents set acknowledged_at = null, acknowledged_as = null where id = ${demo.incident}`;
    await tab.close();
  });

  test('folds what is down by one cause into a row that leads to its incidents', async () => {
    const { sql, house } = web;
    const incident = newId();
    await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
      values (${incident}, ${house.organisation}, ${demo.idOf('Cart')}, now(), now())`;
    const tab = await open('/', { width: 390 });
    const row = tab.page.locator('#failing > ul > li').first();
    expect(await row.innerText()).toContain('Cart');
    const cause = await makeCause(sql, house.organisation, incident, demo.incident);
    await expect.poll(() => row.innerText()).toContain('2 monitors');
    expect(await row.innerText()).toMatch(
      /^2 monitors\s+down \d+ min\s+One cause: Domain .*\.example$/,
    );
    expect(await tab.page.locator('#failing').innerText()).not.toContain('Checkout');
    await row.getByRole('link').click();
    await tab.page.waitForURL(`**/incidents?cause=${cause}`);
    expect(await tab.page.locator('main').innerText()).toContain('Checkout');
    expect(tab.complaints).toEqual([]);
    await sql`delete from causes where id = ${cause}`;
    await sql`delete from incidents where id = ${incident}`;
    await tab.close();
  });

  test('shows a viewer nothing that they may not do', async () => {
    const tab = await open('/', {}, 'viewer');
    expect(await tab.page.getByRole('checkbox').count()).toBe(0);
    expect(await tab.page.getByRole('link', { name: 'New monitor' }).count()).toBe(0);
    expect(await tab.page.getByRole('button', { name: 'Acknowledge' }).count()).toBe(0);
    await tab.close();
  });

  test('offers the reader’s own zone, and keeps it', async () => {
    const tab = await open('/', { zone: 'Asia/Tokyo' });
    const openMenu = () => tab.page.locator('[popovertarget="account-menu"]').click();
    const tokyo = tab.page.getByRole('button', { name: 'Asia/Tokyo' });
    await openMenu();
    await tokyo.click();
    await expect
      .poll(() => tab.page.locator('[name="zone"][aria-pressed="true"]').textContent())
      .toMatch(/Asia\/Tokyo/);
    await openMenu();
    expect(await tokyo.getAttribute('aria-pressed')).toBe('true');
    await tab.close();
  });

  test.each([
    ['the dashboard', () => '/'],
    ['a monitor', () => `/monitors/${demo.idOf('Checkout')}`],
  ])('%s has no link, button or box smaller than a finger', async (_, path) => {
    const tab = await open(path(), { width: 390 });
    const targets = await tab.page.evaluate<Reach[]>(reachOfTargets);
    expect(targets.length).toBeGreaterThan(15);
    expect(targets.filter(({ wide, high, isHit }) => !isHit || wide < 43 || high < 43)).toEqual([]);
    await tab.close();
  });
});
