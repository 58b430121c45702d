import type { HttpsSettings } from '../../../shared/checks/https/config.ts';
import type { Warning } from '../../../shared/checks/result.ts';
import { connectionWarnings, warning } from '../connection/warnings.ts';
import type { HttpsObservation, ResponseSeen } from './evidence.ts';

/** What a passing https check warns of (rule 44). */
export function httpsWarnings(settings: HttpsSettings, seen: HttpsObservation): Warning[] {
  return [
    ...connectionWarnings(
      settings,
      seen.at,
      seen.phases.total,
      seen.hops.map(({ tls }) => tls),
    ),
    ...insecureRedirect(seen),
    ...rateLimited(settings, seen),
  ];
}

/**
 * Status 429 says that the server is there and that our probes ask more often than it wants: no
 * outage for anybody else, unless the owner says so.
 */
export function isRateLimited(
  { expected, fail_on }: HttpsSettings,
  { status }: ResponseSeen,
): boolean {
  return status === 429 && !expected.matches(429) && !fail_on.includes('rate_limited');
}

function rateLimited(settings: HttpsSettings, { hops }: HttpsObservation): Warning[] {
  const response = hops.at(-1)?.response;
  return response && isRateLimited(settings, response)
    ? warning('rate_limited', { status: response.status })
    : [];
}

function insecureRedirect({ hops }: HttpsObservation): Warning[] {
  const redirect = hops.findIndex(
    ({ url }, hop) => url.startsWith('http:') && hops[hop - 1]?.url.startsWith('https:') === true,
  );
  return redirect > 0 ? warning('redirects_insecurely', { redirect }) : [];
}
