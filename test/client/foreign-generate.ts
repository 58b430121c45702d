/**
 * Makes the types of a client from the API document, as any user of openapi-typescript would:
 * generated/api.d.ts, which git ignores. `npm run check` and the tests of the client make it.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { apiDocument } from '../../coordinator/api/openapi.ts';

const run = promisify(execFile);
const cli = new URL('node_modules/openapi-typescript/bin/cli.js', import.meta.url).pathname;

const generated = new URL('generated/api.d.ts', import.meta.url).pathname;

export const generateClient = async (): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-client-'));
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(apiDocument('http://localhost')));
    await mkdir(dirname(generated), { recursive: true });
    await run(process.execPath, [cli, 'openapi.json', '--output', generated], { cwd: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
};

if (import.meta.main) await generateClient();
