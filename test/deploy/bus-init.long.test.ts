import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { operate } from '../../coordinator/operator/operate.ts';
import { openCache } from '../../deploy/local/home.ts';
import { obtainNatsServer } from '../../deploy/local/nats.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { freePorts } from '../support/buses.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { isWell, startCoordinatorProcess, testLog } from '../support/network.ts';
import { runProgram, startChildProgram } from '../support/processes.ts';
import { createDatabase, hasBinaries } from '../support/services.ts';

/**
 * What `operator bus init` writes down is what real servers and a real coordinator run with, word
 * for word.
 */

let folder: string;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-bus-init-'));
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  await rm(folder, { recursive: true });
});

/** Where no database is named, no bus and no key. */
const run = async (...argv: readonly string[]) => {
  const said = { out: '', err: '' };
  const out = (text: string) => {
    said.out += text;
  };
  const err = (text: string) => {
    said.err += text;
  };
  const code = await operate(argv, {}, { out, err, watched: false });
  return { code, ...said };
};

const filesShape = z.object({ files: z.array(z.object({ file: z.string(), text: z.string() })) });

test.each([
  ['http://bus.example:443', '1', 'must be such as tls://bus.example.org:443'],
  ['nats://bus.example', '1', 'a public bus needs TLS'],
  ['tls://bus.example', '2', '--nodes must be 1 or 3'],
  ['tls://bus.example', '3', 'names 1 of 3 machines'],
  ['tls://a.example,tls://b.example', '1', 'names 2 of 1 machines'],
])('%s for %s machines is refused, and says what would do', async (url, nodes, words) => {
  const { code, out, err } = await run('bus', 'init', '--url', url, '--nodes', nodes);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(words);
});

test('printed for people, each file is behind its name, and names the least server version', async () => {
  const { out, code } = await run('bus', 'init', '--url', 'tls://bus.example.org');
  expect(code).toBe(0);
  expect(out.split('\n').filter((line) => line.startsWith('# ====='))).toEqual([
    '# ======== nats-1.conf',
    '# ======== coordinator.env',
  ]);
  expect(out).toContain('2.11.15 or 2.12.6 or newer');
  expect(out).toContain('NATS_URL=tls://bus.example.org:443\n');
  expect(out).not.toContain('cluster {');
});

test('a reader that stops early learns nothing of where the rest could not be written', async () => {
  const line = `"$0" "$1" operator bus init --url tls://bus.example.org | true`;
  const main = join(import.meta.dirname, '../../coordinator/main.ts');
  const said = await runProgram(['bash', '-c', line, process.execPath, main]);
  expect(said).toEqual({ code: 0, out: '', err: '' });
});

test('files are for their owner alone, and are never written over: the keys of a bus exist nowhere else', async () => {
  const at = join(folder, 'kept');
  const init = () => run('bus', 'init', '--url', 'tls://bus.example.org', '--folder', at);
  expect((await init()).code).toBe(0);
  const before = await readFile(join(at, 'coordinator.env'), 'utf8');
  expect((await stat(join(at, 'coordinator.env'))).mode & 0o777).toBe(0o600);
  const again = await init();
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('is there already')]);
  expect(await readFile(join(at, 'coordinator.env'), 'utf8')).toBe(before);
});

test('a bus that was lost is written down again from its keys, on other machines; from keys that do not belong together nothing is', async () => {
  const [at, other] = [join(folder, 'lost'), join(folder, 'other')];
  for (const each of [at, other])
    expect(
      (await run('bus', 'init', '--url', 'tls://bus.example.org', '--folder', each)).code,
    ).toBe(0);
  const kept = await readFile(join(at, 'coordinator.env'), 'utf8');
  const again = [
    'bus',
    'init',
    '--nodes',
    '3',
    '--url',
    'tls://a.example,tls://b.example,tls://c.example',
    '--json',
    '--keys',
  ] as const;
  const { files } = filesShape.parse(
    JSON.parse((await run(...again, join(at, 'coordinator.env'))).out),
  );
  const whomItLetsIn = (text: string) =>
    text.split('\n').filter((line) => /^(operator:|system_account:| {2}A)/.test(line));
  const before = whomItLetsIn(await readFile(join(at, 'nats-1.conf'), 'utf8'));
  expect(before).toHaveLength(4);
  for (const { text } of files.slice(0, 3)) expect(whomItLetsIn(text)).toEqual(before);
  expect(parseEnv(files[3]?.text ?? '')).toEqual({
    ...parseEnv(kept),
    NATS_URL: 'tls://a.example:443,tls://b.example:443,tls://c.example:443',
    NATS_WEBSOCKET_URL: 'wss://a.example:444,wss://b.example:444,wss://c.example:444',
    NATS_REPLICAS: '3',
  });

  // One machine of three was lost: what is printed for it goes to the other two, which still have
  // what was printed before.
  const printed = async (keys: string) =>
    filesShape.parse(JSON.parse((await run(...again, join(keys, 'coordinator.env'))).out)).files;
  expect(await printed(at)).toEqual(files);
  const passwords = (text: string) =>
    new Set(
      [...text.matchAll(/(?:password: "|route:\/\/antipode:)(\w+)/g)].map(
        ([, password]) => password,
      ),
    );
  const ofThisBus = passwords(files.map(({ text }) => text).join(''));
  const ofAnother = passwords((await printed(other)).map(({ text }) => text).join(''));
  expect([ofThisBus.size, ofAnother.size, new Set([...ofThisBus, ...ofAnother]).size]).toEqual([
    1, 1, 2,
  ]);

  const mixed = join(folder, 'mixed.env');
  const seed = parseEnv(await readFile(join(other, 'coordinator.env'), 'utf8')).NATS_ACCOUNT_SEED;
  await writeFile(mixed, kept.replace(/^NATS_ACCOUNT_SEED=.*$/m, `NATS_ACCOUNT_SEED=${seed}`));
  expect(await run(...again, mixed)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('of another account'),
  });
  await writeFile(mixed, 'SECRET_KEY=\n');
  expect(await run(...again, mixed)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('NATS_OPERATOR_SEED: is not set'),
  });
});

const replicasShape = z.object({ config: z.object({ num_replicas: z.number() }) });

/** TLS before the greeting is known to servers from 2.10 on. */
const isNewEnough = (): boolean => {
  if (!hasBinaries()) return false; // Said there.
  const [major, minor] = inject('services').nats.version;
  const is = major > 2 || (major === 2 && minor >= 10);
  if (!is)
    process.stderr.write(
      'SKIPPED: servers with what bus init prints for them take TLS first, which needs nats-server 2.10 or newer\n',
    );
  return is;
};

describe.runIf(isNewEnough())('three servers with what was printed for them', () => {
  test('form one bus with TLS first, which a coordinator enters with the printed settings', async () => {
    const authority = mintAuthority('an authority of our own');
    const shown = mint({ names: ['127.0.0.1'], issuer: authority });
    await writeFile(join(folder, 'certificate.pem'), shown.chain);
    await writeFile(join(folder, 'key.pem'), shown.key, { mode: 0o600 });
    const ports = await freePorts(6);
    const [urls, routes] = [
      ports.slice(0, 3).map((port) => `tls://127.0.0.1:${port}`),
      ports.slice(3).map((port) => `127.0.0.1:${port}`),
    ];
    const said = await run(
      ...[
        'bus',
        'init',
        '--url',
        urls.join(),
        '--nodes',
        '3',
        '--routes',
        routes.join(),
        '--listen',
        '127.0.0.1',
        '--json',
      ],
      ...[
        '--certificate',
        join(folder, 'certificate.pem'),
        '--key',
        join(folder, 'key.pem'),
        '--data',
        join(folder, 'data'),
      ],
    );
    const { files } = filesShape.parse(JSON.parse(said.out));
    expect(files.map(({ file }) => file)).toEqual([
      'nats-1.conf',
      'nats-2.conf',
      'nats-3.conf',
      'coordinator.env',
    ]);
    const text = (name: string) => files.find(({ file }) => file === name)?.text ?? '';
    const binary = await obtainNatsServer(
      openCache(process.env, folder),
      process.env.PATH ?? '',
      () => undefined,
    );
    const told: (() => string)[] = [];
    for (const name of ['nats-1', 'nats-2', 'nats-3']) {
      const file = join(folder, `${name}.conf`);
      // On one machine each needs a folder of its own; all else stands as it was printed.
      await writeFile(
        file,
        text(`${name}.conf`).replaceAll(join(folder, 'data'), join(folder, name)),
      );
      await chmod(file, 0o600);
      const server = await startChildProgram([binary.file, '-c', file], {}, (output) =>
        output.includes('Server is ready'),
      );
      told.push(server.output);
      ends.push(async () => {
        server.signal('SIGKILL');
        await server.exited;
      });
    }
    const database = await createDatabase();
    ends.push(database.drop);
    const settings = parseEnv(text('coordinator.env'));
    expect(
      Object.keys(settings)
        .filter((name) => settings[name] === '')
        .toSorted(),
    ).toEqual(['BASE_URL', 'DATABASE_URL']);
    const environment: Record<string, string> = {
      DATABASE_URL: database.url,
      NATS_CA: authority.certificate,
    };
    for (const [name, value] of Object.entries(settings)) if (value) environment[name] = value;
    const coordinator = await startCoordinatorProcess(environment).catch((cause: unknown) => {
      throw new Error(told.map((of) => of()).join('\n'), { cause });
    });
    ends.push(coordinator.close);
    await eventually(() => isWell(coordinator.url), 30_000);
    const bus = await connectBus({
      url: urls.join(),
      credentials: environment.NATS_CREDENTIALS ?? '',
      ca: authority.certificate,
      name: 'test',
      log: testLog(),
    });
    ends.push(bus.close);
    const replicas = async (name: string): Promise<number> => {
      const { data } = await bus.request(`$JS.API.STREAM.INFO.${name}`, '', { timeoutMs: 5_000 });
      return replicasShape.parse(JSON.parse(new TextDecoder().decode(data))).config.num_replicas;
    };
    for (const { name } of Object.values(streams)) expect(await replicas(name)).toBe(3);
  });
});
