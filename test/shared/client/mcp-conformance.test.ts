import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openServed, type Served } from '../../support/api.ts';
import { createMcpBridge } from '../../support/assistants.ts';
import { judgingTool, machineNode, runProgram } from '../../support/processes.ts';

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
      runProgram([process.execPath, inspector ?? '', '--cli', node, script, ...given, '--format', 'json'], {
        env: { ...env, HOME: home },
      });
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
    'server-sse-multiple-streams': 'about HTTP streams; this server has standard input and output',
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
    expect(known.filter((name) => !applies.includes(name) && !Object.hasOwn(doesNotApply, name))).toEqual([]);
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
