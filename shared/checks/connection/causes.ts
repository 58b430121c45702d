import type { CauseRow } from '../result.ts';

const phaseWords: Readonly<Record<string, string>> = {
  dns: 'while looking up the name',
  tcp: 'while connecting',
  tls: 'during the TLS handshake',
  first_byte: 'waiting for the response',
  head: 'while reading the headers of the response',
  body: 'while reading the body',
  greeting: 'waiting for the greeting',
  starttls: 'while asking for TLS',
  answer: 'waiting for the answer',
};

/**
 * Every cause of a connection that any kind of check makes, in the order of its layers: finding the
 * address, connecting, the handshake, the time, and the owner's own limits. Texts in params come
 * from lists of ours.
 */
export const connectionCauses = {
  name_not_found: { layer: 'dns', sentence: () => 'The name does not exist' },
  name_without_address: {
    layer: 'dns',
    sentence: ({ family }) => `The name has no ${family ? `IPv${family} ` : ''}address`,
  },
  name_servers_failed: {
    layer: 'dns',
    sentence: () => 'The name servers failed to answer for the name',
  },
  name_lookup_refused: {
    layer: 'dns',
    sentence: () => 'The name servers refused to answer for the name',
  },
  name_lookup_timed_out: { layer: 'dns', sentence: () => 'The name servers did not answer' },

  address_not_public: { layer: 'tcp', sentence: () => 'Address is not public' },
  connection_refused: { layer: 'tcp', sentence: () => 'Connection refused' },
  connection_reset: { layer: 'tcp', sentence: () => 'Connection reset' },
  connection_failed: { layer: 'tcp', sentence: () => 'The connection could not be made' },
  host_unreachable: { layer: 'tcp', sentence: () => 'Host unreachable' },
  network_unreachable: { layer: 'tcp', sentence: () => 'Network unreachable' },

  certificate_expired: {
    layer: 'tls',
    sentence: ({ days: ago }) =>
      ago === 0
        ? 'Certificate expired less than a day ago'
        : `Certificate expired ${days(ago)} ago`,
  },
  certificate_issuer_expired: {
    layer: 'tls',
    sentence: () => "A certificate of the certificate's issuer has expired",
  },
  certificate_not_yet_valid: { layer: 'tls', sentence: () => 'Certificate is not valid yet' },
  certificate_wrong_host: { layer: 'tls', sentence: () => 'Certificate is for another name' },
  certificate_self_signed: { layer: 'tls', sentence: () => 'Certificate is self-signed' },
  certificate_chain_incomplete: {
    layer: 'tls',
    sentence: () =>
      'Certificate chain is incomplete: the issuer of the certificate was not sent and is not known',
  },
  certificate_untrusted: {
    layer: 'tls',
    sentence: () => 'Certificate comes from an authority that is not trusted',
  },
  certificate_revoked: { layer: 'tls', sentence: () => 'Certificate was revoked' },
  certificate_invalid: { layer: 'tls', sentence: () => 'Certificate is not acceptable' },
  certificate_missing: { layer: 'tls', sentence: () => 'The server showed no certificate' },
  tls_alert: {
    layer: 'tls',
    sentence: ({ alert }) => `The server refused the TLS handshake (${alert ?? 'no reason given'})`,
  },
  tls_not_spoken: { layer: 'tls', sentence: () => 'The server does not speak TLS on this port' },
  tls_version: {
    layer: 'tls',
    sentence: ({ least, version }) =>
      version === undefined
        ? `No TLS version in common (${least ?? '1.2'} or newer is needed)`
        : `The server agreed to TLS ${version} (${least} or newer is needed)`,
  },
  tls_closed: { layer: 'tls', sentence: () => 'Connection closed during the TLS handshake' },
  tls_failed: { layer: 'tls', sentence: () => 'The TLS handshake failed' },

  timed_out: {
    layer: 'timeout',
    sentence: ({ limit_ms, phase }) =>
      `No complete answer within ${duration(limit_ms)} (${phaseWords[String(phase)] ?? 'all in all'})`,
  },

  response_slow: {
    layer: 'assertion',
    sentence: ({ took_ms, limit_ms }) =>
      `Response took ${duration(took_ms)}, at most ${duration(limit_ms)} allowed`,
  },
  certificate_expires_soon: {
    layer: 'assertion',
    sentence: ({ days: left, within, whose, redirect }) => {
      const which =
        whose === 'issuer' ? "A certificate of the certificate's issuer" : 'Certificate';
      return `${which}${redirect ? ` before redirect ${redirect}` : ''} expires in ${days(left)} (fewer than ${within})`;
    },
  },
} satisfies Record<string, CauseRow>;

/** A number of days in words. */
function days(count: string | number | undefined): string {
  return count === 1 ? '1 day' : `${count ?? 0} days`;
}

/** A duration from milliseconds, in the largest unit that stays exact. */
function duration(ms: string | number | undefined): string {
  const value = Number(ms ?? 0);
  return value >= 1_000
    ? `${(value / 1_000).toLocaleString('en', { maximumFractionDigits: 1 })} s`
    : `${Math.round(value)} ms`;
}

export type ConnectionCause = keyof typeof connectionCauses;
