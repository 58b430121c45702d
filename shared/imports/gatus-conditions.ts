import type { Work } from './result.ts';
import type { Raw } from './rows.ts';
import {
  jsonPathFrom,
  patternsFrom,
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
};

const left = 'left out: no assertion says it.';
const form = /^(\[\w+\][^\s]*|has\(\[BODY\][^)]*\))\s*(==|!=|<=|>=|<|>)\s*(.*)$/;

export function conditionsOf(
  conditions: readonly string[],
  kind: 'https' | 'tls' | 'tcp' | 'other',
  { name, interval_s, timeout_ms }: About,
  work: Work,
): Raw {
  const wanted: string[] = [];
  const [contains, containsNot]: [string[], string[]] = [[], []];
  const [matches, matchesNot]: [string[], string[]] = [[], []];
  const json: Raw[] = [];
  const failOn: string[] = [];
  const bounds = { from: 100, to: 599, isGiven: false };
  const config: Record<string, unknown> = {};

  const status = (operator: string, value: string): boolean => {
    const number = Number(value);
    const [, list] = /^any\((.*)\)$/.exec(value) ?? [];
    if (operator === '==' && list !== undefined)
      wanted.push(...list.split(',').map((one) => one.trim()));
    else if (!Number.isInteger(number)) return false;
    else if (operator === '==') wanted.push(String(number));
    else if (operator === '<') bounds.to = Math.min(bounds.to, number - 1);
    else if (operator === '<=') bounds.to = Math.min(bounds.to, number);
    else if (operator === '>') bounds.from = Math.max(bounds.from, number + 1);
    else if (operator === '>=') bounds.from = Math.max(bounds.from, number);
    else return false;
    bounds.isGiven ||= operator !== '==';
    return true;
  };
  const body = (path: string, operator: string, value: string): boolean => {
    const [, pattern] = /^pat\(\*(.*)\*\)$/s.exec(value) ?? [];
    const isPlain = pattern !== undefined && pattern !== '' && !/[*?[\\]/.test(pattern);
    if (path === '') {
      if (operator !== '==' && operator !== '!=') return false;
      const [, glob] = /^pat\((.*)\)$/s.exec(value) ?? [];
      if (isPlain) (operator === '==' ? contains : containsNot).push(pattern);
      else if (glob === undefined || /[[\\]/.test(glob)) return false;
      else (operator === '==' ? matches : matchesNot).push(patternOf(glob));
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
  const take = (condition: string): boolean => {
    const [, place = '', operator = '', value = ''] = form.exec(condition) ?? [];
    if (place === '[CONNECTED]') return operator === '==' && value === 'true';
    if (place === '[RESPONSE_TIME]' && operator.startsWith('<') && kind !== 'other') {
      const most = Math.floor(Number(value));
      if (!Number.isFinite(most) || most < 1) return false;
      const limit = timeout_ms ?? Math.min(10_000, interval_s * 500);
      config.max_response_ms = Math.min(most, limit);
      failOn.push('slow');
      return true;
    }
    if (place === '[CERTIFICATE_EXPIRATION]' && operator.startsWith('>') && kind !== 'other') {
      const days = Math.ceil((secondsFrom(value) ?? 0) / 86_400);
      if (days < 1 || days > 365) return false;
      config.tls_expires_within_days = days;
      failOn.push('certificate');
      return true;
    }
    if (kind !== 'https') return false;
    if (place === '[STATUS]') return status(operator, value);
    if (place.startsWith('has(')) return exists(place, operator, value);
    return place.startsWith('[BODY]') && body(place.slice('[BODY]'.length), operator, value);
  };
  for (const condition of conditions)
    if (!take(condition.trim())) work.omit(name, `the condition ${condition.trim()} is ${left}`);
  // Without a condition on it any status is right, in Gatus.
  if (wanted.length === 0) wanted.push(`${Math.max(100, bounds.from)}-${Math.min(599, bounds.to)}`);
  else if (bounds.isGiven) work.omit(name, 'of its conditions on the status those with == count.');
  if (kind !== 'https') return { ...config, fail_on: [...new Set(failOn)] };
  return {
    ...config,
    fail_on: [...new Set(failOn)],
    expected_status: statusesFrom(wanted, name, work),
    body_contains: wordsFrom(contains, name, work),
    body_not_contains: wordsFrom(containsNot, name, work),
    body_matches: patternsFrom(matches, name, work),
    body_not_matches: patternsFrom(matchesNot, name, work),
    json,
  };
}

/** The whole text as Gatus writes it, with `*` for anything and `?` for one character. */
const patternOf = (glob: string): string => {
  const literal = glob.replaceAll(/[\^$.+()\]{}|]/g, '\\$&');
  return `(?s)^${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`;
};

export function dnsConditionsOf(conditions: readonly string[], name: string, work: Work): Raw {
  const config: Record<string, unknown> = {};
  for (const one of conditions) {
    const condition = one.trim();
    const [, code] = /^\[DNS_RCODE\] == (\w+)$/.exec(condition) ?? [];
    const [, value] = /^\[BODY\] == ([^\s()]+)$/.exec(condition) ?? [];
    const [, list] = /^\[BODY\] == any\((.+)\)$/.exec(condition) ?? [];
    if (code !== undefined) config.expected_rcode = code;
    else if (list !== undefined)
      config.expected_values = list.split(',').map((each) => each.trim());
    else if (value !== undefined) config.expected_values = [value];
    else if (condition !== '[CONNECTED] == true')
      work.omit(name, `the condition ${condition} is ${left}`);
  }
  return config;
}
