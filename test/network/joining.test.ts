import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bundleDownload } from '../../coordinator/api/bundles.ts';
import { createProbe } from '../../probe/app.ts';
import { readConfig } from '../../probe/config.ts';
import { readIfThere } from '../../probe/disk/files.ts';
import {
  coordinatorAt,
  enrol,
  identityIn,
  keyOf,
  openIdentity,
  parseIdentity,
} from '../../probe/joining/join.ts';
import { newId } from '../../shared/base/crypto.ts';
import { probeLimits, probePermissions } from '../../shared/bus/identity.ts';
import { createKey, keyFromSeed, mintUser, readJwt } from '../../shared/bus/nkeys.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import {
  type CoordinatorProcess,
  createNetwork,
  type Network,
  signingKeysOfTests,
  testLog,
} from '../support/network.ts';
import {
  type ChildProgram,
  runProgram,
  type Said,
  startChildProgram,
} from '../support/processes.ts';
import { freePort } from '../support/services.ts';

/** A stranger's host becomes a probe, by one file and one token. */
describe('joining', () => {
  let network: Network;
  let coordinator: CoordinatorProcess;
  let program: string;
  let place: string;
  let folder: string;
  const running: ChildProgram[] = [];

  const madeShape = z.object({ id: z.uuid(), token: z.string(), name: z.string() });

  beforeAll(async () => {
    network = await createNetwork();
    coordinator = await network.startCoordinatorProcess();
    place = await mkdtemp(join(tmpdir(), 'aj-'));
    program = join(place, 'antipode-probe.mjs');
    await writeFile(program, await bundleDownload('antipode-probe.mjs'));
  });
  afterAll(async () => {
    await network?.close();
    await rm(place, { recursive: true, force: true });
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(place, 'h'));
    await network.sql`delete from attempts`;
  });
  afterEach(async () => {
    for (const one of running.splice(0)) {
      one.signal('SIGKILL');
      await one.exited;
    }
  });

  let invited = 0;
  const invite = async () => {
    invited += 1;
    const response = await fetch(`${coordinator.url}/api/v1/probes/invitations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${network.house.owner.readWrite}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: `Nairobi ${invited}`, continent: 'Africa' }),
    });
    expect(response.status).toBe(201);
    return madeShape.parse(await response.json());
  };

  const environment = { PATH: process.env.PATH ?? '', PROBE_ALLOW_CIDRS: '127.0.0.0/8' };

  const say = (
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<Said> =>
    runProgram([process.execPath, program, ...args, '--data', folder], {
      env: { ...environment, ...more },
    });

  const start = async (
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<ChildProgram> => {
    const started = await startChildProgram(
      [process.execPath, program, ...args, '--data', folder],
      { ...environment, ...more },
      (output) => output.includes('"msg":"the probe has started"'),
    );
    running.push(started);
    return started;
  };

  const probesNamed = (name: string) =>
    network.sql<{ id: string }[]>`select id from probes where name = ${name}`;

  describe('antipode-probe.mjs join', () => {
    test('makes a probe of a host, in an empty folder; it says so on request, and starts again by itself', async () => {
      const target = await network.startTarget();
      const { token, name } = await invite();
      const first = await start(['join', coordinator.url, token]);
      const said = first.output();
      expect(said).toContain(
        `This host is ${name} in Africa, a private probe of your organisation.`,
      );
      for (const what of ['clock', 'dns', 'addresses', 'bus', 'anchors', 'disk'])
        expect(said).toMatch(new RegExp(`^ok  ${what} `, 'm'));
      await eventually(async () => (await say(['health', '--strict'])).code === 0);
      const [probe] = await probesNamed(name);
      // The host says what may be reached from it; with that known, a target of its own network can
      // be named.
      await eventually(
        async () =>
          (
            await network.sql`select 1 from probes where id = ${probe?.id ?? ''} and allowed_cidrs <> '{}'`
          ).length === 1,
      );
      await network.addMonitor({
        target: target.url(),
        interval_s: 10,
        config: { probe: probe?.id ?? '' },
      });
      await eventually(() => target.hits.length > 0);
      first.signal('SIGTERM');
      expect(await first.exited).toBe(0);
      expect(await say(['health'])).toMatchObject({ code: 1 });
      // Neither token nor address is needed any more.
      const before = target.hits.length;
      await start(['run']);
      await eventually(() => target.hits.length > before);
    });

    test('run with a token in its environment joins once, as a container does, and runs on while the service is away', async () => {
      const { token, name } = await invite();
      const first = await start(['run'], {
        PROBE_JOIN_URL: coordinator.url,
        PROBE_JOIN_TOKEN: token,
      });
      expect(first.output()).toContain(`This host is ${name} in Africa`);
      first.signal('SIGKILL');
      await first.exited;
      const again = await start(['run'], {
        PROBE_JOIN_URL: 'https://away.invalid',
        PROBE_JOIN_TOKEN: token,
      });
      expect(again.output()).not.toContain('This host is');
      expect(await probesNamed(name)).toHaveLength(1);
    });

    test('killed after its key was made, and after the token was spent, goes on where it was', async () => {
      const { token, name } = await invite();
      const path = identityIn(folder);
      const { answer } = await enrol(
        coordinatorAt(coordinator.url),
        token,
        keyOf(await openIdentity(path)),
      );
      const started = await start(['join', coordinator.url, token]);
      expect(started.output()).toContain(`This host is ${name}`);
      expect(await probesNamed(name)).toEqual([{ id: answer.probe }]);
    });

    test('with a token that another host has used, an invalid one, or over an unencrypted connection: refused in words, and nothing is made', async () => {
      const { token, name } = await invite();
      await enrol(
        coordinatorAt(coordinator.url),
        token,
        keyOf(await openIdentity(join(place, 'other', 'identity.json'))),
      );
      const stolen = await say(['join', coordinator.url, token]);
      expect(stolen).toMatchObject({ code: 20, out: '' });
      expect(stolen.err).toContain('another host has used it already');
      expect(await probesNamed(name)).toHaveLength(1);
      const wrong = await say(['join', coordinator.url, `${token}x`]);
      expect(wrong).toMatchObject({ code: 20 });
      expect(wrong.err).toContain('join_token_invalid');
      const clear = await say(['join', 'http://antipode.example', token]);
      expect(clear).toMatchObject({ code: 2 });
      expect(clear.err).toContain('would send the token unencrypted');
      const nobody = await say(['join', `http://127.0.0.1:${await freePort()}`, token]);
      expect(nobody).toMatchObject({ code: 21 });
      expect(nobody.err).toContain('ECONNREFUSED');
      for (const { err } of [stolen, wrong, clear, nobody]) expect(err).not.toMatch(/^ +at /m);
    });

    test('over with its hour: refused in words', async () => {
      const { token, id } = await invite();
      await network.sql`update probe_invitations set expires_at = now() - interval '1 second' where id = ${id}`;
      const late = await say(['join', coordinator.url, token]);
      expect(late).toMatchObject({ code: 20 });
      expect(late.err).toContain('was good for an hour');
    });

    test('where something is wrong says what to do, with an exit code of its own; the host is the probe all the same', async () => {
      const { token, name } = await invite();
      const full = await say(['join', coordinator.url, token], { PROBE_SPOOL_MB: '900000000' });
      expect(full).toMatchObject({ code: 15 });
      expect(full.out).toMatch(/^NO {2}disk .*Make room, or set PROBE_SPOOL_MB lower/m);
      expect(full.out).toMatch(/^ok {2}bus /m);
      expect(await probesNamed(name)).toHaveLength(1);
      expect(await say(['check'])).toMatchObject({ code: 0, err: '' });
    });

    test('--install writes a unit that systemd takes, and hands it the identity', async () => {
      const { token } = await invite();
      const line = ['join', coordinator.url, token, '--install', '--root', folder];
      // The disk is the one that the service will write to. Nothing is installed that is not well,
      // and the same line goes on later.
      const full = await say(line, { PROBE_SPOOL_MB: '900000000' });
      expect(full).toMatchObject({ code: 15 });
      expect(full.out).toContain(`MiB free in ${join(folder, 'var/lib')}`);
      expect(full.err).toContain('fix it, then: run the same command again');
      expect(await readdir(join(folder, 'etc'))).toEqual(['antipode-probe']);
      const wrong = await say(line, { PROBE_CONCURRENCY: 'many' });
      expect(wrong).toMatchObject({ code: 1, out: '' });
      expect(wrong.err).toContain('PROBE_CONCURRENCY: must be a whole number');
      const written = await say(line, { PROBE_SPOOL_MB: '64' });
      expect(written).toMatchObject({ code: 0, err: '' });
      expect((await readdir(join(folder, 'etc/antipode-probe'))).toSorted()).toEqual([
        'environment',
        'identity.json',
      ]);
      // The service hears nothing of this shell.
      const environmentFile = join(folder, 'etc/antipode-probe/environment');
      expect(written.out).toContain(
        `Taken from this shell into ${environmentFile}: PROBE_ALLOW_CIDRS, PROBE_SPOOL_MB`,
      );
      expect(parseEnv(await readFile(environmentFile, 'utf8'))).toEqual({
        PROBE_ALLOW_CIDRS: '127.0.0.0/8',
        PROBE_SPOOL_MB: '64',
      });
      // A service that runs already would go on as whom it was begun.
      expect(written.out).toContain('systemctl restart antipode-probe\n');
      // It is found from anywhere, and judged by what the service goes by.
      const found = await runProgram([process.execPath, program, 'check', '--root', folder], {
        env: { PATH: environment.PATH },
      });
      expect(found).toMatchObject({ code: 0, err: '' });
      await writeFile(environmentFile, 'PROBE_SPOOL_MB=900000000\n');
      expect(
        (
          await runProgram([process.execPath, program, 'check', '--root', folder], {
            env: { PATH: environment.PATH },
          })
        ).code,
      ).toBe(15);
      const asked = await runProgram([process.execPath, program, 'health', '--root', folder], {
        env: { PATH: environment.PATH },
      });
      expect(asked).toMatchObject({
        code: 1,
        out: `no probe runs on ${join(folder, 'var/lib/antipode-probe')}\n`,
      });
      const unit = join(folder, 'etc/systemd/system/antipode-probe.service');
      const judged = spawnSync(
        'systemd-analyze',
        ['security', '--offline=true', '--threshold=20', unit],
        { encoding: 'utf8' },
      );
      if (judged.error)
        return void process.stderr.write(
          'SKIPPED: the exposure of the unit needs systemd-analyze\n',
        );
      expect(judged.stdout).toMatch(/Overall exposure level/);
      expect(judged.status).toBe(0);
    });
  });

  describe('a service whose certificate is of an authority of its own', () => {
    const authority = mintAuthority('the service of this test');
    const { chain, key } = mint({ names: ['localhost'], issuer: authority });
    let front: Server;
    let address: string;
    let file: string;

    beforeAll(async () => {
      file = join(place, 'authority.pem');
      await writeFile(file, authority.certificate);
      const { port: onward } = new URL(coordinator.url);
      front = createServer({ cert: chain, key }, (asked, response) => {
        const { method, url: path, headers } = asked;
        const call = request({ port: onward, method, path, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        });
        asked.pipe(call);
      });
      const port = await freePort();
      await new Promise<void>((resolve) => front.listen(port, 'localhost', resolve));
      address = `https://localhost:${port}`;
    });
    afterAll(() => front.close());

    test('is joined where the machine trusts it, or with --ca FILE, which the installed service keeps; else it says what to do', async () => {
      const { token, name } = await invite();
      const install = ['join', address, token, '--install', '--root', folder];
      const unknown = await say(install);
      expect(unknown).toMatchObject({ code: 21, out: '' });
      expect(unknown.err).toContain(
        'name it to join with --ca FILE, or add it to those that this machine trusts',
      );
      expect(await say(['join', address, token, '--ca', join(place, 'nothing.pem')])).toMatchObject(
        { code: 2, out: '' },
      );
      const named = await say([...install, '--ca', file]);
      expect(named).toMatchObject({ code: 0, err: '' });
      expect(named.out).toContain(`This host is ${name}`);
      const kept = await readFile(join(folder, 'etc/antipode-probe/identity.json'), 'utf8');
      expect(parseIdentity(kept).authorities).toBe(authority.certificate);
      // The same line again, without the file: it is known here.
      expect(await say(install)).toMatchObject({ code: 0, err: '' });
      const { token: other } = await invite();
      const elsewhere = join(folder, 'elsewhere');
      const trusted = await runProgram(
        [process.execPath, program, 'join', address, other, '--install', '--root', elsewhere],
        {
          env: { ...environment, SSL_CERT_FILE: file },
        },
      );
      expect(trusted).toMatchObject({ code: 0, err: '' });
    });
  });
});

describe('credentials that end soon', () => {
  let network: Network;
  let folder: string;
  const day = 86_400_000;

  beforeAll(async () => {
    network = await createNetwork();
    folder = await mkdtemp(join(tmpdir(), 'antipode-renewal-'));
  });
  afterAll(async () => {
    await network?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('a probe whose credentials have five days left gets new ones with its presence, is on the bus with them, and keeps them', async () => {
    await network.startCoordinator();
    const [probe, key, now] = [newId(), createKey('user'), Date.now()];
    const keys = JSON.stringify([{ key: key.id, until: null }]);
    await network.sql`insert into probes (id, name, continent, keys) values (${probe}, 'Old', 'Africa', ${keys}::text::jsonb)`;
    const permissions = probePermissions({ probe, continent: 'Africa', organisation: null });
    const account = keyFromSeed(network.account.accountSeed, 'account');
    const user = {
      name: 'Old',
      user: key.id,
      account,
      permissions,
      limits: probeLimits,
      expiresAt: now + 5 * day,
    };
    const enrolled = {
      probe,
      name: 'Old',
      continent: 'Africa',
      organisation: null,
      nats_url: network.account.url,
      nats_ca: null,
      jwt: mintUser(user, now - 25 * day),
      base_url: '',
      anchors: [],
      signing_keys: signingKeysOfTests,
    };
    const config = readConfig({
      PROBE_IDENTITY: JSON.stringify({ v: 1, seed: key.seed, enrolled }),
      PROBE_DATA_DIR: folder,
    });
    const seen = async () => {
      const [row] = await network.sql<
        { last_seen_at: number | null }[]
      >`select last_seen_at from probes where id = ${probe}`;
      return row?.last_seen_at ?? 0;
    };

    const app = await createProbe(config, { log: testLog() });
    const renewed = await eventually(() => readIfThere(join(folder, 'renewed.jwt')));
    expect(readJwt(renewed).sub).toBe(key.id);
    expect((readJwt(renewed).exp ?? 0) * 1_000).toBeGreaterThan(now + 29 * day);
    const atRenewal = Date.now();
    await eventually(async () => (await seen()) > atRenewal);
    await app.close();
  });
});
