import type { Cause } from '../../shared/checks/checks-cause-types.ts';
import type { HttpsCause } from '../../shared/checks/https/checks-https-causes.ts';
import { type HopFailure, type HttpsObservation, ownCodes, type TlsSeen } from './https-observation.ts';

/** From codes of the system, the resolver and OpenSSL to the closed list of causes. Pure tables. */

const cause = (name: HttpsCause, params: Cause['params'] = {}): Cause => ({ class: name, params });

const byCode: Readonly<
  Record<HopFailure['phase'], { readonly codes: Readonly<Record<string, HttpsCause>>; readonly otherwise: HttpsCause }>
> = {
  dns: {
    codes: {
      ENOTFOUND: 'name_not_found',
      EBADNAME: 'name_not_found',
      ENODATA: 'name_without_address',
      EREFUSED: 'name_lookup_refused',
      ETIMEOUT: 'name_lookup_timed_out',
    },
    otherwise: 'name_servers_failed',
  },
  tcp: {
    codes: {
      [ownCodes.notPublic]: 'address_not_public',
      ECONNREFUSED: 'connection_refused',
      ECONNRESET: 'connection_reset',
      EHOSTUNREACH: 'host_unreachable',
      EHOSTDOWN: 'host_unreachable',
      ENETUNREACH: 'network_unreachable',
      EADDRNOTAVAIL: 'network_unreachable',
      ETIMEDOUT: 'host_unreachable',
    },
    otherwise: 'connection_failed',
  },
  tls: {
    codes: {
      ECONNRESET: 'tls_closed',
      EPIPE: 'tls_closed',
      [ownCodes.closed]: 'tls_closed',
      EPROTO: 'tls_not_spoken',
      ERR_SSL_WRONG_VERSION_NUMBER: 'tls_not_spoken',
      ERR_SSL_PACKET_LENGTH_TOO_LONG: 'tls_not_spoken',
      ERR_SSL_HTTP_REQUEST: 'tls_not_spoken',
      ERR_SSL_RECORD_LAYER_FAILURE: 'tls_not_spoken',
      ERR_SSL_UNSUPPORTED_PROTOCOL: 'tls_version',
      ERR_SSL_VERSION_TOO_LOW: 'tls_version',
      ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'tls_version',
    },
    otherwise: 'tls_failed',
  },
  first_byte: {
    codes: {
      [ownCodes.closed]: 'response_missing',
      [ownCodes.malformed]: 'response_malformed',
      [ownCodes.headersTooLarge]: 'response_headers_too_large',
      [ownCodes.framingTooLarge]: 'response_framing_too_large',
      [ownCodes.incomplete]: 'response_incomplete',
    },
    otherwise: 'connection_reset',
  },
  head: {
    codes: {
      [ownCodes.malformed]: 'response_malformed',
      [ownCodes.headersTooLarge]: 'response_headers_too_large',
      [ownCodes.framingTooLarge]: 'response_framing_too_large',
    },
    otherwise: 'response_incomplete',
  },
  body: {
    codes: {
      [ownCodes.malformed]: 'response_malformed',
      [ownCodes.headersTooLarge]: 'response_headers_too_large',
      [ownCodes.framingTooLarge]: 'response_framing_too_large',
    },
    otherwise: 'response_incomplete',
  },
};

/** The alerts of TLS that a server may end a handshake with, in words of ours. */
const alerts: Readonly<Record<string, string>> = {
  HANDSHAKE_FAILURE: 'no cipher or certificate in common',
  INSUFFICIENT_SECURITY: 'insufficient security',
  UNRECOGNIZED_NAME: 'unknown server name',
  CERTIFICATE_REQUIRED: 'it wants a client certificate',
  BAD_CERTIFICATE: 'it wants another client certificate',
  ACCESS_DENIED: 'access denied',
  INTERNAL_ERROR: 'its internal error',
  DECODE_ERROR: 'decode error',
  DECRYPT_ERROR: 'decrypt error',
  ILLEGAL_PARAMETER: 'illegal parameter',
  UNEXPECTED_MESSAGE: 'unexpected message',
  MISSING_EXTENSION: 'missing extension',
  UNSUPPORTED_EXTENSION: 'unsupported extension',
  USER_CANCELLED: 'cancelled',
};

const noProtocol = /^ERR_SSL_[A-Z0-9/_]*NO_APPLICATION_PROTOCOL$/;

/** A frame of settings (RFC 9113): with it a server of HTTP/2 begins, whatever was asked. */
const isHttp2 = (beginning: Uint8Array): boolean =>
  beginning.length >= 9 && beginning[0] === 0 && beginning.subarray(3, 9).every((byte, at) => byte === (at === 0 ? 4 : 0));

/** OpenSSL's code of an alert, such as ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED, in words; undefined when it is no alert that came from the server. */
const alertOf = (code: string): string | undefined => {
  const name = /^ERR_SSL_[A-Z0-9/_]*?(?:ALERT|TLSV1|TLSV13)_(?!ALERT_)([A-Z_]+)$/.exec(code)?.[1];
  return name !== undefined && Object.hasOwn(alerts, name) ? alerts[name] : undefined;
};

const nothing = new Uint8Array();
const day = 86_400_000;
const wholeDays = (ms: number): number => Math.floor(ms / day);

/** What is wrong with a certificate, by the corrected time; null when OpenSSL's complaint can only come from the probe's own clock. */
export const certificateCause = (tls: TlsSeen, at: number): Cause | null => {
  if (tls.valid_from === null || tls.valid_to === null) return cause('certificate_missing');
  if (at > tls.valid_to) return cause('certificate_expired', { days: wholeDays(at - tls.valid_to) });
  if (at < tls.valid_from) return cause('certificate_not_yet_valid');
  switch (tls.fault) {
    case null:
      return cause('certificate_wrong_host');
    case 'CERT_HAS_EXPIRED':
      return tls.chain().some(({ to }) => Date.parse(to) < at) ? cause('certificate_issuer_expired') : null;
    case 'CERT_NOT_YET_VALID':
      return tls.chain().some(({ from }) => Date.parse(from) > at) ? cause('certificate_invalid') : null;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return cause('certificate_self_signed');
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return cause(tls.sent > 1 ? 'certificate_untrusted' : 'certificate_chain_incomplete');
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'CERT_UNTRUSTED':
      return cause('certificate_untrusted');
    case 'CERT_REVOKED':
      return cause('certificate_revoked');
    default:
      return cause('certificate_invalid');
  }
};

/** The cause of a hop that failed; null when the fault is the probe's own clock. */
export const failureCause = (failure: HopFailure, tls: TlsSeen | null, seen: HttpsObservation, family: string): Cause | null => {
  const { phase, code } = failure;
  if (code === ownCodes.deadline) return cause('timed_out', { limit_ms: seen.limit_ms, phase });
  if (code === ownCodes.clientCertificate) return cause('tls_alert', { alert: alerts.CERTIFICATE_REQUIRED ?? '' });
  if (code === ownCodes.certificate) return tls ? certificateCause(tls, seen.at) : cause('certificate_missing');
  // HTTP/1.1 is all that was offered.
  if (phase === 'tls' ? noProtocol.test(code) : isHttp2(seen.hops.at(-1)?.beginning ?? nothing)) return cause('http2_only');
  const { codes, otherwise } = byCode[phase];
  const known = Object.hasOwn(codes, code) ? codes[code] : undefined;
  if (known === 'name_without_address') return cause(known, family === 'any' ? {} : { family });
  if (known !== undefined) return cause(known);
  const alert = phase === 'tls' || phase === 'first_byte' ? alertOf(code) : undefined;
  if (alert !== undefined) return cause('tls_alert', { alert });
  return cause(code.startsWith('ERR_SSL_') && phase === 'first_byte' ? 'tls_failed' : otherwise);
};
