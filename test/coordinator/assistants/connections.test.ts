import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Connections,
  createConnections,
} from '../../../coordinator/assistants/connections.ts';
import { deleteMembers, writeRoles } from '../../../coordinator/people/queries.ts';
import { createLog } from '../../../shared/base/log.ts';
import { connectAssistant } from '../../support/assistants.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase({ name: 'test', connections: 4 });
const baseUrl = 'https://antipode.test';
const log = createLog({ name: 'test', level: 'silent' });
let now = Date.parse('2026-11-20T10:00:00Z');
let house: TestOrganisation;
let connections: Connections;

beforeAll(async () => {
  house = await createTestOrganisation(sql, { name: 'Shop' });
  connections = createConnections({
    sql,
    log,
    secretKey: testSecretKey,
    clock: { now: () => now },
    baseUrl: () => baseUrl,
  });
});
afterAll(async () => {
  await connections.close();
});

const connect = (who: TestOrganisation['owner'], options = {}) =>
  connectAssistant(sql, who, { baseUrl, now, ...options });

test('an assistant calls as the person who connected it, in the organisation that was chosen, with what was granted', async () => {
  const { token, connection } = await connect(house.member, { client: 'Helper' });
  expect(await connections.callerOf(token, '192.0.2.7')).toEqual({
    is: 'connector',
    organisation: {
      id: house.organisation,
      name: 'Shop',
      plan: 'self_hosted',
      time_zone: 'UTC',
      ends_at: null,
    },
    user: house.member.user,
    role: 'member',
    scope: 'read_write',
    connection: { id: connection, client: 'Helper' },
    address: '192.0.2.7',
  });
  const looking = await connect(house.owner, { scope: 'read' });
  expect((await connections.callerOf(looking.token))?.scope).toBe('read');
});

test('the role is read with every call: an assistant of a viewer only reads', async () => {
  const { admin, organisation } = await createTestOrganisation(sql);
  const { token } = await connect(admin);
  await writeRoles(sql, organisation, { user: admin.user, role: 'viewer' });
  expect(await connections.callerOf(token)).toMatchObject({ role: 'viewer', scope: 'read' });
  await writeRoles(sql, organisation, { user: admin.user, role: 'member' });
  expect(await connections.callerOf(token)).toMatchObject({ role: 'member', scope: 'read_write' });
});

test('it ends with its time, its connection, the membership and the organisation', async () => {
  const { token } = await connect(house.owner);
  now += 900_000;
  expect(await connections.callerOf(token)).toBeUndefined();

  const cut = await connect(house.owner);
  expect(await connections.callerOf(cut.token)).toBeDefined();
  await sql`delete from connections where id = ${cut.connection}`;
  expect(await connections.callerOf(cut.token)).toBeUndefined();
  expect(
    await sql`select 1 from oauth_records where connection_id = ${cut.connection}`,
  ).toHaveLength(0);

  const other = await createTestOrganisation(sql);
  const [one, two] = [await connect(other.member), await connect(other.owner)];
  await deleteMembers(sql, other.organisation, other.member.user);
  expect(await connections.callerOf(one.token)).toBeUndefined();
  expect(await connections.callerOf(two.token)).toBeDefined();
  await sql`delete from organisations where id = ${other.organisation}`;
  expect(await connections.callerOf(two.token)).toBeUndefined();
});

test('a token for another address, or a forged one, is refused', async () => {
  const elsewhere = await connect(house.owner, { baseUrl: 'https://elsewhere.test' });
  expect(await connections.callerOf(elsewhere.token)).toBeUndefined();
  for (const text of ['', 'x', house.owner.readWrite, `${elsewhere.token}x`, "' or 1=1"])
    expect(await connections.callerOf(text)).toBeUndefined();
});

test('the last use is written behind, once for many calls, and never moved back', async () => {
  const { token, connection } = await connect(house.viewer);
  const lastUsed = async () =>
    (
      await sql<
        { at: number | null }[]
      >`select last_used_at as at from connections where id = ${connection}`
    )[0]?.at;
  await connections.callerOf(token);
  now += 1_000;
  await connections.callerOf(token);
  expect(await lastUsed()).toBeNull();
  await connections.flush();
  expect(await lastUsed()).toEqual(now);
  now -= 500;
  await connections.callerOf(token);
  await connections.flush();
  expect(await lastUsed()).toEqual(now + 500);
});

test('no token is readable in the database', async () => {
  const { token } = await connect(house.owner);
  const rows = await sql<{ text: string }[]>`select oauth_records::text as text from oauth_records`;
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.some(({ text }) => text.includes(token))).toBe(false);
});
