import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../shared/base/error-code.ts';

/** What the probe keeps on disk: small files that are replaced whole, and logs of lines that are only appended to. */

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
};

/**
 * Whoever reads the file finds the old text or the new one, never half of one. `durable`: it outlives a loss of power once this has settled;
 * else it outlives the process only.
 */
export const replaceFile = async (path: string, text: string, options: { readonly durable: boolean }): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.next`;
  const handle = await open(next, 'w', 0o600);
  try {
    await handle.writeFile(text);
    if (options.durable) await handle.sync();
  } catch (error) {
    await handle.close();
    await rm(next, { force: true });
    throw error;
  }
  await handle.close();
  await rename(next, path);
  if (options.durable) await syncFolder(dirname(path));
};

/** The text of a file; undefined when there is none. */
export const readIfThere = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};

/** A new file to append to, whose name outlives a loss of power. */
export const createLogFile = async (path: string): Promise<FileHandle> => {
  const handle = await open(path, 'wx', 0o600);
  try {
    await syncFolder(dirname(path));
  } catch (error) {
    // One that nobody closes ends the process when its garbage is collected.
    await handle.close();
    throw error;
  }
  return handle;
};

/** Calls for each line that ends; a last one that was torn off by a crash is none. `from`: where in the text it begins, `length` in bytes. */
export const eachWholeLine = (text: Buffer, onLine: (line: string, from: number, length: number) => void): void => {
  const lineBreak = 10;
  for (let from = 0, end = text.indexOf(lineBreak); end >= 0; from = end + 1, end = text.indexOf(lineBreak, from))
    onLine(text.toString('utf8', from, end), from, end - from);
};
