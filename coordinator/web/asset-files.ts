import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundle } from '../../shared/base/bundler.ts';

/**
 * Files for browsers, built from this folder; the single-file coordinator contains them
 * ready-built.
 */
const folder = join(import.meta.dirname, 'assets');

/** Drawings and fonts that parts of pages refer to by file name. */
export function plainNames(): readonly string[] {
  return readdirSync(folder).filter((file) => /\.(svg|woff2)$/.test(file));
}

/** A file of `assets`. */
export function fileBytes(file: string): Uint8Array {
  return readFileSync(join(folder, file));
}

/** By name, with their content. `font`: the address of the one that styles refer to. */
export async function builtFiles(
  font: string,
): Promise<readonly (readonly [name: string, bytes: Uint8Array])[]> {
  const outputFiles = await bundle({
    absWorkingDir: folder,
    entryPoints: [
      'style.css',
      'public.css',
      'script.ts',
      'passkeys.ts',
      'chart.ts',
      'drag.ts',
      'push.ts',
      'worker/push-worker.ts',
      'rules.json',
    ],
    bundle: true,
    outdir: folder,
    publicPath: '/assets',
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    plugins: [
      {
        name: 'font',
        setup: ({ onResolve }) =>
          onResolve({ filter: /inter-basic/ }, () => ({ path: font, external: true })),
      },
    ],
    loader: { '.woff2': 'file', '.json': 'copy' },
    target: ['chrome120', 'firefox121', 'safari17.2'],
    format: 'iife',
    minify: true,
    // Names that only Idiomorph and its callers use.
    mangleProps:
      /^(morphStyle|ignoreActive|ignoreActiveValue|restoreFocus|(before|after)Node(Added|Morphed|Removed)|beforeAttributeUpdated|newContent|doc|elt|kept|removed|originalNode|realParentNode|normalizeElement|normalizeParent|__idiomorphRoot|(input|option|textArea|head|template)Element|shouldPreserve|shouldReAppend|shouldRemove|afterHeadMorphed|idMap|persistentIds|pantry|activeElementAndParents|callbacks|morphedMap)$/,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
  });
  return outputFiles.map(({ path, contents }) => [basename(path), contents] as const);
}
