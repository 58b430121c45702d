import { expect, test } from 'vitest';
import { connect } from '../../../coordinator/store/database.ts';
import { migrate } from '../../../coordinator/store/migrate.ts';
import { migrationNames } from '../../../coordinator/store/migration-files.ts';
import { ownDatabase } from '../../support/own-database.ts';

const { database, sql } = await ownDatabase();

test('several that start at once apply each file once', async () => {
  await sql.unsafe('drop schema public cascade; create schema public');
  const others = [connect(database.url), connect(database.url)];
  const applied = await Promise.all([sql, ...others].map(migrate));
  expect(applied.flat().toSorted()).toEqual(migrationNames());
  expect(await migrate(sql)).toEqual([]);
  await Promise.all(others.map((other) => other.end()));
});

test('large counts come as numbers and times as dates', async () => {
  const [row] = await sql`select 9007199254740991::bigint as most, timestamptz '2026-01-01T00:00:00Z' as at`;
  expect(row).toEqual({ most: 9007199254740991, at: new Date('2026-01-01T00:00:00Z') });
});
