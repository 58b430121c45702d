import type { HttpsSettings } from '../../../shared/checks/https/config.ts';
import type { Warning } from '../../../shared/checks/result.ts';
import { connectionWarnings, warning } from '../connection/warnings.ts';
import type { HttpsObservation } from './evidence.ts';

/** What a passing https check warns of (rule 44). */
export const httpsWarnings = (settings: HttpsSettings, seen: HttpsObservation): Warning[] => [
  ...connectionWarnings(
    settings,
    seen.at,
    seen.phases.total,
    seen.hops.map(({ tls }) => tls),
  ),
  ...insecureRedirect(seen),
];

function insecureRedirect({ hops }: HttpsObservation): Warning[] {
  const redirect = hops.findIndex(
    ({ url }, hop) => url.startsWith('http:') && hops[hop - 1]?.url.startsWith('https:') === true,
  );
  return redirect > 0 ? warning('redirects_insecurely', { redirect }) : [];
}
