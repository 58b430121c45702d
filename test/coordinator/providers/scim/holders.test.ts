import { describe, expect, test } from 'vitest';
import { endScimToken, setScimToken } from '../../../../coordinator/providers/scim/contract.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { codeOfRefusal } from '../../../support/gate.ts';
import { createScimHouse, openScimBench, patchOf, type ScimHouse } from '../../../support/scim.ts';

/** Addresses that were given to somebody new, whose account is not the one of before. */

const { bench, door, ask, comeIn } = await openScimBench();

/** Each in a house of its own, where whoever is provisioned is a viewer. */
const begin = async () => {
  const of = await createScimHouse(bench);
  await bench.sql`update sign_in_providers
    set group_roles = '[{"group":"*","role":"viewer"}]'
    where organisation_id = ${of.house.organisation}`;
  return { of, email: of.address('ada'), token: of.token };
};
const post = async (token: string, userName: string, more: object = {}) => {
  const { status, body } = await ask(token, 'POST', '/Users', { userName, ...more });
  return { status, type: body.scimType, detail: String(body.detail), id: String(body.id) };
};
const remove = (token: string, id: string) => ask(token, 'DELETE', `/Users/${id}`);
const roleOf = async ({ house }: ScimHouse, email: string): Promise<string | undefined> => {
  const [row] = await bench.sql<{ role: string }[]>`select m.role from memberships m
    join users u on u.id = m.user_id
    where m.organisation_id = ${house.organisation} and lower(u.email) = lower(${email})`;
  return row?.role;
};
const addMember = async ({ house }: ScimHouse, email: string): Promise<void> => {
  const id = newId();
  await bench.sql`insert into users (id, email, password_hash, email_verified_at)
    values (${id}, ${email}, 'a hash', now())`;
  await bench.sql`insert into memberships (organisation_id, user_id, role)
    values (${house.organisation}, ${id}, 'viewer')`;
};
const refused = {
  status: 409,
  type: 'uniqueness',
  detail: expect.stringContaining('If the address has a new holder'),
};

describe('an account is not the one of whoever gets its address next', () => {
  test('after somebody came in by it, and was removed', async () => {
    for (const externalId of [undefined, 'new']) {
      const { of, email, token } = await begin();
      const { id } = await post(token, email, { externalId: 'old' });
      await comeIn(of, email, 'old');
      await remove(token, id);
      expect(await post(token, email, { externalId })).toMatchObject(refused);
      expect(await codeOfRefusal(comeIn(of, email, newId()))).toBe('account_exists');
      expect(await roleOf(of, email)).toBeUndefined();
    }
  });

  test('after a member whom the provider removed had a password for it', async () => {
    for (const isOffFirst of [true, false]) {
      const { of, email, token } = await begin();
      await addMember(of, email);
      const { id } = await post(token, email);
      if (isOffFirst) {
        const patch = patchOf({ op: 'replace', value: { active: false } });
        await ask(token, 'PATCH', `/Users/${id}`, patch);
      }
      await remove(token, id);
      expect(await post(token, email)).toMatchObject(refused);
      expect(await roleOf(of, email)).toBeUndefined();
    }
  });

  test('after the provider gave whoever has it another address', async () => {
    const { of, email, token } = await begin();
    const { id } = await post(token, email);
    await comeIn(of, email);
    await ask(token, 'PUT', `/Users/${id}`, { userName: of.address('adele') });
    expect(await post(token, email)).toMatchObject(refused);
    expect(await roleOf(of, email)).toBe('viewer');
  });

  test('after somebody who came in before there was provisioning, and was left without a role', async () => {
    const { of, email } = await begin();
    await bench.call(endScimToken, of.house.owner);
    await comeIn(of, email, 'a subject');
    await bench.sql`delete from memberships where organisation_id = ${of.house.organisation}
      and role = 'viewer'`;
    const { token } = await bench.call(setScimToken, of.house.owner);
    expect(await post(token, email, { externalId: 'else' })).toMatchObject(refused);
  });
});

describe('an account is the one of', () => {
  test('somebody new, where nobody came in by it', async () => {
    const { of, email, token } = await begin();
    await remove(token, (await post(token, email, { externalId: 'old' })).id);
    expect(await post(token, email, { externalId: 'new' })).toMatchObject({ status: 201 });
    expect(await roleOf(of, email)).toBe('viewer');
    expect((await comeIn(of, email)).session).not.toBeNull();
  });

  test('somebody who is called the same when they come back', async () => {
    const { of, email, token } = await begin();
    const { id } = await post(token, email, { externalId: 'same' });
    await comeIn(of, email);
    await remove(token, id);
    expect(await post(token, email, { externalId: 'same' })).toMatchObject({ status: 201 });
    expect(await roleOf(of, email)).toBe('viewer');
  });

  test('somebody who is called otherwise, but signs in as before', async () => {
    const { of, email, token } = await begin();
    const { id } = await post(token, email);
    await comeIn(of, email, 'a subject of ada');
    await remove(token, id);
    const group = { displayName: 'people' };
    const { body } = await ask(token, 'POST', '/Groups', group);
    await bench.sql`update sign_in_providers
      set group_roles = '[{"group":"people","role":"viewer"}]'
      where organisation_id = ${of.house.organisation}`;
    const bob = await post(token, of.address('bob'));
    const ada = await post(token, email);
    const value = [{ value: bob.id }, { value: ada.id }];
    const patch = patchOf({ op: 'add', path: 'members', value });
    expect((await ask(token, 'PATCH', `/Groups/${body.id}`, patch)).status).toBe(204);
    expect(await roleOf(of, of.address('bob'))).toBe('viewer');
    expect(await roleOf(of, email)).toBeUndefined();
    const { session } = await comeIn(of, email, 'a subject of ada');
    expect((await door.signedIn(session ?? '')).caller).toMatchObject({ role: 'viewer' });
  });

  test('a member who came in before there was provisioning, however they are called', async () => {
    const { of, email } = await begin();
    await bench.call(endScimToken, of.house.owner);
    await comeIn(of, email);
    const { token } = await bench.call(setScimToken, of.house.owner);
    const { status, id } = await post(token, email, { externalId: 'else' });
    expect(status).toBe(201);
    await remove(token, id);
    expect(await roleOf(of, email)).toBeUndefined();
  });
});
