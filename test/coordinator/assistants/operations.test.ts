import { beforeAll, expect, test } from 'vitest';
import {
  connectAssistant,
  disconnectAssistant,
  getConnection,
  listConnections,
} from '../../../coordinator/assistants/contract.ts';
import type { Person } from '../../../coordinator/gate/caller.ts';
import { endOrganisation } from '../../../coordinator/offboarding/contract.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { connectAssistant as connected } from '../../support/assistants.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
});

const baseUrl = 'https://antipode.test';
const listed = async (who: TestOrganisation['owner']) =>
  (await bench.call(listConnections, who)).items.map(({ client }) => client);

test('everyone sees and ends their own assistants, owners and admins those of all', async () => {
  const make = async (who: TestOrganisation['owner'], client: string) =>
    (await connected(bench.sql, who, { baseUrl, client })).connection;
  const of = {
    member: await make(house.member, 'of the member'),
    viewer: await make(house.viewer, 'of the viewer'),
  };
  expect(await listed(house.owner)).toEqual(['of the viewer', 'of the member']);
  expect(await listed(house.admin)).toEqual(['of the viewer', 'of the member']);
  expect(await listed(house.member)).toEqual(['of the member']);
  expect(await bench.call(getConnection, house.viewer, { connection_id: of.viewer })).toMatchObject(
    {
      client: 'of the viewer',
      redirect_host: 'localhost',
      scope: 'read_write',
      may_change: false,
      own: true,
      last_used_at: null,
      owner: { email: house.viewer.email },
    },
  );
  expect(await bench.refusal(getConnection, house.member, { connection_id: of.viewer })).toBe(
    'connection_not_found',
  );
  expect(await bench.refusal(disconnectAssistant, house.member, { connection_id: of.viewer })).toBe(
    'connection_not_found',
  );
  await bench.call(disconnectAssistant, house.admin, { connection_id: of.viewer });
  await bench.call(disconnectAssistant, house.member, { connection_id: of.member });
  expect(await listed(house.owner)).toEqual([]);
  const [trace] = await bench.sql<{ changed: object }[]>`
    select changed from audit_log where operation = 'disconnectAssistant' order by key limit 1`;
  expect(trace?.changed).toMatchObject({
    before: { client: 'of the viewer', scope: 'read_write', owner: house.viewer.email },
  });
});

const at = (who: TestOrganisation['owner'], proven_at = bench.now): Person => ({
  user: who.user,
  email: who.email,
  name: '',
  email_verified: true,
  is_operator: false,
  session: newId(),
  proven_at,
  from: { address: '192.0.2.9', device: 'a test' },
});
const asking = (organisation_id: string, scope: string) =>
  rawInput(connectAssistant, {
    organisation_id,
    scope,
    client_id: 'c',
    client: 'Claude',
    redirect_host: 'claude.ai',
  });

test('a user connects an assistant to one organisation, and grants no more than their own role', async () => {
  const other = await createTestOrganisation(bench.sql);
  const run = (who: TestOrganisation['owner'], organisation: string, scope: string) =>
    bench.gate.executeForPerson(connectAssistant, at(who), asking(organisation, scope));
  await expect(run(house.owner, other.organisation, 'read')).rejects.toMatchObject({
    code: 'organisation_not_found',
  });
  await expect(run(house.viewer, house.organisation, 'read_write')).rejects.toMatchObject({
    code: 'role_insufficient',
  });
  await expect(run(house.owner, house.organisation, 'everything')).rejects.toMatchObject({
    code: 'scope_unknown',
  });
  expect(await bench.sql`select 1 from connections`).toHaveLength(0);
  await run(house.viewer, house.organisation, 'read');
  await run(house.owner, house.organisation, 'read_write');
  expect(await bench.sql`select scope, user_id from connections order by key`).toEqual([
    { scope: 'read', user_id: house.viewer.user },
    { scope: 'read_write', user_id: house.owner.user },
  ]);
  const traces = await bench.sql<{ organisation_id: string; address: string; changed: object }[]>`
    select organisation_id, address, changed from audit_log where operation = 'connectAssistant' order by key desc limit 1`;
  expect(traces).toMatchObject([
    {
      organisation_id: house.organisation,
      address: '192.0.2.9',
      changed: { after: { client: 'Claude', redirect_host: 'claude.ai', scope: 'read_write' } },
    },
  ]);
});

test('an organisation that is about to end gets no more of them', async () => {
  const ending = await createTestOrganisation(bench.sql);
  await bench.call(endOrganisation, ending.owner, { name: ending.name });
  const run = bench.gate.executeForPerson(
    connectAssistant,
    at(ending.owner),
    asking(ending.organisation, 'read'),
  );
  await expect(run).rejects.toMatchObject({ code: 'organisation_ending' });
});

test('connecting an assistant requires a recent sign-in', async () => {
  const old = at(house.owner, bench.now - 16 * 60_000);
  await expect(
    bench.gate.executeForPerson(connectAssistant, old, asking(house.organisation, 'read')),
  ).rejects.toMatchObject({
    code: 'proof_needed',
  });
});
