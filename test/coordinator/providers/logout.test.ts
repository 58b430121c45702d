import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  beginProviderSignIn,
  endProviderSessions,
  finishProviderSignIn,
} from '../../../coordinator/providers/contract.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';
import {
  askedOf,
  bySecret,
  client,
  openProviderPlace,
  ownProvider,
  unsigned,
} from '../../support/sign-in-providers.ts';

const place = openProviderPlace(['login.example', 'evil.example']);
const [good, evil] = [await place.open('login.example'), await place.open('evil.example')];
const bench = gateBench(undefined, undefined, undefined, () => place.part(good.issuer));
const door = signUpPolicyOf(bench);
let otherKey = '';

beforeAll(async () => {
  await createTestOrganisation(bench.sql, { name: 'Shop' });
  const house = await createTestOrganisation(bench.sql, { name: 'Corp' });
  otherKey = await ownProvider(bench, house.organisation, evil.issuer, 'corp.example');
});
afterAll(async () => {
  for (const { close } of [good, evil]) await close();
  await place.close();
});

const pem = () => String(good.publicKey.export({ type: 'spki', format: 'pem' }));

describe('a logout token', () => {
  const event = 'http://schemas.openid.net/event/backchannel-logout';
  const standard = (subject: string) => ({
    iss: good.issuer,
    aud: client.client_id,
    iat: Math.floor(bench.now / 1_000),
    jti: newId(),
    sub: subject,
    events: { [event]: {} },
  });
  const post = (logout_token: string, provider = 'installation') =>
    door.visit(endProviderSessions, { provider, logout_token });
  const signIn = async (name: string) => {
    good.claims = {
      sub: name,
      email: `${name}@corp.example`,
      email_verified: true,
      groups: ['people'],
      sid: `sid-${name}`,
    };
    const { address, secret } = await door.visit(beginProviderSignIn, { provider: 'installation' });
    const asked = askedOf(address);
    const answer = new URLSearchParams({ code: good.grant(asked), state: asked.state });
    const { session } = await door.visit(finishProviderSignIn, {
      provider: 'installation',
      secret,
      answer: String(answer),
    });
    return session ?? '';
  };
  const signedIn = async () => {
    const name = newId();
    return { name, session: await signIn(name) };
  };

  test.each<[string, (claims: ReturnType<typeof standard>) => Promise<string> | string]>([
    ['by another key', (c) => evil.sign(c, { kid: good.kid })],
    ['without a signature', (c) => unsigned(c, { alg: 'none' })],
    ["by the client's secret", (c) => bySecret(c, client.client_secret)],
    ['by the public key as a secret', (c) => bySecret(c, pem(), { kid: good.kid })],
    ['for another client', (c) => good.sign({ ...c, aud: 'other' })],
    ['of another issuer', (c) => good.sign({ ...c, iss: evil.issuer })],
    ['with a nonce', (c) => good.sign({ ...c, nonce: 'n' })],
    ['without the event', (c) => good.sign({ ...c, events: {} })],
    ['with the event as a text', (c) => good.sign({ ...c, events: event })],
    ['without events, as an ID token is', (c) => good.sign({ ...c, events: undefined })],
    ['without an id', (c) => good.sign({ ...c, jti: undefined })],
    ['without a time', (c) => good.sign({ ...c, iat: undefined })],
    ['of an hour ago', (c) => good.sign({ ...c, iat: c.iat - 3_600 })],
    ['of tomorrow', (c) => good.sign({ ...c, iat: c.iat + 86_400 })],
    ['that is over', (c) => good.sign({ ...c, exp: c.iat - 600 })],
    ['of nobody', (c) => good.sign({ ...c, sub: undefined })],
    ['of another type', (c) => good.sign(c, { typ: 'at+jwt' })],
    ['that is none', () => 'a.b.c'],
    ['that is empty', () => ''],
  ])('%s ends no session', async (_name, forge) => {
    const { name, session } = await signedIn();
    expect(await codeOfRefusal(post(await forge(standard(name))))).toBe('provider_refused');
    await door.signedIn(session);
  });

  test('at the address of another provider ends no session', async () => {
    const { name, session } = await signedIn();
    const token = await good.sign(standard(name));
    expect(await codeOfRefusal(post(token, otherKey))).toBe('provider_refused');
    await door.signedIn(session);
  });

  test('of another subject or session ends none', async () => {
    const { name, session } = await signedIn();
    await post(await good.sign(standard('somebody else')));
    await post(await good.sign({ ...standard(name), sub: undefined, sid: 'another' }));
    await door.signedIn(session);
  });

  test('ends the session that it names, once', async () => {
    const { name, session } = await signedIn();
    const token = await good.sign(
      { ...standard(name), sub: undefined, sid: `sid-${name}` },
      { typ: 'logout+jwt' },
    );
    expect(await post(token)).toEqual({ ended: true });
    expect(await door.who(session)).toBeUndefined();
    const later = await signIn(name);
    expect(await codeOfRefusal(post(token))).toBe('provider_refused');
    await door.signedIn(later);
  });
});
