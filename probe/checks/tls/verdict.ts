import type { Cause, Phases, Verdict } from '../../../shared/checks/result.ts';
import type { TlsSettings } from '../../../shared/checks/tls/config.ts';
import { reachEvidence, scrubber, tlsEvidence } from '../connection/evidence.ts';
import type { Failure, ReachSeen, TlsSeen } from '../connection/observation.ts';
import {
  connectionPhases,
  connectionVerdict,
  expiredCause,
  failureCause,
  handshakeFailure,
  limitCause,
  ownFault,
} from '../connection/verdict.ts';

/** What performing a tls check observed. */
export type TlsObservation = {
  /** The corrected time at which certificates are judged. */
  readonly at: number;
  readonly limit_ms: number;
  readonly reached: ReachSeen;
  readonly tls: TlsSeen | null;
  readonly phases: Phases;
  readonly failure: Failure<'dns' | 'tcp' | 'tls'> | null;
};

/**
 * Judges a tls check. Builds evidence for failures, and for a success when wanted, and warnings for
 * a success.
 */
export function judgeTls(
  settings: TlsSettings,
  seen: TlsObservation,
  evidenceWanted: boolean,
): Verdict {
  const verdict = connectionVerdict(settings, seen, judged(settings, seen));
  const { reached, tls, failure } = seen;
  if (verdict.outcome === 'ok' && !evidenceWanted) return { ...verdict, evidence: {} };
  const scrub = scrubber([]);
  const evidence = {
    ...reachEvidence(reached, failure, scrub),
    ...(tls ? { tls: tlsEvidence(tls, scrub) } : {}),
  };
  return { ...verdict, evidence };
}

type Judged = Pick<Verdict, 'outcome' | 'cause'>;

function judged(settings: TlsSettings, seen: TlsObservation): Judged {
  const { at, limit_ms, reached, tls, phases } = seen;
  const { ip_family, min_version: least } = settings;
  const failure = handshakeFailure(seen.failure, tls, settings.verify_tls);
  if (failure) {
    const own = ownFault(failure, reached.addresses);
    if (own) return { outcome: 'unknown', cause: own };
    const why = failureCause(failure, connectionPhases, { tls, at, limit_ms, ip_family });
    if (!why) return { outcome: 'unknown', cause: { class: 'probe_clock_wrong', params: {} } };
    return fail(why.class === 'tls_version' ? { ...why, params: { least } } : why);
  }
  const version = versionOf(tls?.protocol ?? '');
  if (version !== null && version < least)
    return fail({ class: 'tls_version', params: { least, version } });
  const old = settings.verify_tls ? expiredCause([tls], at) : undefined;
  const wrong = old ?? limitCause(settings, at, phases.total, [tls]);
  return wrong ? fail(wrong) : { outcome: 'ok', cause: null };
}

function fail(cause: Cause): Judged {
  return { outcome: 'fail', cause };
}

/** `TLSv1` is 1.0; null for what is no version of TLS. */
function versionOf(protocol: string): string | null {
  const version = /^TLSv(1(?:\.[0-3])?)$/.exec(protocol)?.[1];
  return version === '1' ? '1.0' : (version ?? null);
}
