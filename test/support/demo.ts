import type { Sql } from '../../coordinator/database/connect.ts';
import { insertWindow } from '../../coordinator/maintenance/queries.ts';
import { draftWindow } from '../../coordinator/maintenance/window.ts';
import { leavingLink } from '../../coordinator/notifications/links.ts';
import { insertObjective } from '../../coordinator/objectives/queries.ts';
import { hashPassword } from '../../coordinator/people/secrets.ts';
import { makeResultDays } from '../../coordinator/results/retention.ts';
import { createAccountSecrets } from '../../coordinator/secrets/account-secrets.ts';
import { writeShare } from '../../coordinator/shares/links.ts';
import type { Moment } from '../../shared/api/moment.ts';
import { newId } from '../../shared/base/crypto.ts';
import { isoText } from '../../shared/base/time.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { type GivenCheck, storeChecks } from './checks.ts';
import { type DemoChannels, seedDemoChannels } from './demo-channels.ts';
import { type DemoWebhooks, seedDemoWebhooks } from './demo-webhooks.ts';
import { testSecretKey } from './people.ts';
import { rowsFor } from './rows.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const runbook = `1. Look at [its board](https://boards.shop.example/checkout).
2. Restart: \`systemctl restart checkout\`
3. Still **503** after two minutes? Call Bo.`;

type DemoPage = { readonly id: string; readonly slug: string; readonly report: string };

const shown: readonly (readonly [monitor: string, name: string, group: string | null])[] = [
  ['Checkout', 'Checkout', 'Shop'],
  ['Search API', 'Search', 'Shop'],
  ['Payments', 'Payments', 'Shop'],
  ['Login', 'Sign-in', 'Platform'],
  ['CDN', 'Pictures', 'Platform'],
  ['MX shop.example', 'Mail', 'Platform'],
  ['Store Oslo', 'Shop in Oslo', null],
];

/** The status pages of the shop: one for the world, and one that asks for a password. */
const seedDemoPage = async (
  sql: Sql,
  organisation: string,
  now: number,
  of: {
    readonly idOf: (monitor: string) => string;
    readonly groupOf: (name: string) => string;
    readonly incident: string;
  },
): Promise<DemoPage> => {
  const [id, inner] = [newId(), newId()];
  const pages = [
    {
      id,
      organisation_id: organisation,
      name: 'Shop status',
      slug: 'shop',
      accent: '#0a7d55',
      access: 'public',
      password_hash: null,
    },
    {
      id: inner,
      organisation_id: organisation,
      name: 'Inner works',
      slug: 'inner',
      accent: null,
      access: 'password',
      password_hash: await hashPassword('open sesame'),
    },
  ];
  await sql`insert into status_pages ${rowsFor(sql, 'status_pages', pages)}`;
  const groups = ['Shop', 'Platform'].map((name, position) => ({
    page_id: id,
    group_id: of.groupOf(name),
    display_name: name,
    position,
  }));
  await sql`insert into status_page_groups ${rowsFor(sql, 'status_page_groups', groups)}`;
  const rows = shown.map(([monitor, display_name, group], position) => ({
    page_id: id,
    monitor_id: of.idOf(monitor),
    display_name,
    position,
    group_id: group === null ? null : of.groupOf(group),
  }));
  await sql`insert into status_page_monitors ${rowsFor(sql, 'status_page_monitors', rows)}`;
  const posts = [
    ['investigating', 'Paying fails for some of you. We are looking into it.', 5],
    ['identified', 'A change of this afternoon is the cause. It is being taken back.', 2],
  ] as const;
  for (const [kind, text, ago] of posts)
    await sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at, told_at)
      values (${newId()}, ${id}, ${organisation}, ${of.incident}, ${kind}, ${text}, ${new Date(now - ago * minute)}, ${new Date(now)})`;
  const report = newId();
  await sql`insert into status_page_reports (id, page_id, organisation_id, title, started_at, ends_at)
    values (${report}, ${id}, ${organisation}, 'Slow search', ${new Date(now - 3 * day)}, ${new Date(now - 3 * day + 40 * minute)})`;
  await sql`insert into status_page_report_updates (id, report_id, kind, text, written_at, told_at)
    values (${newId()}, ${report}, 'resolved', 'Search is as fast as before.', ${new Date(now - 3 * day + 40 * minute)}, ${new Date(now)})`;
  for (const [email, confirmed] of [
    ['ada@reader.example', now - 9 * day],
    ['ben@reader.example', null],
  ] as const)
    await sql`insert into status_page_subscribers (id, page_id, email, language, asked_at, confirmed_at)
      values (${newId()}, ${id}, ${email}, 'en', ${new Date(now - 9 * day)}, ${isoText(confirmed)})`;
  await sql`insert into status_page_subscribers (id, page_id, url_fingerprint, host, secrets, language, asked_at, failing_since, off_at)
    values (${newId()}, ${id}, '\\x00', 'status.reader.example', '\\x00', 'en', ${new Date(now - 9 * day)}, ${new Date(now - 4 * day)}, ${new Date(now - day)})`;
  return { id, slug: 'shop', report };
};

type DemoWindows = { readonly certificates: string; readonly monthly: string };

type Of = { readonly monitor: (name: string) => string; readonly group: (name: string) => string };

const local = (text: string): Moment => ({ is: 'local', local: `${text}:00.000` });

/** Maintenance of the demo: one that runs, some that come, one that is over. */
const seedDemoWindows = async (
  sql: Sql,
  organisation: string,
  now: number,
  { monitor, group }: Of,
): Promise<DemoWindows> => {
  const at = (ago: number): Moment => ({ is: 'instant', at: now - ago });
  const make = async (
    name: string | null,
    times: { readonly starts_at: Moment; readonly ends_at: Moment; readonly rrule: string | null },
    covers: { readonly monitors?: readonly string[]; readonly groups?: readonly string[] },
    zone = 'UTC',
  ): Promise<string> => {
    const id = newId();
    const draft = draftWindow({ name, ...times }, zone);
    await insertWindow(
      sql,
      { id, organisation, draft, monitors: covers.monitors ?? [], groups: covers.groups ?? [] },
      now - 10 * day,
    );
    return id;
  };
  const once = { rrule: null };
  const certificates = await make(
    'New certificates',
    { starts_at: at(12 * minute), ends_at: at(-48 * minute), ...once },
    { monitors: [monitor('Login')] },
  );
  // The last Sunday of a month, at night: what summer time does to it is seen within the year.
  const today = new Date(now);
  const monthEnd = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2, 0));
  const sunday = new Date(monthEnd.getTime() - monthEnd.getUTCDay() * day)
    .toISOString()
    .slice(0, 10);
  const monthly = await make(
    'Database upgrades',
    {
      starts_at: local(`${sunday}T02:30`),
      ends_at: local(`${sunday}T04:00`),
      rrule: 'FREQ=MONTHLY;BYDAY=-1SU',
    },
    { groups: [group('Platform')], monitors: [monitor('Nightly backup'), monitor('Stock')] },
    'Europe/Berlin',
  );
  await make(
    null,
    { starts_at: at(-5 * hour), ends_at: at(-6 * hour), ...once },
    { monitors: [monitor('Store Denver'), monitor('Store Austin')] },
  );
  await make(
    'Move of the old shop',
    { starts_at: at(3 * day), ends_at: at(3 * day - 4 * hour), ...once },
    { monitors: [monitor('Old shop')] },
  );
  return { certificates, monthly };
};

/**
 * An organisation as one would meet it: a shop with forty-eight monitors, a day of results, and
 * some trouble. For pictures and for tests of pages.
 */

type DemoKind = Extract<Kind, 'https' | 'dns' | 'heartbeat' | 'tcp' | 'tls' | 'icmp' | 'domain'>;

type Made = {
  readonly name: string;
  readonly type: DemoKind;
  readonly target: string;
  readonly group: string | null;
  /** Its usual response time. */
  readonly ms: number;
  readonly paused?: number;
  readonly age?: number;
};

const site = (
  name: string,
  path: string,
  group: string | null,
  ms: number,
  more: Partial<Made> = {},
): Made => ({
  name,
  type: 'https',
  target: `https://${path}`,
  group,
  ms,
  ...more,
});

const regions = [
  'Berlin',
  'Paris',
  'Madrid',
  'Oslo',
  'Tokyo',
  'Osaka',
  'Seoul',
  'Denver',
  'Austin',
  'Boston',
];

const monitors: readonly Made[] = [
  site('Checkout', 'shop.example/checkout', 'Shop', 143),
  site('Search API', 'api.shop.example/search', 'Shop', 88),
  { name: 'Nightly backup', type: 'heartbeat', target: '', group: 'Jobs', ms: 0 },
  { name: 'Invoices', type: 'heartbeat', target: '', group: 'Jobs', ms: 0 },
  site('Shop & co', 'shop.example/', 'Shop', 61),
  site('Login', 'login.shop.example/', 'Platform', 97),
  { name: 'MX shop.example', type: 'dns', target: 'shop.example', group: 'Platform', ms: 14 },
  site('CDN', 'cdn.shop.example/health', 'Platform', 22),
  site('Staging', 'staging.shop.example/', null, 310, { paused: 2 * day }),
  site('Old shop', 'old.shop.example/', null, 500, { paused: 90 * day, age: 400 * day }),
  site('Webhooks', 'hooks.shop.example/', 'Platform', 120),
  site('Newcomer', 'new.shop.example/', null, 70, { age: 20 * minute }),
  ...[
    'Cart',
    'Payments',
    'Catalogue',
    'Images',
    'Reviews',
    'Wishlist',
    'Stock',
    'Prices',
    'Newsletter',
    'Returns',
  ].map((name, index) =>
    site(name, `${name.toLowerCase()}.shop.example/health`, 'Shop', 40 + index * 23),
  ),
  ...['Auth', 'Sessions', 'Metrics', 'Logs', 'Registry', 'Docs', 'Status', 'Builds'].map(
    (name, index) =>
      site(name, `${name.toLowerCase()}.platform.example/`, 'Platform', 30 + index * 17),
  ),
  site('Queue', '', 'Platform', 9, { type: 'tcp', target: 'queue.platform.example:6379' }),
  site('Mail', '', 'Platform', 31, { type: 'tls', target: 'mail.platform.example:993' }),
  site('Router', '', 'Platform', 4, { type: 'icmp', target: 'router.platform.example' }),
  site('Domain', '', 'Platform', 2, { type: 'domain', target: 'shop.example' }),
  site('Flags', 'flags.platform.example/', 'Platform', 234),
  site('Vault', 'vault.platform.example/', 'Platform', 251),
  // One of them is slow, as its warning says.
  ...regions.map((city, index) => {
    const ms = city === 'Oslo' ? 1_796 : 90 + index * 31;
    return site(`Store ${city}`, `${city.toLowerCase()}.stores.example/`, 'Stores', ms);
  }),
];

export const demoCount = monitors.length;

/** Not by chance: the same every time. */
const wave = (seed: number, at: number): number =>
  Math.sin(seed * 12.9898 + at * 0.7) * 0.12 + Math.sin(seed * 3.1 + at * 0.19) * 0.1;

export type Demo = {
  readonly idOf: (name: string) => string;
  readonly groupOf: (name: string) => string;
  readonly incident: string;
  /** The address of the check that saw it first, below its monitor. */
  readonly check: string;
  /** The secret of the link that shows it to everybody. */
  readonly share: string;
  /** A link to a report of all monitors. */
  readonly reportShare: { readonly id: string; readonly secret: string };
  /** Of a report, to the owner; `leave`: what its link ends with. */
  readonly reportMail: { readonly id: string; readonly leave: string };
  readonly channels: DemoChannels;
  readonly webhooks: DemoWebhooks;
  /** Of the shop. */
  readonly objective: string;
  /** What the world sees. */
  readonly page: DemoPage;
  readonly windows: DemoWindows;
};

/** Into an organisation that has nothing yet. `now`: what the pages take for now. */
export const seedDemo = async (sql: Sql, organisation: string, now: number): Promise<Demo> => {
  const at = (ago: number): string => new Date(now - ago).toISOString();
  await makeResultDays(sql, now - 32 * day, now + day);
  const broke = now - 6 * minute - 12 * second;

  const probes = [
    ['Frankfurt', 'Europe', 64_500, 'eu-central'],
    ['Virginia', 'North America', 64_501, 'us-east'],
    ['Singapore', 'Asia', null, null],
  ].map(([name, continent, origin_as, region = null]) => ({
    id: newId(),
    name,
    continent,
    region,
    last_seen_at: at(2 * second),
    created_at: at(70 * day),
    version: '1.0.0',
    clock_offset_ms: 7,
    way: 'websocket',
    origin_as,
  }));
  await sql`insert into probes ${rowsFor(sql, 'probes', probes)}`;
  const keys = await sql<
    { key: number; continent: string }[]
  >`select key, continent from probes order by key`;

  const groups = [...new Set(monitors.flatMap(({ group }) => (group === null ? [] : [group])))].map(
    (name) => ({
      id: newId(),
      organisation_id: organisation,
      name,
      name_folded: name.toLowerCase(),
      created_at: at(60 * day),
    }),
  );
  await sql`insert into groups ${rowsFor(sql, 'groups', groups)}`;
  const groupOf = (name: string): string => groups.find((each) => each.name === name)?.id ?? '';

  const rows = monitors.map(({ name, type, target, group, paused, age = 64 * day }) => {
    const id = newId();
    return {
      id,
      organisation_id: organisation,
      partition: partitionOf(id),
      name,
      type,
      target,
      interval_s: type === 'heartbeat' || type === 'domain' ? 86_400 : 60,
      enabled: paused === undefined,
      group_id: groups.find((each) => each.name === group)?.id ?? null,
      created_at: at(age),
      paused_at: paused === undefined ? null : at(paused),
      runbook: name === 'Checkout' ? runbook : null,
    };
  });
  await sql`insert into monitors ${rowsFor(sql, 'monitors', rows)}`;
  const ids = new Map(rows.map(({ name, id }) => [name, id]));
  const idOf = (name: string): string => {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`the demo has no monitor ${name}`);
    return id;
  };
  const members = rows.flatMap(({ id, group_id, created_at }) =>
    group_id === null
      ? []
      : [{ organisation_id: organisation, monitor_id: id, group_id, began_at: created_at }],
  );
  await sql`insert into group_memberships ${rowsFor(sql, 'group_memberships', members)}`;

  // Nobody had looked at the first moment of each.
  const firsts = rows.map(({ id, created_at }) => ({
    monitor_id: id,
    kind: 'unknown',
    began_at: created_at,
    interval_s: 60,
    ended_at: new Date(Date.parse(created_at) + 3 * second).toISOString(),
  }));
  const gaps = [
    {
      monitor_id: idOf('CDN'),
      kind: 'unknown',
      began_at: at(9 * hour),
      ended_at: at(8 * hour),
      interval_s: 60,
    },
    {
      monitor_id: idOf('Store Tokyo'),
      kind: 'paused',
      began_at: at(14 * hour),
      ended_at: at(11 * hour),
      interval_s: 60,
    },
  ];
  await sql`insert into ledger ${rowsFor(sql, 'ledger', [...firsts, ...gaps])}`;

  const keyOf = new Map(
    (await sql<{ id: string; key: number }[]>`select id, key from monitors`).map(({ id, key }) => [
      id,
      key,
    ]),
  );
  for (const [index, { name, type, ms, paused, age = 64 * day }] of monitors.entries()) {
    if (type === 'heartbeat') continue;
    const checks: GivenCheck[] = [];
    for (const [place, { key: probe }] of keys.entries()) {
      const far = ms * (1 + place * 0.9);
      const see = (ago: number, took_ms: number, hasPhases = false): void => {
        const all = { dns: 3, tcp: 11, tls: 24, first_byte: 40, total: took_ms };
        const phases = hasPhases ? all : null;
        const isDown = name === 'Checkout' && place < 2 && ago < now - broke;
        if (ago < age)
          checks.push({
            probe,
            at: now - ago,
            took_ms,
            phases,
            ...(isDown ? { outcome: 'fail', cause: 'unexpected_status' } : {}),
          });
      };
      const seeNow = (ago: number): void =>
        see(ago, far * (1 + wave(index + place * 7, 24 - ago / hour)), type === 'https');
      for (let back = 24 * 12; back >= 1; back -= 1)
        seeNow((now % hour) + back * 5 * minute - place * second);
      // One monitor has a month, with percentiles.
      if (name === 'Search API')
        for (let back = 31 * 24 * 4; back > 24 * 4; back -= 1)
          see(back * 15 * minute, far * (1 + wave(place * 7 + (back % 4), Math.ceil(back / 24))));
      if (paused === undefined)
        for (let back = 0; back < 12; back += 1)
          seeNow((back * keys.length + place) * minute + (index % 50) * second);
    }
    const saw = (place: number, at: number, took_ms: number, isFailure = true): void => {
      checks.push({
        probe: keys[place]?.key ?? 0,
        at,
        took_ms,
        ...(isFailure ? { outcome: 'fail', cause: 'unexpected_status' } : {}),
        phases: { dns: 3, tcp: 11, tls: 24, first_byte: took_ms - 38, total: took_ms },
      });
    };
    if (name === 'Checkout') {
      saw(0, broke, 52);
      saw(1, broke + 263, 143);
      saw(2, broke + 311, 231, false);
    }
    if (name === 'Search API') saw(2, now - 4 * second, 231);
    await storeChecks(sql, keyOf.get(idOf(name)) ?? 0, checks);
  }

  const pings = ['Nightly backup', 'Invoices'].flatMap((name, index) =>
    Array.from({ length: 7 }, (_, back) => ({
      id: newId(),
      monitor_id: idOf(name),
      kind: 'success',
      exit_code: 0,
      at: at((5 + index) * hour + back * day),
      run_ms: 412_000 - back * 3_000,
      method: 'POST',
      body: `${(41_204 - back * 310).toLocaleString('en')} files`,
      ear: back % 3 === 1 ? 'Virginia' : 'Frankfurt',
    })),
  );
  await sql`insert into beats ${rowsFor(sql, 'beats', pings)}`;

  const cause = JSON.stringify({
    class: 'unexpected_status',
    params: { status: 503, expected: '2xx' },
  });
  const [incident, doubtful] = [newId(), newId()];
  const outage = (name: string, from: number, to: number | null, id = newId()) => ({
    id,
    organisation_id: organisation,
    monitor_id: idOf(name),
    started_at: at(from),
    confirmed_at: at(from - 263),
    resolved_at: to === null ? null : at(to),
    seen_probe: 'Frankfurt',
    seen_continent: 'Europe',
    confirmed_probe: 'Virginia',
    confirmed_continent: 'North America',
    scope: 'everywhere',
    layer: 'http',
  });
  const past = [
    outage('Checkout', 19 * day, 19 * day - 75 * minute),
    outage('Search API', 22.5 * hour, 22.4 * hour),
    outage('MX shop.example', 9.5 * hour, 9.4 * hour),
    outage('Payments', 4 * hour, 3.2 * hour),
    outage('Store Oslo', 12 * day, 11.8 * day),
    // Asia passes.
    { ...outage('Checkout', 6 * minute + 12 * second, null, incident), scope: 'some_continents' },
  ];
  await sql`insert into incidents ${rowsFor(sql, 'incidents', past)}`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, seen_probe, seen_continent, scope, layer)
    values (${doubtful}, ${organisation}, ${idOf('Search API')}, ${at(4 * second)}, 'Singapore', 'Asia', 'one_continent', 'http')`;
  await sql`update incidents set cause = ${cause}::text::jsonb`;

  const [fails, passes] = [1, 0];
  const saw = (
    part: string,
    continent: string,
    probe: string,
    outcome: number,
    later: number,
    took_ms: number,
    evidence: object,
  ) => ({
    incident_id: incident,
    part,
    continent,
    probe,
    at: at(6 * minute + 12 * second - later),
    outcome,
    took_ms,
    cause:
      outcome === fails
        ? { class: 'unexpected_status', params: { status: 503, expected: '2xx' } }
        : null,
    phases: { dns: 3, tcp: 11, tls: 24, first_byte: took_ms - 38, total: took_ms },
    evidence: { ...evidence },
  });
  // They are checks as all others.
  const evidence = [
    saw('seen', 'Europe', 'Frankfurt', fails, 0, 52, {
      status: 503,
      address: '203.0.113.10',
      body: '<h1>upstream connect error</h1>',
    }),
    saw('confirmed', 'North America', 'Virginia', fails, 263, 143, {
      status: 503,
      address: '203.0.113.10',
    }),
    saw('matrix', 'Asia', 'Singapore', passes, 311, 231, { status: 200, address: '203.0.113.77' }),
    {
      ...saw('seen', 'Asia', 'Singapore', fails, 0, 231, { status: 503 }),
      incident_id: doubtful,
      at: at(4 * second),
    },
  ];
  await sql`insert into incident_evidence ${rowsFor(sql, 'incident_evidence', evidence)}`;
  const { secret: share } = await writeShare(sql, { incident, organisation, user: null, at: now });
  const reportShare = await writeShare(sql, {
    organisation,
    report: { title: 'All monitors', asked: { period: 'this-month' } },
    user: null,
    at: now - day,
  });
  const mailed = newId();
  await sql`insert into report_mails (id, organisation_id, user_id, every, report, title, created_at,
      next_at)
    select ${mailed}::uuid, organisation_id, user_id, 'week', '{"maintenance": "apart", "unknown": "apart"}'::jsonb,
      'All monitors', ${at(day)}::timestamptz, ${at((new Date(now).getUTCDay() - 8) * day)}::timestamptz
    from memberships where organisation_id = ${organisation} and role = 'owner'`;
  const ownSecrets = createAccountSecrets(sql, { secretKey: testSecretKey });
  const leave = await leavingLink(ownSecrets, mailed, 'report leaving');

  const windows = await seedDemoWindows(sql, organisation, now, {
    monitor: idOf,
    group: groupOf,
  });
  const channels = await seedDemoChannels(sql, organisation, now, {
    incident,
    monitor: idOf('Checkout'),
    name: 'Checkout',
    confirmed_ago: 6 * minute + 12 * second - 263,
  });
  const page = await seedDemoPage(sql, organisation, now, { idOf, groupOf, incident });
  await seedWarnings(sql, organisation, now, idOf);
  await sql`analyze`;
  const webhooks = await seedDemoWebhooks(sql, organisation, now);
  const objective = newId();
  const [shop, checkout] = [groupOf('Shop'), idOf('Checkout')];
  for (const [id, name, target, latency_ms, of] of [
    [objective, 'Shop', 99.9, null, { group: shop, monitor: null }],
    [newId(), 'Stores', 95, null, { group: groupOf('Stores'), monitor: null }],
    [newId(), 'Checkout', 99.9, null, { group: null, monitor: checkout }],
    [newId(), 'Checkout is fast', 95, 400, { group: null, monitor: checkout }],
  ] as const) {
    const on_status_pages = of.monitor !== null;
    const made = { id, name, target, latency_ms, on_status_pages, ...of };
    await insertObjective(sql, organisation, { ...made, tag: null, period: '30d' }, now);
  }
  const check = `check?at=${broke}&probe=Frankfurt`;
  return {
    ...{ idOf, groupOf, incident, check, share, reportShare },
    reportMail: { id: mailed, leave },
    ...{ channels, webhooks, objective, page, windows },
  };
};

/** What passing checks of the demo warn of, and whose certificate and which domain end when. */
const seedWarnings = async (
  sql: Sql,
  organisation: string,
  now: number,
  idOf: (name: string) => string,
): Promise<void> => {
  const shop = { fingerprint: 'AA', issuer: "Let's Encrypt", left: 5.5 };
  const platform = { fingerprint: 'BB', issuer: 'DigiCert Global G2', left: 212.5 };
  const certificates = [
    ...['Cart', 'Catalogue', 'Images'].map((name) => ({ name, ...shop })),
    ...['Login', 'Auth', 'Docs', 'Mail'].map((name) => ({ name, ...platform })),
    { name: 'Store Oslo', fingerprint: 'CC', issuer: "Let's Encrypt", left: 61.5 },
  ].map(({ name, left, ...rest }) => ({
    ...rest,
    organisation_id: organisation,
    monitor_id: idOf(name),
    starts_at: now - 80 * day,
    ends_at: now + left * day,
    seen_at: now - minute,
  }));
  await sql`insert into certificates ${rowsFor(sql, 'certificates', certificates)}`;
  const domain = {
    is: 'registered',
    ends_at: now + 24.5 * day,
    statuses: ['client transfer prohibited'],
    registrar: 'Example Names Ltd',
    server: 'rdap.example',
    asked_at: now - 5 * hour,
  };
  await sql`insert into registrations (domain, answer, asked_at)
    values ('shop.example', ${JSON.stringify(domain)}, ${new Date(domain.asked_at)})`;
  const ends = { stage: 7, ends_at: now + shop.left * day };
  const slow = { took_ms: 3_412, limit_ms: 2_000 };
  const warnings = [
    ...['Cart', 'Catalogue', 'Images'].map((of) => [of, 'certificate_expires', ends, 2] as const),
    ['Domain', 'domain_expires', { stage: 30, ends_at: domain.ends_at }, 5] as const,
    ['Cart', 'slow', slow, 0.1] as const,
    ['Store Oslo', 'slow', slow, 0.2] as const,
    [
      'MX shop.example',
      'name_server_silent',
      { server: 'ns2.shop.example', servers: 3 },
      1,
    ] as const,
  ].map(([of, code, details, ago]) => ({
    id: newId(),
    organisation_id: organisation,
    monitor_id: idOf(of),
    code,
    details: details,
    began_at: now - ago * day,
    confirmed_at: now - ago * day + minute,
  }));
  await sql`insert into warnings ${rowsFor(sql, 'warnings', warnings)}`;
};
