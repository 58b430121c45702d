import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { builtFiles, fileBytes } from './asset-files.ts';

/**
 * What the browser fetches beside pages. Each file's name contains a digest of its content, so it
 * can be cached for ever.
 */
export type Asset = {
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Compressed with brotli; null where that gains nothing. */
  readonly brotli: Uint8Array | null;
};

/** Addresses that every page refers to. */
export type Assets = {
  readonly style: string;
  /** Of pages that need no sign-in. */
  readonly publicStyle: string;
  readonly script: string;
  readonly passkeys: string;
  readonly chart: string;
  readonly drag: string;
  readonly push: string;
  /** The name of the worker that shows notifications: it has a fixed address of its own. */
  readonly pushWorker: string;
  readonly rules: string;
  readonly font: string;
};

const drawn = new Map<string, Uint8Array>();

/**
 * The address of a drawing or font in `assets`: known from the start, because parts of pages refer to it.
 */
export function drawing(file: string): string {
  const bytes = fileBytes(file);
  const name = `${basename(file, extname(file))}-${hashOf(bytes)}${extname(file)}`;
  drawn.set(name, bytes);
  return `/assets/${name}`;
}

/** Of all pages, also of public ones, so that a browser fetches it once. */
export const font = drawing('inter-basic.woff2');

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 10);
}

type Built = { readonly addresses: Assets; readonly files: ReadonlyMap<string, Asset> };

export type AssetStore = {
  readonly addresses: () => Promise<Assets>;
  readonly find: (name: string) => Promise<Asset | undefined>;
};

/**
 * Built on the first request for a page, because a start has more urgent work. After a failure, the
 * next request tries again.
 */
export function createAssetStore(): AssetStore {
  let begun: Promise<Built> | undefined;
  const built = (): Promise<Built> => {
    if (begun) return begun;
    const started = build();
    begun = started;
    started.catch(() => {
      if (begun === started) begun = undefined;
    });
    return started;
  };
  return {
    addresses: async () => (await built()).addresses,
    find: async (name) => (await built()).files.get(name),
  };
}

async function build(): Promise<Built> {
  const built = await builtFiles(font);
  const all = await Promise.all(
    [...built, ...drawn].map(
      async ([name, bytes]): Promise<readonly [string, Asset]> => [
        name,
        await assetOf(name, bytes),
      ],
    ),
  );
  const nameLike = (form: RegExp): string => {
    const name = built.find(([each]) => form.test(each))?.[0];
    if (name === undefined) throw new Error(`no asset was made that is named like ${form.source}`);
    return name;
  };
  const address = (form: RegExp): string => `/assets/${nameLike(form)}`;
  return {
    addresses: {
      style: address(/^style-.*\.css$/),
      publicStyle: address(/^public-.*\.css$/),
      script: address(/^script-.*\.js$/),
      passkeys: address(/^passkeys-.*\.js$/),
      chart: address(/^chart-.*\.js$/),
      drag: address(/^drag-.*\.js$/),
      push: address(/^push-(?!worker).*\.js$/),
      pushWorker: nameLike(/^push-worker-.*\.js$/),
      rules: address(/^rules-.*\.json$/),
      font,
    },
    files: new Map(all),
  };
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  // A script that names no charset has that of its page.
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/speculationrules+json',
};

const brotli = promisify(brotliCompress);

async function assetOf(name: string, bytes: Uint8Array): Promise<Asset> {
  const extension = extname(name);
  const smallest = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  return {
    type: types[extension] ?? 'application/octet-stream',
    bytes,
    brotli: extension === '.woff2' ? null : await brotli(bytes, smallest),
  };
}
