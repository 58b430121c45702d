import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { nearest } from '../../../shared/base/text.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import {
  configFaults,
  defaultName,
  keySchemas,
  knownKeys,
  mergeSecrets,
  refusedConfig,
  splitSecrets,
  targetFault,
} from '../../../shared/checks/config.ts';
import { configKeys, defaultWords, unknownConfigKeys } from '../../../shared/checks/config-keys.ts';
import { dnsSettings } from '../../../shared/checks/dns/config.ts';
import { grpcSettings } from '../../../shared/checks/grpc/config.ts';
import { expectedStatus, httpsSettings } from '../../../shared/checks/https/config.ts';
import { icmpSettings } from '../../../shared/checks/icmp/config.ts';
import { timeoutMs } from '../../../shared/checks/kind-config.ts';
import { type Kind, kinds } from '../../../shared/checks/kinds.ts';
import type { Json } from '../../../shared/checks/result.ts';
import { tcpSettings } from '../../../shared/checks/tcp/config.ts';
import { tlsSettings } from '../../../shared/checks/tls/config.ts';
import { websocketSettings } from '../../../shared/checks/websocket/config.ts';

describe('config', () => {
  const faults = (config: Config, interval_s = 60, target = 'https://example.com/') =>
    configFaults('https', target, config, interval_s);
  const keys = (config: Config, interval_s = 60) =>
    faults(config, interval_s).map(({ key }) => key);

  describe('a config as a whole', () => {
    test('unknown keys are accepted, with a warning that names the probable key', () => {
      expect(faults({ expectd_status: [200], colour: 'blue', timeout: 5 })).toEqual([]);
      expect(
        unknownConfigKeys('https', {
          expectd_status: [200],
          colour: 'blue',
          method: 'GET',
          timeout: 5,
        }),
      ).toEqual([
        {
          key: 'expectd_status',
          meant: 'expected_status',
          sentence: '`expectd_status` is not used by https checks; did you mean `expected_status`?',
        },
        { key: 'colour', meant: null, sentence: '`colour` is not used by https checks' },
        {
          key: 'timeout',
          meant: 'timeout_ms',
          sentence: '`timeout` is not used by https checks; did you mean `timeout_ms`?',
        },
      ]);
      expect(
        unknownConfigKeys('dns', { method: 'GET', recordtype: 'MX' }).map(({ meant }) => meant),
      ).toEqual([null, 'record_type']);
      expect(
        unknownConfigKeys('heartbeat', { grace: 60, grace_s: 60 }).map(({ meant }) => meant),
      ).toEqual(['grace_s']);
      for (const odd of ['', '__proto__', 'constructor', 'x'.repeat(5_000)])
        expect(unknownConfigKeys('https', JSON.parse(JSON.stringify({ [odd]: 1 })))).toHaveLength(
          1,
        );
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

    test('are extracted, masked, and restored', () => {
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
        {
          headers: { 'x-KEY': '***' },
          secret_headers: ['X-Key'],
          basic_auth: { username: 'me', password: 'p-2' },
        },
        secrets,
      );
      expect(sent.unknown).toEqual([]);
      expect(mergeSecrets('https', sent.open, sent.secrets)).toMatchObject({
        headers: { 'x-KEY': 'k-1' },
        basic_auth: { password: 'p-2' },
      });
      expect(Object.values(sent.secrets)).not.toContain('t-1');
    });

    test('include those of credential headers, named or not', () => {
      const headers = {
        AUTHORIZATION: 'Basic eHg=',
        Cookie: 'sid=1',
        'x-api-key': 'k',
        'X-Trace': 'open',
      };
      const { open, secrets } = splitSecrets('https', { headers });
      expect(open.headers).toEqual({
        AUTHORIZATION: '***',
        Cookie: '***',
        'x-api-key': '***',
        'X-Trace': 'open',
      });
      expect(mergeSecrets('https', open, secrets)).toEqual({ headers });
      expect(splitSecrets('https', { headers: { cookie: '***' } }).unknown).toEqual([
        'headers.cookie',
      ]);
    });

    test('a mask without a stored secret is refused with its place', () => {
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
});

describe('the help of every config key', () => {
  const target: Readonly<Record<Kind, string>> = {
    https: 'https://example.com/',
    dns: 'example.com',
    tcp: 'example.com:5432',
    tls: 'example.com:443',
    websocket: 'wss://example.com/',
    grpc: 'grpcs://example.com:443',
    heartbeat: '',
    domain: 'example.com',
    icmp: 'example.com',
  };

  /** What an example needs beside it. */
  const beside: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
    secret_headers: { headers: { 'X-Api-Key': 'k' } },
    secret_metadata: { metadata: { 'x-tenant': 'shop' } },
    body: { method: 'POST' },
    timezone: { schedule: '30 2 * * *' },
    fail_on: { max_response_ms: 1_000 },
    server_name: { tls: 'implicit' },
    tls_expires_within_days: { tls: 'implicit' },
  };

  const faults = (kind: Kind, key: string, value: Json) =>
    configFaults(kind, target[kind], { ...beside[key], [key]: value }, 60).filter((fault) =>
      fault.key.startsWith(key),
    );

  const rows = kinds.flatMap((kind) =>
    Object.entries(configKeys[kind]).map(([key, row]) => [kind, key, row] as const),
  );
  const schemaOf = (kind: Kind, key: string): z.ZodType => keySchemas(kind)[key] ?? z.never();

  /**
   * Bounds of the shape that people do not have to know, because whatever is of the right form
   * keeps them.
   */
  const implied: Readonly<Record<string, number>> = {
    resolver: 64,
    schedule: 100,
    timezone: 64,
    secret_headers: 100,
    secret_metadata: 100,
  };

  /** All bounds and values that stand in a shape, however deep. */
  const boundsOf = (schema: unknown): (string | number)[] => {
    if (typeof schema !== 'object' || schema === null) return [];
    return Object.entries(schema).flatMap(([word, value]: [string, unknown]) => {
      if (/^(minimum|maximum|maxLength|maxItems)$/.test(word)) return [Number(value)];
      if (word === 'enum' && Array.isArray(value)) return value.map(String);
      // Names of headers have a form of their own.
      return word === 'propertyNames' || word === 'pattern' ? [] : boundsOf(value);
    });
  };

  const asWritten = (bound: string | number): string =>
    typeof bound === 'number' ? bound.toLocaleString('en') : bound;

  test.each(kinds)('exists for all keys of %s, and for no other', (kind) => {
    const keys = Object.keys(keySchemas(kind)).toSorted();
    expect(Object.keys(configKeys[kind]).toSorted()).toEqual(keys);
    expect(knownKeys(kind).toSorted()).toEqual(keys);
  });

  test.each(rows)(
    '%s %s: name the bounds and values that its shape has',
    (kind, key, { allowed, choices = [] }) => {
      const shape = z.toJSONSchema(schemaOf(kind, key), { unrepresentable: 'any' });
      const bounds = boundsOf(shape).filter(
        (bound) => bound !== implied[key] && bound !== Number.MAX_SAFE_INTEGER,
      );
      for (const bound of bounds) expect(allowed).toContain(asWritten(bound));
      for (const choice of choices) expect(allowed).toContain(choice);
    },
  );

  test.each(rows)(
    '%s %s: give an example that is taken, and all values where they are few',
    (kind, key, { example, choices }) => {
      expect(faults(kind, key, example)).toEqual([]);
      const values = (choices ?? []).map(
        (choice): Json => (choice === 'true' ? true : choice === 'false' ? false : choice),
      );
      for (const value of values) expect(faults(kind, key, value)).toEqual([]);
      if (choices) expect(faults(kind, key, 'none of them')).not.toEqual([]);
      // Where the shape has only so many values, they are told.
      const shape = z.toJSONSchema(schemaOf(kind, key), { unrepresentable: 'any' });
      if (shape.enum !== undefined || shape.type === 'boolean')
        expect(choices).toEqual(shape.enum ?? ['true', 'false']);
    },
  );

  test.each(rows)(
    '%s %s: names the default, once, and the default is accepted too',
    (kind, key, row) => {
      expect(row.initial === undefined).toBe(row.otherwise !== undefined);
      expect(defaultWords(row)).not.toBe('');
      if (row.initial === undefined) return;
      expect(faults(kind, key, row.initial)).toEqual([]);
      const read = {
        https: httpsSettings,
        dns: (config: Readonly<Record<string, Json>>) =>
          dnsSettings({ target: target.dns, config }),
        tcp: tcpSettings,
        tls: tlsSettings,
        websocket: websocketSettings,
        grpc: grpcSettings,
        icmp: icmpSettings,
      };
      if (kind === 'heartbeat' || kind === 'domain') return;
      const { expected_given: _given, ...left } = { expected_given: null, ...read[kind]({}) };
      const { expected_given: _too, ...written } = {
        expected_given: null,
        ...read[kind]({ [key]: row.initial }),
      };
      expect(JSON.stringify(written)).toBe(JSON.stringify(left));
    },
  );
});

describe('https config', () => {
  const faults = (config: Config, interval_s = 60, target = 'https://example.com/') =>
    configFaults('https', target, config, interval_s);
  const keys = (config: Config, interval_s = 60) =>
    faults(config, interval_s).map(({ key }) => key);

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
      ['body_matches', '^ok'],
      ['body_matches', ['ok|fine', '(?i)v\\d+']],
      ['body_not_matches', '(?:a+)+$'],
      ['header_matches', { Server: '^nginx', 'X-There': '.' }],
      ['header_not_matches', { Server: '\\d' }],
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
      ['ip_family', 'both'],
      ['basic_auth', { username: 'me', password: '' }],
      ['bearer_token', 'abc.def-ghi'],
      ['max_response_ms', 1],
      ['warn', { response_ms: 1_500 }],
      ['fail_on', []],
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
      ['body_matches', '', 'body_matches'],
      ['body_matches', '(a', 'body_matches'],
      ['body_matches', ['a', '(a)\\1'], 'body_matches[1]'],
      ['body_not_matches', Array(21).fill('a'), 'body_not_matches'],
      ['body_not_matches', 'a'.repeat(1_025), 'body_not_matches'],
      ['header_matches', {}, 'header_matches'],
      ['header_matches', { Server: '' }, 'header_matches.Server'],
      ['header_not_matches', { Server: '(?=a)' }, 'header_not_matches.Server'],
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
      ['client_certificate', '', 'client_certificate'],
      ['client_certificate', 'x'.repeat(12_289), 'client_certificate'],
      ['client_certificate', 'secret.pem', 'client_certificate'],
      ['bearer_token', '', 'bearer_token'],
      ['max_response_ms', 0, 'max_response_ms'],
      ['warn', { response_ms: 0 }, 'warn.response_ms'],
      ['warn', { days: 3 }, 'warn.response_ms'],
      ['warn', { response_ms: 20_000 }, 'warn'],
      ['fail_on', ['slow'], 'fail_on'],
      ['fail_on', ['certificate'], 'fail_on'],
      ['fail_on', ['always'], 'fail_on[0]'],
      ['fail_on', ['slow', 'slow'], 'fail_on'],
    ];
    test.each(bad)('%s refuses %j and names the place', (key, value, named) => {
      const found = faults({ [key]: value });
      expect(found.map((fault) => fault.key)).toContain(named);
      for (const fault of found) expect(fault.remedy.length).toBeGreaterThan(8);
    });

    test('a conflict between keys is reported with the key to change', () => {
      expect(keys({ body_contains: 'x', method: 'HEAD' })).toEqual(['body_contains']);
      expect(keys({ body_not_matches: 'x', method: 'HEAD' })).toEqual(['body_not_matches']);
      expect(refusedConfig(faults({ body_matches: 'a(?!b)' })).message).toBe(
        '`body_matches` cannot be used: write it without looking ahead or behind (`(?=`, `(?!`, `(?<=`, `(?<!`), which RE2 syntax does not have',
      );
      expect(keys({ basic_auth: { username: 'a', password: 'b' }, bearer_token: 'c' })).toEqual([
        'bearer_token',
      ]);
      expect(
        keys({ basic_auth: { username: 'a', password: 'b' }, headers: { authorization: 'c' } }),
      ).toEqual(['basic_auth']);
      for (const target of ['https://192.0.2.1/', 'https://[2001:db8::1]:8443/'])
        expect(faults({ ip_family: 'both' }, 60, target).map(({ key }) => key)).toEqual([
          'ip_family',
        ]);
      expect(keys({ timeout_ms: 2_000, max_response_ms: 3_000 })).toEqual(['max_response_ms']);
      expect(keys({ max_response_ms: 10_001 })).toEqual(['max_response_ms']);
      expect(keys({ max_response_ms: 5_001 }, 10)).toEqual(['max_response_ms']);
      expect(refusedConfig(faults({ max_response_ms: 15_000 })).message).toBe(
        '`max_response_ms` cannot be used: stay at or below the time limit of 10,000 ms, or set a longer `timeout_ms`',
      );
      expect(keys({ max_response_ms: 10_000 })).toEqual([]);
      expect(keys({ timeout_ms: 30_000, max_response_ms: 30_000 })).toEqual([]);
      expect(keys({ timeout_ms: 10_000 }, 10)).toEqual(['timeout_ms']);
      expect(keys({ method: 'POST', body: 'payload' })).toEqual([]);
    });

    test('several errors are reported at once, each with its remedy', () => {
      const sentence = refusedConfig(faults({ method: 'GOT', max_redirects: 99 })).message;
      expect(sentence).toContain('`method` cannot be used: must be one of GET');
      expect(sentence).toContain(
        '`max_redirects` cannot be used: must be a whole number from 0 to 10',
      );
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
      expect(targetFault('https', target)).toMatch(/^must/);
    });

    test('names a monitor without a name', () => {
      expect(defaultName('https', 'https://Example.com:8443/a')).toBe('example.com:8443');
    });
  });

  test('expected statuses match by number, range and class', () => {
    const { matches, words } = expectedStatus([204, '300-302', '5XX']);
    expect([200, 204, 299, 300, 302, 303, 500, 599].filter(matches)).toEqual([
      204, 300, 302, 500, 599,
    ]);
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
});
