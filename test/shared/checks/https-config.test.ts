import { describe, expect, test } from 'vitest';
import type { Config } from '../../../shared/checks/assignment.ts';
import { configFaults, defaultName, faultsSentence, targetFault } from '../../../shared/checks/config.ts';
import { expectedStatus, httpsSettings } from '../../../shared/checks/https/config.ts';
import type { Json } from '../../../shared/checks/result.ts';

const faults = (config: Config, interval_s = 60, target = 'https://example.com/') => configFaults('https', target, config, interval_s);
const keys = (config: Config, interval_s = 60) => faults(config, interval_s).map(({ key }) => key);

describe('every key of an https config', () => {
  const good: readonly (readonly [string, Json])[] = [
    ['timeout_ms', 1_000],
    ['timeout_ms', 59_999],
    ['continents', ['Europe', 'North America']],
    ['probe', '0190a2b4-7c1e-7000-8000-000000000001'],
    ['alert_after_s', 0],
    ['alert_after_s', 3_600],
    ['method', 'OPTIONS'],
    ['headers', { 'X-Key': 'v', Accept: 'text/html; q=0.5', Host: 'other.example' }],
    ['expected_status', [200, '301', '200-299', '2xx', '5XX']],
    ['follow_redirects', false],
    ['max_redirects', 0],
    ['max_redirects', 10],
    ['body_contains', 'ok'],
    ['body_contains', ['ok', 'fine']],
    ['body_not_contains', 'error'],
    [
      'json',
      [
        { path: '$.a[0]["b c"]', equals: null },
        { path: 'x', gt: 1, lt: 2 },
      ],
    ],
    ['json', [{ path: '$.a', exists: false }]],
    ['json', [{ path: '$.id', equals: '12345678901234567890' }]],
    ['json', [{ path: '$.id', equals: Number.MAX_SAFE_INTEGER }]],
    ['header_contains', { Server: 'nginx', 'X-There': '' }],
    ['verify_tls', false],
    ['tls_expires_within_days', 0],
    ['tls_expires_within_days', 365],
    ['ip_family', 'any'],
    ['ip_family', '6'],
    ['ip_family', 4],
    ['basic_auth', { username: 'me', password: '' }],
    ['bearer_token', 'abc.def-ghi'],
    ['max_response_ms', 1],
    ['method', null],
  ];
  test.each(good)('%s takes %j', (key, value) => {
    expect(faults({ [key]: value })).toEqual([]);
  });

  const bad: readonly (readonly [string, Json, string])[] = [
    ['timeout_ms', 999, 'timeout_ms'],
    ['timeout_ms', 60_001, 'timeout_ms'],
    ['timeout_ms', 1_500.5, 'timeout_ms'],
    ['timeout_ms', '5000', 'timeout_ms'],
    ['timeout_ms', 60_000, 'timeout_ms'],
    ['continents', [], 'continents'],
    ['continents', ['Atlantis'], 'continents[0]'],
    ['continents', ['Europe', 'Europe'], 'continents'],
    ['continents', 'Europe', 'continents'],
    ['probe', 'eu-1', 'probe'],
    ['alert_after_s', 3_601, 'alert_after_s'],
    ['alert_after_s', -1, 'alert_after_s'],
    ['method', 'get', 'method'],
    ['method', 'TRACE', 'method'],
    ['headers', { 'Bad Name': 'v' }, 'headers.Bad Name'],
    ['headers', { 'X-A': 'a\r\nX-B: b' }, 'headers.X-A'],
    ['headers', { 'X-A': 'snow ☃' }, 'headers.X-A'],
    ['headers', { 'X-A': 5 }, 'headers.X-A'],
    ['headers', { 'User-Agent': 'Mozilla' }, 'headers'],
    ['headers', { 'Content-Length': '5' }, 'headers'],
    ['headers', { 'transfer-encoding': 'chunked' }, 'headers'],
    ['headers', { Connection: 'keep-alive' }, 'headers'],
    ['headers', { 'X-A': '1', 'x-a': '2' }, 'headers'],
    ['secret_headers', ['X-None'], 'secret_headers'],
    ['body', 'payload', 'body'],
    ['body', { a: 1 }, 'body'],
    ['expected_status', [], 'expected_status'],
    ['expected_status', 200, 'expected_status'],
    ['expected_status', [99], 'expected_status[0]'],
    ['expected_status', [200, '6xx'], 'expected_status[1]'],
    ['expected_status', ['299-200'], 'expected_status[0]'],
    ['expected_status', ['2x'], 'expected_status[0]'],
    ['expected_status', [301], 'follow_redirects'],
    ['follow_redirects', 'yes', 'follow_redirects'],
    ['max_redirects', 11, 'max_redirects'],
    ['body_contains', '', 'body_contains'],
    ['body_contains', [], 'body_contains'],
    ['body_not_contains', 5, 'body_not_contains'],
    ['json', {}, 'json'],
    ['json', [{ path: '$..a', equals: 1 }], 'json[0].path'],
    ['json', [{ path: '$.a' }], 'json[0]'],
    ['json', [{ path: '$.a', equals: { deep: 1 } }], 'json[0].equals'],
    ['json', [{ path: '$.a', equal: 1 }], 'json[0]'],
    // Its digits were lost when the request was read.
    ['json', [{ path: '$.id', equals: 12_345_678_901_234_567_000 }], 'json'],
    ['json', [{ path: '$.id', equals: -9_007_199_254_740_992 }], 'json'],
    ['header_contains', {}, 'header_contains'],
    ['header_contains', 'nginx', 'header_contains'],
    ['verify_tls', 1, 'verify_tls'],
    ['tls_expires_within_days', 366, 'tls_expires_within_days'],
    ['ip_family', 5, 'ip_family'],
    ['ip_family', 'v4', 'ip_family'],
    ['basic_auth', { username: 'me' }, 'basic_auth.password'],
    ['basic_auth', { username: 'a:b', password: 'x' }, 'basic_auth.username'],
    ['bearer_token', 'two words', 'bearer_token'],
    ['bearer_token', '', 'bearer_token'],
    ['max_response_ms', 0, 'max_response_ms'],
  ];
  test.each(bad)('%s refuses %j and names the place', (key, value, named) => {
    const found = faults({ [key]: value });
    expect(found.map((fault) => fault.key)).toContain(named);
    for (const fault of found) expect(fault.remedy.length).toBeGreaterThan(8);
  });

  test('what clashes between keys is told with the key to change', () => {
    expect(keys({ body_contains: 'x', method: 'HEAD' })).toEqual(['body_contains']);
    expect(keys({ basic_auth: { username: 'a', password: 'b' }, bearer_token: 'c' })).toEqual(['bearer_token']);
    expect(keys({ basic_auth: { username: 'a', password: 'b' }, headers: { authorization: 'c' } })).toEqual(['basic_auth']);
    expect(keys({ timeout_ms: 2_000, max_response_ms: 3_000 })).toEqual(['max_response_ms']);
    expect(keys({ max_response_ms: 10_001 })).toEqual(['max_response_ms']);
    expect(keys({ max_response_ms: 5_001 }, 10)).toEqual(['max_response_ms']);
    expect(faultsSentence(faults({ max_response_ms: 15_000 }))).toBe(
      '`max_response_ms` cannot be used: stay at or below the time limit of 10,000 ms, or give a longer `timeout_ms`',
    );
    expect(keys({ max_response_ms: 10_000 })).toEqual([]);
    expect(keys({ timeout_ms: 30_000, max_response_ms: 30_000 })).toEqual([]);
    expect(keys({ timeout_ms: 10_000 }, 10)).toEqual(['timeout_ms']);
    expect(keys({ method: 'POST', body: 'payload' })).toEqual([]);
  });

  test('several faults are told at once, each with its remedy', () => {
    const sentence = faultsSentence(faults({ method: 'GOT', max_redirects: 99 }));
    expect(sentence).toContain('`method` cannot be used: give one of GET');
    expect(sentence).toContain('`max_redirects` cannot be used: give a whole number from 0 to 10');
  });
});

describe('a target', () => {
  test.each([
    'https://example.com',
    'http://example.com:8080/a?b=c#d',
    'HTTPS://EXAMPLE.com/',
    'https://[2606:4700::1111]/',
    'https://bücher.example/',
    'http://localhost:3000',
  ])('%s can be checked', (target) => {
    expect(targetFault('https', target)).toBeUndefined();
  });

  test.each([
    'example.com',
    'ftp://example.com/',
    'https://',
    'https:///path',
    'javascript:alert(1)',
    `https://${'a'.repeat(64)}.example/`,
    `https://${'a.'.repeat(127)}example/`,
    'file:///etc/passwd',
    'https://a b/',
    'https://exa\nmple.com/',
    ' https://example.com',
    'https://me:secret@example.com/',
    'https://example.com:0/',
    'https://example.com:99999/',
    `https://example.com/${'x'.repeat(2_048)}`,
  ])('%j cannot, and the sentence says what would do', (target) => {
    expect(targetFault('https', target)).toMatch(/`target` must/);
  });

  test('names a monitor that nobody named', () => {
    expect(defaultName('https', 'https://Example.com:8443/a')).toBe('example.com:8443');
  });
});

test('expected statuses match by number, range and class', () => {
  const { matches, words } = expectedStatus([204, '300-302', '5XX']);
  expect([200, 204, 299, 300, 302, 303, 500, 599].filter(matches)).toEqual([204, 300, 302, 500, 599]);
  expect(words).toBe('204, 300-302, 5xx');
});

test('settings carry every default', () => {
  expect(httpsSettings({ method: null })).toMatchObject({
    method: 'GET',
    follow_redirects: true,
    max_redirects: 5,
    verify_tls: true,
    ip_family: 'any',
    expected_given: false,
    tls_expires_within_days: null,
    max_response_ms: null,
    credentials: null,
  });
  expect(httpsSettings({ basic_auth: { username: 'jürgen', password: 'pä' } }).credentials).toBe(
    `Basic ${Buffer.from('jürgen:pä').toString('base64')}`,
  );
});
