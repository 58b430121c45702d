import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pingRoutes } from '../../../coordinator/heartbeats/routes.ts';
import { startPingReceiver } from '../../../probe/pings/receiver.ts';
import { createLog } from '../../../shared/base/log.ts';
import { closed } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';

type Taken = { readonly method: string; readonly address: string; readonly body: string };

const taken: Taken[] = [];
const take = async ({
  method,
  address,
  body,
}: {
  method: string;
  address: string;
  body: () => Promise<Uint8Array>;
}) => {
  if (address.includes('unknown')) return { status: 404, text: 'Not found', headers: {} };
  taken.push({ method, address, body: Buffer.from(await body()).toString() });
  return { status: 200, text: 'OK', headers: {} };
};

const patienceMs = 200;
const places: Record<string, number> = {};
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const log = createLog({ name: 'test', level: 'silent' });
  const ear = await startPingReceiver({ host: '127.0.0.1', port: 0, take, log, patienceMs });
  places.ear = Number(new URL(ear.address).port);
  const web = fastify();
  pingRoutes(web, { take, patienceMs });
  places.coordinator = Number(new URL(await web.listen({ host: '127.0.0.1', port: 0 })).port);
  ends.push(ear.close, () => web.close());
});
afterAll(() => Promise.all(ends.map((end) => end())));

const begin = (place: string, name: string): Socket => {
  const socket = connect(places[place] ?? 0, '127.0.0.1').setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  socket.write(
    `POST /beat/${name} HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nthe first part`,
  );
  return socket;
};

describe.each(['ear', 'coordinator'])('a ping at the %s', (place) => {
  test('whose body stalls counts with the part that came, and its sender is answered and disconnected', async () => {
    const socket = begin(place, `stalled-${place}`);
    let heard = '';
    socket.on('data', (text: string) => {
      heard += text;
    });
    await closed(socket);
    expect(heard).toMatch(/^HTTP\/1\.1 200 .*connection: close.*\r\n\r\nOK$/is);
    expect(taken.filter(({ address }) => address === `/beat/stalled-${place}`)).toEqual([
      { method: 'POST', address: `/beat/stalled-${place}`, body: 'the first part' },
    ]);
  });

  test('whose sender disconnects in the midst of the body counts all the same, once', async () => {
    const socket = begin(place, `gone-${place}`);
    await once(socket, 'connect');
    socket.end();
    const ours = () => taken.filter(({ address }) => address === `/beat/gone-${place}`);
    await eventually(() => ours().length > 0);
    expect(ours()).toMatchObject([{ body: 'the first part' }]);
  });

  test('with a whole body keeps the connection', async () => {
    const answer = await fetch(`http://127.0.0.1:${places[place]}/beat/whole-${place}`, {
      method: 'POST',
      body: 'x',
    });
    expect([answer.status, await answer.text(), answer.headers.get('connection')]).toEqual([
      200,
      'OK',
      'keep-alive',
    ]);
    for (const method of ['GET', 'HEAD'])
      expect(
        (await fetch(`http://127.0.0.1:${places[place]}/beat/whole-${place}`, { method })).status,
      ).toBe(200);
  });

  test('with an unknown token and a body that stalls or never ends is answered, not read, and disconnected', async () => {
    const stalled = begin(place, `unknown-${place}`);
    const endless = begin(place, `unknown-endless-${place}`);
    // Only while nothing has been heard, and after a look whether there is: to write to what is cut
    // off would lose the answer.
    const chatter = setInterval(
      () => setImmediate(() => endless.bytesRead === 0 && endless.write('and on ')),
      20,
    );
    const heard = await Promise.all(
      [stalled, endless].map(async (socket) => {
        let text = '';
        socket.on('data', (part: string) => {
          text += part;
        });
        await closed(socket);
        return text;
      }),
    ).finally(() => clearInterval(chatter));
    for (const text of heard)
      expect(text).toMatch(/^HTTP\/1\.1 404 .*connection: close.*\r\n\r\nNot found$/is);
  });

  test('with an unknown token and a body that ends keeps the connection', async () => {
    const answer = await fetch(`http://127.0.0.1:${places[place]}/beat/unknown`, {
      method: 'POST',
      body: 'x'.repeat(300_000),
    });
    expect([answer.status, await answer.text(), answer.headers.get('connection')]).toEqual([
      404,
      'Not found',
      'keep-alive',
    ]);
  });

  test.each(['', ';;;', 'text', 'a/b; c=\xff', `x/${'y'.repeat(3_000)}`])(
    'counts under the media type "%.10s" too',
    async (type) => {
      const name = `typed-${place}-${type.length}`;
      const socket = connect(places[place] ?? 0, '127.0.0.1').setEncoding('utf8');
      socket.write(
        `POST /beat/${name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\nContent-Type: `,
      );
      socket.end(`${type}\r\n\r\nno`, 'latin1');
      const [answer] = await once(socket, 'data');
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
      expect(taken.filter(({ address }) => address === `/beat/${name}`)).toMatchObject([
        { body: 'no' },
      ]);
    },
  );
});

test('a connection that says nothing, or no more, is not held open at a ping receiver: many of them would shut it', async () => {
  const silent = connect(places.ear ?? 0, '127.0.0.1').resume();
  const half = connect(places.ear ?? 0, '127.0.0.1').resume();
  half.write('GET /beat/half HTTP/1.1\r\nHost: a\r\n');
  await Promise.all([silent, half].map((socket) => closed(socket)));
});
