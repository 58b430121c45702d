import { createRecentCache } from '../../shared/base/recent-cache.ts';
import type { Assignment } from '../../shared/checks/checks-assignment.ts';
import { type HttpsSettings, httpsSettings } from '../../shared/checks/https/checks-https-settings.ts';
import { httpsUrl } from '../../shared/checks/https/checks-https-target.ts';
import type { ProbeIdentity } from './check.ts';

/** What one hop sends, and how far its user's own headers and credentials may go along. */
export type Request = {
  readonly url: URL;
  readonly method: string;
  readonly body: string | null;
  /** Whether it still goes to the origin that the monitor names: credentials and own headers go nowhere else, not even back. */
  readonly trusted: boolean;
};

export type Plan = { readonly settings: HttpsSettings; readonly first: Request; readonly bytes: Buffer };

const userAgent = (probe: ProbeIdentity): string =>
  `Antipode/${probe.version} (+${probe.base_url}; probe=${probe.name}; continent=${probe.continent})`;

/** Headers that say how to answer and nothing about who asks; only these leave the monitor's own origin. */
const harmless = ['accept', 'accept-language', 'content-type', 'cache-control', 'pragma'];

/** The config was checked for this long ago; a line break here would be a request of somebody else's making. */
const unbroken = (value: string): string => value.replaceAll(/[\r\n\0]+/g, ' ');
const oneLine = (text: string): string => text.replaceAll(/[^\t\x20-\x7e]/g, '?');

/** The request of one hop as bytes on the wire: HTTP/1.1, one connection, no compression asked for. */
export const requestBytes = (request: Request, settings: HttpsSettings, probe: ProbeIdentity): Buffer => {
  const { url, method, body, trusted } = request;
  const own = settings.headers.filter(([name]) => trusted || harmless.includes(name.toLowerCase()));
  const names = new Set(own.map(([name]) => name.toLowerCase()));
  const lines = [`${method} ${url.pathname}${url.search} HTTP/1.1`];
  if (!names.has('host')) lines.push(`Host: ${url.host}`);
  lines.push(`User-Agent: ${oneLine(userAgent(probe))}`);
  if (!names.has('accept')) lines.push('Accept: */*');
  if (!names.has('accept-encoding')) lines.push('Accept-Encoding: identity');
  if (trusted && settings.credentials !== null && !names.has('authorization'))
    lines.push(`Authorization: ${unbroken(settings.credentials)}`);
  for (const [name, value] of own) lines.push(`${name}: ${unbroken(value)}`);
  const payload = body === null ? null : Buffer.from(body, 'utf8');
  if (payload) lines.push(`Content-Length: ${payload.length}`);
  else if (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS') lines.push('Content-Length: 0');
  lines.push('Connection: close', '', '');
  const head = Buffer.from(lines.join('\r\n'), 'latin1');
  return payload ? Buffer.concat([head, payload]) : head;
};

const makePlan = (assignment: Assignment, probe: ProbeIdentity): Plan => {
  const url = httpsUrl(assignment.target);
  if (!url) throw new Error('The target of an https check is not an address');
  url.hash = '';
  const settings = httpsSettings(assignment.config);
  const first: Request = { url, method: settings.method, body: settings.body, trusted: true };
  return { settings, first, bytes: requestBytes(first, settings, probe) };
};

/**
 * A plan takes 2 KB, so not every monitor of a hundred thousand has one; but to make it takes 45 µs of a probe that is woken for each check
 * and finds its caches cold (2.5 µs in a loop), so those of the last thousand or two are held.
 */
const mostHeld = 1_024;
const held = createRecentCache<Assignment, { readonly plan: Plan; readonly probe: ProbeIdentity }>(mostHeld);

/** What a check does first. That of a sealed assignment, which is another object each time, is not held: its secrets go with it. */
export const planOf = (assignment: Assignment, probe: ProbeIdentity): Plan => {
  if (assignment.sealed !== null) return makePlan(assignment, probe);
  const known = held.find(assignment);
  if (known?.probe === probe) return known.plan;
  const plan = makePlan(assignment, probe);
  held.keep(assignment, { plan, probe });
  return plan;
};

const redirects = [301, 302, 303, 307, 308];
export const isRedirect = (status: number): boolean => redirects.includes(status);

/** Where a redirect leads: the next request, or what is wrong with it. */
export const nextRequest = (from: Request, status: number, location: string | undefined): Request | 'without_location' | 'invalid' => {
  if (location === undefined || location === '') return 'without_location';
  // Header bytes were read as latin-1; addresses in raw UTF-8 are common enough to be meant.
  const url = URL.parse(Buffer.from(location, 'latin1').toString('utf8'), from.url);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '' || url.port === '0') return 'invalid';
  url.hash = '';
  url.username = '';
  url.password = '';
  const becomesGet = (status === 303 && from.method !== 'HEAD') || ((status === 301 || status === 302) && from.method === 'POST');
  return {
    url,
    method: becomesGet ? 'GET' : from.method,
    body: becomesGet ? null : from.body,
    trusted: from.trusted && url.origin === from.url.origin,
  };
};
