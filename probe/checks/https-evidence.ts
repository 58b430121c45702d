import type { HttpsSettings } from '../../shared/checks/https/settings.ts';
import type { Evidence, Json } from '../../shared/checks/result.ts';
import { type HopSeen, type HttpsObservation, ownCodes } from './https-observation.ts';

/** Headers that say who answered and from where; the rest is left out. */
const chosenHeaders = [
  'age',
  'cache-control',
  'cf-cache-status',
  'cf-mitigated',
  'cf-ray',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'location',
  'retry-after',
  'server',
  'via',
  'www-authenticate',
  'x-amz-cf-id',
  'x-amzn-waf-action',
  'x-azure-ref',
  'x-cache',
  'x-request-id',
  'x-served-by',
];
const mostHeader = 300;
const mostHeaders = 30;
const mostName = 120;
const mostUrl = 500;
const mostBody = 1_024;

/** Text that a database and a page can hold: no control characters but line breaks and tabs, no halves of characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out.
const clean = (text: string): string => text.toWellFormed().replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '\ufffd');

/** A server may send back what it was sent: secrets of the config must not come to rest in evidence. */
const scrubber =
  (secrets: readonly string[]) =>
  (text: string, most: number): string => {
    const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)]);
    return clean(forms.reduce((rest, secret) => rest.replaceAll(secret, '***'), text))
      .slice(0, most)
      .toWellFormed();
  };

const rounded = (ms: number): number => Math.round(ms * 10) / 10;

/** What the check saw (rule 15), from the very attempt that is judged. `body` is the text of the last response. */
export const httpsEvidence = (settings: HttpsSettings, seen: HttpsObservation, body: string): Evidence => {
  const scrub = scrubber(settings.secrets);
  const last = seen.hops.at(-1);
  // What a name leads to inside somebody's network is nobody's business: of a refused address only the class is told.
  const refused = last?.failure?.code === ownCodes.notPublic || last?.failure?.code === ownCodes.ownLimit;
  const evidence: Record<string, Json> = {
    url: scrub(last?.url ?? '', mostUrl),
    addresses: refused ? [] : (last?.addresses.slice(0, 20) ?? []),
  };
  const used = last?.attempts.find(({ code }) => code === null)?.address;
  if (used !== undefined && last?.failure?.phase !== 'tcp') evidence.address = used;
  if (last && !refused && last.attempts.length > 0) {
    evidence.attempts = last.attempts.map(({ address, code, ms }) => ({ address, code, ms: rounded(ms) }));
  }
  if (last?.failure) evidence.failure = { phase: last.failure.phase, code: last.failure.code };
  if (last?.tls) {
    const { protocol, cipher, fault, host_matches } = last.tls;
    const chain = last.tls.chain().map((one) => ({
      ...one,
      subject: scrub(one.subject, 300),
      issuer: scrub(one.issuer, 300),
      names: one.names.map((name) => scrub(name, mostName)),
    }));
    evidence.tls = { protocol, cipher, fault, host_matches, chain };
  }
  if (seen.hops.length > 1 || seen.redirects !== 'done') evidence.redirects = seen.hops.map((hop) => redirectOf(hop, scrub));
  if (last?.response) {
    const { status, headers, read, truncated } = last.response;
    evidence.status = status;
    evidence.headers = headers
      .filter(([name]) => chosenHeaders.includes(name))
      .slice(0, mostHeaders)
      .map(([name, value]) => [name, scrub(value, mostHeader)]);
    evidence.body = scrub(body.slice(0, mostBody * 2), mostBody);
    evidence.body_bytes = read;
    evidence.body_truncated = truncated;
  }
  return evidence;
};

const redirectOf = (hop: HopSeen, scrub: (text: string, most: number) => string): Json => ({
  url: scrub(hop.url, mostUrl),
  status: hop.response?.status ?? null,
  location: scrub(hop.response?.headers.find(([name]) => name === 'location')?.[1] ?? '', mostUrl),
});
