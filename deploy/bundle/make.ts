/**
 * `npm run bundle -- FOLDER`: the files of a release, one per program, the package of all and
 * the parts that they contain and their licences, with checksums.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleDownload, downloadNames } from '../../coordinator/api/bundles.ts';
import { npmLicences } from '../release/licences.ts';
import { billOfMaterials } from '../release/parts.ts';
import { bundleCoordinator } from './coordinator.ts';
import { packageName, packPackage } from './package.ts';

/** Checksums as `sha256sum -c` reads them. */
function sumsOf(files: ReadonlyMap<string, string | Uint8Array>): string {
  return [...files]
    .map(([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`)
    .join('');
}

export async function bundles(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const made = new Map<string, string | Uint8Array>();
  made.set('antipode-coordinator.mjs', await bundleCoordinator());
  for (const name of downloadNames) made.set(name, await bundleDownload(name));
  made.set(packageName, await packPackage());
  made.set('LICENSES.txt', await npmLicences());
  made.set('sbom.cdx.json', await billOfMaterials());
  return made;
}

if (import.meta.main) await run();

async function run(): Promise<void> {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    process.stderr.write('Where to? Such as: npm run bundle -- release\n');
    process.exitCode = 2;
    return;
  }
  const made = await bundles();
  await mkdir(folder, { recursive: true });
  for (const [name, text] of made) await writeFile(join(folder, name), text);
  await writeFile(join(folder, 'SHA256SUMS'), sumsOf(made));
  for (const [name, text] of made)
    process.stdout.write(`${name}  ${Math.ceil(Buffer.byteLength(text) / 1024)} KiB\n`);
}
