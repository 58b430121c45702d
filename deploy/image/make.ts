/**
 * `npm run images -- FOLDER`: makes a folder each for coordinator, probe, client and the whole
 * service, from which `docker build` or `podman build` makes an image. Builds the images itself where one of these is
 * installed. Node is the package's own; the libraries are this machine's, from Debian or another
 * system with glibc.
 */
import { execFile, spawnSync } from 'node:child_process';
import {
  chmod,
  chown,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bundleDownload } from '../../coordinator/api/bundles.ts';
import { version } from '../../shared/base/process.ts';
import { bundleCoordinator } from '../bundle/coordinator.ts';
import { findPostgresPackage, linkLibraries } from '../local/postgres.ts';
import { projectFolder } from '../node/places.mjs';
import { npmLicences } from '../release/licences.ts';
import { type ImageDependencies, namedLicences, obtainArm64 } from './arm64.ts';
import { addWhole, obtainNats } from './whole.ts';

const run = promisify(execFile);

/** Each with one program. */
export const partNames = ['coordinator', 'probe', 'client'] as const;
const whole = 'antipode';
/** The parts, and the whole service. */
export const imageNames = [...partNames, whole] as const;
type ImageName = (typeof imageNames)[number];

export function tagOf(name: ImageName): string {
  return `${name === whole ? name : `antipode-${name}`}:${version}`;
}

/** The user of every image; it exists on no machine. */
export const imageUser = 65_532;

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

export function architecture(): string {
  const name = architectures[process.arch];
  if (name === undefined || process.platform !== 'linux')
    throw new Error(`images are made on Linux on amd64 or arm64, not on ${process.arch}`);
  return name;
}

/** Libraries that resolve names. They are loaded on demand, so no program lists them. */
const besides = ['libresolv.so.2', 'libnss_dns.so.2', 'libnss_files.so.2'];

const programs: Readonly<Record<Exclude<ImageName, typeof whole>, () => Promise<string>>> = {
  coordinator: bundleCoordinator,
  probe: () => bundleDownload('antipode-probe.mjs'),
  client: () => bundleDownload('antipode.mjs'),
};

/** Collects the content of the image. @returns the folder, which is the image's root. */
export async function makeRoot(
  name: ImageName,
  root: string,
  dependencies?: ImageDependencies,
): Promise<void> {
  const parts = dependencies ?? (await ownDependencies(name === whole));
  const { node, libraries, strip } = parts;
  await mkdir(join(root, 'data'), { recursive: true, mode: 0o700 });
  await mkdir(join(root, 'tmp'), { recursive: true });
  await mkdir(join(root, 'etc'), { recursive: true });
  await copyFile(node, join(root, 'node'));
  // Symbols serve only to debug Node itself, and are a fifth of it.
  if (spawnSync(strip, ['--version']).status === 0)
    await run(strip, ['--strip-all', join(root, 'node')]);
  for (const { at, from } of libraries) {
    await mkdir(join(root, dirname(at)), { recursive: true });
    await cp(from, join(root, at), { dereference: true });
  }
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  await writeFile(
    join(root, 'etc/passwd'),
    `antipode:x:${imageUser}:${imageUser}::/data:/nologin\n`,
  );
  if (name === whole) {
    const scratch = await mkdtemp(join(tmpdir(), 'antipode-whole-'));
    await addWhole(root, parts.architecture, await parts.whole(scratch));
    await rm(scratch, { recursive: true });
  } else {
    await writeFile(join(root, 'antipode.mjs'), await programs[name]());
    await copyFile(join(projectFolder, 'LICENSE'), join(root, 'LICENSE'));
    await writeFile(join(root, 'LICENSES.txt'), await npmLicences());
  }
  await mkdir(join(root, 'licenses'));
  await copyFile(join(dirname(node), '../LICENSE'), join(root, 'licenses/node'));
  for (const [name, from] of parts.licences) await copyFile(from, join(root, 'licenses', name));
  await chmod(join(root, 'tmp'), 0o1777);
  // It was made with access for its maker only, and is the root of everything.
  await chmod(root, 0o755);
}

/** From this machine, for its own architecture. */
async function ownDependencies(isWhole: boolean): Promise<ImageDependencies> {
  const postgres = isWhole ? findPostgresPackage() : undefined;
  if (postgres !== undefined) await linkLibraries(postgres);
  const programs = [
    process.execPath,
    ...(postgres === undefined ? [] : [join(postgres, 'native/bin/postgres'), '/bin/sh']),
  ];
  const loaded = (await Promise.all(programs.map(librariesOf))).flat();
  const libraries = [...new Set(loaded)].filter((path) => !path.startsWith(`${postgres}/`));
  const folder = dirname(
    libraries.find((path) => basename(path).startsWith('libc.so')) ?? '/lib/libc.so',
  );
  const found: { at: string; from: string }[] = [];
  // Newer versions of glibc have some of them in libc itself.
  for (const at of [...libraries, ...besides.map((library) => join(folder, library))])
    if (await isThere(at)) found.push({ at, from: await realpath(at) });
  return {
    architecture: architecture(),
    node: process.execPath,
    libraries: found,
    licences: licencesOf([
      ...found.flatMap(({ at, from }) => [at, `/usr${at}`, from]),
      ...(isWhole ? ['/bin/sh'] : []),
    ]),
    strip: 'strip',
    whole: async (scratch) => ({
      postgres: postgres ?? findPostgresPackage(),
      nats: await obtainNats(process.arch === 'arm64' ? 'arm64' : 'x64', scratch),
      shell: '/bin/sh',
    }),
  };
}

/** Debian's, and the texts that these only name; another system has them where it wants. */
function licencesOf(files: readonly string[]): ReadonlyMap<string, string> {
  const { stdout } = spawnSync('dpkg', ['--search', ...files], { encoding: 'utf8' });
  // Node's output is null where there is no such program.
  const names = [...(stdout ?? '').matchAll(/^([a-z0-9.+-]+)(?::\w+)?: \//gm)];
  const found = names.map(([, name = '']) => [name, `/usr/share/doc/${name}/copyright`] as const);
  if (found.length === 0)
    process.stderr.write('no licences of this machine’s libraries: it has no dpkg\n');
  return new Map([...found, ...namedLicences()]);
}

/** The libraries that a program loads, and their loader, by the paths in the program. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const { stdout } = await run('ldd', [program]);
  return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(([, path]) => path ?? []);
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Packs the root as a reproducible tar, with the image's user as the owner of its data. */
export async function packRoot(root: string, file: string): Promise<void> {
  const same = ['--sort=name', '--mtime=@0', '--numeric-owner', '--format=gnu'];
  await run('tar', [
    ...same,
    '--owner=0',
    '--group=0',
    '--exclude=./data',
    '-cf',
    file,
    '-C',
    root,
    '.',
  ]);
  await run('tar', [
    ...same,
    `--owner=${imageUser}`,
    `--group=${imageUser}`,
    '-rf',
    file,
    '-C',
    root,
    './data',
  ]);
}

/** The folder from which an image is built. */
export async function makeImage(
  name: ImageName,
  folder: string,
  dependencies?: ImageDependencies,
): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'antipode-image-'));
  try {
    await makeRoot(name, scratch, dependencies);
    await mkdir(folder, { recursive: true });
    await packRoot(
      scratch,
      join(folder, `root-${dependencies?.architecture ?? architecture()}.tar`),
    );
    const recipe = name === whole ? 'Dockerfile.antipode' : 'Dockerfile';
    await copyFile(join(import.meta.dirname, recipe), join(folder, 'Dockerfile'));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Gives the data folder to the image's user. A tar does so by itself; a folder used with chroot
 * does not.
 */
export function handOver(root: string): Promise<void> {
  return chown(join(root, 'data'), imageUser, imageUser);
}

if (import.meta.main) await main();

async function main(): Promise<void> {
  const [folder, kind] = process.argv.slice(2);
  if (folder === undefined || (kind !== undefined && kind !== '--arm64')) {
    process.stderr.write(
      'Where to? Such as: npm run images -- images; with --arm64 behind it for that kind of machine, to be built there or with --platform\n',
    );
    process.exitCode = 2;
    return;
  }
  if (kind === '--arm64') return makeForArm64(folder);
  // Where both are installed, takes the one that the compose files use: neither sees the other's
  // images.
  const builder = ['docker', 'podman'].find((program) => spawnSync(program, ['info']).status === 0);
  for (const name of imageNames) {
    const place = join(folder, name);
    await makeImage(name, place);
    const tag = tagOf(name);
    if (builder === undefined)
      process.stdout.write(`${place}: docker build --tag ${tag} ${place}\n`);
    else {
      const { stderr } = await run(builder, [
        'build',
        '--build-arg',
        `TARGETARCH=${architecture()}`,
        '--tag',
        tag,
        place,
      ]);
      process.stdout.write(`${tag} built by ${builder}\n${stderr}`);
    }
  }
}

/**
 * Makes only the folders: an engine builds them with --platform linux/arm64 and --build-arg
 * TARGETARCH=arm64.
 */
async function makeForArm64(folder: string): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'antipode-arm64-'));
  try {
    const dependencies = await obtainArm64(scratch);
    for (const name of imageNames) {
      const place = join(folder, name);
      await makeImage(name, place, dependencies);
      process.stdout.write(
        `docker build --platform linux/arm64 --build-arg TARGETARCH=arm64 --tag ${tagOf(name)}-arm64 ${place}\n`,
      );
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
