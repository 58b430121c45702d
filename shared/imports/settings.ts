import { isMailPort } from '../checks/connection/keys.ts';
import { bodyKeys, methods, reservedHeaders } from '../checks/https/keys.ts';
import { patternFault } from '../checks/patterns/program.ts';
import type { Work } from './result.ts';
import { ofTable, type Raw, type Row } from './rows.ts';

/** Settings that several sources have, as ours: within our bounds, and told where they change. */

const day = 86_400;

/** Seconds between two checks, as often as ours can be. */
export function intervalFrom(seconds: number | undefined, name: string, work: Work): number {
  const asked = Math.round(seconds ?? 60);
  if (asked < 10) work.omit(name, 'checked every 10 seconds, which is the shortest interval.');
  if (asked > day) work.omit(name, 'checked once a day, which is the longest interval.');
  return Math.min(Math.max(asked, 10), day);
}

/** Seconds between two pings of a job. */
export function pingIntervalFrom(seconds: number | undefined, name: string, work: Work): number {
  const asked = Math.round(seconds ?? day);
  if (asked < 30)
    work.omit(name, 'expected every 30 seconds, which is the shortest interval of pings.');
  return Math.min(Math.max(asked, 30), 31_536_000);
}

export function graceFrom(seconds: number | undefined): number | undefined {
  return seconds === undefined || seconds < 0
    ? undefined
    : Math.min(Math.round(seconds), 31_536_000);
}

/** Milliseconds, below the interval. */
export function timeoutFrom(seconds: number | undefined, interval_s: number): number | undefined {
  return seconds === undefined || seconds <= 0
    ? undefined
    : Math.min(Math.max(1_000, Math.round(seconds * 1_000)), 60_000, interval_s * 1_000 - 1_000);
}

/** Words without blanks, as tags are. */
export function tagsFrom(words: readonly string[]): readonly string[] {
  return [...new Set(words.map((word) => tagFrom(word.trim().toLowerCase())))]
    .filter((word) => word !== '')
    .slice(0, 20);
}

function tagFrom(word: string): string {
  return word
    .replaceAll(/[\s,]+/g, '-')
    .slice(0, 50)
    .toWellFormed();
}

const secretWord = /authorization|cookie|key|token|secret|passw|credential|signature/i;
const mayBeHeader = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;

/** Headers, those that may be secrets as variables. */
export function headersFrom(
  given: Raw,
  name: string,
  work: Work,
): Readonly<Record<string, string>> {
  const headers = new Map<string, readonly [header: string, value: string]>();
  for (const [header, raw] of Object.entries(given)) {
    const value = typeof raw === 'object' ? JSON.stringify(raw) : String(raw ?? '');
    const lower = header.toLowerCase();
    if (reservedHeaders.includes(lower))
      work.omit(name, `the header ${lower} is written by the check itself.`);
    else if (
      !mayBeHeader.test(header) ||
      // biome-ignore lint/suspicious/noControlCharactersInRegex: refuses what no header can have.
      /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(value) ||
      value.length > 4_096 ||
      headers.size >= 50
    )
      work.omit(name, 'a header that no request can have is left out.');
    else
      headers.set(lower, [
        header,
        secretWord.test(header) && value !== '' ? work.secret(name, lower, value) : value.trim(),
      ]);
  }
  return Object.fromEntries(headers.values());
}

/** A text that may hold a password becomes a variable as a whole. */
export function bodyFrom(body: string, name: string, work: Work): string {
  return body.length > 12_000
    ? omitted(name, 'its body is longer than 12,000 characters, and left out.', work)
    : secretWord.test(body)
      ? work.secret(name, 'body', body)
      : body;
}

/** What is sent over a connection, or must come back; a backslash is itself. */
export function payloadFrom(text: string, name: string, work: Work): string | undefined {
  const written = text.replaceAll('\\', '\\\\');
  if (written.length <= 4_096) return written === '' ? undefined : written;
  work.omit(name, 'a text that it sends or expects is longer than 4,096 characters, and left out.');
  return undefined;
}

/** What is sent once connected. */
export function sendFrom(
  text: string,
  port: number | undefined,
  name: string,
  work: Work,
): string | undefined {
  const payload = payloadFrom(text, name, work);
  if (payload === undefined || !isMailPort(port ?? 0))
    return payload && bodyFrom(payload, name, work);
  work.omit(name, 'what it sends is left out: nothing is sent to a port of mail.');
  return undefined;
}

function omitted(name: string, why: string, work: Work): '' {
  work.omit(name, why);
  return '';
}

type Credentials = { readonly username: string; readonly password: string };

export function credentialsFrom(
  username: string,
  password: string,
  name: string,
  work: Work,
): Credentials | undefined {
  if (username === '' && password === '') return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refuses what no user name can have.
  if (username.length > 256 || /[:\u0000-\u001f]/.test(username)) {
    work.omit(name, 'its user name is none that a request can have.');
    return undefined;
  }
  return { username, password: work.secret(name, 'password', password) };
}

/** A URL; its credentials and the secrets in its query become variables. */
export function addressFrom(
  address: string,
  name: string,
  work: Work,
  scheme: 'http' | 'ws' = 'http',
): { readonly target: string; readonly basic_auth: Credentials | undefined } | undefined {
  if (!new RegExp(`^${scheme}s?://`, 'i').test(address) || !URL.canParse(address)) {
    work.omit(name, 'its address is no web address.');
    return undefined;
  }
  const url = new URL(address);
  const [username, password] = [url.username, url.password].map(decoded);
  const basic_auth = credentialsFrom(username ?? '', password ?? '', name, work);
  const isStrange = /[\s\\]/.test(address) || url.username !== '' || url.password !== '';
  url.username = '';
  url.password = '';
  const target = (isStrange ? url.href : address).replaceAll(
    /([?&])([^=&#]+)=([^&#]+)/g,
    (whole, sign: string, key: string, value: string) =>
      secretWord.test(key) ? `${sign}${key}=${work.secret(name, key, value)}` : whole,
  );
  if (target.length > 2_000 || url.port === '0' || url.hostname.length > 253) {
    work.omit(name, 'its address is none that can be checked.');
    return undefined;
  }
  return { target, basic_auth };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A percent sign of its own.
  }
}

/** 4, 6, or 0 for none. */
export function isIP(text: string): 0 | 4 | 6 {
  return /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text)
    ? 4
    : /^[\da-f:.]+$/i.test(text) && text.includes(':') && URL.canParse(`http://[${text}]`)
      ? 6
      : 0;
}

/** A host by its name or address, as a check can look it up. */
export function isHost(host: string): boolean {
  return (
    isIP(host) !== 0 ||
    (host.length <= 253 &&
      /^(?!.*[._-]{2})[\p{L}\p{N}_](?:[\p{L}\p{N}._-]*[\p{L}\p{N}])?\.?$/u.test(host) &&
      host.split('.').every((label) => label.length <= 63) &&
      URL.canParse(`http://${host}`))
  );
}

/** As `isHost`, and says so where it is none. */
export function hostFrom(host: string, name: string, work: Work): string | undefined {
  const bare = host.trim().replace(/^\[(.*)\]$/, '$1');
  if (isHost(bare)) return bare;
  work.omit(name, 'it has no host that can be checked.');
  return undefined;
}

/** The name that a name server is asked for. */
export function questionFrom(
  host: string,
  type: string,
  name: string,
  work: Work,
): string | undefined {
  const bare = hostFrom(host, name, work);
  if (bare === undefined || isIP(bare) === 0 || type === 'PTR') return bare;
  work.omit(name, 'it asks for an address; only PTR records belong to one.');
  return undefined;
}

/** Echo requests go out one after the other, and the last has half a second. */
export function echoTimeout(timeout_ms: number | undefined, packets = 3): number | undefined {
  return timeout_ms === undefined ? undefined : Math.max(timeout_ms, 1_000 + packets * 200);
}

/** `host:port`. */
export function endpointFrom(
  host: string,
  port: number | undefined,
  name: string,
  work: Work,
): string | undefined {
  const bare = hostFrom(host, name, work);
  if (bare === undefined) return undefined;
  if (port !== undefined && Number.isInteger(port) && port >= 1 && port <= 65_535)
    return `${isIP(bare) === 6 ? `[${bare}]` : bare}:${port}`;
  work.omit(name, 'it has no port that can be checked.');
  return undefined;
}

/** The parts of `host:port`, also with brackets. */
export function partsOf(endpoint: string): readonly [host: string, port: number | undefined] {
  const [, host = endpoint, port] = /^(.*?):(\d{1,5})$/.exec(endpoint) ?? [];
  return [host, port === undefined ? undefined : Number(port)];
}

/** The address of a name server; ours are asked by address alone. */
export function resolverFrom(
  server: string,
  port: number | undefined,
  name: string,
  work: Work,
): string | undefined {
  if (server === '') return undefined;
  const bare = server.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) === 0) {
    work.omit(name, 'its name server is no IP address; the one of the probes is asked.');
    return undefined;
  }
  const other = port !== undefined && port >= 1 && port <= 65_535 && port !== 53;
  return other ? `${isIP(bare) === 6 ? `[${bare}]` : bare}:${port}` : bare;
}

/** Statuses of any writing: `200`, `200-299`, `2xx`. */
export function statusesFrom(
  given: readonly string[],
  name: string,
  work: Work,
): readonly (string | number)[] | undefined {
  const statuses = given.flatMap((one): (string | number)[] => {
    const word = one.trim().toLowerCase();
    const [, from, to] = /^([1-5]\d\d)\s*-\s*([1-5]\d\d)$/.exec(word) ?? [];
    if (from !== undefined && to !== undefined && Number(from) <= Number(to))
      return [from.endsWith('00') && to === `${from[0]}99` ? `${from[0]}xx` : `${from}-${to}`];
    if (/^[1-5]\d\d$/.test(word)) return [Number(word)];
    if (/^[1-5]xx$/.test(word)) return [word];
    work.omit(name, `the status ${word.slice(0, 20)} cannot be expected.`);
    return [];
  });
  const every = [...new Set(statuses)];
  if (every.length > 30) work.omit(name, 'of its statuses the first 30 are expected.');
  const all = every.slice(0, 30);
  return all.length === 0 || (all.length === 1 && all[0] === '2xx') ? undefined : all;
}

export function methodFrom(given: string, name: string, work: Work): string | undefined {
  const method = given.toUpperCase();
  if (method === '' || method === 'GET') return undefined;
  if (methods.some((one) => one === method)) return method;
  work.omit(name, 'its method is one that checks do not have; GET is asked.');
  return undefined;
}

/** What can be together, of what was asked for separately. */
export function consistent(config: Raw, name: string, work: Work): Raw {
  const { method = 'GET', headers } = config;
  const without: string[] = [];
  const drop = (key: string, why: string): void => {
    if (config[key] === undefined || config[key] === '') return;
    without.push(key);
    work.omit(name, why);
  };
  if (method === 'GET' || method === 'HEAD')
    drop('body', 'its body is left out: GET and HEAD send none.');
  if (method === 'HEAD')
    for (const key of bodyKeys) drop(key, 'what its body must say is left out: HEAD brings none.');
  const signsIn = Object.keys(Object(headers ?? {})).some((each) => /^authorization$/i.test(each));
  if (signsIn || config.basic_auth !== undefined)
    drop('bearer_token', 'it signs in twice; its bearer token is left out.');
  if (signsIn) drop('basic_auth', 'it signs in twice; the header is taken over.');
  return Object.fromEntries(Object.entries(config).filter(([key]) => !without.includes(key)));
}

/** Up to 20 texts, of up to 1,024 characters. */
export function wordsFrom(
  words: readonly string[],
  name: string,
  work: Work,
): readonly string[] | undefined {
  const fitting = words.filter((word) => word !== '' && word.length <= 1_024).slice(0, 20);
  if (fitting.length < words.filter((word) => word !== '').length)
    work.omit(name, 'a text that its answer must have is longer than 1,024 characters.');
  return fitting.length === 0 ? undefined : fitting;
}

/** Up to 20 regular expressions, of those that can be read. */
export function patternsFrom(
  patterns: readonly string[],
  name: string,
  work: Work,
): readonly string[] | undefined {
  const fitting = patterns.filter((pattern) => {
    const fault = patternFault(pattern);
    if (fault !== undefined) work.omit(name, `the pattern ${pattern} is left out: ${fault}.`);
    return pattern !== '' && fault === undefined;
  });
  if (fitting.length > 20) work.omit(name, 'of its patterns the first 20 are taken.');
  return fitting.length === 0 ? undefined : fitting.slice(0, 20);
}

/** A path into JSON as ours are; undefined where it is an expression. */
export function jsonPathFrom(text: string): string | undefined {
  const path = text.startsWith('$') ? text : text.startsWith('[') ? `$${text}` : `$.${text}`;
  const isPath =
    /^\$(?:\.[A-Za-z_$][\w$-]*|\.\d{1,9}|\.?\[-?\d{1,9}\]|\["[^"\\]*"\]|\['[^'\\]*'\]){0,32}$/.test(
      path,
    );
  return text !== '' && isPath && path.length <= 512 ? path : undefined;
}

/** A value that was written as text. */
export function scalarFrom(text: string): string | number | boolean {
  return text === 'true' || text === 'false'
    ? text === 'true'
    : /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/.test(text)
      ? Number(text)
      : text.slice(0, 1_024);
}

/** `1h30m`, as Go and Prometheus write durations; in seconds. */
export function secondsFrom(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? 0),
    0,
  );
}

const units: Readonly<Record<string, number>> = {
  w: 7 * day,
  d: day,
  h: 3_600,
  m: 60,
  s: 1,
  ms: 0.001,
};

/** Names everything of a row that no one has read. */
export function omitUnread(
  row: Row,
  name: string,
  work: Work,
  reasons: Readonly<Record<string, string>> = {},
): void {
  for (const field of row.unread())
    work.omit(name, ofTable(reasons, field) ?? `its ${field} has no counterpart.`);
}

/** What every import says of pings whose address is another one. */
export const newPingAddress = 'its ping address is a new one; enter it in the job.';
