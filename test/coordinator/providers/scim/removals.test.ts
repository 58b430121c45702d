import { describe, expect, test } from 'vitest';
import {
  beginProviderConnection,
  beginProviderSignIn,
  finishProviderSignIn,
} from '../../../../coordinator/providers/contract.ts';
import { inviteMember } from '../../../../shared/api/members.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { createScimHouse, openScimBench, patchOf, type ScimHouse } from '../../../support/scim.ts';
import { askedOf } from '../../../support/sign-in-providers.ts';

/** That whoever their provider removes is out, whatever else is odd about them or about others. */

const { bench, door, provider, ask } = await openScimBench();

const user = async ({ token }: ScimHouse, userName: string, more: object = {}): Promise<string> => {
  const { status, body } = await ask(token, 'POST', '/Users', { userName, ...more });
  expect(status).toBe(201);
  return String(body.id);
};
const group = async (
  { token }: ScimHouse,
  displayName: string,
  ids: readonly string[],
): Promise<string> => {
  const members = ids.map((value) => ({ value }));
  const { status, body } = await ask(token, 'POST', '/Groups', { displayName, members });
  expect(status).toBe(201);
  return String(body.id);
};
const off = async ({ token }: ScimHouse, id: string, more: object = {}): Promise<number> => {
  const value = { active: false, ...more };
  return (await ask(token, 'PATCH', `/Users/${id}`, patchOf({ op: 'replace', value }))).status;
};
const membersOf = async ({ house }: ScimHouse): Promise<readonly string[]> => {
  const rows = await bench.sql<{ email: string }[]>`select u.email from memberships m
    join users u on u.id = m.user_id where m.organisation_id = ${house.organisation}`;
  return rows.map(({ email }) => email);
};

test('somebody whose account has another address, which they connected', async () => {
  const of = await createScimHouse(bench);
  const key = of.house.organisation;
  await bench.sql`update sign_in_providers set issuer = ${provider.issuer}
    where organisation_id = ${key}`;
  const sub = newId();
  provider.claims = { sub, email: of.address('ada'), email_verified: true };
  provider.info = { sub };
  const { email } = of.house.member;
  const finish = async ({ address, secret }: { address: string; secret: string }) => {
    const asked = askedOf(address);
    const answer = String(new URLSearchParams({ code: provider.grant(asked), state: asked.state }));
    return door.visit(finishProviderSignIn, { provider: key, secret, answer });
  };
  const { person } = await door.signedIn(await door.comeIn(email));
  await finish(await door.act(beginProviderConnection, person, { provider: key }));
  const id = await user(of, of.address('ada'));
  await group(of, 'people', [id]);
  const { session } = await finish(await door.visit(beginProviderSignIn, { provider: key }));
  expect((await door.signedIn(session ?? '')).caller).toMatchObject({ role: 'viewer' });
  expect(await membersOf(of)).not.toContain(of.address('ada'));
  expect(await off(of, id)).toBe(200);
  expect(await membersOf(of)).not.toContain(email);
  expect(await door.who(session ?? '')).toBeUndefined();
});

test('somebody of a group of which another cannot get in', async () => {
  const of = await createScimHouse(bench);
  await bench.sql`insert into users (id, email, password_hash)
    values (${newId()}, ${of.address('eve')}, 'a hash')`;
  const [bob, eve, ada] = [
    await user(of, of.address('bob')),
    await user(of, of.address('eve')),
    await user(of, of.address('ada')),
  ];
  const people = await group(of, 'people', [bob]);
  expect(await membersOf(of)).toContain(of.address('bob'));
  const { status } = await ask(
    of.token,
    'PATCH',
    `/Groups/${people}`,
    patchOf(
      { op: 'remove', path: `members[value eq "${bob}"]` },
      { op: 'add', path: 'members', value: [{ value: eve }, { value: ada }] },
    ),
  );
  expect(status).toBe(204);
  const members = await membersOf(of);
  expect(members).toContain(of.address('ada'));
  expect(members).not.toContain(of.address('bob'));
  expect(members).not.toContain(of.address('eve'));
});

test('somebody whose address is of another domain by now', async () => {
  const of = await createScimHouse(bench);
  const id = await user(of, of.address('ada'));
  await group(of, 'people', [id]);
  expect(await off(of, id, { userName: 'ada@elsewhere.example' })).toBe(200);
  expect(await membersOf(of)).not.toContain(of.address('ada'));
});

test('somebody who was invited meanwhile', async () => {
  const of = await createScimHouse(bench);
  const id = await user(of, of.address('ada'));
  await bench.call(inviteMember, of.house.owner, { email: of.address('ada'), role: 'member' });
  expect(await off(of, id)).toBe(200);
  const left = await bench.sql`select from invitations where email = ${of.address('ada')}`;
  expect(left).toHaveLength(0);
});

describe('what costs too much is refused', () => {
  const list = (count: number, begin: string) =>
    Array.from({ length: count }, (_, nth) => ({ value: `${begin}${nth}` }));

  test('a patch that grows a list without end', async () => {
    const of = await createScimHouse(bench);
    const people = await group(of, 'people', []);
    const operations = ['a', 'b'].map((begin) => ({
      ...{ op: 'add', path: 'members', value: list(9_000, begin) },
    }));
    const answer = await ask(of.token, 'PATCH', `/Groups/${people}`, patchOf(...operations));
    expect(answer).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
  });

  test('a user of many addresses, a filter of many terms, attributes named twice', async () => {
    const of = await createScimHouse(bench);
    const many = { userName: of.address('ada'), emails: list(11, 'a@b.example') };
    expect((await ask(of.token, 'POST', '/Users', many)).status).toBe(400);
    const term = 'userName eq "a"';
    const filter = encodeURIComponent(Array.from({ length: 11 }, () => term).join(' and '));
    expect((await ask(of.token, 'GET', `/Users?filter=${filter}`)).status).toBe(400);
    const id = await user(of, of.address('ada'));
    const body = { userName: of.address('grace') };
    for (const query of ['attributes=!', 'attributes=id&attributes=emails']) {
      const answer = await ask(of.token, 'PUT', `/Users/${id}?${query}`, body);
      expect(answer).toMatchObject({ status: 400, body: { scimType: 'invalidPath' } });
    }
    const { body: kept } = await ask(of.token, 'GET', `/Users/${id}`);
    expect(kept.userName).toBe(of.address('ada'));
  });
});
