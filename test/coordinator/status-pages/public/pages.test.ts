import { brotliCompressSync } from 'node:zlib';
import { parse, parseFragment } from 'parse5';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pageLanguages } from '../../../../coordinator/status-pages/model.ts';
import {
  atomFeed,
  badge,
  jsonFeed,
  maintenanceCalendar,
  pageJson,
  xmlText,
} from '../../../../coordinator/status-pages/public/feeds.ts';
import { documentOf } from '../../../../coordinator/status-pages/public/frame.ts';
import { localTimes, scriptName } from '../../../../coordinator/status-pages/public/local-times.ts';
import {
  createMemory,
  type Memory,
} from '../../../../coordinator/status-pages/public/publishing.ts';
import { logoOfPage, publishedPage } from '../../../../coordinator/status-pages/public/queries.ts';
import {
  embedPage,
  historyPage,
  mainPage,
  measuredPage,
  monthBeside,
  sentenceOf,
  servicePage,
  styleBody,
} from '../../../../coordinator/status-pages/public/render.ts';
import { verdictOf } from '../../../../coordinator/status-pages/public/snapshot.ts';
import { createGroup } from '../../../../shared/api/groups.ts';
import { createMonitor } from '../../../../shared/api/monitors.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  createStatusPage,
  orderStatusPage,
} from '../../../../shared/api/status-pages.ts';
import { gateBench } from '../../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../../support/people.ts';
import {
  dayUp,
  pageNow,
  publicIncident,
  publicMonitor,
  publicPage,
  publicView,
} from '../../../support/web.ts';

describe('pages', () => {
  const minute = 60_000;
  const day = 86_400_000;
  const style = '/status/shop/style.css';

  const sentence = (
    page: Parameters<typeof publicView>[0],
    language: (typeof pageLanguages)[number] = 'en',
  ): string => sentenceOf(verdictOf(page), publicView(page, { language }));

  /** Narrow and wide blanks of every sort, as one. */
  const plain = (text: string): string =>
    withoutTimes(text).replaceAll(/[\u00a0\u202f\u2009]/g, ' ');

  /** Its times as words of the sentences that they are in. */
  const withoutTimes = (text: string): string => text.replaceAll(/<\/?time\b[^>]*>/g, '');

  describe('the one sentence', () => {
    const [checkout, search] = [
      publicMonitor('Checkout', { state: 'down' }),
      publicMonitor('Search'),
    ];

    test('says first what is down, then what is maintained, and else that everything is up', () => {
      expect(sentence(publicPage({ rows: [checkout, search] }))).toBe('Checkout is down');
      expect(sentence(publicPage({ rows: [checkout, { ...search, state: 'down' }] }))).toBe(
        'Checkout and Search are down',
      );
      expect(sentence(publicPage({ rows: [{ ...checkout, state: 'maintenance' }, search] }))).toBe(
        'Under maintenance: Checkout',
      );
      expect(sentence(publicPage({ rows: [search, { ...search, state: 'paused' }] }))).toBe(
        'Everything is up',
      );
      expect(sentence(publicPage({ rows: [{ ...search, state: 'pending' }] }))).toBe('No data yet');
      expect(sentence(publicPage())).toBe('Nothing is published here yet');
      const many = Array.from({ length: 5 }, (_, index) =>
        publicMonitor(`${index}`, { state: 'down' }),
      );
      expect(sentence(publicPage({ rows: [...many, search] }))).toBe('5 of 6 services are down');
    });

    test('is in four languages', () => {
      const page = publicPage({ rows: [checkout, { ...search, state: 'down' }] });
      expect(pageLanguages.map((language) => plain(sentence(page, language)))).toEqual([
        'Checkout and Search are down',
        'Checkout und Search: ausgefallen',
        'Checkout et Search : en panne',
        'Checkout y Search: sin servicio',
      ]);
    });
  });

  describe('times and numbers', () => {
    const down = publicMonitor('Checkout', {
      state: 'down',
      percent: { 7: 99.9999, 30: 99.987, 90: 12.5 },
    });
    const page = publicPage({
      rows: [down],
      incidents: [publicIncident(down, { startedAt: pageNow - 74 * minute })],
    });

    test('are formatted as in each language, in the time zone of the page', () => {
      const seen = pageLanguages.map((language) =>
        plain(mainPage(publicView(page, { language }), style)),
      );
      expect(seen[0]).toContain('Since 12:54 CET, for 1 hour, 14 minutes.');
      expect(seen[1]).toContain('Seit 12:54 MEZ, bisher 1 Stunde, 14 Minuten.');
      expect(seen[2]).toContain('Depuis 12:54 UTC+1, soit 1 heure et 14 minutes.');
      expect(seen[3]).toContain('Desde 12:54 CET, hace 1 hora y 14 minutos.');
      expect(seen.map((text) => /<span class="percent">([^<]*)</.exec(text)?.[1])).toEqual([
        '12.5% · 90 days',
        '12,5 % · 90 Tage',
        '12,5 % · 90 jours',
        '12,5 % · 90 días',
      ]);
    });

    test('say a day once of what began and ended on it', () => {
      const monitor = publicMonitor('Checkout');
      const over = (startedAt: number, resolvedAt: number) =>
        publicIncident(monitor, { startedAt, resolvedAt });
      const past = publicPage({
        rows: [monitor],
        incidents: [
          over(pageNow - 60 * minute, pageNow),
          over(pageNow - day - 60 * minute, pageNow - day),
        ],
      });
      const spans = pageLanguages.map((language) =>
        [
          ...withoutTimes(mainPage(publicView(past, { language }), style)).matchAll(
            /<p class="soft">([^<]*?14:08[^<]*?)\. /g,
          ),
        ].map(([, span]) => plain(span ?? '')),
      );
      expect(spans).toEqual([
        ['13:08–14:08 CET', '21 Nov, 13:08–14:08 CET'],
        ['13:08–14:08 Uhr MEZ', '21. Nov., 13:08–14:08 Uhr MEZ'],
        ['13:08 – 14:08 UTC+1', '21 nov., 13:08 – 14:08 UTC+1'],
        ['13:08–14:08 CET', '21 nov, 13:08–14:08 CET'],
      ]);
    });

    test('are never rounded up', () => {
      const text = plain(servicePage(publicView(page), style, down.id) ?? '');
      expect([...text.matchAll(/<dd>([^<]*)<\/dd>/g)].map(([, value]) => value)).toEqual([
        '99.99%',
        '99.98%',
        '12.5%',
      ]);
    });
  });

  describe('a page', () => {
    test('weighs at most 20 KB with its style, also with fifty services of which each had its own trouble', () => {
      const rows = Array.from({ length: 50 }, (_, index) =>
        publicMonitor(`Service number ${index}`, {
          days: Array.from({ length: 90 }, (_, at) => ({
            ...dayUp(pageNow - (90 - at) * day),
            down: (at * 7 + index * 13) % 11 === 0 ? minute : 0,
          })),
          percent: { 7: 99.1, 30: 99.2 + index / 100, 90: 98.5 + index / 77 },
        }),
      );
      const text = mainPage(publicView(publicPage({ rows })), style);
      expect(brotliCompressSync(Buffer.from(text)).length + styleBody().brotli.length).toBeLessThan(
        20 * 1024,
      );
    });

    test('has bars with a text of what they show, and a legend', () => {
      const days = Array.from({ length: 90 }, (_, at) => ({
        ...dayUp(pageNow - (90 - at) * day),
        ...(at === 3
          ? { up: day / 2, down: day / 2 }
          : at === 4 || at === 5
            ? { up: 0, maintenance: day }
            : at === 6
              ? { up: 0, unknown: day }
              : {}),
      }));
      const text = mainPage(
        publicView(publicPage({ rows: [publicMonitor('Checkout', { days })] })),
        style,
      );
      expect(text).toContain(
        'aria-label="The last 90 days: an outage on 1 day, maintenance on 2 days, no data on 1 day, up on 86 days"',
      );
      expect(text).toContain(
        '<path class="f-down" d="M3 12h0.75"><title>27 Aug: outage, 12\u00a0hours</title></path>',
      );
      expect(text).toContain(
        '<path class="f-unknown" d="M6 12h0.75"><title>30 Aug: no data</title></path>',
      );
      expect(text).toContain('aria-hidden="true">24 Aug<span>today</span></li>');
      expect(text).toMatch(
        /One bar per day:.*up<\/span>.*outage<\/span>.*maintenance<\/span>.*no data<\/span>/,
      );
    });

    test('draws a line instead of bars before the first day with data, of a month at least', () => {
      const days = Array.from({ length: 90 }, (_, at) => {
        const begun = dayUp(pageNow - (90 - at) * day);
        return at < 88 ? { ...begun, up: 0 } : begun;
      });
      const barsOf = (given: typeof days): string =>
        /<svg class="bars".*?<\/svg>/.exec(
          mainPage(
            publicView(publicPage({ rows: [publicMonitor('Cart', { days: given })] })),
            style,
          ),
        )?.[0] ?? '';
      const young = barsOf(days);
      expect(young).toContain('aria-label="The last 2 days: up on 2 days"');
      expect([...young.matchAll(/ d="([^"]*)"/g)].map(([, d]) => d)).toEqual([
        'M0 12h27.75',
        'M28 12h1.75',
      ]);
      const unseen = barsOf(days.slice(0, 88));
      expect(unseen).toContain('aria-label="no data"');
      expect([...unseen.matchAll(/class="(f-\w+)"/g)].map(([, name]) => name)).toEqual([
        'f-unknown',
      ]);
    });

    test('says once what one outage or one report is about, with its posts', () => {
      const monitor = publicMonitor('Checkout', { state: 'degraded' });
      const report = publicIncident(monitor, {
        title: 'Slow payments',
        impacts: ['degraded'],
        posts: [{ kind: 'investigating', text: 'A bank is slow.', at: pageNow - minute }],
      });
      const page = publicPage({ rows: [monitor], incidents: [report] });
      const text = mainPage(publicView(page), style);
      expect(text.split('Slow payments')).toHaveLength(2);
      expect(text.split('A bank is slow.')).toHaveLength(2);
      expect(text).toContain('Checkout (degraded)');
      const news = publicIncident(monitor, { title: 'A new office', monitors: [], names: [] });
      const up = publicPage({ rows: [publicMonitor('Checkout')], incidents: [news] });
      expect(mainPage(publicView(up), style)).toContain('Everything is up');
      expect(atomFeed(publicView(up))).toContain('<title>A new office</title>');
    });

    test('puts under a heading its own rows, and nothing else', () => {
      const rows = [
        { kind: 'group', name: 'Shop' } as const,
        publicMonitor('Checkout', { isUnder: true }),
        publicMonitor('Alone'),
        { kind: 'group', name: 'Nobody is left in it' } as const,
      ];
      const text = mainPage(publicView(publicPage({ rows })), style);
      expect(
        [
          ...text.matchAll(
            /<(?:section class="card"|details class="card group" open)>(?:<summary class="line"><h2>([^<]*)<\/h2>.*?<\/summary>)?<ul class="services">/g,
          ),
        ].map(([, name]) => name),
      ).toEqual(['Shop', undefined]);
    });

    test('says that its figures are not new, and from when they are, when newer ones cannot be read', () => {
      const page = publicPage({ rows: [publicMonitor('Checkout')] });
      expect(plain(mainPage(publicView(page, { isStale: true }), style))).toContain(
        'Showing data from 22 November 2026 at 14:08 CET. Newer data is not available right now.',
      );
      expect(mainPage(publicView(page), style)).not.toContain('Newer data');
    });

    test('has one script, no styles of its own, and every path in it is below its root', () => {
      const down = publicMonitor('Checkout', { state: 'down' });
      const page = publicPage({
        rows: [down],
        incidents: [publicIncident(down)],
        hasLogo: true,
        accent: '#0a7d55',
        description: 'What we sell',
      });
      for (const root of ['/status/shop', '']) {
        const view = publicView(page, { root, language: 'de' });
        const all = [
          mainPage(view, style),
          servicePage(view, style, down.id) ?? '',
          measuredPage(view, style),
          historyPage(view, style, '2026-11', []),
        ];
        for (const text of all) {
          expect(text.match(/<script[^>]*>[^<]*<\/script>/g)).toEqual([
            String(localTimes(root, page.zone)),
          ]);
          expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=/i);
          const paths = [...text.matchAll(/(?:href|src|action)="(\/[^"]*)"/g)].map(
            ([, path]) => path ?? '',
          );
          expect(paths.length).toBeGreaterThan(5);
          expect(
            paths.filter(
              // At one address on all pages: the font, and the map.
              (path) => !/^\/assets\/(inter|world)-/.test(path) && !path.startsWith(root || '/'),
            ),
          ).toEqual([]);
        }
      }
    });
  });

  describe('names and texts of people', () => {
    const hostile = `</title><script>alert(1)</script>"'&\u0000\n]]>`;
    const down = publicMonitor(hostile, { state: 'down', isUnder: true });
    const page = publicPage({
      title: hostile,
      description: hostile,
      rows: [{ kind: 'group', name: hostile }, down],
      incidents: [
        publicIncident(down, { posts: [{ kind: 'investigating', text: hostile, at: pageNow }] }),
      ],
      maintenance: [{ id: down.id, startsAt: pageNow, endsAt: pageNow + day, names: [hostile] }],
    });
    const view = publicView(page);

    type Node = { readonly nodeName: string; readonly childNodes?: readonly Node[] };
    const names = (node: Node): string[] => [
      node.nodeName,
      ...(node.childNodes ?? []).flatMap(names),
    ];

    test('stay texts in every document', () => {
      const documents = [
        mainPage(view, style),
        servicePage(view, style, down.id) ?? '',
        historyPage(view, style, '2026-11', page.incidents),
        documentOf({ language: 'en', title: hostile, style, body: embedPage(view) }),
      ];
      for (const text of documents) {
        expect(text).toContain('&lt;script&gt;');
        expect(names(parse(text)).filter((name) => name === 'script')).toHaveLength(
          text.includes(scriptName) ? 1 : 0,
        );
      }
      for (const drawn of [badge(view, 'status', undefined), badge(view, 'status', down.id)]) {
        expect(drawn).toContain('<svg');
        expect(names(parseFragment(drawn ?? ''))).not.toContain('script');
      }
    });

    test('stay texts in feeds and calendars, too', () => {
      expect(atomFeed(view)).not.toMatch(/<script|\0/);
      expect(JSON.parse(jsonFeed(view))).toMatchObject({ title: hostile });
      expect(JSON.parse(pageJson(view))).toMatchObject({
        title: hostile,
        services: [{ name: hostile, group: hostile, status: 'down' }],
      });
      const calendar = maintenanceCalendar(view);
      expect(
        calendar
          .replaceAll('\r\n ', '')
          .split('\r\n')
          .filter((line) => line.startsWith('SUMMARY')),
      ).toEqual([`SUMMARY:Maintenance: ${hostile.replaceAll('\n', '\\n')}`]);
    });

    test('lose in XML what it has no word for', () => {
      expect(xmlText('a\u0001b\ud800c\ufffe\nd😀')).toBe('ab\ufffdc\nd😀');
    });
  });

  describe('feeds and badges', () => {
    const [checkout, search] = [
      publicMonitor('Checkout', { percent: { 7: 1, 30: 1, 90: 97.5 } }),
      publicMonitor('Search', { responseMs: 1_234.5 }),
    ];
    const incident = publicIncident(checkout, {
      startedAt: Date.parse('2026-11-20T10:00:00Z'),
      resolvedAt: Date.parse('2026-11-20T10:30:00Z'),
      posts: [{ kind: 'resolved', text: 'It was us.', at: Date.parse('2026-11-20T10:31:00Z') }],
    });
    const view = publicView(publicPage({ rows: [checkout, search], incidents: [incident] }));

    test('a post-mortem is in feeds and in status.json, and dates its entry', () => {
      const postMortem = { text: 'A disk & we.', at: Date.parse('2026-11-21T09:00:00Z') };
      const told = publicView(publicPage({ incidents: [{ ...incident, postMortem }] }));
      expect(atomFeed(told)).toMatch(/<updated>2026-11-21T09:00:00.000Z<.*A disk &amp; we\./s);
      expect([jsonFeed(told), pageJson(told)].join()).toMatch(/Post-mortem.*"A disk & we\."/);
    });

    test('a feed is dated by what happened last, and leads to the page', () => {
      const atom = atomFeed(view);
      expect(atom).toContain('<updated>2026-11-20T10:31:00.000Z</updated>');
      expect(atom).toContain(
        `<link rel="alternate" type="text/html" href="https://antipode.test/status/shop#i-${incident.id}"/>`,
      );
      expect(JSON.parse(jsonFeed(view))).toMatchObject({
        version: 'https://jsonfeed.org/version/1.1',
        items: [
          {
            id: incident.id,
            title: 'Resolved: Checkout',
            date_modified: '2026-11-20T10:31:00.000Z',
          },
        ],
      });
    });

    test('lines of a calendar have at most 75 bytes and end as the standard says', () => {
      const names = [
        'Überweisungen über die ganze Länge dieser sehr langen Zeile hinaus, und noch weiter',
      ];
      const page = publicPage({
        language: 'de',
        maintenance: [{ id: checkout.id, startsAt: pageNow, endsAt: pageNow + day, names }],
      });
      const calendar = maintenanceCalendar(publicView(page));
      expect(calendar.split('\r\n').every((line) => Buffer.byteLength(line) <= 75)).toBe(true);
      expect(calendar).toContain('DTSTART:20261122T130800Z\r\n');
      expect(calendar.replaceAll('\r\n ', '')).toContain(
        `SUMMARY:Wartung: ${names[0]?.replaceAll(',', '\\,')}\r\n`,
      );
    });

    test('a badge says the state, the worst uptime and the slowest answer, of all or of one', () => {
      const label = (text: string | undefined) =>
        plain(/aria-label="([^"]*)"/.exec(text ?? '')?.[1] ?? '');
      expect(label(badge(view, 'status', undefined))).toBe('status: up');
      expect(label(badge(view, 'status', search.id))).toBe('Search: up');
      expect(label(badge(view, 'uptime', undefined))).toBe('uptime: 97.5%');
      expect(label(badge(view, 'response', undefined))).toBe('response: 1,235 ms');
      expect(badge(view, 'status', 'of another page')).toBeUndefined();
    });

    test('months lead to the month before and after', () => {
      expect([
        monthBeside('2026-01', -1),
        monthBeside('2026-12', 1),
        monthBeside('2026-02', 1),
      ]).toEqual(['2025-12', '2027-01', '2026-03']);
    });
  });
});

describe('a cached snapshot', () => {
  const second = 1_000;

  let now: number;
  let reads: string[];
  let failures: unknown[];

  /** What a read gives; a reader that is held gives it later. */
  let source: (key: string) => Promise<string | undefined>;
  let memory: Memory<string | undefined>;

  beforeEach(() => {
    [now, reads, failures] = [1_000_000, [], []];
    source = async (key) => `${key} at ${now}`;
    memory = createMemory<string | undefined>({
      read: (key) => {
        reads.push(key);
        return source(key);
      },
      now: () => now,
      most: 4,
      isWorth: (value) => value !== undefined,
      onFailure: (error) => void failures.push(error),
    });
  });

  const away = new Error('the database is away');

  test('is reused for a while, and read by one reader however many ask', async () => {
    const seen = await Promise.all(Array.from({ length: 100 }, () => memory.get('shop')));
    expect(new Set(seen.map(({ value }) => value))).toEqual(new Set(['shop at 1000000']));
    now += 3 * second;
    await memory.get('shop');
    expect(reads).toEqual(['shop']);
  });

  test('is refreshed in the background, and waited for when it is old', async () => {
    await memory.get('shop');
    now += 5 * second;
    expect(await memory.get('shop')).toMatchObject({ value: 'shop at 1000000', isStale: false });
    expect((await memory.get('shop')).value).toBe('shop at 1005000');
    now += 9 * second;
    const seen = await Promise.all([memory.get('shop'), memory.get('shop')]);
    expect(seen.map(({ value, isStale }) => [value, isStale])).toEqual(
      Array.from({ length: 2 }, () => ['shop at 1014000', false]),
    );
    expect(reads).toHaveLength(3);
  });

  test('stays while the database is lost, shows its age, and is retried at most once a second', async () => {
    await memory.get('shop');
    source = () => Promise.reject(away);
    now += 60 * second;
    const seen = await Promise.all(Array.from({ length: 50 }, () => memory.get('shop')));
    expect(
      new Set(seen.map(({ value, readAt, isStale }) => `${value} ${readAt} ${isStale}`)),
    ).toEqual(new Set(['shop at 1000000 1000000 true']));
    await memory.get('shop');
    expect([reads.length, failures]).toEqual([2, [away]]);
    now += second;
    await memory.get('shop');
    expect(reads).toHaveLength(3);
    source = async () => 'back';
    now += second;
    await memory.get('shop');
    expect(await memory.get('shop')).toMatchObject({ value: 'back', isStale: false });
  });

  test('is returned at once while a refresh hangs, after one longer wait', async () => {
    await memory.get('shop');
    source = () => new Promise(() => undefined);
    now += 60 * second;
    expect(await memory.get('shop')).toMatchObject({ value: 'shop at 1000000', isStale: true });
    expect(await Promise.all(Array.from({ length: 50 }, () => memory.get('shop')))).toHaveLength(
      50,
    );
    expect(reads).toHaveLength(2);
  });

  test('is read again after a failed first read', async () => {
    source = () => Promise.reject(away);
    await expect(memory.get('shop')).rejects.toBe(away);
    source = async () => 'there';
    expect((await memory.get('shop')).value).toBe('there');
  });

  test('is not evicted by unknown addresses', async () => {
    await memory.get('shop');
    source = async () => undefined;
    for (let guess = 0; guess < 100; guess += 1) await memory.get(`guess ${guess}`);
    reads = [];
    expect((await memory.get('shop')).value).toBe('shop at 1000000');
    expect(reads).toEqual([]);
  });

  test('is found after an earlier not found', async () => {
    source = async () => undefined;
    expect((await memory.get('shop')).value).toBeUndefined();
    source = async () => 'made';
    now += 9 * second;
    expect((await memory.get('shop')).value).toBe('made');
  });
});

describe('published pages', () => {
  const bench = gateBench();
  let house: TestOrganisation;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
  });

  const page = async (slug: string): Promise<string> =>
    (await bench.call(createStatusPage, house.owner, { name: 'Status', slug })).id;
  const monitor = async (name: string, group: string | null = null): Promise<string> =>
    (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name, group })).id;

  test('a page is read with its rows from top to bottom, each under its heading, by its address or a proved domain alone', async () => {
    const id = await page('whole');
    const group = (await bench.call(createGroup, house.owner, { name: 'internal-group' })).id;
    const [inside, outside] = [await monitor('internal-1', group), await monitor('internal-2')];
    await bench.call(addStatusPageMonitor, house.owner, {
      page_id: id,
      monitor: outside,
      display_name: 'Search',
    });
    await bench.call(addStatusPageMonitor, house.owner, {
      page_id: id,
      monitor: inside,
      display_name: 'Checkout',
    });
    await bench.call(addStatusPageGroup, house.owner, { page_id: id, group, display_name: 'Shop' });
    await bench.call(orderStatusPage, house.owner, { page_id: id, rows: [group, outside, inside] });
    expect(await publishedPage(bench.sql, { slug: 'whole' })).toEqual({
      id,
      organisation_id: house.organisation,
      slug: 'whole',
      name: 'Status',
      description: null,
      language: 'en',
      accent: null,
      access: 'public',
      password_hash: null,
      link_fingerprint: null,
      access_version: 0,
      domain: null,
      logo_version: null,
      rows: [
        { kind: 'group', id: group, name: 'Shop', under: null },
        { kind: 'monitor', id: inside, name: 'Checkout', under: group },
        { kind: 'monitor', id: outside, name: 'Search', under: null },
      ],
    });
    await bench.sql`update status_pages set domain = 'status.example', domain_token = 't' where id = ${id}`;
    expect(await publishedPage(bench.sql, { domain: 'status.example' })).toBeUndefined();
    await bench.sql`update status_pages set domain_proved_at = now() where id = ${id}`;
    expect(await publishedPage(bench.sql, { domain: 'status.example' })).toMatchObject({
      id,
      domain: 'status.example',
    });
    await bench.sql`update status_pages set enabled = false where id = ${id}`;
    expect(await publishedPage(bench.sql, { slug: 'whole' })).toBeUndefined();
    expect(await publishedPage(bench.sql, { domain: 'status.example' })).toBeUndefined();
  });

  test('its logo is that of this page', async () => {
    const [one, other] = [await page('one'), await page('other')];
    await bench.sql`update status_pages set logo_type = 'image/png', logo = ${Buffer.from('p')}, logo_version = 'v' where id = ${one}`;
    expect(await logoOfPage(bench.sql, one)).toMatchObject({ type: 'image/png', version: 'v' });
    expect(await logoOfPage(bench.sql, other)).toBeUndefined();
  });
});
