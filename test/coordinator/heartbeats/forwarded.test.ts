import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuseOutside, restServerOptions } from '../../../coordinator/api/routes.ts';
import {
  forwardedPingsRoute,
  pingRoutes,
  type TakeForwardedPings,
} from '../../../coordinator/heartbeats/routes.ts';
import { startPingReceiver } from '../../../probe/pings/receiver.ts';
import { createLog } from '../../../shared/base/log.ts';
import { closed } from '../../support/connections.ts';

describe('the address of forwarded pings', () => {
  type Call = Parameters<TakeForwardedPings>[0];

  const web = fastify();
  const read: unknown[] = [];
  const headers: (string | undefined)[] = [];
  let port = 0;
  beforeAll(async () => {
    pingRoutes(web, {
      take: async ({ address }) => ({ status: 404, text: `no beat at ${address}`, headers: {} }),
    });
    forwardedPingsRoute(web, {
      patienceMs: 200,
      take: async ({ probe, header, body }: Call) => {
        headers.push(header('Signature'));
        if (probe === 'stranger') return { status: 401, text: 'who?', headers: {} };
        const bytes = await body();
        read.push(typeof bytes === 'string' ? bytes : bytes.length);
        return { status: 200, text: 'taken', headers: { 'content-type': 'application/json' } };
      },
    });
    port = Number(new URL(await web.listen({ host: '127.0.0.1', port: 0 })).port);
  });
  afterAll(() => web.close());

  const call = (probe: string, body: string, more: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/beat/kept/${probe}`, { method: 'POST', body, headers: more });

  const open = (probe: string, length: number): Socket => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.write(
      `POST /beat/kept/${probe} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\nthe first part`,
    );
    return socket;
  };

  const heard = async (socket: Socket): Promise<string> => {
    let text = '';
    socket.on('data', (part: string) => {
      text += part;
    });
    await closed(socket);
    return text;
  };

  test('accepts a body of any media type, up to 512 KiB', async () => {
    read.length = 0;
    for (const type of ['application/json', ';;;', 'text/plain; charset=utf-7'])
      expect((await call('ear', 'x'.repeat(524_288), { 'content-type': type })).status).toBe(200);
    expect((await call('ear', 'x'.repeat(524_289))).status).toBe(200);
    expect(read).toEqual([524_288, 524_288, 524_288, 'too_large']);
  });

  test('passes the signature on', async () => {
    headers.length = 0;
    await call('ear', '', { 'antipode-signature': 'mine', signature: 'of some proxy' });
    await call('ear', '', { signature: 'of some proxy' });
    expect(headers).toEqual(['mine', undefined]);
  });

  test('refuses an incomplete body, and closes the connection of a stalled sender', async () => {
    read.length = 0;
    expect(await heard(open('ear', 1_000))).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
    const gone = open('ear', 1_000);
    await once(gone, 'connect');
    gone.end();
    await heard(gone);
    expect(read).toEqual(['cut_off', 'cut_off']);
  });

  test('reads no body of an anonymous sender', async () => {
    read.length = 0;
    expect(await heard(open('stranger', 1_000_000_000))).toMatch(
      /^HTTP\/1\.1 401 .*connection: close.*who\?$/is,
    );
    expect(read).toEqual([]);
  });

  test('is not a heartbeat address, and no heartbeat address is it', async () => {
    for (const path of ['kept', 'kept/', 'kept/ear/more', 'k3ptk3ptk3ptk3pt/start'])
      expect(
        await (await fetch(`http://127.0.0.1:${port}/beat/${path}`, { method: 'POST' })).text(),
      ).toBe(path === 'kept/' ? 'taken' : `no beat at /beat/${path}`);
    expect(await (await fetch(`http://127.0.0.1:${port}/beat/kept/ear`)).text()).toBe(
      'no beat at /beat/kept/ear',
    );
  });
});

describe('methods', () => {
  /** As the ping intake refuses a method, and says which one reached it. */
  const take = async ({ method }: { readonly method: string }) =>
    ['GET', 'HEAD', 'POST'].includes(method)
      ? { status: 200, text: 'OK', headers: {} }
      : { status: 405, text: `${method} is not allowed`, headers: { allow: 'GET, HEAD, POST' } };

  const places: Record<string, number> = {};
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const log = createLog({ name: 'test', level: 'silent' });
    const ear = await startPingReceiver({ host: '127.0.0.1', port: 0, take, log });
    places.ear = Number(new URL(ear.address).port);
    const web = fastify({ ...restServerOptions });
    refuseOutside(web, log);
    pingRoutes(web, { take });
    forwardedPingsRoute(web, { take: async () => ({ status: 200, text: 'taken', headers: {} }) });
    places.coordinator = Number(new URL(await web.listen({ host: '127.0.0.1', port: 0 })).port);
    ends.push(ear.close, () => web.close());
  });
  afterAll(() => Promise.all(ends.map((end) => end())));

  const say = async (
    place: string,
    method: string,
    path: string,
    body = '',
    type = 'application/json',
  ): Promise<string> => {
    const socket = connect(places[place] ?? 0, '127.0.0.1').setEncoding('utf8');
    let heard = '';
    socket.on('data', (text) => {
      heard += text;
    });
    socket.on('error', () => socket.destroy());
    const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(`${head}${body}`);
    await closed(socket);
    return heard;
  };

  const address = '/beat/abcdefghijklmnopqrstuvwx';

  describe.each(['ear', 'coordinator'])('at the ping address of the %s', (place) => {
    test.each(['QUERY', 'PROPFIND', 'TRACE', 'SEARCH'])(
      '%s is refused in our own words, whatever its body',
      async (method) => {
        for (const body of ['', '{"a":1}', 'no json'])
          for (const type of ['application/json', ';;;', 'text/plain']) {
            const heard = await say(place, method, address, body, type);
            expect(heard, `${body} as ${type}`).toMatch(
              /^HTTP\/1\.1 405 .*allow: GET, HEAD, POST.*\r\n\r\n/is,
            );
            expect(heard.split('\r\n\r\n')[1]).toBe(`${method} is not allowed`);
          }
      },
    );
  });

  test.each(['QUERY', 'POST'])(
    '%s where there is nothing is answered in our own words, whatever its body',
    async (method) => {
      for (const body of ['', '{"a":1}', 'no json'])
        for (const type of ['application/json', ';;;', 'text/plain'])
          expect(
            await say('coordinator', method, '/nowhere', body, type),
            `${body} as ${type}`,
          ).toMatch(
            /^HTTP\/1\.1 404 .*\{"error":\{"code":"route_not_found","message":"No such route; .*"\}\}$/s,
          );
    },
  );
});
