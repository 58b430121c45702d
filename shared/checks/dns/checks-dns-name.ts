import { domainToASCII } from 'node:url';
import ip from 'ipaddr.js';

/** Characters of a label that names in use have: letters, digits, `_sip`, `*`, and the `/` of classless reverse zones. */
const label = /^[a-z0-9_*/+-]{1,63}$/;
const longest = 253;

const withoutEnd = (text: string): string => (text.endsWith('.') && !text.endsWith('\\.') ? text.slice(0, -1) : text);

/** Labels of a name as people write it; a dot that belongs to a label is written `\.`. */
const labelsOf = (text: string): string[] => text.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));

/**
 * A name in the one form that names are compared in: lower case, without the dot at its end, other scripts in punycode; the root is `.`.
 * undefined for what can be no name.
 */
export const dnsName = (text: string): string | undefined => {
  if (text === '.') return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond ASCII is what is looked for.
  const ascii = /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : domainToASCII(text);
  const name = withoutEnd(ascii);
  if (name === '' || name.length > longest) return undefined;
  return labelsOf(name).every((part) => label.test(part.replaceAll('.', '-'))) ? name : undefined;
};

/** The name under which the DNS keeps the name of an address. */
const reverseName = (address: ip.IPv4 | ip.IPv6): string =>
  address instanceof ip.IPv4
    ? `${address.octets.toReversed().join('.')}.in-addr.arpa`
    : `${[...address.toNormalizedString().split(':')]
        .map((part) => part.padStart(4, '0'))
        .join('')
        .split('')
        .toReversed()
        .join('.')}.ip6.arpa`;

const addressOf = (text: string): ip.IPv4 | ip.IPv6 | undefined =>
  ip.IPv4.isValidFourPartDecimal(text) || ip.IPv6.isValid(text) ? ip.parse(text) : undefined;

/** An address in the one form that addresses are compared in; undefined if it is none of that family. */
export const dnsAddress = (text: string, family: 4 | 6): string | undefined => {
  if (family === 4) return ip.IPv4.isValidFourPartDecimal(text) ? ip.IPv4.parse(text).toString() : undefined;
  return ip.IPv6.isValid(text) && !text.includes('%') ? ip.IPv6.parse(text).toRFC5952String() : undefined;
};

/** The name that a check asks for: a PTR check may be given the address itself. */
export const questionName = (target: string, type: string): string | undefined => {
  const text = target.trim();
  const address = addressOf(text);
  if (address) return type === 'PTR' ? reverseName(address) : undefined;
  return dnsName(text);
};
