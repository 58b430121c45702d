import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { handOver, imageUser, makeRoot, packRoot } from '../../deploy/image/make.ts';
import { version } from '../../shared/base/process.ts';
import { composeProgram } from '../support/containers.ts';
import { runProgram, type Said } from '../support/processes.ts';

/**
 * The compose files as docker compose itself reads them, and what of them can be held against our
 * own sources. `npm run test:images` brings one up.
 */
describe('compose', async () => {
  const folder = join(import.meta.dirname, '../../deploy/compose');
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const ours = ['coordinator/config.ts', 'probe/config.ts']
    .map((file) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8'))
    .join();

  /** What the images of others take. */
  const foreign = ['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD'];

  test.each(['compose.yaml', 'probe.yaml'])(
    '%s sets only what its programs read, and names every value that it asks for',
    (file) => {
      const text = read(file);
      const set = [...text.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name);
      expect(set.length).toBeGreaterThan(0);
      expect(
        set.filter((name) => !foreign.includes(name) && !new RegExp(`^  ${name}:`, 'm').test(ours)),
      ).toEqual([]);
      const head = text.slice(0, text.indexOf('\nname:'));
      const asked = [
        ...new Set([...text.matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name = '']) => name)),
      ];
      expect(asked.filter((name) => !head.includes(`${name}=`))).toEqual([]);
    },
  );

  test.each([
    ['compose.yaml', 2],
    ['probe.yaml', 1],
  ] as const)(
    'our containers of %s write nowhere but to their data, and may do nothing that a user may not',
    (file, count) => {
      const services = read(file)
        .split(/^ {2}(?=[a-z]+:$)/m)
        .filter((text) => text.includes('image: antipode-'));
      expect(services).toHaveLength(count);
      for (const service of services)
        for (const line of [
          'read_only: true',
          'cap_drop: [ALL]',
          "security_opt: ['no-new-privileges:true']",
        ])
          expect(service).toContain(line);
    },
  );

  test('a probe is asked for its health as its image can be asked, without a shell', () => {
    const [, asked = ''] = /^ {6}test: \[CMD, (.*)\]$/m.exec(read('probe.yaml')) ?? [];
    const image = readFileSync(join(import.meta.dirname, '../../deploy/image/Dockerfile'), 'utf8');
    const [, entry = '[]'] = /^ENTRYPOINT (.*)$/m.exec(image) ?? [];
    expect(asked.split(', ')).toEqual([...z.array(z.string()).parse(JSON.parse(entry)), 'health']);
  });

  test('it says what a balancer asks a coordinator: whether it can serve, never how the installation is', () => {
    expect(read('compose.yaml')).toMatch(/balancer[^\n]* \/readyz, never \/health/);
  });

  test('the files that it asks for are where it reads them, and git ignores them', () => {
    const text = read('compose.yaml');
    const [, made = ''] = /bus init [^\n]*--folder (\S+)/.exec(text) ?? [];
    expect(join(import.meta.dirname, '../..', made)).toBe(join(folder, 'bus'));
    for (const [, file] of text.matchAll(/- \.\/(\S+?):/g)) expect(file).toMatch(/^bus\//);
    const ignored = readFileSync(join(import.meta.dirname, '../../.gitignore'), 'utf8').split('\n');
    expect(ignored).toContain(`/${made}/`);
  });

  /** Where it cannot be had, that is said loudly. */
  const compose = await composeProgram();

  describe.skipIf(compose === undefined)('as docker compose reads them', () => {
    const settings = {
      POSTGRES_PASSWORD: 'a$word',
      BUS_HOST: 'bus.example.org',
      ANTIPODE_VERSION: '1.0.0',
      BASE_URL: 'https://antipode.example',
    };
    const shape = z.object({
      name: z.string(),
      services: z.record(
        z.string(),
        z.object({
          environment: z.record(z.string(), z.string()).default({}),
          networks: z.object({ default: z.object({ aliases: z.array(z.string()) }).nullable() }),
          ports: z
            .array(
              z.object({
                host_ip: z.string().optional(),
                published: z.string(),
                target: z.number(),
              }),
            )
            .default([]),
        }),
      ),
    });
    let copy: string;
    beforeAll(async () => {
      copy = await mkdtemp(join(tmpdir(), 'antipode-compose-'));
      await mkdir(join(copy, 'bus'));
      for (const file of ['compose.yaml', 'probe.yaml'])
        await copyFile(join(folder, file), join(copy, file));
      const lines = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`);
      await writeFile(join(copy, 'bus/coordinator.env'), lines.join(''));
    });
    afterAll(() => rm(copy, { recursive: true }));
    const config = (env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Said> =>
      runProgram(
        [compose ?? '', '--project-directory', copy, ...args, 'config', '--format', 'json'],
        { env },
      );

    test('everything on one host: what the file of settings says reaches each program, and only what must is open', async () => {
      const said = await config(
        {},
        '--env-file',
        join(copy, 'bus/coordinator.env'),
        '-f',
        join(copy, 'compose.yaml'),
      );
      expect(said).toMatchObject({ code: 0, err: '' });
      const { name, services } = shape.parse(JSON.parse(said.out));
      expect(name).toBe('antipode');
      expect(Object.keys(services).toSorted()).toEqual([
        'backups',
        'bus',
        'coordinator',
        'database',
      ]);
      const { database, bus, coordinator, backups } = services;
      for (const one of [coordinator, backups]) {
        expect(one?.environment).toMatchObject({ BASE_URL: settings.BASE_URL });
        expect(one?.environment.DATABASE_URL).toBe(
          `postgres://antipode:${database?.environment.POSTGRES_PASSWORD}@database:5432/antipode`,
        );
      }
      expect(coordinator?.environment.TRUSTED_PROXIES).toBe('');
      expect(bus?.networks.default?.aliases).toEqual([settings.BUS_HOST]);
      const open = Object.values(services).flatMap(({ ports }) =>
        ports.map(({ host_ip, published }) => `${host_ip ?? 'everywhere'}:${published}`),
      );
      expect(open.toSorted()).toEqual(['127.0.0.1:8080']);
    });

    test('a proxy elsewhere is set in the file of settings', async () => {
      const file = join(copy, 'elsewhere.env');
      await writeFile(
        file,
        `${await readFile(join(copy, 'bus/coordinator.env'), 'utf8')}TRUSTED_PROXIES=192.0.2.7\n`,
      );
      const said = await config({}, '--env-file', file, '-f', join(copy, 'compose.yaml'));
      expect(
        shape.parse(JSON.parse(said.out)).services.coordinator?.environment.TRUSTED_PROXIES,
      ).toBe('192.0.2.7');
    });

    test('figures, once their lines are uncommented, are there for the other containers alone', async () => {
      const file = join(copy, 'figures.yaml');
      await writeFile(file, read('compose.yaml').replaceAll(/^ {6}# (METRICS_)/gm, '      $1'));
      const said = await config({}, '--env-file', join(copy, 'bus/coordinator.env'), '-f', file);
      const { coordinator } = shape.parse(JSON.parse(said.out)).services;
      expect(coordinator?.environment).toMatchObject({
        METRICS_PORT: '9464',
        METRICS_HOST: '0.0.0.0',
      });
      expect(coordinator?.ports.map(({ target }) => target)).toEqual([8080]);
    });

    test('a missing value is reported with its place', async () => {
      await writeFile(join(copy, 'none.env'), '');
      const said = await config(
        {},
        '--env-file',
        join(copy, 'none.env'),
        '-f',
        join(copy, 'compose.yaml'),
      );
      expect(said.code).not.toBe(0);
      expect(said.err).toContain('stands in coordinator.env');
    });

    test('a probe alone: what it may reach comes from the shell', async () => {
      const said = await config(
        { PROBE_ALLOW_CIDRS: '10.0.0.0/8' },
        '-f',
        join(copy, 'probe.yaml'),
      );
      expect(said).toMatchObject({ code: 0, err: '' });
      const { name, services } = shape.parse(JSON.parse(said.out));
      expect([name, services.probe?.environment, services.probe?.ports]).toEqual([
        'antipode-probe',
        { PROBE_ALLOW_CIDRS: '10.0.0.0/8', PROBE_CHECKS_PROXY: '' },
        [],
      ]);
    });

    test('a word that it does not know is refused, so a slip of the pen is found here', async () => {
      await writeFile(
        join(copy, 'slip.yaml'),
        read('probe.yaml').replace('read_only:', 'readonly:'),
      );
      expect((await config({}, '-f', join(copy, 'slip.yaml'))).err).toContain(
        'readonly is not allowed',
      );
    });
  });
});

/**
 * What an image of the probe holds, entered as its user: whether Node finds all that it loads
 * there. No engine of containers is needed, nor tried.
 */
describe('image', () => {
  const mayEnter =
    process.platform === 'linux' &&
    process.getuid?.() === 0 &&
    spawnSync('chroot', ['--version']).status === 0;
  if (!mayEnter) process.stderr.write('SKIPPED: only root can enter what an image holds\n');

  const cache = join(import.meta.dirname, '../../node_modules/.cache/antipode');

  describe.skipIf(!mayEnter)('the image of the probe', () => {
    let root: string;
    beforeAll(async () => {
      // Where programs run for certain; the machine's temporary files may lie where none does.
      mkdirSync(cache, { recursive: true });
      root = mkdtempSync(join(cache, 'image-root-'));
      await makeRoot('probe', root);
      await handOver(root);
    });
    afterAll(() => rmSync(root, { recursive: true }));

    const enter = (...args: readonly string[]) =>
      spawnSync('chroot', [`--userspec=${imageUser}:${imageUser}`, root, '/node', ...args], {
        encoding: 'utf8',
      });

    test('contains the licences of what it contains', () => {
      const read = (name: string): string => readFileSync(join(root, name), 'utf8');
      expect(read('LICENSE')).toContain('MIT License');
      expect(read('LICENSES.txt')).toContain('\nzod ');
      expect(read('licenses/node')).toContain('Node.js is licensed for use as follows');
      expect(read('licenses/libc6')).toContain('LGPL-2.1');
      expect(read('licenses/LGPL-2.1')).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
    });

    test('contains all that the probe needs', () => {
      expect(enter('/antipode.mjs', '--version')).toMatchObject({
        status: 0,
        stdout: `${version}\n`,
      });
      expect(enter('/antipode.mjs', 'run')).toMatchObject({
        status: expect.any(Number),
        stderr: expect.stringContaining('run join first'),
      });
    });

    test('lets its user write to /data and nowhere else, and has no shell', () => {
      const tries = `for (const path of ['/data/x', '/x', '/etc/x', '/antipode.mjs', '/node'])
      try { require('node:fs').appendFileSync(path, ''); console.log(path); } catch (error) { console.log(error.code); }`;
      expect(enter('-e', tries).stdout.split('\n')).toEqual([
        '/data/x',
        'EACCES',
        'EACCES',
        'EACCES',
        'EACCES',
        '',
      ]);
      expect(spawnSync('chroot', [root, '/bin/sh', '-c', 'true']).status).not.toBe(0);
    });

    test('is packed with its data owned by its user, and a root that all may enter', async () => {
      const file = `${root}.tar`;
      try {
        await packRoot(root, file);
        const listed = execFileSync('tar', ['--numeric-owner', '-tvf', file], {
          encoding: 'utf8',
        }).split('\n');
        expect(listed.find((line) => line.endsWith(' ./'))).toMatch(/^drwxr-xr-x 0\/0 /);
        expect(listed.find((line) => line.endsWith(' ./data/'))).toMatch(
          new RegExp(`^drwx------ ${imageUser}/${imageUser} `),
        );
      } finally {
        rmSync(file, { force: true });
      }
    });
  });
});

/**
 * The units for systemd, judged by its own program. That of a probe is written by `join --install`,
 * and judged there.
 */
describe('units', () => {
  const folder = join(import.meta.dirname, '../../deploy/systemd');
  const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;
  if (!isThere) process.stderr.write('SKIPPED: without systemd-analyze nobody judges the units\n');

  const units = ['antipode-coordinator', 'antipode-nats', 'antipode-backup'];

  test.each(units)(
    '%s.service needs no user to be created, and systemd reads its files of /etc for it',
    (name) => {
      const text = readFileSync(join(folder, `${name}.service`), 'utf8');
      expect([text.match(/^(User|Group)=.*$/m), /^DynamicUser=(.*)$/m.exec(text)?.[1]]).toEqual([
        null,
        'yes',
      ]);
      // /etc/antipode is root's with mode 600: only these two are read before the user is taken on.
      const readByRoot = /^(EnvironmentFile=|LoadCredential=[\w.]+:)\/etc\/antipode\/[\w.-]+$/;
      expect(
        text.split('\n').filter((line) => /^[^#].*\/etc\//.test(line) && !readByRoot.test(line)),
      ).toEqual([]);
      const handedOver = [...text.matchAll(/^LoadCredential=([\w.]+):/gm)].map(
        ([, file]) => `%d/${file}`,
      );
      for (const [read] of text.matchAll(/%d\/[\w.]+/g)) expect(handedOver).toContain(read);
    },
  );

  test.skipIf(!isThere).each(units)(
    '%s.service is a unit, and lets nothing out that need not be',
    (name) => {
      const scratch = mkdtempSync(join(tmpdir(), 'antipode-units-'));
      try {
        const file = join(scratch, `${name}.service`);
        // What it starts need not be on this machine.
        writeFileSync(
          file,
          readFileSync(join(folder, `${name}.service`), 'utf8').replace(
            /^ExecStart=\S+/m,
            `ExecStart=${process.execPath}`,
          ),
        );
        const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
          encoding: 'utf8',
        });
        expect(
          `${verified.stdout}${verified.stderr}`.split('\n').filter((line) => line.includes(name)),
        ).toEqual([]);
        // Tenths: 20 is an exposure of 2.0.
        const judged = spawnSync(
          'systemd-analyze',
          ['security', '--offline=true', '--threshold=20', file],
          { encoding: 'utf8' },
        );
        expect([judged.status, /Overall exposure level[^\n]*/.exec(judged.stdout)?.[0]]).toEqual([
          0,
          expect.stringContaining('OK'),
        ]);
      } finally {
        rmSync(scratch, { recursive: true });
      }
    },
  );

  test.skipIf(!isThere)(
    'the timer of backups is one, and begins the unit of its name each night',
    () => {
      const file = join(folder, 'antipode-backup.timer');
      const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
        encoding: 'utf8',
      });
      expect(
        `${verified.stdout}${verified.stderr}`
          .split('\n')
          .filter((line) => line.includes('antipode-backup.timer')),
      ).toEqual([]);
      const when = /^OnCalendar=(.+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
      const next = spawnSync(
        'systemd-analyze',
        ['calendar', '--base-time=2026-11-23 12:00:00 UTC', when],
        { encoding: 'utf8' },
      );
      expect(next.stdout).toContain('Tue 2026-11-24 03:17:00 UTC');
    },
  );
});

/**
 * A coordinator speaks no TLS: in every delivered form a proxy stands before it, whose word must
 * count, or all callers are one address.
 */
describe('proxies', () => {
  const read = (file: string): string =>
    readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8');

  test.each([
    ['systemd/antipode-coordinator.service', /^Environment=TRUSTED_PROXIES=(.+)$/m, 'loopback'],
    // Of a network nobody but the host knows the proxy's address: the file of settings names it.
    ['compose/compose.yaml', /^ {6}TRUSTED_PROXIES: (.+)$/m, `\${TRUSTED_PROXIES:-}`],
  ])(
    '%s trusts no proxy but those that it knows, and those that are named',
    (file, line, value) => {
      expect(line.exec(read(file))?.[1]).toBe(value);
    },
  );

  test('the proxy that the documentation shows says who asks, added to what came, and hands the host on', () => {
    const [, nginx = ''] = /```nginx\n([^`]+)```/.exec(read('../docs/proxy.md')) ?? [];
    expect(nginx).toContain('proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;');
    expect(nginx).toContain('proxy_set_header Host $host;');
  });
});
