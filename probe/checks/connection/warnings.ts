import type { Warning } from '../../../shared/checks/result.ts';
import { certificateStage, type WarningCode } from '../../../shared/checks/warnings.ts';
import type { TlsSeen } from './observation.ts';

/**
 * What a passing check of any kind that connects warns of (rule 44), from each handshake on its way.
 */
export type WarningSettings = {
  readonly warn_response_ms: number | null;
  readonly tls_expires_within_days: number | null;
};

export function warning(code: WarningCode, details: Warning['details'] = {}): Warning[] {
  return [{ code, details }];
}

export function connectionWarnings(
  settings: WarningSettings,
  at: number,
  total_ms: number | null,
  handshakes: readonly (TlsSeen | null)[],
): Warning[] {
  return [
    ...slow(settings, total_ms),
    ...certificateExpires(settings, at, handshakes),
    ...chainIncomplete(handshakes),
  ];
}

function slow({ warn_response_ms: limit_ms }: WarningSettings, total_ms: number | null) {
  const took_ms = Math.round(total_ms ?? 0);
  return limit_ms !== null && took_ms > limit_ms ? warning('slow', { took_ms, limit_ms }) : [];
}

function certificateExpires(
  { tls_expires_within_days: from_days }: WarningSettings,
  at: number,
  handshakes: readonly (TlsSeen | null)[],
): Warning[] {
  // Verifying the issuers' signatures takes long; only owners who say from when on want it.
  const first = firstEnd(handshakes, from_days !== null);
  if (!first) return [];
  const { ends_at, isIssuer, hop } = first;
  const stage = certificateStage(first, at, from_days);
  if (stage === null) return [];
  const [leaf] = handshakes[hop]?.chain() ?? [];
  return warning('certificate_expires', {
    ends_at,
    stage,
    certificate: leaf?.fingerprint ?? '',
    ...(isIssuer ? { whose: 'issuer' } : {}),
  });
}

type End = {
  readonly starts_at: number;
  readonly ends_at: number;
  readonly isIssuer: boolean;
  /** Of which handshake. */
  readonly hop: number;
};

/**
 * The certificate that expires first of all that were shown on the way; `deep`: also of those that
 * they are trusted by.
 */
export function firstEnd(handshakes: readonly (TlsSeen | null)[], deep: boolean): End | undefined {
  let first: End | undefined;
  for (const [hop, tls] of handshakes.entries()) {
    if (tls === null || tls.valid_to === null) continue;
    const path = deep ? tls.path() : [];
    for (const [place, ends_at] of (path.length > 0 ? path : [tls.valid_to]).entries())
      if (first === undefined || ends_at < first.ends_at)
        first = { starts_at: tls.valid_from ?? ends_at, ends_at, isIssuer: place > 0, hop };
  }
  return first;
}

/** Without its issuer no path was found. A check that verifies certificates fails then. */
const withoutIssuer = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
];

function chainIncomplete(handshakes: readonly (TlsSeen | null)[]): Warning[] {
  const isIncomplete = (tls: TlsSeen | null): boolean =>
    tls !== null && tls.sent === 1 && withoutIssuer.includes(tls.fault ?? '');
  return handshakes.some(isIncomplete) ? warning('certificate_chain_incomplete') : [];
}
