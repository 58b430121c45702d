import type { CauseParams } from './result.ts';

/** What a check that passes may warn of (rule 44). */
const seenCodes = [
  'slow',
  'certificate_expires',
  'certificate_chain_incomplete',
  'one_family_fails',
  'one_address_fails',
  'rate_limited',
  'name_server_silent',
  'domain_expires',
  'redirects_insecurely',
] as const;

/** Those that no check tells of come from the views of places, and from the ledger (rule 52). */
export const warningCodes = [...seenCodes, 'place_fails', 'burns_fast', 'burns_slowly'] as const;
export type WarningCode = (typeof warningCodes)[number];

export function isWarningCode(text: unknown): text is WarningCode {
  return warningCodes.some((code) => code === text);
}

export function isSeenCode(text: unknown): text is (typeof seenCodes)[number] {
  return seenCodes.some((code) => code === text);
}

const day = 86_400_000;

/** How many whole days are left until a time; negative when it is over. */
export function daysUntil(time: number, now: number): number {
  return Math.floor((time - now) / day);
}

type Sentence = (details: CauseParams, now: number) => string;

const sentences: Readonly<Record<WarningCode, Sentence>> = {
  slow: ({ took_ms, limit_ms }) =>
    `Response took ${seconds(took_ms)}, longer than ${seconds(limit_ms)}`,
  certificate_expires: ({ ends_at, whose }, now) =>
    endWords(
      whose === 'issuer' ? "A certificate of the certificate's issuer" : 'Certificate',
      ends_at,
      now,
    ),
  certificate_chain_incomplete: () =>
    'Certificate chain is incomplete: the issuer of the certificate was not sent',
  one_family_fails: ({ family }) =>
    `IPv${family} does not answer, IPv${family === '6' ? '4' : '6'} does`,
  one_address_fails: ({ address, addresses }) =>
    `Address ${address} does not answer, 1 of ${addresses}`,
  rate_limited: ({ status }) => `The target limits our probes (status ${status})`,
  name_server_silent: ({ server, servers }) =>
    `Name server ${server} does not answer, 1 of ${servers}`,
  domain_expires: ({ ends_at }, now) => endWords('Domain', ends_at, now),
  place_fails: ({ places, cause }) =>
    `Fails from ${places}, passes elsewhere${cause ? `: ${cause}` : ''}`,
  burns_fast: burnWords,
  burns_slowly: burnWords,
  redirects_insecurely: ({ redirect }) => `Redirect ${redirect} leads from https to http`,
};

function seconds(ms: string | number | undefined): string {
  const value = Number(ms ?? 0);
  return value >= 1_000
    ? `${(value / 1_000).toLocaleString('en', { maximumFractionDigits: 1 })} s`
    : `${Math.round(value)} ms`;
}

function burnWords({ objective, rate, hours }: CauseParams): string {
  return `The error budget of ${objective} burns ${rate} times as fast as it may, over ${hours} h`;
}

function endWords(what: string, ends: string | number | undefined, now: number): string {
  const left = daysUntil(Number(ends ?? now), now);
  if (left >= 1) return `${what} expires in ${daysWord(left)}`;
  if (left === 0) return `${what} expires in less than a day`;
  return left === -1 ? `${what} expired` : `${what} expired ${daysWord(-left - 1)} ago`;
}

function daysWord(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}

/** The one sentence of a warning, at a time: an end comes nearer. */
export function warningSentence(
  { code, details }: { readonly code: WarningCode; readonly details: CauseParams },
  now: number,
): string {
  return sentences[code](details, now);
}

/**
 * Days before the end of a certificate or a domain at which its warning begins, and becomes more
 * urgent.
 */
const stages = [30, 14, 7, 1];

/**
 * The stage that a certificate has reached: the least number of days that it no longer has; null
 * while there is no reason to warn. Whoever renews by a program does so when a third of the life is
 * left, so that nobody is warned before the last quarter of it. `from_days`: when the owner wants
 * the first warning; 0 for none.
 */
export function certificateStage(
  life: { readonly starts_at: number; readonly ends_at: number },
  now: number,
  from_days: number | null,
): number | null {
  const left = life.ends_at - now;
  if (from_days === null && left > (life.ends_at - life.starts_at) / 4) return null;
  return stageOf(left, from_days);
}

/** The same for a domain, which is registered for a year or more. */
export function domainStage(ends_at: number, now: number, from_days: number | null): number | null {
  return stageOf(ends_at - now, from_days);
}

function stageOf(left: number, from_days: number | null): number | null {
  const wanted =
    from_days === null ? stages : [from_days, ...stages.filter((one) => one < from_days)];
  return wanted.findLast((one) => one > 0 && left < one * day) ?? null;
}
