import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createPingForwarding } from '../../../probe/pings/receiver.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { isSignedBy } from '../../../shared/bus/identity.ts';
import { forwardedPingsMessage } from '../../../shared/bus/messages.ts';
import { createKey } from '../../../shared/bus/nkeys.ts';
import type { SpooledPing } from '../../../shared/bus/ping-spool.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { portOf } from '../../support/connections.ts';

type Heard = {
  readonly url: string;
  readonly pings: readonly string[];
  readonly isSigned: boolean;
  readonly bytes: number;
};

const probe = newId();
const key = createKey('user');
let server: Server;
let base: string;
let heard: Heard[];
/** What the coordinator says to the pings that it is given. */
let answer: (ids: readonly string[]) => { status?: number; body?: string } | 'cut' | 'nothing';

const whole = async (request: IncomingMessage): Promise<Buffer> =>
  Buffer.concat(await request.toArray());

const taken = (ids: readonly string[]) => ({ body: JSON.stringify({ v: 1, done: ids }) });

beforeEach(async () => {
  heard = [];
  answer = taken;
  server = createServer(async (request, response) => {
    const data = await whole(request);
    const ids = forwardedPingsMessage.parse(JSON.parse(data.toString())).pings.map(({ id }) => id);
    const header = (name: string) => request.headers[`antipode-${name.toLowerCase()}`]?.toString();
    heard.push({
      url: request.url ?? '',
      pings: ids,
      isSigned: isSignedBy([key.id], { data, header }),
      bytes: data.length,
    });
    const said = answer(ids);
    if (said === 'cut') request.socket.destroy();
    else if (said !== 'nothing') response.writeHead(said.status ?? 200).end(said.body);
  });
  const port = await portOf(server);
  base = `http://127.0.0.1:${port}`;
});
afterEach(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const forwarding = (
  baseUrl = base,
  leaving = new AbortController().signal,
  authorities?: string,
) => {
  const way = createPingForwarding({
    probe,
    key,
    baseUrl: () => baseUrl,
    clock: { now: () => 1_000 },
    authorities,
  });
  return { ...way, handOver: (waiting: readonly SpooledPing[]) => way.handOver(waiting, leaving) };
};

const entry = (body = ''): SpooledPing => ({
  organisation: newId(),
  monitor: newId(),
  ping: {
    v: 1,
    id: newId(),
    key: 'a'.repeat(64),
    kind: 'success',
    exit_code: null,
    at: 1,
    rid: null,
    method: 'GET',
    body,
    ear: 'eu',
  },
});
const entries = (count: number, body?: string): SpooledPing[] =>
  Array.from({ length: count }, () => entry(body));
const idsOf = (waiting: readonly SpooledPing[]): string[] => waiting.map(({ ping }) => ping.id);

describe('the forwarding of pings', () => {
  test.each(['', '/', '/behind/a/prefix', '/behind/a/prefix/'])(
    'goes to the coordinator’s address%s, signed with the key of the probe',
    async (path) => {
      const waiting = entries(3, 'ünïcode \u0007 "quoted"');
      const { handed, failures } = await forwarding(`${base}${path}`).handOver(waiting);
      expect([...handed]).toEqual(idsOf(waiting));
      expect(failures).toEqual([]);
      expect(heard).toMatchObject([
        {
          url: `${path.replace(/\/$/, '')}/beat/kept/${probe}`,
          pings: idsOf(waiting),
          isSigned: true,
        },
      ]);
    },
  );

  test('goes there, too, with a certificate of the authority that the probe knows from its joining', async () => {
    const authority = mintAuthority('the service of this test');
    const { chain, key: secret } = mint({ names: ['localhost'], issuer: authority });
    const secured = createSecureServer(
      { cert: chain, key: secret },
      (request, response) => void server.emit('request', request, response),
    );
    await new Promise<void>((resolve) => secured.listen(0, 'localhost', resolve));
    const address = secured.address();
    const at = `https://localhost:${typeof address === 'object' && address !== null ? address.port : 0}`;
    const waiting = entries(2);
    const never = new AbortController().signal;
    await expect(forwarding(at, never).handOver(waiting)).rejects.toThrow('certificate');
    expect([
      ...(await forwarding(at, never, authority.certificate).handOver(waiting)).handed,
    ]).toEqual(idsOf(waiting));
    secured.close();
  });

  test('takes the oldest first, no more than 500 and 256 KiB at a time, but one always', async () => {
    const many = entries(1_200);
    expect((await forwarding().handOver(many)).handed.size).toBe(500);
    expect(heard[0]?.pings).toEqual(idsOf(many.slice(0, 500)));
    // Each control character is six bytes on the wire.
    const long = entries(20, '\u0001'.repeat(10_000));
    const { handed } = await forwarding().handOver(long);
    expect([...handed]).toEqual(idsOf(long.slice(0, handed.size)));
    expect(handed.size).toBe(4);
    expect(heard[1]?.bytes).toBeLessThan(257 * 1_024);
  });

  test('drops only what the coordinator names', async () => {
    answer = (ids) => taken(ids.slice(0, 1));
    const waiting = entries(3);
    expect([...(await forwarding().handOver(waiting)).handed]).toEqual(idsOf(waiting.slice(0, 1)));
  });

  test.each([
    ['is refused', () => ({ status: 403, body: 'Refused: revoked_probe' })],
    ['meets an older coordinator', () => ({ status: 404, body: 'Not found' })],
    ['is sent elsewhere', () => ({ status: 307 })],
    ['finds no bus there', () => ({ status: 503, body: 'The bus is down here, too' })],
    ['is cut off', () => 'cut' as const],
    ['hears something else', () => ({ body: '<html>Welcome to the hotel</html>' })],
    ['hears of others', () => taken([newId()])],
    ['hears without end', () => ({ body: 'x'.repeat(400_000) })],
  ])(
    'rests when it %s, longer each time, and is as before once it got through',
    async (_, said) => {
      let now = 10_000;
      vi.spyOn(performance, 'now').mockImplementation(() => now);
      answer = said;
      const way = forwarding();
      for (const rest of [1_000, 2_000, 4_000, 8_000, 15_000, 15_000]) {
        expect(way.isOpen()).toBe(true);
        await expect(way.handOver(entries(2))).rejects.toThrow();
        now += rest - 1;
        expect(way.isOpen()).toBe(false);
        now += 1;
      }
      answer = taken;
      await way.handOver(entries(1));
      expect(way.isOpen()).toBe(true);
      answer = said;
      await expect(way.handOver(entries(1))).rejects.toThrow();
      now += 1_000;
      expect(way.isOpen()).toBe(true);
    },
  );

  test('does nothing before it knows the coordinator’s address, and fails where nothing listens', async () => {
    for (const nowhere of ['', 'rubbish', 'file:///etc/passwd', 'nats://127.0.0.1:1'])
      expect(forwarding(nowhere).isOpen(), nowhere).toBe(false);
    await expect(forwarding('http://127.0.0.1:1').handOver(entries(1))).rejects.toThrow(
      'ECONNREFUSED',
    );
  });

  test('does not rest because it was left for the bus', async () => {
    const leaving = new AbortController();
    answer = () => {
      leaving.abort();
      return 'nothing';
    };
    const way = forwarding(base, leaving.signal);
    await expect(way.handOver(entries(1))).rejects.toThrow();
    expect(way.isOpen()).toBe(true);
  });

  test('ends what is under way when it is closed, and is open no more', async () => {
    const called = Promise.withResolvers<void>();
    answer = () => {
      called.resolve();
      return 'nothing';
    };
    const way = forwarding();
    const handing = way.handOver(entries(1));
    await called.promise;
    way.close();
    await expect(handing).rejects.toThrow();
    expect(way.isOpen()).toBe(false);
  });
});
