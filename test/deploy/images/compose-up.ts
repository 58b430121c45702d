import { chmod, chown, copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { architecture, imageNames, makeImage } from '../../../deploy/image/make.ts';
import { version } from '../../../shared/base/process.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import {
  composeProgram,
  type Engine,
  engineUser,
  makeNatsImage,
  makePostgresImage,
  shared,
  startEngine,
} from '../../support/containers.ts';
import { eventually } from '../../support/eventually.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../../support/hosts.ts';
import {
  type ChildProgram,
  runProgram,
  type Said,
  startChildProgram,
} from '../../support/processes.ts';

/**
 * What the head of compose.yaml says to type is typed, on a host of its own: docker compose brings
 * everything up, a probe joins beside it with probe.yaml, a monitor is checked, a backup made, and
 * all goes down and comes again. Postgres and nats stand in for the images of a registry.
 */

const checkout = join(import.meta.dirname, '../../..');
const compose = await composeProgram();
const engine: Engine | undefined =
  compose !== undefined && canMakeTwoHosts()
    ? await startEngine(join(checkout, 'node_modules/.cache/antipode/engines'))
    : undefined;

/** A proxy before 127.0.0.1:8080, as the head of the file wants one. */
const proxy = `
const { readFileSync } = require('node:fs');
require('node:tls').createServer({ cert: readFileSync('proxy.pem'), key: readFileSync('proxy.key') }, (from) => {
  const onward = require('node:net').connect(8080, '127.0.0.1');
  for (const [one, other] of [[from, onward], [onward, from]]) one.on('error', () => other.destroy()).pipe(other);
}).listen(443, '0.0.0.0', () => console.log('listening'));`;

describe.runIf(engine !== undefined)('compose.yaml and probe.yaml', () => {
  const built = engine as Engine;
  const authority = mintAuthority('the authority of this test');
  const running: ChildProgram[] = [];
  const place = join(built.folder, 'deploy/compose');
  let two: TwoHosts;

  /** As the host of everything types it, in the folder of the files. */
  const typed = (
    args: readonly string[],
    settings: Readonly<Record<string, string>> = {},
  ): readonly [string, ...string[]] => {
    const [house] = two.hosts;
    const environment = [
      'env',
      '-C',
      `${shared}/deploy/compose`,
      ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
    ];
    return built.enter([...environment, `${shared}/docker-compose`, ...args], house.netns);
  };
  const all = ['--env-file', 'bus/coordinator.env'] as const;
  const run = (...args: readonly string[]): Promise<Said> => runProgram(typed([...all, ...args]));
  const well = async (said: Promise<Said>): Promise<string> => {
    const { code, out, err } = await said;
    if (code !== 0) throw new Error(`${out}${err}`);
    return out;
  };
  const operator = async <Shape extends z.ZodType>(
    shape: Shape,
    ...args: readonly string[]
  ): Promise<z.infer<Shape>> =>
    shape.parse(
      JSON.parse(
        await well(
          run('exec', '-T', 'coordinator', '/node', '/antipode.mjs', 'operator', ...args, '--json'),
        ),
      ),
    );
  const answersWell = async (path: '/readyz' | '/health'): Promise<boolean> => {
    const [house] = two.hosts;
    const { code } = await runProgram([
      'ip',
      'netns',
      'exec',
      house.netns,
      'curl',
      '-fsS',
      `http://127.0.0.1:8080${path}`,
    ]);
    return code === 0;
  };

  beforeAll(async () => {
    two = await makeTwoHosts({ 'bus.example.org': 0, 'antipode.example': 0 });
    const images = join(built.folder, 'images');
    for (const name of imageNames) await makeImage(name, join(images, name));
    await makeNatsImage(join(images, 'nats'));
    await makePostgresImage(join(images, 'postgres'));
    const text = await readFile(join(checkout, 'deploy/compose/compose.yaml'), 'utf8');
    const tags = {
      ...Object.fromEntries(imageNames.map((name) => [name, `antipode-${name}:${version}`])),
    };
    for (const [, tag = '', name = ''] of text.matchAll(/image: (docker\.io\/library\/(\w+):\S+)/g))
      tags[name] = tag;
    for (const [name, tag] of Object.entries(tags))
      await well(
        built.run(
          'build',
          '--build-arg',
          `TARGETARCH=${architecture()}`,
          '--tag',
          tag,
          `${shared}/images/${name}`,
        ),
      );
    await mkdir(join(built.folder, 'deploy'), { recursive: true });
    await cp(join(checkout, 'deploy/compose'), place, {
      recursive: true,
      filter: (file) => !file.endsWith('/bus'),
    });
    await copyFile(compose ?? '', join(built.folder, 'docker-compose'));
    await chmod(join(built.folder, 'docker-compose'), 0o755);
    await built.nameServer(two.here);
  }, 900_000);
  afterAll(async () => {
    for (const program of running.toReversed()) {
      program.signal('SIGTERM');
      await program.exited;
    }
    await two?.close();
    await engine?.close();
  });

  test('bring up everything on one host, which watches, keeps itself safe, and comes again', async () => {
    const [house] = two.hosts;
    const text = await readFile(join(place, 'compose.yaml'), 'utf8');
    const [, init = ''] = /#\s+npm run operator -- (bus init .*)\n/.exec(text) ?? [];
    const launcher = [process.execPath, 'deploy/local/operator.ts'] as const;
    const words = init.replace('deploy/compose/bus', join(place, 'bus')).split(' ');
    await well(runProgram([...launcher, ...words], { env: { PATH: process.env.PATH ?? '' } }));
    const shown = mint({ names: ['bus.example.org'], issuer: authority });
    await writeFile(join(place, 'bus/certificate.pem'), shown.chain);
    await writeFile(join(place, 'bus/key.pem'), shown.key, { mode: 0o600 });
    const file = join(place, 'bus/coordinator.env');
    const settings = (await readFile(file, 'utf8')).replace(
      '\nBASE_URL=\n',
      '\nBASE_URL=https://antipode.example\n',
    );
    await writeFile(
      file,
      `${settings}POSTGRES_PASSWORD=kept\nBUS_HOST=bus.example.org\nANTIPODE_VERSION=${version}\nNATS_CA="${authority.certificate}"\n`,
    );
    // The files are those of whoever types, and that is whom root of a container is to the machine.
    for (const name of [
      'bus',
      'bus/nats-1.conf',
      'bus/certificate.pem',
      'bus/key.pem',
      'bus/coordinator.env',
    ])
      await chown(join(place, name), engineUser, engineUser);

    running.push(
      await startChildProgram(
        built.listening(house.netns),
        {},
        async () => (await run('version')).code === 0,
      ),
    );
    const at = (name: string): string => join(built.folder, name);
    const front = mint({ names: ['antipode.example'], issuer: authority });
    await writeFile(at('proxy.pem'), front.chain);
    await writeFile(at('proxy.key'), front.key);
    await writeFile(at('authority.pem'), authority.certificate);
    const standing = [
      'ip',
      'netns',
      'exec',
      house.netns,
      'env',
      '-C',
      built.folder,
      process.execPath,
      '-e',
      proxy,
    ] as const;
    running.push(await startChildProgram(standing, {}, (output) => output.includes('listening')));

    await well(run('up', '-d'));
    // Without a probe it is not healthy yet.
    await eventually(() => answersWell('/readyz'), 120_000);
    await operator(z.unknown(), 'organisation', 'create', '--name', 'House');
    const person = ['--email', 'owner@house.example', '--organisation', 'House'];
    await operator(
      z.unknown(),
      'user',
      'create',
      ...person,
      '--password',
      'a long enough one',
      '--role',
      'owner',
    );
    const { token } = await operator(
      z.object({ token: z.string() }),
      'token',
      'create',
      ...person,
      '--name',
      'test',
      '--scope',
      'read_write',
    );
    const invited = await operator(
      z.object({ token: z.string() }),
      'probe',
      'invite',
      '--name',
      'Nairobi',
      '--continent',
      'Africa',
    );

    const beside = { PROBE_ALLOW_CIDRS: `${two.here}/32` };
    const trust = [
      '--volume',
      `${shared}/authority.pem:/authority.pem:ro`,
      '--env',
      'NODE_EXTRA_CA_CERTS=/authority.pem',
    ];
    const once = [
      '-f',
      'probe.yaml',
      'run',
      '--rm',
      '-T',
      ...trust,
      'probe',
      'join',
      'https://antipode.example',
      invited.token,
      // What it was told for once it keeps: it comes to the bus by the same proxy.
      '--ca',
      '/authority.pem',
    ];
    const joining = await startChildProgram(typed(once, beside), {}, (output) =>
      output.includes("a coordinator receives this probe's presence"),
    );
    for (const what of ['clock', 'dns', 'addresses', 'bus', 'anchors', 'disk'])
      expect(joining.output()).toMatch(new RegExp(`^ok  ${what} `, 'm'));
    // Ctrl-C, as the program in the container hears it.
    const [alone = ''] = (
      await well(built.run('ps', '--quiet', '--filter', 'name=probe-run'))
    ).split('\n');
    await well(built.run('kill', '--signal', 'INT', alone));
    await joining.exited;
    await well(runProgram(typed(['-f', 'probe.yaml', 'up', '-d'], beside)));
    const [, asked = ''] =
      /test: \[CMD, (.*)\]\n/.exec(await readFile(join(place, 'probe.yaml'), 'utf8')) ?? [];
    const health = ['-f', 'probe.yaml', 'exec', '-T', 'probe', ...asked.split(', ')];
    await eventually(async () => (await runProgram(typed(health, beside))).code === 0, 60_000);

    const target = await two.target();
    const ask = async (path: string, more: readonly string[] = []): Promise<unknown> => {
      const flags = [
        '-fsS',
        '-H',
        `authorization: Bearer ${token}`,
        '-H',
        'content-type: application/json',
        ...more,
      ];
      return JSON.parse(
        await well(
          runProgram([
            'ip',
            'netns',
            'exec',
            house.netns,
            'curl',
            ...flags,
            `http://127.0.0.1:8080/api/v1${path}`,
          ]),
        ),
      );
    };
    const wanted = { type: 'https', target: target.url, name: 'Shop', interval_s: 10 };
    const { id } = z
      .object({ id: z.string() })
      .parse(await ask('/monitors', ['-d', JSON.stringify(wanted)]));
    const isUp = async (): Promise<boolean> =>
      z.object({ status: z.string() }).parse(await ask(`/monitors/${id}/status`)).status === 'up';
    // Calls with a token are counted.
    await eventually(isUp, 60_000, 1_000);
    expect(target.hits()).toBeGreaterThan(0);
    await eventually(() => answersWell('/health'));

    const nightly = ['operator', 'backups', 'nightly', '--folder', '/data', '--keep-days', '14'];
    const said = await well(run('exec', '-T', 'backups', '/node', '/antipode.mjs', ...nightly));
    expect(said).toContain('.backup');

    await well(run('down'));
    expect(await answersWell('/readyz')).toBe(false);
    await well(run('up', '-d'));
    await eventually(() => answersWell('/health'), 120_000);
    const before = target.hits();
    await eventually(() => target.hits() > before, 60_000);
    expect(await isUp()).toBe(true);
    await well(runProgram(typed(['-f', 'probe.yaml', 'down', '--volumes'], beside)));
    await well(run('down', '--volumes'));
    expect((await built.run('volume', 'ls', '--quiet')).out).toBe('');
  }, 900_000);
});
