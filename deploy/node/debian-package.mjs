/**
 * A package of the machine's own Debian mirror, unpacked below a folder. It needs no root and
 * changes nothing of the system.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * The sources of the machine's own packages: the address and suite of each, with the component main
 * where that is known.
 */
const configuredMirrors = async () => {
  const { stdout } = await run('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI) $(RELEASE) $(COMPONENT)',
    'Created-By: Packages',
  ]);
  const lines = stdout.split('\n').map((line) => line.split(' '));
  const known = lines.flatMap(([address, suite, part]) =>
    address && suite && part === 'main' ? [{ address, suite }] : [],
  );
  if (known.length > 0) return known;
  // A machine that has never fetched a list (a minimal image) knows only what it would fetch.
  const { stdout: wanted } = await run('apt-get', ['update', '--print-uris']);
  return [...wanted.matchAll(/^'([^']+)\/dists\/([^'/]+)\/InRelease'/gm)].flatMap(
    ([, address, suite]) => (address && suite ? [{ address, suite }] : []),
  );
};

/**
 * Uses a package state of our own: reads only the system's list of mirrors and its keys, and writes
 * nothing there.
 *
 * @param {string} scratch a folder of the caller, which the caller removes.
 * @param {string} name
 * @param {'stable first' | "the machine's first"} suites the newest program, or the library that
 * fits the machine's own.
 * @returns {Promise<string>} the folder that has `usr/`.
 */
export const unpackDebianPackage = async (scratch, name, suites) => {
  const [first] = await configuredMirrors();
  if (first === undefined) throw new Error('the machine has no package mirror configured');
  const distribution = /^ID=(\S+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
  const keys = `/usr/share/keyrings/${distribution}-archive-keyring.gpg`;
  const signedBy = (await access(keys).then(() => true, () => false)) ? `[signed-by=${keys}] ` : ''; // biome-ignore format: one line reads better
  const options = {
    'Dir::State': scratch,
    'Dir::State::lists': join(scratch, 'lists'),
    'Dir::State::status': join(scratch, 'status'),
    'Dir::Cache': scratch,
    'Dir::Etc::sourcelist': join(scratch, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    'Acquire::http::Timeout': '15',
    'Acquire::https::Timeout': '15',
    'APT::Sandbox::User': 'root',
  };
  const flags = Object.entries(options).flatMap(([option, value]) => ['-o', `${option}=${value}`]);
  /** @param {string[]} args */
  const apt = (...args) =>
    run('apt-get', ['-q', ...flags, ...args], { cwd: scratch, timeout: 120_000 });
  await mkdir(join(scratch, 'lists', 'partial'), { recursive: true });
  await mkdir(join(scratch, 'archives', 'partial'), { recursive: true });
  await writeFile(join(scratch, 'status'), '');
  const faults = [];
  for (const suite of new Set(
    suites === 'stable first' ? ['stable', first.suite] : [first.suite, 'stable'],
  )) {
    try {
      await writeFile(
        join(scratch, 'sources.list'),
        `deb ${signedBy}${first.address} ${suite} main universe\n`,
      );
      await apt('--error-on=any', 'update');
      await apt('download', name);
      const fetched = (await readdir(scratch)).find((file) => file.endsWith('.deb'));
      if (fetched === undefined) throw new Error('the package did not arrive');
      await run('dpkg-deb', ['-x', join(scratch, fetched), join(scratch, 'package')]);
      return join(scratch, 'package');
    } catch (cause) {
      faults.push(
        new Error(
          `suite ${suite}: ${cause instanceof Error ? cause.message.split('\n').slice(0, 3).join(' ') : String(cause)}`,
        ),
      );
    }
  }
  throw new AggregateError(faults, faults.map((fault) => fault.message).join('; '));
};
