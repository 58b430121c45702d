import {
  type GrpcCause,
  grpcCodes,
  serving,
  servingStatuses,
} from '../../../shared/checks/grpc/causes.ts';
import type { GrpcSettings } from '../../../shared/checks/grpc/config.ts';
import type { HttpsCause } from '../../../shared/checks/https/causes.ts';
import type { Cause, Json, Phases, Verdict } from '../../../shared/checks/result.ts';
import {
  quoted,
  reachEvidence,
  type Scrub,
  scrubber,
  tlsEvidence,
} from '../connection/evidence.ts';
import type { HeaderField } from '../connection/http2.ts';
import { type Failure, ownCodes, type ReachSeen, type TlsSeen } from '../connection/observation.ts';
import { http2Cause, isRefusedProtocol, responsePhases } from '../connection/response.ts';
import {
  type CodeTable,
  connectionPhases,
  connectionVerdict,
  expiredCause,
  failureCause,
  limitCause,
  ownFault,
} from '../connection/verdict.ts';
import { headersEvidence } from '../https/evidence.ts';
import { interference } from '../https/interference.ts';
import { maxAnswer, readHealth } from './message.ts';

type GrpcPhase = 'dns' | 'tcp' | 'tls' | 'first_byte' | 'body';

export type GrpcFailure = Failure<GrpcPhase>;

/** The response as far as it came. A call that failed at once has trailers only. */
type GrpcResponse = {
  readonly status: number;
  readonly headers: readonly HeaderField[];
  readonly trailers: readonly HeaderField[];
  readonly body: Uint8Array;
};

/** What performing a grpc check observed. */
export type GrpcObservation = {
  /** The corrected time at which certificates are judged. */
  readonly at: number;
  readonly limit_ms: number;
  readonly reached: ReachSeen;
  readonly tls: TlsSeen | null;
  readonly phases: Phases;
  readonly response: GrpcResponse | null;
  /** What came instead of HTTP/2. */
  readonly beginning: Uint8Array;
  readonly failure: GrpcFailure | null;
};

/**
 * Judges a grpc check. Builds evidence for failures, and for a success when wanted, and warnings
 * for a success.
 */
export function judgeGrpc(
  settings: GrpcSettings,
  seen: GrpcObservation,
  evidenceWanted: boolean,
): Verdict {
  const verdict = connectionVerdict(settings, seen, judged(settings, seen));
  return {
    ...verdict,
    evidence: verdict.outcome === 'ok' && !evidenceWanted ? {} : evidenceOf(settings, seen),
  };
}

type Judged = Pick<Verdict, 'outcome' | 'cause'>;

function judged(settings: GrpcSettings, seen: GrpcObservation): Judged {
  const { at, tls, response, failure } = seen;
  if (failure) return failed(settings, failure, seen);
  const old = settings.verify_tls ? expiredCause([tls], at) : undefined;
  if (old) return { outcome: 'fail', cause: old };
  const wrong = response ? answered(settings, response) : fail('response_missing');
  if (wrong) return wrong;
  const slow = limitCause(settings, at, seen.phases.total, [tls]);
  return slow ? { outcome: 'fail', cause: slow } : { outcome: 'ok', cause: null };
}

const phases: Readonly<Record<GrpcPhase, CodeTable>> = { ...connectionPhases, ...responsePhases };

function failed(settings: GrpcSettings, failure: GrpcFailure, seen: GrpcObservation): Judged {
  const { at, limit_ms, reached, tls, beginning } = seen;
  const own = ownFault(failure, reached.addresses);
  if (own) return { outcome: 'unknown', cause: own };
  if (isRefusedProtocol(failure) || failure.code === ownCodes.otherProtocol)
    return fail('http2_not_spoken');
  if (beginning.length > 0 && failure.code === ownCodes.malformed) return fail('http2_not_spoken');
  const why =
    http2Cause(failure) ??
    failureCause(failure, phases, { tls, at, limit_ms, ip_family: settings.ip_family });
  return why
    ? { outcome: 'fail', cause: why }
    : { outcome: 'unknown', cause: { class: 'probe_clock_wrong', params: {} } };
}

function fail(name: GrpcCause | HttpsCause, params: Cause['params'] = {}): Judged {
  return {
    outcome: 'fail',
    cause: { class: name, params },
  };
}

function answered(settings: GrpcSettings, response: GrpcResponse): Judged | undefined {
  const service = quoted(settings.service);
  if (!isGrpc(response)) return strange(response);
  if (response.body.length > maxAnswer) return fail('grpc_answer_malformed');
  const code = codeOf(response);
  if (code === undefined)
    return response.status === 200
      ? fail('grpc_status_missing')
      : fail('grpc_not_spoken', { status: response.status });
  if (code !== 0) return fail('grpc_status', { code, service });
  const health = readHealth(response.body);
  if (health === undefined) return fail('grpc_answer_malformed');
  return health === serving ? undefined : fail('grpc_not_serving', { status: health, service });
}

function isGrpc({ headers }: GrpcResponse): boolean {
  return /^application\/grpc(?:$|[+;])/i.test(fieldOf(headers, 'content-type') ?? '');
}

function fieldOf(fields: readonly HeaderField[], name: string): string | undefined {
  return fields.find(([each]) => each === name)?.[1];
}

/** What answered in the place of a server of gRPC. */
function strange(response: GrpcResponse): Judged {
  const { status, headers, body } = response;
  const page = { status, headers, body, read: body.length, truncated: false };
  const between = interference(page, Buffer.from(body).toString('utf8'));
  if (between && (status !== 200 || between.certain))
    return fail(between.is === 'blocked' ? 'blocked_by_firewall' : 'origin_unreachable', {
      vendor: between.vendor,
      status,
    });
  return fail('grpc_not_spoken', { status });
}

/** The code of the call; undefined where there is none that is a number. */
function codeOf({ trailers }: GrpcResponse): number | undefined {
  const text = fieldOf(trailers, 'grpc-status') ?? '';
  return /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}

const maxFirstBytes = 100;
const maxBody = 1_024;
const maxHeaders = 30;
const maxHeader = 300;
const maxMessage = 400;

function evidenceOf(
  settings: GrpcSettings,
  { reached, tls, response, beginning, failure }: GrpcObservation,
): Record<string, Json> {
  const scrub = scrubber(settings.secrets);
  return {
    ...reachEvidence(reached, failure, scrub),
    ...(beginning.length > 0 ? { first_bytes: scrub.bytes(beginning, maxFirstBytes) } : {}),
    ...(tls ? { tls: tlsEvidence(tls, scrub) } : {}),
    ...(response ? responseEvidence(response, scrub) : {}),
  };
}

function responseEvidence(response: GrpcResponse, scrub: Scrub): Record<string, Json> {
  const { status, headers, trailers, body } = response;
  const code = codeOf(response);
  const message = fieldOf(trailers, 'grpc-message') ?? '';
  const health = isGrpc(response) ? readHealth(body) : undefined;
  const shown = (fields: readonly HeaderField[]): Json =>
    fields
      .slice(0, maxHeaders)
      .map(([name, value]) => [scrub(name, maxHeader), scrub(value, maxHeader)]);
  return {
    status,
    headers: headersEvidence(headers, scrub),
    // Those of a call that failed at once are the headers.
    ...(trailers.length > 0 && trailers !== headers ? { trailers: shown(trailers) } : {}),
    ...(code === undefined ? {} : { grpc_status: `${code} ${grpcCodes[code] ?? ''}`.trim() }),
    ...(message === '' ? {} : { grpc_message: scrub(decoded(message), maxMessage) }),
    ...(health === undefined ? {} : { serving_status: servingStatuses[health] ?? String(health) }),
    ...(!isGrpc(response) && body.length > 0
      ? { body: scrub(Buffer.from(body).toString('utf8'), maxBody) }
      : {}),
  };
}

/** As gRPC writes a message into a header: UTF-8 with `%XX`; what is no such sign stays. */
function decoded(text: string): string {
  return Buffer.from(
    text.replaceAll(/%([0-9a-f]{2})/gi, (_sign, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ),
    'latin1',
  ).toString('utf8');
}
