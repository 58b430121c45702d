import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll } from 'vitest';
import type { TlsSeen } from '../../../probe/checks/connection/observation.ts';
import type {
  HopFailure,
  HopSeen,
  HttpsObservation,
  ResponseSeen,
} from '../../../probe/checks/https/evidence.ts';
import { judgeHttps } from '../../../probe/checks/https/verdict.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { httpsSettings } from '../../../shared/checks/https/config.ts';
import { runToEnd } from '../../../shared/checks/patterns/search.ts';
import type { Verdict } from '../../../shared/checks/result.ts';
import {
  type Answer,
  type RawTarget,
  startRawTarget,
  startTarget,
  type Target,
  type TargetOptions,
} from '../../support/targets.ts';

/**
 * By what the clocks of a probe and of its target may differ, and less than half of what lies
 * between two checks.
 */
const slackMs = 450;

/**
 * Of one monitor no two checks overlap: the visits that no result dates between the visit before
 * and themselves, however late either was.
 */
export const misdated = (visits: readonly number[], results: readonly number[]): number[] =>
  visits.filter((visit, nth) => {
    const before = visits[nth - 1] ?? Number.NEGATIVE_INFINITY;
    return !results.some((at) => at > before - slackMs && at < visit + slackMs);
  });

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
export const seen = (
  hops: readonly HopSeen[],
  changes: Partial<HttpsObservation> = {},
): HttpsObservation => ({
  at,
  limit_ms: 10_000,
  hops,
  redirects: 'done',
  phases: { dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 120 },
  ...changes,
});
export const answered = (
  one: ResponseSeen,
  changes: Partial<HttpsObservation> = {},
): HttpsObservation => seen([hop({ response: one })], changes);
export const failed = (
  phase: HopFailure['phase'],
  code: string,
  changes: Partial<HopSeen> = {},
): HttpsObservation => seen([hop({ tls: null, failure: { phase, code }, ...changes })]);
export const refused = (changes: Partial<TlsSeen>): HttpsObservation =>
  failed('tls', 'CERTIFICATE', { tls: tls(changes) });

export const judge = (observation: HttpsObservation, config: Config = {}): Verdict =>
  runToEnd(judgeHttps(httpsSettings(config), observation, false));

/** Targets that are closed when the test file that opened them is done. */
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

export const serve = async (options: TargetOptions = {}): Promise<Target> => {
  const target = await startTarget(options);
  closing.push(target.close);
  return target;
};

export const serveRaw = async (onSocket: (socket: Socket) => void): Promise<RawTarget> => {
  const target = await startRawTarget(onSocket);
  closing.push(target.close);
  return target;
};

type Said = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

export const answerBy = (answer: (request: IncomingMessage) => Said): Answer => ({
  is: 'by',
  answer: (request, response) => {
    const { status = 200, headers = {}, body = '' } = answer(request);
    response.writeHead(status, headers).end(body);
  },
});
