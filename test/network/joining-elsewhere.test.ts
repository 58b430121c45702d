import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { mint, mintAuthority } from '../support/certificates.ts';
import { type ChildProgram, startChildProgram } from '../support/child-program.ts';
import { eventually } from '../support/eventually.ts';
import { startNameServer } from '../support/name-server.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { type OwnBus, startOwnBus } from '../support/own-bus.ts';
import { runProgram } from '../support/programs.ts';
import { freePort, hasBinaries } from '../support/services.ts';

/**
 * A host of its own, with nothing of ours but its Node: curl brings the one file over https, under an authority that the host was told of. The bus wants TLS
 * before it greets anybody, under another authority that only joining tells of.
 */

const name = `aj${process.pid}`;
/** A network of its own, so that two such tests on one machine do not meet. */
const network24 = `10.213.${process.pid % 250}`;
const [here, there] = [`${network24}.1`, `${network24}.2`];

const ip = (...args: readonly string[]): boolean => spawnSync('ip', args).status === 0;

const makeHost = (): boolean =>
  ip('netns', 'add', name) &&
  ip('link', 'add', `${name}a`, 'type', 'veth', 'peer', 'name', `${name}b`) &&
  ip('link', 'set', `${name}b`, 'netns', name) &&
  ip('addr', 'add', `${here}/24`, 'dev', `${name}a`) &&
  ip('link', 'set', `${name}a`, 'up') &&
  ip('-n', name, 'addr', 'add', `${there}/24`, 'dev', `${name}b`) &&
  ip('-n', name, 'link', 'set', `${name}b`, 'up') &&
  ip('-n', name, 'link', 'set', 'lo', 'up') &&
  ip('-n', name, 'route', 'add', 'default', 'via', here);

const removeHost = (): void => {
  ip('netns', 'del', name);
  ip('link', 'del', `${name}a`);
};

/** Whether this machine lets us make hosts. Says loudly when it does not, because then something is not tested. */
const canMakeHosts = (): boolean => {
  const can = process.platform === 'linux' && spawnSync('curl', ['--version']).status === 0 && makeHost();
  removeHost();
  if (!can) process.stderr.write('SKIPPED: a host of its own needs ip netns (root, on Linux) and curl\n');
  return can;
};

const listening = async (server: Server, port: number): Promise<Server> => {
  server.listen(port, here);
  await once(server, 'listening');
  return server;
};

/** Servers of 2.9 greet everybody in the clear. */
const hasTlsFirst = (): boolean => {
  const [major = 0, minor = 0] = inject('services').nats.version;
  const has = hasBinaries() && (major > 2 || minor >= 10);
  if (!has) process.stderr.write('SKIPPED: a bus that takes TLS first needs a nats-server of 2.10 or newer\n');
  return has;
};

describe.runIf(hasTlsFirst() && canMakeHosts())('a host of its own', () => {
  const authority = mintAuthority('the service of this test');
  const certificate = mint({ names: [here], issuer: authority });
  /** The host hears of it by joining alone. */
  const ofTheBus = mintAuthority('the bus of this test');
  const servers: { readonly close: () => unknown }[] = [];
  const sockets = new Set<Socket>();
  const running: ChildProgram[] = [];
  let bus: OwnBus;
  let network: Network;
  let folder: string;

  const relay =
    (to: () => number) =>
    (from: Socket): void => {
      const onward = connect(to(), '127.0.0.1');
      for (const [one, other] of [
        [from, onward],
        [onward, from],
      ] as const) {
        sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
        one.pipe(other);
      }
    };

  /** On the address that the other host sees; behind it what speaks in the clear on loopback. */
  const withTls = async (port: number, to: () => number): Promise<void> => {
    servers.push(await listening(createTlsServer({ cert: certificate.chain, key: certificate.key }, relay(to)), port));
  };
  const inTheClear = async (port: number, to: () => number): Promise<void> => {
    servers.push(await listening(createPlainServer(relay(to)), port));
  };

  /** For what the test itself does on the bus, which wants TLS before it greets anybody: it goes without, and is told that there is none. */
  const withoutTls = async (port: number): Promise<void> => {
    const server = createPlainServer((from) => {
      const onward = tlsConnect({ port: Number(new URL(bus.nats.url).port), host: '127.0.0.1', ca: ofTheBus.certificate });
      for (const one of [from, onward]) sockets.add(one.on('error', () => undefined));
      from.on('close', () => onward.destroy());
      onward.on('close', () => from.destroy());
      from.pipe(onward);
      // The greeting comes first, and whole.
      onward.once('data', (greeting: Buffer) => {
        from.write(greeting.toString('latin1').replace('"tls_required":true', '"tls_required":null'), 'latin1');
        onward.pipe(from);
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
  };

  beforeAll(async () => {
    expect(makeHost()).toBe(true);
    folder = await mkdtemp(join(tmpdir(), 'aje-'));
    await mkdir(`/etc/netns/${name}`, { recursive: true });
    await writeFile(`/etc/netns/${name}/resolv.conf`, `nameserver ${here}\n`);
    await writeFile(join(folder, 'authority.pem'), authority.certificate);
    bus = await startOwnBus({ tls: { shows: mint({ names: [here, '127.0.0.1'], issuer: ofTheBus }), way: 'first' } });
    const plainPort = await freePort();
    await withoutTls(plainPort);
    network = await createNetwork({ services: { ...inject('services'), nats: { ...bus.nats, url: `nats://127.0.0.1:${plainPort}` } } });
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
    removeHost();
    await rm(`/etc/netns/${name}`, { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  });

  test('from curl to the first check, without a checkout and without a shared disk but for its own folder', async () => {
    const [webPort, busPort] = [await freePort(), await freePort()];
    servers.push(await startNameServer(here));
    let webTo = 0;
    await withTls(webPort, () => webTo);
    await inTheClear(busPort, () => Number(new URL(bus.nats.url).port));
    const baseUrl = `https://${here}:${webPort}`;
    const coordinator = await network.startCoordinatorProcess({
      ...{ BASE_URL: baseUrl, NATS_PUBLIC_URL: `tls://${here}:${busPort}` },
      ...{ NATS_URL: bus.nats.url.replace('nats:', 'tls:'), NATS_TLS_FIRST: 'true', NATS_CA: ofTheBus.certificate },
    });
    webTo = Number(new URL(coordinator.url).port);
    let hits = 0;
    const target = createPlainServer((socket) => {
      hits += 1;
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok');
    });
    const targetPort = await freePort();
    servers.push(await listening(target, targetPort));

    const invite = async (probe: string): Promise<string> => {
      const invited = await fetch(`${coordinator.url}/api/v1/probes/invitations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${network.house.owner.readWrite}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: probe, continent: 'Africa' }),
      });
      return z.object({ token: z.string() }).parse(await invited.json()).token;
    };
    const token = await invite('Elsewhere');

    const began = performance.now();
    const inside = ['ip', 'netns', 'exec', name, 'env', '-i', '-C', folder, `PATH=${process.env.PATH ?? ''}`] as const;
    const fetched = await runProgram([...inside, 'curl', '-fsSO', '--cacert', 'authority.pem', `${baseUrl}/downloads/antipode-probe.mjs`]);
    expect(fetched).toEqual({ code: 0, out: '', err: '' });
    expect((await readdir(folder)).toSorted()).toEqual(['antipode-probe.mjs', 'authority.pem']);
    const joining = (spent: string, ...more: readonly string[]) =>
      [
        ...inside,
        ...['NODE_EXTRA_CA_CERTS=authority.pem', `PROBE_ALLOW_CIDRS=${network24}.0/24`],
        ...[process.execPath, 'antipode-probe.mjs', 'join', baseUrl, spent, ...more],
      ] as const;
    const program = await startChildProgram(joining(token), {}, (output) => output.includes('a coordinator hears this probe'));
    running.push(program);
    const said = program.output();
    for (const what of ['clock', 'dns', 'addresses', 'bus', 'anchors', 'disk']) expect(said).toMatch(new RegExp(`^ok  ${what} `, 'm'));
    expect(said).toContain(`tls://${here}:${busPort} lets this probe in`);
    expect(said).toContain(`IPv4 from ${there}`);
    const probe = await eventually(async () => {
      const [row] = await network.sql<{ id: string }[]>`select id from probes where name = 'Elsewhere' and allowed_cidrs <> '{}'`;
      return row?.id;
    });
    await network.addMonitor({ target: `http://${here}:${targetPort}/`, interval_s: 10, config: { probe } });
    await eventually(() => hits > 0);
    const took = performance.now() - began;

    const again = await runProgram(joining(token, '--data', 'other'));
    expect(again).toMatchObject({ code: 20, out: '' });
    expect(again.err).toContain('another host has used it already');
    const late = await invite('Too late');
    await network.sql`update probe_invitations set expires_at = now() - interval '1 second' where name = 'Too late'`;
    const over = await runProgram(joining(late, '--data', 'other'));
    expect(over).toMatchObject({ code: 20, out: '' });
    expect(over.err).toContain('was good for an hour');
    expect(await network.sql`select name from probes where name in ('Elsewhere', 'Too late')`).toEqual([{ name: 'Elsewhere' }]);
    process.stdout.write(`from curl to the first check: ${(took / 1_000).toFixed(1)} s\n`);
  });
});
