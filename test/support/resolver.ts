/** A resolver of the tests' own on loopback, by UDP and TCP, that says exactly what a test wants, however wrong. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import dnsPacket from 'dns-packet';
import { freePort } from '../../deploy/local/home.ts';

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

/** Both by one port: what is free for one of them may be taken for the other, and then another is tried. */
const listenOn = async (udp: () => Socket, tcp: Server | undefined): Promise<{ readonly socket: Socket; readonly port: number }> => {
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const socket = udp();
    try {
      socket.bind(port, '127.0.0.1');
      await once(socket, 'listening');
      tcp?.listen(port, '127.0.0.1');
      if (tcp) await once(tcp, 'listening');
      return { socket, port };
    } catch (error) {
      socket.close();
      if (tries === 5) throw error;
    }
  }
};

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
  const open = (): Socket => {
    const socket = createSocket('udp4');
    socket.on('message', (query, from) => {
      sources.push(from.port);
      ids.push(query.readUInt16BE(0));
      for (const message of answer(query, 'udp')) socket.send(message, from.port, from.address);
    });
    return socket;
  };
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
  const { socket: udp, port } = await listenOn(open, options.tcp === false ? undefined : tcp);
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
