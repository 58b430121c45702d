import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  beginProviderSignIn,
  checkSignInDomain,
  findSignInProvider,
  finishProviderSignIn,
  removeSignInProvider,
  setSignInProvider,
  showSignInProvider,
} from '../../../coordinator/providers/contract.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { codeOfRefusal, gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { askedOf, client, openProviderPlace } from '../../support/sign-in-providers.ts';

/** The provider of an organisation, from the form to who comes in by it. */

const place = openProviderPlace(['login.example', 'corp-login.example']);
const provider = await place.open('corp-login.example');
place.names.set('inside.example', '10.1.2.3');
const records = new Map<string, readonly string[]>();
const bench = gateBench(
  undefined,
  async (name) => records.get(name) ?? [],
  undefined,
  () => place.part('https://login.example'),
);
const door = signUpPolicyOf(bench);
let house: TestOrganisation;

beforeAll(async () => {
  await createTestOrganisation(bench.sql, { name: 'First' });
});
beforeEach(async () => {
  provider.reset();
  records.clear();
  await bench.sql`delete from sign_in_providers`;
  house = await createTestOrganisation(bench.sql, { name: 'Corp' });
});
afterAll(async () => {
  await provider.close();
  await place.close();
});

const settings = () => ({
  issuer: provider.issuer,
  ...client,
  group_roles: 'people = viewer\nsre = admin',
  domain: 'Corp.Example',
});
const set = (more: object = {}, { owner }: TestOrganisation = house) =>
  bench.call(setSignInProvider, owner, { ...settings(), ...more });
const prove = async ({ owner }: TestOrganisation = house) => {
  const shown = await bench.call(showSignInProvider, owner);
  records.set(shown.provider?.record_name ?? '', ['else', shown.provider?.record_text ?? '']);
  return bench.call(checkSignInDomain, owner);
};
const comeIn = async (groups: readonly string[], key = house.organisation) => {
  const sub = newId();
  const email = `${sub}@corp.example`;
  provider.claims = { sub, email, email_verified: true, groups };
  provider.info = { sub };
  const { address, secret } = await door.visit(beginProviderSignIn, { provider: key });
  const asked = askedOf(address);
  const answer = new URLSearchParams({ code: provider.grant(asked), state: asked.state });
  return door.visit(finishProviderSignIn, { provider: key, secret, answer: String(answer) });
};

describe('the provider of an organisation', () => {
  test('is set, proven by DNS, found by an address, and lets members in', async () => {
    expect(await set()).toEqual({ proved: false });
    expect(await codeOfRefusal(comeIn(['people']))).toBe('provider_not_found');
    const search = () => door.visit(findSignInProvider, { email: 'ada@corp.example' });
    expect(await search()).toEqual({ found: null });
    expect(await bench.call(checkSignInDomain, house.owner)).toEqual({ proved: false, texts: [] });
    expect(await prove()).toMatchObject({ proved: true });
    expect(await search()).toEqual({
      found: { key: house.organisation, name: new URL(provider.issuer).host },
    });
    const { session } = await comeIn(['sre']);
    expect((await door.signedIn(session ?? '')).caller).toMatchObject({
      role: 'admin',
      organisation: { id: house.organisation },
    });
    expect(await codeOfRefusal(comeIn(['else']))).toBe('provider_refused');
  });

  test('keeps its secret, encrypted and unsaid, and its proof while client and domain stay', async () => {
    await set();
    await prove();
    expect(await set({ client_secret: null, group_roles: '* = viewer' })).toEqual({ proved: true });
    expect((await comeIn([])).session).not.toBeNull();
    expect(JSON.stringify(await bench.call(showSignInProvider, house.owner))).not.toContain(
      client.client_secret,
    );
    const [row] = await bench.sql<{ text: string }[]>`select
      (select string_agg(encode(client_secret, 'escape'), '') from sign_in_providers)
      || (select string_agg(l::text, '') from audit_log l) as text`;
    expect(row?.text).not.toContain(client.client_secret);
    expect(await set({ domain: 'other.example' })).toEqual({ proved: false });
    expect(await codeOfRefusal(comeIn(['people']))).toBe('provider_not_found');
  });

  test('is another one with another client, and whoever came by the first is out', async () => {
    await set();
    await prove();
    const { session } = await comeIn(['people']);
    expect(await codeOfRefusal(set({ client_id: 'other', client_secret: null }))).toBe(
      'issuer_invalid',
    );
    expect(await set({ client_id: 'other' })).toEqual({ proved: false });
    expect(await door.who(session ?? '')).toBeUndefined();
  });

  test('ends with its sessions when it is removed', async () => {
    await set();
    await prove();
    const { session } = await comeIn(['people']);
    await bench.call(removeSignInProvider, house.owner);
    expect(await door.who(session ?? '')).toBeUndefined();
    expect((await bench.call(showSignInProvider, house.owner)).provider).toBeNull();
    expect(await bench.refusal(removeSignInProvider, house.owner)).toBe('sign_in_provider_missing');
  });

  test.each<[string, object]>([
    ['issuer_invalid', { issuer: 'http://corp-login.example' }],
    ['issuer_invalid', { issuer: 'login' }],
    ['issuer_invalid', { issuer: 'https://user:password@corp-login.example' }],
    ['provider_away', { issuer: 'https://inside.example' }],
    ['provider_away', { issuer: 'https://10.1.2.3' }],
    ['domain_invalid', { domain: 'corp' }],
    ['domain_invalid', { domain: 'ada@corp.example' }],
    ['domain_invalid', { domain: '192.0.2.1' }],
    ['role_unknown', { group_roles: 'sre = root' }],
  ])('is refused as %s with %j, and nothing is kept', async (code, more) => {
    expect(await codeOfRefusal(set(more))).toBe(code);
    expect((await bench.call(showSignInProvider, house.owner)).provider).toBeNull();
  });

  test('proves a domain that no other has proven, or whose record of it is gone', async () => {
    const other = await createTestOrganisation(bench.sql, { name: 'Other' });
    await set();
    await prove();
    const [[name, texts] = ['', []]] = [...records];
    await set({}, other);
    await prove(other);
    const both = [...texts, ...(records.get(name) ?? [])];
    await bench.sql`update sign_in_providers set domain_proved_at = null`;
    records.set(name, texts);
    await bench.call(checkSignInDomain, house.owner);
    records.set(name, both);
    expect(await codeOfRefusal(bench.call(checkSignInDomain, other.owner))).toBe('domain_taken');
    expect(await codeOfRefusal(comeIn(['people'], other.organisation))).toBe('provider_not_found');
    await prove(other);
    expect((await comeIn(['people'], other.organisation)).session).not.toBeNull();
    expect(await codeOfRefusal(comeIn(['people']))).toBe('provider_not_found');
  });
});
