import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const home = mkdtempSync(join(tmpdir(), 'antipode-words-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A program of the house without any service or environment. */
const run = (program: string, ...given: string[]): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: home, ANTIPODE_HOME: join(home, 'none') };
    execFile(process.execPath, [join(import.meta.dirname, '../..', program), ...given], { env, timeout: 60_000 }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });

test.each([
  ['deploy/local/operator.ts', ['--help'], 0, 'probe rotate', ''],
  ['deploy/local/operator.ts', ['token', 'create', '--help'], 0, '--scope', ''],
  ['deploy/local/operator.ts', ['probe', 'lst'], 2, '', 'Did you mean probe list?'],
  ['deploy/local/operator.ts', ['probe', 'list'], 1, '', 'nothing runs on'],
  ['deploy/local/start.ts', ['--help'], 0, 'npm start takes nothing', ''],
  ['deploy/local/start.ts', ['--port=1'], 2, '', '"--port=1" is not understood'],
  ['coordinator/main.ts', ['--help'], 0, 'serves, as its variables say', ''],
  ['deploy/local/antipode-mcp.ts', ['--help'], 0, 'ANTIPODE_URL', ''],
  ['deploy/local/antipode-mcp.ts', ['--version'], 0, 'antipode-mcp 0.', ''],
  ['deploy/local/antipode-mcp.ts', ['--token'], 2, '', '"--token" is not understood'],
  ['coordinator/main.ts', ['oprator', 'probe', 'list'], 2, '', '"oprator" is not understood'],
])('%s %j needs no service to be answered', async (program, given, code, out, err) => {
  const said = await run(program, ...given);
  expect(said).toEqual({ code, out: expect.stringContaining(out), err: expect.stringContaining(err) });
  if (code !== 0) expect(said.out).toBe('');
});
