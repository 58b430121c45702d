import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { createTrust } from '../../../../probe/checks/connection/trust.ts';
import { createGuard } from '../../../../probe/checks/guard.ts';
import type { HttpsObservation } from '../../../../probe/checks/https/evidence.ts';
import { createHttpsCheck } from '../../../../probe/checks/https/perform.ts';
import { systemClock } from '../../../../shared/base/time.ts';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { causeSentence } from '../../../../shared/checks/causes.ts';
import {
  isWarningCode,
  warningCodes,
  warningSentence,
} from '../../../../shared/checks/warnings.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { assignmentOf, deadlineIn, httpsChecker } from '../../support/checkers.ts';
import {
  answered,
  at,
  certificate,
  day,
  hop,
  judge,
  response,
  seen,
  serve,
  tls,
} from '../../support/observations.ts';

/** What rule 44 says of a check that passes. */

const life = (left: number, whole = 400) => ({
  valid_from: at + (left - whole) * day,
  valid_to: at + left * day,
  path: () => [at + left * day],
});
const withCertificate = (left: number, whole?: number): HttpsObservation =>
  seen([hop({ response: response(200), tls: tls(life(left, whole)) })]);
const two = (first: string, second: string): HttpsObservation =>
  seen([
    hop({ url: first, response: response(302) }),
    hop({ url: second, response: response(200), tls: null }),
  ]);

const limited = (status: number): HttpsObservation =>
  seen([hop({ response: response(status, '', [['retry-after', '30']]) })]);

const rows: readonly (readonly [
  name: string,
  observation: HttpsObservation,
  config: Config,
  sentences: readonly string[],
])[] = [
  ['nothing', withCertificate(300), {}, []],
  [
    'status 429',
    limited(429),
    { body_contains: 'fine' },
    ['The target limits our probes (status 429)'],
  ],
  ['status 429 that is expected', limited(429), { expected_status: [429] }, []],
  ['a certificate of 31 days', withCertificate(31), {}, []],
  ['a certificate of under 30 days', withCertificate(29.9), {}, ['Certificate expires in 29 days']],
  ['one of under 7 days', withCertificate(5), {}, ['Certificate expires in 5 days']],
  ['one of under a day', withCertificate(0.5), {}, ['Certificate expires in less than a day']],
  ['one of 90 days that a program renews', withCertificate(29, 90), {}, []],
  [
    'one of 90 days that no program renewed',
    withCertificate(13, 90),
    {},
    ['Certificate expires in 13 days'],
  ],
  ['one of 6 days', withCertificate(2, 6), {}, []],
  [
    'one of 6 days that ends',
    withCertificate(0.9, 6),
    {},
    ['Certificate expires in less than a day'],
  ],
  [
    'the days of its owner',
    withCertificate(50),
    { tls_expires_within_days: 60 },
    ['Certificate expires in 50 days'],
  ],
  ['fewer days of its owner', withCertificate(10), { tls_expires_within_days: 7 }, []],
  ['no warning of certificates', withCertificate(1), { tls_expires_within_days: 0 }, []],
  [
    'an issuer that ends sooner',
    seen([
      hop({
        response: response(200),
        tls: tls({ ...life(300), path: () => [at + 300 * day, at + 3 * day] }),
      }),
    ]),
    { tls_expires_within_days: 14 },
    ["A certificate of the certificate's issuer expires in 3 days"],
  ],
  [
    'slow responses',
    answered(response(200)),
    { warn: { response_ms: 100 } },
    ['Response took 120 ms, longer than 100 ms'],
  ],
  [
    'the limit that once was of failures',
    answered(response(200)),
    { max_response_ms: 100 },
    ['Response took 120 ms, longer than 100 ms'],
  ],
  ['a response at the limit', answered(response(200)), { warn: { response_ms: 120 } }, []],
  [
    'a slow response that would fail if it were slower',
    answered(response(200)),
    { warn: { response_ms: 100 }, max_response_ms: 200, fail_on: ['slow'] },
    ['Response took 120 ms, longer than 100 ms'],
  ],
  [
    'a redirect from https to http',
    two('https://a.example/', 'http://b.example/'),
    {},
    ['Redirect 1 leads from https to http'],
  ],
  ['a redirect from http to https', two('http://a.example/', 'https://b.example/'), {}, []],
  [
    'a chain without its issuer that nobody wants verified',
    seen([
      hop({
        response: response(200),
        tls: tls({ fault: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', sent: 1, path: () => [] }),
      }),
    ]),
    { verify_tls: false },
    ['Certificate chain is incomplete: the issuer of the certificate was not sent'],
  ],
];

describe('rule 44: a passing check warns of', () => {
  test.each(
    rows.map(([name, observation, config, sentences]) => ({
      name,
      observation,
      config,
      sentences,
    })),
  )('$name', ({ observation, config, sentences }) => {
    const { outcome, warnings = [] } = judge(observation, config);
    expect(outcome).toBe('ok');
    expect(
      warnings.map(({ code, details }) =>
        isWarningCode(code) ? warningSentence({ code, details }, at) : code,
      ),
    ).toEqual(sentences);
  });

  test('nothing when it fails', () => {
    const failing = judge(seen([hop({ response: response(503), tls: tls(life(3)) })]), {
      max_response_ms: 1,
    });
    expect(failing).not.toHaveProperty('warnings');
  });

  test('the certificate by its fingerprint, so that one of many monitors is known as one', () => {
    const observation = seen([
      hop({ response: response(200), tls: tls({ ...life(3), chain: () => [certificate()] }) }),
    ]);
    expect(judge(observation).warnings).toMatchObject([
      {
        code: 'certificate_expires',
        details: { stage: 7, certificate: 'AA', ends_at: at + 3 * day },
      },
    ]);
  });

  test.each(warningCodes)('%s in one plain sentence', (code) => {
    expect(warningSentence({ code, details: {} }, at)).not.toMatch(/\.$/);
  });
});

describe('on real sockets', () => {
  const root = mintAuthority('Test Root');
  const dual = async () => ({ addresses: ['::1', '127.0.0.1'] });

  test('a certificate is reported when it is new, and once a day', async () => {
    const target = await serve({
      certificate: mint({
        names: ['good.example'],
        issuer: root,
        from: new Date(Date.now() - 85 * day),
        to: new Date(Date.now() + 5.5 * day),
      }),
    });
    const check = createHttpsCheck({
      lookup: async () => ({ addresses: ['127.0.0.1'] }),
      resolver: { works: async () => true },
      families: () => ({ 4: true, 6: false }),
      trust: createTrust([root.certificate]),
    });
    const assignment = assignmentOf(`https://good.example:${target.port}/`, { timeout_ms: 5_000 });
    const at = async (started_at: number) =>
      await check({
        assignment,
        started_at,
        deadline: deadlineIn(5_000),
        evidence_wanted: false,
        guard: createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] }),
        probe: { name: 'p', continent: 'Europe', base_url: 'https://x.example', version: '1' },
        clock: systemClock,
      });
    const now = Date.now();
    const first = await at(now);
    expect(first).toMatchObject({
      outcome: 'ok',
      certificate: { issuer: 'Test Root', fingerprint: expect.stringMatching(/^[\dA-F:]+$/) },
      warnings: [{ code: 'certificate_expires', details: { stage: 7 } }],
    });
    expect(await at(now)).not.toHaveProperty('certificate');
    expect(await at(now + day)).toHaveProperty('certificate');
  });

  const open: { close: () => void }[] = [];
  afterAll(() => {
    for (const each of open) each.close();
  });

  /** A check every quarter of an hour always tries the other family. */
  const checker = (lookup: Lookup = dual) => {
    const check = createHttpsCheck({
      lookup,
      resolver: { works: async () => true },
      families: () => ({ 4: true, 6: true }),
      trust: createTrust(),
    });
    return async (host: string, port: number, config: Config = {}) =>
      await check({
        assignment: assignmentOf(`http://${host}:${port}/`, {
          monitor: `00000000-0000-4000-8000-${String(port).padStart(12, '0')}`,
          interval_ms: 900_000,
          timeout_ms: 5_000,
          config,
        }),
        started_at: Date.now(),
        deadline: deadlineIn(5_000),
        evidence_wanted: false,
        guard: createGuard({ allow: ['127.0.0.0/8', '::1/128'], bus: () => [], own: () => [] }),
        probe: { name: 'p', continent: 'Europe', base_url: 'https://x.example', version: '1' },
        clock: systemClock,
      });
  };

  test('one family that refuses is warned of, once another host answered by it', async () => {
    // At 127.0.0.1 another test may listen on the port of the one at ::1.
    const alone = '127.83.7.9';
    const four = await serve({ host: alone });
    const six = await serve({ host: '::1' });
    const check = checker(async () => ({ addresses: [alone, '::1'] }));
    expect(await check('a.example', four.port)).not.toHaveProperty('warnings');
    expect(await check('b.example', six.port)).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'one_family_fails', details: { family: '4' } }],
    });
    expect(await check('a.example', four.port)).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'one_family_fails', details: { family: '6' } }],
    });
    expect(await check('a.example', four.port, { ip_family: '4' })).not.toHaveProperty('warnings');
  });

  test.each([
    [429, { fail_on: ['rate_limited'] }, 'Status 429, expected 2xx: the target limits our probes'],
    [503, {}, 'Status 503, expected 2xx: the target limits our probes'],
  ])('rule 13: status %i that asks to wait and fails says so', (status, config, sentence) => {
    const verdict = judge(limited(status), config);
    expect(verdict).toMatchObject({ outcome: 'fail', cause: { params: { retry_after_s: 30 } } });
    expect(verdict.cause && causeSentence(verdict.cause)).toBe(sentence);
  });

  test('rule 44: one address of several that refuses is warned of, whichever took the check, and until it answers', async () => {
    const target = await serve({ host: '127.0.0.1' });
    let names: readonly string[] = ['127.0.0.2', '127.0.0.1'];
    const check = checker(async () => ({ addresses: names }));
    const warned = {
      outcome: 'ok',
      warnings: [{ code: 'one_address_fails', details: { address: '127.0.0.2', addresses: 2 } }],
    };
    expect(await check('a.example', target.port)).toMatchObject(warned);
    names = ['127.0.0.1', '127.0.0.2'];
    expect(await check('a.example', target.port)).toMatchObject(warned);
    expect(await check('a.example', target.port, { ip_family: '4' })).toMatchObject(warned);
    const other = createServer((socket) => socket.destroy()).listen(target.port, '127.0.0.2');
    open.push(other);
    await once(other, 'listening');
    expect(await check('a.example', target.port)).not.toHaveProperty('warnings');
  });

  test('a name that answers by both is warned of nothing', async () => {
    const four = await serve({ host: '127.0.0.1' });
    const six = createServer((socket) => socket.destroy()).listen(four.port, '::1');
    open.push(six);
    const check = checker();
    const other = await serve({ host: '::1' });
    await check('b.example', other.port);
    expect(await check('a.example', four.port)).not.toMatchObject({
      warnings: [{ code: 'one_family_fails' }],
    });
  });

  test('a slow response and a certificate that ends do not fail, unless their owner says so', async () => {
    const target = await serve({
      certificate: mint({
        names: ['good.example'],
        issuer: root,
        to: new Date(Date.now() + 10.5 * day),
      }),
    });
    const check = httpsChecker({
      authorities: [root.certificate],
      lookup: async () => ({ addresses: ['127.0.0.1'] }),
    });
    const url = `https://good.example:${target.port}/`;
    const config = { tls_expires_within_days: 14, max_response_ms: 60_000 };
    expect(await check(url, config)).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'certificate_expires', details: { stage: 14 } }],
    });
    expect(await check(url, { ...config, fail_on: ['certificate'] })).toMatchObject({
      outcome: 'fail',
      sentence: 'Certificate expires in 10 days (fewer than 14)',
    });
  });
});
