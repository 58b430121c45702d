import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { barriers, openAs, openTab, type Tab } from '../support/browser.ts';
import { createTcpProxy } from '../support/connections.ts';
import { type Demo, seedDemo } from '../support/demo.ts';
import { describeInBrowser } from '../support/in-browser.ts';
import { openReceiver, type Receiver, says } from '../support/receivers.ts';
import { startWeb, type TestWeb } from '../support/web.ts';

/** What holds for forms of all pages, in a real browser. */

describeInBrowser('forms', (browser) => {
  let web: TestWeb;
  let demo: Demo;
  let receiver: Receiver;
  beforeAll(async () => {
    web = await startWeb({ host: 'localhost' });
    demo = await seedDemo(web.sql, web.house.organisation, Date.now());
    receiver = await openReceiver();
    receiver.answer(says(200));
  });
  afterAll(async () => {
    await receiver.close();
    await web.close();
  });

  const open = async (path: string, scripts = true): Promise<Tab> => {
    const tab = await openAs(browser(), web, path, 'owner', { scripts });
    tab.page.setDefaultTimeout(10_000);
    return tab;
  };

  test('a button that copies says so, and keeps its symbol', async () => {
    const tab = await open(`/monitors/${demo.idOf('Nightly backup')}`);
    await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copy = tab.page.locator('[data-copy]').filter({ visible: true }).first();
    await copy.click();
    await expect.poll(() => copy.innerText()).toContain('Copied');
    expect(await copy.locator('svg').count()).toBe(1);
    expect(await tab.page.evaluate('navigator.clipboard.readText()')).toBe(
      await copy.getAttribute('data-copy'),
    );
    await tab.close();
  });

  describe('the editor of a status page', () => {
    const changed = async ({ page }: Tab): Promise<void> => {
      await page.getByLabel('Public name of Checkout', { exact: true }).fill('The till');
      await page.getByText('Appearance', { exact: true }).click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Harbour');
    };
    const frame = ({ page }: Tab) => page.frameLocator('#preview iframe');

    test('shows beside it what is changed, as visitors will read it, before it is saved', async () => {
      const tab = await open(`/status-pages/${demo.page.id}`);
      await frame(tab).getByText('Checkout is down').waitFor();
      await changed(tab);
      await tab.page.getByRole('textbox', { name: 'Name', exact: true }).blur();
      await frame(tab).getByText('The till is down').waitFor();
      await frame(tab).getByRole('heading', { name: 'Harbour' }).waitFor();
      await tab.page.getByText('Add services', { exact: true }).click();
      await tab.page.getByRole('searchbox', { name: 'Search' }).fill('nightly');
      await tab.page.getByRole('searchbox', { name: 'Search' }).blur();
      await tab.page.getByRole('checkbox', { name: /Nightly backup/ }).check();
      await tab.page.getByRole('button', { name: 'Add selected' }).click();
      await tab.page.getByLabel('Public name of Nightly backup').waitFor();
      await frame(tab).getByRole('link', { name: 'Nightly backup' }).waitFor();
      await tab.page.getByRole('button', { name: 'Move Nightly backup up' }).click();
      expect(await tab.page.getByLabel('Public name of Checkout').inputValue()).toBe('The till');
      const [page] = await web.sql`select name from status_pages where id = ${demo.page.id}`;
      expect(page?.name).toBe('Shop status');
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

    test('orders rows that are dragged, a heading with its monitors, and saves the order once', async () => {
      const tab = await open(`/status-pages/${demo.page.id}`);
      const { page } = tab;
      const save = page.getByRole('button', { name: 'Save', exact: true });
      expect(await save.isDisabled()).toBe(true);
      const names = async () =>
        Promise.all(
          (await page.getByLabel(/^Public name of/).all()).map((each) => each.inputValue()),
        );
      const saved = ['Shop', 'Checkout', 'Search', 'Payments'];
      const others = ['Platform', 'Sign-in', 'Pictures', 'Mail'];
      expect(await names()).toEqual([...saved, ...others, 'Shop in Oslo']);
      const placeOf = async (at: number) =>
        (await page.locator('[data-drag]').nth(at).boundingBox()) ?? { x: 0, y: 0, height: 0 };
      const [from, to] = [await placeOf(0), await placeOf(4)];
      await page.mouse.move(from.x + 4, from.y + 4);
      await page.mouse.down();
      await page.mouse.move(to.x + 4, to.y + to.height, { steps: 8 });
      await page.mouse.up();
      await page.getByText('Unsaved changes').waitFor();
      expect(await names()).toEqual([...others, ...saved, 'Shop in Oslo']);
      await save.click();
      await page.getByText('Saved.').waitFor();
      expect(await names()).toEqual([...others, ...saved, 'Shop in Oslo']);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

    test('does the same without scripts, by a button', async () => {
      const tab = await open(`/status-pages/${demo.page.id}`, false);
      await changed(tab);
      await tab.page.getByRole('button', { name: 'Refresh' }).click();
      await frame(tab).getByText('The till is down').waitFor();
      await tab.close();
    });
  });

  describe('checked boxes stay checked through a test or a preview, and are saved', () => {
    const tick = async ({ page }: Tab, ...names: readonly string[]): Promise<void> => {
      for (const name of names) await page.getByRole('checkbox', { name, exact: true }).check();
    };
    const ticked = ({ page }: Tab) =>
      page
        .locator('.chosen input:checked')
        .evaluateAll((all) => all.map((each) => each.parentElement?.textContent).toSorted());
    const order = ({ page }: Tab) => page.locator('.chosen label').allInnerTexts();

    const sendTest = async ({ page }: Tab): Promise<void> => {
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.locator('#trial').waitFor();
    };
    const chosenBy = async (channel: string) => {
      const rows = await web.sql<{ id: string }[]>`
        select coalesce(monitor_id, group_id) as id from channel_choices where channel_id = ${channel}`;
      return rows.map(({ id }) => id).toSorted();
    };
    const idsOf = (monitors: readonly string[], groups: readonly string[]) =>
      [...monitors.map(demo.idOf), ...groups.map(demo.groupOf)].toSorted();

    for (const scripts of [true, false])
      test(`of a channel, new and changed, ${scripts ? 'with' : 'without'} scripts`, async () => {
        const tab = await open('/alerts/new?kind=ntfy', scripts);
        const { page } = tab;
        await page.getByLabel('Server').fill(receiver.url);
        await page.getByLabel('Topic').fill('ops');
        await page.getByLabel('Name').fill(`Chosen ${scripts}`);
        await page.getByLabel('Selected groups and monitors').check();
        await tick(tab, 'Wishlist', 'Webhooks', 'Stores');
        const before = await order(tab);
        await sendTest(tab);
        expect(await ticked(tab)).toEqual(['Stores', 'Webhooks', 'Wishlist']);
        expect(await order(tab)).toEqual(before);
        await page.getByRole('button', { name: 'Create channel' }).click();
        await page.waitForURL((url) => /^\/alerts\/[0-9a-f-]{36}$/.test(url.pathname));
        const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
        expect(await chosenBy(id)).toEqual(idsOf(['Wishlist', 'Webhooks'], ['Stores']));

        // What was stored comes first, and stays there when it is unticked.
        await page.goto(`${web.url}/alerts/${id}/edit`);
        const stored = await order(tab);
        expect(stored.slice(0, 1)).toEqual(['Stores']);
        await page.getByRole('checkbox', { name: 'Webhooks', exact: true }).uncheck();
        await tick(tab, 'Vault');
        await sendTest(tab);
        expect(await ticked(tab)).toEqual(['Stores', 'Vault', 'Wishlist']);
        expect(await order(tab)).toEqual(stored);
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await page.waitForURL((url) => /^\/alerts\/[0-9a-f-]{36}$/.test(url.pathname));
        expect(await chosenBy(id)).toEqual(idsOf(['Wishlist', 'Vault'], ['Stores']));
        expect(tab.complaints).toEqual([]);
        await tab.close();
      });

    for (const scripts of [true, false])
      test(`of maintenance, new and changed, ${scripts ? 'with' : 'without'} scripts`, async () => {
        const tab = await open(`/maintenance/new?monitor=${demo.idOf('Vault')}`, scripts);
        const { page } = tab;
        const show = async (words: string) => {
          await page.getByRole('button', { name: 'Refresh' }).click();
          await expect.poll(() => page.locator('#ahead').innerText()).toContain(words);
        };
        const coveredBy = async (window: string) => {
          const rows = await web.sql<{ id: string }[]>`
            select coalesce(monitor_id, group_id) as id from maintenance_choices where window_id = ${window}`;
          return rows.map(({ id }) => id).toSorted();
        };
        await page.getByLabel('Name').fill('Kept');
        await page.getByLabel('Starts').fill('2031-03-24T02:30');
        await page.getByLabel('Ends').fill('2031-03-24T03:30');
        const before = await order(tab);
        await tick(tab, 'Wishlist', 'Stores');
        await show('24 Mar 2031');
        expect(await ticked(tab)).toEqual(['Stores', 'Vault', 'Wishlist']);
        expect(await order(tab)).toEqual(before);
        await page.getByRole('button', { name: 'Schedule', exact: true }).click();
        await page.waitForURL(/\/maintenance\/[0-9a-f-]{36}$/);
        const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
        expect(await coveredBy(id)).toEqual(idsOf(['Vault', 'Wishlist'], ['Stores']));

        await page.goto(`${web.url}/maintenance/${id}/edit`);
        await page.getByRole('checkbox', { name: 'Vault', exact: true }).uncheck();
        await tick(tab, 'Webhooks');
        await page.getByLabel('Starts').fill('2031-03-25T02:30');
        await page.getByLabel('Ends').fill('2031-03-25T03:30');
        await show('25 Mar 2031');
        expect(await ticked(tab)).toEqual(['Stores', 'Webhooks', 'Wishlist']);
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await page.waitForURL(/\/maintenance\/[0-9a-f-]{36}$/);
        expect(await coveredBy(id)).toEqual(idsOf(['Webhooks', 'Wishlist'], ['Stores']));
        expect(tab.complaints).toEqual([]);
        await tab.close();
      });
  });

  describe('the filter above many monitors', () => {
    const filter = ({ page }: Tab) => page.getByPlaceholder('Filter by name, group or tag');
    const shown = ({ page }: Tab) =>
      page.locator('[name="monitors[]"]:visible').evaluateAll((all) => all.length);

    test('finds by name, group and tag, keeps what is ticked, and sends nothing by Enter', async () => {
      await web.sql`update monitors set tags = '{rare}' where id = ${demo.idOf('Wishlist')}`;
      const tab = await open(`/maintenance/new?monitor=${demo.idOf('Vault')}`);
      const { page } = tab;
      const all = await shown(tab);
      await filter(tab).fill('RARE');
      expect(await shown(tab)).toBe(1);
      await page.getByRole('checkbox', { name: 'Wishlist', exact: true }).check();
      await filter(tab).fill('stores');
      expect(await shown(tab)).toBe(await inStores());
      await filter(tab).fill('vault');
      expect(await shown(tab)).toBe(1);
      await filter(tab).press('Enter');
      await filter(tab).fill('');
      expect(await shown(tab)).toBe(all);
      expect(new URL(page.url()).pathname).toBe('/maintenance/new');
      expect(await page.getByRole('checkbox', { name: 'Wishlist', exact: true }).isChecked()).toBe(
        true,
      );
      expect(tab.complaints).toEqual([]);
      await tab.close();
    });

    const inStores = async (): Promise<number> => {
      const rows = await web.sql`
        select 1 from monitors m left join groups g on g.id = m.group_id
        where m.organisation_id = ${web.house.organisation}
          and concat_ws(' ', m.name, g.name, array_to_string(m.tags, ' ')) ilike '%stores%'`;
      return rows.length;
    };

    test('is absent without scripts: all are listed', async () => {
      const tab = await open('/maintenance/new', false);
      expect(await filter(tab).isVisible()).toBe(false);
      expect(await shown(tab)).toBeGreaterThan(12);
      await tab.close();
    });
  });

  describe('Enter in a field saves', () => {
    /** What the page comes to, by its address. */
    const saved = async ({ page }: Tab, path: RegExp): Promise<string> => {
      await page.waitForURL((url) => path.test(url.pathname));
      return new URL(page.url()).pathname.split('/').at(-1) ?? '';
    };

    for (const scripts of [true, false]) {
      const how = scripts ? 'with scripts' : 'without scripts';

      test(`${how}: a monitor, and adds no condition`, async () => {
        const tab = await open('/monitors/new', scripts);
        await tab.page.getByLabel('Address', { exact: true }).fill('https://enter.shop.example/');
        await tab.page.getByLabel('Address', { exact: true }).press('Enter');
        const id = await saved(tab, /^\/monitors\/[0-9a-f-]{36}$/);
        expect(await web.sql`select target, config from monitors where id = ${id}`).toEqual([
          { target: 'https://enter.shop.example/', config: { alert_after_s: 15 } },
        ]);
        await web.sql`delete from monitors where id = ${id}`;
        await tab.close();
      });

      test(`${how}: a channel, and sends no test`, async () => {
        const tab = await open('/alerts/new?kind=ntfy', scripts);
        const before = receiver.got.length;
        await tab.page.getByLabel('Server').fill(receiver.url);
        await tab.page.getByLabel('Topic').fill('ops');
        await tab.page.getByLabel('Topic').press('Enter');
        await saved(tab, /^\/alerts\/[0-9a-f-]{36}$/);
        expect(receiver.got).toHaveLength(before);
        await tab.close();
      });

      test(`${how}: maintenance, and shows no preview`, async () => {
        const tab = await open('/maintenance/new', scripts);
        await tab.page.getByRole('checkbox', { name: 'Vault', exact: true }).check();
        await tab.page.getByLabel('Name').fill('Entered');
        await tab.page.getByLabel('Name').press('Enter');
        await saved(tab, /^\/maintenance\/[0-9a-f-]{36}$/);
        expect(await tab.page.locator('h1').innerText()).toContain('Entered');
        await tab.close();
      });
    }

    test('of a list of monitors changes none of them', async () => {
      const tab = await open('/?q=vault');
      await tab.page.getByRole('checkbox', { name: 'Select Vault' }).check();
      await tab.page.getByRole('checkbox', { name: 'Select Vault' }).press('Enter');
      await tab.page.getByRole('button', { name: 'Pause' }).waitFor();
      expect(
        await web.sql`select paused_at from monitors where id = ${demo.idOf('Vault')}`,
      ).toEqual([{ paused_at: null }]);
      expect(await tab.page.getByRole('checkbox', { name: 'Select Vault' }).isChecked()).toBe(true);
      await tab.close();
    });
  });

  describe('a form that is sent while the service is away', () => {
    const bar = ({ page }: Tab) => page.getByText('Antipode did not answer. Nothing is lost.');
    const made = async (name: string): Promise<number> =>
      (await web.sql`select 1 from monitors where name = ${name}`).length;

    test('keeps its entries, says so, and is sent once, by itself or by a press, when it is back', async () => {
      const proxy = await createTcpProxy(web.url);
      const tab = await openTab(browser(), proxy.through(web.url), {
        cookie: await web.cookieOf('owner'),
      });
      const { page } = tab;
      page.setDefaultTimeout(10_000);
      for (const [name, isPressed] of [
        ['By itself', false],
        ['By a press', true],
      ] as const) {
        await page.goto(proxy.through(`${web.url}/monitors/new`));
        await page.getByLabel('Address', { exact: true }).fill('https://away.shop.example/');
        await page.getByLabel(/^Name/).fill(name);
        proxy.cut();
        await page.getByRole('button', { name: 'Create monitor' }).click();
        await bar(tab).waitFor();
        expect(await barriers(page)).toEqual([]);
        // What is shown is not out of date.
        expect(await page.evaluate("getComputedStyle(document.querySelector('main')).filter")).toBe(
          'none',
        );
        expect(await page.getByLabel(/^Name/).inputValue()).toBe(name);
        await page.getByRole('button', { name: 'Create monitor' }).click();
        expect(await made(name)).toBe(0);
        proxy.heal();
        if (isPressed) await page.getByRole('button', { name: 'Try again' }).click();
        await page.waitForURL((url) => /^\/monitors\/[0-9a-f-]{36}$/.test(url.pathname));
        expect(await made(name)).toBe(1);
      }
      await tab.close();
      await proxy.close();
    });

    test('does so also on pages without navigation: of a mail’s link, and with a password', async () => {
      const proxy = await createTcpProxy(web.url);
      const tab = await openTab(browser(), proxy.through(web.url));
      const { page } = tab;
      page.setDefaultTimeout(10_000);
      const press = async (name: string): Promise<void> => {
        proxy.cut();
        await page.getByRole('button', { name, exact: true }).click();
        await bar(tab).waitFor();
        expect(await barriers(page)).toEqual([]);
      };
      const link = `/acknowledge/${demo.channels.links.acknowledge}`;
      await page.goto(proxy.through(`${web.url}${link}`));
      await press('Acknowledge');
      proxy.heal();
      await page.getByRole('heading', { name: 'Acknowledged', exact: true }).waitFor();

      await page.goto(proxy.through(`${web.url}/sign-in`));
      await page.getByLabel('E-mail').fill('ana@shop.example');
      await page.getByLabel('Password').fill('correct horse');
      await press('Sign in');
      expect(await page.getByLabel('Password').inputValue()).toBe('correct horse');
      const kept = 'JSON.stringify([localStorage, sessionStorage, history.state, location.href])';
      expect(await page.evaluate(kept)).not.toContain('horse');
      proxy.heal();
      await page.getByText('The e-mail address or the password is wrong.').waitFor();
      await tab.close();
      await proxy.close();
    });

    test('and whose answer was lost is executed once, and gets the same answer when it is sent again', async () => {
      const tab = await open('/monitors/new');
      const { page } = tab;
      const bodies: string[] = [];
      await page.route(`${web.url}/monitors/new`, async (route) => {
        await route.fetch({ maxRedirects: 0 });
        // Before that, a repeat is answered that the first is being worked on.
        bodies.push(route.request().postData() ?? '');
        await route.abort();
      });
      await page.getByLabel('Address', { exact: true }).fill('https://lost.shop.example/');
      await page.getByLabel(/^Name/).fill('Lost');
      await page.getByRole('button', { name: 'Create monitor' }).click();
      await expect.poll(() => bodies.length).toBe(1);
      expect(await made('Lost')).toBe(1);
      const sent = new URLSearchParams(bodies[0]);
      const again = await web.post(
        '/monitors/new',
        Object.fromEntries([...sent.keys()].map((name) => [name, sent.getAll(name)])),
        {
          as: 'owner',
          headers: { 'sec-fetch-site': 'same-origin' },
        },
      );
      expect(again.status).toBe(303);
      const [row] = await web.sql<{ id: string }[]>`select id from monitors where name = 'Lost'`;
      expect(again.headers.get('location')).toBe(`/monitors/${row?.id}`);
      expect(await made('Lost')).toBe(1);
      await tab.close();
    });
  });
});
