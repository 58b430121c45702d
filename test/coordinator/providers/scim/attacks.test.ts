import { beforeAll, describe, expect, test } from 'vitest';
import {
  beginProviderSignIn,
  finishProviderSignIn,
  setSignInProvider,
} from '../../../../coordinator/providers/contract.ts';
import { endScimToken, setScimToken } from '../../../../coordinator/providers/scim/contract.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { codeOfRefusal } from '../../../support/gate.ts';
import { createTestOrganisation } from '../../../support/people.ts';
import {
  createScimHouse,
  openScim,
  openScimBench,
  patchOf,
  type ScimHouse,
} from '../../../support/scim.ts';
import { askedOf, client } from '../../../support/sign-in-providers.ts';

/** Whom a provider may let in and put out, and whom not. */

const installationToken = 'the-token-of-the-installation-of-32-characters';
const { bench, door, provider, ask, comeIn } = await openScimBench(installationToken);
let first: Awaited<ReturnType<typeof createTestOrganisation>>;

beforeAll(async () => {
  first = await createTestOrganisation(bench.sql, { name: 'First' });
});

const house = (more: Parameters<typeof createScimHouse>[1] = {}) => createScimHouse(bench, more);
const post = (token: string, userName: string, more: object = {}) =>
  ask(token, 'POST', '/Users', { userName, ...more });
const idOf = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) => String(body.id);
const into = (token: string, displayName: string, ids: readonly string[]) =>
  ask(token, 'POST', '/Groups', { displayName, members: ids.map((value) => ({ value })) });
const off = (token: string, id: string) =>
  ask(token, 'PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } }));

type Look = {
  readonly id: string;
  readonly name: string;
  readonly password_hash: string;
  readonly is_operator: boolean;
  readonly role: string | null;
  readonly proven: boolean;
};

const lookAt = async (email: string, organisation: string): Promise<Look | undefined> => {
  const [row] = await bench.sql<Look[]>`select u.id, u.name, u.password_hash, u.is_operator, m.role,
      u.email_verified_at is not null as proven
    from users u left join memberships m
      on m.user_id = u.id and m.organisation_id = ${organisation}
    where lower(u.email) = lower(${email})`;
  return row;
};
const roleOf = async ({ house: { organisation } }: ScimHouse, email: string) =>
  (await lookAt(email, organisation))?.role ?? undefined;

const addUser = async (
  email: string,
  more: { readonly proven?: boolean; readonly password?: string } = {},
) => {
  const id = newId();
  await bench.sql`insert into users (id, email, name, password_hash, email_verified_at)
    values (${id}, ${email}, 'Own Name', ${more.password ?? 'a hash'},
      ${more.proven === false ? null : new Date()})`;
  return id;
};

describe('a token', () => {
  test.each([
    ['none', undefined],
    ['an empty one', ''],
    ['one that nobody made', 'svcs_0000000000000000000000000000000000000000'],
    ['a text', "' or true --"],
  ])('is refused where there is %s, and says so in the form of the protocol', async (_, token) => {
    for (const path of ['/Users', '/Schemas', '/Nothing']) {
      const answer = await ask(token, 'GET', path);
      expect(answer).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Bearer' },
        body: { status: '401', schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'] },
      });
    }
  });

  test('of a member, and the SCIM token at the API, open nothing', async () => {
    const { house: of, token } = await house();
    expect((await ask(of.owner.readWrite, 'GET', '/Users')).status).toBe(401);
    const [row] = await bench.sql<{ text: string }[]>`select
      (select string_agg(encode(scim_fingerprint, 'escape'), '') from sign_in_providers)
      || (select string_agg(l::text, '') from audit_log l) as text`;
    expect(row?.text).not.toContain(token);
  });

  test('ends when another one is made, when it is ended, and with the domain', async () => {
    const of = await house();
    const { owner } = of.house;
    const works = async (token: string) => (await ask(token, 'GET', '/Users')).status === 200;
    expect(await works(of.token)).toBe(true);
    const next = await bench.call(setScimToken, owner);
    expect([await works(of.token), await works(next.token)]).toEqual([false, true]);
    await bench.sql`update sign_in_providers set domain_proved_at = null
      where organisation_id = ${of.house.organisation}`;
    expect(await works(next.token)).toBe(false);
    expect(await codeOfRefusal(bench.call(setScimToken, owner))).toBe('sign_in_provider_missing');
    await bench.sql`update sign_in_providers set domain_proved_at = now()
      where organisation_id = ${of.house.organisation}`;
    expect(await works(next.token)).toBe(true);
    await bench.call(endScimToken, owner);
    expect(await works(next.token)).toBe(false);
  });

  test('is limited as every other', async () => {
    const { token } = await house();
    const narrow = openScim(bench, { perMinute: 3 });
    const statuses: number[] = [];
    for (let nth = 0; nth < 5; nth += 1)
      statuses.push((await narrow.ask(token, 'GET', '/Users')).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const { headers } = await narrow.ask(token, 'GET', '/Users');
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    await narrow.close();
  });
});

describe('another organisation', () => {
  test('has users and groups that look like none', async () => {
    const [ours, theirs] = [await house(), await house()];
    const user = idOf(await post(ours.token, ours.address('ada')));
    const group = idOf(await into(ours.token, 'people', [user]));
    const asked = (method: 'GET' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) =>
      ask(theirs.token, method, path, body);
    for (const [path, body] of [
      [`/Users/${user}`, { userName: theirs.address('ada') }],
      [`/Groups/${group}`, { displayName: 'x' }],
    ] as const) {
      const nowhere = path.replace(/[^/]+$/, newId());
      const patch = patchOf({ op: 'replace', value: body });
      for (const [method, sent] of [
        ['GET', undefined],
        ['PUT', body],
        ['PATCH', patch],
        ['DELETE', undefined],
      ] as const) {
        const answer = await asked(method, path, sent);
        expect(answer.status).toBe(404);
        expect(answer.body).toEqual((await asked(method, nowhere, sent)).body);
      }
    }
    expect((await into(theirs.token, 'people', [user])).status).toBe(400);
    for (const filter of [`id eq "${user}"`, `userName eq "${ours.address('ada')}"`])
      expect(
        (await asked('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body,
      ).toMatchObject({
        totalResults: 0,
      });
    const ofMember = encodeURIComponent(`members eq "${user}"`);
    expect((await asked('GET', `/Groups?filter=${ofMember}`)).body).toMatchObject({
      totalResults: 0,
    });
    expect((await post(theirs.token, ours.address('eve'))).status).toBe(400);
    expect(await roleOf(ours, ours.address('ada'))).toBe('viewer');
  });

  test('loses nothing by whoever is turned off here, and the operator stays one', async () => {
    const [ours, theirs] = [await house(), await house()];
    const email = ours.address('both');
    const id = await addUser(email);
    await bench.sql`update users set is_operator = true where id = ${id}`;
    await bench.sql`insert into memberships (organisation_id, user_id, role)
      values (${theirs.house.organisation}, ${id}, 'owner')`;
    const before = await lookAt(email, theirs.house.organisation);
    for (const organisation of [ours.house.organisation, theirs.house.organisation])
      await bench.sql`insert into tokens (id, organisation_id, user_id, name, scope, fingerprint,
          shown) select ${newId()}, ${organisation}, ${id}, 't', 'read', ${Buffer.from(newId())}, 's'
        where exists (select from memberships where organisation_id = ${organisation}
          and user_id = ${id})`;
    const made = await post(ours.token, email, {
      displayName: 'Their Name',
      password: 'x'.repeat(20),
    });
    await into(ours.token, 'bosses', [idOf(made)]);
    expect(await roleOf(ours, email)).toBe('owner');
    expect((await off(ours.token, idOf(made))).status).toBe(200);
    expect(await roleOf(ours, email)).toBeUndefined();
    expect(await lookAt(email, theirs.house.organisation)).toEqual(before);
    const { count } = await bench.sql`select from tokens where user_id = ${id}`;
    expect(count).toBe(1);
  });
});

describe('an account that there is', () => {
  test('which proved its address becomes a member, and nothing of it is said or changed', async () => {
    const of = await house();
    const email = of.address('known');
    await addUser(email);
    const made = await post(of.token, email.toUpperCase(), { displayName: 'Their Name' });
    await into(of.token, 'people', [idOf(made)]);
    expect(await lookAt(email, of.house.organisation)).toMatchObject({
      name: 'Own Name',
      password_hash: 'a hash',
      role: 'viewer',
    });
    expect(JSON.stringify(made.body)).not.toContain('Own Name');
    await ask(of.token, 'PUT', `/Users/${idOf(made)}`, { userName: of.address('renamed') });
    expect(await lookAt(email, of.house.organisation)).toMatchObject({ role: 'viewer' });
    expect(await lookAt(of.address('renamed'), of.house.organisation)).toBeUndefined();
  });

  test('which somebody opened with the address of another gets no role, member or not', async () => {
    for (const isMember of [false, true]) {
      const of = await house();
      const email = of.address('boss');
      const id = await addUser(email, { proven: false });
      if (isMember)
        await bench.sql`insert into memberships (organisation_id, user_id, role)
          values (${of.house.organisation}, ${id}, 'viewer')`;
      const made = await post(of.token, email);
      const answer = await into(of.token, 'bosses', [idOf(made)]);
      expect(answer).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } });
      expect(await roleOf(of, email)).toBe(isMember ? 'viewer' : undefined);
      expect((await ask(of.token, 'GET', '/Groups')).body).toMatchObject({ totalResults: 0 });
    }
  });

  test('is not signed in by its address; one that was made for the provider is, once', async () => {
    const of = await house();
    const [known, made] = [of.address('known'), of.address('made')];
    await addUser(known);
    await into(of.token, 'people', [
      idOf(await post(of.token, known)),
      idOf(await post(of.token, made)),
    ]);
    expect(await codeOfRefusal(comeIn(of, known))).toBe('account_exists');
    const { session } = await comeIn(of, made);
    expect((await door.signedIn(session ?? '')).caller).toMatchObject({
      role: 'viewer',
      organisation: { id: of.house.organisation },
    });
    expect(await lookAt(made, of.house.organisation)).toMatchObject({ proven: true });
    expect(await codeOfRefusal(comeIn(of, made))).toBe('account_exists');
  });

  test('which was made and then got a password is no longer the provider’s', async () => {
    const of = await house();
    const email = of.address('reset');
    await into(of.token, 'people', [idOf(await post(of.token, email))]);
    await bench.sql`update users set password_hash = 'theirs' where email = ${email}`;
    expect(await codeOfRefusal(comeIn(of, email))).toBe('account_exists');
  });

  test('has the address and name that are said until somebody comes in by it', async () => {
    const of = await house();
    const id = idOf(await post(of.token, of.address('tpyo')));
    await into(of.token, 'people', [id]);
    await ask(of.token, 'PUT', `/Users/${id}`, {
      userName: of.address('typo'),
      displayName: 'Ty Po',
    });
    expect(await lookAt(of.address('typo'), of.house.organisation)).toMatchObject({
      name: 'Ty Po',
      role: 'viewer',
      proven: false,
    });
    await comeIn(of, of.address('typo'));
    await ask(of.token, 'PUT', `/Users/${id}`, { userName: of.address('later') });
    expect(await lookAt(of.address('later'), of.house.organisation)).toBeUndefined();
  });
});

describe('who is turned off', () => {
  const everything = async (of: ScimHouse, name: string) => {
    const email = of.address(name);
    const id = idOf(await post(of.token, email));
    await into(of.token, 'people', [id]);
    const { session } = await comeIn(of, email);
    const user = (await lookAt(email, of.house.organisation))?.id ?? '';
    const at = [of.house.organisation, user] as const;
    await bench.sql`insert into tokens (id, organisation_id, user_id, name, scope, fingerprint, shown)
      values (${newId()}, ${at[0]}, ${at[1]}, 't', 'read', ${Buffer.from(newId())}, 'svc_')`;
    await bench.sql`insert into connections (id, organisation_id, user_id, client_id, client_name,
        redirect_host, scope, created_at)
      values (${newId()}, ${at[0]}, ${at[1]}, 'c', 'c', 'h', 'read', now())`;
    return { id, email, user, session: session ?? '' };
  };
  const left = async (user: string) => {
    const [row] = await bench.sql<Record<string, boolean>[]>`
      select exists (select from sessions where user_id = ${user}) as session,
        exists (select from tokens where user_id = ${user}) as token,
        exists (select from connections where user_id = ${user}) as assistant,
        exists (select from memberships where user_id = ${user}) as member`;
    return row;
  };
  const none = { session: false, token: false, assistant: false, member: false };

  test.each(['active', 'DELETE'])(
    'by %s has nothing left at once, and cannot come back',
    async (how) => {
      const of = await house();
      const { id, email, user } = await everything(of, 'ada');
      expect(await left(user)).toEqual({
        session: true,
        token: true,
        assistant: true,
        member: true,
      });
      if (how === 'active') await off(of.token, id);
      else await ask(of.token, 'DELETE', `/Users/${id}`);
      expect(await left(user)).toEqual(none);
      const again = await codeOfRefusal(
        comeIn(of, email, String(provider.claims.sub)).then(({ refused }) => {
          expect(refused).not.toBeNull();
        }),
      );
      expect(again).toBe('taken');
      expect(await left(user)).toEqual(none);
    },
  );

  test('and on again has the role of the groups', async () => {
    const of = await house();
    const { id, email } = await everything(of, 'ada');
    await off(of.token, id);
    const on = patchOf({ op: 'Replace', path: 'active', value: 'True' });
    await ask(of.token, 'PATCH', `/Users/${id}`, on);
    expect(await roleOf(of, email)).toBe('viewer');
  });

  test.each([true, false])(
    'is a member whom nobody provisioned yet, proven: %s',
    async (proven) => {
      for (const how of ['off', 'removed', 'never on']) {
        const of = await house();
        const email = of.address('hand');
        const user = await addUser(email, { proven });
        await bench.sql`insert into memberships (organisation_id, user_id, role)
        values (${of.house.organisation}, ${user}, 'admin')`;
        const id = idOf(await post(of.token, email, { active: how !== 'never on' }));
        if (how === 'off') await off(of.token, id);
        if (how === 'removed') await ask(of.token, 'DELETE', `/Users/${id}`);
        expect(await roleOf(of, email), how).toBeUndefined();
        if (how === 'removed') continue;
        await into(of.token, 'people', [id]);
        const on = patchOf({ op: 'replace', value: { active: true } });
        const { status } = await ask(of.token, 'PATCH', `/Users/${id}`, on);
        expect([status, await roleOf(of, email)], how).toEqual(
          proven ? [200, 'viewer'] : [409, undefined],
        );
      }
    },
  );

  test('is never the last owner', async () => {
    const of = await house();
    const id = idOf(await post(of.token, of.address('boss')));
    const group = idOf(await into(of.token, 'bosses', [id]));
    await bench.sql`delete from memberships where organisation_id = ${of.house.organisation}
      and user_id = ${of.house.owner.user}`;
    const refused = { status: 409, body: { detail: expect.stringContaining('only owner') } };
    expect(await off(of.token, id)).toMatchObject(refused);
    expect(await ask(of.token, 'DELETE', `/Users/${id}`)).toMatchObject(refused);
    expect((await ask(of.token, 'DELETE', `/Groups/${group}`)).status).toBe(204);
    expect(await roleOf(of, of.address('boss'))).toBe('owner');
    expect((await ask(of.token, 'GET', `/Users/${id}`)).body).toMatchObject({ active: true });
  });
});

describe('one truth', () => {
  test('the groups of a claim count again when provisioning ends, and for nobody before', async () => {
    const of = await house();
    const [email, sub] = [of.address('ada'), newId()];
    await into(of.token, 'people', [idOf(await post(of.token, email))]);
    await comeIn(of, email, sub);
    expect(await roleOf(of, email)).toBe('viewer');
    expect(await codeOfRefusal(comeIn(of, of.address('unknown')))).toBe('provider_refused');
    await bench.call(endScimToken, of.house.owner);
    await comeIn(of, email, sub);
    expect(await roleOf(of, email)).toBe('owner');
  });

  test('members whom the provider does not know yet stay as they are', async () => {
    const of = await house();
    await bench.call(endScimToken, of.house.owner);
    const email = of.address('early');
    const sub = newId();
    await comeIn(of, email, sub);
    expect(await roleOf(of, email)).toBe('owner');
    await bench.call(setScimToken, of.house.owner);
    expect((await comeIn(of, email, sub)).session).not.toBeNull();
    expect(await roleOf(of, email)).toBe('owner');
  });

  test('another table of roles counts at once', async () => {
    const of = await house();
    const email = of.address('ada');
    await into(of.token, 'people', [idOf(await post(of.token, email))]);
    await bench.sql`update sign_in_providers set issuer = ${provider.issuer}
      where organisation_id = ${of.house.organisation}`;
    await bench.call(setSignInProvider, of.house.owner, {
      ...{ issuer: provider.issuer, ...client, domain: of.domain },
      group_roles: 'people = admin',
    });
    expect(await roleOf(of, email)).toBe('admin');
  });
});

describe('the installation’s provider', () => {
  test('provisions any domain into its organisation, by the token of the settings', async () => {
    const email = `${newId()}@anywhere.example`;
    const made = await post(installationToken, email);
    expect(made.status).toBe(201);
    await into(installationToken, 'admins', [idOf(made)]);
    expect(await lookAt(email, first.organisation)).toMatchObject({ role: 'admin' });
    const { token } = await house();
    expect((await ask(token, 'GET', `/Users/${idOf(made)}`)).status).toBe(404);
  });
});

test('whom the installation’s provider turned off comes in nowhere, until it lets them in again', async () => {
  const other = await house();
  for (const [how, group] of [
    ['active', 'people'],
    ['DELETE', 'bosses'],
  ] as const) {
    const [email, sub] = [`${newId()}@anywhere.example`, newId()];
    const signIn = async (): Promise<boolean> => {
      provider.claims = { sub, email, email_verified: true };
      provider.info = { sub };
      const key = { provider: 'installation' };
      const { address, secret } = await door.visit(beginProviderSignIn, key);
      const { state, ...asked } = askedOf(address);
      const code = provider.grant({ ...asked, state });
      const answer = String(new URLSearchParams({ code, state }));
      return (await door.visit(finishProviderSignIn, { ...key, secret, answer })).session !== null;
    };
    const id = idOf(await post(installationToken, email, { externalId: sub }));
    await into(installationToken, group, [id]);
    const [row] = await bench.sql<{ id: string }[]>`select id from users where email = ${email}`;
    await bench.sql`insert into memberships (organisation_id, user_id, role)
      values (${other.house.organisation}, ${row?.id ?? ''}, 'viewer')`;
    expect(await signIn()).toBe(true);
    if (how === 'active') await off(installationToken, id);
    else await ask(installationToken, 'DELETE', `/Users/${id}`);
    expect(await signIn(), how).toBe(false);
    const on = patchOf({ op: 'replace', value: { active: true } });
    if (how === 'active') await ask(installationToken, 'PATCH', `/Users/${id}`, on);
    else await post(installationToken, email, { externalId: sub });
    expect(await signIn(), how).toBe(true);
  }
});

describe('many at once, and too much', () => {
  test('the same user and group become one, and the plan holds', async () => {
    const of = await house({ plan: 'team' });
    const email = of.address('same');
    const twice = await Promise.all([1, 2, 3].map(() => post(of.token, email)));
    expect(twice.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
    expect(twice.find(({ status }) => status === 409)?.body).toMatchObject({
      scimType: 'uniqueness',
    });
    const groups = await Promise.all([1, 2].map(() => into(of.token, 'people', [])));
    expect(groups.map(({ status }) => status).toSorted()).toEqual([201, 409]);
    const group = idOf(groups.find(({ status }) => status === 201) ?? { body: {} });
    const users = await Promise.all(
      Array.from({ length: 8 }, (_, nth) => post(of.token, of.address(`user${nth}`))),
    );
    const added = await Promise.all(
      users.map((user) =>
        ask(
          of.token,
          'PATCH',
          `/Groups/${group}`,
          patchOf({ op: 'add', path: 'members', value: [{ value: idOf(user) }] }),
        ),
      ),
    );
    // Four members were there, and ten are the most.
    expect(added.filter(({ status }) => status === 204)).toHaveLength(6);
    const refused = added.filter(({ status }) => status === 403);
    expect(refused).toHaveLength(2);
    expect(refused[0]?.body.detail).toContain('The plan team allows 10 members');
    const { body } = await ask(of.token, 'GET', `/Groups/${group}`);
    expect(body.members).toHaveLength(6);
  });

  test('two users of one address are one too many', async () => {
    const of = await house();
    const emails = [{ value: of.address('one'), primary: true }];
    const [one, other] = [
      idOf(await post(of.token, 'one', { emails })),
      idOf(await post(of.token, 'other', { emails })),
    ];
    expect((await into(of.token, 'people', [one, other])).status).toBe(201);
    expect((await into(of.token, 'bosses', [other])).status).toBe(409);
  });

  test('a body that is too large or too deep is refused', async () => {
    const of = await house();
    const large = { userName: of.address('x'), displayName: 'x'.repeat(3_000_000) };
    expect(await ask(of.token, 'POST', '/Users', large)).toMatchObject({ status: 413 });
    const deep = `{"userName":"x","name":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect((await ask(of.token, 'POST', '/Users', deep)).status).toBe(400);
    const many = patchOf(...Array.from({ length: 1_001 }, () => ({ op: 'add', value: {} })));
    const id = idOf(await post(of.token, of.address('x')));
    expect((await ask(of.token, 'PATCH', `/Users/${id}`, many)).status).toBe(400);
  });

  test('no filter reaches the database as more than a text', async () => {
    const of = await house();
    await post(of.token, of.address('ada'));
    for (const text of [`x' or '1'='1`, `x"; drop table users; --`, '%', '_%', '\\\\'])
      for (const attribute of ['userName', 'emails.value', 'externalId', 'id', 'displayName']) {
        const filter = encodeURIComponent(`${attribute} eq ${JSON.stringify(text)}`);
        expect((await ask(of.token, 'GET', `/Users?filter=${filter}`)).body).toMatchObject({
          totalResults: 0,
        });
      }
  });
});

test('each change is written down, by the provider and in the organisation', async () => {
  const of = await house();
  const id = idOf(await post(of.token, of.address('ada'), { password: 'a secret word' }));
  await into(of.token, 'people', [id]);
  await off(of.token, id);
  const rows = await bench.sql<{ operation: string; who: string; text: string }[]>`
    select operation, who, changed::text as text from audit_log
    where organisation_id = ${of.house.organisation} order by key`;
  expect(rows.map(({ operation }) => operation)).toEqual([
    'setScimToken',
    'provisionUser',
    'followProviderGroups',
    'provisionGroup',
    'followProviderGroups',
    'endProviderAccess',
    'provisionUser',
  ]);
  expect(rows[1]?.who).toBe('SCIM of login.example');
  expect(rows.map(({ text }) => text).join()).not.toContain('a secret word');
});
