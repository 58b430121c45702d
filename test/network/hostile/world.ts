import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import {
  data,
  endHeaders,
  endStream,
  fields,
  headers,
  ping,
  settings,
} from '../../probe/support/frames.ts';
import { answerTo, rawAnswerTo, startResolver } from '../../support/name-servers.ts';
import { startRawTarget, startTarget } from '../../support/targets.ts';
import { frame, opcodes, upgraded } from '../../support/websocket-frames.ts';
import { hostileAddresses } from './ping-program.ts';
import { hostileDomains } from './registries.ts';

/**
 * The world that the probes look at, as a process of its own: nine compressed answers that are cut,
 * hang or hardly compress, forty names whose DNS is malformed, twelve bodies of one byte a chunk,
 * forty-five ports that never end, drip, make noise, flood with frames or break off, three of them
 * after a proper upgrade, twelve pings whose output does, ten domains whose registries lie, and
 * forty healthy targets beside them. Prints where it all is.
 */

export type Place = {
  readonly is: 'well' | 'compressed' | 'malformed' | 'crumbs' | 'ports' | 'pings' | 'registries';
  readonly type: 'https' | 'dns' | 'tcp' | 'tls' | 'websocket' | 'grpc' | 'icmp' | 'domain';
  readonly target: string;
  readonly config: Readonly<Record<string, string>>;
};
type World = { readonly resolver: number; readonly places: readonly Place[] };

/** Ways in which an answer cannot be read, or is none. */
const malformations: readonly ((query: Buffer) => Buffer | readonly Buffer[])[] = [
  // Fewer bytes than it says records.
  (query) => rawAnswerTo(query, 3, Buffer.from('c00c0001000100', 'hex')),
  // A name that points at itself.
  (query) =>
    rawAnswerTo(
      query,
      1,
      Buffer.from([0xc0, query.length, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]),
    ),
  // An address of three bytes.
  (query) => rawAnswerTo(query, 1, Buffer.from('c00c00010001000000' + '3c00037f0000', 'hex')),
  // A record longer than the message.
  (query) => rawAnswerTo(query, 1, Buffer.from('c00c000100010000003cffff7f000001', 'hex')),
  // Labels of a kind that does not exist.
  (query) => rawAnswerTo(query, 1, Buffer.from('80000001000100000000000400000000', 'hex')),
  // Nothing but its id.
  (query) => query.subarray(0, 2),
  // Cut in its header.
  (query) => answerTo(query).subarray(0, 9),
  // Noise under the right id.
  (query) => Buffer.concat([query.subarray(0, 2), randomBytes(80)]),
  // Bytes behind its end.
  (query) => Buffer.concat([answerTo(query), randomBytes(40)]),
  // Two answers of which neither is whole.
  (query) => [answerTo(query).subarray(0, 14), rawAnswerTo(query, 65_535, Buffer.alloc(0))],
];

const resolver = await startResolver(({ query, name }) => {
  const way = /^bad-(\d+)\./.exec(name)?.[1];
  if (way === undefined)
    return answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '127.0.0.1' }] });
  return malformations[Number(way) % malformations.length]?.(query) ?? null;
});

const pageOf = (bytes: number): string =>
  `the beginning ${randomBytes(bytes).toString('base64')} the end`;
/** As long as the pages of shops are. */
const ordinary = pageOf(60_000);
const page = pageOf(400_000);
const noise = Buffer.concat([Buffer.from('the beginning '), randomBytes(2 * 1_048_576)]);
const packed = {
  gzip: gzipSync(page),
  deflate: deflateSync(page),
  br: brotliCompressSync(page),
  zstd: zstdCompressSync(page),
};

const send = (encoding: string, bytes: Buffer, hangs: boolean) => (socket: Socket) => {
  socket.once('data', () => {
    socket.write(
      `HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\nContent-Length: 9000000\r\n\r\n`,
    );
    socket.write(bytes);
    if (!hangs) socket.end();
  });
};
const half = (bytes: Buffer): Buffer => bytes.subarray(0, Math.floor(bytes.length / 2));
const compressed = await Promise.all([
  ...Object.entries(packed).map(([encoding, bytes]) =>
    startRawTarget(send(encoding, half(bytes), false)),
  ),
  ...Object.entries(packed).map(([encoding, bytes]) =>
    startRawTarget(send(encoding, half(bytes), true)),
  ),
  startRawTarget(send('gzip', gzipSync(noise), true)),
]);
const crumbs = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(1_048_576)}0\r\n\r\n`;
const crumbling = await startRawTarget(
  (socket) => void socket.once('data', () => socket.end(crumbs)),
);

/** Writes for as long as the other side takes it. */
const flood = (bytes: () => Buffer) => (socket: Socket) => {
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes()));
  };
  socket.on('drain', more);
  more();
};
const drip = (text: string) => (socket: Socket) => {
  let at = 0;
  const timer = setInterval(() => {
    socket.write(text[at % text.length] ?? '');
    at += 1;
  }, 5);
  socket.once('close', () => clearInterval(timer));
};
const pings = Buffer.concat(Array<Buffer>(1_000).fill(ping));
const ports = await Promise.all(
  [
    flood(() => randomBytes(16_384)),
    flood(() => Buffer.from('220-more of it\r\n'.repeat(1_000))),
    drip('220-'),
    drip('\x16\x03\x03'),
    (socket: Socket) => {
      socket.write(settings);
      flood(() => pings)(socket);
    },
    (socket: Socket) => void socket.once('data', () => socket.resetAndDestroy()),
  ].map((behave) => startRawTarget(behave)),
);
const attempts = [
  { type: 'tcp', config: { banner: 'smtp', expect: 'needle' } },
  { type: 'tcp', config: { tls: 'smtp' } },
  { type: 'tcp', config: { send: 'PING\\r\\n', expect: 'needle' } },
  { type: 'tls', config: {} },
  { type: 'websocket', scheme: 'ws://', config: { expect: 'needle' } },
  { type: 'grpc', scheme: 'grpc://', config: {} },
  { type: 'https', scheme: 'http://', config: {} },
] as const;
/** Accepts the upgrade, then goes on as it likes. */
const upgrading = (behave: (socket: Socket) => void) => (socket: Socket) =>
  void socket.once('data', (head: Buffer) => {
    socket.resume();
    socket.write(upgraded(head.toString('latin1')));
    behave(socket);
  });
const websockets = await Promise.all(
  [
    flood(() => Buffer.concat(Array.from({ length: 1_000 }, () => frame(opcodes.ping)))),
    flood(() => frame(opcodes.text, 'x'.repeat(1_000))),
    drip('\x01\x7f\0'),
  ].map((behave) => startRawTarget(upgrading(behave))),
);
const live = await startRawTarget(
  upgrading((socket) => void socket.write(frame(opcodes.text, 'the end'))),
);
const serving = await startRawTarget(
  (socket) =>
    void socket.write(
      Buffer.concat([
        settings,
        headers(fields([':status', '200'], ['content-type', 'application/grpc'])),
        data(Buffer.from([0, 0, 0, 0, 2, 8, 1])),
        headers(fields(['grpc-status', '0']), endHeaders | endStream),
      ]),
    ),
);
const greeting = await startRawTarget((socket) => void socket.write('220 mail.example\r\n'));

const fine = await startTarget();
fine.answer({ is: 'status', status: 200, body: ordinary });
const whole = await startTarget();
whole.answer({
  is: 'by',
  answer: (_, response) =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(ordinary)),
});

const several = (count: number, place: (nth: number) => Place): Place[] =>
  Array.from({ length: count }, (_, nth) => place(nth));
const asked = { body_contains: 'the end' };
const world: World = {
  resolver: resolver.port,
  places: [
    ...several(8, (nth) => ({
      is: 'well',
      type: 'https',
      target: `http://well-${nth}.example:${fine.port}/`,
      config: asked,
    })),
    ...several(8, (nth) => ({
      is: 'well',
      type: 'https',
      target: `http://well-too-${nth}.example:${whole.port}/`,
      config: asked,
    })),
    ...several(4, (nth) => ({
      is: 'well',
      type: 'dns',
      target: `well-${nth}.example`,
      config: {},
    })),
    ...several(4, (nth) => ({
      is: 'well',
      type: 'tcp',
      target: `well-port-${nth}.example:${greeting.port}`,
      config: { banner: 'smtp' },
    })),
    ...several(4, (nth) => ({
      is: 'well',
      type: 'icmp',
      target: `well-host-${nth}.example`,
      config: {},
    })),
    ...several(4, (nth) => ({ is: 'well', type: 'domain', target: `well-${nth}.com`, config: {} })),
    ...[...hostileAddresses, ...hostileAddresses].map(
      (target): Place => ({ is: 'pings', type: 'icmp', target, config: {} }),
    ),
    ...hostileDomains.map(
      (target): Place => ({ is: 'registries', type: 'domain', target, config: {} }),
    ),
    ...several(4, (nth) => ({
      is: 'well',
      type: 'websocket',
      target: `ws://well-live-${nth}.example:${live.port}/`,
      config: { expect: 'the end' },
    })),
    ...several(4, (nth) => ({
      is: 'well',
      type: 'grpc',
      target: `grpc://well-call-${nth}.example:${serving.port}`,
      config: {},
    })),
    ...ports.flatMap(({ port }) =>
      attempts.map(({ type, config, ...more }): Place => {
        const scheme = 'scheme' in more ? more.scheme : '';
        return { is: 'ports', type, target: `${scheme}127.0.0.1:${port}`, config };
      }),
    ),
    ...websockets.map(
      ({ url }): Place => ({
        is: 'ports',
        type: 'websocket',
        target: url('ws'),
        config: { expect: 'needle' },
      }),
    ),
    ...compressed.map(
      ({ url }, nth): Place => ({
        is: 'compressed',
        type: 'https',
        target: url(),
        config: nth % 2 === 0 ? asked : {},
      }),
    ),
    ...several(40, (nth) => ({
      is: 'malformed',
      type: 'https',
      target: `http://bad-${nth}.example:${fine.port}/`,
      config: {},
    })),
    ...several(12, () => ({ is: 'crumbs', type: 'https', target: crumbling.url(), config: asked })),
  ],
};
process.stdout.write(`${JSON.stringify(world)}\n`);
