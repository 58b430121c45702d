import { beforeAll, describe, expect, test } from 'vitest';
import { operatorIn } from '../../../coordinator/gate/caller.ts';
import { handlers } from '../../../coordinator/operations.ts';
import { createOrganisation, createUser } from '../../../coordinator/organisations/contract.ts';
import { verifyPassword } from '../../../coordinator/people/secrets.ts';
import { createProbe } from '../../../coordinator/probes/contract.ts';
import { createTokens, type Tokens } from '../../../coordinator/tokens/authenticate.ts';
import { createToken } from '../../../coordinator/tokens/contract.ts';
import { removeMember, setMemberRole } from '../../../shared/api/members.ts';
import { whoami } from '../../../shared/api/organisations.ts';
import { getToken, listTokens, revokeToken } from '../../../shared/api/tokens.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  inPerson,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let tokens: Tokens;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
  tokens = createTokens({
    sql: bench.sql,
    secretKey: testSecretKey,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
  });
});

const works = (token: string): Promise<boolean> =>
  tokens.authenticate(`Bearer ${token}`).then(
    () => true,
    () => false,
  );

test('whoami returns the owner of the token', async () => {
  expect(await bench.call(whoami, house.viewer)).toEqual({
    organisation: { id: house.organisation, name: 'Shop', plan: 'self_hosted', time_zone: 'UTC' },
    role: 'viewer',
    scope: 'read_write',
    token_name: 'read_write of a test',
  });
});

describe('users and members', () => {
  test('are created as far as the plan goes, also at once', async () => {
    const small = await createTestOrganisation(bench.sql, { plan: 'team' });
    const user = (index: number) => ({
      email: `user-${index}@small.example`,
      password: 'correct horse',
      role: 'member',
    });
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, index) => bench.refusal(createUser, small.admin, user(index))),
    );
    expect(made.filter((code) => code === 'taken')).toHaveLength(6);
    expect(made.filter((code) => code === 'plan_limit_members')).toHaveLength(4);
    const [row] = await bench.sql<
      { password_hash: string }[]
    >`select password_hash from users where email like 'user-%@small.example' limit 1`;
    expect(await verifyPassword('correct horse', row?.password_hash ?? null)).toBe(true);
  });

  test('need a role, an unused address, and a password of a minimum length', async () => {
    const code = (input: object) =>
      bench.refusal(createUser, house.owner, {
        email: 'new@shop.example',
        password: 'correct horse',
        role: 'member',
        ...input,
      });
    expect(await code({ role: 'boss' })).toBe('role_unknown');
    expect(await code({ email: 'new at shop' })).toBe('email_invalid');
    expect(await code({ password: 'short' })).toBe('password_invalid');
    expect(await code({})).toBe('taken');
    expect(await code({ email: 'NEW@shop.example' })).toBe('email_taken');
  });

  test('lose their tokens with a change of role, and keep them when the role stays', async () => {
    const { admin, owner, organisation } = await createTestOrganisation(bench.sql);
    await bench.call(setMemberRole, inPerson(owner), { member_id: admin.user, role: 'admin' });
    expect(await works(admin.readWrite)).toBe(true);
    await bench.call(setMemberRole, inPerson(owner), { member_id: admin.user, role: 'viewer' });
    expect(await works(admin.readWrite)).toBe(false);
    expect(
      await bench.sql`select role from memberships where organisation_id = ${organisation} and user_id = ${admin.user}`,
    ).toEqual([{ role: 'viewer' }]);
  });

  test('always include an owner, unless the operator wants otherwise', async () => {
    const { owner, admin, organisation, name } = await createTestOrganisation(bench.sql);
    expect(
      await bench.refusal(setMemberRole, inPerson(admin), {
        member_id: owner.user,
        role: 'viewer',
      }),
    ).toBe('last_owner');
    expect(await bench.refusal(removeMember, inPerson(admin), { member_id: owner.user })).toBe(
      'last_owner',
    );
    await bench.call(setMemberRole, inPerson(owner), { member_id: admin.user, role: 'owner' });
    const both = [owner, admin].map(({ user }) =>
      bench.refusal(removeMember, inPerson(owner), { member_id: user }),
    );
    expect((await Promise.all(both)).toSorted()).toEqual(['last_owner', 'taken']);
    const operator = operatorIn({
      id: organisation,
      name,
      plan: 'self_hosted',
      time_zone: 'UTC',
      ends_at: null,
    });
    await bench.sql`update memberships set role = 'owner' where organisation_id = ${organisation}`;
    for (const { member_id } of await bench.sql<
      { member_id: string }[]
    >`select user_id as member_id from memberships where organisation_id = ${organisation}`)
      expect(await bench.refusal(removeMember, operator, { member_id })).toBe('taken');
  });

  test('of other organisations are unknown here, except to the operator who adds them', async () => {
    const other = await createTestOrganisation(bench.sql);
    const input = { member_id: other.owner.user, role: 'viewer' };
    expect(await bench.refusal(setMemberRole, inPerson(house.owner), input)).toBe(
      'member_not_found',
    );
    expect(await bench.refusal(removeMember, inPerson(house.owner), input)).toBe(
      'member_not_found',
    );
    const operator = operatorIn({
      id: house.organisation,
      name: 'Shop',
      plan: 'self_hosted',
      time_zone: 'UTC',
      ends_at: null,
    });
    expect(await bench.call(setMemberRole, operator, input)).toMatchObject({
      role: 'viewer',
    });
    expect(await works(other.owner.readWrite)).toBe(true);
    expect(
      await bench.refusal(setMemberRole, operator, {
        ...input,
        member_id: newId(),
      }),
    ).toBe('member_not_found');
  });
});

describe('tokens', () => {
  test('are created by all members for themselves, whatever their role, and shown once', async () => {
    const made = await bench.call(createToken, house.viewer, { name: ' CI ', scope: 'read_write' });
    expect(made).toMatchObject({ name: 'CI', scope: 'read_write' });
    expect(await tokens.authenticate(`Bearer ${made.token}`)).toMatchObject({
      role: 'viewer',
      scope: 'read_write',
      token: { id: made.id, name: 'CI' },
    });
    const [row] = await bench.sql<
      { text: string }[]
    >`select t::text as text from tokens t where id = ${made.id}`;
    expect(row?.text).not.toContain(made.token.slice(8));
    expect(await bench.refusal(createToken, house.owner, { name: 'x', scope: 'all' })).toBe(
      'scope_unknown',
    );
    expect(await bench.refusal(createToken, house.owner, { name: '', scope: 'read' })).toBe(
      'name_invalid',
    );
    expect(
      await bench.refusal(createToken, house.owner, {
        name: 'x',
        scope: 'read',
        email: house.viewer.email,
      }),
    ).toBe('role_insufficient');
  });

  test('are refused to a user who was removed since their call was let in', async () => {
    const own = await createTestOrganisation(bench.sql);
    await bench.call(removeMember, inPerson(own.owner), { member_id: own.member.user });
    expect(await bench.refusal(createToken, own.member, { name: 'x', scope: 'read' })).toBe(
      'organisation_not_found',
    );
  });

  test('end when their creator said so', async () => {
    const made = await bench.call(createToken, house.owner, {
      name: 'Short',
      scope: 'read',
      expires_at: new Date(bench.now + 60_000).toISOString(),
    });
    expect(await works(made.token)).toBe(true);
    const past = { name: 'x', scope: 'read', expires_at: new Date(bench.now).toISOString() };
    expect(await bench.refusal(createToken, house.owner, past)).toBe('expiry_invalid');
    bench.now += 60_000;
    expect(await works(made.token)).toBe(false);
  });

  test('are listed to their creator, and all of them to owners and admins; never the token itself', async () => {
    const own = await createTestOrganisation(bench.sql);
    const { id, token } = await bench.call(createToken, own.member, { name: 'CI', scope: 'read' });
    const listed = async (who: TestOrganisation['owner']) =>
      (await bench.call(listTokens, who)).items;
    for (const who of [own.owner, own.admin])
      expect((await listed(who)).map(({ owner }) => owner.email)).toHaveLength(9);
    expect((await listed(own.member)).map(({ name }) => name)).toEqual([
      'CI',
      'read_write of a test',
      'read of a test',
    ]);
    expect((await listed(own.viewer)).every(({ own }) => own)).toBe(true);
    expect(JSON.stringify(await listed(own.owner))).not.toContain(token.slice(8));
    const shown = {
      id,
      kind: 'token',
      name: 'CI',
      shown: token.slice(0, 8),
      scope: 'read',
      expires_at: null,
      over: false,
    };
    expect(await bench.call(getToken, own.member, { token_id: id })).toMatchObject({
      ...shown,
      own: true,
    });
    expect(await bench.call(getToken, own.admin, { token_id: id })).toMatchObject({
      ...shown,
      own: false,
    });
    expect(await bench.refusal(getToken, own.viewer, { token_id: id })).toBe('token_not_found');
    const walk = await bench.call(listTokens, own.owner, { limit: 5 });
    const rest = await bench.call(listTokens, own.owner, { limit: 5, cursor: walk.next_cursor });
    expect(new Set([...walk.items, ...rest.items].map((each) => each.id)).size).toBe(9);
    expect(rest.next_cursor).toBeNull();
    // The pages of owners are no pages of members.
    expect(
      await bench.refusal(listTokens, own.member, { limit: 5, cursor: walk.next_cursor }),
    ).toBe('faults');
  });

  test('are revoked by their creator, and by owners and admins', async () => {
    const make = () => bench.call(createToken, house.member, { name: 'x', scope: 'read' });
    const [one, two, three] = [await make(), await make(), await make()];
    const stranger = await createTestOrganisation(bench.sql);
    expect(await bench.refusal(revokeToken, house.viewer, { token_id: one.id })).toBe(
      'token_not_found',
    );
    expect(await bench.refusal(revokeToken, stranger.owner, { token_id: one.id })).toBe(
      'token_not_found',
    );
    await bench.call(revokeToken, house.member, { token_id: one.id });
    await bench.call(revokeToken, house.admin, { token_id: two.id });
    expect([await works(one.token), await works(two.token), await works(three.token)]).toEqual([
      false,
      false,
      true,
    ]);
    expect(await bench.refusal(revokeToken, house.member, { token_id: one.id })).toBe(
      'token_not_found',
    );
  });
});

test('operations on the installation are refused to all but the operator', async () => {
  for (const { operation } of Object.values(handlers.installation))
    await expect(
      bench.gate.execute(operation, house.owner.caller, { body: {} }),
    ).rejects.toMatchObject({ code: 'internal' });
  const code = (operation: typeof createOrganisation | typeof createProbe, body: object) =>
    bench.gate.executeForInstallation(operation, { body }).then(
      () => 'taken',
      (error: { code?: string }) => error.code,
    );
  expect(await code(createOrganisation, { name: 'x', plan: 'huge' })).toBe('plan_unknown');
  expect(await code(createOrganisation, { name: 'x', time_zone: '+02:00' })).toBe(
    'time_zone_invalid',
  );
  expect(await code(createOrganisation, { name: 'x', time_zone: 'Mars/Olympus' })).toBe(
    'time_zone_invalid',
  );
  const small = await createTestOrganisation(bench.sql, { plan: 'free' });
  expect(
    await code(createProbe, { name: 'Own', continent: 'Europe', organisation: small.organisation }),
  ).toBe('plan_limit_private_probes');
});
