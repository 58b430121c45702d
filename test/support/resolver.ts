/** A resolver of the tests' own on loopback, by UDP and TCP, that says exactly what a test wants, however wrong. */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import dnsPacket from 'dns-packet';

export type Asked = { readonly query: Buffer; readonly over: 'udp' | 'tcp'; readonly count: number; readonly name: string };
type Said = Buffer | readonly Buffer[] | null;

export type Resolver = {
  readonly port: number;
  readonly address: string;
  /** Ports that questions came from by UDP, in order. */
  readonly sources: readonly number[];
  readonly ids: readonly number[];
  /** Sends a message by UDP from the resolver's own port. */
  readonly send: (message: Buffer, port: number) => void;
  readonly asked: () => number;
  readonly close: () => Promise<void>;
};

const listening = (emitter: { once: (event: 'listening', listener: () => void) => unknown }): Promise<void> =>
  new Promise((resolve) => emitter.once('listening', () => resolve()));

/** `tcp: false`: nobody listens there. */
export const startResolver = async (say: (asked: Asked) => Said, options: { readonly tcp?: boolean } = {}): Promise<Resolver> => {
  const sources: number[] = [];
  const ids: number[] = [];
  let count = 0;
  const answer = (query: Buffer, over: 'udp' | 'tcp'): readonly Buffer[] => {
    count += 1;
    const said = say({ query, over, count, name: dnsPacket.decode(query).questions?.[0]?.name ?? '' });
    return said === null ? [] : Buffer.isBuffer(said) ? [said] : said;
  };
  const udp = createSocket('udp4');
  udp.on('message', (query, from) => {
    sources.push(from.port);
    ids.push(query.readUInt16BE(0));
    for (const message of answer(query, 'udp')) udp.send(message, from.port, from.address);
  });
  udp.bind(0, '127.0.0.1');
  await listening(udp);
  const { port } = udp.address();
  const tcp = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data: Buffer) => {
      for (const message of answer(data.subarray(2), 'tcp')) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        socket.write(Buffer.concat([length, message]));
      }
    });
  });
  if (options.tcp !== false) {
    tcp.listen(port, '127.0.0.1');
    await listening(tcp);
  }
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => udp.close(() => resolve()));
    if (options.tcp !== false) await new Promise<void>((resolve) => tcp.close(() => resolve()));
  };
  return {
    port,
    address: `127.0.0.1:${port}`,
    sources,
    ids,
    send: (message, to) => udp.send(message, to, '127.0.0.1'),
    asked: () => count,
    close,
  };
};

/** An honest answer to a question, with what a test changes in it. Written by another codec than the one under test. */
export const answerTo = (query: Buffer, more: Partial<dnsPacket.Packet> & { rcode?: number } = {}): Buffer => {
  const { id, questions = [] } = dnsPacket.decode(query);
  const { rcode = 0, flags = 0, ...rest } = more;
  const base = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE;
  return dnsPacket.encode({ type: 'response', id: id ?? 0, flags: base | flags | rcode, questions, ...rest });
};

/** A message with the question of the query and raw bytes behind it, counted as so many answers. */
export const rawAnswerTo = (query: Buffer, answers: number, tail: Buffer): Buffer => {
  const head = answerTo(query);
  const message = Buffer.concat([head, tail]);
  message.writeUInt16BE(answers, 6);
  return message;
};
