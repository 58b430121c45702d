import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcp, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import dnsPacket from 'dns-packet';
import { createLookup } from '../../../probe/checks/connection/lookup.ts';
import { createTrust } from '../../../probe/checks/connection/trust.ts';
import { createDnsCheck } from '../../../probe/checks/dns/perform.ts';
import { createUdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGrpcCheck } from '../../../probe/checks/grpc/perform.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { createHttpsCheck } from '../../../probe/checks/https/perform.ts';
import { createIcmpCheck } from '../../../probe/checks/icmp/perform.ts';
import { createPing } from '../../../probe/checks/icmp/ping.ts';
import { createTcpCheck } from '../../../probe/checks/tcp/perform.ts';
import { createTlsCheck } from '../../../probe/checks/tls/perform.ts';
import { createWebsocketCheck } from '../../../probe/checks/websocket/perform.ts';
import { systemClock } from '../../../shared/base/time.ts';
import type { Verdict } from '../../../shared/checks/result.ts';
import { assignmentOf, deadlineIn } from './checkers.ts';
import {
  type Case,
  cases,
  nameServer,
  ports,
  publicServer,
  publicServer6,
  zone,
} from './laboratory-cases.ts';

/**
 * The guard's laboratory, run inside a network namespace of its own in which every address there is
 * belongs to this machine: whatever a check connects to, a trap answers and tells. Prints one line
 * of JSON for each case.
 */

/** Undefined: there is no ping here. */
const pingCommand = process.argv.length > 2 ? process.argv.slice(2) : undefined;

const ip = (...words: readonly string[]): void => {
  execFileSync('ip', words);
};
ip('link', 'set', 'lo', 'up');
ip('route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo');
ip('-6', 'route', 'add', 'local', '::/0', 'dev', 'lo');

const own = new Set<string>([publicServer, publicServer6, nameServer]);
/** Addresses that were connected or written to and are none of the public servers. */
let trapped: string[] = [];

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve) => server.listen({ port, host: '::' }, () => resolve()));
const addressOf = (socket: Socket): string =>
  (socket.localAddress ?? '?').replace(/^::ffff:(?=\d+\.)/, '');

const bomb = gzipSync(Buffer.alloc(200 * 1_048_576, 0x61));
const web = createServer((request, response) => {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  if (path === '/to')
    response
      .writeHead(302, { location: Buffer.from(decodeURIComponent(query)).toString('latin1') })
      .end();
  else if (path === '/circle') response.writeHead(302, { location: '/circle' }).end();
  else if (path === '/longer')
    response.writeHead(302, { location: `/longer?${Number(query) + 1}` }).end();
  else if (path === '/bomb') response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
  else if (path === '/flood')
    request.socket.write(`HTTP/1.1 200 OK\r\n${'X-Flood: 1234567890\r\n'.repeat(10_000)}\r\n`);
  else if (path === '/drip') {
    response.writeHead(200);
    const timer = setInterval(() => response.write('.'), 20);
    request.socket.once('close', () => clearInterval(timer));
  } else response.end('public');
});
const noting = (socket: Socket): void => {
  socket.on('error', () => socket.destroy());
  if (!own.has(addressOf(socket))) trapped.push(`tcp ${addressOf(socket)}`);
};
web.on('connection', noting);
await listen(web, ports.http);
for (const port of [ports.https, ports.other, ports.bus, ports.dns]) {
  await listen(
    createTcp((socket) => {
      noting(socket);
      socket.destroy();
    }),
    port,
  );
}

const asked = new Map<string, number>();
const records = (name: string, type: string): string[] => {
  const steps = zone[name] ?? [];
  const count = type === 'A' ? (asked.get(name) ?? 0) : Math.max(0, (asked.get(name) ?? 1) - 1);
  if (type === 'A') asked.set(name, count + 1);
  const now = steps[Math.min(count, steps.length - 1)];
  return [...((type === 'A' ? now?.A : type === 'AAAA' ? now?.AAAA : undefined) ?? [])];
};
const resolver = createSocket('udp4');
resolver.on('message', (message, from) => {
  const query = dnsPacket.decode(message);
  const question = query.questions?.[0];
  if (!question) return;
  const type = question.type === 'AAAA' ? 'AAAA' : 'A';
  const answers = records(question.name.toLowerCase(), question.type).map(
    (data) => ({ type, name: question.name, ttl: 0, data }) as const,
  );
  const flags =
    dnsPacket.RECURSION_DESIRED |
    dnsPacket.RECURSION_AVAILABLE |
    (zone[question.name.toLowerCase()] ? 0 : 3);
  resolver.send(
    dnsPacket.encode({
      type: 'response',
      id: query.id ?? 0,
      flags,
      questions: [question],
      answers,
    }),
    from.port,
    from.address,
  );
});
await new Promise<void>((resolve) => resolver.bind(ports.dns, nameServer, () => resolve()));
/**
 * Connections that this namespace ever began, by the kernel's own count: a trap could miss one,
 * this cannot.
 */
const began = (): number => countOf('Tcp', 'ActiveOpens');

/** Datagrams of DNS checks and echo requests that it ever sent, by the same count. */
const sent = {
  dns: () => countOf('Udp', 'OutDatagrams') + countOf6('Udp6OutDatagrams'),
  icmp: () => countOf('Icmp', 'OutEchos') + countOf6('Icmp6OutEchos'),
  https: () => 0,
  tcp: () => 0,
  tls: () => 0,
  grpc: () => 0,
  websocket: () => 0,
} as const;

function countOf(protocol: string, name: string): number {
  const [names = '', values = ''] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${protocol}:`));
  return Number(values.split(' ')[names.split(' ').indexOf(name)]);
}

function countOf6(name: string): number {
  const line = new RegExp(`^${name}\\s+(\\d+)$`, 'm');
  return Number(line.exec(readFileSync('/proc/net/snmp6', 'utf8'))?.[1]);
}

const sockets = createUdpSockets();
const families = () => ({ 4: true, 6: true }) as const;
const connection = {
  resolver: { works: async () => true },
  lookup: createLookup({
    families,
    sockets,
    resolvers: () => [{ address: nameServer, port: ports.dns, family: 4 }],
  }),
  families,
  trust: createTrust(),
};
const checks = {
  https: createHttpsCheck(connection),
  tcp: createTcpCheck(connection),
  tls: createTlsCheck(connection),
  grpc: createGrpcCheck(connection),
  websocket: createWebsocketCheck(connection),
  dns: createDnsCheck({ sockets }),
  icmp: createIcmpCheck({ ...connection, ping: createPing(pingCommand) }),
};

const run = async (one: Case): Promise<void> => {
  trapped = [];
  asked.clear();
  const before = began();
  const sentBefore = sent[one.kind]();
  const first = one.again === true ? await check(one) : undefined;
  const verdict = await check(one);
  if (first?.outcome === verdict.outcome) throw new Error(`${one.name}: nothing moved`);
  process.stdout.write(
    `${JSON.stringify({ name: one.name, opened: began() - before, sent: sent[one.kind]() - sentBefore, trapped, cause: verdict.cause?.class ?? null })}\n`,
  );
};

const check = (one: Case): Promise<Verdict> => {
  const timeout_ms = one.timeout_ms ?? 5_000;
  const guard = createGuard({
    allow: one.allow ?? [],
    bus: () => [{ address: '10.20.0.5', port: ports.bus }],
    own: () => ['127.0.0.1', '::1'],
  });
  return checks[one.kind]({
    assignment: assignmentOf(one.target, { kind: one.kind, timeout_ms, config: one.config ?? {} }),
    started_at: systemClock.now(),
    deadline: deadlineIn(timeout_ms),
    evidence_wanted: true,
    guard,
    probe: { name: 'lab', continent: 'Europe', base_url: 'https://antipode.example', version: '0' },
    clock: systemClock,
  });
};

for (const one of cases) if (pingCommand || one.kind !== 'icmp') await run(one);
process.exit(0);
