import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { connect } from '../../coordinator/database/connect.ts';
import { migrate } from '../../coordinator/database/migrate.ts';
import { addressOf, pageLooks } from '../pages/looks.ts';
import { binary, launchBrowser, openTab } from '../support/browser.ts';
import { seedDemo } from '../support/demo.ts';
import { type Services, startServices } from '../support/services-run.ts';
import { startWeb } from '../support/web.ts';
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
/** V8 compiles what a page runs during its first hundreds of visits. */
const warmUps = 4;
const rounds = 5;
const visits = 100;
type Server = {
  readonly url: string;
  /** Of an owner of so many monitors. */
  readonly cookies: { readonly some: string; readonly many: string };
  /** What each request took since the last time, in milliseconds. */
  readonly took: () => Promise<readonly number[]>;
  readonly stop: () => Promise<void>;
};

const serve = async (services: Services): Promise<Server> => {
  const child = spawn(process.execPath, [`${import.meta.dirname}/pages/server.ts`], {
    env: { ...process.env, SERVICES: JSON.stringify(services), SIZES: Object.values(sizes).join() },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const said = async (): Promise<string> =>
    String((await Promise.race([once(lines, 'line'), ended]))[0]);
  const line = await said();
  const [url, some, many] = line.split(' ');
  if (url === undefined || some === undefined || many === undefined)
    throw new Error(`the server of the pages said ${line}`);
  const took: Server['took'] = async () => {
    child.stdin.write('\n');
    return z.array(z.number()).parse(JSON.parse(await said()));
  };
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  return { url, cookies: { some, many }, took, stop };
};

/** Some visits, one after the other; the bytes of the last answer, with its headers. */
const visit = async (agent: Agent, address: string, cookie: string): Promise<number> => {
  const headers = { accept: 'text/html', 'accept-encoding': 'br', cookie };
  let bytes = 0;
  for (let nth = 0; nth < visits; nth += 1) {
    const [answer] = await once(get(address, { agent, headers }), 'response');
    // Each name and each value has two bytes after it.
    bytes = [...answer.rawHeaders].reduce((sum, part) => sum + part.length + 2, 0);
    for await (const chunk of answer) bytes += chunk.length;
    if (answer.statusCode !== 200) throw new Error(`${address} answered ${answer.statusCode}`);
  }
  return bytes;
};

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[
    Math.min(values.length - 1, Math.floor(values.length * share))
  ] ?? Number.NaN;

const times = async (services: Services, say: (progress: string) => void): Promise<Figure[]> => {
  say(`${sizes.some + sizes.many} monitors`);
  const { url, cookies, took, stop } = await serve(services);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const figures: Figure[] = [];
    for (const [what, path] of [
      ['dashboard', '/'],
      ['incidents', '/incidents'],
    ] as const) {
      const seen: Record<keyof typeof cookies, number[]> = { some: [], many: [] };
      let bytes = 0;
      for (let round = 1 - warmUps; round <= rounds; round += 1)
        for (const size of ['some', 'many'] as const) {
          say(
            `${what}: ${round <= 0 ? 'warm-up' : `round ${round} of ${rounds}`}, ${sizes[size]} monitors`,
          );
          bytes = Math.max(bytes, await visit(agent, `${url}${path}`, cookies[size]));
          const times = await took();
          if (round > 0) seen[size].push(...times);
        }
      const [middle, middleOfMany] = [median(seen.some), median(seen.many)];
      const p99 = quantile(seen.some, 0.99);
      figures.push(
        {
          what: `${what} with ${sizes.some} monitors, p99 (${shares(seen.some)})`,
          ours: `${p99.toFixed(1)} ms`,
          against: `${most.p99Ms} ms`,
          ratio: p99 / most.p99Ms,
          goal: '≤ 1.00 ×',
          holds: p99 <= most.p99Ms,
        },
        {
          what: `${what} with ${sizes.many} monitors, median (${shares(seen.many)})`,
          ours: `${middleOfMany.toFixed(1)} ms`,
          against: `${middle.toFixed(1)} ms with ${sizes.some}`,
          ratio: middleOfMany / middle,
          goal: `≤ ${most.growth.toFixed(2)} ×`,
          holds: middleOfMany <= most.growth * middle,
        },
        {
          what: `${what} of so many monitors, its bytes`,
          ours: kilobytes(bytes),
          against: kilobytes(most.nextBytes),
          ratio: bytes / most.nextBytes,
          goal: '≤ 1.00 ×',
          holds: bytes <= most.nextBytes,
        },
      );
    }
    return figures;
  } finally {
    agent.destroy();
    await stop();
  }
};

const kilobytes = (value: number): string => `${(value / 1024).toFixed(1)} KB`;

const shares = (took: readonly number[]): string =>
  [0.5, 0.95, 0.99]
    .map((share) => `p${share * 100} ${quantile(took, share).toFixed(1)}`)
    .join(', ');

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
