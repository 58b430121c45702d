import { TLSSocket } from 'node:tls';
import { bracketed } from '../../../shared/checks/connection/config.ts';
import {
  type GrpcEndpoint,
  type GrpcSettings,
  grpcEndpoint,
  grpcSettings,
} from '../../../shared/checks/grpc/config.ts';
import { type Open, openSocket } from '../connection/connect.ts';
import { reachWithHandshake } from '../connection/handshake.ts';
import {
  alpnHttp2,
  type HeaderField,
  type Http2Receiver,
  type Http2Request,
  headerFields,
  loadHttp2,
  requestByHttp2,
} from '../connection/http2.ts';
import { createNotes } from '../connection/notes.ts';
import { ownCodes } from '../connection/observation.ts';
import type { ConnectionDependencies } from '../connection/reach.ts';
import { isSignedByOwner, userAgent } from '../https/perform.ts';
import { type CheckDeadline, GrowingBytes } from '../limits.ts';
import type { Check, CheckContext } from '../types.ts';
import { healthRequest, maxAnswer } from './message.ts';
import { type GrpcFailure, type GrpcObservation, judgeGrpc } from './verdict.ts';

/** Performs the check: a connection of HTTP/2, one call over it, then the pure verdict. */
export function createGrpcCheck(dependencies: ConnectionDependencies): Check {
  const note = createNotes(dependencies);
  const { trust } = dependencies;
  return async (context) => {
    const { assignment, started_at, deadline, evidence_wanted } = context;
    const target = grpcEndpoint(assignment.target);
    if (!target) throw new Error('The target of a grpc check is not a host and a port');
    const settings = grpcSettings(assignment.config);
    await loadHttp2();
    const began = performance.now();
    deadline.listenInSteps();
    const host = (settings.authority?.host ?? target.host).replace(/\.$/, '');
    const { verify_tls: verify, client_certificate: client, ip_family } = settings;
    const opening =
      (isHybrid: boolean): Open =>
      (address, port, through) =>
        openSocket(
          address,
          port,
          target.isSecure ? { host, verify, isHybrid, alpn: alpnHttp2, client } : null,
          trust,
          through,
        );
    const endpoint = { host: target.host, port: target.port, ip_family };
    const certified = { host, verify, trust };
    const { reached, socket, tls, tls_ms, failure } = await reachWithHandshake(
      endpoint,
      opening,
      certified,
      context,
      dependencies,
    );
    let call: Call = { ...noCall, failure };
    if (socket !== null && failure === null) {
      // As other clients of gRPC do: a server that agreed to nothing may speak anything.
      const isAgreed = !(socket instanceof TLSSocket) || socket.alpnProtocol === 'h2';
      if (isAgreed) call = await callHealth(socket, target, settings, context);
      else {
        call = { ...noCall, failure: { phase: 'tls', code: ownCodes.otherProtocol } };
        setImmediate(() => socket.destroy());
      }
    }
    const observation: GrpcObservation = {
      at: started_at,
      limit_ms: assignment.timeout_ms,
      reached: reached.seen,
      tls,
      phases: {
        ...reached.phases,
        tls: tls_ms,
        first_byte: call.first_byte_ms,
        total: performance.now() - began,
      },
      response: call.response,
      beginning: call.beginning,
      failure: call.failure,
    };
    const verdict = judgeGrpc(settings, observation, evidence_wanted);
    return note(verdict, context, endpoint, reached.seen, [tls]);
  };
}

type Call = Pick<GrpcObservation, 'response' | 'beginning'> & {
  readonly failure: GrpcFailure | null;
  readonly first_byte_ms: number | null;
};

const noCall = { response: null, beginning: new Uint8Array(), first_byte_ms: null } as const;

/** One call of the health service. Closes the connection. */
async function callHealth(
  socket: Parameters<typeof requestByHttp2>[0],
  target: GrpcEndpoint,
  settings: GrpcSettings,
  context: CheckContext,
): Promise<Call> {
  const sent = performance.now();
  let first_byte_ms: number | null = null;
  let status = 0;
  let headers: readonly HeaderField[] = [];
  let trailers: readonly HeaderField[] = [];
  const message = new GrowingBytes(maxAnswer + 1);
  const receiver: Http2Receiver = {
    head: (code, fields, isLast) => {
      first_byte_ms = performance.now() - sent;
      status = code;
      headers = fields.filter(([name]) => !name.startsWith(':'));
      // A call that fails at once has its trailers in the place of the headers.
      if (isLast) trailers = headers;
      return isLast;
    },
    data: (part) => {
      message.add(part);
      return message.length > maxAnswer;
    },
    trailers: (fields) => {
      trailers = fields;
    },
  };
  const request = requestOf(target, settings, context);
  const { code, phase, beginning } = await requestByHttp2(
    socket,
    request,
    receiver,
    context.deadline,
  );
  const body = Buffer.from(message.bytes);
  message.free();
  return {
    response: status === 0 ? null : { status, headers, trailers, body },
    beginning,
    failure: code === null ? null : { phase, code },
    first_byte_ms,
  };
}

function requestOf(
  target: GrpcEndpoint,
  { service, metadata, authority: given }: GrpcSettings,
  { probe, deadline, clock }: CheckContext,
): Http2Request {
  const { host, port } = given ?? { host: target.host, port: `:${target.port}` };
  const authority = `${bracketed(host)}${port}`;
  const { isSecure } = target;
  const own = metadata.map(([name, value]): HeaderField => [name.toLowerCase(), value]);
  // Verifiers leave out the port of the scheme.
  const signed = authority.replace(isSecure ? /:443$/ : /:80$/, '');
  const signature =
    probe.sign && !isSignedByOwner(new Map(own))
      ? headerFields(probe.sign({ authority: signed, method: 'POST', isSecure }, clock.now()))
      : [];
  return {
    headers: [
      [':method', 'POST'],
      [':scheme', isSecure ? 'https' : 'http'],
      [':authority', authority],
      [':path', '/grpc.health.v1.Health/Check'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['user-agent', userAgent(probe)],
      ['grpc-timeout', `${timeLeft(deadline)}m`],
      ...own,
      ...signature,
    ],
    body: healthRequest(service),
  };
}

/** What the server may still take, in milliseconds. */
function timeLeft({ due }: CheckDeadline): number {
  return Math.max(1, Math.ceil(due - performance.now()));
}
