import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bundles } from '../../../deploy/bundle/make.ts';
import { type ImageDependencies, obtainArm64 } from '../../../deploy/image/arm64.ts';
import {
  architecture,
  imageUser,
  makeImage,
  partNames,
  tagOf,
} from '../../../deploy/image/make.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { type Engine, shared, startEngine } from '../../support/containers.ts';
import { eventually } from '../../support/eventually.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../../support/hosts.ts';
import { isWell } from '../../support/network.ts';
import { testSecretKey } from '../../support/people.ts';
import {
  type ChildProgram,
  runProgram,
  type Said,
  startChildProgram,
} from '../../support/processes.ts';
import {
  createAccount,
  createDatabase,
  environmentOf,
  type TestDatabase,
} from '../../support/services.ts';

/**
 * A coordinator on one host, a probe on another, neither with a checkout: from the files that a
 * release is made of, and as images that an engine built and runs. The probe comes by the one line
 * that the invitation prints.
 */

type Environment = Readonly<Record<string, string>>;
type Line = readonly [string, ...string[]];

/** How one form of delivery is typed on a host. */
type Form = {
  readonly coordinator: (environment: Environment, netns: string) => Line;
  readonly operator: (environment: Environment, netns: string, args: readonly string[]) => Line;
  readonly join: (environment: Environment, netns: string, address: string, token: string) => Line;
  /** Tells both to end, as who runs them would. */
  readonly end: (program: ChildProgram, name: 'coordinator' | 'probe') => Promise<unknown>;
};

const cache = join(import.meta.dirname, '../../../node_modules/.cache/antipode');
const canHosts = canMakeTwoHosts();
let folder: string;
let two: TwoHosts | undefined;
const running: ChildProgram[] = [];
const authority = mintAuthority('the service of this test');

beforeAll(async () => {
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, 'release-'));
  await chmod(folder, 0o755);
  if (canHosts) two = await makeTwoHosts();
});
afterAll(async () => {
  await two?.close();
  await rm(folder, { recursive: true });
});

afterEach(async () => {
  for (const program of running.splice(0)) {
    program.signal('SIGKILL');
    await program.exited;
  }
});

const json = <Shape extends z.ZodType>(shape: Shape, said: Said): z.infer<Shape> => {
  if (said.code !== 0) throw new Error(`${said.out}${said.err}`);
  return shape.parse(JSON.parse(said.out));
};
const listed = (environment: Environment): string[] =>
  Object.entries(environment).map(([name, value]) => `${name}=${value}`);

/** One join line brings a probe to a coordinator on another host, and it checks. */
const comesUp = async (hosts: TwoHosts, database: TestDatabase, form: Form): Promise<void> => {
  const [house, elsewhere] = hosts.hosts;
  const account = await createAccount();
  const through = async (url: string): Promise<string> => {
    const there = new URL(url);
    const port = await hosts.relay({ host: there.hostname, port: Number(there.port) });
    return Object.assign(new URL(url), { host: `${hosts.here}:${port}` }).href;
  };
  const web = await hosts.relay(
    { host: house.address, port: 8080 },
    mint({ names: [hosts.here], issuer: authority }),
  );
  const baseUrl = `https://${hosts.here}:${web}`;
  const environment = {
    ...environmentOf(database, account),
    DATABASE_URL: await through(database.url),
    NATS_URL: await through(account.url),
    SECRET_KEY: testSecretKey,
    BASE_URL: baseUrl,
    HOST: '0.0.0.0',
    PORT: '8080',
  };
  const url = `http://${house.address}:8080`;
  const coordinator = await startChildProgram(form.coordinator(environment, house.netns), {}, () =>
    isWell(url),
  );
  running.push(coordinator);

  const operate = (...args: readonly string[]) =>
    runProgram(form.operator(environment, house.netns, [...args, '--json']));
  json(z.unknown(), await operate('organisation', 'create', '--name', 'House'));
  const person = ['--email', 'owner@house.example', '--organisation', 'House'];
  json(
    z.unknown(),
    await operate(
      'user',
      'create',
      ...person,
      '--password',
      'a long enough one',
      '--role',
      'owner',
    ),
  );
  const { token } = json(
    z.object({ token: z.string() }),
    await operate('token', 'create', ...person, '--name', 'test', '--scope', 'read_write'),
  );
  const invited = json(
    z.object({ token: z.string() }),
    await operate('probe', 'invite', '--name', 'Nairobi', '--continent', 'Africa'),
  );

  const reach = { PROBE_ALLOW_CIDRS: `${hosts.here}/32` };
  const hears = (output: string): boolean =>
    output.includes("a coordinator receives this probe's presence");
  const probe = await startChildProgram(
    form.join(reach, elsewhere.netns, baseUrl, invited.token),
    {},
    hears,
  );
  running.push(probe);
  for (const what of ['clock', 'dns', 'addresses', 'bus', 'anchors', 'disk'])
    expect(probe.output()).toMatch(new RegExp(`^ok  ${what} `, 'm'));
  expect(probe.output()).toContain(`IPv4 from ${elsewhere.address}`);

  const target = await hosts.target();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const made = await fetch(`${url}/api/v1/monitors`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ type: 'https', target: target.url, name: 'Shop', interval_s: 10 }),
  });
  const { id } = z.object({ id: z.string() }).parse(await made.json());
  await eventually(async () => {
    const answer = await fetch(`${url}/api/v1/monitors/${id}/status`, { headers });
    return z.object({ status: z.string() }).parse(await answer.json()).status === 'up';
  }, 60_000);
  expect(target.hits()).toBeGreaterThan(0);
  expect(await form.end(probe, 'probe')).toBe(0);
  expect(await form.end(coordinator, 'coordinator')).toBe(0);
};

describe.runIf(canHosts)('as files of a release', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
    for (const [name, text] of await bundles()) await writeFile(join(folder, name), text);
    // A host has a Node of its own; this one is the package's.
    await copyFile(process.execPath, join(folder, 'node'));
  });
  afterAll(() => database.drop());

  test('a coordinator and a probe come up, with one line each, on hosts without a checkout', async () => {
    await writeFile(join(folder, 'authority.pem'), authority.certificate);
    const on = (netns: string, environment: Environment): Line => [
      ...(['ip', 'netns', 'exec', netns, 'env', '-i', '-C', folder] as const),
      ...listed(environment),
      join(folder, 'node'),
    ];
    const form: Form = {
      coordinator: (environment, netns) => [
        ...on(netns, { ...environment, DATA_DIR: 'house' }),
        'antipode-coordinator.mjs',
      ],
      operator: (environment, netns, args) => [
        ...on(netns, environment),
        'antipode-coordinator.mjs',
        'operator',
        ...args,
      ],
      join: (environment, netns, address, token) => [
        ...on(netns, { ...environment, NODE_EXTRA_CA_CERTS: 'authority.pem' }),
        'antipode-probe.mjs',
        'join',
        address,
        token,
      ],
      end: (program) => {
        program.signal('SIGTERM');
        return program.exited;
      },
    };
    if (!two) throw new Error('there are no hosts');
    await comesUp(two, database, form);
  });
});

const engine: Engine | undefined = await startEngine(join(cache, 'engines'));
afterAll(() => engine?.close());

describe.runIf(engine !== undefined)('as images', () => {
  const built = engine as Engine;
  /** As the compose files have it. */
  const rules = [
    '--read-only',
    '--tmpfs',
    '/tmp',
    '--cap-drop',
    'ALL',
    '--security-opt',
    'no-new-privileges',
    '--network',
    'host',
    '--log-driver',
    'none',
  ];
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
    for (const name of partNames) {
      const place = join(built.folder, 'images', name);
      await makeImage(name, place);
      const said = await built.run(
        'build',
        '--build-arg',
        `TARGETARCH=${architecture()}`,
        '--tag',
        tagOf(name),
        `${shared}/images/${name}`,
      );
      expect([said.code, said.err]).toEqual([0, said.err]);
    }
  });
  afterAll(() => database.drop());

  test.each(partNames)(
    'that of the %s is of a user without rights, with nothing to write to but /data, and no shell',
    async (name) => {
      const once = (entry: string, ...args: readonly string[]) =>
        built.run(
          'run',
          '--rm',
          ...rules,
          '--volume',
          `tried-${name}:/data`,
          '--entrypoint',
          entry,
          tagOf(name),
          ...args,
        );
      const tries = `const { appendFileSync, readFileSync } = require('node:fs');
      const says = (path) => { try { appendFileSync(path, ''); return 'written'; } catch (error) { return error.code; } };
      const status = readFileSync('/proc/self/status', 'utf8');
      console.log(JSON.stringify({ uid: process.getuid(), gid: process.getgid(), caps: /CapEff:\\s*(\\w+)/.exec(status)[1],
        noNew: /NoNewPrivs:\\s*(\\d)/.exec(status)[1], tries: ['/data/x', '/tmp/x', '/x', '/etc/x', '/antipode.mjs'].map(says) }));`;
      const said = await once('/node', '-e', tries);
      expect(json(z.unknown(), said)).toEqual({
        uid: imageUser,
        gid: imageUser,
        caps: '0000000000000000',
        noNew: '1',
        tries: ['written', 'written', 'EROFS', 'EROFS', 'EACCES'],
      });
      for (const shell of ['/bin/sh', '/bin/bash', '/bin/busybox'])
        expect((await once(shell, '-c', 'true')).code).toBe(127);
      const config = await built.run(
        'image',
        'inspect',
        '--format',
        '{{.Config.User}} {{.Architecture}} {{.Os}}',
        tagOf(name),
      );
      expect(config.out.trim()).toBe(`${imageUser}:${imageUser} ${architecture()} linux`);
    },
  );

  /** As a registry would hold it. */
  const expectSize = async (tag: string, pushed: string, megabytes: number): Promise<void> => {
    const said = await built.run('push', '--quiet', tag, `oci:${shared}/home/${pushed}:latest`);
    expect([said.code, said.err]).toEqual([0, said.err]);
    const place = join(built.folder, 'home', pushed, 'blobs/sha256');
    let bytes = 0;
    for (const file of await readdir(place)) bytes += (await stat(join(place, file))).size;
    process.stdout.write(`${tag}: ${(bytes / 1e6).toFixed(1)} MB compressed\n`);
    expect(bytes).toBeGreaterThan(10e6);
    expect(bytes).toBeLessThanOrEqual(megabytes * 1e6);
  };

  /** Megabytes of the wire. */
  const most = { probe: 50, coordinator: 60, client: 50 };

  test.each(partNames)('that of the %s takes no more of the wire than it may', async (name) => {
    await expectSize(tagOf(name), `pushed-${name}`, most[name]);
  });

  describe('for arm64, out of what is fetched for it; nothing of it is run here', () => {
    let dependencies: ImageDependencies | string;
    beforeAll(async () => {
      const scratch = await mkdtemp(join(folder, 'arm64-'));
      dependencies = await obtainArm64(scratch).catch((error: unknown) => String(error));
    });

    test.each(partNames)('that of the %s is built, too', async (name) => {
      if (typeof dependencies === 'string') {
        process.stderr.write(
          `SKIPPED: what an image for arm64 holds is not to be had: ${dependencies}\n`,
        );
        return;
      }
      const tag = `antipode-${name}:arm64`;
      await makeImage(name, join(built.folder, 'images', `arm64-${name}`), dependencies);
      const flags = ['--platform', 'linux/arm64', '--build-arg', 'TARGETARCH=arm64', '--tag', tag];
      const said = await built.run('build', ...flags, `${shared}/images/arm64-${name}`);
      expect([said.code, said.err]).toEqual([0, said.err]);
      const config = await built.run(
        'image',
        'inspect',
        '--format',
        '{{.Config.User}} {{.Architecture}} {{.Os}}',
        tag,
      );
      expect(config.out.trim()).toBe(`${imageUser}:${imageUser} arm64 linux`);
      await expectSize(tag, `pushed-${name}-arm64`, most[name]);
    });
  });

  test.runIf(canHosts)(
    'a coordinator and a probe come up, with one line each, on hosts of their own',
    async () => {
      if (!two) throw new Error('there are no hosts');
      const { here } = two;
      await writeFile(join(built.folder, 'authority.pem'), authority.certificate, { mode: 0o644 });
      const start = (
        name: 'coordinator' | 'probe',
        environment: Environment,
        netns: string,
        more: readonly string[],
        args: readonly string[],
      ) =>
        built.line(
          [
            'run',
            '--rm',
            '--name',
            name,
            ...rules,
            '--dns',
            here,
            '--volume',
            `${name}:/data`,
            ...more,
            ...listed(environment).flatMap((pair) => ['--env', pair]),
            tagOf(name),
            ...args,
          ],
          netns,
        );
      const form: Form = {
        coordinator: (environment, netns) => start('coordinator', environment, netns, [], []),
        operator: (_environment, netns, args) =>
          built.line(['exec', 'coordinator', '/node', '/antipode.mjs', 'operator', ...args], netns),
        join: (environment, netns, address, token) =>
          start(
            'probe',
            { ...environment, NODE_EXTRA_CA_CERTS: '/authority.pem' },
            netns,
            ['--volume', `${shared}/authority.pem:/authority.pem:ro`],
            ['join', address, token],
          ),
        end: async (program, name) => {
          expect(await built.run('stop', '--time', '30', name)).toMatchObject({ code: 0 });
          return program.exited;
        },
      };
      await comesUp(two, database, form);
    },
  );
});
