import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { migrate } from '../../coordinator/database/migrate.ts';
import { makeResultDays } from '../../coordinator/engine/result-queries.ts';
import { addressOf, pageLooks } from '../pages/looks.ts';
import { binary, launchBrowser, openTab } from '../support/browser.ts';
import { seedDemo } from '../support/demo.ts';
import { createTestOrganisation, type TestOrganisation } from '../support/people.ts';
import { type Services, startServices } from '../support/services-run.ts';
import { startWeb, type TestWeb } from '../support/web.ts';
import { type Bench, type Figure, median } from './figure.ts';

/**
 * What a page costs: the time of the server with 10,000 and 100,000 monitors, and what a browser
 * fetches.
 */

const sizes = { some: 10_000, many: 100_000 } as const;
const most = {
  p99Ms: 15,
  growth: 2,
  bytes: 75 * 1024,
  nextBytes: 8 * 1024,
  requests: 7,
  script: 8 * 1024,
} as const;
const rounds = 5;
const visits = 60;
/** So many at once: each statement has a deadline. */
const portion = 5_000;

/**
 * A fleet as one would have it: twenty groups, three continents, a day of rollups for the first
 * page, and some that are down.
 */
const seedFleet = async (sql: Sql, organisation: string, count: number): Promise<void> => {
  await sql`insert into groups (id, organisation_id, name, name_folded)
    select gen_random_uuid(), ${organisation}, 'Group ' || n, 'group ' || n from generate_series(1, 20) n`;
  for (let from = 1; from <= count; from += portion)
    await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at, group_id)
    select gen_random_uuid(), ${organisation}::uuid, n % 32, 'Monitor ' || n, 'https', 'https://shop-' || n || '.example/', 60, now() - interval '40 days',
      (select id from groups where organisation_id = ${organisation} and name = 'Group ' || (1 + n % 20))
    from generate_series(${from}::int, ${from + portion - 1}::int) n`;
  for (let from = 0; from < count; from += portion)
    await sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
      select id, 'unknown', created_at, created_at + interval '3 seconds', 60 from monitors where organisation_id = ${organisation}
      order by key limit ${portion} offset ${from}`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent, scope, layer)
    select gen_random_uuid(), ${organisation}, id, now() - interval '5 minutes', now() - interval '4 minutes', 'Frankfurt', 'Europe', 'everywhere', 'http'
    from monitors where organisation_id = ${organisation} order by key limit 10`;
  // One for each monitor, all within the days that the list of incidents shows at first.
  for (let from = 0; from < count; from += portion)
    await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, scope, layer)
      select gen_random_uuid(), ${organisation}, id, at, at, at + interval '1 minute', 'Frankfurt', 'Europe', 'everywhere', 'http'
      from (select id, now() - interval '1 day' - (key % 25) * interval '1 day' as at from monitors
        where organisation_id = ${organisation} order by key limit ${portion} offset ${from}) m`;
  await sql`insert into rollups (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min, took_max)
    select key, c, date_trunc('hour', now()) - h * interval '1 hour', 60, 0, 0, 6000, 80, 140
    from (select key from monitors where organisation_id = ${organisation} order by key limit 2000) m,
      unnest(array['Europe', 'Asia', 'Africa']) c, generate_series(1, 24) h`;
};

/** How long each of some visits took, one after the other. */
const visit = async (
  web: TestWeb,
  house: TestOrganisation,
  path: string,
): Promise<readonly number[]> => {
  const took: number[] = [];
  for (let nth = 0; nth < visits; nth += 1) {
    const began = performance.now();
    const { status } = await web.get(path, { as: house.owner, encoding: 'br' });
    took.push(performance.now() - began);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
  }
  return took;
};

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[
    Math.min(values.length - 1, Math.floor(values.length * share))
  ] ?? Number.NaN;

const times = async (services: Services, say: (progress: string) => void): Promise<Figure[]> => {
  const web = await startWeb({ services });
  try {
    say(`${sizes.some + sizes.many} monitors`);
    const houses = {
      some: await createTestOrganisation(web.sql),
      many: await createTestOrganisation(web.sql),
    };
    await makeResultDays(web.sql, Date.now() - 86_400_000, Date.now() + 86_400_000);
    await seedFleet(web.sql, houses.some.organisation, sizes.some);
    await seedFleet(web.sql, houses.many.organisation, sizes.many);
    await web.sql`vacuum analyze`;
    const figures: Figure[] = [];
    for (const [what, path] of [
      ['dashboard', '/'],
      ['incidents', '/incidents'],
    ] as const) {
      const seen: Record<keyof typeof houses, number[]> = { some: [], many: [] };
      for (let round = 0; round <= rounds; round += 1)
        for (const size of ['some', 'many'] as const) {
          say(
            `${what}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}, ${sizes[size]} monitors`,
          );
          const took = await visit(web, houses[size], path);
          if (round > 0) seen[size].push(...took);
        }
      const [p99, middle, middleOfMany] = [
        quantile(seen.some, 0.99),
        median(seen.some),
        median(seen.many),
      ];
      figures.push(
        {
          what: `${what} with ${sizes.some} monitors, p99 (median ${middle.toFixed(1)} ms)`,
          ours: `${p99.toFixed(1)} ms`,
          against: `${most.p99Ms} ms`,
          ratio: p99 / most.p99Ms,
          goal: '≤ 1.00 ×',
          holds: p99 <= most.p99Ms,
        },
        {
          what: `${what} with ${sizes.many} monitors, median`,
          ours: `${middleOfMany.toFixed(1)} ms`,
          against: `${middle.toFixed(1)} ms with ${sizes.some}`,
          ratio: middleOfMany / middle,
          goal: `≤ ${most.growth.toFixed(2)} ×`,
          holds: middleOfMany <= most.growth * middle,
        },
      );
    }
    return figures;
  } finally {
    await web.close();
  }
};

const sizesOf = async (services: Services, say: (progress: string) => void): Promise<Figure[]> => {
  if (!binary) return [];
  const web = await startWeb({ services });
  const browser = await launchBrowser();
  try {
    const demo = await seedDemo(web.sql, web.house.organisation, Date.now());
    const seen: { name: string; bytes: number; next: number; requests: number; script: number }[] =
      [];
    for (const look of pageLooks) {
      say(`what a browser fetches of ${look.name}`);
      const cookie = look.as === 'stranger' ? undefined : await web.cookieOf(web.house[look.as]);
      const tab = await openTab(browser, web.url, { cookie });
      const open = async () => {
        await tab.page.goto(`${web.url}${addressOf(look, demo)}`, { waitUntil: 'load' });
        await tab.page.waitForTimeout(200);
      };
      const sum = (all: readonly { readonly bytes: number }[]): number =>
        all.reduce((total, { bytes }) => total + bytes, 0);
      await open();
      const first = [...tab.fetched];
      await open();
      const next = tab.fetched.slice(first.length);
      const script = sum(first.filter(({ type }) => type === 'Script'));
      seen.push({
        name: look.name,
        bytes: sum(first),
        next: sum(next),
        requests: first.length,
        script,
      });
      await tab.close();
    }
    const worst = (
      what: string,
      of: (each: (typeof seen)[number]) => number,
      limit: number,
      shown: (value: number) => string,
    ): Figure => {
      const [page] = seen.toSorted((a, b) => of(b) - of(a));
      const value = page ? of(page) : Number.NaN;
      return {
        what: `${what}, most of ${seen.length} pages (${page?.name ?? ''})`,
        ours: shown(value),
        against: shown(limit),
        ratio: value / limit,
        goal: '≤ 1.00 ×',
        holds: value <= limit,
      };
    };
    const kilobytes = (value: number): string => `${(value / 1024).toFixed(1)} KB`;
    return [
      worst('bytes of a first visit', ({ bytes }) => bytes, most.bytes, kilobytes),
      worst('bytes of the next visit', ({ next }) => next, most.nextBytes, kilobytes),
      worst('requests of a first visit', ({ requests }) => requests, most.requests, String),
      worst('script', ({ script }) => script, most.script, kilobytes),
    ];
  } finally {
    await browser.close();
    await web.close();
  }
};

export const pages: Bench = {
  name: 'pages',
  about:
    'the dashboard with 10,000 and 100,000 monitors, and what a browser fetches of each page (2 min)',
  run: async (say) => {
    const { services, stop } = await startServices(async (url) => {
      const sql = connect(url, { name: 'bench-template', connections: 1 });
      await migrate(sql).finally(() => sql.end());
    });
    try {
      return [...(await times(services, say)), ...(await sizesOf(services, say))];
    } finally {
      await stop();
    }
  },
};
