import type { Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createChannel } from '../../../shared/api/channels.ts';
import { createMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { openTab, phone } from '../../support/browser.ts';
import { describeInBrowser } from '../../support/in-browser.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

let web: TestWeb;
let other: TestOrganisation;
type Person = TestOrganisation['owner'];

const make = async (name: string, by: Person, tags: readonly string[] = []): Promise<string> => {
  const input = { type: 'https', target: `https://${name.toLowerCase()}.example/`, name, tags };
  const { body } = await web.gate.execute(createMonitor, by.caller, rawInput(createMonitor, input));
  return (body as { id: string }).id;
};

let shop: string;
let cart: string;
beforeAll(async () => {
  web = await startWeb();
  other = await createTestOrganisation(web.sql);
  await web.sql`insert into probes (id, name, continent) values (gen_random_uuid(), 'P', 'Europe')`;
  shop = await make('Shop', web.house.owner, ['pricing']);
  cart = await make('Cart', web.house.owner, ['pricing']);
  const paused = { monitor_id: cart, enabled: false };
  await web.gate.execute(updateMonitor, web.house.owner.caller, rawInput(updateMonitor, paused));
  await make('Theirs', other.owner, ['theirs']);
  const channel = {
    kind: 'slack',
    name: 'On call',
    config: { url: 'https://hooks.slack.com/services/T1/B1/path' },
    try: false,
  };
  await web.gate.execute(createChannel, web.house.owner.caller, rawInput(createChannel, channel));
});
afterAll(() => web.close());

/** The names that the search shows, in their order. */
const found = async (q: string, as: Person = web.house.owner, cookie = ''): Promise<string[]> => {
  const { text } = await web.get(`/search?q=${encodeURIComponent(q)}`, {
    cookie: [await web.cookieOf(as), cookie].join('; '),
  });
  return [...text.matchAll(/class="found-name">(.*?)<\/span>/g)].map(([, name = '']) =>
    name.replaceAll(/<\/?mark>/g, ''),
  );
};

describe('the search', () => {
  test('says how a monitor is and when an incident was, with what was searched for in bold', async () => {
    const id = newId();
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, resolved_at)
      values (${id}, ${web.house.organisation}, ${shop}, '2026-03-02T10:00:00Z', '2026-03-02T10:05:00Z')`;
    const text = await web.text('/search?q=sho', 'owner');
    await web.sql`delete from incidents where id = ${id}`;
    expect(text).toContain('<span class="found-name"><mark>Sho</mark>p</span>');
    expect(text).toMatch(/Pending<\/span> · https:\/\/<mark>sho<\/mark>p\.example/);
    expect(text).toMatch(/Resolved<\/span> · <time[^>]*>2 Mar 2026/);
  });

  test('pauses active ones, resumes paused ones, and asks for a name where none is typed', async () => {
    expect(await found('pause shop')).toEqual(['Pause Shop']);
    expect(await found('resume cart')).toEqual(['Resume Cart']);
    expect(await found('pause cart')).toEqual([]);
    expect(await found('cart')).toEqual(['Cart', 'Resume Cart', 'Edit Cart']);
    const text = await web.text('/search?q=pause', 'owner');
    expect(text).toContain('Type the name of a monitor');
  });

  test('finds without accents, with one typo in each word, and by kind', async () => {
    const rows = [
      { type: 'https', target: 'https://db.example/', name: 'Postgres' },
      { type: 'heartbeat', name: 'São Paulo', config: { period_s: 60, grace_s: 60 } },
    ];
    for (const input of rows)
      await web.gate.execute(createMonitor, web.house.owner.caller, rawInput(createMonitor, input));
    expect((await found('sao paulo'))[0]).toBe('São Paulo');
    expect((await found('SÃO'))[0]).toBe('São Paulo');
    for (const q of ['pstgres', 'Postrges', 'postgress', 'pastgres', 'db pstgres'])
      expect((await found(q))[0], q).toBe('Postgres');
    expect(await found('pst')).toEqual([]);
    expect((await found('heartbeat'))[0]).toBe('São Paulo');
    expect(await found('incidnets')).toEqual(['Go to Incidents']);
    expect(await web.text(`/?q=sao`, 'owner')).toContain('São Paulo');
    expect(await found('theirx')).toEqual([]);
  });

  test('knows tags, people and channels of its own organisation alone', async () => {
    expect(await found('pricing')).toEqual(['Cart', 'Shop', 'pricing']);
    expect(await found('theirs')).toEqual([]);
    expect(await found(web.house.admin.email)).toEqual([web.house.admin.email]);
    expect(await found(other.owner.email)).toEqual([]);
    expect(await found('slack')).toEqual(['On call', 'New channel']);
  });

  test('offers only what its reader may do', async () => {
    const all = ['New monitor', 'Invite member', 'Mute all alerts for 1 hour', 'Open audit log'];
    expect(await found('')).toEqual(expect.arrayContaining(all));
    const seen = await found('', web.house.viewer);
    expect(seen).toContain('Change password');
    expect(all.filter((name) => seen.includes(name))).toEqual([]);
    expect(await found('pause shop', web.house.viewer)).toEqual([]);
  });

  test('begins with what its reader opened last, and only with what is theirs', async () => {
    const opened = await web.get(`/monitors/${shop}`, { as: 'owner' });
    const [recent = ''] = opened.headers
      .getSetCookie()
      .flatMap((each) => /^recent=[^;]+/.exec(each) ?? []);
    expect(recent).toBe(`recent=${shop}`);
    expect((await found('', web.house.owner, recent))[0]).toBe('Shop');
    expect(await found('', other.owner, recent)).not.toContain('Shop');
    expect(await found('', web.house.owner, 'recent=x.1.%00')).toContain('New monitor');
  });
});

describeInBrowser('the palette and the bar of a phone', (browser) => {
  test('earlier input is replaced by the next', async () => {
    const { page, complaints, close } = await openTab(browser(), web.url, {
      cookie: await web.cookieOf('owner'),
    });
    await page.goto(`${web.url}/incidents`);
    for (const q of ['shop', 'mute all']) {
      await page.keyboard.press('/');
      // On a full machine the palette opens a moment later.
      await page.locator('input[type="search"]:focus').waitFor();
      await page.keyboard.type(q);
      await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe(q);
      await page.keyboard.press('Escape');
    }
    const names = () => page.locator('#palette .found-name').allTextContents();
    await expect.poll(names).toEqual(['Mute all alerts for 1 hour']);
    // The answer to what is asked anew comes while the form waits for the service.
    const late = (ms: number) => async (route: Route) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      await route.continue();
    };
    await page.route('**/search?q=*', late(200));
    await page.route('**/favicon.svg', late(600));
    await page.keyboard.press('/');
    await page.locator('#palette[open]').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#muted').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('Enter before the results opens the first of them, and a theme stays on the page', async () => {
    const { page, complaints, close } = await openTab(browser(), web.url, {
      cookie: await web.cookieOf('owner'),
    });
    await page.goto(`${web.url}/incidents`);
    const type = async (q: string) => {
      await page.keyboard.press('/');
      await page.locator('input[type="search"]:focus').waitFor();
      await page.keyboard.insertText(q);
      await page.keyboard.press('Enter');
    };
    await type('dark');
    await page.locator('html[data-theme=dark]').waitFor();
    expect(new URL(page.url()).pathname).toBe('/incidents');
    await type('shop');
    await page.waitForURL(`**/monitors/${shop}`);
    expect(complaints).toEqual([]);
    await close();
  });

  for (const scripts of [true, false])
    test(`five items are in reach, and the others behind More, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const { page, close } = await openTab(browser(), web.url, {
        width: phone,
        scripts,
        cookie: await web.cookieOf('owner'),
      });
      await page.goto(`${web.url}/incidents`);
      const bar = page.getByRole('navigation', { name: 'Main' });
      expect(await bar.getByRole('link').allInnerTexts()).toEqual([
        'Monitors',
        'Incidents',
        'Alerts',
        'Search',
      ]);
      expect(await bar.evaluate((each) => each.getBoundingClientRect().bottom)).toBe(900);
      await bar.getByRole('button', { name: 'More' }).click();
      await bar.getByRole('link', { name: 'API & assistants' }).click();
      await page.waitForURL(/\/tokens$/);
      await close();
    });
});
