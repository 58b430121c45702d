/**
 * Makes the types of a client from the API document, as any user of openapi-typescript would: `node test/client/foreign-generate.ts` writes
 * generated/api.d.ts, which stands in the repository so that a change of the contract is seen in the diff.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { apiDocument } from '../../coordinator/api/openapi.ts';

const run = promisify(execFile);
const cli = new URL('node_modules/openapi-typescript/bin/cli.js', import.meta.url).pathname;

export const generated = new URL('generated/api.d.ts', import.meta.url);

export const generateClient = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-client-'));
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(apiDocument('http://localhost')));
    await run(process.execPath, [cli, 'openapi.json', '--output', 'api.d.ts'], { cwd: folder });
    return await readFile(join(folder, 'api.d.ts'), 'utf8');
  } finally {
    await rm(folder, { recursive: true });
  }
};

if (import.meta.main) await writeFile(generated, await generateClient());
