import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  beginProviderSignIn,
  endProviderSessions,
  finishProviderSignIn,
} from '../../../coordinator/providers/contract.ts';
import { createProviderWatch } from '../../../coordinator/providers/removal.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { says } from '../../support/receivers.ts';
import { askedOf, client, openProviderPlace } from '../../support/sign-in-providers.ts';

const place = openProviderPlace(['login.example']);
const provider = await place.open('login.example');
const part = place.part(provider.issuer);
const bench = gateBench(undefined, undefined, undefined, () => part);
const door = signUpPolicyOf(bench);
let house: TestOrganisation;
let isLeader = true;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await provider.close();
  await place.close();
});

const watch = () =>
  createProviderWatch({
    sql: bench.sql,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
    secrets: bench.secrets,
    providers: part,
    isLeader: () => isLeader,
  });

/** A minute passes, with a tick at its end. */
const minute = async (): Promise<void> => {
  bench.now += 60_000;
  await watch().tick();
};

const signIn = async ({ refresh = true }: { readonly refresh?: boolean } = {}) => {
  const sub = newId();
  provider.claims = {
    sub,
    email: `${sub}@corp.example`,
    email_verified: true,
    groups: ['people'],
    sid: `sid-${sub}`,
  };
  provider.info = { sub, groups: ['people'] };
  provider.refreshToken = refresh ? `first-${sub}` : undefined;
  const { address, secret } = await door.visit(beginProviderSignIn, { provider: 'installation' });
  const asked = askedOf(address);
  const answer = String(new URLSearchParams({ code: provider.grant(asked), state: asked.state }));
  const { session } = await door.visit(finishProviderSignIn, {
    provider: 'installation',
    secret,
    answer,
  });
  const { person } = await door.signedIn(session ?? '');
  const of = [house.organisation, person.user] as const;
  await bench.sql`insert into tokens (id, organisation_id, user_id, name, scope, fingerprint, shown)
    values (${newId()}, ${of[0]}, ${of[1]}, 't', 'read', ${Buffer.from(sub)}, 'svc_')`;
  await bench.sql`insert into connections (id, organisation_id, user_id, client_id, client_name,
    redirect_host, scope, created_at)
    values (${newId()}, ${of[0]}, ${of[1]}, 'c', 'c', 'h', 'read', now())`;
  provider.refreshToken = undefined;
  return { sub, user: person.user, session: session ?? '' };
};

const left = async (user: string) => {
  const [row] = await bench.sql<Record<string, boolean>[]>`
    select exists (select from sessions where user_id = ${user}) as session,
      exists (select from tokens where user_id = ${user}) as token,
      exists (select from connections where user_id = ${user}) as assistant,
      exists (select from memberships where user_id = ${user}) as member`;
  return row;
};

const all = { session: true, token: true, assistant: true, member: true };
const none = { session: false, token: false, assistant: false, member: true };

describe('somebody whom their provider removed', () => {
  test('has no session, no token and no assistant a minute later, and it is written down', async () => {
    const { sub, user } = await signIn();
    await minute();
    expect(await left(user)).toEqual(all);
    provider.ended.add(`first-${sub}`);
    await minute();
    expect(await left(user)).toEqual(none);
    const [entry] = await bench.sql`select who, organisation_id from audit_log
      where operation = 'endProviderAccess' order by key desc limit 1`;
    expect(entry).toMatchObject({ organisation_id: house.organisation });
    const asked = provider.refreshed.length;
    await minute();
    expect(provider.refreshed.length).toBe(asked);
  });

  test('is asked about with the newest token', async () => {
    const { sub } = await signIn();
    provider.refreshToken = `second-${sub}`;
    await minute();
    await minute();
    expect(provider.refreshed.filter((token) => token.endsWith(sub))).toEqual([
      `first-${sub}`,
      `second-${sub}`,
    ]);
  });

  test('loses the role with the group, and gets the next one', async () => {
    const { sub, user } = await signIn();
    provider.info = { sub, groups: ['admins'] };
    await minute();
    const roles = () => bench.sql`select role from memberships where user_id = ${user}`;
    expect(await roles()).toEqual([{ role: 'admin' }]);
    provider.info = { sub, groups: [] };
    await minute();
    expect(await roles()).toEqual([]);
    expect(await left(user)).toMatchObject({ token: false, assistant: false });
  });
});

describe('nobody is removed', () => {
  test.each([
    ['answers with an error', says(500, 'oh')],
    ['says that our client is unknown', says(401, { error: 'invalid_client' })],
    ['is too busy', says(429, '')],
    ['answers with a page', says(200, '<html>', { 'content-type': 'text/html' })],
    ['sends elsewhere', says(302, '', { location: 'https://login.example/' })],
  ])('by a provider that %s', async (_words, behaviour) => {
    const { user } = await signIn();
    provider.answers.set('/token', behaviour);
    await minute();
    expect(await left(user)).toEqual(all);
  });

  test('by groups that it does not say again', async () => {
    const { sub, user } = await signIn();
    provider.info = { sub };
    await minute();
    expect(await left(user)).toEqual(all);
  });

  test('by one who does not lead', async () => {
    const { sub, user } = await signIn();
    provider.ended.add(`first-${sub}`);
    isLeader = false;
    await minute();
    isLeader = true;
    expect(await left(user)).toEqual(all);
  });
});

test('two leaders ask once', async () => {
  const { sub } = await signIn();
  bench.now += 60_000;
  await Promise.all([watch().tick(), watch().tick()]);
  expect(provider.refreshed.filter((token) => token === `first-${sub}`)).toHaveLength(1);
});

describe('a logout at the provider', () => {
  const logout = async (sub: string) =>
    door.visit(endProviderSessions, {
      provider: 'installation',
      logout_token: await provider.sign({
        iss: provider.issuer,
        aud: client.client_id,
        iat: Math.floor(bench.now / 1_000),
        jti: newId(),
        sub,
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      }),
    });

  test('ends the sessions, and has the next tick ask about the rest', async () => {
    const { sub, user } = await signIn();
    await logout(sub);
    expect(await left(user)).toEqual({ ...all, session: false });
    await watch().tick();
    expect(await left(user)).toEqual({ ...all, session: false });
    provider.ended.add(`first-${sub}`);
    await minute();
    expect(await left(user)).toEqual(none);
  });

  test('ends all where nothing can be asked', async () => {
    const { sub, user } = await signIn({ refresh: false });
    await logout(sub);
    expect(await left(user)).toEqual(none);
  });
});
