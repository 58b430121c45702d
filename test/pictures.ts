/**
 * `npm run pictures`: the pictures of README, made by the real program: started, given a shop to
 * watch for a day, and broken.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { connect, type Sql } from '../coordinator/database/connect.ts';
import { launchBrowser, openTab } from './support/browser.ts';
import { storeChecks } from './support/checks.ts';
import { portOf } from './support/connections.ts';
import { eventually } from './support/eventually.ts';
import { openMailbox } from './support/receivers.ts';

const root = resolve(import.meta.dirname, '..');
const pictures = join(root, '.github/pictures');
const localShape = z.object({
  base_url: z.string(),
  sign_in_url: z.string(),
  api_token: z.string(),
  database_url: z.string(),
});
const made = z.object({ id: z.string() });
const incidentsShape = z.object({
  items: z.array(z.object({ id: z.string(), confirmed_at: z.string().nullable() })),
});

/** A shop whose parts answer at their own pace, until they are broken. */
const startShop = async (): Promise<{
  readonly url: string;
  readonly break: (path: string) => void;
  readonly close: () => void;
}> => {
  const broken = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    if (broken.has(path)) {
      response.statusCode = 503;
      response.end('upstream connect error or disconnect/reset before headers');
    } else setTimeout(() => response.end('fine'), 20 + path.length * 7);
  });
  const port = await portOf(server);
  return {
    url: `http://127.0.0.1:${port}`,
    break: (path) => broken.add(path),
    close: () => server.close(),
  };
};

const monitors = [
  ['Shop', 'Front page', '/'],
  ['Shop', 'Checkout', '/checkout'],
  ['Shop', 'Search', '/search?q=lamp'],
  ['Shop', 'Pictures', '/pictures/lamp.webp'],
  ['House', 'Mail gateway', '/mail/health'],
  ['House', 'Wiki', '/wiki'],
  [null, 'API for partners', '/partners/v2/status'],
] as const;

/** What would have been seen in the day before: nobody wants to wait for it. */
const addYesterday = async (sql: Sql): Promise<void> => {
  await sql`update monitors set created_at = now() - interval '40 days'`;
  const monitors = await sql<{ key: number }[]>`select key from monitors where type <> 'heartbeat'`;
  const probes = await sql<{ key: number; continent: string }[]>`select key, continent from probes`;
  const ats = Array.from({ length: 480 }, (_, nth) => Date.now() - (nth * 3 + 1) * 60_000);
  for (const { key } of monitors)
    await storeChecks(
      sql,
      key,
      probes.flatMap((probe) =>
        ats.map((at) => {
          const base = probe.continent === 'Europe' ? 61 : probe.continent === 'Asia' ? 212 : 143;
          const took_ms = base + 25 * Math.sin(at / 9_000_000 + key) + 18 * Math.random();
          const phases = { dns: 3, tcp: 11, tls: 24, first_byte: took_ms - 40, total: took_ms };
          return { probe: probe.key, at, took_ms, phases };
        }),
      ),
    );
  await sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, confirmed_probe,
      confirmed_continent, cause, scope, layer)
    select gen_random_uuid(), organisation_id, id, now() - interval '9 hours', now() - interval '9 hours', now() - interval '8 hours 39 minutes', 'Frankfurt',
      'Europe', 'Virginia', 'North America', '{"class":"timed_out","params":{"limit_ms":10000,"phase":"first_byte"}}', 'everywhere', 'timeout'
    from monitors where name in ('Search', 'Wiki')`;
};

const started = (home: string, smtpUrl: string): ChildProcess =>
  spawn(
    process.execPath,
    [join(root, 'deploy/node/run.mjs'), join(root, 'deploy/local/start.ts')],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        ANTIPODE_HOME: home,
        PORT: '0',
        PROBE_ALLOW_CIDRS: '127.0.0.0/8',
        SMTP_URL: smtpUrl,
        MAIL_FROM: 'alerts@antipode.local',
      },
    },
  );

const home = mkdtempSync(join(tmpdir(), 'antipode-pictures-'));
// Mail is set up, as it is where somebody relies on the alerts.
const mailbox = await openMailbox();
const service = started(home, mailbox.url);
const shop = await startShop();
try {
  const file = join(home, 'local.json');
  const local = await eventually(
    () => (existsSync(file) ? localShape.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined),
    120_000,
  );
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`${local.base_url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${local.api_token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };
  const groups = new Map<string, string>();
  for (const name of ['Shop', 'House'])
    groups.set(name, made.parse(await call('POST', '/groups', { name })).id);
  for (const [group, name, path] of monitors)
    await call('POST', '/monitors', {
      type: 'https',
      name,
      target: `${shop.url}${path}`,
      interval_s: 10,
      ...(group === null ? {} : { group: groups.get(group) }),
    });
  await call('POST', '/monitors', {
    type: 'heartbeat',
    name: 'Nightly backup',
    interval_s: 86_400,
    group: groups.get('House'),
  });
  const sql = connect(local.database_url, { name: 'pictures', connections: 2 });
  await addYesterday(sql);
  await new Promise((passed) => setTimeout(passed, 25_000));
  shop.break('/checkout');
  const incident = await eventually(async () => {
    const { items } = incidentsShape.parse(await call('GET', '/incidents?state=open'));
    return items.find(({ confirmed_at }) => confirmed_at !== null)?.id;
  }, 60_000);
  await new Promise((passed) => setTimeout(passed, 60_000));
  await mkdir(pictures, { recursive: true });
  const browser = await launchBrowser();
  const tab = await openTab(browser, local.base_url, {
    scheme: 'light',
    width: 1_280,
    height: 800,
  });
  await tab.page.goto(local.sign_in_url);
  await tab.page.waitForURL(`${local.base_url}/`);
  await tab.page.getByRole('button', { name: 'Hide' }).click();
  await tab.page.getByText('List hidden.').waitFor();
  await tab.page.goto(local.base_url);
  await tab.page.screenshot({ path: join(pictures, 'dashboard.png') });
  await tab.page.setViewportSize({ width: 1_280, height: 1_160 });
  await tab.page.goto(`${local.base_url}/incidents/${incident}`);
  await tab.page.screenshot({ path: join(pictures, 'incident.png') });
  await browser.close();
  await sql.end();
} finally {
  shop.close();
  const ended = new Promise((resolved) => service.once('exit', resolved));
  service.kill('SIGTERM');
  await ended;
  await mailbox.close();
  rmSync(home, { recursive: true, force: true });
}
