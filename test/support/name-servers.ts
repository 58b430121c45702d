import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import dnsPacket from 'dns-packet';
import { freePort } from '../../deploy/local/home.ts';
import { startChild } from '../../deploy/local/processes.ts';
import { eventually } from './eventually.ts';
import { debianProgram } from './processes.ts';

/**
 * A resolver of the tests' own on loopback, by UDP and TCP, that says exactly what a test wants,
 * however wrong.
 */

export type Asked = {
  readonly query: Buffer;
  readonly over: 'udp' | 'tcp';
  readonly count: number;
  readonly name: string;
};
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

/**
 * Both by one port: what is free for one of them may be taken for the other, and then another is
 * tried.
 */
const listenOn = async (
  udp: () => Socket,
  tcp: Server | undefined,
  host: string,
  wanted: number | undefined,
): Promise<{ readonly socket: Socket; readonly port: number }> => {
  for (let tries = 1; ; tries += 1) {
    const port = wanted ?? (await freePort());
    const socket = udp();
    try {
      socket.bind(port, host);
      await once(socket, 'listening');
      tcp?.listen(port, host);
      if (tcp) await once(tcp, 'listening');
      return { socket, port };
    } catch (error) {
      socket.close();
      if (tries === 5) throw error;
    }
  }
};

/** `tcp: false`: nobody listens there. `port`: 53 is for root alone. */
export const startResolver = async (
  say: (asked: Asked) => Said,
  options: { readonly tcp?: boolean; readonly host?: string; readonly port?: number } = {},
): Promise<Resolver> => {
  const sources: number[] = [];
  const ids: number[] = [];
  let count = 0;
  const answer = (query: Buffer, over: 'udp' | 'tcp'): readonly Buffer[] => {
    count += 1;
    const said = say({
      query,
      over,
      count,
      name: dnsPacket.decode(query).questions?.[0]?.name ?? '',
    });
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
  const { host = '127.0.0.1' } = options;
  const overTcp = options.tcp === false ? undefined : tcp;
  const { socket: udp, port } = await listenOn(open, overTcp, host, options.port);
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => udp.close(() => resolve()));
    if (options.tcp !== false) await new Promise<void>((resolve) => tcp.close(() => resolve()));
  };
  return {
    port,
    address: `${host}:${port}`,
    sources,
    ids,
    send: (message, to) => udp.send(message, to, host),
    asked: () => count,
    close,
  };
};

/**
 * An honest answer to a question, with what a test changes in it. Written by another codec than the
 * one under test.
 */
export const answerTo = (
  query: Buffer,
  more: Partial<dnsPacket.Packet> & { rcode?: number } = {},
): Buffer => {
  const { id, questions = [] } = dnsPacket.decode(query);
  const { rcode = 0, flags = 0, ...rest } = more;
  const base = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE;
  return dnsPacket.encode({
    type: 'response',
    id: id ?? 0,
    flags: base | flags | rcode,
    questions,
    ...rest,
  });
};

/** A message with the question of the query and raw bytes behind it, counted as so many answers. */
export const rawAnswerTo = (query: Buffer, answers: number, tail: Buffer): Buffer => {
  const head = answerTo(query);
  const message = Buffer.concat([head, tail]);
  message.writeUInt16BE(answers, 6);
  return message;
};

/**
 * A real name server of Debian's on loopback, with a zone that has every type of record that a
 * check can ask for.
 */

const packages = [
  'knot',
  'libknot13',
  'libzscanner4',
  'libdnssec9',
  'liburcu8',
  'liblmdb0',
  'libxdp1',
  'libbpf1',
];

const long = (size: number): string =>
  Array.from({ length: Math.ceil(size / 200) }, () => `"${'x'.repeat(200)}"`).join(' ');

const zone = `
$ORIGIN knot.test.
$TTL 300
@        SOA ns1 hostmaster 2026112001 3600 600 86400 300
@        NS ns1
@        NS ns2
ns1      A 192.0.2.53
ns2      A 192.0.2.54
www      60 A 192.0.2.1
www      60 A 192.0.2.2
www      AAAA 2001:db8::1
alias    CNAME Other
other    CNAME www
@        MX 10 mail
@        MX 20 backup.example.org.
@        TXT "v=spf1 include:" "_spf.example.org -all"
big      TXT ${long(6_000)}
_sip._tcp SRV 10 5 5060 sip
@        CAA 0 issue "letsencrypt.org"
@        CAA 128 iodef "mailto:security@example.org"
svc      HTTPS 1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1
svc      SVCB 1 backend.example.org. alpn=h2
_443._tcp.www TLSA 3 1 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
child    NS ns1
child    DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
@        DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==
1        PTR host.knot.test.
xn--bcher-kva A 192.0.2.9
`;

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (yes: boolean): void => {
      clearTimeout(timer);
      socket.close(() => resolve(yes));
    };
    const timer = setTimeout(() => end(false), 200);
    socket.on('message', () => end(true)).on('error', () => end(false));
    socket.send(
      dnsPacket.encode({ type: 'query', id: 1, questions: [{ type: 'SOA', name: 'knot.test' }] }),
      port,
      '127.0.0.1',
    );
  });

export type Knot = {
  readonly port: number;
  readonly pid: number;
  readonly stop: () => Promise<void>;
};

/** undefined, said loudly, where no knotd can be had. */
export const startKnot = async (): Promise<Knot | undefined> => {
  const program = await debianProgram('knotd', packages);
  if (!program) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'antipode-knot-'));
  const port = await freePort();
  const config = [
    'server:',
    `    rundir: "${folder}"`,
    `    listen: 127.0.0.1@${port}`,
    'database:',
    `    storage: "${folder}/db"`,
    'template:',
    '  - id: default',
    `    storage: "${folder}"`,
    '    zonefile-load: whole',
    '    journal-content: none',
    '    semantic-checks: off',
    'zone:',
    '  - domain: knot.test',
    '    file: knot.test.zone',
    '',
  ].join('\n');
  await writeFile(join(folder, 'knot.test.zone'), zone);
  await writeFile(join(folder, 'knot.conf'), config);
  const child = await startChild({
    name: 'knotd',
    file: program.file,
    args: ['-c', join(folder, 'knot.conf')],
    env: program.env,
    stopSignal: 'SIGTERM',
    log: join(folder, 'knot.log'),
  });
  const stop = async (): Promise<void> => {
    await child.stop(3_000);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await eventually(() => answers(port), 10_000);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, pid: child.pid, stop };
};

/** For test files: who answers for names on the wire of hosts of their own. */

/**
 * At port 53 of the address: these names, and of all others that there is none, which is an answer.
 */
export const startNameServer = async (
  address: string,
  names: Readonly<Record<string, string>> = {},
): Promise<Socket> => {
  const socket = createSocket('udp4', (query, from) => {
    const { id, questions = [] } = dnsPacket.decode(query);
    const [question] = questions;
    const found = question && names[question.name.toLowerCase()];
    const flags = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE;
    const answers =
      question?.type === 'A' && found !== undefined
        ? [{ type: 'A' as const, name: question.name, ttl: 60, data: found }]
        : [];
    // A name that there is has no other addresses.
    const rcode = found === undefined ? 3 : 0;
    socket.send(
      dnsPacket.encode({ type: 'response', id: id ?? 0, flags: flags | rcode, questions, answers }),
      from.port,
      from.address,
    );
  });
  socket.bind(53, address);
  await once(socket, 'listening');
  return socket;
};
