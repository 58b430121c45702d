import { expect, test } from 'vitest';
import { assistantFace, envelope } from '../../support/assistants.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const at = assistantFace(bench, { perMinute: 3 });

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: envelope() } };
const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };

test('a connection makes so many calls a minute, each of several in one message counted, and then hears how long to wait', async () => {
  const house = await createTestOrganisation(bench.sql);
  const [one, other] = [await at.face.connect(house.member), await at.face.connect(house.member)];
  const first = await at.face.post(one, list, modern);
  expect([first.status, first.headers.get('ratelimit-remaining')]).toEqual([200, '2']);
  const several = await at.face.post(
    one,
    [1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
  );
  expect(several.status).toBe(429);
  expect(Number(several.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await several.json()).toMatchObject({
    error: { message: expect.stringMatching(/may make more in \d+ s/), data: { code: 'rate_limited' } },
  });
  expect((await at.face.post(other, list, modern)).status).toBe(200);
  bench.now += 61_000;
  expect((await at.face.post(one, list, modern)).status).toBe(200);
});

test('who is not let in is counted by address', async () => {
  bench.now += 61_000;
  const nobody = { connection: '', token: 'x'.repeat(43) };
  const statuses = [];
  for (let nth = 0; nth < 4; nth += 1) statuses.push((await at.face.post(nobody, list, modern)).status);
  expect(statuses).toEqual([401, 401, 401, 429]);
});
