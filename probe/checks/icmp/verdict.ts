import type { IcmpCause } from '../../../shared/checks/icmp/causes.ts';
import type { IcmpSettings } from '../../../shared/checks/icmp/config.ts';
import type { Cause, Evidence, Phases, Verdict } from '../../../shared/checks/result.ts';
import { reachEvidence, roundedPhases, scrubber } from '../connection/evidence.ts';
import type { Failure, ReachSeen } from '../connection/observation.ts';
import { connectionPhases, failureCause, ownFault } from '../connection/verdict.ts';
import { connectionWarnings } from '../connection/warnings.ts';
import type { Echoes } from './ping.ts';

/** What performing an icmp check observed. */
export type IcmpObservation = {
  readonly at: number;
  readonly limit_ms: number;
  readonly addresses: readonly string[];
  readonly by: ReachSeen['by'];
  /** The one that was asked. */
  readonly address: string | null;
  /** undefined: nothing was sent, or the host's ping did not work. */
  readonly echoes: Echoes | undefined;
  readonly dns_ms: number | null;
  readonly failure: Failure<'dns' | 'tcp'> | null;
};

/** Judges an icmp check. The time of its response is the mean round trip. */
export function judgeIcmp(
  settings: IcmpSettings,
  seen: IcmpObservation,
  evidenceWanted: boolean,
): Verdict {
  const { outcome, cause: why } = judged(settings, seen);
  const mean = seen.echoes?.rtt?.mean ?? null;
  const phases: Phases = roundedPhases({
    dns: seen.dns_ms,
    tcp: null,
    tls: null,
    first_byte: mean,
    total: mean,
  });
  const warnings =
    outcome === 'ok'
      ? connectionWarnings({ ...settings, tls_expires_within_days: null }, seen.at, mean, [])
      : [];
  const verdict = { outcome, cause: why, phases, ...(warnings.length > 0 ? { warnings } : {}) };
  const evidence = outcome === 'ok' && !evidenceWanted ? {} : evidenceOf(seen);
  return { ...verdict, evidence };
}

function cause(name: IcmpCause, params: Cause['params'] = {}): Cause {
  return { class: name, params };
}

type Judged = Pick<Verdict, 'outcome' | 'cause'>;

function judged(
  { max_loss_percent: most, ip_family, packets }: IcmpSettings,
  { at, limit_ms, addresses, echoes, failure }: IcmpObservation,
): Judged {
  if (failure) {
    const own = ownFault(failure, addresses);
    if (own) return unknown(own);
    const why = failureCause(failure, connectionPhases, { tls: null, at, limit_ms, ip_family });
    return why === null ? unknown({ class: 'probe_clock_wrong', params: {} }) : fail(why);
  }
  if (echoes === undefined) return unknown(cause('icmp_unavailable'));
  const { sent, received, refusal } = echoes;
  if (received === 0) {
    if (refusal !== null) return fail({ class: `${refusal}_unreachable`, params: {} });
    return fail(cause('icmp_silent', { sent: sent || packets }));
  }
  const lost = sent - received;
  return (lost * 100) / sent > most
    ? fail(cause('icmp_loss', { lost, sent, most }))
    : { outcome: 'ok', cause: null };
}

function unknown(why: Cause): Judged {
  return { outcome: 'unknown', cause: why };
}

function fail(why: Cause): Judged {
  return { outcome: 'fail', cause: why };
}

function evidenceOf({ addresses, by, address, echoes, failure }: IcmpObservation): Evidence {
  const reached: ReachSeen = { addresses, by, unanswered: null, attempts: [], outgoing: null };
  return {
    ...reachEvidence(reached, failure, scrubber([])),
    ...(address === null ? {} : { address }),
    ...(echoes === undefined
      ? {}
      : { sent: echoes.sent, received: echoes.received, round_trip_ms: echoes.rtt }),
  };
}
