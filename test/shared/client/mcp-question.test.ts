import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { openServed, type Served } from '../../support/api.ts';
import { textsOf } from '../../support/assistants.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { machineNode } from '../../support/processes.ts';

let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterAll(() => served.close());

test('why was the shop down last night, and for how long? Three calls of the ten tools answer it', async () => {
  const { sql } = served.api;
  const asking = await createTestOrganisation(sql, { time_zone: 'Europe/Vienna' });
  const [shop, incident] = [newId(), newId()];
  const began = new Date(Date.now() - 8 * 3_600_000);
  const after = (minutes: number) => new Date(began.getTime() + minutes * 60_000);
  const cause = JSON.stringify({
    class: 'unexpected_status',
    params: { status: 503, expected: '200-299' },
  });
  await sql`insert into monitors (id, organisation_id, partition, type, name, target, interval_s, config, created_at)
    values (${shop}, ${asking.organisation}, 0, 'https', 'shop', 'https://shop.example/', 60, '{}', ${after(-10_000)})`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, cause, scope, layer, seen_probe,
      seen_continent, confirmed_probe, confirmed_continent)
    values (${incident}, ${asking.organisation}, ${shop}, ${began}, ${after(1)}, ${after(47)}, ${cause}::text::jsonb, 'everywhere', 'http',
      'probe 1', 'Europe', 'probe 2', 'Asia')`;
  for (const [part, continent, probe] of [
    ['seen', 'Europe', 'probe 1'],
    ['confirmed', 'Asia', 'probe 2'],
  ] as const)
    await sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, cause, evidence)
      values (${incident}, ${part}, ${continent}, ${probe}, ${began}, 1, 120, ${cause}::text::jsonb, '{}')`;
  const client = new Client({ name: 'test', version: '1' });
  const env = { ...served.environment, ANTIPODE_TOKEN: asking.viewer.read };
  const args = [served.files['antipode-mcp.mjs']];
  await client.connect(
    new StdioClientTransport({
      command: machineNode() ?? process.execPath,
      args,
      env,
      stderr: 'pipe',
    }),
  );
  try {
    // 1: last night by the clock of those who ask. 2: which outage. 3: why, from where it was seen,
    // and how long.
    const who = await client.callTool({ name: 'whoami', arguments: {} });
    expect(who.structuredContent).toMatchObject({
      time_zone: 'Europe/Vienna',
      local_time: expect.stringMatching(/^\d{4}-\d\d-\d\d /),
    });
    const list = textsOf(await client.callTool({ name: 'list_incidents', arguments: { days: 2 } }));
    const [id, start, ...told] =
      list
        .split('\n')
        .find((line) => line.includes('| shop |'))
        ?.split(' | ') ?? [];
    expect([id, start, ...told.slice(0, 3)]).toEqual([
      incident,
      `${began.toISOString().slice(0, 16)}Z`,
      'over',
      '47 min',
      'shop',
    ]);
    const { structuredContent } = await client.callTool({
      name: 'get_incident',
      arguments: { id },
    });
    expect(structuredContent).toMatchObject({
      monitor_name: 'shop',
      cause: expect.stringContaining('503'),
      lasted: '47 min',
      started_at: began.toISOString(),
      resolved_at: after(47).toISOString(),
      evidence: {
        verdict: expect.stringMatching(/^Everywhere. /),
        checks: [
          { part: 'seen', continent: 'Europe', outcome: 'fail' },
          { part: 'confirmed', continent: 'Asia', outcome: 'fail' },
        ],
        effect_on_uptime: { down_seconds: 2_820 },
      },
    });
  } finally {
    await client.close();
  }
});
