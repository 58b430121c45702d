import { type ConfigKeys, yesOrNo } from '../config-key.ts';

/** Warnings that an owner may count as failures (rule 44). */
export const failures = ['slow', 'certificate'] as const;
/** Of https alone: that a target limits our probes (status 429). */
export const httpsFailures = [...failures, 'rate_limited'] as const;
export type FailOn = (typeof httpsFailures)[number];

export const ipFamilies = ['any', '4', '6'] as const;

/** Where mail is delivered: a server there could take what is sent for its own commands. */
export function isMailPort(port: number | string): boolean {
  return [25, 465, 587, 2525].includes(Number(port));
}

/** How bytes are written. */
export const encodings = ['text', 'hex', 'base64'] as const;

export const payloadWords =
  'a text of at most 4,096 characters, in which `\\r`, `\\n`, `\\t`, `\\0`, `\\xNN` and `\\\\` mean ' +
  'what they do in C; or the bytes as `encoding` has them';

/** Keys that several kinds share, each in the place that fits the kind. */
export const connectionKeys = {
  ip_family: {
    meaning: 'Which addresses of the target are tried.',
    allowed: '"any", "4" or "6"',
    initial: 'any',
    example: '6',
    choices: ipFamilies,
  },
  verify_tls: {
    meaning: 'Whether the certificate must be valid for the name.',
    ...yesOrNo,
    initial: true,
    example: false,
  },
  tls_expires_within_days: {
    meaning:
      'Warns when the certificate expires within so many days, and again at 30, 14, 7 and 1 days; ' +
      'fails then where `fail_on` has "certificate".',
    allowed: 'a whole number of days from 0 (no warning) to 365',
    otherwise: 'warns at 30, 14, 7 and 1 days, in the last quarter of its life',
    example: 14,
  },
  max_response_ms: {
    meaning:
      'Warns when the median check, or two in a row, took longer, in milliseconds; each such check fails where ' +
      '`fail_on` has "slow".',
    allowed: 'a whole number of milliseconds from 1 to 60,000, at most the time limit',
    otherwise: 'fails only at the time limit',
    example: 2_000,
  },
  warn: {
    meaning:
      'Warns when the median check, or two in a row, took longer, in milliseconds; wins over `max_response_ms`.',
    allowed: 'an object with `response_ms`, from 1 to 60,000 and at most the time limit',
    otherwise: '`max_response_ms`, or no warning of slow responses',
    example: { response_ms: 1_500 },
  },
  fail_on: {
    meaning:
      'What counts as a failure instead of a warning: "slow" (with `max_response_ms`), ' +
      '"certificate" (with `tls_expires_within_days`).',
    allowed: `a list of ${failures.join(', ')}, none twice`,
    otherwise: 'none',
    example: ['slow'],
  },
  encoding: {
    meaning:
      'How `send` and `expect` are written. In text, `\\r`, `\\n`, `\\t`, `\\0` and `\\xNN` are bytes, and ' +
      '`\\\\` is a backslash.',
    allowed: '"text" (sent as UTF-8), "hex" or "base64"',
    initial: 'text',
    example: 'hex',
    choices: encodings,
  },
  server_name: {
    meaning:
      'The name that is asked for in the handshake (SNI) and that the certificate must be for.',
    allowed: 'a host name of at most 253 characters',
    otherwise: 'the host of the target',
    example: 'mail.example.com',
  },
} as const satisfies ConfigKeys;
