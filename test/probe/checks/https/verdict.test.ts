import { describe, expect, test } from 'vitest';
import type { HttpsObservation } from '../../../../probe/checks/https/evidence.ts';
import { planOf } from '../../../../probe/checks/https/perform.ts';
import type { ProbeIdentity } from '../../../../probe/checks/types.ts';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { causeSentence } from '../../../../shared/checks/causes.ts';
import { connectionCauses } from '../../../../shared/checks/connection/causes.ts';
import { httpsCauses } from '../../../../shared/checks/https/causes.ts';
import { assignmentOf } from '../../support/checkers.ts';
import {
  answered,
  at,
  certificate,
  day,
  failed,
  hop,
  judge,
  refused,
  response,
  seen,
  tls,
} from '../../support/observations.ts';

/** Without an order: hardly two stretches are the same. */
let drawn = 1;
const mixed = Array.from({ length: 200_000 }, () => {
  drawn = (drawn * 48_271) % 2_147_483_647;
  return drawn % 2 === 0 ? 'a' : 'b';
}).join('');

describe('verdict', () => {
  type Row = readonly [
    cause: string,
    sentence: string,
    observation: HttpsObservation,
    config?: Config,
  ];

  /** At least one row for every cause; a test below holds that none is missing. */
  const rows: readonly Row[] = [
    ['name_not_found', 'The name does not exist', failed('dns', 'ENOTFOUND')],
    ['name_without_address', 'The name has no address', failed('dns', 'ENODATA')],
    [
      'name_without_address',
      'The name has no IPv6 address',
      failed('dns', 'ENODATA'),
      { ip_family: '6' },
    ],
    [
      'name_servers_failed',
      'The name servers failed to answer for the name',
      failed('dns', 'ESERVFAIL'),
    ],
    [
      'name_servers_failed',
      'The name servers failed to answer for the name',
      failed('dns', 'EAI_AGAIN'),
    ],
    [
      'name_lookup_refused',
      'The name servers refused to answer for the name',
      failed('dns', 'EREFUSED'),
    ],
    ['name_lookup_timed_out', 'The name servers did not answer', failed('dns', 'ETIMEOUT')],
    ['address_not_public', 'Address is not public', failed('tcp', 'NOT_PUBLIC')],
    ['connection_refused', 'Connection refused', failed('tcp', 'ECONNREFUSED')],
    ['connection_reset', 'Connection reset', failed('tcp', 'ECONNRESET')],
    ['connection_reset', 'Connection reset', failed('first_byte', 'ECONNRESET')],
    ['connection_failed', 'The connection could not be made', failed('tcp', 'EACCES')],
    ['host_unreachable', 'Host unreachable', failed('tcp', 'EHOSTUNREACH')],
    ['network_unreachable', 'Network unreachable', failed('tcp', 'ENETUNREACH')],
    [
      'certificate_expired',
      'Certificate expired 3 days ago',
      refused({ fault: 'CERT_HAS_EXPIRED', valid_to: at - 3 * day - 5 }),
    ],
    [
      'certificate_expired',
      'Certificate expired 1 day ago',
      refused({ fault: 'CERT_HAS_EXPIRED', valid_to: at - day }),
    ],
    [
      'certificate_expired',
      'Certificate expired less than a day ago',
      refused({ fault: 'CERT_HAS_EXPIRED', valid_to: at - 1 }),
    ],
    [
      'certificate_issuer_expired',
      "A certificate of the certificate's issuer has expired",
      refused({ fault: 'CERT_HAS_EXPIRED', chain: () => [certificate(), certificate(0, at - 1)] }),
    ],
    [
      'certificate_not_yet_valid',
      'Certificate is not valid yet',
      refused({ fault: 'CERT_NOT_YET_VALID', valid_from: at + 1 }),
    ],
    ['certificate_wrong_host', 'Certificate is for another name', refused({ host_matches: false })],
    [
      'certificate_self_signed',
      'Certificate is self-signed',
      refused({ fault: 'DEPTH_ZERO_SELF_SIGNED_CERT', sent: 1 }),
    ],
    [
      'certificate_chain_incomplete',
      'Certificate chain is incomplete: the issuer of the certificate was not sent and is not known',
      refused({ fault: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', sent: 1 }),
    ],
    [
      'certificate_untrusted',
      'Certificate comes from an authority that is not trusted',
      refused({ fault: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', sent: 2 }),
    ],
    [
      'certificate_untrusted',
      'Certificate comes from an authority that is not trusted',
      refused({ fault: 'SELF_SIGNED_CERT_IN_CHAIN' }),
    ],
    ['certificate_revoked', 'Certificate was revoked', refused({ fault: 'CERT_REVOKED' })],
    ['certificate_invalid', 'Certificate is not acceptable', refused({ fault: 'INVALID_PURPOSE' })],
    [
      'certificate_missing',
      'The server showed no certificate',
      refused({ valid_from: null, valid_to: null, sent: 0, host_matches: false }),
    ],
    [
      'tls_alert',
      'The server refused the TLS handshake (no cipher or certificate in common)',
      failed('tls', 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'),
    ],
    [
      'tls_alert',
      'The server refused the TLS handshake (unknown server name)',
      failed('tls', 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME'),
    ],
    [
      'tls_alert',
      'The server refused the TLS handshake (it wants a client certificate)',
      failed('first_byte', 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    ],
    [
      'tls_not_spoken',
      'The server does not speak TLS on this port',
      failed('tls', 'ERR_SSL_WRONG_VERSION_NUMBER'),
    ],
    [
      'tls_version',
      'No TLS version in common (1.2 or newer is needed)',
      failed('tls', 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'),
    ],
    ['tls_closed', 'Connection closed during the TLS handshake', failed('tls', 'ECONNRESET')],
    ['tls_closed', 'Connection closed during the TLS handshake', failed('tls', 'CLOSED')],
    ['tls_failed', 'The TLS handshake failed', failed('tls', 'ERR_SSL_DH_KEY_TOO_SMALL')],
    [
      'timed_out',
      'No complete answer within 10 s (while looking up the name)',
      failed('dns', 'DEADLINE'),
    ],
    ['timed_out', 'No complete answer within 10 s (while connecting)', failed('tcp', 'DEADLINE')],
    [
      'timed_out',
      'No complete answer within 10 s (during the TLS handshake)',
      failed('tls', 'DEADLINE'),
    ],
    [
      'timed_out',
      'No complete answer within 10 s (waiting for the response)',
      failed('first_byte', 'DEADLINE'),
    ],
    [
      'timed_out',
      'No complete answer within 10 s (while reading the headers of the response)',
      failed('head', 'DEADLINE'),
    ],
    [
      'http_not_spoken',
      'The server offers neither HTTP/1.1 nor HTTP/2',
      failed('tls', 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'),
    ],
    [
      'http2_cancelled',
      'The server cancelled the HTTP/2 request (REFUSED_STREAM)',
      failed('first_byte', 'RST_STREAM REFUSED_STREAM'),
    ],
    [
      'http2_closed',
      'The server closed the HTTP/2 connection (NO_ERROR)',
      failed('first_byte', 'GOAWAY NO_ERROR'),
    ],
    ['response_malformed', 'The response is not valid HTTP', failed('head', 'MALFORMED')],
    [
      'response_incomplete',
      'Connection closed before the whole response had come',
      failed('head', 'INCOMPLETE'),
    ],
    ['unexpected_status', 'Status 999, expected 2xx', answered(response(999))],
    [
      'tls_alert',
      'The server refused the TLS handshake (it wants a client certificate)',
      failed('tls', 'CLIENT_CERTIFICATE'),
    ],
    [
      'timed_out',
      'No complete answer within 10 s (while reading the body)',
      failed('body', 'DEADLINE', { response: response(200) }),
    ],
    ['response_missing', 'Connection closed without a response', failed('first_byte', 'CLOSED')],
    ['response_malformed', 'The response is not valid HTTP', failed('body', 'MALFORMED')],
    [
      'response_headers_too_large',
      'The response headers are too large',
      failed('body', 'HEADERS_TOO_LARGE'),
    ],
    [
      'response_framing_too_large',
      'The framing of the response outweighs its body',
      failed('body', 'FRAMING_TOO_LARGE'),
    ],
    [
      'response_incomplete',
      'Connection closed before the whole response had come',
      failed('body', 'INCOMPLETE', { response: response(200, 'hal') }),
    ],
    ['redirect_limit', 'More than 5 redirects', answered(response(302), { redirects: 'limit' })],
    ['redirect_loop', 'Redirects lead in a circle', answered(response(302), { redirects: 'loop' })],
    [
      'redirect_without_location',
      'Status 302 without an address to go to',
      answered(response(302), { redirects: 'without_location' }),
    ],
    [
      'redirect_invalid',
      'Redirect to something that is no http or https address',
      answered(response(302), { redirects: 'invalid' }),
    ],
    ['unexpected_status', 'Status 503, expected 2xx', answered(response(503))],
    [
      'unexpected_status',
      'Status 200, expected 204, 300-301',
      answered(response(200)),
      { expected_status: [204, '300-301'] },
    ],
    [
      'blocked_by_firewall',
      'Blocked by Cloudflare (status 403): the target limits our probes',
      answered(response(403, 'Just a moment...', [['server', 'cloudflare']])),
    ],
    [
      'origin_unreachable',
      'Cloudflare could not reach the server behind it (status 522)',
      answered(response(522, '', [['server', 'cloudflare']])),
    ],
    [
      'header_missing',
      'Response has no header X-There',
      answered(response(200)),
      { header_contains: { 'X-There': '' } },
    ],
    [
      'header_mismatch',
      'Header Server does not contain "nginx"',
      answered(response(200, '', [['server', 'apache']])),
      { header_contains: { Server: 'nginx' } },
    ],
    [
      'body_lacks',
      'Body does not contain "fine"',
      answered(response(200, 'oh')),
      { body_contains: 'fine' },
    ],
    [
      'body_lacks',
      'Body does not contain "b"',
      answered(response(200, 'a')),
      { body_contains: ['a', 'b'] },
    ],
    [
      'body_lacks',
      'Body does not contain "fine" in the first 1 MiB, more was not read',
      answered(response(200, 'oh', [], true)),
      { body_contains: 'fine' },
    ],
    [
      'body_has',
      'Body contains "error"',
      answered(response(200, 'an error')),
      { body_not_contains: ['wrong', 'error'] },
    ],
    [
      'body_has_untold',
      'Body is too long to tell that it does not contain "error": it is not in the first 1 MiB, more was not read',
      answered(response(200, 'fine', [], true)),
      { body_not_contains: 'error' },
    ],
    [
      'body_has',
      'Body contains "error"',
      answered(response(200, 'an error', [], true)),
      { body_not_contains: ['wrong', 'error'] },
    ],
    [
      'header_missing',
      'Response has no header X-There',
      answered(response(200)),
      { header_matches: { 'X-There': '.' } },
    ],
    [
      'header_lacks_match',
      'Header Server does not match the pattern "^nginx/1\\.[2-9]\\d"',
      answered(response(200, '', [['server', 'nginx/1.18.0']])),
      { header_matches: { Server: '^nginx/1\\.[2-9]\\d' } },
    ],
    [
      'header_has_match',
      'Header Server matches the pattern "\\d"',
      answered(
        response(200, '', [
          ['server', 'nginx'],
          ['server', 'nginx/1'],
        ]),
      ),
      { header_not_matches: { 'X-None': '.', Server: '\\d' } },
    ],
    [
      'body_lacks_match',
      'Body does not match the pattern "b+$"',
      answered(response(200, 'abba')),
      { body_matches: ['a', 'b+$'] },
    ],
    [
      'body_lacks_match',
      'Body does not match the pattern "fi+ne" in the first 1 MiB, more was not read',
      answered(response(200, 'oh', [], true)),
      { body_matches: 'fi+ne' },
    ],
    [
      'body_has_match',
      'Body matches the pattern "(?i)\\berror\\b"',
      answered(response(200, 'an Error')),
      { body_not_matches: ['wrong', '(?i)\\berror\\b'] },
    ],
    [
      'body_match_untold',
      'Body is too long to tell that it does not match the pattern "erro+r": nothing in the first 1 MiB does, more was not read',
      answered(response(200, 'fine', [], true)),
      { body_not_matches: 'erro+r' },
    ],
    [
      'pattern_too_costly',
      'The answer is too long for the pattern "^(?:a|b)*a(?:a|b){500}c": matching it was given up; make the pattern simpler',
      answered(response(200, mixed)),
      { body_matches: '^(?:a|b)*a(?:a|b){500}c' },
    ],
    [
      'body_not_json',
      'Body is not valid JSON',
      answered(response(200, '{')),
      { json: [{ path: '$.a', exists: true }] },
    ],
    [
      'body_not_json',
      'Body is too long to be judged as JSON (more than 1 MiB)',
      answered(response(200, '{', [], true)),
      { json: [{ path: '$.a', exists: true }] },
    ],
    [
      'json_missing',
      'JSON has nothing at $.a',
      answered(response(200, '{"b":1}')),
      { json: [{ path: '$.a', exists: true }] },
    ],
    [
      'json_present',
      'JSON has something at $.b, expected nothing',
      answered(response(200, '{"b":null}')),
      { json: [{ path: '$.b', exists: false }] },
    ],
    [
      'json_mismatch',
      'JSON at $.b is not equal to "up"',
      answered(response(200, '{"b":"down"}')),
      { json: [{ path: '$.b', equals: 'up' }] },
    ],
    [
      'json_mismatch',
      'JSON at $.b is not greater than 5',
      answered(response(200, '{"b":"9"}')),
      { json: [{ path: '$.b', gt: 5 }] },
    ],
    [
      'json_mismatch',
      'JSON at $.b is not less than 5',
      answered(response(200, '{"b":5}')),
      { json: [{ path: '$.b', lt: 5 }] },
    ],
    [
      'json_mismatch',
      'JSON at $.b does not contain "x"',
      answered(response(200, '{"b":["xy"]}')),
      { json: [{ path: '$.b', contains: 'x' }] },
    ],
    [
      'response_slow',
      'Response took 120 ms, at most 100 ms allowed',
      answered(response(200)),
      { max_response_ms: 100, fail_on: ['slow'] },
    ],
    [
      'certificate_expires_soon',
      'Certificate expires in 90 days (fewer than 91)',
      answered(response(200)),
      { tls_expires_within_days: 91, fail_on: ['certificate'] },
    ],
    [
      'certificate_expires_soon',
      "A certificate of the certificate's issuer expires in 5 days (fewer than 14)",
      seen([
        hop({
          response: response(200),
          tls: tls({ path: () => [at + 90 * day, at + 5 * day, at + 900 * day] }),
        }),
      ]),
      { tls_expires_within_days: 14, fail_on: ['certificate'] },
    ],
    [
      'certificate_expires_soon',
      'Certificate before redirect 1 expires in 3 days (fewer than 14)',
      seen([
        hop({ response: response(302), tls: tls({ path: () => [at + 3 * day] }) }),
        hop({ response: response(200) }),
      ]),
      { tls_expires_within_days: 14, fail_on: ['certificate'] },
    ],
  ];

  describe('each cause, with its sentence', () => {
    const cases = rows.map(([name, sentence, observation, config = {}]) => ({
      name,
      sentence,
      observation,
      config,
    }));
    test.each(cases)('$name: $sentence', ({ name, sentence, observation, config }) => {
      const verdict = judge(observation, config);
      expect(verdict.outcome).toBe('fail');
      expect(verdict.cause?.class).toBe(name);
      expect(verdict.cause && causeSentence(verdict.cause)).toBe(sentence);
    });

    test('no cause is without a row', () => {
      const ofOlderProbes = 'http2_only';
      expect(
        Object.keys({ ...connectionCauses, ...httpsCauses }).filter(
          (name) => name !== ofOlderProbes && !rows.some(([row]) => row === name),
        ),
      ).toEqual([]);
    });
  });

  describe('a healthy target', () => {
    test.each<[string, HttpsObservation, Config]>([
      ['with a status of the class that is expected', answered(response(204)), {}],
      [
        'with every assertion kept',
        answered(
          response(200, '{"a":[1,"x"],"b":7}', [
            ['server', 'nginx/1.2'],
            ['server', 'other'],
          ]),
        ),
        {
          header_contains: { SERVER: 'oth' },
          body_contains: '"a"',
          body_not_contains: 'no',
          json: [
            { path: '$.a', contains: 'x' },
            { path: 'b', gt: 6, lt: 8, equals: 7 },
            { path: 'c', exists: false },
          ],
        },
      ],
      [
        'at the very limit of time',
        answered(response(200)),
        { max_response_ms: 120, fail_on: ['slow'] },
      ],
      [
        'with a certificate that lasts just long enough',
        answered(response(200)),
        { tls_expires_within_days: 90, fail_on: ['certificate'] },
      ],
      [
        'with a certificate nobody asked to be verified',
        seen([
          hop({
            response: response(200),
            tls: tls({
              fault: 'DEPTH_ZERO_SELF_SIGNED_CERT',
              host_matches: false,
              valid_to: at - day,
            }),
          }),
        ]),
        { verify_tls: false },
      ],
      [
        "with a firewall's page where its status is the expected one",
        answered(response(403, 'Just a moment...', [['server', 'cloudflare']])),
        { expected_status: [403] },
      ],
      [
        'behind a firewall that let the check through',
        answered(
          response(200, 'fine', [
            ['server', 'cloudflare'],
            ['x-datadome', 'protected'],
            ['x-iinfo', '1'],
          ]),
        ),
        {},
      ],
    ])('%s', (_how, observation, config) => {
      expect(judge(observation, config)).toMatchObject({
        outcome: 'ok',
        cause: null,
        evidence: {},
      });
    });
  });

  describe("what is the probe's own fault is unknown", () => {
    test('a probe without IPv6', () => {
      const verdict = judge(failed('tcp', 'NO_FAMILY', { addresses: ['2606:4700::1'] }));
      expect(verdict).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_no_family', params: { family: 6 } },
      });
      expect(verdict.cause && causeSentence(verdict.cause)).toBe(
        'The probe has no IPv6 and the target has nothing else',
      );
    });

    test('a clock so wrong that OpenSSL finds fault with dates that are good', () => {
      expect(judge(refused({ fault: 'CERT_NOT_YET_VALID' }))).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_clock_wrong' },
      });
      expect(judge(refused({ fault: 'CERT_HAS_EXPIRED' }))).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_clock_wrong' },
      });
    });

    test("the corrected clock finds an expired certificate that the machine's clock takes for good", () => {
      expect(
        judge(seen([hop({ response: response(200), tls: tls({ valid_to: at - 1 }) })])),
      ).toMatchObject({
        outcome: 'fail',
        cause: { class: 'certificate_expired' },
      });
    });
  });
});

describe('plan', () => {
  const probe: ProbeIdentity = {
    name: 'eu-1',
    continent: 'Europe',
    base_url: 'https://antipode.example',
    version: '1.0.0',
  };

  test('a plan is made once for an assignment; another version, and what the probe calls itself by now, have their own', () => {
    const assignment = assignmentOf('https://shop.example/a');
    const plan = planOf(assignment, probe);
    expect(planOf(assignment, probe)).toBe(plan);
    expect(
      planOf({ ...assignment, target: 'https://shop.example/b' }, probe).first.url.pathname,
    ).toBe('/b');
    const renamed = planOf(assignment, { ...probe, name: 'eu-2' });
    expect(renamed.bytes.toString()).toContain('probe=eu-2');
    expect(planOf(assignment, probe).bytes.toString()).toContain('probe=eu-1');
  });

  test('a connection with secrets is not reused', () => {
    const opened = {
      ...assignmentOf('https://shop.example/', { config: { bearer_token: 'not-for-memory' } }),
      sealed: 'box',
    };
    expect(planOf(opened, probe)).not.toBe(planOf(opened, probe));
  });
});
