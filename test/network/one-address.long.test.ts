import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bundleDownload } from '../../coordinator/api/bundles.ts';
import { pause } from '../../shared/base/async.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../support/hosts.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../support/network.ts';
import {
  type ChildProgram,
  runProgram,
  type Said,
  startChildProgram,
} from '../support/processes.ts';
import { freePort, hasBinaries, servicesHere } from '../support/services.ts';
import { storedChecks } from '../support/stored-checks.ts';

/**
 * A company's host: its one way out is a proxy that opens a connection to port 443 of the
 * coordinators' name, and to nothing else. It resolves no name.
 */
describe.runIf(hasBinaries() && canMakeTwoHosts())('a host behind a proxy', () => {
  const name = 'antipode.test';
  const running: ChildProgram[] = [];
  let two: TwoHosts;
  let network: Network;
  let coordinator: CoordinatorProcess;
  let proxy: Proxy;
  let place: string;
  let program: string;
  let authorityFile: string;

  type Proxy = {
    readonly url: string;
    readonly down: () => void;
    readonly up: () => Promise<void>;
  };

  /** Takes `CONNECT antipode.test:443`, from whoever knows the password. */
  const startProxy = async (to: number): Promise<Proxy> => {
    const sockets = new Set<Socket>();
    const port = await freePort();
    const make = async (): Promise<Server> => {
      const server = createServer((_, response) => response.writeHead(403).end());
      server.on('connection', (socket) => {
        sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      });
      server.on('connect', ({ url, headers }, from) => {
        const isKnown =
          headers['proxy-authorization'] === `Basic ${Buffer.from('ada:word').toString('base64')}`;
        if (!isKnown || url !== `${name}:443`) {
          from.end(`HTTP/1.1 ${isKnown ? '403 Forbidden' : '407 Proxy Authentication'}\r\n\r\n`);
          return;
        }
        const onward = connect(to, two.here);
        onward.on('error', () => from.destroy()).on('close', () => from.destroy());
        from.on('error', () => onward.destroy()).on('close', () => onward.destroy());
        from.write('HTTP/1.1 200 Connection established\r\n\r\n');
        from.pipe(onward).pipe(from);
      });
      server.listen(port, two.here);
      await once(server, 'listening');
      return server;
    };
    let server = await make();
    return {
      url: `${two.here}:${port}`,
      down: () => {
        server.close();
        for (const socket of sockets) socket.destroy();
      },
      up: async () => {
        server = await make();
      },
    };
  };

  beforeAll(async () => {
    two = await makeTwoHosts();
    const inside = two.hosts[0].netns;
    await runProgram(['ip', '-n', inside, 'route', 'del', 'default'], {});
    const authority = mintAuthority('Test Authority');
    const certificate = mint({ names: [name], issuer: authority });
    network = await createNetwork();
    coordinator = await network.startCoordinatorProcess({
      BASE_URL: `https://${name}`,
      NATS_WEBSOCKET_URL: servicesHere().nats.websocket ?? '',
    });
    const balancer = await two.relay(
      { host: '127.0.0.1', port: Number(new URL(coordinator.url).port) },
      certificate,
    );
    proxy = await startProxy(balancer);
    place = await mkdtemp(join(tmpdir(), 'oa-'));
    program = join(place, 'antipode-probe.mjs');
    authorityFile = join(place, 'authority.pem');
    await writeFile(program, await bundleDownload('antipode-probe.mjs'));
    await writeFile(authorityFile, authority.certificate);
  });
  afterAll(async () => {
    for (const one of running) {
      one.signal('SIGKILL');
      await one.exited;
    }
    proxy?.down();
    await network?.close();
    await two?.close();
    await rm(place, { recursive: true, force: true });
  });

  const invite = async (): Promise<string> => {
    const response = await fetch(`${coordinator.url}/api/v1/probes/invitations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${network.house.owner.readWrite}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: `Branch ${Math.random()}`, continent: 'Africa' }),
    });
    return z.object({ token: z.string() }).parse(await response.json()).token;
  };

  const inside = (args: readonly string[]): [string, ...string[]] => [
    'ip',
    'netns',
    'exec',
    two.hosts[0].netns,
    process.execPath,
    program,
    ...args,
  ];
  const environment = (password: string) => ({
    PATH: process.env.PATH ?? '',
    HTTPS_PROXY: `http://ada:${password}@${proxy.url}`,
    PROBE_ALLOW_CIDRS: `${two.here}/32`,
    PROBE_ORIGIN_AS: 'AS64500',
  });

  test('joins by one line, checks within seconds, and loses nothing while the proxy is away for a minute', async () => {
    const folder = join(place, 'probe');
    const line = ['join', `https://${name}`, await invite(), '--ca', authorityFile];
    const probe = await startChildProgram(
      inside([...line, '--data', folder]),
      environment('word'),
      (output) => output.includes('"msg":"the probe has started"'),
    );
    running.push(probe);
    expect(probe.output()).toMatch(
      /^ok {2}bus +wss:\/\/antipode\.test\/bus lets .+ in, with TLS$/m,
    );
    const target = await two.target();
    const { sql } = network;
    await eventually(async () => (await sql`select 1 from probes where allowed_cidrs <> '{}'`)[0]);
    const [joined] = await sql<{ id: string }[]>`select id from probes`;
    const monitor = await network.addMonitor({
      target: target.url,
      interval_s: 5,
      config: { probe: joined?.id ?? '' },
    });
    await eventually(async () => (await storedChecks(sql, { monitor })).length > 0, 25_000);
    await eventually(async () => (await sql`select 1 from probes where way is not null`)[0]);
    expect(await sql`select way, origin_as from probes`).toEqual([
      { way: 'websocket', origin_as: 64_500 },
    ]);
    proxy.down();
    const before = target.hits();
    await pause(60_000);
    expect(target.hits()).toBeGreaterThan(before + 8);
    await proxy.up();
    await eventually(
      async () => (await storedChecks(sql, { monitor })).length >= target.hits() - 1,
      30_000,
    );
  });

  const joins = async (password: string, ...ca: string[]): Promise<Said> =>
    runProgram(
      inside(['join', `https://${name}`, await invite(), '--data', join(place, 'x'), ...ca]),
      { env: environment(password) },
    );

  test('reads what the proxy wants, and what a proxy that opens TLS needs', async () => {
    expect((await joins('wrong', '--ca', authorityFile)).err).toMatch(
      /the proxy wants a user and a password \(407\)/,
    );
    expect((await joins('word')).err).toMatch(/authority.+--ca FILE/);
  });
});
