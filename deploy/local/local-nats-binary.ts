/** Finds a nats-server on the machine, or obtains one once into the cache: the official release, else the machine's own Debian mirror. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { unpackDebianPackage } from '../node/debian-package.mjs';

const run = promisify(execFile);

export type NatsBinary = { readonly file: string; readonly version: readonly [major: number, minor: number, patch: number] };

/**
 * The official release: its SHA-256 sums stand in the recipe of the official container image of that version. Linux only: no such
 * sum was at hand for other systems.
 */
const release = {
  version: '2.11.6',
  sums: {
    x64: { name: 'amd64', sha256: '5e5272dd1bdb8da020aedc8cf883fb26c128441809a992f156e0b1ccb28ac5b7' },
    arm64: { name: 'arm64', sha256: '4fe3c40bddc58e31012f55865df0dcd24012995d2893a4d64a0ae5cb147d7a36' },
  },
} as const;

const exists = async (file: string): Promise<boolean> =>
  await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

const inspect = async (file: string): Promise<NatsBinary | undefined> => {
  if (!(await exists(file))) return undefined;
  const said = await run(file, ['--version']).catch(() => ({ stdout: '' })); // A file that does not run is one that is not there.
  const [, major, minor, patch] = /v(\d+)\.(\d+)\.(\d+)/.exec(said.stdout) ?? [];
  return major === undefined ? undefined : { file, version: [Number(major), Number(minor), Number(patch)] };
};

const isAtLeast = (found: NatsBinary, minor: number): boolean =>
  found.version[0] > 2 || (found.version[0] === 2 && found.version[1] >= minor);

const onMachine = async (path: string): Promise<NatsBinary | undefined> => {
  let best: NatsBinary | undefined;
  for (const folder of new Set([...path.split(delimiter), '/usr/sbin', '/usr/local/sbin', '/usr/local/bin'])) {
    const found = folder === '' ? undefined : await inspect(join(folder, 'nats-server'));
    if (found !== undefined && isAtLeast(found, 10)) return found;
    best ??= found;
  }
  return best;
};

const inCache = async (cache: string): Promise<NatsBinary | undefined> => {
  const entries = await readdir(cache).catch(() => []); // No cache yet is an empty one.
  for (const entry of entries) {
    const [, major, minor, patch] = /^nats-server-(\d+)\.(\d+)\.(\d+)$/.exec(entry) ?? [];
    const file = join(cache, entry, 'nats-server');
    if (major !== undefined && (await exists(file))) return { file, version: [Number(major), Number(minor), Number(patch)] };
  }
  return undefined;
};

/** Moves a fetched binary to its place in one step, so that a start beside this one never finds half of it. */
const keep = async (cache: string, file: string): Promise<NatsBinary> => {
  const found = await inspect(file);
  if (found === undefined || !isAtLeast(found, 9)) throw new Error('what was fetched is no nats-server of 2.9 or newer');
  const folder = join(cache, `nats-server-${found.version.join('.')}`);
  await mkdir(folder, { recursive: true });
  await rename(file, join(folder, 'nats-server'));
  return { file: join(folder, 'nats-server'), version: found.version };
};

const fromRelease = async (scratch: string): Promise<string> => {
  const sum = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64') ? release.sums[process.arch] : undefined;
  if (sum === undefined) throw new Error(`no pinned release for ${process.platform} on ${process.arch}`);
  const name = `nats-server-v${release.version}-linux-${sum.name}`;
  const impatience = new AbortController();
  const timer = setTimeout(() => impatience.abort(new Error('no answer within 5 s')), 5_000);
  const answer = await fetch(`https://github.com/nats-io/nats-server/releases/download/v${release.version}/${name}.tar.gz`, {
    signal: AbortSignal.any([impatience.signal, AbortSignal.timeout(120_000)]),
  }).finally(() => clearTimeout(timer));
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== sum.sha256) throw new Error(`the checksum is ${found}, expected ${sum.sha256}`);
  await writeFile(join(scratch, 'release.tar.gz'), bytes);
  await run('tar', ['-xzf', join(scratch, 'release.tar.gz'), '-C', scratch]);
  return join(scratch, name, 'nats-server');
};

const fromMirror = async (scratch: string): Promise<string> =>
  join(await unpackDebianPackage(scratch, 'nats-server', 'stable first'), 'usr/sbin/nats-server');

/**
 * @param say told what takes long, in a line each.
 * @throws one message that says what to install, when no way worked.
 */
export const obtainNatsServer = async (cache: string, path: string, say: (line: string) => void): Promise<NatsBinary> => {
  const installed = await onMachine(path);
  if (installed !== undefined && isAtLeast(installed, 10)) return installed;
  const kept = await inCache(cache);
  if (kept !== undefined) return kept;
  const ways = [
    { what: `the official release ${release.version}`, fetch: fromRelease },
    { what: "this machine's package mirror", fetch: fromMirror },
  ];
  const faults: string[] = [];
  for (const { what, fetch } of ways) {
    await mkdir(cache, { recursive: true });
    const scratch = await mkdtemp(join(cache, 'fetch-'));
    try {
      say(`fetching nats-server (once, into ${cache}) from ${what}`);
      return await keep(cache, await fetch(scratch));
    } catch (cause) {
      const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
      faults.push(`${what}: ${why}`);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
  if (installed !== undefined && isAtLeast(installed, 9)) return installed;
  throw new Error(
    `no nats-server 2.9 or newer could be found or fetched (${faults.join('; ')}). Install it (Debian: apt-get install nats-server; ` +
      'macOS: brew install nats-server; else github.com/nats-io/nats-server/releases) and start again, or name a running one with NATS_URL.',
  );
};
