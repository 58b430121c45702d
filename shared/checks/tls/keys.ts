import { type ConfigKeys, everyKindKeys } from '../config-key.ts';
import { connectionKeys } from '../connection/keys.ts';

export const minVersions = ['1.0', '1.1', '1.2', '1.3'] as const;
export type MinVersion = (typeof minVersions)[number];

export const tlsKeys = {
  ...everyKindKeys,
  server_name: connectionKeys.server_name,
  min_version: {
    meaning: 'The lowest TLS version that is right; a server that offers less fails.',
    allowed: `one of ${minVersions.join(', ')}`,
    initial: '1.2',
    example: '1.3',
    choices: minVersions,
  },
  verify_tls: connectionKeys.verify_tls,
  tls_expires_within_days: connectionKeys.tls_expires_within_days,
  ip_family: connectionKeys.ip_family,
  max_response_ms: connectionKeys.max_response_ms,
  warn: connectionKeys.warn,
  fail_on: connectionKeys.fail_on,
} as const satisfies ConfigKeys;
