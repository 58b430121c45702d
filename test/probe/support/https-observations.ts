import type { HopFailure, HopSeen, HttpsObservation, ResponseSeen, TlsSeen } from '../../../probe/checks/https/evidence.ts';
import { judgeHttps } from '../../../probe/checks/https/verdict.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { httpsSettings } from '../../../shared/checks/https/config.ts';
import type { Verdict } from '../../../shared/checks/result.ts';

/** Observations as an https check makes them, each with what a test changes in it. */

export const day = 86_400_000;
export const at = Date.UTC(2027, 0, 1);
const iso = (time: number): string => new Date(time).toISOString();

export const certificate = (from = at - day, to = at + 90 * day) => ({
  subject: 'CN=x',
  issuer: 'CN=y',
  names: ['DNS:x.example'],
  from: iso(from),
  to: iso(to),
  serial: '01',
  fingerprint: 'AA',
  key: 'ec prime256v1',
  signature: 'ecdsa-with-SHA256',
});
export const tls = (changes: Partial<TlsSeen> = {}): TlsSeen => ({
  protocol: 'TLSv1.3',
  cipher: 'TLS_AES_128_GCM_SHA256',
  fault: null,
  host_matches: true,
  valid_from: at - day,
  valid_to: at + 90 * day,
  sent: 2,
  chain: () => [certificate()],
  path: () => [at + 90 * day],
  ...changes,
});
export const response = (
  status: number,
  body = '',
  headers: readonly (readonly [string, string])[] = [],
  truncated = false,
): ResponseSeen => ({
  status,
  headers,
  body: Buffer.from(body),
  read: body.length,
  truncated,
});
export const hop = (changes: Partial<HopSeen> = {}): HopSeen => ({
  url: 'https://x.example/',
  addresses: ['192.0.2.1'],
  by: null,
  unanswered: null,
  outgoing: null,
  phases: { dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 12 },
  beginning: new Uint8Array(),
  attempts: [{ address: '192.0.2.1', code: null, ms: 1 }],
  tls: tls(),
  response: null,
  failure: null,
  ...changes,
});
export const seen = (hops: readonly HopSeen[], changes: Partial<HttpsObservation> = {}): HttpsObservation => ({
  at,
  limit_ms: 10_000,
  hops,
  redirects: 'done',
  phases: { dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 120 },
  ...changes,
});
export const answered = (one: ResponseSeen, changes: Partial<HttpsObservation> = {}): HttpsObservation =>
  seen([hop({ response: one })], changes);
export const failed = (phase: HopFailure['phase'], code: string, changes: Partial<HopSeen> = {}): HttpsObservation =>
  seen([hop({ tls: null, failure: { phase, code }, ...changes })]);
export const refused = (changes: Partial<TlsSeen>): HttpsObservation => failed('tls', 'CERTIFICATE', { tls: tls(changes) });

export const judge = (observation: HttpsObservation, config: Config = {}): Verdict => judgeHttps(httpsSettings(config), observation, false);
