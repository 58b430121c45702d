import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../shared/base/crypto.ts';
import { codeOf } from '../../shared/base/errors.ts';

const uuid = /^[0-9a-f-]{36}$/;

/**
 * The name of the place where a coordinator keeps its files, the same on each start there. Only one
 * coordinator runs there at a time, because its spool is there too. An invalid file is replaced:
 * nothing is claimed under the new name.
 */
export const ownPlace = async (folder: string): Promise<string> => {
  const file = join(folder, 'place');
  const kept = await readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  });
  if (uuid.test(kept.trim())) return kept.trim();
  await mkdir(folder, { recursive: true });
  const place = newId();
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(`${place}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return place;
};
