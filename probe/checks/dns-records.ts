import ip from 'ipaddr.js';
import type { RecordType } from '../../shared/checks/dns/checks-dns-record-types.ts';
import type { RecordFields } from '../../shared/checks/dns/checks-dns-values.ts';
import { readName } from './dns-name.ts';

/** What a record says, from its bytes between `at` and `end`, in the canonical form of shared/checks/dns/checks-dns-values.ts; undefined if they are malformed. */
export const readFields = (type: RecordType, bytes: Buffer, at: number, end: number): RecordFields | undefined => {
  switch (type) {
    case 'A':
      return end - at === 4 ? [ipv4(bytes, at)] : undefined;
    case 'AAAA':
      return end - at === 16 ? [ipv6(bytes, at)] : undefined;
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return nameAtEnd(bytes, at, end);
    case 'MX':
      return numbersThenName(1, bytes, at, end);
    case 'SRV':
      return numbersThenName(3, bytes, at, end);
    case 'TXT':
      return strings(bytes, at, end);
    case 'SOA':
      return authority(bytes, at, end);
    case 'CAA':
      return issuer(bytes, at, end);
    case 'HTTPS':
    case 'SVCB':
      return binding(bytes, at, end);
    case 'TLSA':
      return end - at > 3 ? [`${bytes[at]}`, `${bytes[at + 1]}`, `${bytes[at + 2]}`, bytes.toString('hex', at + 3, end)] : undefined;
    case 'DS':
      return end - at > 4
        ? [`${bytes.readUInt16BE(at)}`, `${bytes[at + 2]}`, `${bytes[at + 3]}`, bytes.toString('hex', at + 4, end)]
        : undefined;
    case 'DNSKEY':
      return end - at > 4 ? [`${bytes.readUInt16BE(at)}`, `${bytes[at + 2]}`, `${bytes[at + 3]}`, base64(bytes, at + 4, end)] : undefined;
  }
};

const base64 = (bytes: Buffer, at: number, end: number): string => bytes.toString('base64', at, end).replace(/=+$/, '');

/** Addresses as text, because the same few come again and again, and writing one costs more than reading its record. */
const ipv4Texts = new Map<number, string>();
const mostIpv4Texts = 4_096;

const ipv4 = (bytes: Buffer, at: number): string => {
  // Signed, because such a number needs no object.
  const number = bytes.readInt32BE(at);
  const known = ipv4Texts.get(number);
  if (known !== undefined) return known;
  if (ipv4Texts.size >= mostIpv4Texts) ipv4Texts.clear();
  const text = `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
  ipv4Texts.set(number, text);
  return text;
};

const ipv6 = (bytes: Buffer, at: number): string => new ip.IPv6([...bytes.subarray(at, at + 16)]).toRFC5952String();

const nameAtEnd = (bytes: Buffer, at: number, end: number): [string] | undefined => {
  const read = readName(bytes, at, end);
  return read?.end === end ? [read.name] : undefined;
};

const numbersThenName = (count: number, bytes: Buffer, at: number, end: number): RecordFields | undefined => {
  const from = at + 2 * count;
  const name = from < end ? nameAtEnd(bytes, from, end) : undefined;
  if (name === undefined) return undefined;
  const numbers = Array.from({ length: count }, (_, index) => `${bytes.readUInt16BE(at + 2 * index)}`);
  return [...numbers, ...name];
};

/** Several strings of one record are one text: they are only cut because a string holds 255 bytes. */
const strings = (bytes: Buffer, start: number, end: number): RecordFields | undefined => {
  const parts: Buffer[] = [];
  let at = start;
  while (at < end) {
    const next = at + 1 + (bytes[at] ?? 0);
    if (next > end) return undefined;
    parts.push(bytes.subarray(at + 1, next));
    at = next;
  }
  return parts.length > 0 ? [Buffer.concat(parts).toString('utf8')] : undefined;
};

const authority = (bytes: Buffer, at: number, end: number): RecordFields | undefined => {
  const server = readName(bytes, at, end);
  const keeper = server && readName(bytes, server.end, end);
  if (!keeper || end - keeper.end !== 20) return undefined;
  return [server.name, keeper.name, ...[0, 4, 8, 12, 16].map((offset) => `${bytes.readUInt32BE(keeper.end + offset)}`)];
};

const issuer = (bytes: Buffer, at: number, end: number): RecordFields | undefined => {
  const value = at + 2 + (bytes[at + 1] ?? 0);
  if (end - at < 3 || value > end || value === at + 2) return undefined;
  const tag = bytes.toString('latin1', at + 2, value).toLowerCase();
  return /^[a-z0-9]+$/.test(tag) ? [`${bytes[at]}`, tag, bytes.toString('utf8', value, end)] : undefined;
};

const parameterNames = ['mandatory', 'alpn', 'no-default-alpn', 'port', 'ipv4hint', 'ech', 'ipv6hint', 'dohpath', 'ohttp'];

/** Service bindings (RFC 9460): dns-packet does not know them. Parameters come in growing order of their keys, each once. */
const binding = (bytes: Buffer, start: number, end: number): RecordFields | undefined => {
  // Their target is never compressed, but a pointer would do no harm: it is read by the same rules.
  const target = start + 2 < end ? readName(bytes, start + 2, end) : undefined;
  if (!target) return undefined;
  const fields = [`${bytes.readUInt16BE(start)}`, target.name];
  let at = target.end;
  let last = -1;
  while (at < end) {
    if (at + 4 > end) return undefined;
    const key = bytes.readUInt16BE(at);
    const from = at + 4;
    const to = from + bytes.readUInt16BE(at + 2);
    const value = to <= end && key > last ? parameter(key, bytes.subarray(from, to)) : undefined;
    if (value === undefined) return undefined;
    fields.push(value);
    last = key;
    at = to;
  }
  return fields;
};

const parameter = (key: number, value: Buffer): string | undefined => {
  const name = parameterNames[key] ?? `key${key}`;
  const text = parameterText(key, value);
  return text === undefined ? undefined : text === '' ? name : `${name}=${text}`;
};

const parameterText = (key: number, value: Buffer): string | undefined => {
  switch (parameterNames[key]) {
    case 'mandatory':
      return value.length > 0 && value.length % 2 === 0
        ? inParts(value, 2)
            .map((part) => parameterNames[part.readUInt16BE(0)] ?? `key${part.readUInt16BE(0)}`)
            .join(',')
        : undefined;
    case 'alpn':
      return protocols(value);
    case 'no-default-alpn':
    case 'ohttp':
      return value.length === 0 ? '' : undefined;
    case 'port':
      return value.length === 2 ? `${value.readUInt16BE(0)}` : undefined;
    case 'ipv4hint':
      return value.length > 0 && value.length % 4 === 0
        ? inParts(value, 4)
            .map((part) => part.join('.'))
            .join(',')
        : undefined;
    case 'ipv6hint':
      return value.length > 0 && value.length % 16 === 0
        ? inParts(value, 16)
            .map((part) => ipv6(part, 0))
            .join(',')
        : undefined;
    case 'ech':
      return base64(value, 0, value.length);
    default:
      return value.toString('utf8');
  }
};

const inParts = (value: Buffer, size: number): Buffer[] =>
  Array.from({ length: value.length / size }, (_, index) => value.subarray(index * size, (index + 1) * size));

const protocols = (value: Buffer): string | undefined => {
  const names: string[] = [];
  for (let at = 0; at < value.length; ) {
    const next = at + 1 + (value[at] ?? 0);
    if (next > value.length || next === at + 1) return undefined;
    names.push(value.toString('latin1', at + 1, next));
    at = next;
  }
  return names.length > 0 ? names.join(',') : undefined;
};
