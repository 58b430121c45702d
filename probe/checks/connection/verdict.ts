import type { ConnectionCause } from '../../../shared/checks/connection/causes.ts';
import type { FailOn } from '../../../shared/checks/connection/keys.ts';
import type { Cause, Phases, Verdict } from '../../../shared/checks/result.ts';
import { roundedPhases } from './evidence.ts';
import { type Failure, isOwnSocketCode, ofProxy, ownCodes, type TlsSeen } from './observation.ts';
import { connectionWarnings, firstEnd, type WarningSettings } from './warnings.ts';

/**
 * Pure tables from codes of the system, the resolver and OpenSSL to the closed list of causes, for
 * what may fail before a protocol is spoken.
 */

/** The causes of a phase's codes, and of every other code in it. */
export type CodeTable = {
  readonly codes: Readonly<Record<string, string>>;
  readonly otherwise: string;
};

/** The phases of each connection. A kind adds those of its protocol. */
export const connectionPhases = {
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
} satisfies Record<
  string,
  { readonly codes: Readonly<Record<string, ConnectionCause>>; readonly otherwise: ConnectionCause }
>;

/** TLS alerts with which a server may end a handshake, in plain words. */
const alerts: Readonly<Record<string, string>> = {
  HANDSHAKE_FAILURE: 'no cipher or certificate in common',
  INSUFFICIENT_SECURITY: 'insufficient security',
  UNRECOGNIZED_NAME: 'unknown server name',
  CERTIFICATE_REQUIRED: 'it wants a client certificate',
  BAD_CERTIFICATE: 'it wants another client certificate',
  UNSUPPORTED_CERTIFICATE: 'it does not take this kind of client certificate',
  CERTIFICATE_REVOKED: 'it says that the client certificate was revoked',
  CERTIFICATE_EXPIRED: 'it says that the client certificate has expired',
  CERTIFICATE_UNKNOWN: 'it does not accept the client certificate',
  UNKNOWN_CA: 'it does not know the issuer of the client certificate',
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

/**
 * A failure that is this probe's own, which says nothing about the target (rule 1): the cause of an
 * unknown result; undefined for any other.
 */
export function ownFault(
  { phase, code }: Failure,
  addresses: readonly string[],
): Cause | undefined {
  if (phase === 'tcp' && isOwnSocketCode(code))
    return code.startsWith(ofProxy)
      ? { class: 'probe_proxy', params: { code: code.slice(ofProxy.length) } }
      : { class: 'probe_no_socket', params: { code } };
  switch (code) {
    case ownCodes.noFamily:
      return {
        class: 'probe_no_family',
        params: { family: addresses.some((one) => one.includes(':')) ? 6 : 4 },
      };
    case ownCodes.resolver:
      return { class: 'probe_resolver', params: {} };
    case ownCodes.memory:
      return { class: 'probe_held_up', params: {} };
    case ownCodes.ownLimit:
      return { class: 'probe_may_not_reach', params: {} };
    default:
      return undefined;
  }
}

/**
 * What failed where the handshake is all that counts: a server that wants a certificate of ours has
 * answered it, and its own certificate decides. With TLS 1.3 it says so only after the handshake.
 */
export function handshakeFailure<Failed extends Failure<string>>(
  failure: Failed | null,
  tls: TlsSeen | null,
  verify: boolean,
): Failed | null {
  if (failure?.code !== ownCodes.clientCertificate || tls === null) return failure;
  const isBad = verify && (tls.fault !== null || !tls.host_matches);
  return isBad ? { ...failure, code: ownCodes.certificate } : null;
}

/** The circumstances in which a failure is judged. */
export type Circumstances = {
  readonly tls: TlsSeen | null;
  /** The corrected time at which certificates are judged. */
  readonly at: number;
  readonly limit_ms: number;
  readonly ip_family: string;
};

/** The cause of a failure; null when the fault is the probe's own clock. */
export function failureCause<Phase extends string>(
  { phase, code }: Failure<Phase>,
  phases: Readonly<Record<Phase, CodeTable>>,
  { tls, at, limit_ms, ip_family }: Circumstances,
): Cause | null {
  if (code === ownCodes.deadline) return cause('timed_out', { limit_ms, phase });
  if (code === ownCodes.clientCertificate)
    return cause('tls_alert', { alert: alerts.CERTIFICATE_REQUIRED ?? '' });
  if (code === ownCodes.certificate)
    return tls ? certificateCause(tls, at) : cause('certificate_missing');
  const { codes, otherwise } = phases[phase];
  const known = Object.hasOwn(codes, code) ? codes[code] : undefined;
  if (known === 'name_without_address')
    return cause(known, ip_family === 'any' ? {} : { family: ip_family });
  if (known !== undefined) return { class: known, params: {} };
  // A refusal of a certificate that we lack comes after the handshake of TLS 1.3.
  const alert = alertOf(code);
  if (alert !== undefined) return cause('tls_alert', { alert });
  return { class: code.startsWith('ERR_SSL_') ? 'tls_failed' : otherwise, params: {} };
}

function cause(name: ConnectionCause, params: Cause['params'] = {}): Cause {
  return {
    class: name,
    params,
  };
}

/**
 * OpenSSL's code of an alert, such as ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED, in words;
 * undefined when the server sent no such alert.
 */
function alertOf(code: string): string | undefined {
  const name = /^ERR_SSL_[A-Z0-9/_]*?(?:ALERT|TLSV1|TLSV13)_(?!ALERT_)([A-Z_]+)$/.exec(code)?.[1];
  return name !== undefined && Object.hasOwn(alerts, name) ? alerts[name] : undefined;
}

/** What a check over one connection came to, without evidence; one that passes may warn. */
export function connectionVerdict(
  settings: WarningSettings,
  {
    at,
    tls,
    phases,
  }: { readonly at: number; readonly tls: TlsSeen | null; readonly phases: Phases },
  { outcome, cause: why }: Pick<Verdict, 'outcome' | 'cause'>,
): Omit<Verdict, 'evidence'> {
  const warnings =
    outcome === 'ok' ? connectionWarnings(settings, at, phases.total ?? null, [tls]) : [];
  const verdict = { outcome, cause: why, phases: roundedPhases(phases) };
  return warnings.length > 0 ? { ...verdict, warnings } : verdict;
}

/**
 * When the probe's own clock is slow, OpenSSL accepted a certificate that has expired. The corrected
 * clock decides.
 */
export function expiredCause(
  handshakes: readonly (TlsSeen | null)[],
  at: number,
): Cause | undefined {
  const expired = handshakes.find(
    (tls) => tls?.valid_to !== null && tls !== null && tls.valid_to < at,
  );
  return (expired && certificateCause(expired, at)) ?? undefined;
}

/** What an owner may count as failures (rule 44). */
export type Limits = {
  readonly max_response_ms: number | null;
  readonly tls_expires_within_days: number | null;
  readonly fail_on: readonly FailOn[];
};

/** Judges the duration and the certificate's lifetime, last, when all else passed. */
export function limitCause(
  { max_response_ms, tls_expires_within_days, fail_on }: Limits,
  at: number,
  total_ms: number | null,
  handshakes: readonly (TlsSeen | null)[],
): Cause | undefined {
  const took_ms = Math.round(total_ms ?? 0);
  if (fail_on.includes('slow') && max_response_ms !== null && took_ms > max_response_ms)
    return cause('response_slow', { took_ms, limit_ms: max_response_ms });
  return fail_on.includes('certificate') && tls_expires_within_days !== null
    ? expiryCause(tls_expires_within_days, at, handshakes)
    : undefined;
}

/** What is wrong with the certificate that expires first, if that is soon. */
function expiryCause(
  within: number,
  at: number,
  handshakes: readonly (TlsSeen | null)[],
): Cause | undefined {
  const first = firstEnd(handshakes, true);
  if (first === undefined || first.ends_at - at >= within * day) return undefined;
  if (first.ends_at < at)
    return cause('certificate_expired', { days: Math.floor((at - first.ends_at) / day) });
  return cause('certificate_expires_soon', {
    days: Math.floor((first.ends_at - at) / day),
    within,
    ...(first.isIssuer ? { whose: 'issuer' } : {}),
    ...(first.hop < handshakes.length - 1 ? { redirect: first.hop + 1 } : {}),
  });
}

const day = 86_400_000;

/**
 * What is wrong with a certificate, by the corrected time; null when OpenSSL's complaint can only
 * come from the probe's own clock.
 */
export function certificateCause(tls: TlsSeen, at: number): Cause | null {
  if (tls.sent === 0) return cause('certificate_missing');
  if (tls.valid_to !== null && at > tls.valid_to)
    return cause('certificate_expired', { days: wholeDays(at - tls.valid_to) });
  if (tls.valid_from !== null && at < tls.valid_from) return cause('certificate_not_yet_valid');
  switch (tls.fault) {
    case null:
      return cause('certificate_wrong_host');
    case 'CERT_HAS_EXPIRED':
      return tls.chain().some(({ to }) => Date.parse(to) < at)
        ? cause('certificate_issuer_expired')
        : null;
    case 'CERT_NOT_YET_VALID':
      return tls.chain().some(({ from }) => Date.parse(from) > at)
        ? cause('certificate_invalid')
        : null;
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
}

function wholeDays(ms: number): number {
  return Math.floor(ms / day);
}
