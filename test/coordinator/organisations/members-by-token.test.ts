import { beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../../coordinator/gate/caller.ts';
import { insertMembers } from '../../../coordinator/people/queries.ts';
import { createTokens } from '../../../coordinator/tokens/authenticate.ts';
import { createToken } from '../../../coordinator/tokens/contract.ts';
import {
  inviteMember,
  listInvitations,
  listMembers,
  removeMember,
  setMemberRole,
  withdrawInvitation,
} from '../../../shared/api/members.ts';
import { listTokens } from '../../../shared/api/tokens.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  inPerson,
  type Person,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

/** Members by a token: only one that an owner made for it, and never owners. */

const bench = gateBench();
let house: TestOrganisation;
let keeper: Caller;

const fresh = (): string => `${newId()}@example.org`;

/** The caller of a token that this person made on the page. */
const madeBy = async (person: Person, manage_members?: boolean): Promise<Caller> => {
  const { token } = await bench.call(createToken, inPerson(person), {
    name: 'Leavers',
    scope: 'read_write',
    ...(manage_members === undefined ? {} : { manage_members }),
  });
  return createTokens({
    sql: bench.sql,
    secretKey: testSecretKey,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
  }).authenticate(`Bearer ${token}`);
};

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  keeper = await madeBy(house.owner, true);
});

test('a token manages members only where its owner asked for that', async () => {
  const { member } = house;
  for (const by of [await madeBy(house.owner), await madeBy(house.admin)]) {
    const refused = [
      await bench.refusal(inviteMember, by, { email: fresh(), role: 'viewer' }),
      await bench.refusal(setMemberRole, by, { member_id: member.user, role: 'viewer' }),
      await bench.refusal(removeMember, by, { member_id: member.user }),
      await bench.refusal(withdrawInvitation, by, { invitation_id: newId() }),
    ];
    expect(new Set(refused)).toEqual(new Set(['scope_insufficient']));
  }
  const asked = { name: 'Mine', scope: 'read_write', manage_members: true };
  expect(await bench.refusal(createToken, inPerson(house.admin), asked)).toBe('role_insufficient');
  expect(await bench.refusal(createToken, inPerson(house.owner), { ...asked, scope: 'read' })).toBe(
    'scope_unknown',
  );
  const { items } = await bench.call(listTokens, house.owner, {});
  expect(items.filter((one) => one.name === 'Leavers').map((one) => one.manage_members)).toEqual([
    false,
    false,
    true,
  ]);
});

test('it invites, withdraws, changes roles and removes, and the log has its name', async () => {
  const { member, viewer } = house;
  const email = fresh();
  const { id } = await bench.call(inviteMember, keeper, { email, role: 'admin' });
  await bench.call(withdrawInvitation, keeper, { invitation_id: id });
  await bench.call(setMemberRole, keeper, { member_id: member.user, role: 'viewer' });
  await bench.call(removeMember, keeper, { member_id: viewer.user });
  expect((await bench.call(listInvitations, keeper, {})).items).toEqual([]);
  const { items } = await bench.call(listMembers, keeper, {});
  const roles = new Map(items.map((one) => [one.id, one.role]));
  expect([roles.get(member.user), roles.get(viewer.user)]).toEqual(['viewer', undefined]);
  const log = await bench.sql`
    select operation, token_name, through, changed->'before' as before, changed->'after' as after
    from audit_log where organisation_id = ${house.organisation}
      and through = 'api' order by key`;
  const by = { token_name: 'Leavers', through: 'api' };
  expect(log).toEqual([
    { operation: 'inviteMember', ...by, before: null, after: { email, role: 'admin' } },
    { operation: 'withdrawInvitation', ...by, before: { email, role: 'admin' }, after: null },
    {
      operation: 'setMemberRole',
      ...by,
      before: { role: 'member' },
      after: { email: member.email, role: 'viewer' },
    },
    {
      operation: 'removeMember',
      ...by,
      before: { email: viewer.email, role: 'viewer' },
      after: null,
    },
  ]);
});

test('it never makes, changes or removes an owner: not the last, not another, not its own', async () => {
  const other = await createTestOrganisation(bench.sql);
  await insertMembers(bench.sql, house.organisation, { user: other.owner.user, role: 'owner' });
  for (const { user } of [house.owner, other.owner]) {
    expect(await bench.refusal(removeMember, keeper, { member_id: user })).toBe(
      'role_insufficient',
    );
    expect(await bench.refusal(setMemberRole, keeper, { member_id: user, role: 'viewer' })).toBe(
      'role_insufficient',
    );
  }
  const asOwner = { role: 'owner' };
  expect(await bench.refusal(inviteMember, keeper, { email: fresh(), ...asOwner })).toBe(
    'role_insufficient',
  );
  expect(
    await bench.refusal(setMemberRole, keeper, { member_id: house.admin.user, ...asOwner }),
  ).toBe('role_insufficient');
});
