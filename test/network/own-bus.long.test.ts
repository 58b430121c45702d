import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { createProbe } from '../../probe/app.ts';
import { readConfig } from '../../probe/config.ts';
import { readIfThere } from '../../probe/disk/files.ts';
import { type OwnBus, startOwnBus } from '../support/buses.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import {
  canMakeTwoHosts,
  type Host,
  makeTwoHosts,
  openGate,
  type TwoHosts,
} from '../support/hosts.ts';
import { seenFrom } from '../support/monitors.ts';
import {
  type CoordinatorProcess,
  createNetwork,
  type Network,
  testLog,
} from '../support/network.ts';
import {
  type ChildProgram,
  runProgram,
  type Said,
  startChildProgram,
} from '../support/processes.ts';
import { freePort, hasBinaries } from '../support/services.ts';

/**
 * Hosts of their own, with nothing of ours but their Node: curl brings the one file over https,
 * under an authority that the hosts were told of. The bus wants TLS before it greets anybody, under
 * another authority that only joining tells of.
 */
describe('joining from another network', () => {
  /** Servers of 2.9 greet everybody in the clear. */
  const hasTlsFirst = (): boolean => {
    const [major = 0, minor = 0] = inject('services').nats.version;
    const has = hasBinaries() && (major > 2 || minor >= 10);
    if (!has)
      process.stderr.write(
        'SKIPPED: a bus that takes TLS first needs a nats-server of 2.10 or newer\n',
      );
    return has;
  };

  const hasCurl = (): boolean => {
    const has = spawnSync('curl', ['--version']).status === 0;
    if (!has) process.stderr.write('SKIPPED: hosts of their own fetch the probe with curl\n');
    return has;
  };

  describe.runIf(hasTlsFirst() && hasCurl() && canMakeTwoHosts())('a host of its own', () => {
    const authority = mintAuthority('the service of this test');
    /** The host hears of it by joining alone. */
    const ofTheBus = mintAuthority('the bus of this test');
    const servers: Server[] = [];
    const sockets = new Set<Socket>();
    const running: ChildProgram[] = [];
    const gates = { web: openGate(), bus: openGate() };
    let two: TwoHosts;
    let bus: OwnBus;
    let busPort: number;
    let network: Network;
    let coordinator: CoordinatorProcess;
    let baseUrl: string;
    const folders: string[] = [];

    /**
     * For what the test itself does on the bus, which wants TLS before it greets anybody: it goes
     * without, and is told that there is none.
     */
    const withoutTls = async (port: number): Promise<void> => {
      const server = createPlainServer((from) => {
        const onward = tlsConnect({
          port: Number(new URL(bus.nats.url).port),
          host: '127.0.0.1',
          ca: ofTheBus.certificate,
        });
        for (const one of [from, onward]) sockets.add(one.on('error', () => undefined));
        from.on('close', () => onward.destroy());
        onward.on('close', () => from.destroy());
        from.pipe(onward);
        // The greeting comes first, and whole.
        onward.once('data', (greeting: Buffer) => {
          from.write(
            greeting.toString('latin1').replace('"tls_required":true', '"tls_required":null'),
            'latin1',
          );
          onward.pipe(from);
        });
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      servers.push(server);
    };

    beforeAll(async () => {
      two = await makeTwoHosts();
      const { here } = two;
      bus = await startOwnBus({
        tls: { shows: mint({ names: [here, '127.0.0.1'], issuer: ofTheBus }) },
      });
      const ownPort = Number(new URL(bus.nats.url).port);
      const plainPort = await freePort();
      await withoutTls(plainPort);
      network = await createNetwork({
        services: {
          ...inject('services'),
          nats: { ...bus.nats, url: `nats://127.0.0.1:${plainPort}` },
        },
      });
      busPort = await two.relay({ host: '127.0.0.1', port: ownPort }, undefined, gates.bus);
      const behind = () => ({ host: '127.0.0.1', port: Number(new URL(coordinator.url).port) });
      baseUrl = `https://${here}:${await two.relay(behind, mint({ names: [here], issuer: authority }), gates.web)}`;
      coordinator = await network.startCoordinatorProcess({
        BASE_URL: baseUrl,
        NATS_PUBLIC_URL: `tls://${here}:${busPort}`,
        NATS_URL: bus.nats.url.replace('nats:', 'tls:'),
        NATS_CA: ofTheBus.certificate,
      });
    });
    afterAll(async () => {
      for (const one of running) {
        one.signal('SIGKILL');
        await one.exited;
      }
      await network?.close();
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
      await bus?.stop();
      await two?.close();
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    });

    const invite = async (probe: string): Promise<string> => {
      const invited = await fetch(`${coordinator.url}/api/v1/probes/invitations`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${network.house.owner.readWrite}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ name: probe, continent: 'Africa' }),
      });
      return z.object({ token: z.string() }).parse(await invited.json()).token;
    };

    type Line = readonly [string, ...string[]];
    type Seat = {
      readonly folder: string;
      readonly fetched: () => Promise<Said>;
      readonly join: (token: string, ...more: readonly string[]) => Line;
    };

    /** A folder on a host, and what is typed in it. */
    const seatOn = async ({ netns }: Host): Promise<Seat> => {
      const folder = await mkdtemp(join(tmpdir(), 'aje-'));
      folders.push(folder);
      await writeFile(join(folder, 'authority.pem'), authority.certificate);
      const inside = [
        'ip',
        'netns',
        'exec',
        netns,
        'env',
        '-i',
        '-C',
        folder,
        `PATH=${process.env.PATH ?? ''}`,
      ] as const;
      const settings = [`PROBE_ALLOW_CIDRS=${two.here}/24`];
      return {
        folder,
        fetched: () =>
          runProgram([
            ...inside,
            'curl',
            '-fsSO',
            '--cacert',
            'authority.pem',
            `${baseUrl}/downloads/antipode-probe.mjs`,
          ]),
        join: (token, ...more) => [
          ...inside,
          ...settings,
          process.execPath,
          'antipode-probe.mjs',
          'join',
          '--ca',
          'authority.pem',
          baseUrl,
          token,
          ...more,
        ],
      };
    };

    const hears = (output: string): boolean =>
      output.includes("a coordinator receives this probe's presence");
    const probesNamed = (...names: readonly string[]) =>
      network.sql`select name from probes where name = any(${names})`;

    test('from curl to the first check, without a checkout and without a shared disk but for its own folder', async () => {
      const [host] = two.hosts;
      const target = await two.target();
      const token = await invite('Elsewhere');
      const { folder, fetched, join: joining } = await seatOn(host);

      const began = performance.now();
      expect(await fetched()).toEqual({ code: 0, out: '', err: '' });
      expect((await readdir(folder)).toSorted()).toEqual(['antipode-probe.mjs', 'authority.pem']);
      const program = await startChildProgram(joining(token), {}, hears);
      running.push(program);
      const said = program.output();
      for (const what of ['clock', 'dns', 'addresses', 'bus', 'anchors', 'disk'])
        expect(said).toMatch(new RegExp(`^ok  ${what} `, 'm'));
      expect(said).toContain(`tls://${two.here}:${busPort} lets this probe in`);
      expect(said).toContain(`IPv4 from ${host.address}`);
      const probe = await eventually(async () => {
        const [row] = await network.sql<
          { id: string }[]
        >`select id from probes where name = 'Elsewhere' and allowed_cidrs <> '{}'`;
        return row?.id;
      });
      await network.addMonitor({ target: target.url, interval_s: 10, config: { probe } });
      await eventually(() => target.hits() > 0);
      const took = performance.now() - began;
      // The one time that a test asserts, for it is what we promise; it is about five seconds.
      expect(took).toBeLessThan(60_000);
      program.signal('SIGKILL');
      await program.exited;

      const again = await runProgram(joining(token, '--data', 'other'));
      expect(again).toMatchObject({ code: 20, out: '' });
      expect(again.err).toContain('another host has used it already');
      const late = await invite('Too late');
      await network.sql`update probe_invitations set expires_at = now() - interval '1 second' where name = 'Too late'`;
      const over = await runProgram(joining(late, '--data', 'other'));
      expect(over).toMatchObject({ code: 20, out: '' });
      expect(over.err).toContain('was good for an hour');
      expect(await probesNamed('Elsewhere', 'Too late')).toEqual([{ name: 'Elsewhere' }]);
      process.stdout.write(`from curl to the first check: ${(took / 1_000).toFixed(1)} s\n`);
    });

    test('killed with -9 at each step of joining goes on by the same line, as one probe; the token is of no use to a thief on another host', async () => {
      const [host, elsewhere] = two.hosts;
      const token = await invite('Patient');
      const { folder, fetched, join: joining } = await seatOn(host);
      expect((await fetched()).code).toBe(0);
      const identity = async (): Promise<{ readonly seed: string; readonly enrolled: unknown }> =>
        z
          .object({ seed: z.string(), enrolled: z.unknown() })
          .parse(JSON.parse((await readIfThere(join(folder, 'identity.json'))) ?? '{}'));
      const killedWhile = async (gate: 'web' | 'bus', way: 'up' | 'down'): Promise<void> => {
        gates[gate][way] = true;
        const program = await startChildProgram(
          joining(token, '--data', '.'),
          {},
          () => gates[gate].kept,
        );
        program.signal('SIGKILL');
        expect(await program.exited).toBeNull();
        Object.assign(gates[gate], openGate());
      };

      // Its key is made and on the disk; what it asked never came to the coordinator.
      await killedWhile('web', 'up');
      const { seed, enrolled } = await identity();
      expect(enrolled).toBeNull();
      expect(await probesNamed('Patient')).toEqual([]);
      // The token is spent; the answer never came.
      await killedWhile('web', 'down');
      expect(await identity()).toEqual({ seed, enrolled: null });
      expect(await probesNamed('Patient')).toHaveLength(1);
      const thief = await seatOn(elsewhere);
      expect((await thief.fetched()).code).toBe(0);
      const stolen = await runProgram(thief.join(token));
      expect(stolen).toMatchObject({ code: 20, out: '' });
      expect(stolen.err).toContain('another host has used it already');
      // It knows who it is; of its checklist it has not come to an end.
      await killedWhile('bus', 'up');
      expect(await identity()).toMatchObject({ seed, enrolled: { name: 'Patient' } });

      const program = await startChildProgram(joining(token, '--data', '.'), {}, hears);
      running.push(program);
      expect(program.output()).toContain('This host is Patient in Africa');
      expect((await identity()).seed).toBe(seed);
      expect(await probesNamed('Patient')).toHaveLength(1);
      expect((await runProgram(thief.join(token))).code).toBe(20);
    });
  });
});

/**
 * A whole network on a bus with TLS, which takes clients without it, too: whether there is TLS is
 * for us alone to see to.
 */
describe('a bus with TLS', () => {
  const main = join(import.meta.dirname, '../../coordinator/main.ts');
  const authority = mintAuthority('an authority of our own');
  const ca = authority.certificate;
  let own: OwnBus;
  let network: Network;
  let plain: TcpProxy;
  let relay: TcpProxy;
  let secured: string;
  let said = '';

  beforeAll(async () => {
    if (!hasBinaries()) return;
    own = await startOwnBus({
      tls: { shows: mint({ names: ['127.0.0.1'], issuer: authority }), isOptional: true },
    });
    // Whoever goes through it is greeted in the clear.
    relay = await createTcpProxy(own.nats.url, {
      overhear: (data) => {
        said += data.toString('latin1');
      },
      rewrite: () => Buffer.from('INFO {"proto":1,"version":"2.12.6","max_payload":1048576}\r\n'),
    });
    // What the test itself does on the bus goes without.
    plain = await createTcpProxy(own.nats.url, {
      rewrite: (data) =>
        Buffer.from(
          data.toString('latin1').replace('"tls_available":true', '"tls_available":null'),
          'latin1',
        ),
    });
    network = await createNetwork({
      services: { ...inject('services'), nats: { ...own.nats, url: plain.url } },
    });
    secured = own.nats.url.replace('nats:', 'tls:');
  });
  afterAll(async () => {
    await network?.close();
    await plain?.close();
    await relay?.close();
    await own?.stop();
  });

  const healthShape = z.object({
    parts: z.object({ probes: z.array(z.object({ name: z.string(), present: z.boolean() })) }),
  });

  const presentAt = async ({ url }: CoordinatorProcess): Promise<string[]> =>
    healthShape
      .parse(await (await fetch(`${url}/health`)).json())
      .parts.probes.flatMap(({ name, present }) => (present ? [name] : []));

  describe.runIf(hasBinaries())('coordinators and probes on a bus at tls://', () => {
    test('check and report; a probe whose connection loses TLS sends nothing to the bus, and does not count', async () => {
      const coordinator = await network.startCoordinatorProcess({ NATS_URL: secured, NATS_CA: ca });
      const target = await network.startTarget();
      await network.startProbe(await network.makeProbe('Europe', 'safe'), {
        url: secured,
        environment: { PROBE_NATS_CA: ca },
      });
      const cheated = await network.makeProbe('Asia', 'cheated');
      await network.startProbe(cheated, {
        url: relay.through('tls://bus'),
        environment: { PROBE_NATS_CA: ca },
        isAlone: true,
      });
      const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
      await seenFrom(network.sql, monitor, 1);
      await eventually(() => relay.calls() > 3);
      expect(await presentAt(coordinator)).toEqual(['safe']);
      expect(said).not.toContain('CONNECT');
    });

    test('and a probe connects that knows their authority from its joining alone', async () => {
      const coordinator = await network.startCoordinatorProcess({ NATS_URL: secured, NATS_CA: ca });
      const { credentials, folder } = await network.makeProbe('Africa', 'joined');
      const probe = await createProbe(
        {
          ...readConfig({
            PROBE_CREDENTIALS: credentials,
            PROBE_DATA_DIR: folder,
            PROBE_NATS_URL: secured,
          }),
          authorities: ca,
        },
        { log: testLog(), handOverMs: 0 },
      );
      await eventually(
        async () => (await presentAt(coordinator)).includes('joined'),
        20_000,
      ).finally(probe.close);
    });

    test('a coordinator whose way takes TLS away does not come to work, and says nothing to the bus', async () => {
      const dialled = relay.calls();
      const environment = {
        ...network.environment,
        NATS_URL: relay.through('tls://bus'),
        NATS_CA: ca,
      };
      const program = await startChildProgram(
        [process.execPath, main],
        environment,
        async () => relay.calls() > dialled + 3,
      );
      program.signal('SIGKILL');
      await program.exited;
      expect(said).not.toContain('CONNECT');
    });
  });
});
