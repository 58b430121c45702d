import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations, restOperations } from '../../../shared/api/index.ts';
import { readingTools as tools } from '../../../shared/assistants/list.ts';
import { commandName } from '../../../shared/base/env.ts';
import { commands } from '../../../shared/client/commands.ts';
import { CallRefused, createHttpClient } from '../../../shared/client/http.ts';
import { toolCall } from '../../../shared/client/mcp.ts';
import { type Api, call, openServed, type Served } from '../../support/api.ts';
import type { TestOrganisation } from '../../support/people.ts';
import { runProgram } from '../../support/processes.ts';

let served: Served;
let api: Api;
let house: TestOrganisation;
let url: string;

beforeAll(async () => {
  served = await openServed();
  ({ api, house, url } = served);
});

afterAll(() => served.close());

const unknownId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

describe('one operation, every face', () => {
  test.each(restOperations.map((operation) => [operation.id, operation] as const))(
    '%s has its route, its document entry and its command',
    async (id, operation) => {
      const path = operation.path.replaceAll(/\{[^}]+\}/g, unknownId);
      const { status, text } = await call(api, house.owner.readWrite, { method: operation.method, url: path });
      expect(status, text).not.toBe(405);
      expect(text).not.toContain('route_not_found');
      const document: unknown = JSON.parse((await call(api, undefined, { method: 'GET', url: '/api/v1/openapi.json' })).text);
      expect(document).toHaveProperty(['paths', operation.path, operation.method.toLowerCase(), 'operationId'], id);
      expect(commands.filter((command) => command.operation.id === id)).toHaveLength(1);
    },
  );

  test('the ten tools are the GET operations that the specification names, and no other face has more operations than the table', () => {
    expect(tools.map((tool) => tool.operation.id).toSorted()).toEqual(
      [
        ...['whoami', 'listMonitors', 'getMonitor', 'getMonitorStatus', 'listIncidents', 'getIncident'],
        ...['listMaintenanceWindows', 'getMaintenanceWindow', 'listGroups', 'getGroup'],
      ].toSorted(),
    );
    expect(tools.every((tool) => 'method' in tool.operation && tool.operation.method === 'GET')).toBe(true);
    expect(commands).toHaveLength(Object.keys(operations).length);
  });
});

describe('a refusal carries the same code through each face', () => {
  const reading = tools.filter((tool) => Object.hasOwn(tool.arguments, 'id'));

  test.each(reading.map((tool) => [tool.name, tool] as const))('%s of an unknown id', async (_, tool) => {
    const asked = toolCall(tool, { id: unknownId });
    if ('refused' in asked) throw new Error(asked.refused);
    const rest: unknown = JSON.parse((await call(api, house.owner.read, { method: 'GET', url: asked.path })).text);
    const client = createHttpClient({ settings: { url, token: house.owner.read }, userAgent: 'test' });
    const refused = await client.call(asked).catch((error: unknown) => error);
    if (!(refused instanceof CallRefused)) throw new Error('the service answered');
    expect(rest).toMatchObject({ error: { code: refused.code } });

    const env = { PATH: process.env.PATH, ANTIPODE_URL: url, ANTIPODE_TOKEN: house.owner.read };
    const command = commands.find(({ operation }) => operation.id === tool.operation.id);
    const cli = await runProgram(
      [process.execPath, served.files['antipode.mjs'], ...commandName(command ?? { words: [] }).split(' '), unknownId],
      { env },
    );
    expect(cli).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`(${refused.code})`) });

    const lines = [
      {
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name, arguments: { id: unknownId } } },
    ];
    const mcp = await runProgram([process.execPath, served.files['antipode-mcp.mjs']], {
      env,
      input: `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
    });
    const answer = mcp.out
      .split('\n')
      .filter(Boolean)
      .map((line): unknown => JSON.parse(line))
      .at(-1);
    expect(answer).toMatchObject({ id: 1, result: { isError: true } });
    expect(JSON.stringify(answer)).toContain(`(${refused.code})`);
  });
});
