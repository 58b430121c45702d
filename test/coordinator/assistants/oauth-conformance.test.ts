import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assistantOf, consent, createBrowser } from '../../support/assistants.ts';
import { eventually } from '../../support/eventually.ts';
import { judgingTool, runProgram } from '../../support/processes.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

const suite = judgingTool('conformance-2026-07-28/dist/index.js');
const folder = mkdtempSync(join(tmpdir(), 'antipode-authorization-'));

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await web.close();
});

/** A port that nobody has: the suite waits there for the browser to come back. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
};

const judging = (...more: string[]): readonly [string, ...string[]] => [
  ...([process.execPath, suite ?? '', 'authorization', '--url', web.url] as const),
  ...[...more, '-o', folder],
];

describe.runIf(suite)('the conformance suite for authorization servers', () => {
  test('has the two scenarios that follow, and no other', async () => {
    const { out } = await runProgram([process.execPath, suite ?? '', 'list', '--authorization']);
    const known = [...out.matchAll(/^\s*-\s+([a-z0-9-]+)/gm)].map(([, name]) => name);
    expect(known).toEqual(['authorization-server-metadata-endpoint', 'authorization-code-grant']);
  });

  test('finds nothing wrong with the metadata, and gets a token by way of the person’s consent', async () => {
    const port = await freePort();
    const assistant = assistantOf(web.url, { redirect: `http://127.0.0.1:${port}/callback` });
    await assistant.begin();
    const [node, ...given] = judging(
      ...['--client-id', assistant.client?.client_id ?? '', '--port', String(port)],
      ...['--resource', `${web.url}/mcp`],
    );
    const child = spawn(node, given, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        said += String(chunk);
      });
    const ended = once(child, 'close');
    try {
      await eventually(() => expect(said).toMatch(/^\s*http\S+\/oauth\/\S+code_challenge\S+/m));
      const [address = ''] = /http\S+\/oauth\/\S+code_challenge\S+/.exec(said) ?? [];
      const browser = createBrowser(web, web.house.owner);
      const returned = await consent(browser, new URL(address), { organisation_id: web.house.organisation, scope: 'read' });
      expect((await fetch(returned)).status).toBe(200);
      const [code] = await ended;
      expect(said).toMatch(/metadata-endpoint: [1-9]\d* passed, 0 failed/);
      expect(said).toMatch(/code-grant: [1-9]\d* passed, 0 failed/);
      expect(code, said).toBe(0);
    } finally {
      child.kill();
    }
  });
});
