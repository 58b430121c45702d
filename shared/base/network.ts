import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import ip from 'ipaddr.js';
import { z } from 'zod';

/**
 * The coordinator's own address as an anchor: probes that reach it reach the coordinator. Undefined
 * if it is no address.
 */
export function anchorOf(baseUrl: string): string | undefined {
  const url = URL.parse(baseUrl);
  return url === null || url.hostname === ''
    ? undefined
    : `${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`;
}

const shape = 'must be postgres://user:password@host:port/database';

/** The address of a Postgres, as a variable of the environment. */
export const postgresAddress = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: shape, abort: true })
  .refine(isReadable, shape);

function isReadable(text: string): boolean {
  // The client accepts several hosts, and a socket in place of a host; no URL parser does.
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?]*)/.exec(text) ?? [];
  return (
    authority === '' || authority.endsWith('@') || authority.includes(',') || URL.canParse(text)
  );
}

/**
 * Which addresses are public: global unicast, and nothing that reaches elsewhere under another
 * name. Pure. Code that opens connections for users (checks, webhooks) calls it at the moment of
 * connecting.
 */
type Address = ip.IPv4 | ip.IPv6;
export type Cidr = readonly [Address, number];

/**
 * Ranges that the library calls unicast although they are not public: Azure's wire server,
 * discard-only, and those that no registry has assigned.
 */
const notPublic: readonly Cidr[] = [
  '168.63.129.16/32',
  '100::/16',
  '3ffe::/16',
  '2001::/23',
  '192.0.0.0/24',
].map(cidr);

function cidr(text: string): Cidr {
  return ip.parseCIDR(text);
}
const globalIpv6 = cidr('2000::/3');

/** Where clouds keep the keys of the machine: all of link-local IPv4, and a few elsewhere. */
const metadata: readonly Cidr[] = [
  '169.254.0.0/16', // most clouds: .169.254, .170.2 (ECS), .170.23 (EKS), .42.42 (Scaleway), .0.23 (Tencent)
  '100.100.100.200/32', // Alibaba
  '100.96.0.96/32', // Volcengine
  '168.63.129.16/32', // Azure
  '192.0.0.192/32', // Oracle, classic
  'fd00:ec2::/32', // AWS: ::254, ::253, ::123, ::23
  'fd20:ce::254/128', // Google
  'fd00:c1::a9fe:a9fe/128', // Oracle
  'fd00:42::42/128', // Scaleway
  'fe80::a9fe:a9fe/128', // OpenStack
].map(cidr);

const translations: readonly { readonly within: Cidr; readonly at: number }[] = [
  { within: cidr('::/96'), at: 12 }, // IPv4-compatible
  { within: cidr('::ffff:0:0/96'), at: 12 }, // mapped
  { within: cidr('::ffff:0:0:0/96'), at: 12 }, // translated (SIIT)
  { within: cidr('64:ff9b::/96'), at: 12 }, // NAT64
  { within: cidr('64:ff9b:1::/48'), at: 12 }, // NAT64, local use
  { within: cidr('2002::/16'), at: 2 }, // 6to4
];

/** Whether an address is in a range of its own family. */
export function inRange(address: Address, range: Cidr): boolean {
  const [network, bits] = range;
  if (address instanceof ip.IPv4) return network instanceof ip.IPv4 && address.match(network, bits);
  return network instanceof ip.IPv6 && address.match(network, bits);
}

/**
 * An address from its text; undefined for anything that the system would not accept as a literal
 * address.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIP(text) === 0) return undefined;
  return ip.isValid(text) ? ip.parse(text) : undefined;
}

/** A range from its text; a single address is a range of one. */
export function parseCidr(text: string): Cidr | undefined {
  if (ip.isValidCIDR(text)) return ip.parseCIDR(text);
  const address = parseAddress(text);
  return address && [address, address instanceof ip.IPv4 ? 32 : 128];
}

/** Whether a range names exactly one address. */
function namesOne([network, bits]: Cidr): boolean {
  return bits === (network instanceof ip.IPv4 ? 32 : 128);
}

/**
 * The IPv4 addresses embedded in an IPv6 address, which a gateway or the kernel may reach in its
 * place.
 */
export function carriedIpv4(address: Address): readonly ip.IPv4[] {
  if (address instanceof ip.IPv4 || ['loopback', 'unspecified'].includes(address.range()))
    return [];
  const found = translations
    .filter(({ within }) => inRange(address, within))
    .map(({ at }) => ipv4At(address, at));
  if (address.range() === 'teredo') {
    const client = new ip.IPv4(
      address
        .toByteArray()
        .slice(12)
        .map((byte) => byte ^ 0xff),
    );
    found.push(ipv4At(address, 4), client);
  }
  const [, , , , group4 = 0, group5 = 0] = address.parts;
  if ((group4 & ~0x0200) === 0 && group5 === 0x5efe) found.push(ipv4At(address, 12)); // ISATAP
  return found;
}

function ipv4At(address: ip.IPv6, at: number): ip.IPv4 {
  return new ip.IPv4(address.toByteArray().slice(at, at + 4));
}

/** The IPv4 address that the kernel uses for a mapped one; any other address unchanged. */
export function unmapped(address: Address): Address {
  return address instanceof ip.IPv6 && address.isIPv4MappedAddress()
    ? address.toIPv4Address()
    : address;
}

export function isMetadata(address: Address): boolean {
  return [address, ...carriedIpv4(address)].some((one) =>
    metadata.some((range) => inRange(one, range)),
  );
}

export function isUnspecified(address: Address): boolean {
  return unmapped(address).range() === 'unspecified';
}

export function isLoopback(address: Address): boolean {
  return unmapped(address).range() === 'loopback';
}

/** Whether an address is global unicast and embeds no other. */
export function isPublic(address: Address): boolean {
  return (
    address.range() === 'unicast' &&
    !notPublic.some((range) => inRange(address, range)) &&
    (address instanceof ip.IPv4 || inRange(address, globalIpv6)) &&
    carriedIpv4(address).length === 0 &&
    !isMetadata(address)
  );
}

/** The same of a text; false for anything but a literal address. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && isPublic(address);
}

/** Whether an address is for private networks, where a private probe may run. */
export function isPrivateUse(address: Address): boolean {
  return ['private', 'uniqueLocal', 'carrierGradeNat'].includes(unmapped(address).range());
}

/**
 * Whether a probe whose host allows these ranges may reach this address: every public address, and
 * others that the ranges name. Metadata addresses open only to a range that names one address.
 */
export function mayReach(address: Address, ranges: readonly Cidr[]): boolean {
  if (isMetadata(address) || isUnspecified(address)) return isNamed(address, ranges);
  if (isPublic(address)) return true;
  const plain = unmapped(address);
  if (!ranges.some((range) => inRange(address, range) || inRange(plain, range))) return false;
  return plain !== address || carriedIpv4(address).every((inside) => mayReach(inside, ranges));
}

/** Whether a range names this one address. */
export function isNamed(address: Address, ranges: readonly Cidr[]): boolean {
  return ranges.some((range) => namesOne(range) && sameAddress(range[0], address));
}

export function sameAddress(a: Address, b: Address): boolean {
  const [x, y] = [unmapped(a), unmapped(b)];
  return x.kind() === y.kind() && x.toNormalizedString() === y.toNormalizedString();
}

/** This machine's own addresses now. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
}

/**
 * Whether an address is a public one among these. Services of a machine listen on its own public
 * addresses behind its firewall.
 */
export function isPublicOf(own: readonly string[]): (address: Address) => boolean {
  const known = new Set(
    own
      .flatMap((text) => parseAddress(text) ?? [])
      .filter(isPublic)
      .map((one) => one.toNormalizedString()),
  );
  return (address) => known.size > 0 && known.has(unmapped(address).toNormalizedString());
}

const made = new Map<string | undefined, SecureContext>();

/**
 * The trusted authorities for the service's own parts: the well-known ones, those added to this
 * machine, and `own`, as PEM. Node itself uses only the first. Made once, because reading some
 * hundred certificates takes as long as a handshake. Checks of targets do not use it.
 */
export function trustHere(own?: string): SecureContext {
  const known = made.get(own);
  if (known) return known;
  const all = new Set([
    ...getCACertificates('default'),
    ...getCACertificates('system'),
    ...(own === undefined ? [] : [own]),
  ]);
  const context = createSecureContext({ ca: [...all] });
  made.set(own, context);
  return context;
}

const unknownCodes = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);

/** Whether it failed because this machine does not know who signed the certificate. */
export function isUnknownAuthority(error: unknown): boolean {
  return (
    error instanceof Error &&
    (('code' in error && unknownCodes.has(String(error.code))) || isUnknownAuthority(error.cause))
  );
}

/** An address of either family and a port, as addresses are written. */
export function withPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
