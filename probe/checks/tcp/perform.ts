import type { Socket } from 'node:net';
import { hostAndPort } from '../../../shared/checks/connection/config.ts';
import { type TcpSettings, tcpSettings } from '../../../shared/checks/tcp/config.ts';
import type { Upgrade } from '../../../shared/checks/tcp/keys.ts';
import {
  closeSocket,
  type Open,
  openSocket,
  type Securing,
  secureSocket,
} from '../connection/connect.ts';
import {
  type Certified,
  type Connection,
  handshake,
  reachWithHandshake,
} from '../connection/handshake.ts';
import { createNotes } from '../connection/notes.ts';
import { ownCodes, type TlsSeen } from '../connection/observation.ts';
import type { ConnectionDependencies, Endpoint } from '../connection/reach.ts';
import type { Check, CheckContext } from '../types.ts';
import { type Exchange, greetings, type Reader, upgrading } from './greetings.ts';
import { judgeTcp, type TcpFailure, type TcpObservation, type TcpPhase } from './verdict.ts';
import { type Ended, Wire } from './wire.ts';

/** What the conversation came to, and the socket that is left to close. */
type Conversation = {
  readonly socket: Socket | null;
  readonly tls: TlsSeen | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
  /** What came last, as far as it was not understood, or what was expected. */
  readonly received: Uint8Array;
  readonly failure: TcpFailure | null;
};

const nothing = new Uint8Array();

/** The protocol that a Postgres demands of those who begin with TLS. */
const postgresAlpn = Buffer.from('\u000apostgresql', 'latin1');

/** Performs the check: a connection, what is said over it, then the pure verdict. */
export function createTcpCheck(dependencies: ConnectionDependencies): Check {
  const note = createNotes(dependencies);
  return async (context) => {
    const { assignment, started_at, deadline, evidence_wanted } = context;
    const target = hostAndPort('tcp', assignment.target);
    if (!target) throw new Error('The target of a tcp check is not a host and a port');
    const settings = tcpSettings(assignment.config);
    const began = performance.now();
    deadline.listenInSteps();
    const endpoint: Endpoint = { ...target, ip_family: settings.ip_family };
    const host = settings.server_name ?? target.host.replace(/\.$/, '');
    const { reached, ...connection } = await connect(
      endpoint,
      host,
      settings,
      context,
      dependencies,
    );
    const seen =
      connection.socket === null || connection.failure
        ? { ...connection, first_byte_ms: null, received: nothing }
        : await converse(
            { ...connection, socket: connection.socket },
            host,
            settings,
            context,
            dependencies,
          );
    const observation: TcpObservation = {
      at: started_at,
      limit_ms: assignment.timeout_ms,
      reached: reached.seen,
      tls: seen.tls,
      phases: {
        ...reached.phases,
        tls: seen.tls_ms,
        first_byte: seen.first_byte_ms,
        total: performance.now() - began,
      },
      received: seen.received,
      failure: seen.failure,
    };
    const verdict = judgeTcp(settings, observation, evidence_wanted);
    return note(verdict, context, endpoint, reached.seen, [seen.tls]);
  };
}

function connect(
  endpoint: Endpoint,
  host: string,
  { tls, banner, verify_tls: verify }: TcpSettings,
  context: CheckContext,
  dependencies: ConnectionDependencies,
): Promise<Connection> {
  const { trust } = dependencies;
  const alpn = banner === 'postgres' ? { alpn: postgresAlpn } : {};
  const opening =
    (isHybrid: boolean): Open =>
    (address, port, through) =>
      openSocket(
        address,
        port,
        tls === 'implicit' ? { host, verify, isHybrid, ...alpn } : null,
        trust,
        through,
      );
  return reachWithHandshake(endpoint, opening, { host, verify, trust }, context, dependencies);
}

/** All that is said over a connection, up to its end. Closes it. */
async function converse(
  connection: Omit<Connection, 'reached'> & { readonly socket: Socket },
  host: string,
  settings: TcpSettings,
  context: CheckContext,
  { trust }: ConnectionDependencies,
): Promise<Conversation> {
  const { deadline } = context;
  const { banner, send, expect, tls: mode } = settings;
  const upgrade = mode === 'none' || mode === 'implicit' ? null : mode;
  let { socket, tls, tls_ms } = connection;
  if (upgrade === null && banner === null && send === null && expect === null) {
    closeSocket(socket);
    return { ...connection, first_byte_ms: null, received: nothing };
  }
  const began = performance.now();
  let wire = new Wire(socket, deadline);
  let firstAt: number | null = null;
  const end = (failure: TcpFailure | null, farewell?: Buffer): Conversation => {
    wire.release();
    const received = Buffer.from(wire.bytes.bytes);
    wire.bytes.free();
    if (failure) socket.destroy();
    else closeSocket(socket, farewell);
    firstAt ??= wire.firstAt;
    const first_byte_ms = firstAt === null ? null : firstAt - began;
    return { socket, tls, tls_ms, first_byte_ms, received, failure };
  };

  if (upgrade) {
    const failure = await askForTls(wire, upgrade, nameOf(context));
    if (failure) return end(failure);
    firstAt = wire.firstAt;
    wire.release();
    wire.bytes.free();
    const securing: Securing = { host, verify: settings.verify_tls, isHybrid: false };
    const certified: Certified = { host, verify: settings.verify_tls, trust };
    const secured = await handshake(
      secureSocket(socket, securing, trust),
      performance.now(),
      certified,
      deadline,
    );
    ({ socket, tls, ms: tls_ms } = secured);
    wire = new Wire(socket, deadline);
    if (secured.failure) return end(secured.failure);
  }
  // STARTTLS began with the greeting of the protocol, but for those that have none.
  if (banner && (banner !== upgrade || upgrade === 'postgres'))
    for (const exchange of greetings[banner].exchanges) {
      const failure = failureOf('greeting', await wire.exchange(exchange), banner);
      if (failure) return end(failure);
    }
  const farewell = banner ? greetings[banner].farewell : undefined;
  if (expect) {
    const said = await wire.exchange({ send: send, read: containing(expect) });
    return end(failureOf('answer', said), farewell);
  }
  return end(send ? failureOf('answer', await wire.send(send)) : null, farewell);
}

async function askForTls(wire: Wire, upgrade: Upgrade, name: string): Promise<TcpFailure | null> {
  const { greeting, asking } = upgrading(upgrade, name);
  const say = async (phase: TcpPhase, exchanges: readonly Exchange[]) => {
    for (const exchange of exchanges) {
      const failure = failureOf(phase, await wire.exchange(exchange), upgrade);
      if (failure) return failure;
    }
    return null;
  };
  const failure = (await say('greeting', greeting)) ?? (await say('starttls', asking));
  if (failure) return failure;
  // Whoever puts words before the handshake would have them taken for words of the server.
  return wire.bytes.length > 0
    ? { phase: 'starttls', code: ownCodes.malformed, protocol: upgrade }
    : null;
}

/** What a probe calls itself: the host of its installation. */
function nameOf({ probe }: CheckContext): string {
  return URL.parse(probe.base_url)?.hostname ?? 'antipode';
}

function containing(expect: Buffer): Reader {
  return (bytes, from) =>
    bytes.indexOf(expect, Math.max(0, from - expect.length + 1)) < 0
      ? undefined
      : { is: 'right', used: 0 };
}

function failureOf(phase: TcpPhase, ended: Ended, protocol?: string): TcpFailure | null {
  const of = protocol === undefined ? {} : { protocol };
  switch (ended.is) {
    case 'right':
    case 'reply':
      return null;
    case 'over':
      return { phase, code: ended.code, ...of };
    case 'unexpected':
      return { phase, code: ownCodes.malformed, ...of };
    case 'refused':
      return {
        phase,
        code: ownCodes.refused,
        ...of,
        ...(ended.code === undefined ? {} : { said: ended.code }),
      };
  }
}
