import { describe, expect, test } from 'vitest';
import { nearest } from '../../../shared/base/text.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { asSplit, configFaults, knownKeys, mergeSecrets, namingSecrets, splitSecrets } from '../../../shared/checks/config.ts';
import { unknownConfigKeys } from '../../../shared/checks/config-keys.ts';
import { timeoutMs } from '../../../shared/checks/kind-config.ts';
import type { Json } from '../../../shared/checks/result.ts';

const faults = (config: Config, interval_s = 60, target = 'https://example.com/') => configFaults('https', target, config, interval_s);
const keys = (config: Config, interval_s = 60) => faults(config, interval_s).map(({ key }) => key);

describe('a config as a whole', () => {
  test('keys that nobody knows are no fault, and the page says what was probably meant', () => {
    expect(faults({ expectd_status: [200], colour: 'blue', timeout: 5 })).toEqual([]);
    expect(unknownConfigKeys('https', { expectd_status: [200], colour: 'blue', method: 'GET', timeout: 5 })).toEqual([
      {
        key: 'expectd_status',
        meant: 'expected_status',
        sentence: '`expectd_status` is not used by https checks; did you mean `expected_status`?',
      },
      { key: 'colour', meant: null, sentence: '`colour` is not used by https checks' },
      { key: 'timeout', meant: 'timeout_ms', sentence: '`timeout` is not used by https checks; did you mean `timeout_ms`?' },
    ]);
    expect(unknownConfigKeys('dns', { method: 'GET', recordtype: 'MX' }).map(({ meant }) => meant)).toEqual([null, 'record_type']);
    expect(unknownConfigKeys('heartbeat', { grace: 60, grace_s: 60 }).map(({ meant }) => meant)).toEqual(['grace_s']);
    for (const odd of ['', '__proto__', 'constructor', 'x'.repeat(5_000)])
      expect(unknownConfigKeys('https', JSON.parse(JSON.stringify({ [odd]: 1 })))).toHaveLength(1);
    expect(knownKeys('https')).toContain('tls_expires_within_days');
  });

  test('has at most 16 KiB and at most eight levels', () => {
    expect(keys({ note: 'x'.repeat(16 * 1024) })).toEqual(['config']);
    expect(keys({ note: 'é'.repeat(8 * 1024) })).toEqual(['config']);
    const nest = (levels: number): Json => (levels === 0 ? 1 : { a: nest(levels - 1) });
    expect(keys({ a: nest(7) })).toEqual([]);
    expect(keys({ a: nest(8) })).toEqual(['config']);
    expect(keys({ a: nest(5_000) })).toEqual(['config']);
  });

  test('its time limit is its own, or the smaller of 10 s and half the interval', () => {
    expect(timeoutMs({}, 60)).toBe(10_000);
    expect(timeoutMs({}, 10)).toBe(5_000);
    expect(timeoutMs({ timeout_ms: 2_500 }, 10)).toBe(2_500);
  });

  test.each([
    ['expected_status', 'status_expected', undefined],
    ['', 'method', undefined],
    ['metod', 'method', 'method'],
    ['followRedirects', 'follow_redirects', 'follow_redirects'],
    ['x'.repeat(10_000), 'method', undefined],
  ])('of %s, with %s known, %s was meant', (word, known, meant) => {
    expect(nearest(word, [known])).toBe(meant);
  });
});

describe('secrets of a config', () => {
  const config: Config = {
    headers: { 'X-Key': 'k-1', Accept: 'a' },
    secret_headers: ['x-key'],
    basic_auth: { username: 'me', password: 'p-1' },
    bearer_token: 't-1',
    __proto__x: 1,
  };

  test('are taken out, masked, and put back', () => {
    const { open, secrets, unknown } = splitSecrets('https', config);
    expect(JSON.stringify(open)).not.toMatch(/k-1|p-1|t-1/);
    expect(open).toMatchObject({
      headers: { 'X-Key': '***', Accept: 'a' },
      basic_auth: { username: 'me', password: '***' },
      bearer_token: '***',
    });
    expect(unknown).toEqual([]);
    expect(mergeSecrets('https', open, secrets)).toEqual(config);
  });

  test('a mask sent back keeps what is stored, in whatever case the header is written', () => {
    const { secrets } = splitSecrets('https', config);
    const sent = splitSecrets(
      'https',
      { headers: { 'x-KEY': '***' }, secret_headers: ['X-Key'], basic_auth: { username: 'me', password: 'p-2' } },
      secrets,
    );
    expect(sent.unknown).toEqual([]);
    expect(mergeSecrets('https', sent.open, sent.secrets)).toMatchObject({ headers: { 'x-KEY': 'k-1' }, basic_auth: { password: 'p-2' } });
    expect(Object.values(sent.secrets)).not.toContain('t-1');
  });

  test('are also those of headers that say who asks, named or not', () => {
    const headers = { AUTHORIZATION: 'Basic eHg=', Cookie: 'sid=1', 'x-api-key': 'k', 'X-Trace': 'open' };
    const { open, secrets } = splitSecrets('https', { headers });
    expect(open.headers).toEqual({ AUTHORIZATION: '***', Cookie: '***', 'x-api-key': '***', 'X-Trace': 'open' });
    expect(mergeSecrets('https', open, secrets)).toEqual({ headers });
    expect(splitSecrets('https', { headers: { cookie: '***' } }).unknown).toEqual(['headers.cookie']);
    // Stored before they counted as secrets, beside one that did.
    const stored = asSplit('https', { headers: { ...headers, 'X-Own': '***' }, secret_headers: ['X-Own'] }, { 'headers/x-own': 'own' });
    expect(stored.open.headers).toEqual({ AUTHORIZATION: '***', Cookie: '***', 'x-api-key': '***', 'X-Trace': 'open', 'X-Own': '***' });
    expect(stored.secrets).toEqual({ ...secrets, 'headers/x-own': 'own' });
  });

  test('reach a probe that knows only headers which are named', () => {
    const { open } = splitSecrets('https', { headers: { Cookie: 'sid=1', 'X-Own': 'own', Accept: '*/*' }, secret_headers: ['x-own'] });
    expect(namingSecrets('https', open).secret_headers).toEqual(['Cookie', 'X-Own']);
    expect(namingSecrets('https', { method: 'HEAD' })).toEqual({ method: 'HEAD' });
    expect(namingSecrets('dns', { headers: { Cookie: 'x' } })).toEqual({ headers: { Cookie: 'x' } });
  });

  test('a mask for which nothing is stored is told by its place', () => {
    expect(splitSecrets('https', { bearer_token: '***' }).unknown).toEqual(['bearer_token']);
  });

  test('keys of every object stay plain data', () => {
    const hostile: Config = JSON.parse(
      '{"__proto__": {"bearer_token": "x"}, "headers": {"__proto__": "v"}, "secret_headers": ["__proto__"]}',
    );
    const { open, secrets } = splitSecrets('https', hostile);
    expect(Object.getPrototypeOf(open)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(secrets)).toBe(Object.prototype);
    expect(JSON.stringify(mergeSecrets('https', open, secrets))).toBe(JSON.stringify(hostile));
  });
});
