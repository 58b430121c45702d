import { once } from 'node:events';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { integer } from './certificates.ts';
import { createTcpProxy, portOf, type TcpProxy } from './connections.ts';
import { needsEngine, wayToServices } from './services-run.ts';

describe('choice of services', () => {
  const noNats = 'no nats-server 2.9 or newer could be found or fetched';

  test('where both binaries can be had they are used, and no engine is started', () => {
    expect(needsEngine({ wanted: undefined, binaryFaults: [] })).toBe(false);
    expect(wayToServices({ wanted: undefined, binaryFaults: [], engineFault: undefined })).toBe(
      'binaries',
    );
  });

  test('where one binary cannot be had but an engine answers, both come from containers', () => {
    expect(needsEngine({ wanted: undefined, binaryFaults: [noNats] })).toBe(true);
    expect(
      wayToServices({ wanted: undefined, binaryFaults: [noNats], engineFault: undefined }),
    ).toBe('containers');
  });

  test('where neither can be had, one message names what is missing and why no engine helped', () => {
    const nothing = {
      wanted: undefined,
      binaryFaults: ['there is no Postgres for this machine', noNats],
      engineFault: 'no socket',
    };
    expect(() => wayToServices(nothing)).toThrow(
      /no Postgres for this machine; no nats-server 2\.9.*a Docker engine answer.*no socket/,
    );
  });

  test('containers can be asked for, and are then not silently replaced by binaries', () => {
    expect(wayToServices({ wanted: 'containers', binaryFaults: [], engineFault: undefined })).toBe(
      'containers',
    );
    expect(() =>
      wayToServices({ wanted: 'containers', binaryFaults: [], engineFault: 'no socket' }),
    ).toThrow(/TEST_SERVICES=containers.*no socket/);
  });

  test('a way that does not exist is refused', () => {
    expect(() =>
      wayToServices({ wanted: 'docker', binaryFaults: [], engineFault: undefined }),
    ).toThrow('TEST_SERVICES is docker');
  });
});

describe('der encoding', () => {
  test('an integer takes as few bytes as possible, and one more where it would look negative', () => {
    const made = (...bytes: number[]) => [...integer(Buffer.from(bytes))];
    expect(made(0x12, 0x34)).toEqual([2, 2, 0x12, 0x34]);
    expect(made(0x00, 0x12)).toEqual([2, 1, 0x12]);
    expect(made(0x00, 0x00, 0x92)).toEqual([2, 2, 0x00, 0x92]);
    expect(made(0x80)).toEqual([2, 2, 0x00, 0x80]);
    expect(made(0x00, 0x00)).toEqual([2, 1, 0x00]);
  });
});

describe('the relay of tests', () => {
  /** A server that says hello and repeats what it hears. */
  let server: Server;
  let url: string;
  let proxy: TcpProxy | undefined;
  const opened: Socket[] = [];

  beforeEach(async () => {
    server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.write('hello ');
      socket.on('data', (data) => socket.write(data));
    });
    const port = await portOf(server);
    url = `tcp://127.0.0.1:${port}`;
  });
  afterEach(async () => {
    for (const socket of opened.splice(0)) socket.destroy();
    await proxy?.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  type Line = {
    readonly socket: Socket;
    readonly says: (text: string) => Promise<void>;
    readonly heard: () => string;
  };

  const call = async (through: TcpProxy): Promise<Line> => {
    const socket = dial(through.port, '127.0.0.1');
    opened.push(socket);
    let heard = '';
    socket.on('data', (data) => {
      heard += data.toString();
    });
    await once(socket, 'connect');
    return {
      socket,
      heard: () => heard,
      says: async (text) => {
        while (!heard.endsWith(text)) await once(socket, 'data');
      },
    };
  };

  test('carries what both say, and is reached under the address of its target', async () => {
    proxy = await createTcpProxy(url);
    expect(proxy.url).toBe(`tcp://127.0.0.1:${proxy.port}`);
    expect(proxy.through('postgres://me:word@db.example:5432/house?x=1')).toBe(
      `postgres://me:word@127.0.0.1:${proxy.port}/house?x=1`,
    );
    const line = await call(proxy);
    line.socket.write('one two');
    await line.says('one two');
    expect(line.heard()).toBe('hello one two');
  });

  test('holds every byte back for its time, in order, also when the delay ends meanwhile', async () => {
    proxy = await createTcpProxy(url, { delayMs: 1_000 });
    const slow = await call(proxy);
    slow.socket.write('a');
    const quick = await createTcpProxy(url);
    const line = await call(quick);
    expect(
      await Promise.race([
        slow.says('hello ').then(() => 'slow'),
        line.says('hello ').then(() => 'quick'),
      ]),
    ).toBe('quick');
    await quick.close();
    await once(slow.socket, 'data');
    slow.socket.write('b');
    proxy.delay(0);
    slow.socket.write('c');
    await slow.says('abc');
    expect(slow.heard()).toBe('hello abc');
  });

  test('resets: its client gets an error', async () => {
    proxy = await createTcpProxy(url);
    const line = await call(proxy);
    await line.says('hello ');
    const fault = once(line.socket, 'error');
    expect(proxy.reset()).toBe(1);
    expect((await fault)[0]).toMatchObject({ code: 'ECONNRESET' });
    await (await call(proxy)).says('hello ');
  });

  test('cuts: what is open is closed, and what is dialled is closed at once, until it is healed', async () => {
    proxy = await createTcpProxy(url);
    const line = await call(proxy);
    await line.says('hello ');
    const closed = once(line.socket, 'close');
    proxy.cut();
    await closed;
    const other = await call(proxy);
    await once(other.socket, 'close');
    expect(other.heard()).toBe('');
    proxy.heal();
    await (await call(proxy)).says('hello ');
  });

  test('is silent: nothing passes and nothing is closed, and what missed bytes is closed when it is healed', async () => {
    proxy = await createTcpProxy(url);
    const line = await call(proxy);
    await line.says('hello ');
    proxy.silence();
    line.socket.write('anybody?');
    const other = await call(proxy);
    const all = [line.socket, other.socket].map((socket) => once(socket, 'close'));
    expect([line.heard(), other.heard(), line.socket.destroyed, other.socket.destroyed]).toEqual([
      'hello ',
      '',
      false,
      false,
    ]);
    proxy.heal();
    await Promise.all(all);
    expect(line.heard()).toBe('hello ');
    await (await call(proxy)).says('hello ');
  });

  test('freezes what is open, and carries what is dialled later', async () => {
    proxy = await createTcpProxy(url);
    const line = await call(proxy);
    await line.says('hello ');
    expect(proxy.freeze()).toBe(1);
    line.socket.write('anybody?');
    const other = await call(proxy);
    other.socket.write('me');
    await other.says('me');
    expect(line.heard()).toBe('hello ');
    expect(line.socket.destroyed).toBe(false);
  });

  test('changes what the server says', async () => {
    proxy = await createTcpProxy(url, {
      rewrite: (data) => Buffer.from(data.toString().replace('hello', 'good bye')),
    });
    await (await call(proxy)).says('good bye ');
  });
});
