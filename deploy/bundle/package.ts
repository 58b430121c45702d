/**
 * The package: `npx ./antipode-1.0.0.tgz` starts the service as `npm start` does in a checkout. It
 * holds a file for each program, because Node strips no types below node_modules; Node and Postgres
 * come from their own packages, nats-server as in a checkout.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { BuildOptions } from 'esbuild';
import { z } from 'zod';
import {
  bundleDownload,
  bundling,
  downloadNames,
  withoutOtherLanguages,
} from '../../coordinator/api/bundles.ts';
import { version } from '../../shared/base/process.ts';
import { npmLicences } from '../release/licences.ts';
import { bundleCoordinator, bundled, inTheirPlaces, root } from './coordinator.ts';

/** The folder of the programs. It is as deep as in a checkout, where its name comes from. */
export const programFolder = 'deploy/local';

/** Instead of deploy/node/layout.mjs. */
function layout(typed: string): string {
  const file = (name: string): string => `${programFolder}/antipode${name}.mjs`;
  const programs = {
    start: [file('-coordinator'), 'start'],
    setup: [file('-coordinator'), 'setup'],
    operator: [file('-coordinator'), 'operate'],
    coordinator: [file('-coordinator')],
    probe: [file('-probe'), 'run'],
    antipode: [file('')],
    'antipode-mcp': [file('-mcp')],
    'antipode-probe': [file('-probe')],
  };
  return `import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

export const programs = ${JSON.stringify(programs, null, 2)};

/** \`ANTIPODE_HOME\`, by default \`.antipode\` in the user's own folder. */
export const homeOf = (env) => resolve(env.ANTIPODE_HOME || join(homedir(), '.antipode'));

export const typed = ${JSON.stringify(typed)};
`;
}

/** Downloads lie beside the coordinator: its file need not hold them a second time. */
const downloadsBeside = `import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
export const downloadNames = ${JSON.stringify(downloadNames)};
export const bundleDownload = (name) => readFile(join(import.meta.dirname, name), 'utf8');
`;

const threadInSameFile = `import { Worker } from 'node:worker_threads';
export const startThread = (options) => new Worker(new URL(import.meta.url), options);
`;

/** Its name; npx takes it from the folder in which it lies. */
export const packageName = `antipode-${version}.tgz`;

/**
 * Every file of the package, by its path in it. @param typed how a person types the command line.
 */
export async function packageFiles(
  typed = `npx ./${packageName}`,
): Promise<ReadonlyMap<string, string>> {
  const instead = new Map([
    ['deploy/node/layout.mjs', layout(typed)],
    ['coordinator/api/bundles.ts', downloadsBeside],
    ['coordinator/imports/thread-start.ts', threadInSameFile],
  ]);
  const files = new Map<string, string>();
  const put = (name: string, text: string): unknown => files.set(join(programFolder, name), text);
  // LICENSES.txt has them whole.
  const beside: BuildOptions = { legalComments: 'none' };
  const plugins = [withoutOtherLanguages, inTheirPlaces(instead)];
  put(
    'antipode-coordinator.mjs',
    await bundleCoordinator('deploy/bundle/service.ts', instead, beside),
  );
  put('antipode-probe.mjs', await bundleDownload('antipode-probe.mjs'));
  // As those who download them have them, and they know where this service runs.
  for (const name of ['antipode.mjs', 'antipode-mcp.mjs'] as const)
    put(
      name,
      await bundled(`deploy/local/${name.replace('.mjs', '.ts')}`, {
        ...bundling(name),
        ...beside,
        plugins,
      }),
    );
  for (const name of await readdir(join(root, 'deploy/node')))
    files.set(`deploy/node/${name}`, await readFile(join(root, 'deploy/node', name), 'utf8'));
  files.set('deploy/node/layout.mjs', layout(typed));
  for (const name of ['LICENSE', 'README.md'])
    files.set(name, await readFile(join(root, name), 'utf8'));
  files.set('LICENSES.txt', await npmLicences());
  files.set('package.json', await manifest());
  return files;
}

const manifestShape = z.object({
  description: z.string(),
  license: z.string(),
  optionalDependencies: z.record(z.string(), z.string()),
});

async function manifest(): Promise<string> {
  const own = manifestShape.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const names = ['antipode', 'antipode-mcp', 'antipode-probe'];
  const made = {
    name: 'antipode',
    version,
    ...own,
    type: 'module',
    engines: { node: '>=18' },
    bin: Object.fromEntries(names.map((name) => [name, `deploy/node/${name}.mjs`])),
    files: ['deploy'],
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

/** The package as npm takes it, the same bytes each time. */
export async function packPackage(files?: ReadonlyMap<string, string>): Promise<Uint8Array> {
  const scratch = await mkdtemp(join(tmpdir(), 'antipode-package-'));
  try {
    for (const [name, text] of files ?? (await packageFiles())) {
      const file = join(scratch, 'package', name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      await chmod(file, name.startsWith('deploy/node/antipode') ? 0o755 : 0o644);
    }
    const file = join(scratch, 'package.tar');
    await promisify(execFile)('tar', [
      ...['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'],
      ...['--format=ustar', '--mode=go-w', '-cf', file, '-C', scratch, 'package'],
    ]);
    return gzipSync(await readFile(file), { level: 9 });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
