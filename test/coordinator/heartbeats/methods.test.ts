import { connect } from 'node:net';
import { fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuseOutside, restServerOptions } from '../../../coordinator/api/routes.ts';
import { forwardedPingsRoute, pingRoutes } from '../../../coordinator/heartbeats/routes.ts';
import { startPingReceiver } from '../../../probe/pings/receiver.ts';
import { createLog } from '../../../shared/base/log.ts';
import { closed } from '../../support/connections.ts';

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

const say = async (place: string, method: string, path: string, body = '', type = 'application/json'): Promise<string> => {
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
  test.each(['QUERY', 'PROPFIND', 'TRACE', 'SEARCH'])('%s is refused in our own words, whatever its body', async (method) => {
    for (const body of ['', '{"a":1}', 'no json'])
      for (const type of ['application/json', ';;;', 'text/plain']) {
        const heard = await say(place, method, address, body, type);
        expect(heard, `${body} as ${type}`).toMatch(/^HTTP\/1\.1 405 .*allow: GET, HEAD, POST.*\r\n\r\n/is);
        expect(heard.split('\r\n\r\n')[1]).toBe(`${method} is not allowed`);
      }
  });
});

test.each(['QUERY', 'POST'])('%s where there is nothing is answered in our own words, whatever its body', async (method) => {
  for (const body of ['', '{"a":1}', 'no json'])
    for (const type of ['application/json', ';;;', 'text/plain'])
      expect(await say('coordinator', method, '/nowhere', body, type), `${body} as ${type}`).toMatch(
        /^HTTP\/1\.1 404 .*\{"error":\{"code":"route_not_found","message":"There is nothing here; .*"\}\}$/s,
      );
});
