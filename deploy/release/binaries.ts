/**
 * What of others the image of the whole service holds besides packages of npm, as programs and
 * libraries: Postgres with what its package brings, and nats-server with its modules. Each is found
 * in the files themselves, and its licence lies in `texts/`.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version as programVersion } from '../../shared/base/process.ts';
import { release } from '../local/nats.ts';
import { licenceText, npmParts, type Part } from './licences.ts';
import { type BillEntry, billOfMaterials } from './parts.ts';

type Binary = {
  readonly name: string;
  readonly version: string;
  /** In SPDX's words, which know no public domain. */
  readonly license: string;
  readonly purl: string;
  readonly text: string;
};

type Library = {
  readonly name: string;
  readonly license: string;
  readonly text: string;
  readonly files: RegExp;
  /** Its version, as a file of it says. */
  readonly says: RegExp;
};

const libraries: readonly Library[] = [
  {
    ...{ name: 'postgresql', license: 'PostgreSQL', text: 'postgresql' },
    ...{ files: /^postgres$|^lib(?:pq|pgtypes)\.so/, says: /PostgreSQL (\d+\.\d+) on / },
  },
  {
    ...{ name: 'openssl', license: 'OpenSSL', text: 'openssl' },
    ...{ files: /^lib(?:ssl|crypto)\.so/, says: /OpenSSL (\d+\.\d+\.\d+[a-z]*) / },
  },
  {
    ...{ name: 'icu', license: 'ICU', text: 'icu' },
    ...{ files: /^libicu(?:data|i18n|uc)\.so/, says: /libicuuc\.so\.(\d+\.\d+)/ },
  },
  {
    ...{ name: 'libxml2', license: 'MIT', text: 'libxml2' },
    ...{ files: /^libxml2\.so/, says: /(?<!\d)(2\d{4})\0/ },
  },
  {
    ...{ name: 'liblzma', license: 'Public domain', text: 'liblzma' },
    ...{ files: /^liblzma\.so/, says: /\0(5\.\d+\.\d+)\0/ },
  },
  {
    ...{ name: 'zlib', license: 'Zlib', text: 'zlib' },
    ...{ files: /^libz\.so/, says: /deflate (\d+(?:\.\d+)+) Copyright/ },
  },
];

/** @param native of the package of Postgres. @throws if one is of none of these. */
export async function postgresBinaries(native: string): Promise<readonly Binary[]> {
  const found = new Map<Library, string | undefined>();
  for (const folder of ['bin', 'lib'])
    for (const entry of await readdir(join(native, folder), { withFileTypes: true })) {
      const isLibrary = /\.so(?:\.|$)/.test(entry.name);
      if (!entry.isFile() || !(isLibrary || entry.name === 'postgres')) continue;
      const library = libraries.find(({ files }) => files.test(entry.name));
      if (library === undefined)
        throw new Error(`${entry.name}: whose is that? See deploy/release/binaries.ts`);
      const bytes = await readFile(join(native, folder, entry.name), 'latin1');
      const [, says] = library.says.exec(`${entry.name}\n${bytes}`) ?? [];
      found.set(library, found.get(library) ?? says);
    }
  return [...found].map(([{ name, license, text }, says]) => {
    if (says === undefined) throw new Error(`no file of ${name} says its version`);
    // libxml2 writes 2.9.4 as 20904.
    const version = says.replace(/^2(\d\d)(\d\d)$/, (_, minor, patch) => `2.${+minor}.${+patch}`);
    return { name, version, license, purl: `pkg:generic/${name}@${version}`, text };
  });
}

const modules: readonly { readonly of: RegExp; readonly license: string; readonly text: string }[] =
  [
    {
      of: /^github\.com\/nats-io\/|^github\.com\/minio\//,
      license: 'Apache-2.0',
      text: 'apache-2.0',
    },
    { of: /^golang\.org\/x\//, license: 'BSD-3-Clause', text: 'go' },
    {
      ...{ of: /^github\.com\/klauspost\/compress$/, text: 'klauspost-compress' },
      license: 'BSD-3-Clause AND Apache-2.0 AND MIT',
    },
    {
      ...{ of: /^github\.com\/antithesishq\/antithesis-sdk-go$/, text: 'antithesis-sdk-go' },
      license: 'MIT',
    },
  ];

/** By what Go writes into each program that it builds. @throws if a module is of none of these. */
export async function natsBinaries(file: string): Promise<readonly Binary[]> {
  const bytes = await readFile(file, 'latin1');
  const [, go] = /Go buildinf:[\s\S]*?go(\d+\.\d+(?:\.\d+)?)/.exec(bytes) ?? [];
  if (go === undefined) throw new Error(`${file} does not say which Go built it`);
  // It stands there more than once.
  const built = new Map([
    [release.source.module, `v${release.version}`],
    ...[...bytes.matchAll(/\ndep\t(\S+)\t(\S+)/g)].map(
      ([, module = '', version = '']) => [module, version] as const,
    ),
  ]);
  const standard = { name: 'go', version: go, purl: `pkg:golang/std@${go}` };
  return [
    { ...standard, license: 'BSD-3-Clause', text: 'go' },
    ...[...built].map(([module, version]) => {
      const found = modules.find(({ of }) => of.test(module));
      if (found === undefined)
        throw new Error(`${module}: under which licence is that? See deploy/release/binaries.ts`);
      const { license, text } = found;
      return { name: module, version, license, purl: `pkg:golang/${module}@${version}`, text };
    }),
  ];
}

/** `LICENSES.txt` and `sbom.cdx.json` of an image with these. */
export async function filesOf(binaries: readonly Binary[]): Promise<ReadonlyMap<string, string>> {
  const parts = binaries.map(async ({ name, version, license, text }): Promise<Part> => {
    const file = join(import.meta.dirname, 'texts', `${text}.txt`);
    return { title: `${name} ${version} (${license})`, texts: [await readFile(file, 'utf8')] };
  });
  const head = `The packages, programs and libraries of which Antipode ${programVersion} is made as one container. Its own licence is in LICENSE; those of Node and of the system's libraries are in licenses/.`;
  const entries = binaries.map(({ name, version, license, purl }): BillEntry => {
    const licenses = /^[\w.-]+$/.test(license)
      ? [{ license: { id: license } }]
      : [license.includes(' AND ') ? { expression: license } : { license: { name: license } }];
    return { type: 'library', name, version, purl, licenses };
  });
  return new Map([
    ['LICENSES.txt', licenceText(head, [...(await npmParts()), ...(await Promise.all(parts))])],
    ['sbom.cdx.json', await billOfMaterials(entries)],
  ]);
}
