import type { Cause, Phases, Verdict } from '../../../shared/checks/result.ts';
import type { TcpCause } from '../../../shared/checks/tcp/causes.ts';
import type { TcpSettings } from '../../../shared/checks/tcp/config.ts';
import { quoted, reachEvidence, scrubber, tlsEvidence } from '../connection/evidence.ts';
import { type Failure, ownCodes, type ReachSeen, type TlsSeen } from '../connection/observation.ts';
import {
  type CodeTable,
  connectionPhases,
  connectionVerdict,
  expiredCause,
  failureCause,
  handshakeFailure,
  limitCause,
  ownFault,
} from '../connection/verdict.ts';

export type TcpPhase = 'dns' | 'tcp' | 'tls' | 'greeting' | 'starttls' | 'answer';

/** `protocol`: which one was expected; `said`: the number, or our own word, of a refusal. */
export type TcpFailure = Failure<TcpPhase> & {
  readonly protocol?: string;
  readonly said?: string | number;
};

/** What performing a tcp check observed. */
export type TcpObservation = {
  /** The corrected time at which certificates are judged. */
  readonly at: number;
  readonly limit_ms: number;
  readonly reached: ReachSeen;
  readonly tls: TlsSeen | null;
  readonly phases: Phases;
  /** What the server said last. */
  readonly received: Uint8Array;
  readonly failure: TcpFailure | null;
};

const spoken: CodeTable = {
  codes: { [ownCodes.closed]: 'connection_closed' satisfies TcpCause },
  otherwise: 'connection_reset',
};

const maxReceived = 400;

/**
 * Judges a tcp check. Builds evidence for failures, and for a success when wanted, and warnings for
 * a success.
 */
export function judgeTcp(
  settings: TcpSettings,
  seen: TcpObservation,
  evidenceWanted: boolean,
): Verdict {
  const verdict = connectionVerdict(settings, seen, judged(settings, seen));
  const { reached, tls, failure, received } = seen;
  if (verdict.outcome === 'ok' && !evidenceWanted) return { ...verdict, evidence: {} };
  const scrub = scrubber(settings.secrets);
  const evidence = {
    ...reachEvidence(reached, failure, scrub),
    ...(received.length > 0
      ? { received: scrub.bytes(received.subarray(0, scrub.enough(maxReceived)), maxReceived) }
      : {}),
    ...(tls ? { tls: tlsEvidence(tls, scrub) } : {}),
  };
  return { ...verdict, evidence };
}

type Judged = Pick<Verdict, 'outcome' | 'cause'>;

const phases: Readonly<Record<TcpPhase, CodeTable>> = {
  ...connectionPhases,
  greeting: spoken,
  starttls: spoken,
  answer: spoken,
};

function judged(settings: TcpSettings, seen: TcpObservation): Judged {
  const { at, limit_ms, reached, tls, received } = seen;
  const { ip_family, banner, send, expect } = settings;
  const saysNothing =
    send === null && expect === null && (banner === null || banner === settings.tls);
  const failure = saysNothing
    ? handshakeFailure(seen.failure, tls, settings.verify_tls)
    : seen.failure;
  if (failure) {
    const own = ownFault(failure, reached.addresses);
    if (own) return { outcome: 'unknown', cause: own };
    const said = saidCause(failure, received, settings.expect_words);
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

/** What is wrong with what the server said; undefined where it said nothing that could be wrong. */
function saidCause(
  { phase, code, protocol = '', said }: TcpFailure,
  received: Uint8Array,
  expected: string,
): Cause | undefined {
  const isSpoken = phase === 'greeting' || phase === 'starttls' || phase === 'answer';
  if (!isSpoken) return undefined;
  if (code === ownCodes.refused) {
    const params = { protocol, ...(said === undefined ? {} : { code: said }) };
    return cause(phase === 'starttls' ? 'starttls_refused' : 'greeting_refused', params);
  }
  if (phase === 'answer') {
    const truncated = code === ownCodes.incomplete ? 1 : 0;
    // A server that goes on waiting has answered, if it said anything at all.
    return truncated === 1 || (received.length > 0 && expected !== '')
      ? cause('answer_lacks', { text: quoted(expected), truncated })
      : undefined;
  }
  const isUnexpected =
    code === ownCodes.malformed ||
    code === ownCodes.incomplete ||
    (code === ownCodes.closed && received.length > 0);
  return isUnexpected ? cause('greeting_unexpected', { protocol }) : undefined;
}

function cause(name: TcpCause, params: Cause['params'] = {}): Cause {
  return { class: name, params };
}

function fail(why: Cause): Judged {
  return { outcome: 'fail', cause: why };
}
