import { type ConfigKeys, everyKindKeys } from '../config-key.ts';
import { connectionKeys } from '../connection/keys.ts';
import { httpsKeys } from '../https/keys.ts';

/** Metadata that the check itself must write, besides all that begins with `grpc-`. */
export const reservedMetadata = [
  'connection',
  'content-length',
  'content-type',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
];

export const grpcKeys = {
  ...everyKindKeys,
  service: {
    meaning: 'The service whose health is asked for, as its server registered it (grpc.health.v1).',
    allowed: 'a text of at most 255 characters',
    otherwise: 'the health of the whole server',
    example: 'shop.v1.Checkout',
  },
  metadata: {
    meaning:
      'Metadata that is sent besides that of the check itself. Values of such as authorization ' +
      'and x-api-key, and those whose name or value looks like a secret, are stored encrypted, ' +
      'and shown as `***`.',
    allowed:
      'an object of at most 50 names of small letters, digits, `_`, `-` and `.` with texts of at ' +
      'most 4,096 printable ASCII characters as values (base64 where the name ends with `-bin`); ' +
      `the check itself writes ${reservedMetadata.join(', ')} and names that begin with grpc-`,
    otherwise: 'none',
    example: { 'x-tenant': 'shop' },
  },
  secret_metadata: {
    meaning: 'Names of further metadata whose values are stored encrypted, and shown as `***`.',
    allowed: 'a list of at most 50 names that `metadata` has',
    otherwise: 'none',
    example: ['x-tenant'],
  },
  authority: {
    meaning:
      'The server that is asked for (`:authority`); with TLS its host is also the name in the ' +
      'handshake (SNI), and the one that the certificate must be for.',
    allowed: 'a host, or a host and a port, of at most 260 characters',
    otherwise: 'the host and port of the target',
    example: 'shop.example.com',
  },
  verify_tls: connectionKeys.verify_tls,
  tls_expires_within_days: connectionKeys.tls_expires_within_days,
  client_certificate: {
    ...httpsKeys.client_certificate,
    meaning:
      'The certificate that the check shows to a server that wants one, with its private key; ' +
      'all of it is stored encrypted, and shown as `***`.',
  },
  ip_family: connectionKeys.ip_family,
  max_response_ms: connectionKeys.max_response_ms,
  warn: connectionKeys.warn,
  fail_on: connectionKeys.fail_on,
} as const satisfies ConfigKeys;
