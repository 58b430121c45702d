import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, longWork, type Sql } from '../../../coordinator/database/connect.ts';
import {
  type MigrationFiles,
  migrate,
  oldestAfter,
} from '../../../coordinator/database/migrate.ts';
import { migrationNames, migrationText } from '../../../coordinator/database/migration-files.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { version } from '../../../shared/base/process.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestOrganisation } from '../../support/people.ts';
import fc from '../../support/random.ts';
import { createDatabase, ownDatabase, type TestDatabase } from '../../support/services.ts';

describe('migrate', async () => {
  const { database, sql } = await ownDatabase();

  test('several that start at once apply each file once', async () => {
    await sql.unsafe('drop schema public cascade; create schema public');
    const others = [connect(database.url), connect(database.url)];
    const applied = await Promise.all([sql, ...others].map((one) => migrate(one)));
    expect(applied.flat().toSorted()).toEqual(migrationNames());
    expect(await migrate(sql)).toEqual([]);
    await Promise.all(others.map((other) => other.end()));
  });

  test('no trigger compares every row of before with every row of after', async () => {
    const joining = await sql<{ name: string; text: string }[]>`
      select proname as name, prosrc as text from pg_proc
      where pronamespace = 'public'::regnamespace and prosrc ~ 'join removed'`;
    expect(joining.length).toBeGreaterThan(0);
    expect(joining.filter(({ text }) => /(?<!full )join removed/.test(text))).toEqual([]);
  });

  /** Of a next version, with one file more than today. */
  const next: MigrationFiles = {
    names: () => [...migrationNames(), '900-next.sql'],
    text: (name) =>
      name === '900-next.sql' ? 'alter table probes add column next text' : migrationText(name),
  };

  test('one that has to wait for a table lets others have it meanwhile, and is applied when it is free', async () => {
    const patient = { name: 'test', connections: 1, patience: longWork };
    const others = [
      connect(database.url),
      connect(database.url, patient),
      connect(database.url, patient),
    ] as const;
    const [migrating, reading, watching] = others;
    const held = Promise.withResolvers<void>();
    const holding = sql.begin(async (transaction) => {
      await transaction`select count(*) from probes`;
      await held.promise;
    });
    await eventually(
      async () =>
        (await watching`select 1 from pg_locks where relation = 'probes'::regclass and granted`)
          .length > 0,
    );
    const applied = migrate(migrating, { files: next, wait: 2_000 });
    const isWaiting = async () =>
      (
        await watching`select 1 from pg_locks where relation = 'probes'::regclass and mode = 'AccessExclusiveLock' and not granted`
      ).length > 0;
    await eventually(isWaiting);
    // While it waits, nobody behind it is let through; it does so only for moments.
    expect(await reading`select count(*)::int as count from probes`).toEqual([{ count: 0 }]);
    held.resolve();
    await holding;
    expect(await applied).toEqual(['900-next.sql']);
    await Promise.all(others.map((other) => other.end()));
  });

  test('a coordinator of this version starts on the schema of the next', async () => {
    expect(await migrate(sql)).toEqual([]);
    expect(await sql`select next from probes`).toEqual([]);
  });

  test('a coordinator of this version does not start where a newer one left no place for it', async () => {
    const withFile = (name: string, oldest: string): MigrationFiles => ({
      names: () => [...migrationNames(), name],
      text: () =>
        `-- Nobody reads it any more.\n-- oldest: ${oldest}\nalter table probes drop column if exists next`,
    });
    expect(await migrate(sql, { files: withFile('902-shrinks.sql', version) })).toEqual([
      '902-shrinks.sql',
    ]);
    expect(await migrate(sql)).toEqual([]);
    const ahead = withFile('903-shrinks.sql', '99.1.0');
    expect(await migrate(sql, { files: ahead })).toEqual(['903-shrinks.sql']);
    await expect(migrate(sql)).rejects.toThrow(
      `a newer Antipode changed this database (903-shrinks.sql) so that none before 99.1.0 can work on it; this is ${version}. Start 99.1.0 or newer, or restore the backup`,
    );
    // The one that brought the file knows it.
    expect(await migrate(sql, { files: ahead })).toEqual([]);
    await sql`delete from migrations where name like '90%'`;
  });

  test('one that fails changes nothing, and is tried again at the next start', async () => {
    const broken: MigrationFiles = {
      names: () => [...migrationNames(), '901-broken.sql'],
      text: () => 'alter table probes add column broken text; select from nowhere',
    };
    await expect(migrate(sql, { files: broken })).rejects.toThrow('nowhere');
    await expect(sql`select broken from probes`).rejects.toThrow('broken');
    const mended = { ...broken, text: () => 'alter table probes add column broken text' };
    expect(await migrate(sql, { files: mended })).toEqual(['901-broken.sql']);
  });

  test('large counts come as numbers and times as dates', async () => {
    const [row] =
      await sql`select 9007199254740991::bigint as most, timestamptz '2026-01-01T00:00:00Z' as at`;
    expect(row).toEqual({ most: 9007199254740991, at: Date.parse('2026-01-01T00:00:00Z') });
  });
});

/**
 * During an upgrade coordinators of both versions work on the new schema. So a migration only adds:
 * what it takes away, renames or newly demands must be something that no coordinator of the version
 * that it follows reads or writes, and then it says which is the oldest that does not. Held by
 * reading the SQL.
 */
describe('a migration', () => {
  const first = '001-schema.sql';

  /**
   * Without comments and without the bodies of functions, in which statements stand that do nothing
   * yet.
   */
  const statementsOf = (text: string): string[] =>
    text
      .replaceAll(/(\$\w*\$)[\s\S]*?\1/g, "''")
      .replaceAll(/--.*$/gm, '')
      .toLowerCase()
      .split(';')
      .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
      .filter((statement) => statement !== '');

  /** Each clause of an ALTER TABLE for itself. */
  const clausesOf = (statement: string): string[] =>
    statement.startsWith('alter table')
      ? statement.split(/,(?= ?(?:add|drop|alter|rename|set|validate) )/)
      : [statement];

  const contracts: readonly (readonly [string, RegExp])[] = [
    [
      'takes away',
      /^drop (?:table|view|function|type|sequence|schema)|\bdrop (?:column|constraint|default|not null|expression)\b/,
    ],
    ['renames', /\brename\b/],
    [
      'demands',
      /\bset not null\b|\badd (?:constraint|primary key|unique|check|foreign key|exclude)\b/,
    ],
    ['changes a type', /\balter (?:column )?\w+ (?:set data )?type\b/],
    [
      'demands a value',
      /\badd column (?:if not exists )?\w+ (?!.*\b(?:default|generated)\b).*\bnot null\b/,
    ],
    ['allows once', /^create unique index/],
  ];

  /** What a file of today would take from a coordinator of yesterday. */
  const contractionsOf = (statements: readonly string[]): string[] => {
    const own = new Set(
      statements.flatMap(
        (statement) => /^create table (?:if not exists )?(\w+)/.exec(statement)?.[1] ?? [],
      ),
    );
    const isOwn = (statement: string): boolean => {
      const [, table = ''] =
        /^(?:alter table(?: if exists)?(?: only)?|create unique index \w+ on) (\w+)/.exec(
          statement,
        ) ?? [];
      return own.has(table);
    };
    return statements
      .filter((statement) => !isOwn(statement))
      .flatMap((statement) =>
        clausesOf(statement).flatMap((clause) => {
          const found = contracts.find(([, pattern]) => pattern.test(clause));
          return found === undefined ? [] : [`${found[0]}: ${clause.trim()}`];
        }),
      );
  };

  const undeclaredIn = (text: string): string[] =>
    oldestAfter(text) === null ? contractionsOf(statementsOf(text)) : [];

  test('only adds to what the version that it follows works on, or says which is the oldest', () => {
    const later = migrationNames().filter((name) => name > first);
    expect(later.flatMap((file) => undeclaredIn(migrationText(file)))).toEqual([]);
    const shrinks = 'alter table monitors drop column note;';
    expect(undeclaredIn(shrinks)).toHaveLength(1);
    expect(undeclaredIn(`-- oldest: 1.2.0\n${shrinks}`)).toEqual([]);
  });

  test('is read without its comments and without the bodies of its functions', () => {
    const text = `-- drop table groups
      create function f() returns void language sql as $$ drop table groups $$;
      alter table groups add column a int, -- drop column name
        drop column name;`;
    expect(contractionsOf(statementsOf(text))).toEqual(['takes away: drop column name']);
  });

  test.each([
    'alter table monitors drop column note',
    'alter table monitors add column a int, drop column note',
    'alter table monitors rename column a to b',
    'alter table monitors alter column a set not null',
    'alter table monitors add column a int not null',
    'alter table monitors add check (a > 0)',
    'alter table monitors alter column a type bigint',
    'create unique index one on monitors (name)',
    'drop table groups',
  ])('is recognised as removing: %s', (statement) => {
    expect(contractionsOf([statement])).toHaveLength(1);
  });

  test.each([
    'alter table monitors add column a int not null default 0',
    'alter table monitors add column a int',
    'create index some on monitors (name)',
    'drop index some',
    'alter table fresh add check (a > 0)',
  ])('is recognised as only adding: %s', (statement) => {
    expect(contractionsOf(['create table fresh (a int)', statement])).toEqual([]);
  });
});

/** How many monitors each group has, as the database keeps it. */
describe('monitor counts', () => {
  let database: TestDatabase;
  let sql: Sql;
  beforeAll(async () => {
    database = await createDatabase();
    sql = connect(database.url, { name: 'test', connections: 2 });
  });
  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  const inNone = '00000000-0000-0000-0000-000000000000';
  type Counts = { organisation_id: string; group_id: string; monitors: number }[];
  const kept = () =>
    sql<Counts>`select organisation_id, value::uuid as group_id, monitors from monitor_counts where facet = 'group' order by 1, 2`;
  const counted = () =>
    sql<Counts>`select organisation_id, coalesce(group_id, ${inNone}) as group_id, count(*)::int as monitors from monitors group by 1, 2 order by 1, 2`;

  test('equal a count of the rows, whatever is created, moved and deleted, many at once', async () => {
    const change = fc.record({
      act: fc.constantFrom('make', 'move', 'pause', 'delete', 'delete group'),
      count: fc.integer({ min: 1, max: 4 }),
      from: fc.integer({ min: 0, max: 2 }),
      to: fc.integer({ min: 0, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async (changes) => {
        const { organisation } = await createTestOrganisation(sql);
        const groups = [newId(), newId()];
        for (const id of groups)
          await sql`insert into groups (id, organisation_id, name, name_folded) values (${id}, ${organisation}, ${id}, ${id})`;
        const groupOf = async (index: number): Promise<string | null> => {
          const [row] = await sql<
            { id: string }[]
          >`select id from groups where id = ${groups[index] ?? inNone}`;
          return row?.id ?? null;
        };
        const some = (group: string | null, count: number) =>
          sql`select id from monitors where organisation_id = ${organisation} and group_id is not distinct from ${group} order by key limit ${count}`;
        for (const { act, count, from, to } of changes) {
          const [here, there] = [await groupOf(from), await groupOf(to)];
          if (act === 'make')
            await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, group_id)
            select gen_random_uuid(), ${organisation}::uuid, 0, 'M', 'https', 'https://shop.example', 60, ${here}::uuid from generate_series(1, ${count}::int)`;
          if (act === 'move')
            await sql`update monitors set group_id = ${there} where id in (${some(here, count)})`;
          if (act === 'pause')
            await sql`update monitors set enabled = false, paused_at = now() where id in (${some(here, count)})`;
          if (act === 'delete') await sql`delete from monitors where id in (${some(here, count)})`;
          if (act === 'delete group') await sql`delete from groups where id = ${here}`;
          expect(await kept()).toEqual(await counted());
        }
        if (changes.length % 3 === 0)
          await sql`delete from organisations where id = ${organisation}`;
        if (changes.length % 5 === 0) await sql`truncate monitors cascade`;
        expect(await kept()).toEqual(await counted());
      }),
      { numRuns: 25 },
    );
  });
});
