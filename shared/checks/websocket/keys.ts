import { type ConfigKeys, everyKindKeys } from '../config-key.ts';
import { connectionKeys, payloadWords } from '../connection/keys.ts';
import { httpsKeys, reservedHeaders } from '../https/keys.ts';

/** Headers that the upgrade itself must write. */
export const reservedForUpgrade = [
  ...reservedHeaders,
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
];

export const websocketKeys = {
  ...everyKindKeys,
  send: {
    meaning:
      'A message to send once the WebSocket is open: as text, or as binary where `encoding` is ' +
      '"hex" or "base64"; stored encrypted, and shown as `***`.',
    allowed: payloadWords,
    otherwise: 'nothing',
    example: '{"type":"ping"}',
  },
  expect: {
    meaning:
      'What one of the messages that come must contain; case-sensitive. Of all messages the first ' +
      'MiB is read, and none may be larger than 64 KiB. Without it an open WebSocket is enough.',
    allowed: payloadWords,
    otherwise: 'nothing',
    example: '"type":"pong"',
  },
  encoding: connectionKeys.encoding,
  subprotocol: {
    meaning: 'The subprotocol that is asked for, and that the server must choose.',
    allowed:
      'a name of at most 100 letters, digits and signs such as `-`, `.` and `_`, without blanks',
    otherwise: 'none',
    example: 'graphql-transport-ws',
  },
  headers: {
    meaning:
      'Headers that are sent besides those of the upgrade itself, such as Origin. Values of such ' +
      'as Authorization, Cookie and X-Api-Key, and those whose name or value looks like a secret, ' +
      'are stored encrypted, and shown as `***`.',
    allowed:
      'an object of at most 50 header names with texts of at most 4,096 characters as values, ' +
      `without line breaks; the check itself writes ${reservedForUpgrade.join(', ')}`,
    otherwise: 'none',
    example: { Origin: 'https://shop.example.com' },
  },
  secret_headers: httpsKeys.secret_headers,
  verify_tls: connectionKeys.verify_tls,
  tls_expires_within_days: connectionKeys.tls_expires_within_days,
  ip_family: connectionKeys.ip_family,
  max_response_ms: connectionKeys.max_response_ms,
  warn: connectionKeys.warn,
  fail_on: connectionKeys.fail_on,
} as const satisfies ConfigKeys;
