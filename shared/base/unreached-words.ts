import { codeOf } from './error-code.ts';
import { memberOf } from './json-record.ts';

/** Why nothing came back, in words that say what to look at. */
const words: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such name in DNS',
  EAI_AGAIN: 'DNS does not answer at the moment',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was broken off',
  EPIPE: 'the connection was broken off',
  UND_ERR_SOCKET: 'the connection was broken off',
  ETIMEDOUT: 'no answer to the attempt to connect',
  UND_ERR_CONNECT_TIMEOUT: 'no answer to the attempt to connect',
  UND_ERR_HEADERS_TIMEOUT: 'connected, but no answer came',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped in the middle',
  ENETUNREACH: 'this machine has no way there: is it online?',
  EHOSTUNREACH: 'this machine has no way there: is it online?',
  EADDRNOTAVAIL: 'this machine has no way there: is it online?',
  EACCES: 'this machine forbids the connection',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: "its certificate is not valid yet: is this machine's clock right?",
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself; NODE_EXTRA_CA_CERTS=FILE names one to trust',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by nobody known here; NODE_EXTRA_CA_CERTS=FILE names whom to trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by nobody known here; NODE_EXTRA_CA_CERTS=FILE names whom to trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by nobody known here; NODE_EXTRA_CA_CERTS=FILE names whom to trust',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it answers without TLS: is the address http:// instead of https://?',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it answers without TLS: is the address http:// instead of https://?',
  HPE_INVALID_CONSTANT: 'what answers does not speak HTTP: is the address https:// instead of http://?',
  UND_ERR_PRX_TLS: 'the proxy refuses the way there',
  ERR_PROXY_TUNNEL: 'the proxy refuses the way there',
};

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Both families tried, each with its own cause: the first says it. */
const innermost = (error: unknown): unknown => {
  const cause = memberOf(error, 'cause') ?? error;
  const each = memberOf(cause, 'errors');
  return Array.isArray(each) && each.length > 0 ? each[0] : cause;
};

export const whyNotReached = (error: unknown): string => {
  const cause = innermost(error);
  const code = codeOf(cause);
  const known = words[code];
  if (known !== undefined) return known;
  return text(memberOf(cause, 'message')) ?? text(code) ?? (error instanceof Error ? error.message : String(error));
};
