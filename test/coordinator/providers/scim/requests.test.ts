import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/crypto.ts';
import { gateBench } from '../../../support/gate.ts';
import {
  createScimHouse,
  groupSchema,
  openScim,
  patchOf,
  type ScimFace,
  type ScimHouse,
  userSchema,
} from '../../../support/scim.ts';

/**
 * What Okta and Entra send, in their order and their spelling, as their documents for those who
 * write the other side have it.
 */

const bench = gateBench();
let face: ScimFace;
let of: ScimHouse;

beforeEach(async () => {
  face ??= openScim(bench);
  of = await createScimHouse(bench);
});
afterAll(() => face.close());

const ask = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
  face.ask(of.token, method, path, body);
const filtered = (kind: string, filter: string, more = ''): string =>
  `/${kind}?filter=${encodeURIComponent(filter)}${more}`;
const idOf = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) => String(body.id);
const resources = async (path: string) => {
  const { body } = await ask('GET', path);
  return body.Resources;
};
const roleOf = async (email: string): Promise<string | undefined> => {
  const [row] = await bench.sql<{ role: string }[]>`select m.role from memberships m
    join users u on u.id = m.user_id
    where m.organisation_id = ${of.house.organisation} and lower(u.email) = lower(${email})`;
  return row?.role;
};

const oktaUser = (name: string) => ({
  schemas: [userSchema],
  userName: of.address(name),
  name: { givenName: 'Test', familyName: name },
  emails: [{ primary: true, value: of.address(name), type: 'work' }],
  displayName: `Test ${name}`,
  locale: 'en-US',
  externalId: `00u${name}`,
  groups: [],
  password: '1mz050nq',
  active: true,
});

const entraUser = (name: string) => ({
  schemas: [userSchema, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
  externalId: newId(),
  userName: of.address(name),
  active: true,
  emails: [{ primary: true, type: 'work', value: of.address(name) }],
  meta: { resourceType: 'User' },
  name: { formatted: `Given ${name}`, familyName: name, givenName: 'Given' },
  roles: [],
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'x' },
});

const entraGroup = (displayName: string) => ({
  schemas: [
    groupSchema,
    'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
  ],
  externalId: newId(),
  displayName,
  meta: { resourceType: 'Group' },
});

describe('Okta', () => {
  test('finds out whether a user is there, creates, reads, replaces, turns off and on', async () => {
    const email = of.address('ada');
    const search = filtered('Users', `userName eq "${email}"`, '&startIndex=1&count=100');
    expect((await ask('GET', search)).body).toMatchObject({
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    });
    const made = await ask('POST', '/Users', oktaUser('ada'));
    expect(made).toMatchObject({
      status: 201,
      headers: { 'content-type': 'application/scim+json; charset=utf-8' },
      body: {
        schemas: [userSchema],
        userName: email,
        externalId: '00uada',
        active: true,
        meta: { resourceType: 'User' },
      },
    });
    const id = idOf(made);
    expect(made.headers.location).toBe(`https://antipode.test/scim/v2/Users/${id}`);
    expect(JSON.stringify(made.body)).not.toContain('1mz050nq');
    expect((await ask('GET', search)).body).toMatchObject({ totalResults: 1, Resources: [{ id }] });
    expect((await ask('GET', `/Users/${id}`)).body).toEqual(made.body);
    const replaced = await ask('PUT', `/Users/${id}`, {
      ...made.body,
      name: { givenName: 'Another', familyName: 'ada' },
    });
    expect(replaced).toMatchObject({ status: 200, body: { name: { givenName: 'Another' } } });
    for (const active of [false, true])
      expect(
        await ask('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active } })),
      ).toMatchObject({ status: 200, body: { id, active } });
  });

  test('pushes a group, renames it, and adds and removes members', async () => {
    const [ada, bob] = [
      idOf(await ask('POST', '/Users', oktaUser('ada'))),
      idOf(await ask('POST', '/Users', oktaUser('bob'))),
    ];
    const roles = async () => [await roleOf(of.address('ada')), await roleOf(of.address('bob'))];
    expect(await resources(filtered('Groups', 'displayName eq "people"'))).toEqual([]);
    const made = await ask('POST', '/Groups', {
      schemas: [groupSchema],
      displayName: 'people',
      members: [{ value: ada, display: 'ada' }],
    });
    expect(made).toMatchObject({ status: 201, body: { members: [{ value: ada }] } });
    const path = `/Groups/${idOf(made)}`;
    expect(await roles()).toEqual(['viewer', undefined]);
    const add = { op: 'add', path: 'members', value: [{ value: bob, display: 'bob' }] };
    expect((await ask('PATCH', path, patchOf(add, add))).status).toBe(204);
    expect(await roles()).toEqual(['viewer', 'viewer']);
    const remove = { op: 'remove', path: `members[value eq "${ada}"]` };
    expect((await ask('PATCH', path, patchOf(remove))).status).toBe(204);
    expect(await roles()).toEqual([undefined, 'viewer']);
    const named = { id: idOf(made), displayName: 'bosses' };
    expect((await ask('PATCH', path, patchOf({ op: 'replace', value: named }))).status).toBe(204);
    expect(await roles()).toEqual([undefined, 'owner']);
    const replace = { op: 'replace', path: 'members', value: [{ value: ada }, { value: bob }] };
    expect((await ask('PATCH', path, patchOf(replace))).status).toBe(204);
    expect(await roles()).toEqual(['owner', 'owner']);
    expect((await ask('GET', `/Users/${ada}`)).body).toMatchObject({
      groups: [{ value: idOf(made), display: 'bosses' }],
    });
    expect((await ask('DELETE', path)).status).toBe(204);
    expect(await roles()).toEqual([undefined, undefined]);
    expect((await ask('GET', path)).status).toBe(404);
  });

  test('reads whole lists by pages', async () => {
    for (let nth = 0; nth < 5; nth += 1) await ask('POST', '/Users', oktaUser(`user${nth}`));
    const names = async (from: number): Promise<unknown> => {
      const { body } = await ask('GET', `/Users?startIndex=${from}&count=2`);
      expect(body).toMatchObject({ totalResults: 5, startIndex: from });
      return Array.isArray(body.Resources)
        ? body.Resources.map(({ externalId }) => externalId)
        : undefined;
    };
    expect([await names(1), await names(3), await names(5), await names(7)]).toEqual([
      ['00uuser0', '00uuser1'],
      ['00uuser2', '00uuser3'],
      ['00uuser4'],
      [],
    ]);
    expect((await ask('GET', '/Users?count=0')).body).toMatchObject({
      totalResults: 5,
      Resources: [],
    });
  });
});

describe('Entra', () => {
  test('asks for nobody, finds by several attributes, and patches in its own spelling', async () => {
    expect((await ask('GET', filtered('Users', `userName eq "${newId()}"`))).body).toMatchObject({
      totalResults: 0,
      Resources: [],
    });
    const said = entraUser('eve');
    const made = await ask('POST', '/Users', said);
    const id = idOf(made);
    for (const filter of [
      `userName eq "${of.address('EVE')}"`,
      `externalId eq "${said.externalId}"`,
      `emails[type eq "work"].value eq "${of.address('eve')}"`,
      `emails.value eq "${of.address('eve')}"`,
      `id eq "${id}" and active eq true`,
      `${userSchema}:userName eq "${of.address('eve')}"`,
      'name.familyName Eq "EVE"',
    ])
      expect(await resources(filtered('Users', filter)), filter).toMatchObject([{ id }]);
    expect(await resources(filtered('Users', 'emails[type eq "home"].value eq "x"'))).toEqual([]);
    const patch = await ask(
      'PATCH',
      `/Users/${id}`,
      patchOf(
        { op: 'Replace', path: 'emails[type eq "work"].value', value: of.address('eva') },
        { op: 'Replace', path: 'name.familyName', value: 'Married' },
        { op: 'Add', path: 'phoneNumbers[type eq "work"].value', value: '+1 555' },
        {
          op: 'Add',
          path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
          value: 'y',
        },
        { op: 'Replace', value: { displayName: 'Eva', 'name.givenName': 'Eva', active: 'True' } },
      ),
    );
    expect(patch).toMatchObject({
      status: 200,
      body: {
        displayName: 'Eva',
        active: true,
        name: { formatted: 'Given eve', familyName: 'Married', givenName: 'Eva' },
        emails: [{ primary: true, type: 'work', value: of.address('eva') }],
      },
    });
    expect(
      await ask(
        'PATCH',
        `/Users/${id}`,
        patchOf({ op: 'Replace', path: 'active', value: 'False' }),
      ),
    ).toMatchObject({ status: 200, body: { active: false } });
    expect(
      (await ask('GET', filtered('Users', `userName eq "${said.userName}"`))).body,
    ).toMatchObject({ Resources: [{ active: false }] });
    expect((await ask('DELETE', `/Users/${id}`)).status).toBe(204);
    expect((await ask('DELETE', `/Users/${id}`)).status).toBe(404);
  });

  test('fills a group, whose roles may be under its id there', async () => {
    const group = entraGroup('Site Reliability');
    await bench.sql`update sign_in_providers set group_roles = ${JSON.stringify([
      { group: group.externalId, role: 'admin' },
    ])}::text::jsonb where organisation_id = ${of.house.organisation}`;
    const user = idOf(await ask('POST', '/Users', entraUser('sam')));
    const made = await ask('POST', '/Groups', group);
    expect(made.status).toBe(201);
    const path = `/Groups/${idOf(made)}`;
    const value = [{ $ref: null, value: user }];
    const change = (op: string) => ask('PATCH', path, patchOf({ op, path: 'members', value }));
    expect((await change('Add')).status).toBe(204);
    expect(await roleOf(of.address('sam'))).toBe('admin');
    const lean = (await ask('GET', `${path}?excludedAttributes=members`)).body;
    expect(lean).toMatchObject({ displayName: 'Site Reliability' });
    expect(lean).not.toHaveProperty('members');
    const search = 'displayName eq "Site Reliability"';
    expect(await resources(filtered('Groups', search, '&excludedAttributes=members'))).toEqual([
      lean,
    ]);
    for (const filter of [
      `id eq "${idOf(made)}" and members eq "${user}"`,
      `members[value eq "${user}"]`,
    ])
      expect(await resources(filtered('Groups', filter, '&attributes=id')), filter).toMatchObject([
        { id: idOf(made) },
      ]);
    expect((await change('Remove')).status).toBe(204);
    expect(await roleOf(of.address('sam'))).toBeUndefined();
    expect((await change('Remove')).status).toBe(204);
  });
});

describe('whoever asks', () => {
  test('learns what there is', async () => {
    expect((await ask('GET', '/ServiceProviderConfig')).body).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
    });
    expect((await ask('GET', '/ResourceTypes')).body).toMatchObject({ totalResults: 2 });
    expect((await ask('GET', `/Schemas/${userSchema}`)).body).toMatchObject({ name: 'User' });
    expect((await ask('GET', '/Schemas/constructor')).status).toBe(404);
    expect((await ask('GET', '/constructor')).status).toBe(404);
  });

  test.each([
    ['GET', filtered('Users', 'userName co "a"'), undefined, 400, 'invalidFilter'],
    [
      'GET',
      filtered('Users', 'userName eq "a" or userName eq "b"'),
      undefined,
      400,
      'invalidFilter',
    ],
    ['GET', filtered('Users', 'salary eq "a"'), undefined, 400, 'invalidFilter'],
    ['GET', filtered('Users', 'userName eq "a\\u0000"'), undefined, 400, 'invalidFilter'],
    ['POST', '/Users', '{', 400, 'invalidSyntax'],
    ['POST', '/Users', '[]', 400, 'invalidSyntax'],
    ['POST', '/Users', undefined, 400, 'invalidSyntax'],
    ['POST', '/Users', {}, 400, 'invalidValue'],
    ['POST', '/Users', { userName: 7 }, 400, 'invalidValue'],
    ['POST', '/Users', { userName: 'a\u0000b' }, 400, 'invalidValue'],
    ['POST', '/Users', { userName: 'x'.repeat(300) }, 400, 'invalidValue'],
    ['POST', '/Users', { userName: 'ada' }, 400, 'invalidValue'],
    ['POST', '/Users', { userName: 'ada@elsewhere.example' }, 400, 'invalidValue'],
    ['POST', '/Groups', { displayName: 'x', members: [{ value: newId() }] }, 400, 'invalidValue'],
    ['POST', '/Groups', { displayName: 'x', members: [{ value: 'x' }] }, 400, 'invalidValue'],
    ['PATCH', `/Users/${newId()}`, patchOf({ op: 'replace', value: {} }), 404, undefined],
    ['DELETE', `/Groups/${newId()}`, undefined, 404, undefined],
    ['GET', '/Users/x', undefined, 404, undefined],
    ['GET', '/Users/x/y', undefined, 404, undefined],
    ['POST', '/Schemas', {}, 405, undefined],
    ['DELETE', '/Users', undefined, 405, undefined],
    ['POST', `/Users/${newId()}`, {}, 405, undefined],
  ] as const)(
    'is refused in the form of the protocol: %s %s %j',
    async (method, path, body, status, type) => {
      const answer = await ask(method, path, body);
      expect(answer).toMatchObject({
        status,
        headers: { 'content-type': 'application/scim+json; charset=utf-8' },
        body: {
          schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
          status: String(status),
          detail: expect.any(String),
        },
      });
      expect(answer.body.scimType).toBe(type);
    },
  );

  test('finds each fault of a patch, and nothing changes', async () => {
    const made = await ask('POST', '/Users', oktaUser('ada'));
    const path = `/Users/${idOf(made)}`;
    for (const [operation, type] of [
      [{ op: 'move', path: 'active' }, 'invalidSyntax'],
      [{ op: 'remove' }, 'invalidSyntax'],
      [{ op: 'replace', value: 'x' }, 'invalidSyntax'],
      [{ op: 'replace', path: 'emails[', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'userName' }, 'invalidValue'],
      [{ op: 'replace', path: 'active', value: 'maybe' }, 'invalidValue'],
      [{ op: 'replace', path: 'userName', value: 'x'.repeat(300) }, 'invalidValue'],
    ] as const) {
      const { status, body } = await ask('PATCH', path, patchOf(operation));
      expect([status, body.scimType], JSON.stringify(operation)).toEqual([400, type]);
    }
    expect((await ask('PATCH', path, { Operations: [] })).body.scimType).toBe('invalidSyntax');
    expect((await ask('GET', path)).body).toEqual(made.body);
  });
});
