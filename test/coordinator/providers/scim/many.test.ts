import { describe, expect, test } from 'vitest';
import { setSignInProvider } from '../../../../coordinator/providers/contract.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { statementsOf } from '../../../support/gate.ts';
import { createScimHouse, openScimBench, patchOf, type ScimHouse } from '../../../support/scim.ts';
import { client } from '../../../support/sign-in-providers.ts';

/** That many people are settled as one is, with as many statements. */

const { bench, provider, ask } = await openScimBench();

/** Ids of users who are in no group yet. */
const users = async (of: ScimHouse, count: number, begin = 'user'): Promise<readonly string[]> => {
  const all: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const { body } = await ask(of.token, 'POST', '/Users', {
      userName: of.address(`${begin}${nth}`),
    });
    all.push(String(body.id));
  }
  return all;
};
const members = (ids: readonly string[]) => ids.map((value) => ({ value }));
const group = async (of: ScimHouse, displayName: string, ids: readonly string[]) =>
  ask(of.token, 'POST', '/Groups', { displayName, members: members(ids) });
const patchGroup = (of: ScimHouse, id: string, ...operations: readonly object[]) =>
  ask(of.token, 'PATCH', `/Groups/${id}`, patchOf(...operations));
const setTable = async (of: ScimHouse, group_roles: string): Promise<void> => {
  await bench.sql`update sign_in_providers set issuer = ${provider.issuer}
    where organisation_id = ${of.house.organisation}`;
  await bench.call(setSignInProvider, of.house.owner, {
    ...{ issuer: provider.issuer, ...client, domain: of.domain, group_roles },
  });
};
const rolesOf = async (of: ScimHouse): Promise<Readonly<Record<string, number>>> => {
  const rows = await bench.sql<{ role: string; count: number }[]>`select m.role, count(*)::int
    from memberships m join users u on u.id = m.user_id
    where m.organisation_id = ${of.house.organisation} and u.email like ${`%@${of.domain}`}
    group by m.role`;
  return Object.fromEntries(rows.map(({ role, count }) => [role, count]));
};

/** How many statements each kind of change takes for so many people, and what came of it. */
const everyChange = async (count: number) => {
  const of = await createScimHouse(bench);
  const ids = await users(of, count);
  const counts: number[] = [];
  const change = async (work: () => Promise<unknown>, roles: object): Promise<void> => {
    counts.push(await statementsOf(work));
    expect(await rolesOf(of)).toEqual(roles);
  };
  let id = '';
  await change(
    async () => {
      const { body } = await group(of, 'people', ids);
      id = String(body.id);
    },
    { viewer: count },
  );
  const value = { displayName: 'bosses' };
  await change(() => patchGroup(of, id, { op: 'replace', value }), { owner: count });
  await change(() => setTable(of, 'bosses = admin'), { admin: count });
  await change(() => patchGroup(of, id, { op: 'remove', path: 'members' }), {});
  const entries = await bench.sql`select from audit_log
    where organisation_id = ${of.house.organisation} and operation = 'followProviderGroups'`;
  expect(entries).toHaveLength(4 * count);
  return counts;
};

test('no change takes more statements for many people than for two', async () => {
  // What is prepared, and what is remembered of an organisation, is so from here on.
  await everyChange(1);
  const two = await everyChange(2);
  expect(await everyChange(40)).toEqual(two);
});

describe('of many', () => {
  test('each has the account, the role and the refusal that is theirs', async () => {
    const of = await createScimHouse(bench, { plan: 'team' });
    const addUser = async (name: string, role?: string, proven = true): Promise<string> => {
      const id = newId();
      await bench.sql`insert into users (id, email, password_hash, email_verified_at)
        values (${id}, ${of.address(name)}, 'a hash', ${proven ? new Date() : null})`;
      if (role !== undefined)
        await bench.sql`insert into memberships (organisation_id, user_id, role)
          values (${of.house.organisation}, ${id}, ${role})`;
      return id;
    };
    const known = await addUser('KNOWN0');
    const unproven = await addUser('unproven0', undefined, false);
    const admin = await addUser('admin0', 'admin');
    await bench.sql`insert into invitations (id, organisation_id, email, role, invited_by,
        created_at, expires_at)
      values (${newId()}, ${of.house.organisation}, 'friend@else.example', 'viewer', ${admin},
        now(), now() + interval '1 day')`;
    const one = async (name: string) => (await users(of, 1, name))[0] ?? '';
    const twice = { emails: [{ value: of.address('twice'), primary: true }] };
    const both = await Promise.all(
      ['one', 'other'].map((userName) => ask(of.token, 'POST', '/Users', { userName, ...twice })),
    );
    const { body } = await group(of, 'people', [
      await one('known'),
      await one('unproven'),
      await one('admin'),
      ...both.map(({ body: { id } }) => String(id)),
      ...(await users(of, 4, 'new')),
    ]);
    expect(await rolesOf(of)).toEqual({ viewer: 6 });
    const rows = await bench.sql<{ user_id: string }[]>`select m.user_id from memberships m
      where m.organisation_id = ${of.house.organisation}`;
    const there = rows.map(({ user_id }) => user_id);
    expect(there).toEqual(expect.arrayContaining([known, admin]));
    expect(there).not.toContain(unproven);
    const [noted] = await bench.sql<{ changed: object }[]>`select changed from audit_log
      where operation = 'provisionGroup' order by key desc limit 1`;
    expect(noted?.changed).toMatchObject({ after: { left_out: 3 } });
    const left = await bench.sql`select from invitations where invited_by = ${admin}`;
    expect(left).toHaveLength(0);
    expect(body.members).toHaveLength(9);
  });

  test('those who leave make room, and a new owner lets the one before go', async () => {
    const of = await createScimHouse(bench, { plan: 'team' });
    const [boss = '', ...more] = await users(of, 7);
    const { body } = await group(of, 'bosses', [boss]);
    await bench.sql`delete from memberships where organisation_id = ${of.house.organisation}
      and user_id = ${of.house.owner.user}`;
    await group(of, 'people', more);
    expect(await rolesOf(of)).toEqual({ owner: 1, viewer: 6 });
    const [next = ''] = more;
    const value = members([next]);
    await patchGroup(of, String(body.id), { op: 'replace', path: 'members', value });
    expect(await rolesOf(of)).toEqual({ owner: 1, viewer: 5 });
    const boards = await users(of, 5, 'late');
    await group(of, 'later', boards);
    await setTable(of, 'later = viewer\nbosses = owner');
    expect(await rolesOf(of)).toEqual({ owner: 1, viewer: 5 });
  });
});
