import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { apiRevision } from '../../shared/api/operation.ts';
import { runProgram, type Said } from '../support/processes.ts';

const home = mkdtempSync(join(tmpdir(), 'antipode-words-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A program of the house without any service, and no environment but this. */
const runIn = (
  more: Readonly<Record<string, string>>,
  program: string,
  ...given: string[]
): Promise<Said> =>
  runProgram([process.execPath, join(import.meta.dirname, '../..', program), ...given], {
    env: { PATH: process.env.PATH, HOME: home, ANTIPODE_HOME: join(home, 'none'), ...more },
  });
const run = (program: string, ...given: string[]): Promise<Said> => runIn({}, program, ...given);

test.each([
  ['deploy/local/operator.ts', ['--help'], 0, 'probe rotate', ''],
  ['deploy/local/operator.ts', ['token', 'create', '--help'], 0, '--scope', ''],
  ['deploy/local/operator.ts', ['probe', 'lst'], 2, '', 'Did you mean "probe list"?'],
  ['deploy/local/operator.ts', ['probe', 'list'], 1, '', 'nothing runs on'],
  ['deploy/local/start.ts', ['--help'], 0, 'npm start takes nothing', ''],
  ['deploy/local/start.ts', ['--port=1'], 2, '', 'unknown argument "--port=1"'],
  ['coordinator/main.ts', ['--version'], 0, 'api          1.', ''],
  ['coordinator/main.ts', ['--version'], 0, `api_revision ${apiRevision}\n`, ''],
  ['coordinator/main.ts', ['--help'], 0, 'runs the coordinator, configured by', ''],
  ['deploy/local/antipode-mcp.ts', ['--help'], 0, 'ANTIPODE_URL', ''],
  ['deploy/local/antipode-mcp.ts', ['--version'], 0, 'antipode-mcp 1.', ''],
  ['deploy/local/antipode-mcp.ts', ['--token'], 2, '', 'unknown argument "--token"'],
  ['coordinator/main.ts', ['oprator', 'probe', 'list'], 2, '', 'unknown command "oprator"'],
])('%s %j needs no service to be answered', async (program, given, code, out, err) => {
  const said = await run(program, ...given);
  expect(said).toEqual({
    code,
    out: expect.stringContaining(out),
    err: expect.stringContaining(err),
  });
  if (code !== 0) expect(said.out).toBe('');
});

// Where Linux shows its processes nobody can make a folder, root included, and is told that there
// is none above it.
test.runIf(existsSync('/proc/self')).each([
  ['ANTIPODE_HOME', '/proc/none'],
  ['ANTIPODE_HOME', '/proc/none/below'],
  ['ANTIPODE_HOME', '/proc'],
  ['ANTIPODE_CACHE', '/proc/none'],
])('a start with %s=%s is refused at once, and says what to change', async (variable, folder) => {
  const said = await runIn({ [variable]: folder }, 'deploy/local/start.ts');
  expect(said).toEqual({
    code: 1,
    out: '',
    err: `cannot write to ${folder}: choose another folder with ${variable}\n`,
  });
});
