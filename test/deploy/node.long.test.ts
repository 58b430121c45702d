import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { machineNode, runProgram, startChildProgram } from '../support/processes.ts';

const root = resolve(import.meta.dirname, '../..');
const runner = join(root, 'deploy/node/run.mjs');
const older = machineNode();
const canFetch = existsSync('/usr/bin/apt-get');
if (!older)
  process.stderr.write(
    'SKIPPED: the machine has no Node besides the package’s, so that nothing can be begun with an older one\n',
  );
if (!canFetch)
  process.stderr.write('SKIPPED: without apt-get nothing can be fetched from a Debian mirror\n');

let folder: string;
let program: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'antipode-node-'));
  program = join(folder, 'program.ts');
  writeFileSync(
    program,
    `import { execFileSync } from 'node:child_process';
const child: string = execFileSync('node', ['--version'], { encoding: 'utf8' }).trim();
console.log(JSON.stringify({ own: process.version, child, words: process.argv.slice(2) }));
if (process.argv[2] === 'wait') { process.on('SIGTERM', () => process.exit(7)); console.log('up'); setInterval(() => {}, 1000); }
else process.exitCode = 5;\n`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every script and every program of the package is begun by a file that any Node from 18 on can read', () => {
  const ofShell = /^(export \S|eval "\$line"$)/;
  for (const script of Object.values(manifest.scripts))
    for (const command of script.split(' && ').filter((part) => !ofShell.test(part)))
      expect(command).toMatch(/^(exec |line=\$\()?node deploy\/node\/run\.mjs \S+/);
  for (const file of Object.values(manifest.bin))
    expect(file).toMatch(/^\.\/deploy\/node\/[a-z-]+\.mjs$/);
});

describe.runIf(older)('started by an older Node', () => {
  const node = older ?? '';
  const begin = (
    environment: Readonly<Record<string, string>>,
    file = runner,
    ...words: string[]
  ) =>
    runProgram([node, file, program, ...words], {
      env: { HOME: folder, PATH: process.env.PATH, ...environment },
    });
  const isTooOld =
    older !== undefined &&
    Number(
      execFileSync(older, ['-p', 'process.versions.node'], { encoding: 'utf8' }).split('.')[0],
    ) < 26;

  /**
   * Where the dynamic linker finds a library that is none, before the machine's own: to the
   * package's Node the machine lacks it.
   */
  const withoutLibrary = (): string => {
    const place = mkdtempSync(join(folder, 'lacking-'));
    writeFileSync(join(place, 'libatomic.so.1'), '');
    return place;
  };

  test('a program runs under the package’s Node, as do those that it starts, and its end is handed back', async () => {
    const { code, out, err } = await begin({}, runner, 'one', '--two');
    expect({ code, err }).toEqual({ code: 5, err: '' });
    expect(JSON.parse(out)).toEqual({
      own: process.version,
      child: process.version,
      words: ['one', '--two'],
    });
  });

  test('a shell becomes the program by the line that is printed for it, and nothing stays beside', async () => {
    const line = [
      `line=$(${node} ${runner} --shell ${program} one "it's two") && eval "$line"`,
      'echo "still there" >&2',
    ].join('\n');
    const { code, out, err } = await runProgram(['sh', '-c', line], {
      env: { HOME: folder, PATH: process.env.PATH },
    });
    expect({ code, err }).toEqual({ code: 5, err: '' });
    expect(JSON.parse(out)).toEqual({
      own: process.version,
      child: process.version,
      words: ['one', "it's two"],
    });
  });

  test('a signal reaches the program', async () => {
    const started = await startChildProgram(
      [node, runner, program, 'wait'],
      { HOME: folder },
      (said) => said.includes('up'),
    );
    started.signal('SIGTERM');
    expect(await started.exited).toBe(7);
  });

  test('a command of the checkout is found through a link to it, and from any folder', async () => {
    symlinkSync(join(root, 'deploy/node/antipode.mjs'), join(folder, 'antipode'));
    const said = await runProgram([
      'sh',
      '-c',
      'cd / && exec "$0" --version',
      join(folder, 'antipode'),
    ]);
    expect(said).toEqual({ code: 0, err: '', out: `antipode ${manifest.version}\n` });
  });

  test.runIf(canFetch)(
    'the library that a minimal machine lacks is fetched once, into the cache alone',
    async () => {
      const cache = join(folder, 'cache');
      const environment = { ANTIPODE_CACHE: cache, LD_LIBRARY_PATH: withoutLibrary() };
      const first = await begin(environment);
      expect(first.err).toBe(
        `fetching libatomic1 (once, into ${cache}) from this machine's package mirror: the package's Node needs it\n`,
      );
      expect(JSON.parse(first.out)).toMatchObject({ own: process.version, child: process.version });
      expect(readdirSync(cache)).toEqual([`libatomic1-${process.arch}`]);
      expect(await begin(environment)).toEqual({ ...first, err: '' });
    },
  );

  test.runIf(isTooOld)('where it cannot be downloaded, one line says what to do', async () => {
    const said = await begin({
      ANTIPODE_CACHE: join(folder, 'none'),
      LD_LIBRARY_PATH: withoutLibrary(),
      PATH: '/nonexistent',
    });
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err.split('\n').at(-2)).toMatch(
      /^Antipode cannot start: .* needs libatomic\.so\.1, .* could not be fetched \(.*\): install it \(.*apt-get install libatomic1/,
    );
  });

  test.runIf(isTooOld)('where it was never installed, one line says what to do', async () => {
    const elsewhere = join(folder, 'elsewhere');
    cpSync(join(root, 'deploy/node'), join(elsewhere, 'deploy/node'), { recursive: true });
    const said = await begin({}, join(elsewhere, 'deploy/node/run.mjs'));
    expect(said).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(`Run npm install in ${elsewhere}`),
    });
  });
});
