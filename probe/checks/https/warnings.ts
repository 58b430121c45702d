import type { HttpsSettings } from '../../../shared/checks/https/config.ts';
import type { CertificateNote, Warning } from '../../../shared/checks/result.ts';
import { certificateStage, type WarningCode } from '../../../shared/checks/warnings.ts';
import { clean, type HopSeen, type HttpsObservation, type TlsSeen } from './evidence.ts';

/** What a passing https check warns of (rule 44). */
export const httpsWarnings = (settings: HttpsSettings, seen: HttpsObservation): Warning[] => [
  ...slow(settings, seen),
  ...certificateExpires(settings, seen),
  ...chainIncomplete(seen),
  ...insecureRedirect(seen),
];

const warning = (code: WarningCode, details: Warning['details'] = {}): Warning[] => [
  { code, details },
];

function slow({ warn_response_ms: limit_ms }: HttpsSettings, { phases }: HttpsObservation) {
  const took_ms = Math.round(phases.total ?? 0);
  return limit_ms !== null && took_ms > limit_ms ? warning('slow', { took_ms, limit_ms }) : [];
}

function certificateExpires(
  { tls_expires_within_days: from_days }: HttpsSettings,
  { at, hops }: HttpsObservation,
): Warning[] {
  // Verifying the issuers' signatures takes long; only owners who say from when on want it.
  const first = firstEnd(hops, from_days !== null);
  if (!first) return [];
  const { ends_at, isIssuer, hop } = first;
  const stage = certificateStage(first, at, from_days);
  if (stage === null) return [];
  const [leaf] = hops[hop]?.tls?.chain() ?? [];
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
  readonly hop: number;
};

/**
 * The certificate that expires first of all that were shown on the way; `deep`: also of those that
 * they are trusted by.
 */
export function firstEnd(hops: readonly HopSeen[], deep: boolean): End | undefined {
  let first: End | undefined;
  for (const [hop, { tls }] of hops.entries()) {
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

function chainIncomplete({ hops }: HttpsObservation): Warning[] {
  const isIncomplete = (tls: TlsSeen | null): boolean =>
    tls !== null && tls.sent === 1 && withoutIssuer.includes(tls.fault ?? '');
  return hops.some(({ tls }) => isIncomplete(tls)) ? warning('certificate_chain_incomplete') : [];
}

function insecureRedirect({ hops }: HttpsObservation): Warning[] {
  const redirect = hops.findIndex(
    ({ url }, hop) => url.startsWith('http:') && hops[hop - 1]?.url.startsWith('https:') === true,
  );
  return redirect > 0 ? warning('redirects_insecurely', { redirect }) : [];
}

/**
 * Says which certificate a monitor has: once when it is new, and once a day. Each result that says
 * so costs the coordinator more than a plain pass.
 */
export const createCertificateNotes = () => {
  const told = new Map<string, number>();
  let today = 0;
  return (monitor: string, now: number, hops: readonly HopSeen[]): CertificateNote | undefined => {
    const tls = hops.find((hop) => hop.tls !== null)?.tls;
    const day = Math.floor(now / 86_400_000);
    if (day !== today) told.clear();
    today = day;
    const ends_at = tls?.valid_to ?? null;
    if (!tls || ends_at === null || told.get(monitor) === ends_at) return undefined;
    const [leaf] = tls.chain();
    if (!leaf) return undefined;
    told.set(monitor, ends_at);
    const { fingerprint, issuer } = leaf;
    return {
      fingerprint,
      starts_at: tls.valid_from ?? ends_at,
      ends_at,
      issuer: clean(nameIn(issuer)).slice(0, 100).toWellFormed(),
    };
  };
};

/** The organisation in a distinguished name, else its common name, else all of it. */
const nameIn = (distinguished: string): string =>
  /(?:^|, )O=(.+?)(?:, [A-Z]+=|$)/.exec(distinguished)?.[1] ??
  /(?:^|, )CN=(.+?)(?:, [A-Z]+=|$)/.exec(distinguished)?.[1] ??
  distinguished;
