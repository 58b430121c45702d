import { beforeAll, expect, test } from 'vitest';
import { operatorIn } from '../../../coordinator/gate/caller.ts';
import { createSignInLink, signOut } from '../../../coordinator/people/contract.ts';
import { createTokens } from '../../../coordinator/tokens/authenticate.ts';
import { createToken } from '../../../coordinator/tokens/contract.ts';
import { setMemberRole } from '../../../shared/api/members.ts';
import {
  createMonitor,
  deleteMonitor,
  listMonitors,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { createLog } from '../../../shared/base/log.ts';
import { gateBench, intake, signUpPolicyOf } from '../../support/gate.ts';
import {
  createTestOrganisation,
  inPerson,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

const bench = gateBench();
const door = signUpPolicyOf(bench);
let house: TestOrganisation;

type Row = {
  organisation_id: string | null;
  who: string;
  through: string;
  token_name: string | null;
  operation: string;
  changed: { about: object; before?: object; after?: object; sent?: object };
  address: string | null;
};

/** The traces since the last time that this was asked. */
const traces = async (): Promise<Row[]> => {
  const rows = await bench.sql<Row[]>`
    select organisation_id, who, through, token_name, operation, changed, address from audit_log where key > ${seen} order by key`;
  const [last] = await bench.sql<
    { key: number }[]
  >`select coalesce(max(key), 0) as key from audit_log`;
  seen = last?.key ?? 0;
  return [...rows];
};
let seen = 0;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
  await bench.addProbe('Europe');
});

test('a change says who made it, through what, and from where', async () => {
  const tokens = createTokens({
    sql: bench.sql,
    secretKey: testSecretKey,
    clock: { now: () => bench.now },
    log: createLog({ name: 't', level: 'silent' }),
  });
  const byToken = await tokens.authenticate(`Bearer ${house.member.readWrite}`, '192.0.2.44');
  await bench.call(createMonitor, byToken, {
    type: 'https',
    target: 'https://shop.example',
    interval_s: 60,
  });
  const signedIn = await door.signedIn(await door.comeIn(house.owner.email));
  await traces();
  await bench.call(createMonitor, byToken, {
    type: 'https',
    target: 'https://shop.example',
    interval_s: 60,
  });
  if (!signedIn.caller) throw new Error('no organisation');
  await bench.call(setMemberRole, inPerson(signedIn.caller), {
    member_id: house.viewer.user,
    role: 'member',
  });
  await bench.call(setMemberRole, operatorIn(house.owner.caller.organisation), {
    member_id: house.viewer.user,
    role: 'viewer',
  });
  const of = { organisation_id: house.organisation };
  expect(await traces()).toMatchObject([
    {
      ...of,
      who: house.member.email,
      through: 'api',
      token_name: 'read_write of a test',
      operation: 'createMonitor',
      address: '192.0.2.44',
    },
    {
      ...of,
      who: house.owner.email,
      through: 'page',
      token_name: null,
      operation: 'setMemberRole',
      address: intake.address,
    },
    {
      ...of,
      who: 'operator',
      through: 'operator',
      token_name: null,
      operation: 'setMemberRole',
      address: null,
    },
  ]);
});

test('it says what was before and what is after, as far as they differ', async () => {
  const made = await bench.call(createMonitor, house.owner, {
    type: 'https',
    target: 'https://shop.example',
    interval_s: 60,
    name: 'Shop',
  });
  await bench.call(updateMonitor, house.owner, {
    monitor_id: made.id,
    name: 'Checkout',
    interval_s: 60,
  });
  await bench.call(deleteMonitor, house.owner, { monitor_id: made.id });
  expect((await traces()).map(({ operation, changed }) => [operation, changed])).toMatchObject([
    [
      'createMonitor',
      { about: { id: made.id }, after: { name: 'Shop', target: 'https://shop.example' } },
    ],
    [
      'updateMonitor',
      { about: { monitor_id: made.id }, before: { name: 'Shop' }, after: { name: 'Checkout' } },
    ],
    ['deleteMonitor', { about: { monitor_id: made.id }, before: { name: 'Checkout' } }],
  ]);
  const [row] = await bench.sql<
    { changed: Row['changed'] }[]
  >`select changed from audit_log where operation = 'updateMonitor' order by key desc limit 1`;
  expect(row?.changed.after).toEqual({ name: 'Checkout' });
});

test('it never holds a secret', async () => {
  const config = {
    basic_auth: { username: 'ada', password: 'S3CRET-1' },
    headers: { 'X-Key': 'S3CRET-3' },
    secret_headers: ['x-key'],
  };
  const { id } = await bench.call(createMonitor, house.owner, {
    type: 'https',
    target: 'https://shop.example',
    interval_s: 60,
    config,
  });
  await bench.call(updateMonitor, house.owner, {
    monitor_id: id,
    config: { ...config, basic_auth: { username: 'bob', password: 'S3CRET-4' } },
  });
  const { token } = await bench.call(createToken, house.owner, { name: 'CI', scope: 'read' });
  const { address } = (
    await bench.gate.executeForInstallation(
      createSignInLink,
      rawInput(createSignInLink, { email: house.owner.email }),
    )
  ).body as { address: string };
  const secret = address.split('/').at(-1) ?? '';
  const cookie = await door.comeIn(house.owner.email);
  const [row] = await bench.sql<
    { text: string }[]
  >`select string_agg(a::text, ' ') as text from audit_log a`;
  expect(row?.text).toContain('createToken');
  for (const hidden of ['S3CRET', token, secret, cookie]) expect(row?.text).not.toContain(hidden);
});

test('reads and refused calls leave no entry', async () => {
  await traces();
  await bench.call(listMonitors, house.viewer);
  await bench.refusal(createMonitor, house.viewer, {
    type: 'https',
    target: 'https://shop.example',
    interval_s: 60,
  });
  await bench.refusal(createMonitor, house.owner, {
    type: 'https',
    target: 'nonsense',
    interval_s: 60,
  });
  expect(await traces()).toEqual([]);
});

test('coming in and going are traces of the person, in no organisation', async () => {
  const { person } = await door.signedIn(await door.comeIn(house.admin.email));
  await door.act(signOut, person);
  expect(await traces()).toMatchObject([
    { who: 'operator', operation: 'createSignInLink', organisation_id: null },
    {
      who: house.admin.email,
      operation: 'enter',
      through: 'page',
      organisation_id: null,
      address: intake.address,
    },
    { who: house.admin.email, operation: 'signOut', through: 'page', organisation_id: null },
  ]);
});
