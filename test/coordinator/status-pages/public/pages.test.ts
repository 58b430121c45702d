import { brotliCompressSync } from 'node:zlib';
import { parse, parseFragment } from 'parse5';
import { describe, expect, test } from 'vitest';
import { pageLanguages } from '../../../../coordinator/status-pages/model.ts';
import { atomFeed, badge, jsonFeed, maintenanceCalendar, pageJson, xmlText } from '../../../../coordinator/status-pages/public/feeds.ts';
import {
  documentOf,
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
import { dayUp, pageNow, publicIncident, publicMonitor, publicPage, publicView } from '../../../support/web.ts';

const minute = 60_000;
const day = 86_400_000;
const style = '/status/shop/style.css';

const sentence = (page: Parameters<typeof publicView>[0], language: (typeof pageLanguages)[number] = 'en'): string =>
  sentenceOf(verdictOf(page), publicView(page, { language }));

/** Narrow and wide blanks of every sort, as one. */
const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f\u2009]/g, ' ');

describe('the one sentence', () => {
  const [checkout, search] = [publicMonitor('Checkout', { state: 'down' }), publicMonitor('Search')];

  test('says first what is down, then what is maintained, and else that everything is up', () => {
    expect(sentence(publicPage({ rows: [checkout, search] }))).toBe('Checkout is down.');
    expect(sentence(publicPage({ rows: [checkout, { ...search, state: 'down' }] }))).toBe('Checkout and Search are down.');
    expect(sentence(publicPage({ rows: [{ ...checkout, state: 'maintenance' }, search] }))).toBe('Maintenance is running: Checkout.');
    expect(sentence(publicPage({ rows: [search, { ...search, state: 'paused' }] }))).toBe('Everything is up.');
    expect(sentence(publicPage({ rows: [{ ...search, state: 'pending' }] }))).toBe('Nothing has been measured yet.');
    expect(sentence(publicPage())).toBe('Nothing is published here yet.');
    const many = Array.from({ length: 5 }, (_, index) => publicMonitor(`${index}`, { state: 'down' }));
    expect(sentence(publicPage({ rows: [...many, search] }))).toBe('5 of 6 services are down.');
  });

  test('is said in four languages', () => {
    const page = publicPage({ rows: [checkout, { ...search, state: 'down' }] });
    expect(pageLanguages.map((language) => plain(sentence(page, language)))).toEqual([
      'Checkout and Search are down.',
      'Checkout und Search: ausgefallen.',
      'Checkout et Search : en panne.',
      'Checkout y Search: sin servicio.',
    ]);
  });
});

describe('times and numbers', () => {
  const down = publicMonitor('Checkout', { state: 'down', percent: { 7: 99.9999, 30: 99.987, 90: 12.5 } });
  const page = publicPage({ rows: [down], incidents: [publicIncident(down, { startedAt: pageNow - 74 * minute })] });

  test('are written as each language writes them, by the clock of the page', () => {
    const seen = pageLanguages.map((language) => plain(mainPage(publicView(page, { language }), style)));
    expect(seen[0]).toContain('Since 12:54 CET, for 1 hour, 14 minutes.');
    expect(seen[1]).toContain('Seit 12:54 MEZ, bisher 1 Stunde, 14 Minuten.');
    expect(seen[2]).toContain('Depuis 12:54 UTC+1, soit 1 heure et 14 minutes.');
    expect(seen[3]).toContain('Desde 12:54 CET, hace 1 hora y 14 minutos.');
    expect(seen.map((text) => /<span class="percent">([^<]*)</.exec(text)?.[1])).toEqual(['12.5%', '12,5 %', '12,5 %', '12,5 %']);
  });

  test('say a day once of what began and ended on it', () => {
    const monitor = publicMonitor('Checkout');
    const over = (startedAt: number, resolvedAt: number) => publicIncident(monitor, { startedAt, resolvedAt });
    const past = publicPage({
      rows: [monitor],
      incidents: [over(pageNow - 60 * minute, pageNow), over(pageNow - day - 60 * minute, pageNow - day)],
    });
    const spans = pageLanguages.map((language) =>
      [...mainPage(publicView(past, { language }), style).matchAll(/<p class="soft">([^<]*?14:08[^<]*?)\. /g)].map(([, span]) =>
        plain(span ?? ''),
      ),
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
    expect([...text.matchAll(/<dd>([^<]*)<\/dd>/g)].map(([, value]) => value)).toEqual(['99.99%', '99.98%', '12.5%']);
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
    expect(brotliCompressSync(Buffer.from(text)).length + styleBody().brotli.length).toBeLessThan(20 * 1024);
  });

  test('has bars that say in words what they show, and a legend that names them', () => {
    const days = Array.from({ length: 90 }, (_, at) => ({
      ...dayUp(pageNow - (90 - at) * day),
      ...(at === 3 ? { down: minute } : at === 4 || at === 5 ? { up: 0, maintenance: day } : at === 6 ? { up: 0, unknown: day } : {}),
    }));
    const text = mainPage(publicView(publicPage({ rows: [publicMonitor('Checkout', { days })] })), style);
    expect(text).toContain(
      'aria-label="The last 90 days: an outage on 1 day, maintenance on 2 days, not measured on 1 day, up on 86 days"',
    );
    expect(text).toContain('<path class="f-up" d="M0 6h3v18H0zM7 6h83v18H7z"/><path class="f-down" d="M3 0h1v24H3z"/>');
    expect(text).toMatch(/Each bar is a day:.*up<\/span>.*outage<\/span>.*maintenance<\/span>.*not measured<\/span>/);
  });

  test('puts under a heading what stands under it, and nothing else', () => {
    const rows = [
      { kind: 'group', name: 'Shop' } as const,
      publicMonitor('Checkout', { isUnder: true }),
      publicMonitor('Alone'),
      { kind: 'group', name: 'Nobody is left in it' } as const,
    ];
    const text = mainPage(publicView(publicPage({ rows })), style);
    expect([...text.matchAll(/<section class="card">(?:<h2>([^<]*)<\/h2>)?<ul class="services">/g)].map(([, name]) => name)).toEqual([
      'Shop',
      undefined,
    ]);
  });

  test('says that its figures are not new, and from when they are, when newer ones cannot be read', () => {
    const page = publicPage({ rows: [publicMonitor('Checkout')] });
    expect(mainPage(publicView(page, { isStale: true }), style)).toContain(
      'Newer figures cannot be read right now. You see what was known at 22 November 2026 at 14:08 CET.',
    );
    expect(mainPage(publicView(page), style)).not.toContain('Newer figures');
  });

  test('has neither scripts nor styles of its own, and every path in it is below its root', () => {
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
        expect(text).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=/i);
        const paths = [...text.matchAll(/(?:href|src|action)="(\/[^"]*)"/g)].map(([, path]) => path ?? '');
        expect(paths.length).toBeGreaterThan(5);
        expect(paths.filter((path) => !path.startsWith(root === '' ? '/' : '/status/shop'))).toEqual([]);
      }
    }
  });
});

describe('names and texts of people', () => {
  const hostile = `</title><script>alert(1)</script>"'&\u0000\n]]>`;
  const down = publicMonitor(hostile, { state: 'down', isUnder: true });
  const page = publicPage({
    ...{ title: hostile, description: hostile },
    rows: [{ kind: 'group', name: hostile }, down],
    incidents: [publicIncident(down, { posts: [{ kind: 'investigating', text: hostile, at: pageNow }] })],
    maintenance: [{ id: down.id, startsAt: pageNow, endsAt: pageNow + day, names: [hostile] }],
  });
  const view = publicView(page);

  type Node = { readonly nodeName: string; readonly childNodes?: readonly Node[] };
  const names = (node: Node): string[] => [node.nodeName, ...(node.childNodes ?? []).flatMap(names)];

  test('stay texts in every document', () => {
    const documents = [
      mainPage(view, style),
      servicePage(view, style, down.id) ?? '',
      historyPage(view, style, '2026-11', page.incidents),
      documentOf({ language: 'en', title: hostile, style, body: embedPage(view) }),
    ];
    for (const text of documents) {
      expect(text).toContain('&lt;script&gt;');
      expect(names(parse(text))).not.toContain('script');
    }
    for (const drawn of [badge(view, 'status', undefined), badge(view, 'status', down.id)]) {
      expect(drawn).toContain('<svg');
      expect(names(parseFragment(drawn ?? ''))).not.toContain('script');
    }
  });

  test('stay texts in feeds and calendars, too', () => {
    expect(atomFeed(view)).not.toMatch(/<script|\0/);
    expect(JSON.parse(jsonFeed(view))).toMatchObject({ title: hostile });
    expect(JSON.parse(pageJson(view))).toMatchObject({ title: hostile, services: [{ name: hostile, group: hostile, status: 'down' }] });
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
    ...{ startedAt: Date.parse('2026-11-20T10:00:00Z'), resolvedAt: Date.parse('2026-11-20T10:30:00Z') },
    posts: [{ kind: 'resolved', text: 'It was us.', at: Date.parse('2026-11-20T10:31:00Z') }],
  });
  const view = publicView(publicPage({ rows: [checkout, search], incidents: [incident] }));

  test('a feed is dated by what happened last, and leads to the page', () => {
    const atom = atomFeed(view);
    expect(atom).toContain('<updated>2026-11-20T10:31:00.000Z</updated>');
    expect(atom).toContain(`<link rel="alternate" type="text/html" href="https://antipode.test/status/shop#i-${incident.id}"/>`);
    expect(JSON.parse(jsonFeed(view))).toMatchObject({
      version: 'https://jsonfeed.org/version/1.1',
      items: [{ id: incident.id, title: 'Resolved: Checkout', date_modified: '2026-11-20T10:31:00.000Z' }],
    });
  });

  test('lines of a calendar have at most 75 bytes and end as the standard says', () => {
    const names = ['Überweisungen über die ganze Länge dieser sehr langen Zeile hinaus, und noch weiter'];
    const page = publicPage({ language: 'de', maintenance: [{ id: checkout.id, startsAt: pageNow, endsAt: pageNow + day, names }] });
    const calendar = maintenanceCalendar(publicView(page));
    expect(calendar.split('\r\n').every((line) => Buffer.byteLength(line) <= 75)).toBe(true);
    expect(calendar).toContain('DTSTART:20261122T130800Z\r\n');
    expect(calendar.replaceAll('\r\n ', '')).toContain(`SUMMARY:Wartung: ${names[0]?.replaceAll(',', '\\,')}\r\n`);
  });

  test('a badge says the state, the worst uptime and the slowest answer, of all or of one', () => {
    const label = (text: string | undefined) => plain(/aria-label="([^"]*)"/.exec(text ?? '')?.[1] ?? '');
    expect(label(badge(view, 'status', undefined))).toBe('status: up');
    expect(label(badge(view, 'status', search.id))).toBe('Search: up');
    expect(label(badge(view, 'uptime', undefined))).toBe('uptime: 97.5%');
    expect(label(badge(view, 'response', undefined))).toBe('response: 1,235 ms');
    expect(badge(view, 'status', 'of another page')).toBeUndefined();
  });

  test('months lead to the month before and after', () => {
    expect([monthBeside('2026-01', -1), monthBeside('2026-12', 1), monthBeside('2026-02', 1)]).toEqual(['2025-12', '2027-01', '2026-03']);
  });
});
