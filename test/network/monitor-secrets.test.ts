import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';
import type { Target } from '../support/targets.ts';

/** Secrets of a monitor's config: in the check, and nowhere else. */

const secret = 'swordfish-swordfish-swordfish';
let network: Network;
let target: Target;
let url: string;
const seen: string[] = [];

beforeAll(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  target.answer({
    is: 'by',
    answer: (request, response) => {
      seen.push(request.headers.authorization ?? 'none');
      response.end('fine');
    },
  });
  ({ url } = await network.startCoordinator());
  await network.addProbe('Europe');
  // Whether somebody may reach loopback is known once the probe has said so.
  await eventually(async () => (await network.sql`select 1 from probes where cardinality(allowed_cidrs) > 0`).length > 0);
});
afterAll(() => network.close());

const call = async (method: string, path: string, body?: object): Promise<{ id: string; config: Record<string, unknown> }> => {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${network.house.owner.readWrite}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(answer.ok, text).toBe(true);
  return JSON.parse(text);
};

test('reach the target with the check, come back masked, and lie in clear neither in the database nor on the bus', async () => {
  const made = await call('POST', '/monitors', { type: 'https', target: target.url(), interval_s: 10, config: { bearer_token: secret } });
  expect(made.config.bearer_token).toBe('***');
  await eventually(() => seen.length > 0, 40_000);
  expect(seen).toEqual(seen.map(() => `Bearer ${secret}`));
  const bus = await connectBus({
    url: network.account.url,
    credentials: network.account.coordinatorCredentials,
    name: 'test',
    log: network.log,
  });
  const subject = await eventually(async () =>
    (await bus.subjectsOf(streams.assignments.name, 'assign.europe.*')).find((each) => each.endsWith(made.id)),
  );
  const assignment = new TextDecoder().decode((await eventually(() => bus.last(streams.assignments.name, subject))).data);
  expect(JSON.parse(assignment)).toMatchObject({ monitor: made.id, config: { bearer_token: '***' }, sealed: expect.any(String) });
  expect(assignment).not.toContain(secret);
  await bus.close();
  const tables = await network.sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public'`;
  for (const { name } of tables) {
    const rows =
      await network.sql`select t::text as row from ${network.sql(name)} t where t::text like ${`%${secret}%`} or t::text like ${`%${Buffer.from(secret).toString('hex')}%`}`;
    expect(rows, name).toEqual([]);
  }
});

test('stay what they are when a mask is sent back, and change when a new one is', async () => {
  const made = await call('POST', '/monitors', { type: 'https', target: target.url(), interval_s: 10, config: { bearer_token: secret } });
  await call('PATCH', `/monitors/${made.id}`, { config: { bearer_token: '***', expected_status: [200] } });
  seen.length = 0;
  await eventually(() => seen.length > 1);
  expect(new Set(seen)).toEqual(new Set([`Bearer ${secret}`]));
  await call('PATCH', `/monitors/${made.id}`, { config: { bearer_token: `${secret}-2` } });
  await eventually(() => seen.includes(`Bearer ${secret}-2`), 40_000);
});
