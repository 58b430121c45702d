/**
 * The coordinator as one file: `node antipode-coordinator.mjs` needs only Node. The file contains
 * what the coordinator would read from its folders (migrations, documentation, browser files,
 * downloads); replacement modules provide it.
 */
import { isUtf8 } from 'node:buffer';
import { join, resolve } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import {
  bundleDownload,
  downloadNames,
  withoutOtherLanguages,
} from '../../coordinator/api/bundles.ts';
import { migrationNames, migrationText } from '../../coordinator/database/migration-files.ts';
import {
  pageNames,
  pageText,
  pictureNames,
  pictureText,
} from '../../coordinator/documentation/page-files.ts';
import { styleText } from '../../coordinator/status-pages/public/style.ts';
import { builtFiles, fileBytes, plainNames } from '../../coordinator/web/asset-files.ts';
import { font } from '../../coordinator/web/assets.ts';
import { version } from '../../shared/base/process.ts';

/**
 * Node's modules are required, not imported. On an older Node, importing a missing name would end
 * the process with a stack before the version check at the head of the file runs.
 */
const requiredOfNode: Plugin = {
  name: 'required of node',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path, namespace, kind }) =>
      namespace === 'of-node' || kind === 'require-call'
        ? { path, external: true }
        : { path, namespace: 'of-node' },
    );
    onLoad({ filter: /.*/, namespace: 'of-node' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
      loader: 'js',
    }));
  },
};

/** Packages written for require() find it, and their own location, as in a CommonJS module. */
const head = [
  `// Antipode ${version}: antipode-coordinator.mjs`,
  "import { createRequire as createRequireOfAntipode } from 'node:module';",
  'const require = createRequireOfAntipode(import.meta.url);',
  'if (parseInt(process.versions.node, 10) < 26) {',
  "  const said = ['antipode-coordinator needs Node 26; this is Node', process.versions.node];",
  "  process.stderr.write(said.join(' ') + '.\\nA newer one is at https://nodejs.org/en/download\\n');",
  '  process.exit(1);',
  '}',
  'const __filename = import.meta.filename, __dirname = import.meta.dirname;',
].join('\n');

/** A thread that is started from its text cannot be a module. */
export function bundleImportThread(): Promise<string> {
  return bundled('coordinator/imports/thread.ts', {
    format: 'cjs',
    plugins: [withoutOtherLanguages],
  });
}

export const root = resolve(import.meta.dirname, '../..');

/** A package that another takes along where it is installed, as tests have it installed here. */
export const leftOut = ['supports-color'];

/** @param own beside what every bundle has. */
export async function bundled(entry: string, own: BuildOptions): Promise<string> {
  const { outputFiles } = await build({
    bundle: true,
    platform: 'node',
    // Compiles to syntax that an older Node can parse, so the version check at the head runs.
    target: 'node20',
    minify: true,
    // Logs show the names of errors and classes.
    keepNames: true,
    charset: 'utf8',
    legalComments: 'inline',
    logLevel: 'silent',
    external: leftOut,
    // The HTTP client leaves out a second parser, as in Node itself, which nobody turns on.
    define: { esbuildDetection: 'true' },
    ...own,
    absWorkingDir: root,
    entryPoints: [join(root, entry)],
    write: false,
  });
  const text = outputFiles[0]?.text;
  if (text === undefined) throw new Error(`${entry} could not be bundled`);
  return text;
}

/**
 * @param more instead of modules of the checkout, by their paths in it.
 * @param own beside what every bundle has.
 */
export async function bundleCoordinator(
  entry = 'coordinator/main.ts',
  more: ReadonlyMap<string, string> = new Map(),
  own: BuildOptions = {},
): Promise<string> {
  return bundled(entry, {
    ...own,
    format: 'esm',
    banner: { js: head },
    plugins: [
      requiredOfNode,
      withoutOtherLanguages,
      inTheirPlaces(new Map([...(await inPlaces()), ...more])),
    ],
  });
}

export function inTheirPlaces(places: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'in their places',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.(?:ts|mjs)$/ }, ({ path }) => {
        const contents = places.get(path.slice(root.length + 1));
        return contents === undefined ? undefined : { contents, loader: 'js', resolveDir: root };
      });
    },
  };
}

/** The replacements of the modules that read files. */
async function inPlaces(): Promise<ReadonlyMap<string, string>> {
  const migrations = Object.fromEntries(
    // The database has no use for what is said to readers, half of the text.
    migrationNames().map((name) => [name, migrationText(name).replaceAll(/^ *--.*\n/gm, '')]),
  );
  const pages = Object.fromEntries(pageNames().map((name) => [name, pageText(name)]));
  const pictures = Object.fromEntries(pictureNames().map((name) => [name, pictureText(name)]));
  const built = await builtFiles(font);
  const files = plainNames().map((file) => [file, fileBytes(file)] as const);
  const downloads: Record<string, string> = {};
  const thread = await bundleImportThread();
  for (const name of downloadNames) downloads[name] = await bundleDownload(name);
  return new Map([
    [
      'coordinator/database/migration-files.ts',
      `const files = ${JSON.stringify(migrations)};
       export const migrationNames = () => Object.keys(files).toSorted();
       export const migrationText = (name) => files[name];`,
    ],
    [
      'coordinator/documentation/page-files.ts',
      `const pages = ${JSON.stringify(pages)};
       export const pageNames = () => Object.keys(pages);
       export const pageText = (name) => pages[name];
       const pictures = ${JSON.stringify(pictures)};
       export const pictureNames = () => Object.keys(pictures);
       export const pictureText = (name) => pictures[name];`,
    ],
    [
      'coordinator/status-pages/public/style.ts',
      `export const styleText = () => ${JSON.stringify(styleText())};`,
    ],
    [
      'coordinator/web/asset-files.ts',
      `const files = new Map(${listed(files)}), built = ${listed(built)};
       export const fileBytes = (file) => files.get(file);
       export const builtFiles = async () => built;`,
    ],
    [
      'coordinator/imports/thread-start.ts',
      `import { Worker } from 'node:worker_threads';
       const text = ${JSON.stringify(thread)};
       export const startThread = (options) => new Worker(text, { ...options, eval: true });`,
    ],
    [
      'coordinator/api/bundles.ts',
      `const texts = ${JSON.stringify(downloads)};
       export const downloadNames = ${JSON.stringify(downloadNames)};
       export const bundleDownload = async (name) => texts[name];`,
    ],
  ]);
}

/** A list of names and bytes, in JavaScript. Text stays text, which packs better. */
function listed(files: readonly (readonly [string, Uint8Array])[]): string {
  const each = files.map(([name, bytes]) => {
    const encoding = isUtf8(bytes) ? 'utf8' : 'base64';
    const text = JSON.stringify(Buffer.from(bytes).toString(encoding));
    return `[${JSON.stringify(name)}, Buffer.from(${text}, '${encoding}')]`;
  });
  return `[${each.join(', ')}]`;
}
