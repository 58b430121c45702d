import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectAssistant } from '../../../coordinator/assistants/contract.ts';
import { listSetAside } from '../../../coordinator/operator/contract.ts';
import { listOwnOrganisations, switchOrganisation } from '../../../coordinator/people/contract.ts';
import {
  beginProviderConnection,
  beginProviderSignIn,
  checkSignInDomain,
  finishProviderSignIn,
  setSignInProvider,
  showSignInProvider,
} from '../../../coordinator/providers/contract.ts';
import type { InstallationProvider } from '../../../coordinator/providers/lookup.ts';
import { createProviderWatch } from '../../../coordinator/providers/removal.ts';
import { inviteMember } from '../../../shared/api/members.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { codeOfRefusal, gateBench, signUpPolicyOf } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { askedOf, client, openProviderPlace } from '../../support/sign-in-providers.ts';

/** Organisations that only their provider opens, and owners who always get in. */

const place = openProviderPlace(['login.example', 'corp-login.example']);
const [ours, theirs] = [await place.open('login.example'), await place.open('corp-login.example')];
const records = new Map<string, readonly string[]>();
let settings: Partial<InstallationProvider> | null = {};
const part = () => {
  const made = place.part(ours.issuer, settings ?? {});
  return settings === null ? { ...made, installation: null } : made;
};
const bench = gateBench(undefined, async (name) => records.get(name) ?? [], undefined, part);
const door = signUpPolicyOf(bench);
let first: TestOrganisation;
let house: TestOrganisation;

beforeAll(async () => {
  first = await createTestOrganisation(bench.sql, { name: 'First' });
});
beforeEach(async () => {
  for (const provider of [ours, theirs]) provider.reset();
  records.clear();
  settings = {};
  await bench.sql`delete from sign_in_providers`;
  house = await createTestOrganisation(bench.sql, { name: 'Corp' });
});
afterAll(async () => {
  for (const provider of [ours, theirs]) await provider.close();
  await place.close();
});

const set = (more: object = {}) =>
  bench.call(setSignInProvider, house.owner, {
    issuer: theirs.issuer,
    ...client,
    group_roles: '',
    domain: 'corp.example',
    ...more,
  });

const prove = async (): Promise<void> => {
  await set();
  const { provider } = await bench.call(showSignInProvider, house.owner);
  records.set(provider?.record_name ?? '', [provider?.record_text ?? '']);
  await bench.call(checkSignInDomain, house.owner);
};

const setOnly = async (): Promise<void> => {
  await prove();
  await set({ only_way: true });
};

const onlyInstallation = async (only_way: boolean | null): Promise<void> => {
  settings = only_way === null ? null : { only_way };
  await createProviderWatch({
    sql: bench.sql,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
    secrets: bench.secrets,
    providers: part(),
    isLeader: () => true,
  }).tick();
};

const byProvider = async (provider: typeof ours, key: string, claims: object) => {
  const sub = newId();
  provider.claims = { sub, email_verified: true, ...claims };
  provider.info = { sub };
  const { address, secret } = await door.visit(beginProviderSignIn, { provider: key });
  const asked = askedOf(address);
  const answer = new URLSearchParams({ code: provider.grant(asked), state: asked.state });
  return door.visit(finishProviderSignIn, { provider: key, secret, answer: String(answer) });
};

const wantsOf = async (session: string) => {
  const { person, caller } = await door.signedIn(session);
  const { items } = await door.act(listOwnOrganisations, person);
  return {
    acts: caller?.organisation.id ?? null,
    wants: items.map(({ id, wants }) => [id, wants]),
  };
};

describe('an organisation that its provider alone opens', () => {
  test('is closed to a password at once, for everyone but owners', async () => {
    const [member, owner] = [
      await door.comeIn(house.member.email),
      await door.comeIn(house.owner.email),
    ];
    const id = house.organisation;
    expect(await wantsOf(member)).toEqual({ acts: id, wants: [[id, null]] });
    await setOnly();
    expect(await wantsOf(member)).toEqual({ acts: null, wants: [[id, id]] });
    expect(await wantsOf(owner)).toEqual({ acts: id, wants: [[id, null]] });
    await set({ only_way: false });
    expect(await wantsOf(member)).toEqual({ acts: id, wants: [[id, null]] });
  });

  test('is open to whoever comes by it, and leaves other organisations alone', async () => {
    const other = await createTestOrganisation(bench.sql, { name: 'Other' });
    await bench.sql`insert into memberships (organisation_id, user_id, role)
      values (${other.organisation}, ${house.member.user}, 'viewer')`;
    await setOnly();
    const member = await door.comeIn(house.member.email);
    expect(await wantsOf(member)).toEqual({
      acts: other.organisation,
      wants: [
        [house.organisation, house.organisation],
        [other.organisation, null],
      ],
    });
    const { person } = await door.signedIn(member);
    const [organisation_id, code] = [house.organisation, 'organisation_not_found'];
    expect(await codeOfRefusal(door.act(switchOrganisation, person, { organisation_id }))).toBe(
      code,
    );
    const asked = { client_id: 'c', client: 'c', redirect_host: 'h', scope: 'read' };
    expect(
      await codeOfRefusal(door.act(connectAssistant, person, { ...asked, organisation_id })),
    ).toBe(code);
    await set({ only_way: true, group_roles: '* = member' });
    const come = await byProvider(theirs, house.organisation, { email: 'ada@corp.example' });
    expect(await wantsOf(come.session ?? '')).toEqual({
      acts: house.organisation,
      wants: [[house.organisation, null]],
    });
  });

  test('cannot be closed before its domain is proven, nor stay so with another domain', async () => {
    expect(await codeOfRefusal(set({ only_way: true }))).toBe('domain_invalid');
    await setOnly();
    expect(await codeOfRefusal(set({ only_way: true, domain: 'new.example' }))).toBe(
      'domain_invalid',
    );
    const { provider } = await bench.call(showSignInProvider, house.owner);
    expect(provider).toMatchObject({ domain: 'corp.example', only_way: true });
  });
});

describe('an installation that its provider alone opens', () => {
  test('is closed to passwords while its settings say so', async () => {
    const member = await door.comeIn(house.member.email);
    const acts = async () => (await wantsOf(member)).acts;
    await onlyInstallation(true);
    expect(await wantsOf(member)).toEqual({
      acts: null,
      wants: [[house.organisation, 'installation']],
    });
    expect(await wantsOf(await door.comeIn(house.owner.email))).toMatchObject({
      acts: house.organisation,
    });
    await onlyInstallation(false);
    expect(await acts()).toBe(house.organisation);
    await onlyInstallation(true);
    await onlyInstallation(null);
    expect(await acts()).toBe(house.organisation);
  });

  test('leaves an organisation with a way of its own to that', async () => {
    await setOnly();
    const email = house.member.email;
    await onlyInstallation(true);
    const password = await wantsOf(await door.comeIn(email));
    expect(password.wants).toEqual([[house.organisation, house.organisation]]);
    await bench.sql`insert into memberships (organisation_id, user_id, role)
      select ${house.organisation}, id, 'member' from users where id = ${first.member.user}`;
    const { person } = await door.signedIn(await door.comeIn(first.member.email));
    const sub = newId();
    ours.claims = { sub, email: first.member.email, email_verified: true, groups: ['people'] };
    ours.info = { sub };
    const key = 'installation';
    const begun = await door.act(beginProviderConnection, person, { provider: key });
    const asked = askedOf(begun.address);
    const answer = new URLSearchParams({ code: ours.grant(asked), state: asked.state });
    const { secret } = begun;
    const come = await door.visit(finishProviderSignIn, {
      ...{ provider: key, secret, answer: String(answer) },
    });
    expect((await wantsOf(come.session ?? '')).wants).toEqual([
      [first.organisation, null],
      [house.organisation, house.organisation],
    ]);
  });

  test('opens to whoever comes by it', async () => {
    await onlyInstallation(true);
    const come = await byProvider(ours, 'installation', {
      email: `${newId()}@corp.example`,
      groups: ['people'],
    });
    expect(await wantsOf(come.session ?? '')).toMatchObject({ acts: first.organisation });
  });
});

describe('the pages of an operator', () => {
  /** Whether a session opens them, as pages and the gate have it. */
  const opens = async (session: string): Promise<boolean> => {
    const { person } = await door.signedIn(session);
    const asked = bench.gate.executeForOperator(listSetAside, person, rawInput(listSetAside, {}));
    const code = await codeOfRefusal(asked);
    expect(code).toBe(person.is_operator ? 'taken' : 'route_not_found');
    return person.is_operator;
  };
  const mark = (email: string) =>
    bench.sql`update users set is_operator = true where email = ${email}`;

  test('open to a password where the provider is no way, or not the only one', async () => {
    await mark(house.member.email);
    const session = await door.comeIn(house.member.email);
    expect(await opens(session)).toBe(true);
    await onlyInstallation(false);
    expect(await opens(session)).toBe(true);
    await onlyInstallation(null);
    expect(await opens(session)).toBe(true);
  });

  test('open by the only way, and to a password of an owner or where nobody else gets in', async () => {
    await bench.sql`update users set is_operator = false`;
    await onlyInstallation(true);
    await mark(house.member.email);
    const password = await door.comeIn(house.member.email);
    expect(await opens(password)).toBe(true);
    await mark(house.owner.email);
    expect(await opens(password)).toBe(false);
    expect(await opens(await door.comeIn(house.owner.email))).toBe(true);
    await bench.sql`update users set is_operator = false where email = ${house.owner.email}`;
    expect(await opens(password)).toBe(true);
    const email = `${newId()}@corp.example`;
    const { session } = await byProvider(ours, 'installation', { email, groups: ['people'] });
    await mark(email);
    expect(await opens(session ?? '')).toBe(true);
    expect(await opens(password)).toBe(false);
    expect(await opens(await door.comeIn(email))).toBe(false);
  });
});

describe('an invitation', () => {
  const invite = (email: string) =>
    bench.call(inviteMember, house.owner, { email, role: 'member' });

  test('gives its role to whoever comes by a provider that gives none', async () => {
    await prove();
    const email = 'grace@corp.example';
    const come = () => byProvider(theirs, house.organisation, { email });
    expect(await codeOfRefusal(come())).toBe('provider_refused');
    await invite(email);
    const { session } = await come();
    expect((await door.signedIn(session ?? '')).caller).toMatchObject({
      role: 'member',
      organisation: { id: house.organisation },
    });
    const left = await bench.sql`select from invitations where email = ${email}`;
    expect(left).toHaveLength(0);
  });

  test('is no role for whoever comes by a table that gives none', async () => {
    await prove();
    await set({ group_roles: 'sre = admin' });
    const email = 'alan@corp.example';
    await invite(email);
    expect(
      await codeOfRefusal(byProvider(theirs, house.organisation, { email, groups: ['else'] })),
    ).toBe('provider_refused');
  });
});
