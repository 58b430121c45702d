import { expect, test } from 'vitest';
import { connect, longWork } from '../../../coordinator/database/connect.ts';
import { migrate } from '../../../coordinator/database/migrate.ts';
import { migrationNames } from '../../../coordinator/database/migration-files.ts';
import { eventually } from '../../support/eventually.ts';
import { ownDatabase } from '../../support/services.ts';

const { database, sql } = await ownDatabase();

test('several that start at once apply each file once', async () => {
  await sql.unsafe('drop schema public cascade; create schema public');
  const others = [connect(database.url), connect(database.url)];
  const applied = await Promise.all([sql, ...others].map((one) => migrate(one)));
  expect(applied.flat().toSorted()).toEqual(migrationNames());
  expect(await migrate(sql)).toEqual([]);
  await Promise.all(others.map((other) => other.end()));
});

test('one that has to wait for a table lets others have it meanwhile, and is applied when it is free', async () => {
  await sql`alter table probes drop column dropped, drop column dropped_session`;
  await sql`delete from migrations where name like '003-%'`;
  const patient = { name: 'test', connections: 1, patience: longWork };
  const others = [connect(database.url), connect(database.url, patient), connect(database.url, patient)] as const;
  const [migrating, reading, watching] = others;
  const held = Promise.withResolvers<void>();
  const holding = sql.begin(async (transaction) => {
    await transaction`select count(*) from probes`;
    await held.promise;
  });
  await eventually(async () => (await watching`select 1 from pg_locks where relation = 'probes'::regclass and granted`).length > 0);
  const applied = migrate(migrating, 2_000);
  const isWaiting = async () =>
    (await watching`select 1 from pg_locks where relation = 'probes'::regclass and mode = 'AccessExclusiveLock' and not granted`).length >
    0;
  await eventually(isWaiting);
  // While it waits, nobody behind it is let through; it does so only for moments.
  expect(await reading`select count(*)::int as count from probes`).toEqual([{ count: 0 }]);
  held.resolve();
  await holding;
  expect(await applied).toEqual(['003-dropped.sql']);
  await Promise.all(others.map((other) => other.end()));
});

test('what the audit log remembers of a webhook is the host of its address alone', async () => {
  const remembered = async () =>
    (await sql<{ changed: object }[]>`select changed from audit_log where who = 'a webhook' order by key`).map(({ changed }) => changed);
  const [open, other] = [
    { url: 'https://hooks.example.org/s3cret?token=1', secret: '***' },
    { url: 'https://gotify.example.org', token: '***' },
  ];
  for (const [operation, changed] of [
    ['createChannel', { after: { kind: 'webhook', config: open } }],
    ['updateChannel', { before: { config: open }, after: { config: open } }],
    ['updateChannel', { before: { config: other }, after: { config: other } }],
  ] as const)
    await sql`insert into audit_log (at, who, through, operation, changed)
      values (now(), 'a webhook', 'page', ${operation}, ${JSON.stringify(changed)}::text::jsonb)`;
  await sql`delete from migrations where name like '073-%'`;
  expect(await migrate(sql)).toEqual(['073-hidden-addresses.sql']);
  const shown = { url: 'https://hooks.example.org/***', secret: '***' };
  expect(await remembered()).toEqual([
    { after: { kind: 'webhook', config: shown } },
    { before: { config: shown }, after: { config: shown } },
    { before: { config: other }, after: { config: other } },
  ]);
});

test('large counts come as numbers and times as dates', async () => {
  const [row] = await sql`select 9007199254740991::bigint as most, timestamptz '2026-01-01T00:00:00Z' as at`;
  expect(row).toEqual({ most: 9007199254740991, at: new Date('2026-01-01T00:00:00Z') });
});
