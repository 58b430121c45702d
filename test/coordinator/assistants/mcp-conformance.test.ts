import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { assistantFace } from '../../support/assistants.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { judgingTool, runProgram } from '../../support/processes.ts';

const bench = gateBench();
const at = assistantFace(bench);

const earlier = judgingTool('@modelcontextprotocol/conformance/dist/index.js');
const newest = judgingTool('conformance-2026-07-28/dist/index.js');
const inspector = judgingTool('@modelcontextprotocol/inspector/clients/launcher/build/index.js');

beforeAll(async () => {
  const house = await createTestOrganisation(bench.sql);
  at.face.letIn = await at.face.connect(house.member);
});

/** Scenarios about what this server offers. */
const applies = [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-error',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
];
const appliesToNewest = [
  ...['tools-list', 'tools-call-error', 'resources-list', 'sep-2164-resource-not-found', 'prompts-list'],
  ...['dns-rebinding-protection', 'caching', 'http-header-validation', 'input-required-result-unsupported-methods'],
];

const fixture = 'asks for a fixture of the suite, which no product has';
/** Scenarios that need what this server does not have, and why it does not have it. */
const doesNotApply: Readonly<Record<string, string>> = {
  'server-session-lifecycle': 'there are no sessions: any coordinator answers any request',
  'logging-set-level': 'it logs nothing to clients; the newest revision has no such request',
  'completion-complete': 'what the arguments of prompts may be is anybody’s words',
  'tools-call-with-logging': fixture,
  'tools-call-with-progress': fixture,
  'tools-call-sampling': 'it never asks the model of a client for anything',
  'tools-call-elicitation': fixture,
  'server-sse-polling': 'there is no stream to come back to',
  'server-sse-multiple-streams': 'each request is answered by itself; nothing is told on a stream',
  'resources-subscribe': 'incidents are asked for again, not subscribed to',
  'resources-unsubscribe': 'incidents are asked for again, not subscribed to',
  'http-custom-header-server-validation': 'no tool asks for an argument in a header',
};
const needFixtures =
  /^(tools-call-(simple-text|image|audio|embedded-resource|mixed-content)|json-schema-2020-12|elicitation-|resources-(read|templates)-|prompts-get-|input-required-result-)/;
const extensions = /^(sep-2640-skills|tasks)-/;

const node = process.execPath;

describe.each([
  ['until 2025-11-25', earlier, applies, []],
  ['of 2026-07-28', newest, appliesToNewest, ['--spec-version', '2026-07-28']],
] as const)('the conformance suite %s', (_, suite, scenarios, more) => {
  test.runIf(suite)('has no scenario that is neither run nor explained', async () => {
    const { out } = await runProgram([node, suite ?? '', 'list', '--server']);
    const known = [...out.matchAll(/^\s*-\s+([a-z0-9-]+)/gm)].map(([, name]) => name ?? '');
    expect(known.length).toBeGreaterThan(10);
    const unexplained = known.filter(
      (name) =>
        ![...applies, ...appliesToNewest].includes(name) &&
        name !== 'server-stateless' &&
        !Object.hasOwn(doesNotApply, name) &&
        !needFixtures.test(name) &&
        !extensions.test(name),
    );
    expect(unexplained).toEqual([]);
  });

  test.runIf(suite).each(scenarios.map((scenario) => [scenario]))('%s passes', async (scenario) => {
    const folder = mkdtempSync(join(tmpdir(), 'antipode-conformance-'));
    try {
      const url = `${at.face.url}/mcp`;
      const { code, out, err } = await runProgram([
        node,
        suite ?? '',
        'server',
        '--url',
        url,
        '--scenario',
        scenario,
        ...more,
        '-o',
        folder,
      ]);
      expect(out + err).toMatch(/Passed: [1-9]\d*\/|[1-9]\d* passed, 0 failed/);
      expect(code, out + err).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** They call a tool of the suite that asks the model of a client for something; ours ask nobody who did not say that they can be asked. */
const wantFixture = ['sep-2575-missing-capability-http-400', 'sep-2575-server-rejects-undeclared-capability'];

test.runIf(newest)('nothing is kept from one request to the next, but for the two checks that call a tool of the suite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'antipode-conformance-'));
  const url = `${at.face.url}/mcp`;
  try {
    const { out, err } = await runProgram([node, newest ?? '', 'server', '--url', url, '--scenario', 'server-stateless', '-o', folder]);
    const said = stripVTControlCharacters(`${out}${err}`);
    const ended = (how: string): string[] =>
      [...said.matchAll(/\[(sep-[a-z0-9-]+|[a-z0-9-]+) *\] *([A-Z]+)/g)].flatMap(([, name, state]) =>
        state === how && name ? [name] : [],
      );
    expect([...new Set(ended('FAILURE'))].toSorted(), said).toEqual(wantFixture);
    expect(ended('SUCCESS').length, said).toBeGreaterThan(20);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.runIf(inspector)('the inspector lists the tools and calls one', async () => {
  const home = mkdtempSync(join(tmpdir(), 'antipode-inspector-'));
  const inspect = (...given: string[]) =>
    runProgram([node, inspector ?? '', '--cli', `${at.face.url}/mcp`, '--transport', 'http', ...given, '--format', 'json'], {
      env: { PATH: process.env.PATH ?? '', HOME: home },
    });
  try {
    const listed = await inspect('--method', 'tools/list');
    expect(listed.code, listed.err).toBe(0);
    expect(JSON.parse(listed.out).result.tools.length).toBeGreaterThan(20);
    const called = await inspect('--method', 'tools/call', '--tool-name', 'whoami');
    expect(called.code, called.err).toBe(0);
    expect(JSON.parse(called.out).result.structuredContent).toMatchObject({ role: 'member' });
  } finally {
    rmSync(home, { recursive: true });
  }
});
