import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations, restOperations } from '../../../shared/api/index.ts';
import { readingTools as tools } from '../../../shared/assistants/list.ts';
import { commandName } from '../../../shared/base/env.ts';
import { commands } from '../../../shared/client/commands.ts';
import { CallRefused, createHttpClient } from '../../../shared/client/http.ts';
import { toolCall } from '../../../shared/client/mcp.ts';
import { type Api, call, openServed, type Served } from '../../support/api.ts';
import { createMcpBridge } from '../../support/assistants.ts';
import type { TestOrganisation } from '../../support/people.ts';
import { judgingTool, machineNode, runProgram } from '../../support/processes.ts';

describe('mcp conformance', () => {
  let served: Served;
  let env: Readonly<Record<string, string>>;
  let script: string;

  beforeAll(async () => {
    served = await openServed();
    env = served.environment;
    script = served.files['antipode-mcp.mjs'];
  });

  afterAll(() => served.close());

  const node = machineNode() ?? process.execPath;

  const inspector = judgingTool('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const suite = judgingTool('@modelcontextprotocol/conformance/dist/index.js');

  test.runIf(inspector)(
    "the inspector's command line lists the tools and calls one",
    async () => {
      const home = mkdtempSync(join(tmpdir(), 'antipode-inspector-'));
      const inspect = (...given: string[]) =>
        runProgram(
          [process.execPath, inspector ?? '', '--cli', node, script, ...given, '--format', 'json'],
          {
            env: { ...env, HOME: home },
          },
        );
      try {
        const listed = await inspect('--method', 'tools/list', '--strict');
        expect(listed.code, listed.err).toBe(0);
        expect(JSON.parse(listed.out).result.tools).toHaveLength(10);
        const called = await inspect(
          '--method',
          'tools/call',
          '--tool-name',
          'whoami',
          '-e',
          `ANTIPODE_URL=${env.ANTIPODE_URL}`,
          '-e',
          `ANTIPODE_TOKEN=${env.ANTIPODE_TOKEN}`,
        );
        expect(called.code, called.err).toBe(0);
        expect(JSON.parse(called.out).result.structuredContent).toMatchObject({ role: 'viewer' });
      } finally {
        rmSync(home, { recursive: true });
      }
    },
    60_000,
  );

  describe.runIf(suite)('the conformance suite', () => {
    /** Scenarios about what this server offers. */
    const applies = ['server-initialize', 'ping', 'tools-list', 'tools-call-error'];
    /** Scenarios that need what this server does not have, and why it does not have it. */
    const doesNotApply: Readonly<Record<string, string>> = {
      'logging-set-level': 'it logs nothing to clients; the newest revision has no such request',
      'completion-complete': 'no prompts or resources whose arguments could be completed',
      'tools-call-simple-text': 'asks for a fixture tool of the suite, test_simple_text',
      'tools-call-image': 'asks for a fixture tool; we answer with data, never pictures',
      'tools-call-audio': 'asks for a fixture tool; no sound either',
      'tools-call-embedded-resource': 'asks for a fixture tool; no resources',
      'tools-call-mixed-content': 'asks for a fixture tool',
      'tools-call-with-logging': 'asks for a fixture tool; see logging-set-level',
      'tools-call-with-progress': 'asks for a fixture tool; calls are short',
      'tools-call-sampling': 'it never asks the client for anything',
      'tools-call-elicitation': 'it never asks the client for anything',
      'elicitation-sep1034-defaults': 'it never asks the client for anything',
      'elicitation-sep1330-enums': 'it never asks the client for anything',
      'json-schema-2020-12': 'asks for a fixture tool of the suite',
      'server-sse-polling': 'about HTTP streams; this server has standard input and output',
      'server-sse-multiple-streams':
        'about HTTP streams; this server has standard input and output',
      'resources-list': 'no resources: everything is a tool',
      'resources-read-text': 'no resources',
      'resources-read-binary': 'no resources',
      'resources-templates-read': 'no resources',
      'resources-subscribe': 'no resources',
      'resources-unsubscribe': 'no resources',
      'prompts-list': 'no prompts',
      'prompts-get-simple': 'no prompts',
      'prompts-get-with-args': 'no prompts',
      'prompts-get-embedded-resource': 'no prompts',
      'prompts-get-with-image': 'no prompts',
      'dns-rebinding-protection': 'about HTTP; nobody reaches standard input through a browser',
    };

    test('has no scenario that is neither run nor explained', async () => {
      const { out } = await runProgram([process.execPath, suite ?? '', 'list', '--server']);
      const known = [...out.matchAll(/^\s*-\s+([a-z0-9-]+)/gm)].map(([, name]) => name ?? '');
      expect(known.length).toBeGreaterThan(10);
      expect(
        known.filter((name) => !applies.includes(name) && !Object.hasOwn(doesNotApply, name)),
      ).toEqual([]);
    });

    test.each(applies)('%s passes', async (scenario) => {
      const bridge = await createMcpBridge([node, script], env);
      const folder = mkdtempSync(join(tmpdir(), 'antipode-conformance-'));
      try {
        const { code, out, err } = await runProgram([
          process.execPath,
          suite ?? '',
          'server',
          '--url',
          bridge.url,
          '--scenario',
          scenario,
          '-o',
          folder,
        ]);
        expect(out + err).toMatch(/Passed: [1-9]\d*\/|[1-9]\d* passed, 0 failed/);
        expect(code, out + err).toBe(0);
      } finally {
        await bridge.close();
        rmSync(folder, { recursive: true });
      }
    });
  });
});

describe('parity', () => {
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
        const { status, text } = await call(api, house.owner.readWrite, {
          method: operation.method,
          url: path,
        });
        expect(status, text).not.toBe(405);
        expect(text).not.toContain('route_not_found');
        const document: unknown = JSON.parse(
          (await call(api, undefined, { method: 'GET', url: '/api/v1/openapi.json' })).text,
        );
        expect(document).toHaveProperty(
          ['paths', operation.path, operation.method.toLowerCase(), 'operationId'],
          id,
        );
        expect(commands.filter((command) => command.operation.id === id)).toHaveLength(1);
      },
    );

    test('the ten tools are the GET operations that the specification names, and no other face has more operations than the table', () => {
      expect(tools.map((tool) => tool.operation.id).toSorted()).toEqual(
        [
          'whoami',
          'listMonitors',
          'getMonitor',
          'getMonitorStatus',
          'listIncidents',
          'getIncident',
          'listMaintenanceWindows',
          'getMaintenanceWindow',
          'listGroups',
          'getGroup',
        ].toSorted(),
      );
      expect(
        tools.every((tool) => 'method' in tool.operation && tool.operation.method === 'GET'),
      ).toBe(true);
      expect(commands).toHaveLength(Object.keys(operations).length);
    });
  });

  describe('a refusal has the same code in each interface', () => {
    const reading = tools.filter((tool) => Object.hasOwn(tool.arguments, 'id'));

    test.each(reading.map((tool) => [tool.name, tool] as const))(
      '%s of an unknown id',
      async (_, tool) => {
        const asked = toolCall(tool, { id: unknownId });
        if ('refused' in asked) throw new Error(asked.refused);
        const rest: unknown = JSON.parse(
          (await call(api, house.owner.read, { method: 'GET', url: asked.path })).text,
        );
        const client = createHttpClient({
          settings: { url, token: house.owner.read },
          userAgent: 'test',
        });
        const refused = await client.call(asked).catch((error: unknown) => error);
        if (!(refused instanceof CallRefused)) throw new Error('the service answered');
        expect(rest).toMatchObject({ error: { code: refused.code } });

        const env = { PATH: process.env.PATH, ANTIPODE_URL: url, ANTIPODE_TOKEN: house.owner.read };
        const command = commands.find(({ operation }) => operation.id === tool.operation.id);
        const cli = await runProgram(
          [
            process.execPath,
            served.files['antipode.mjs'],
            ...commandName(command ?? { words: [] }).split(' '),
            unknownId,
          ],
          { env },
        );
        expect(cli).toMatchObject({
          code: 1,
          out: '',
          err: expect.stringContaining(`(${refused.code})`),
        });

        const lines = [
          {
            jsonrpc: '2.0',
            id: 0,
            method: 'initialize',
            params: {
              protocolVersion: '2025-06-18',
              capabilities: {},
              clientInfo: { name: 't', version: '1' },
            },
          },
          { jsonrpc: '2.0', method: 'notifications/initialized' },
          {
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name: tool.name, arguments: { id: unknownId } },
          },
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
      },
    );
  });
});
