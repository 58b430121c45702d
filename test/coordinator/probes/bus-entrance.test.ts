import { connect, type Socket } from 'node:net';
import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { restServerOptions } from '../../../coordinator/api/routes.ts';
import {
  type BusEntrance,
  busEntrance,
  isForBus,
} from '../../../coordinator/probes/bus-entrance.ts';
import { proveAddress } from '../../../coordinator/probes/seen-addresses.ts';
import { connectBus } from '../../../shared/bus/nats.ts';
import { closed } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { testLog } from '../../support/network.ts';
import { servicesHere } from '../../support/services.ts';

const { websocket } = servicesHere().nats;

/** Whoever may reach the coordinators' address, in front of a real nats-server. */
describe.runIf(websocket)('the way to the bus', () => {
  let web: FastifyInstance;
  let entrance: BusEntrance;
  let port: number;
  const sockets: { readonly destroy: () => unknown }[] = [];

  const start = async (servers: readonly URL[]): Promise<void> => {
    web = fastify({
      ...restServerOptions,
      http: { ...restServerOptions.http, shouldUpgradeCallback: isForBus },
    });
    entrance = await busEntrance(web, {
      servers,
      ca: undefined,
      proven: (address) => proveAddress('key', address),
    });
    web.get('/other', () => 'here');
    port = Number(new URL(await web.listen({ port: 0 })).port);
  };
  const stop = async (): Promise<void> => {
    entrance.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    web.server.closeAllConnections();
    await web.close();
  };
  beforeAll(() => start([new URL(websocket ?? '')]));
  afterAll(stop);
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const dial = (): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    sockets.push(socket);
    return socket;
  };
  /** All that comes back for these bytes until the other side closes. */
  const talk = async (bytes: string): Promise<string> => {
    const socket = dial();
    let said = '';
    socket.setEncoding('latin1').on('data', (text) => {
      said += text;
    });
    socket.write(bytes);
    await closed(socket);
    return said;
  };
  const upgrade = (path: string, ...more: string[]): string =>
    [
      `GET ${path} HTTP/1.1`,
      'host: antipode.test',
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      ...more,
      '',
      '',
    ].join('\r\n');

  /** What nats-server says first. */
  const greeting = async (): Promise<string> => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/bus`);
    sockets.push({ destroy: () => socket.terminate() });
    return await new Promise((resolve, reject) => {
      socket.once('message', (data) => resolve(String(data)));
      socket.once('error', reject);
    });
  };

  test('greets as nats-server does, and closes what does not sign in', async () => {
    expect(await greeting()).toMatch(/^INFO \{.*"auth_required":true/);
    const said = await talk(upgrade('/bus'));
    expect(said).toMatch(/^HTTP\/1\.1 101 [\s\S]+INFO \{[\s\S]+Authentication Timeout/);
    expect(said).toContain(`\r\nantipode-address: ${proveAddress('key', '127.0.0.1')}\r\n`);
  });

  test('tells a probe where it comes from', async () => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const bus = await connectBus({
      url: `ws://127.0.0.1:${port}/bus`,
      credentials: servicesHere().nats.identity.coordinatorCredentials,
      name: 'probe',
      log: testLog(),
      onAddress: resolve,
    });
    expect(await promise).toBe(proveAddress('key', '127.0.0.1'));
    await bus.close();
  });

  test('passes on nothing but a websocket for clients', async () => {
    // The paths that nats-server has for leaf nodes and MQTT, and what it is told of the caller.
    const leaf = upgrade('/bus?x=/leafnode', 'x-forwarded-for: 8.8.8.8', 'nats-no-masking: true');
    expect(await talk(leaf)).toContain('INFO {');
    for (const path of ['/leafnode', '/mqtt', '/bus/leafnode'])
      expect(await talk(upgrade(path).replace('Upgrade\r\n', 'Upgrade, close\r\n'))).toMatch(
        /^HTTP\/1\.1 404 /,
      );
    expect(await talk('GET /bus HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 426 /,
    );
    expect(await talk(upgrade('/bus').replace(/sec-websocket-key.*\r\n/, ''))).toMatch(
      /^HTTP\/1\.1 400 /,
    );
  });

  test('answers a request for another upgrade like every other', async () => {
    const said = await talk(upgrade('/other').replace('Upgrade\r\n', 'Upgrade, close\r\n'));
    expect(said).toMatch(/^HTTP\/1\.1 200 OK[\s\S]+here$/);
  });

  test('reads no megabyte of a handshake', async () => {
    const said = await talk(upgrade('/bus', `x-long: ${'x'.repeat(1_048_576)}`));
    expect(said === '' || said.startsWith('HTTP/1.1 431 ')).toBe(true);
  });

  test('holds so many that do not sign in, tells the others to come again, and lets in probes meanwhile and after', async () => {
    const half = Array.from({ length: 300 }, () => {
      const socket = dial();
      socket.write(upgrade('/bus').slice(0, -4));
      return socket;
    });
    // Half a request takes no place.
    expect(await greeting()).toMatch(/^INFO /);
    const answers = half.map(
      (socket) =>
        new Promise<string>((resolve) => {
          socket.once('data', (data) => resolve(data.toString('latin1').slice(0, 12)));
          socket.once('close', () => resolve(''));
          socket.write('\r\n\r\n');
        }),
    );
    const said = Object.groupBy(await Promise.all(answers), (answer) => answer);
    expect(said['HTTP/1.1 101']?.length).toBeGreaterThan(200);
    expect(said['HTTP/1.1 101']?.length).toBeLessThanOrEqual(256);
    expect(said['HTTP/1.1 503']?.length).toBeGreaterThan(0);
    await eventually(() => greeting().catch(() => undefined));
  });

  test('says that the bus is not reached, and has no way where there is none', async () => {
    await stop();
    await start([new URL('ws://127.0.0.1:1')]);
    expect(await talk(upgrade('/bus'))).toMatch(/^HTTP\/1\.1 502 /);
    await stop();
    await start([]);
    expect(await talk(upgrade('/bus'))).toMatch(/^HTTP\/1\.1 404 /);
  });
});
