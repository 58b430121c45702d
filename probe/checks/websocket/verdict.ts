import type { HttpsCause } from '../../../shared/checks/https/causes.ts';
import type { Cause, Json, Phases, Verdict } from '../../../shared/checks/result.ts';
import type { TcpCause } from '../../../shared/checks/tcp/causes.ts';
import type { WebsocketCause } from '../../../shared/checks/websocket/causes.ts';
import type { WebsocketSettings } from '../../../shared/checks/websocket/config.ts';
import {
  quoted,
  reachEvidence,
  type Scrub,
  scrubber,
  tlsEvidence,
} from '../connection/evidence.ts';
import { type Failure, ownCodes, type ReachSeen, type TlsSeen } from '../connection/observation.ts';
import {
  type CodeTable,
  connectionPhases,
  connectionVerdict,
  expiredCause,
  failureCause,
  limitCause,
  ownFault,
} from '../connection/verdict.ts';
import { headersEvidence, type ResponseSeen } from '../https/evidence.ts';
import { interference } from '../https/interference.ts';

export type WebsocketPhase = 'dns' | 'tcp' | 'tls' | 'first_byte' | 'head' | 'answer';
export type WebsocketFailure = Failure<WebsocketPhase>;

/** Our own codes, beside those of a connection and of the client (`WS_ERR_…`). */
export const websocketCodes = {
  /** The server switches protocols, and not to WebSocket. */
  notSpoken: 'NOT_WEBSOCKET',
  subprotocol: 'SUBPROTOCOL',
  /** The server closed with a close frame. */
  closeFrame: 'CLOSE_FRAME',
  /** More pings came than the server takes answers to. */
  flooded: 'FLOODED',
} as const;

/** What came over a connection, and when the verdict was known, by performance.now(). */
export type Conversation = {
  readonly at: number;
  readonly first_byte_ms: number | null;
  /** What came instead of an HTTP head, as far as it came. */
  readonly beginning: Uint8Array;
  readonly response: ResponseSeen | null;
  readonly first: { readonly bytes: Buffer; readonly isBinary: boolean } | null;
  readonly messages: number;
  /** The server's close frame. */
  readonly close: { readonly code: number; readonly reason: Buffer } | null;
  readonly failure: WebsocketFailure | null;
};

/** What performing a websocket check observed. */
export type WebsocketObservation = Omit<Conversation, 'at' | 'first_byte_ms'> & {
  /** The corrected time at which certificates are judged. */
  readonly at: number;
  readonly url: string;
  readonly limit_ms: number;
  readonly reached: ReachSeen;
  readonly tls: TlsSeen | null;
  readonly phases: Phases;
};

const maxUrl = 500;

/**
 * Judges a websocket check. Builds evidence for failures, and for a success when wanted, and
 * warnings for a success.
 */
export function judgeWebsocket(
  settings: WebsocketSettings,
  seen: WebsocketObservation,
  evidenceWanted: boolean,
): Verdict {
  const verdict = connectionVerdict(settings, seen, judged(settings, seen));
  const { url, reached, tls, failure } = seen;
  if (verdict.outcome === 'ok' && !evidenceWanted) return { ...verdict, evidence: {} };
  const scrub = scrubber(settings.secrets);
  const evidence = {
    url: scrub(url, maxUrl),
    ...reachEvidence(reached, failure, scrub),
    ...(tls ? { tls: tlsEvidence(tls, scrub) } : {}),
    ...spokenEvidence(seen, scrub),
  };
  return { ...verdict, evidence };
}

type Judged = Pick<Verdict, 'outcome' | 'cause'>;

const phases: Readonly<Record<WebsocketPhase, CodeTable>> = {
  ...connectionPhases,
  tls: {
    ...connectionPhases.tls,
    // We offered HTTP/1.1 only, and over nothing else WebSocket is in use.
    codes: {
      ...connectionPhases.tls.codes,
      ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'websocket_not_spoken' satisfies WebsocketCause,
    },
  },
  first_byte: {
    codes: { [ownCodes.closed]: 'response_missing' satisfies HttpsCause },
    otherwise: 'connection_reset',
  },
  head: {
    codes: {
      [ownCodes.malformed]: 'response_malformed' satisfies HttpsCause,
      [ownCodes.headersTooLarge]: 'response_headers_too_large' satisfies HttpsCause,
      [websocketCodes.notSpoken]: 'websocket_not_spoken' satisfies WebsocketCause,
    },
    otherwise: 'response_incomplete' satisfies HttpsCause,
  },
  answer: {
    codes: {
      [ownCodes.closed]: 'connection_closed' satisfies TcpCause,
      WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH: 'message_too_large' satisfies WebsocketCause,
      WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 'message_too_large' satisfies WebsocketCause,
    },
    otherwise: 'connection_reset',
  },
};

function judged(settings: WebsocketSettings, seen: WebsocketObservation): Judged {
  const { at, limit_ms, reached, tls, failure } = seen;
  const { ip_family } = settings;
  if (failure) {
    const own = ownFault(failure, reached.addresses);
    if (own) return { outcome: 'unknown', cause: own };
    const said = saidCause(settings, failure, seen);
    if (said) return fail(said);
    const why = failureCause(failure, phases, { tls, at, limit_ms, ip_family });
    return why
      ? fail(why)
      : { outcome: 'unknown', cause: { class: 'probe_clock_wrong', params: {} } };
  }
  const old = settings.verify_tls ? expiredCause([tls], at) : undefined;
  const wrong = old ?? limitCause(settings, at, seen.phases.total, [tls]);
  return wrong ? fail(wrong) : { outcome: 'ok', cause: null };
}

/** How a server breaks the protocol, by the codes of the client. */
const faults: Readonly<Record<string, string>> = {
  WS_ERR_EXPECTED_FIN: 'a control frame in parts',
  WS_ERR_INVALID_CLOSE_CODE: 'an invalid close code',
  WS_ERR_INVALID_CONTROL_PAYLOAD_LENGTH: 'a control frame of the wrong length',
  WS_ERR_INVALID_OPCODE: 'a frame that is unknown or out of turn',
  WS_ERR_INVALID_UTF8: 'text that is not UTF-8',
  WS_ERR_TOO_MANY_BUFFERED_PARTS: 'a message in too many parts',
  WS_ERR_UNEXPECTED_MASK: 'a masked frame',
  WS_ERR_UNEXPECTED_RSV_1: 'an extension that was not agreed on',
  WS_ERR_UNEXPECTED_RSV_2_3: 'an extension that was not agreed on',
  [websocketCodes.flooded]: 'more pings than can be answered',
};

/** Ordinary ends of a conversation; others say that something is wrong. */
const ordinaryCloses = [1_000, 1_001, 1_005];

/** What is wrong with what the server said; undefined where a table of codes says it. */
function saidCause(
  { subprotocol, expect_words }: WebsocketSettings,
  { code, phase }: WebsocketFailure,
  { response, messages, close }: WebsocketObservation,
): Cause | undefined {
  if (code === ownCodes.refused && response) return refusedCause(response);
  if (code === websocketCodes.subprotocol)
    return cause('subprotocol_wrong', subprotocol === null ? {} : { wanted: subprotocol });
  const fault = Object.hasOwn(faults, code) ? faults[code] : undefined;
  if (fault !== undefined) return cause('websocket_invalid', { fault });
  if (phase !== 'answer') return undefined;
  const truncated = code === ownCodes.incomplete ? 1 : 0;
  // A server that goes on waiting, or takes its leave, has answered if it said anything at all.
  const isOrdinaryEnd = close === null || ordinaryCloses.includes(close.code);
  const ends: readonly string[] = [ownCodes.deadline, ownCodes.closed, websocketCodes.closeFrame];
  if (truncated === 1 || (messages > 0 && isOrdinaryEnd && ends.includes(code)))
    return cause('message_lacks', { text: quoted(expect_words), truncated });
  return code === websocketCodes.closeFrame
    ? cause('websocket_closed', { code: close?.code ?? 0 })
    : undefined;
}

const utf8 = new TextDecoder('utf-8');

/** What is wrong with a response that opens no WebSocket. */
function refusedCause(response: ResponseSeen): Cause {
  const { status } = response;
  const between = interference(response, utf8.decode(response.body));
  if (between)
    return cause(between.is === 'blocked' ? 'blocked_by_firewall' : 'origin_unreachable', {
      vendor: between.vendor,
      status,
    });
  // Switching, and not to what was asked for.
  if (status === 101) return cause('websocket_not_spoken');
  return cause(status >= 200 && status < 300 ? 'websocket_not_spoken' : 'upgrade_refused', {
    status,
  });
}

function cause(name: WebsocketCause | HttpsCause | TcpCause, params: Cause['params'] = {}): Cause {
  return { class: name, params };
}

function fail(why: Cause): Judged {
  return { outcome: 'fail', cause: why };
}

const maxBody = 1_024;

const maxFirstBytes = 100;

const maxMessage = 1_024;

const maxReason = 123;

function spokenEvidence(seen: WebsocketObservation, scrub: Scrub): Record<string, Json> {
  const { response, beginning, first, messages, close } = seen;
  const evidence: Record<string, Json> = {};
  if (response) {
    evidence.status = response.status;
    evidence.headers = headersEvidence(response.headers, scrub);
    if (response.body.length > 0) evidence.body = textOf(scrub, response.body, maxBody);
  } else if (beginning.length > 0) evidence.first_bytes = scrub.bytes(beginning, maxFirstBytes);
  if (first) {
    const { bytes, isBinary } = first;
    evidence.first_message = isBinary
      ? scrub.bytes(bytes.subarray(0, scrub.enough(maxMessage)), maxMessage)
      : textOf(scrub, bytes, maxMessage);
    evidence.messages = messages;
  }
  if (close) {
    evidence.close_code = close.code;
    if (close.reason.length > 0) evidence.close_reason = textOf(scrub, close.reason, maxReason);
  }
  return evidence;
}

function textOf(scrub: Scrub, bytes: Uint8Array, limit: number): string {
  return scrub(utf8.decode(bytes.subarray(0, scrub.enough(limit))), limit);
}
