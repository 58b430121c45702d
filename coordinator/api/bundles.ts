import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { BuildOptions, Plugin } from 'esbuild';
import { bundle } from '../../shared/base/bundler.ts';
import { version } from '../../shared/base/process.ts';

/**
 * Programs that run on other people's machines, each a single file without dependencies: two made
 * from shared/client, and the probe.
 */
export const downloadNames = ['antipode.mjs', 'antipode-mcp.mjs', 'antipode-probe.mjs'] as const;
export type DownloadName = (typeof downloadNames)[number];

const root = resolve(import.meta.dirname, '../..');

/**
 * The first lines of the probe. The code below may use syntax or names that an older Node lacks;
 * none of it is read before these lines have run.
 */
const probeHead = [
  '#!/usr/bin/env node',
  `// Antipode ${version}: antipode-probe.mjs`,
  "import { createRequire } from 'node:module';",
  'const require = createRequire(import.meta.url);',
  'if (parseInt(process.versions.node, 10) < 24) {',
  "  const said = ['antipode-probe needs Node 26 (24 where it checks no heartbeats with a cron schedule); this is Node', process.versions.node];",
  "  process.stderr.write(said.join(' ') + '.\\nA newer one is at https://nodejs.org/en/download\\n');",
  '  process.exit(1);',
  '}',
].join('\n');

/** zod contains its messages in fifty languages, of which we use one: a third of the file. */
export const withoutOtherLanguages: Plugin = {
  name: 'without other languages',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /\/locales\/index\.js$/ }, ({ path, importer }) =>
      importer.includes('/zod/') ? { path, namespace: 'no-languages' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'no-languages' }, () => ({ contents: 'export {};' }));
  },
};

/** The client of WebSockets would load native parts that a host happens to have. */
const withoutNativeParts: Plugin = {
  name: 'without native parts',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(?:bufferutil|utf-8-validate)$/ }, ({ path }) => ({
      path,
      namespace: 'no-native-parts',
    }));
    onLoad({ filter: /.*/, namespace: 'no-native-parts' }, () => ({
      contents: "throw new Error('not bundled');",
    }));
  },
};

type Recipe = {
  readonly entry: string;
  readonly rooms: readonly string[];
  readonly options: BuildOptions;
};

const recipes: Readonly<Record<DownloadName, Recipe>> = {
  'antipode.mjs': recipeOfClient('antipode.mjs', 'shared/client/antipode.ts'),
  'antipode-mcp.mjs': recipeOfClient('antipode-mcp.mjs', 'shared/client/antipode-mcp.ts'),
  'antipode-probe.mjs': {
    entry: 'probe/program.ts',
    rooms: ['probe', 'shared/actor', 'shared/bus', 'shared/checks', 'shared/base', 'shared/zones'],
    // `require` ignores names that an older Node lacks; imports of them would end the program
    // before the message above.
    options: {
      target: 'node18',
      format: 'cjs',
      banner: { js: probeHead },
      define: { 'import.meta.main': 'false' },
      plugins: [withoutOtherLanguages, withoutNativeParts],
    },
  },
};

function recipeOfClient(name: DownloadName, entry: string): Recipe {
  return {
    entry,
    rooms: [
      'shared/client',
      'shared/imports',
      'shared/assistants',
      'shared/api',
      'shared/checks',
      'shared/base',
    ],
    options: { target: 'node18', format: 'esm', banner: { js: clientHead(name) } },
  };
}

/**
 * The reader of YAML is a module of the older kind, and asks for parts of Node by `require`. An
 * older Node must be able to parse the whole file, or it prints that instead of the refusal: the
 * target of the bundle sees to that.
 */
function clientHead(name: DownloadName): string {
  return [
    `// Antipode ${version}: ${name}`,
    "import { createRequire } from 'node:module';",
    'const require = createRequire(import.meta.url);',
    'if (parseInt(process.versions.node, 10) < 20) {',
    `  process.stderr.write('${name.replace('.mjs', '')} needs Node 20 or newer; this is Node ' + process.versions.node + '.\\nA newer one is at https://nodejs.org/en/download\\n');`,
    '  process.exit(2);',
    '}',
  ].join('\n');
}

/** The folders that a bundle is made of. */
export function downloadRooms(name: DownloadName): readonly string[] {
  return recipes[name].rooms;
}

/** The bundler's options, exported for inspection. */
export function bundling(name: DownloadName): BuildOptions {
  return {
    absWorkingDir: root,
    entryPoints: [recipes[name].entry],
    bundle: true,
    platform: 'node',
    minify: true,
    charset: 'utf8',
    legalComments: 'inline',
    logLevel: 'silent',
    ...recipes[name].options,
  };
}

/** The text of a download, from the cache when its sources are unchanged. */
export async function bundleDownload(
  name: DownloadName,
  cacheFolder = join(root, 'node_modules/.cache/antipode'),
): Promise<string> {
  const file = join(cacheFolder, `${await contentHash(name)}-${name}`);
  try {
    return await readFile(file, 'utf8');
  } catch {
    // Not cached yet.
  }
  const text = await build(name);
  try {
    await mkdir(cacheFolder, { recursive: true });
    const partial = `${file}.${process.pid}`;
    await writeFile(partial, text);
    await rename(partial, file);
  } catch {
    // A folder that is not writable costs a bundling at each start, nothing more.
  }
  return text;
}

/** All sources of a bundle determine its name, so that a cache is never stale. */
async function contentHash(name: DownloadName): Promise<string> {
  const hash = createHash('sha256')
    .update(version)
    .update(await readFile(import.meta.filename));
  for (const room of downloadRooms(name)) {
    const files = (await readdir(join(root, room), { recursive: true }))
      .filter((file) => file.endsWith('.ts'))
      .toSorted();
    const texts = await Promise.all(files.map((file) => readFile(join(root, room, file))));
    for (const [index, file] of files.entries())
      hash.update(`\0${room}/${file}\0`).update(texts[index] ?? '');
  }
  hash.update(await readFile(join(root, 'package-lock.json')).catch(() => ''));
  return hash.digest('hex').slice(0, 32);
}

async function build(name: DownloadName): Promise<string> {
  const outputFiles = await bundle(bundling(name));
  const text = outputFiles[0]?.text;
  if (text === undefined) throw new Error(`${name} could not be bundled`);
  return text;
}
