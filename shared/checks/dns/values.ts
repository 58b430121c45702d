import { domainToASCII } from 'node:url';
import ip from 'ipaddr.js';
import type { RecordType } from './keys.ts';

/**
 * The characters of labels in use: letters, digits, `_sip`, `*`, and the `/` of classless reverse
 * zones.
 */
const label = /^[a-z0-9_*/+-]{1,63}$/;
const longest = 253;

/**
 * A name in its canonical form for comparison: lower case, without the dot at its end, other
 * scripts in punycode; the root is `.`. undefined for what cannot be a name.
 */
export function dnsName(text: string): string | undefined {
  if (text === '.') return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finds everything beyond ASCII.
  const ascii = /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : domainToASCII(text);
  const name = withoutEnd(ascii);
  if (name === '' || name.length > longest) return undefined;
  return labelsOf(name).every((part) => label.test(part.replaceAll('.', '-'))) ? name : undefined;
}

function withoutEnd(text: string): string {
  return text.endsWith('.') && !text.endsWith('\\.') ? text.slice(0, -1) : text;
}

/** Labels of a name as users write it; a dot that belongs to a label is written `\.`. */
function labelsOf(text: string): string[] {
  return text.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'));
}

/** An address in its canonical form for comparison; undefined if it is none of that family. */
export function dnsAddress(text: string, family: 4 | 6): string | undefined {
  if (family === 4)
    return ip.IPv4.isValidFourPartDecimal(text) ? ip.IPv4.parse(text).toString() : undefined;
  return ip.IPv6.isValid(text) && !text.includes('%')
    ? ip.IPv6.parse(text).toRFC5952String()
    : undefined;
}

/** The name that a check queries: a PTR check may be given the address itself. */
export function questionName(target: string, type: string): string | undefined {
  const text = target.trim();
  const address = addressOf(text);
  if (address) return type === 'PTR' ? reverseName(address) : undefined;
  return dnsName(text);
}

function addressOf(text: string): ip.IPv4 | ip.IPv6 | undefined {
  return ip.IPv4.isValidFourPartDecimal(text) || ip.IPv6.isValid(text) ? ip.parse(text) : undefined;
}

/** The name under which the DNS keeps the name of an address. */
function reverseName(address: ip.IPv4 | ip.IPv6): string {
  return address instanceof ip.IPv4
    ? `${address.octets.toReversed().join('.')}.in-addr.arpa`
    : `${[...address.toNormalizedString().split(':')]
        .map((part) => part.padStart(4, '0'))
        .join('')
        .split('')
        .toReversed()
        .join('.')}.ip6.arpa`;
}

/**
 * The content of a record, as fields in canonical form: names in lower case and punycode, numbers
 * in decimal, addresses and hex in their shortest common form. Answers from the wire and expected
 * values are compared in this form.
 */
export type RecordFields = readonly string[];

/**
 * What a user expects of one record: null where anything matches, fewer fields where the rest does
 * not matter.
 */
export type Expectation = { readonly fields: readonly (string | null)[]; readonly set: boolean };

const u8 = 0xff;
const u16 = 0xffff;

/** A value as users write it for this type; undefined if it is invalid. */
export function expectation(type: RecordType, text: string): Expectation | undefined {
  const words = wordsOf(text);
  const [first = '', second = ''] = words;
  if (words.length === 0) return undefined;
  switch (type) {
    case 'A':
      return all(dnsAddress(text.trim(), 4));
    case 'AAAA':
      return all(dnsAddress(text.trim(), 6));
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return all(dnsName(text.trim()));
    case 'MX':
      return words.length === 1
        ? all(null, dnsName(first))
        : words.length === 2
          ? all(number(first, u16), dnsName(second))
          : undefined;
    case 'TXT':
      // Several quoted strings are one text; without quotes every character counts.
      return all(text.trim().startsWith('"') ? words.join('') : text);
    case 'SRV':
      return service(words);
    case 'SOA':
      return authority(authorityWords(text));
    case 'CAA':
      return issuer(words);
    case 'HTTPS':
    case 'SVCB':
      return binding(words);
    case 'TLSA':
      return all(number(first, u8), number(second, u8), number(words[2], u8), hex(words.slice(3)));
    case 'DS':
      return all(number(first, u16), algorithm(second), number(words[2], u8), hex(words.slice(3)));
    case 'DNSKEY':
      return all(
        number(first, u16),
        number(second, u8),
        algorithm(words[2]),
        base64(words.slice(3)),
      );
  }
}

/**
 * Quoted strings and bare words of a record as in zone files; quotes keep blanks together, `\`
 * takes the next character literally.
 */
function wordsOf(text: string): string[] {
  return [...text.matchAll(/((?:[^\s"\\]|\\.|"(?:[^"\\]|\\.)*")+)/g)].map(([, word = '']) =>
    word.replaceAll(/\\(.)|"/g, '$1'),
  );
}

/** Only if every field is valid. */
function all(...fields: readonly (string | null | undefined)[]): Expectation | undefined {
  const known = fields.filter((field) => field !== undefined);
  return known.length === fields.length && known.length > 0
    ? { fields: known, set: false }
    : undefined;
}

function number(text: string | undefined, limit: number): string | undefined {
  return text !== undefined && /^[0-9]{1,10}$/.test(text) && Number(text) <= limit
    ? String(Number(text))
    : undefined;
}

function service(words: readonly string[]): Expectation | undefined {
  const [first = '', ...rest] = words;
  if (words.length === 4)
    return all(
      number(first, u16),
      number(rest[0], u16),
      number(rest[1], u16),
      dnsName(rest[2] ?? ''),
    );
  if (words.length === 2) return all(null, null, number(first, u16), dnsName(rest[0] ?? ''));
  const [host = '', port] = first.split(':');
  return words.length === 1
    ? all(null, null, port === undefined ? null : number(port, u16), dnsName(host))
    : undefined;
}

const u32 = 0xffffffff;

function authority(words: readonly string[]): Expectation | undefined {
  if (words.length === 1 && /^[0-9]+$/.test(words[0] ?? ''))
    return all(null, null, number(words[0], u32));
  if (words.length > 7) return undefined;
  return all(
    ...words.map((word, index) =>
      index === 0 ? dnsName(word) : index === 1 ? mailbox(word) : number(word, u32),
    ),
  );
}

/** The mailbox of a zone's administrator: users write it as an address, the DNS as a name. */
function mailbox(text: string): string | undefined {
  const at = text.indexOf('@');
  return dnsName(
    at < 0 ? text : `${text.slice(0, at).replaceAll('.', '\\.')}.${text.slice(at + 1)}`,
  );
}

/**
 * The fields as `dig` prints them: with or without the owner before them, on one line or on several
 * with comments. A dot in the administrator's mailbox keeps its `\`, which distinguishes it from
 * those between labels.
 */
function authorityWords(text: string): string[] {
  return text
    .replaceAll(/;.*/g, ' ')
    .replace(/^\s*\S+\s+(?:[0-9]+\s+)?IN\s+SOA\s+/i, '')
    .replaceAll(/[()]/g, ' ')
    .trim()
    .split(/\s+/);
}

function issuer(words: readonly string[]): Expectation | undefined {
  const numbered = /^[0-9]+$/.test(words[0] ?? '');
  const [tag, ...value] = numbered ? words.slice(1) : words;
  if (tag === undefined || value.length === 0 || !/^[A-Za-z0-9]+$/.test(tag)) return undefined;
  return all(numbered ? number(words[0], u8) : null, tag.toLowerCase(), value.join(' '));
}

function binding(words: readonly string[]): Expectation | undefined {
  const [priority, target, ...parameters] = words;
  const read = all(number(priority, u16), dnsName(target ?? ''), ...parameters.map(parameter));
  return read && { ...read, set: true };
}

function parameter(word: string): string | undefined {
  const [, key, value] = /^([a-z0-9-]+)(?:=(.*))?$/.exec(word) ?? [];
  if (key === undefined) return undefined;
  if (value === undefined) return key;
  const family = key === 'ipv4hint' ? 4 : key === 'ipv6hint' ? 6 : undefined;
  if (family === undefined) return `${key}=${key === 'ech' ? value.replace(/=+$/, '') : value}`;
  const addresses = value.split(',').map((one) => dnsAddress(one, family));
  return addresses.includes(undefined) ? undefined : `${key}=${addresses.join(',')}`;
}

function hex(parts: readonly string[]): string | undefined {
  const text = parts.join('').toLowerCase();
  return /^(?:[0-9a-f]{2})+$/.test(text) ? text : undefined;
}

const keyAlgorithms: Readonly<Record<string, number>> = {
  RSAMD5: 1,
  DSA: 3,
  RSASHA1: 5,
  'DSA-NSEC3-SHA1': 6,
  'RSASHA1-NSEC3-SHA1': 7,
  RSASHA256: 8,
  RSASHA512: 10,
  'ECC-GOST': 12,
  ECDSAP256SHA256: 13,
  ECDSAP384SHA384: 14,
  ED25519: 15,
  ED448: 16,
};

function algorithm(text: string | undefined): string | undefined {
  const named = keyAlgorithms[text?.toUpperCase() ?? ''];
  return named === undefined ? number(text, 255) : String(named);
}

function base64(parts: readonly string[]): string | undefined {
  const text = parts.join('');
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? text.replace(/=+$/, '') : undefined;
}

/** Whether a record is the expected one. */
export function meets({ fields, set }: Expectation, record: RecordFields): boolean {
  let index = 0;
  for (const field of fields) {
    if (field !== null && (set && index > 1 ? !record.includes(field, 2) : field !== record[index]))
      return false;
    index += 1;
  }
  return true;
}

/** Examples of each type's values, for the remedy of an invalid value. */
export const exampleOf: Readonly<Record<RecordType, string>> = {
  A: '192.0.2.1',
  AAAA: '2001:db8::1',
  CNAME: 'www.example.com',
  NS: 'ns1.example.com',
  PTR: 'host.example.com',
  MX: '10 mail.example.com',
  TXT: 'v=spf1 -all',
  SOA: 'ns1.example.com hostmaster.example.com',
  SRV: '10 5 5060 sip.example.com',
  CAA: '0 issue "letsencrypt.org"',
  HTTPS: '1 . alpn=h2,h3',
  SVCB: '1 svc.example.com port=8443',
  TLSA: '3 1 1 <hex>',
  DS: '12345 13 2 <hex>',
  DNSKEY: '257 3 13 <base64>',
};

/** A record in one line for users, with quotes only where a text could be mistaken for fields. */
export function recordText(type: RecordType, fields: RecordFields): string {
  const quoted = (text: string | undefined): string =>
    `"${(text ?? '').replaceAll(/["\\]/g, '\\$&')}"`;
  if (type === 'TXT') return quoted(fields[0]);
  if (type === 'CAA') return `${fields[0]} ${fields[1]} ${quoted(fields[2])}`;
  return fields.join(' ');
}
