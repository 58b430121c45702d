import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { version } from '../../../shared/base/version.ts';

/** The two scripts that run on people's machines, each one file without dependencies, made from shared/client. */
export const downloadNames = ['antipode.mjs', 'antipode-mcp.mjs'] as const;
export type DownloadName = (typeof downloadNames)[number];

const root = resolve(import.meta.dirname, '../../..');
const entries: Readonly<Record<DownloadName, string>> = {
  'antipode.mjs': 'shared/client/antipode.ts',
  'antipode-mcp.mjs': 'shared/client/antipode-mcp.ts',
};

/** The rooms that the bundles are made of. */
export const downloadRooms = ['shared/client', 'shared/api', 'shared/checks', 'shared/base'];

/** Everything that a bundle is made of decides its name, so that a cache is never out of date. */
const contentHash = async (): Promise<string> => {
  const hash = createHash('sha256').update(version);
  for (const room of downloadRooms) {
    const files = (await readdir(join(root, room), { recursive: true })).filter((file) => file.endsWith('.ts')).toSorted();
    const texts = await Promise.all(files.map((file) => readFile(join(root, room, file))));
    for (const [index, file] of files.entries()) hash.update(`\0${room}/${file}\0`).update(texts[index] ?? '');
  }
  hash.update(await readFile(join(root, 'package-lock.json')).catch(() => ''));
  return hash.digest('hex').slice(0, 32);
};

const build = async (name: DownloadName): Promise<string> => {
  // Loaded only when there is something to bundle: most starts find it cached.
  const { build: bundle } = await import('esbuild');
  const { outputFiles } = await bundle({
    absWorkingDir: root,
    entryPoints: [entries[name]],
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    minify: true,
    charset: 'utf8',
    legalComments: 'inline',
    banner: { js: `// Antipode ${version}: ${name}` },
    logLevel: 'silent',
  });
  const text = outputFiles[0]?.text;
  if (text === undefined) throw new Error(`${name} could not be bundled`);
  return text;
};

/** The text of a download, from the cache when its sources are unchanged. */
export const bundleDownload = async (name: DownloadName, cacheFolder = join(root, 'node_modules/.cache/antipode')): Promise<string> => {
  const file = join(cacheFolder, `${await contentHash()}-${name}`);
  try {
    return await readFile(file, 'utf8');
  } catch {
    // Not there yet.
  }
  const text = await build(name);
  try {
    await mkdir(cacheFolder, { recursive: true });
    const partial = `${file}.${process.pid}`;
    await writeFile(partial, text);
    await rename(partial, file);
  } catch {
    // A folder that cannot be written costs a bundling at each start, nothing more.
  }
  return text;
};
