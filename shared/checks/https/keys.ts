import { type ConfigKeys, everyKindKeys, yesOrNo } from '../config-key.ts';
import { connectionKeys, httpsFailures, ipFamilies } from '../connection/keys.ts';

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The assertions that need a body. */
export const bodyKeys = [
  'body_contains',
  'body_not_contains',
  'body_matches',
  'body_not_matches',
  'json',
] as const;

/** Headers that the check itself must write, or that would change how the connection works. */
export const reservedHeaders = [
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
];

/** Those of every connection, and both of them at once. */
export const httpsFamilies = [...ipFamilies, 'both'] as const;

/** Made for this example and trusted by no one; good until the year 2126. */
const exampleCertificate = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBNzCB6qADAgECAhRuQ59Bo/egfXOIjSHn3U1t1bE0gjAFBgMrZXAwEjEQMA4G',
  'A1UEAwwHbW9uaXRvcjAgFw0yNjExMjUyMjM2NDdaGA8yMTI2MTEwMTIyMzY0N1ow',
  'EjEQMA4GA1UEAwwHbW9uaXRvcjAqMAUGAytlcAMhAE74mAgc9wziVLvLCdPc1Ubd',
  'nAnJS8Nbqz71eLOQBaj4o1AwTjAdBgNVHQ4EFgQUBUW15eCMsHvzi7GaQCbyfzV9',
  'Z6kwHwYDVR0jBBgwFoAUBUW15eCMsHvzi7GaQCbyfzV9Z6kwDAYDVR0TAQH/BAIw',
  'ADAFBgMrZXADQQBDir53AMbkU9Av4PLSBgy+k+EF5p4A2x4mI0nhn8qwbPhSH5YA',
  'BnQz9RXTQyRdY1xzufigi5ODKyeVr5bw3Y4D',
  '-----END CERTIFICATE-----',
  '-----BEGIN PRIVATE KEY-----',
  'MC4CAQAwBQYDK2VwBCIEINUktlmenB1kulPUxKna6rVccDzbWIrRKj/Hx9a85310',
  '-----END PRIVATE KEY-----',
].join('\n');

/** What a regular expression may be. */
const pattern =
  'at most 1,024 characters of RE2 syntax: classes, groups, | * + ? {m,n} ^ $ \\b \\d \\w \\s and the ' +
  'flags (?i), (?s), (?m), without references to groups and without looking ahead or behind';
const patterns = `a regular expression or a list of at most 20, each ${pattern}`;

const text = 'a text of 1 to 1,024 characters, or a list of at most 20';

export const httpsKeys = {
  ...everyKindKeys,
  method: {
    meaning: 'The method of the request.',
    allowed: `one of ${methods.join(', ')}`,
    initial: 'GET',
    example: 'HEAD',
    choices: methods,
  },
  headers: {
    meaning:
      'Headers that are sent besides those of the check itself; after a redirect to another ' +
      'host only those that say nothing about who asks. Values of such as Authorization, Cookie ' +
      'and X-Api-Key, and those whose name or value looks like a secret (X-Secret, My-Token, a ' +
      'long word of letters and digits), are stored encrypted, and shown as `***`.',
    allowed:
      'an object of at most 50 header names with texts of at most 4,096 characters as values, ' +
      `without line breaks; the check itself writes ${reservedHeaders.join(', ')}`,
    otherwise: 'none',
    example: { Accept: 'application/json' },
  },
  secret_headers: {
    meaning: 'Names of further headers whose values are stored encrypted, and shown as `***`.',
    allowed: 'a list of at most 50 names of headers that `headers` has',
    otherwise: 'none',
    example: ['X-Api-Key'],
  },
  body: {
    meaning: 'The body of the request.',
    allowed: 'a text',
    otherwise: 'none',
    example: 'ping=1',
  },
  expected_status: {
    meaning: 'The statuses that are right; of redirects that are followed the last answer counts.',
    allowed:
      'a list of at most 30 numbers (200), ranges ("200-299") and classes ("2xx") between 100 and 599',
    initial: ['2xx'],
    example: [200, '301-303', '4xx'],
  },
  follow_redirects: {
    meaning: 'Whether redirects are followed.',
    ...yesOrNo,
    initial: true,
    example: false,
  },
  max_redirects: {
    meaning: 'How many redirects are followed.',
    allowed: 'a whole number from 0 to 10',
    initial: 5,
    example: 1,
  },
  body_contains: {
    meaning: 'What the body must contain; case-sensitive.',
    allowed: `${text} (all must be there)`,
    otherwise: 'nothing',
    example: ['Welcome', '</html>'],
  },
  body_not_contains: {
    meaning: 'What the body must not contain.',
    allowed: `${text} (none may be there)`,
    otherwise: 'nothing',
    example: 'Fatal error',
  },
  body_matches: {
    meaning: 'Regular expressions that the body must match somewhere; case-sensitive without (?i).',
    allowed: `${patterns} (all must match)`,
    otherwise: 'nothing',
    example: ['version \\d+\\.\\d+', '(?i)all systems (?:normal|operational)'],
  },
  body_not_matches: {
    meaning: 'Regular expressions that the body must not match.',
    allowed: `${patterns} (none may match)`,
    otherwise: 'nothing',
    example: '(?i)\\b(?:error|exception)\\b',
  },
  json: {
    meaning: 'What the body, read as JSON, must have at a path.',
    allowed:
      'a list of at most 20 objects, each with a `path` such as "$.items[0].state" (at most 512 ' +
      'characters) and at least one of `equals`, `contains` (texts of at most 1,024), `gt`, ' +
      '`lt` (numbers), `exists` (true or false)',
    otherwise: 'nothing',
    example: [{ path: '$.status', equals: 'ok' }],
  },
  header_contains: {
    meaning: 'What headers of the answer must contain.',
    allowed:
      'an object of at most 20 header names with the text of at most 4,096 characters that each ' +
      'must contain ("" if the header must only be there)',
    otherwise: 'nothing',
    example: { 'Content-Type': 'text/html' },
  },
  header_matches: {
    meaning: 'Regular expressions that headers of the answer must match somewhere.',
    allowed: `an object of at most 20 header names with the regular expression that each must match, each ${pattern}`,
    otherwise: 'nothing',
    example: { 'Cache-Control': 'max-age=[1-9]\\d*' },
  },
  header_not_matches: {
    meaning:
      'Regular expressions that headers of the answer must not match; a header that is not there matches none.',
    allowed: `an object of at most 20 header names with the regular expression that each must not match, each ${pattern}`,
    otherwise: 'nothing',
    example: { Server: '^Apache/2\\.2\\b' },
  },
  verify_tls: connectionKeys.verify_tls,
  tls_expires_within_days: connectionKeys.tls_expires_within_days,
  ip_family: {
    meaning:
      'Which addresses of the target are tried. "both": each check is made twice at once, by IPv4 ' +
      'and by IPv6, and either that fails is a failure; only probes that have both make it.',
    allowed: '"any", "4", "6" or "both" (for a target with a name)',
    initial: 'any',
    example: '6',
    choices: httpsFamilies,
  },
  basic_auth: {
    meaning: 'User name and password; the password is stored encrypted, and shown as `***`.',
    allowed:
      'an object with `username` (at most 256 characters, without a colon) and `password` (at most 1,024)',
    otherwise: 'none',
    example: { username: 'monitor', password: 'secret' },
  },
  bearer_token: {
    meaning: 'Sent as `Authorization: Bearer …`; stored encrypted, and shown as `***`.',
    allowed: 'a text of 1 to 4,096 characters without blanks',
    otherwise: 'none',
    example: 'eyJhbGciOi',
  },
  client_certificate: {
    meaning:
      'The certificate that the check shows to servers of the target itself that want one, with ' +
      'its private key; all of it is stored encrypted, and shown as `***`.',
    allowed:
      'PEM text of at most 12,288 characters: the certificate, then its chain (10 certificates at ' +
      'most), and the private key without a passphrase',
    otherwise: 'none',
    example: exampleCertificate,
  },
  max_response_ms: connectionKeys.max_response_ms,
  warn: connectionKeys.warn,
  fail_on: {
    ...connectionKeys.fail_on,
    meaning:
      'What counts as a failure instead of a warning: "slow" (with `max_response_ms`), ' +
      '"certificate" (with `tls_expires_within_days`), "rate_limited" (status 429).',
    allowed: `a list of ${httpsFailures.join(', ')}, none twice`,
  },
} as const satisfies ConfigKeys;
