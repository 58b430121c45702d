import type { Work } from './result.ts';
import type { Raw } from './rows.ts';
import {
  jsonPathFrom,
  patternsFrom,
  payloadFrom,
  scalarFrom,
  secondsFrom,
  statusesFrom,
  wordsFrom,
} from './settings.ts';

/** What the conditions of Gatus say, as assertions; those that cannot be said so are omitted. */

type About = {
  readonly name: string;
  readonly interval_s: number;
  readonly timeout_ms: number | undefined;
  readonly hasCertificate: boolean;
};

/** What each kind of check says of a condition. */
export type JudgedKind = 'https' | 'tls' | 'tcp' | 'websocket' | 'grpc' | 'icmp';

const left = 'left out: no assertion says it.';
const form = /^(\[\w+\][^\s]*|has\(\[BODY\][^)]*\))\s*(==|!=|<=|>=|<|>)\s*(.*)$/s;

/** All conditions must hold, so each narrows what those before it left. */
export function conditionsOf(
  conditions: readonly string[],
  kind: JudgedKind,
  { name, interval_s, timeout_ms, hasCertificate }: About,
  work: Work,
): Raw {
  let statuses: readonly number[] = everyStatus;
  const [contains, containsNot]: [string[], string[]] = [[], []];
  const [matches, matchesNot]: [string[], string[]] = [[], []];
  const json: Raw[] = [];
  const failOn: string[] = [];
  const most = { ms: Number.POSITIVE_INFINITY, days: 0 };
  const config: Record<string, unknown> = {};

  const status = (operator: string, value: string): boolean => {
    const holds = statusTest(operator, value);
    if (holds !== undefined) statuses = statuses.filter(holds);
    return holds !== undefined;
  };
  const body = (path: string, operator: string, value: string): boolean => {
    const [, pattern] = /^pat\(\*(.*)\*\)$/s.exec(value) ?? [];
    const isPlain = pattern !== undefined && pattern !== '' && !/[*?[\\]/.test(pattern);
    if (path === '') {
      if (operator !== '==' && operator !== '!=') return false;
      const whole = patternOf(value);
      if (isPlain) (operator === '==' ? contains : containsNot).push(pattern);
      else if (whole === undefined) return false;
      else (operator === '==' ? matches : matchesNot).push(whole);
      return true;
    }
    const at = jsonPathFrom(`$${path}`);
    if (at === undefined || json.length >= 20) return false;
    const number = Number(value);
    if (operator === '==' && isPlain) json.push({ path: at, contains: pattern });
    else if (operator === '==' && !/^\w+\(/.test(value) && value.length <= 1_024 && value !== '')
      json.push({ path: at, equals: scalarFrom(value.replaceAll(/^["']|["']$/g, '')) });
    else if (operator === '>' && Number.isFinite(number)) json.push({ path: at, gt: number });
    else if (operator === '<' && Number.isFinite(number)) json.push({ path: at, lt: number });
    else return false;
    return true;
  };
  const exists = (place: string, operator: string, value: string): boolean => {
    const [, path] = /^has\(\[BODY\](.*)\)$/.exec(place) ?? [];
    const at = jsonPathFrom(`$${path ?? ''}`);
    if (at === undefined || operator !== '==' || !/^(?:true|false)$/.test(value)) return false;
    json.push({ path: at, exists: value === 'true' });
    return true;
  };
  /** Of what comes over a connection. */
  const message = (operator: string, value: string): boolean => {
    const [, pattern] = /^pat\(\*(.*)\*\)$/s.exec(value) ?? [];
    const text = pattern ?? value;
    const isText = pattern === undefined ? !isCall.test(value) : !/[*?[\\]/.test(pattern);
    if (operator !== '==' || text === '' || !isText || config.expect !== undefined) return false;
    config.expect = payloadFrom(text, name, work);
    if (pattern === undefined)
      work.omit(name, `the condition [BODY] == ${value} is met by a message with more around it.`);
    return true;
  };
  const take = (condition: string): boolean => {
    const [, place = '', operator = '', value = ''] = form.exec(condition) ?? [];
    if (place === '[CONNECTED]') return operator === '==' && value === 'true';
    if (place === '[RESPONSE_TIME]' && operator.startsWith('<') && kind !== 'icmp') {
      const ms = Math.floor(Number(value));
      if (!Number.isFinite(ms) || ms < 1) return false;
      most.ms = Math.min(most.ms, ms, timeout_ms ?? Math.min(10_000, interval_s * 500));
      config.max_response_ms = most.ms;
      failOn.push('slow');
      return true;
    }
    if (place === '[CERTIFICATE_EXPIRATION]' && operator.startsWith('>') && hasCertificate) {
      const days = Math.ceil((secondsFrom(value) ?? 0) / 86_400);
      if (days < 1 || days > 365) return false;
      most.days = Math.max(most.days, days);
      config.tls_expires_within_days = most.days;
      failOn.push('certificate');
      return true;
    }
    if (kind === 'grpc') return condition === '[BODY] == SERVING';
    if (kind === 'tcp' || kind === 'websocket')
      return place === '[BODY]' && message(operator, value);
    if (kind !== 'https') return false;
    if (place === '[STATUS]') return status(operator, value);
    if (place.startsWith('has(')) return exists(place, operator, value);
    return place.startsWith('[BODY]') && body(place.slice('[BODY]'.length), operator, value);
  };
  for (const condition of conditions)
    if (!take(condition.trim())) work.omit(name, `the condition ${condition.trim()} is ${left}`);
  const judged = { ...config, fail_on: [...new Set(failOn)] };
  if (kind !== 'https') return judged;
  if (statuses.length === 0)
    work.omit(name, 'no status meets all its conditions; one of 200 to 299 is expected.');
  return {
    ...judged,
    // Without a condition on it any status is right, in Gatus.
    expected_status: statusesFrom(rangesOf(statuses), name, work),
    body_contains: wordsFrom(contains, name, work),
    body_not_contains: wordsFrom(containsNot, name, work),
    body_matches: patternsFrom(matches, name, work),
    body_not_matches: patternsFrom(matchesNot, name, work),
    json,
  };
}

const everyStatus = Array.from({ length: 500 }, (_, nth) => nth + 100);

function statusTest(operator: string, value: string): ((status: number) => boolean) | undefined {
  const numbers = alternativesIn(value).map(Number);
  const [number = Number.NaN] = numbers;
  if (!numbers.every(Number.isInteger)) return undefined;
  if (operator === '==') return (status) => numbers.includes(status);
  if (operator === '!=') return (status) => !numbers.includes(status);
  if (value.startsWith('any(')) return undefined;
  if (operator === '<') return (status) => status < number;
  if (operator === '<=') return (status) => status <= number;
  return operator === '>' ? (status) => status > number : (status) => status >= number;
}

/** `any(200, 204)` as its values; anything else as one. */
function alternativesIn(value: string): readonly string[] {
  const [, list] = /^any\((.*)\)$/s.exec(value) ?? [];
  return list === undefined ? [value] : list.split(',').map((one) => one.trim());
}

/** Numbers in their order, as `200` and `200-299`. */
function rangesOf(numbers: readonly number[]): readonly string[] {
  const all = new Set(numbers);
  const ends = numbers.filter((number) => !all.has(number + 1));
  return numbers
    .filter((number) => !all.has(number - 1))
    .map((from, nth) => (from === ends[nth] ? String(from) : `${from}-${ends[nth]}`));
}

/** A function of Gatus, such as `len([BODY])`. */
const isCall = /^\w+\(/;

/**
 * A whole body as Gatus writes it: the text itself, `pat()` with `*` for anything and `?` for one
 * character, or any() of these. Undefined where it is more.
 */
function patternOf(value: string): string | undefined {
  const patterns = alternativesIn(value).map((one) => {
    const [, glob] = /^pat\((.*)\)$/s.exec(one) ?? [];
    if (glob === undefined) return isCall.test(one) ? undefined : escaped(one);
    if (/[[\\]/.test(glob)) return undefined;
    return escaped(glob, '*?').replaceAll('*', '.*').replaceAll('?', '.');
  });
  if (patterns.includes(undefined)) return undefined;
  return `(?s)^${patterns.length === 1 ? patterns[0] : `(?:${patterns.join('|')})`}$`;
}

function escaped(text: string, but = ''): string {
  return text.replaceAll(/[\^$.+()[\]{}|*?\\]/g, (sign) =>
    but.includes(sign) ? sign : `\\${sign}`,
  );
}

export function dnsConditionsOf(conditions: readonly string[], name: string, work: Work): Raw {
  let codes: readonly string[] | undefined;
  let values: readonly string[] | undefined;
  for (const one of conditions) {
    const condition = one.trim();
    const [, code] = /^\[DNS_RCODE\]\s*==\s*(\w+)$/.exec(condition) ?? [];
    const [, value] = /^\[BODY\]\s*==\s*(any\(.+\)|[^\s()]+)$/.exec(condition) ?? [];
    if (code !== undefined) codes = (codes ?? [code]).filter((each) => each === code);
    else if (value !== undefined) {
      const wanted = alternativesIn(value);
      values = (values ?? wanted).filter((each) => wanted.includes(each));
    } else if (condition !== '[CONNECTED] == true')
      work.omit(name, `the condition ${condition} is ${left}`);
  }
  if (codes?.length === 0) work.omit(name, 'no answer code meets all its conditions.');
  if (values?.length === 0) work.omit(name, 'no value meets all its conditions.');
  return { expected_rcode: codes?.[0], expected_values: values };
}
