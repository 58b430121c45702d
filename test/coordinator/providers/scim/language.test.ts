import { describe, expect, test } from 'vitest';
import {
  addressIn,
  personName,
  type Values,
  valuesFrom,
} from '../../../../coordinator/providers/scim/attributes.ts';
import { conditionsFrom, placeFrom } from '../../../../coordinator/providers/scim/filter.ts';
import { patched } from '../../../../coordinator/providers/scim/patch.ts';
import { Refusal } from '../../../../shared/base/errors.ts';
import { patchOf } from '../../../support/scim.ts';

/** The little language of paths, filters and changes, without a database. */

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'taken';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
};

describe('a filter', () => {
  const read = (filter: string, kind: 'User' | 'Group' = 'User') =>
    conditionsFrom(kind, filter).map(({ attribute, tests }) => [
      attribute.name,
      ...tests.map(({ part, value }) => `${part?.name ?? ''}=${value}`),
    ]);

  test.each([
    ['userName eq "ada"', [['userName', '=ada']]],
    ['  USERNAME  EQ  "ada"  ', [['userName', '=ada']]],
    ['userName eq "a \\"quoted\\" ] and b"', [['userName', '=a "quoted" ] and b']]],
    ['name.familyName eq "L"', [['name', 'familyName=L']]],
    ['emails eq "a@b"', [['emails', 'value=a@b']]],
    ['emails[type eq "work"].value eq "a@b"', [['emails', 'type=work', 'value=a@b']]],
    ['emails[value eq "a@b"]', [['emails', 'value=a@b']]],
    [
      'active eq false and externalId eq "7"',
      [
        ['active', '=false'],
        ['externalId', '=7'],
      ],
    ],
    ['urn:ietf:params:scim:schemas:core:2.0:User:emails.type eq "x"', [['emails', 'type=x']]],
  ])('%s', (filter, expected) => expect(read(filter)).toEqual(expected));

  test('of a group', () =>
    expect(read('id eq "1" and members[value eq "2"]', 'Group')).toEqual([
      ['id', '=1'],
      ['members', 'value=2'],
    ]));

  test.each([
    '',
    'userName',
    'userName eq',
    'userName eq ada',
    'userName eq "ada',
    'userName eq "a" and',
    'userName eq "a" userName eq "b"',
    'userName eq "a" andactive eq true',
    'not (userName eq "a")',
    'userName pr',
    'name eq "a"',
    'name.middleName eq "a"',
    'emails[type eq "work" and primary eq true].value eq "a"',
    'urn:else:User:userName eq "a"',
    'active eq "perhaps"',
    '__proto__ eq "a"',
    `userName eq "${'a'.repeat(3_000)}"`,
  ])('that is not known is refused: %s', (filter) =>
    expect(codeOf(() => read(filter))).toBe('scim_filter_invalid'),
  );

  test('is read in no time, whatever it is', () => {
    const begun = performance.now();
    for (const text of [
      'urn:'.repeat(480),
      'a['.repeat(900),
      `a[${'"'.repeat(1_900)}`,
      ' '.repeat(2_000),
    ])
      expect(codeOf(() => read(text))).toBe('scim_filter_invalid');
    expect(performance.now() - begun).toBeLessThan(250);
  });
});

test('a path of what we do not keep leads nowhere, and of what is none is refused', () => {
  for (const path of ['title', 'name.middleName', 'phoneNumbers[type eq "x"].value', 'constructor'])
    expect(placeFrom('User', path)).toBeUndefined();
  for (const path of ['', ' ', 'a b', 'emails[type]', 'emails[type eq "x"', '.value', 'a.b.c'])
    expect(codeOf(() => placeFrom('User', path))).toBe('scim_path_invalid');
});

describe('a change', () => {
  const had: Values = {
    userName: 'ada',
    name: { givenName: 'Ada', familyName: 'B' },
    emails: [{ value: 'a@x', type: 'work', primary: true }],
    active: true,
  };
  const changed = (...operations: readonly object[]) =>
    patched('User', had, patchOf(...operations));

  test.each<[string, object, object]>([
    [
      'merges a name',
      { op: 'add', path: 'name', value: { familyName: 'L' } },
      { name: { givenName: 'Ada', familyName: 'L' } },
    ],
    [
      'takes a part away',
      { op: 'remove', path: 'name.familyName' },
      { name: { givenName: 'Ada' } },
    ],
    ['turns off by a text', { op: 'Replace', path: 'active', value: 'FALSE' }, { active: false }],
    [
      'reads names without case',
      { op: 'replace', value: { USERNAME: 'bob' } },
      { userName: 'bob' },
    ],
    [
      'takes null for nothing',
      { op: 'replace', value: { 'name.familyName': null } },
      { name: { givenName: 'Ada' } },
    ],
    [
      'adds an e-mail, of which one is primary',
      { op: 'add', path: 'emails', value: { value: 'b@x', primary: true } },
      {
        emails: [
          { value: 'a@x', type: 'work', primary: false },
          { value: 'b@x', primary: true },
        ],
      },
    ],
    [
      'adds what is there already once',
      { op: 'add', path: 'emails', value: [{ value: 'a@x', type: 'work', primary: true }] },
      { emails: had.emails ?? [] },
    ],
    [
      'makes an item for a part that is missing',
      { op: 'Add', path: 'emails[type eq "home"].value', value: 'h@x' },
      {
        emails: [
          { value: 'a@x', type: 'work', primary: true },
          { type: 'home', value: 'h@x' },
        ],
      },
    ],
    [
      'replaces an item',
      { op: 'replace', path: 'emails[type eq "WORK"]', value: { value: 'c@x' } },
      { emails: [{ value: 'c@x', type: 'work', primary: true }] },
    ],
    [
      'leaves out what it does not keep',
      { op: 'add', value: { title: 'Countess', id: '7', 'urn:x:User': { a: 1 } } },
      {},
    ],
  ])('%s', (_words, operation, expected) =>
    expect(changed(operation)).toEqual({ ...had, ...expected }),
  );

  test('removes items by their value', () => {
    const { emails: _, ...without } = had;
    for (const operation of [
      { op: 'Remove', path: 'emails', value: [{ value: 'a@x' }] },
      { op: 'remove', path: 'emails[value eq "a@x"]' },
      { op: 'remove', path: 'emails' },
    ])
      expect(changed(operation)).toEqual(without);
    expect(changed({ op: 'remove', path: 'emails[value eq "b@x"]' })).toEqual(had);
  });

  test('does not touch what was there', () => {
    const frozen = structuredClone(had);
    changed(
      { op: 'replace', path: 'name.givenName', value: 'X' },
      { op: 'remove', path: 'emails' },
    );
    expect(had).toEqual(frozen);
  });
});

describe('a user', () => {
  test.each<[string | null, object, string | undefined]>([
    ['x.example', { userName: 'ada', emails: [{ value: 'a@x.example' }] }, 'a@x.example'],
    ['x.example', { userName: 'u@x.example', emails: [{ value: 'a@y.example' }] }, 'u@x.example'],
    ['x.example', { userName: 'u@X.Example' }, 'u@X.Example'],
    ['x.example', { userName: 'u@x.example.evil' }, undefined],
    ['x.example', { userName: 'u@evil.example@x.example' }, undefined],
    ['x.example', { userName: 'u@sub.x.example' }, undefined],
    [
      null,
      {
        userName: 'u',
        emails: [
          { value: 'h@x', type: 'home' },
          { value: 'w@x', type: 'work' },
        ],
      },
      'w@x',
    ],
    [
      null,
      {
        userName: 'u',
        emails: [
          { value: 'w@x', type: 'work' },
          { value: 'p@x', primary: 'true' },
        ],
      },
      'p@x',
    ],
  ])('of %s with %j has the address %s', (domain, said, expected) =>
    expect(addressIn(valuesFrom('User', said), domain)).toBe(expected),
  );

  test.each([
    [{ displayName: 'Ada\u0007 L' }, 'Ada  L'],
    [{ name: { formatted: 'Ada Lovelace', givenName: 'A' } }, 'Ada Lovelace'],
    [{ name: { givenName: 'Ada', familyName: 'L' } }, 'Ada L'],
    [{}, ''],
  ])('with %j is called %s', (said, expected) =>
    expect(personName(valuesFrom('User', { userName: 'u', ...said }))).toBe(expected),
  );
});
