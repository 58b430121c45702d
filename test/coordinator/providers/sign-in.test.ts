import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { createUser } from '../../../coordinator/organisations/contract.ts';
import {
  changePassword,
  listOwnOrganisations,
  signIn,
} from '../../../coordinator/people/contract.ts';
import {
  beginProviderConnection,
  beginProviderSignIn,
  disconnectProvider,
  finishProviderSignIn,
  listOwnProviders,
} from '../../../coordinator/providers/contract.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { askedOf, openProviderPlace } from '../../support/sign-in-providers.ts';

const place = openProviderPlace(['login.example']);
const provider = await place.open('login.example');
const bench = gateBench(undefined, undefined, undefined, () => place.part(provider.issuer));
const door = signUpPolicyOf(bench);
let made: TestOrganisation | undefined;
const house = async (): Promise<TestOrganisation> => {
  made ??= await createTestOrganisation(bench.sql, { name: 'Shop' });
  return made;
};

afterEach(() => provider.reset());
afterAll(async () => {
  await provider.close();
  await place.close();
});

const begin = async () => {
  await house();
  const { address, secret } = await door.visit(beginProviderSignIn, { provider: 'installation' });
  return { secret, asked: askedOf(address) };
};

const finish = async ({ secret, asked }: Awaited<ReturnType<typeof begin>>) =>
  door.visit(finishProviderSignIn, {
    provider: 'installation',
    secret,
    answer: String(new URLSearchParams({ code: provider.grant(asked), state: asked.state })),
  });

const as = (sub: string, more: object = {}): void => {
  provider.claims = { sub, email: `${sub}@corp.example`, email_verified: true, ...more };
  provider.info = { sub };
};

const comeIn = async () => finish(await begin());
const who = async (session: string | null) => door.signedIn(session ?? '');

describe('signing in with the provider of the installation', () => {
  test('asks for a code by PKCE, a state and a nonce, none of which is the secret', async () => {
    const { asked, secret } = await begin();
    const { searchParams: asks } = asked.address;
    expect(Object.fromEntries(asks)).toMatchObject({
      response_type: 'code',
      client_id: 'antipode',
      redirect_uri: 'https://antipode.test/sign-in/provider/installation/answer',
      code_challenge_method: 'S256',
      scope: 'openid email profile',
    });
    const parts = [asked.state, asked.nonce, asked.challenge, secret];
    expect(new Set(parts).size).toBe(4);
    expect(asked.address.href).not.toContain(secret);
  });

  test('makes an account with the highest role that its groups give', async () => {
    const sub = newId();
    as(sub, { name: 'Ada', groups: ['people', 'admins', 'else'] });
    const { session } = await comeIn();
    expect(await who(session)).toMatchObject({
      person: { email: `${sub}@corp.example`, name: 'Ada', email_verified: true },
      caller: { role: 'admin', organisation: { name: 'Shop' } },
    });
  });

  test('reads groups and the address where the provider says them elsewhere', async () => {
    const sub = newId();
    provider.claims = { sub };
    provider.info = {
      sub,
      email: `${sub}@corp.example`,
      email_verified: true,
      groups: ['people'],
    };
    const { session } = await comeIn();
    expect((await who(session)).caller?.role).toBe('viewer');
  });

  test('follows the groups with each sign-in, which ends the tokens of another role', async () => {
    const sub = newId();
    as(sub, { groups: ['admins'] });
    const { person } = await who((await comeIn()).session);
    await bench.sql`insert into tokens (id, organisation_id, user_id, name, scope, fingerprint, shown)
      values (${newId()}, ${(await house()).organisation}, ${person.user}, 't', 'read',
        ${Buffer.from(sub)}, 'svc_')`;
    as(sub, { groups: ['people'] });
    expect((await who((await comeIn()).session)).caller?.role).toBe('viewer');
    expect(await bench.sql`select 1 from tokens where user_id = ${person.user}`).toHaveLength(0);
    as(sub);
    expect((await who((await comeIn()).session)).caller?.role).toBe('viewer');
    as(sub, { groups: [] });
    expect(await comeIn()).toEqual({
      session: null,
      refused: expect.stringContaining('none of your groups there gives you a role here'),
    });
    expect(await bench.sql`select 1 from memberships where user_id = ${person.user}`).toHaveLength(
      0,
    );
  });

  test('never takes the last owner away', async () => {
    const { owner, organisation } = await house();
    const sub = newId();
    as(sub, { groups: ['bosses'] });
    const { person } = await who((await comeIn()).session);
    await bench.sql`update memberships set role = 'admin' where user_id = ${owner.user}`;
    as(sub, { groups: [] });
    expect((await who((await comeIn()).session)).caller?.role).toBe('owner');
    await bench.sql`update memberships set role = 'owner' where user_id = ${owner.user}`;
    expect((await comeIn()).session).toBeNull();
    const left = await bench.sql`select role from memberships
      where organisation_id = ${organisation} and user_id = ${person.user}`;
    expect(left).toHaveLength(0);
  });

  test('gives nobody an account that opens nothing', async () => {
    const sub = newId();
    as(sub, { groups: ['else'] });
    expect(await codeOfRefusal(comeIn())).toBe('provider_refused');
    expect(
      await bench.sql`select 1 from users where email = ${`${sub}@corp.example`}`,
    ).toHaveLength(0);
  });

  test('writes who came in to the audit log, without a secret', async () => {
    const sub = newId();
    as(sub, { groups: ['people'] });
    const begun = await begin();
    await finish(begun);
    const [row] = await bench.sql<{ text: string }[]>`select l::text as text from audit_log l
      where operation = 'finishProviderSignIn' order by key desc limit 1`;
    expect(row?.text).toContain(`${sub}@corp.example`);
    expect(row?.text).toContain('created');
    for (const secret of [begun.secret, begun.asked.state]) expect(row?.text).not.toContain(secret);
  });

  test('keeps a refresh token encrypted, and the one before where there is none', async () => {
    const sub = newId();
    as(sub, { groups: ['people'] });
    provider.refreshToken = `refresh-${sub}`;
    await comeIn();
    provider.refreshToken = undefined;
    await comeIn();
    const [row] = await bench.sql<{ refresh_token: Uint8Array }[]>`
      select refresh_token from identities where subject = ${sub}`;
    expect(Buffer.from(row?.refresh_token ?? []).toString('latin1')).not.toContain('refresh-');
    expect(row?.refresh_token).not.toBeNull();
  });
});

describe('an account that there is already', () => {
  const password = 'correct horse';
  const account = async () => {
    const sub = newId();
    const email = `${sub}@corp.example`;
    await bench.call(createUser, (await house()).owner, { email, password, role: 'member' });
    as(sub, { groups: ['people'] });
    return { sub, email };
  };
  const connect = async (session: string) => {
    const { person } = await door.signedIn(session);
    const { address, secret } = await door.act(beginProviderConnection, person, {
      provider: 'installation',
    });
    const asked = askedOf(address);
    expect(asked.address.searchParams.get('prompt')).toBe('login');
    return finish({ secret, asked });
  };

  test('is connected by whoever proves that it is theirs, and then signed in', async () => {
    const { email } = await account();
    expect(await codeOfRefusal(comeIn())).toBe('account_exists');
    const { session } = await door.visit(signIn, { email, password });
    await connect(session ?? '');
    const { person, caller } = await who((await comeIn()).session);
    expect([person.email, caller?.role]).toEqual([email, 'viewer']);
    const { items } = await door.act(listOwnProviders, person);
    expect(items).toEqual([
      { key: 'installation', name: new URL(provider.issuer).host, connected: true },
    ]);
    await door.act(disconnectProvider, person, { provider: 'installation' });
    expect(await codeOfRefusal(comeIn())).toBe('account_exists');
  });

  test('is not connected with the identity of somebody else', async () => {
    as(newId(), { groups: ['people'] });
    const mine = provider.claims;
    await comeIn();
    const { email } = await account();
    provider.claims = mine;
    const { session } = await door.visit(signIn, { email, password });
    expect(await codeOfRefusal(connect(session ?? ''))).toBe('identity_taken');
  });

  test('stays connected when it has no other way in', async () => {
    as(newId(), { groups: ['people'] });
    const { person } = await who((await comeIn()).session);
    expect(
      await codeOfRefusal(door.act(disconnectProvider, person, { provider: 'installation' })),
    ).toBe('password_missing');
    await door.act(changePassword, person, { password: 'another horse' });
    const { items } = await door.act(listOwnOrganisations, person);
    expect(items).toHaveLength(1);
    await door.act(disconnectProvider, person, { provider: 'installation' });
  });
});
