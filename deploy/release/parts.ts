/**
 * The parts of the programs (SBOM) as CycloneDX has them. npm's own list leaves out each package that
 * tests use as well.
 */
import { version } from '../../shared/base/process.ts';
import { type LockedPackage, lockedPackages } from './licences.ts';

export type BillEntry = {
  readonly type: 'library';
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly object[];
  readonly hashes?: readonly object[];
};

/** @param more beside the packages of npm. */
export async function billOfMaterials(more: readonly BillEntry[] = []): Promise<string> {
  const components: BillEntry[] = [...(await lockedPackages()).map(component), ...more];
  const made = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', name: 'antipode', version } },
    components: [...new Map(components.map((one) => [one.purl, one])).values()],
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

function component({ name, version, license, integrity }: LockedPackage): BillEntry {
  const [algorithm, sum = ''] = integrity.split('-');
  if (algorithm !== 'sha512') throw new Error(`the lockfile has no SHA-512 of ${name}`);
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ license: { id: license } }],
    hashes: [{ alg: 'SHA-512', content: Buffer.from(sum, 'base64').toString('hex') }],
  };
}
