import { describe, expect, test } from 'vitest';
import { migrationNames, migrationText } from '../../../coordinator/database/migration-files.ts';

/**
 * During an upgrade coordinators of the version before go on working on the new schema. So a migration only adds: what it takes away, renames or newly
 * demands must be something that no older version reads or writes. Held by reading the SQL; each exception says why it is none.
 */

/** The schema that the first release began with. */
const first = '009-refutations.sql';

const exceptions: readonly { readonly file: string; readonly what: string; readonly why: string }[] = [
  {
    file: '019-hourly-means.sql',
    what: 'constraint rollups_pkey',
    why: 'the same key again, with more columns in its leaves: "on conflict (monitor_key, hour, continent)" finds it as before',
  },
  { file: '019-hourly-means.sql', what: 'add primary key', why: 'the same' },
  { file: '031-status-pages.sql', what: 'status_pages_proved_is_domain', why: 'no version before it wrote a domain' },
  { file: '031-status-pages.sql', what: 'status_pages_domain_has_token', why: 'no version before it wrote a domain' },
  { file: '031-status-pages.sql', what: 'status_pages_domain', why: 'the same' },
  { file: '035-open-headers.sql', what: 'without_open_secrets', why: 'made by this very file, for its own use' },
  { file: '038-labels.sql', what: 'monitors_external_id', why: 'of a column that comes with it, and is null in what older versions write' },
  { file: '038-labels.sql', what: 'groups_external_id', why: 'the same' },
  { file: '040-probe-invitations.sql', what: 'probes_name_key', why: 'allows more names than the one before it' },
];

/** Without comments and without the bodies of functions, in which statements stand that do nothing yet. */
const statementsOf = (file: string): string[] =>
  migrationText(file)
    .replaceAll(/(\$\w*\$)[\s\S]*?\1/g, "''")
    .replaceAll(/--.*$/gm, '')
    .toLowerCase()
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');

/** Each clause of an ALTER TABLE for itself. */
const clausesOf = (statement: string): string[] =>
  statement.startsWith('alter table') ? statement.split(/,(?= ?(?:add|drop|alter|rename|set|validate) )/) : [statement];

const contracts: readonly (readonly [string, RegExp])[] = [
  ['takes away', /^drop (?:table|view|function|type|sequence|schema)|\bdrop (?:column|constraint|default|not null|expression)\b/],
  ['renames', /\brename\b/],
  ['demands', /\bset not null\b|\badd (?:constraint|primary key|unique|check|foreign key|exclude)\b/],
  ['changes a type', /\balter (?:column )?\w+ (?:set data )?type\b/],
  ['demands a value', /\badd column (?:if not exists )?\w+ (?!.*\b(?:default|generated)\b).*\bnot null\b/],
  ['allows once', /^create unique index/],
];

/** What a file of today would take from a coordinator of yesterday. */
const contractionsOf = (statements: readonly string[]): string[] => {
  const own = new Set(statements.flatMap((statement) => /^create table (?:if not exists )?(\w+)/.exec(statement)?.[1] ?? []));
  const isOwn = (statement: string): boolean => {
    const [, table = ''] = /^(?:alter table(?: if exists)?(?: only)?|create unique index \w+ on) (\w+)/.exec(statement) ?? [];
    return own.has(table);
  };
  return statements
    .filter((statement) => !isOwn(statement))
    .flatMap((statement) =>
      clausesOf(statement).flatMap((clause) => {
        const found = contracts.find(([, pattern]) => pattern.test(clause));
        return found === undefined ? [] : [`${found[0]}: ${clause}`];
      }),
    );
};

const orNotFound = migrationNames()
  .filter((name) => name > first)
  .flatMap((file) => contractionsOf(statementsOf(file)).map((text) => ({ file, text })));

describe('a migration', () => {
  test('only adds to what the version before works on', () => {
    const unargued = orNotFound.filter(({ file, text }) => !exceptions.some((one) => one.file === file && text.includes(one.what)));
    expect(unargued).toEqual([]);
  });

  test('has no exception that nothing needs', () => {
    const needless = exceptions.filter(({ file, what }) => !orNotFound.some((one) => one.file === file && one.text.includes(what)));
    expect(needless).toEqual([]);
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
  ])('is seen to take something away: %s', (statement) => {
    expect(contractionsOf([statement])).toHaveLength(1);
  });

  test.each([
    'alter table monitors add column a int not null default 0',
    'alter table monitors add column a int',
    'create index some on monitors (name)',
    'drop index some',
    'alter table fresh add check (a > 0)',
  ])('is seen to add alone: %s', (statement) => {
    expect(contractionsOf(['create table fresh (a int)', statement])).toEqual([]);
  });
});
