import { Buffer } from 'node:buffer';
import dnsPacket from 'dns-packet';
import ip from 'ipaddr.js';
import { type RecordType, recordTypeOf, recordTypes } from '../../../shared/checks/dns/keys.ts';
import type { RecordFields } from '../../../shared/checks/dns/values.ts';

/** A name that was read, and where what follows it begins. */
export type ReadName = { readonly name: string; readonly end: number };

const maxWireBytes = 255;

/** A name has no more labels, so that no honest one has more pointers. */
const maxPointers = 127;

/**
 * Reads a name at `start`, in lower case, without the dot at its end; the root is `.`. Before any
 * pointer it must end at or before `limit`. A pointer must lead before the place where its part of
 * the name began, so that every chain of them ends. undefined for whatever is no name.
 */
export function readName(bytes: Buffer, start: number, limit: number): ReadName | undefined {
  let name = '';
  let at = start;
  let end = -1;
  let floor = start;
  let pointers = 0;
  let wire = 1;
  for (;;) {
    const length = bytes[at];
    if (length === undefined || (end < 0 && at >= limit)) return undefined;
    if (length === 0) return { name: name === '' ? '.' : name, end: end < 0 ? at + 1 : end };
    if ((length & 0xc0) === 0xc0) {
      const low = bytes[at + 1];
      if (low === undefined || (end < 0 && at + 2 > limit)) return undefined;
      const target = ((length & 0x3f) << 8) | low;
      pointers += 1;
      if (target >= floor || pointers > maxPointers) return undefined;
      if (end < 0) end = at + 2;
      floor = target;
      at = target;
      continue;
    }
    const next = at + 1 + length;
    wire += length + 1;
    if ((length & 0xc0) !== 0 || wire > maxWireBytes || next > (end < 0 ? limit : bytes.length))
      return undefined;
    const label = labelText(bytes, at + 1, next);
    name = name === '' ? label : `${name}.${label}`;
    at = next;
  }
}

const plain = /^[a-z0-9_*/+-]+$/;

/**
 * A label as text that cannot be mistaken for several: dots and strange bytes are escaped as zone
 * files do.
 */
function labelText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('latin1', start, end).toLowerCase();
  if (plain.test(text)) return text;
  return [...bytes.subarray(start, end)]
    .map((byte) => {
      const character = String.fromCharCode(byte).toLowerCase();
      if (character === '.' || character === '\\') return `\\${character}`;
      return byte > 0x20 && byte < 0x7f ? character : `\\${String(byte).padStart(3, '0')}`;
    })
    .join('');
}

/**
 * What a record says, from its bytes between `at` and `end`, in the canonical form of
 * shared/checks/dns/values.ts; undefined if they are malformed.
 */
export function readFields(
  type: RecordType,
  bytes: Buffer,
  at: number,
  end: number,
): RecordFields | undefined {
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
      return end - at > 3
        ? [
            `${bytes[at]}`,
            `${bytes[at + 1]}`,
            `${bytes[at + 2]}`,
            bytes.toString('hex', at + 3, end),
          ]
        : undefined;
    case 'DS':
      return end - at > 4
        ? [
            `${bytes.readUInt16BE(at)}`,
            `${bytes[at + 2]}`,
            `${bytes[at + 3]}`,
            bytes.toString('hex', at + 4, end),
          ]
        : undefined;
    case 'DNSKEY':
      return end - at > 4
        ? [
            `${bytes.readUInt16BE(at)}`,
            `${bytes[at + 2]}`,
            `${bytes[at + 3]}`,
            base64(bytes, at + 4, end),
          ]
        : undefined;
  }
}

function base64(bytes: Buffer, at: number, end: number): string {
  return bytes.toString('base64', at, end).replace(/=+$/, '');
}

/**
 * Addresses as text, because the same few come again and again, and writing one costs more than
 * reading its record.
 */
const ipv4Texts = new Map<number, string>();
const maxIpv4Texts = 4_096;

function ipv4(bytes: Buffer, at: number): string {
  // Signed, because such a number needs no object.
  const number = bytes.readInt32BE(at);
  const known = ipv4Texts.get(number);
  if (known !== undefined) return known;
  if (ipv4Texts.size >= maxIpv4Texts) ipv4Texts.clear();
  const text = `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
  ipv4Texts.set(number, text);
  return text;
}

function ipv6(bytes: Buffer, at: number): string {
  return new ip.IPv6([...bytes.subarray(at, at + 16)]).toRFC5952String();
}

function nameAtEnd(bytes: Buffer, at: number, end: number): [string] | undefined {
  const read = readName(bytes, at, end);
  return read?.end === end ? [read.name] : undefined;
}

function numbersThenName(
  count: number,
  bytes: Buffer,
  at: number,
  end: number,
): RecordFields | undefined {
  const from = at + 2 * count;
  const name = from < end ? nameAtEnd(bytes, from, end) : undefined;
  if (name === undefined) return undefined;
  const numbers = Array.from(
    { length: count },
    (_, index) => `${bytes.readUInt16BE(at + 2 * index)}`,
  );
  return [...numbers, ...name];
}

/**
 * Several strings of one record are one text: they are only cut because a string holds 255 bytes.
 */
function strings(bytes: Buffer, start: number, end: number): RecordFields | undefined {
  const parts: Buffer[] = [];
  let at = start;
  while (at < end) {
    const next = at + 1 + (bytes[at] ?? 0);
    if (next > end) return undefined;
    parts.push(bytes.subarray(at + 1, next));
    at = next;
  }
  return parts.length > 0 ? [Buffer.concat(parts).toString('utf8')] : undefined;
}

function authority(bytes: Buffer, at: number, end: number): RecordFields | undefined {
  const server = readName(bytes, at, end);
  const keeper = server && readName(bytes, server.end, end);
  if (!keeper || end - keeper.end !== 20) return undefined;
  return [
    server.name,
    keeper.name,
    ...[0, 4, 8, 12, 16].map((offset) => `${bytes.readUInt32BE(keeper.end + offset)}`),
  ];
}

function issuer(bytes: Buffer, at: number, end: number): RecordFields | undefined {
  const value = at + 2 + (bytes[at + 1] ?? 0);
  if (end - at < 3 || value > end || value === at + 2) return undefined;
  const tag = bytes.toString('latin1', at + 2, value).toLowerCase();
  return /^[a-z0-9]+$/.test(tag)
    ? [`${bytes[at]}`, tag, bytes.toString('utf8', value, end)]
    : undefined;
}

const parameterNames = [
  'mandatory',
  'alpn',
  'no-default-alpn',
  'port',
  'ipv4hint',
  'ech',
  'ipv6hint',
  'dohpath',
  'ohttp',
];

/**
 * Service bindings (RFC 9460): dns-packet does not know them. Parameters come in growing order of
 * their keys, each once.
 */
function binding(bytes: Buffer, start: number, end: number): RecordFields | undefined {
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
}

function parameter(key: number, value: Buffer): string | undefined {
  const name = parameterNames[key] ?? `key${key}`;
  const text = parameterText(key, value);
  return text === undefined ? undefined : text === '' ? name : `${name}=${text}`;
}

function parameterText(key: number, value: Buffer): string | undefined {
  switch (parameterNames[key]) {
    case 'mandatory':
      return value.length > 0 && value.length % 2 === 0
        ? inDependencies(value, 2)
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
        ? inDependencies(value, 4)
            .map((part) => part.join('.'))
            .join(',')
        : undefined;
    case 'ipv6hint':
      return value.length > 0 && value.length % 16 === 0
        ? inDependencies(value, 16)
            .map((part) => ipv6(part, 0))
            .join(',')
        : undefined;
    case 'ech':
      return base64(value, 0, value.length);
    default:
      return value.toString('utf8');
  }
}

function inDependencies(value: Buffer, size: number): Buffer[] {
  return Array.from({ length: value.length / size }, (_, index) =>
    value.subarray(index * size, (index + 1) * size),
  );
}

function protocols(value: Buffer): string | undefined {
  const names: string[] = [];
  for (let at = 0; at < value.length; ) {
    const next = at + 1 + (value[at] ?? 0);
    if (next > value.length || next === at + 1) return undefined;
    names.push(value.toString('latin1', at + 1, next));
    at = next;
  }
  return names.length > 0 ? names.join(',') : undefined;
}

/**
 * What we say we take by UDP: it passes every path unbroken. What is longer comes truncated, and is
 * asked for again by TCP.
 */
const udpPayload = 1_232;
/** What a server sends by UDP against that: more is no honest answer. */
const maxUdpBytes = 4_096;
const maxRecords = 1_000;

/**
 * Messages of the DNS. Questions are written by dns-packet. Answers are read here, because they
 * come from anybody: dns-packet lets a record read beyond its own end, makes lossy text of bytes,
 * and does not know SVCB and HTTPS.
 *
 * Bits of a header's second word.
 */
export const flagBits = {
  aa: 0x0400,
  tc: 0x0200,
  rd: 0x0100,
  ra: 0x0080,
  ad: 0x0020,
  cd: 0x0010,
} as const;

export type DnsRecord = {
  readonly name: string;
  readonly type: number;
  readonly ttl: number;
  /** null for types that nothing here asks for. */
  readonly fields: RecordFields | null;
};

export type DnsMessage = {
  /** See `flagBits`. */
  readonly flags: number;
  /** With the upper bits that EDNS adds. */
  readonly rcode: number;
  readonly answers: readonly DnsRecord[];
  readonly authority: readonly DnsRecord[];
  /** Whether the server speaks EDNS. */
  readonly edns: boolean;
  /** Why the resolver failed, as it says itself (RFC 8914). */
  readonly error: { readonly code: number; readonly text: string } | null;
  readonly bytes: number;
};

export type Question = { readonly name: string; readonly type: RecordType };

/** `stray`: an answer to something else. It says nothing, and the right one may still come. */
export type Reading =
  | { readonly is: 'answer'; readonly message: DnsMessage }
  | { readonly is: 'stray' }
  | { readonly is: 'malformed' | 'oversized' };

/**
 * A question without its id, which is put in for each attempt. AD asks the resolver to say whether
 * it authenticated the answer (RFC 6840).
 */
export function writeQuestion({ name, type }: Question, edns: boolean): Buffer {
  const query = dnsPacket.encode({
    type: 'query',
    id: 0,
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.AUTHENTIC_DATA,
    // The library's type knows no SVCB and HTTPS; the number is put in below for all alike.
    questions: [{ type: 'A', name, class: 'IN' }],
    additionals: edns
      ? [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: udpPayload,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ]
      : [],
  });
  const end = query.length - (edns ? 11 : 0);
  query.writeUInt16BE(recordTypes[type], end - 4);
  return query;
}

/** A question as bytes, with and without EDNS, for as long as it is asked. */
export type Written = { readonly edns: Buffer; readonly plain: Buffer };

export function write(question: Question): Written {
  return {
    edns: writeQuestion(question, true),
    plain: writeQuestion(question, false),
  };
}

/** The same question under an id of its own. */
export function withId(question: Buffer, id: number): Buffer {
  const query = Buffer.allocUnsafe(question.length);
  query.set(question);
  query.writeUInt16BE(id, 0);
  return query;
}

const header = { bytes: 12, qr: 0x8000, opcode: 0x7800, rcode: 0xf };

/**
 * Rcodes with which servers send back nothing but a header, when they did not read the question or
 * would not.
 */
const bare: readonly number[] = [1, 2, 4, 5];

/** What the OPT record of a message says, filled in when it is met. */
type Opt = { isThere: boolean; rcode: number; error: DnsMessage['error'] };

/** One for all messages that have none in a section. */
const none: DnsRecord[] = [];

/**
 * Reads what came from the right address under the right id. Everything is checked, nothing is
 * trusted, nothing throws. `asked`: the question as bytes, without EDNS.
 */
export function readMessage(
  bytes: Buffer,
  question: Question,
  asked: Buffer,
  over: 'udp' | 'tcp',
): Reading {
  if (bytes.length < header.bytes) return { is: 'malformed' };
  const flags = wordAt(bytes, 2);
  if ((flags & (header.qr | header.opcode)) !== header.qr) return { is: 'stray' };
  const questions = wordAt(bytes, 4);
  const answerCount = wordAt(bytes, 6);
  const authorityCount = wordAt(bytes, 8);
  const additionalCount = wordAt(bytes, 10);
  const low = flags & header.rcode;
  let at = header.bytes;
  if (questions === 0) {
    if (!bare.includes(low) || answerCount + authorityCount > 0) return { is: 'stray' };
  } else {
    if (questions > 1) return { is: 'malformed' };
    const end = readQuestion(bytes, question, asked);
    if (typeof end === 'string') return { is: end };
    at = end;
  }
  if (
    (over === 'udp' && bytes.length > maxUdpBytes) ||
    answerCount + authorityCount + additionalCount > maxRecords
  )
    return { is: 'oversized' };
  // A truncated answer may end anywhere; nothing in it is used.
  if ((flags & flagBits.tc) !== 0)
    return {
      is: 'answer',
      message: {
        flags,
        rcode: low,
        answers: none,
        authority: none,
        edns: true,
        error: null,
        bytes: bytes.length,
      },
    };

  // Without a question there is nothing there to point at, and the root is no name that a record of
  // ours would have.
  const pointed = questions === 0 ? '.' : question.name;
  const opt: Opt = { isThere: false, rcode: 0, error: null };
  // Of their full length at once, because an array that grows is copied.
  const answers = answerCount === 0 ? none : new Array<DnsRecord>(answerCount);
  const authority = authorityCount === 0 ? none : new Array<DnsRecord>(authorityCount);
  at = readSection(bytes, at, answerCount, pointed, answers, null);
  if (at >= 0) at = readSection(bytes, at, authorityCount, pointed, authority, null);
  // What else it has to tell is read for its form, and for the OPT among it.
  if (at >= 0) at = readSection(bytes, at, additionalCount, pointed, null, opt);
  if (at !== bytes.length) return { is: 'malformed' };
  const rcode = (opt.rcode << 4) | low;
  return {
    is: 'answer',
    message: {
      flags,
      rcode,
      answers,
      authority,
      edns: opt.isThere,
      error: opt.error,
      bytes: bytes.length,
    },
  };
}

/**
 * Numbers in an answer whose length was looked at before; node's own way looks at it again, which
 * is half of reading a record.
 */
function wordAt(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

const inClass = 1;

/** Where the question ends if it is ours; otherwise what is wrong with it. */
function readQuestion(
  bytes: Buffer,
  question: Question,
  asked: Buffer,
): number | 'malformed' | 'stray' {
  if (asksTheSame(bytes, asked)) return asked.length;
  const name = readName(bytes, header.bytes, bytes.length);
  if (name === undefined || name.end + 4 > bytes.length) return 'malformed';
  const isSame =
    wordAt(bytes, name.end) === recordTypes[question.type] &&
    wordAt(bytes, name.end + 2) === inClass;
  return isSame && name.name === question.name ? name.end + 4 : 'stray';
}

/** Whether a message asks just what this one does, byte by byte, as nearly every answer does. */
function asksTheSame(bytes: Buffer, question: Buffer): boolean {
  for (let at = header.bytes; at < question.length; at += 1)
    if (bytes[at] !== question[at]) return false;
  return true;
}

/** Nearly every owner is a pointer to the question, whose name is known. */
const pointerToQuestion = 0xc000 | header.bytes;

const malformed = -1;

const optType = 41;

/**
 * Reads a section into `records`, if they are wanted, and returns where it ends. No object is made
 * for what is only read on the way: of those, a message would need more than it has records.
 */
function readSection(
  bytes: Buffer,
  start: number,
  count: number,
  pointed: string,
  records: DnsRecord[] | null,
  opt: Opt | null,
): number {
  let at = start;
  for (let i = 0; i < count; i += 1) {
    let name = pointed;
    if (at + 2 <= bytes.length && wordAt(bytes, at) === pointerToQuestion) at += 2;
    else {
      const owner = readName(bytes, at, bytes.length);
      if (owner === undefined) return malformed;
      ({ name, end: at } = owner);
    }
    if (at + 10 > bytes.length) return malformed;
    const type = wordAt(bytes, at);
    const data = at + 10;
    const end = data + wordAt(bytes, at + 8);
    if (end > bytes.length) return malformed;
    if (type === optType) {
      const error = readExtendedError(bytes, data, end);
      // One OPT at most, at the root, in the additional section (RFC 6891).
      if (opt === null || opt.isThere || name !== '.' || error === undefined) return malformed;
      opt.isThere = true;
      opt.rcode = bytes[at + 4] ?? 0;
      opt.error = error;
    } else {
      const known = recordTypeOf(type);
      const fields =
        known !== undefined && wordAt(bytes, at + 2) === inClass
          ? readFields(known, bytes, data, end)
          : null;
      if (fields === undefined) return malformed;
      // A TTL with its highest bit set counts as none (RFC 2181).
      const ttl = longAt(bytes, at + 4);
      if (records !== null) records[i] = { name, type, ttl: ttl > 0x7fffffff ? 0 : ttl, fields };
    }
    at = end;
  }
  return at;
}

const extendedError = 15;

function readExtendedError(
  bytes: Buffer,
  start: number,
  end: number,
): DnsMessage['error'] | undefined {
  let at = start;
  let error: DnsMessage['error'] = null;
  while (at < end) {
    if (at + 4 > end) return undefined;
    const [code, length] = [wordAt(bytes, at), wordAt(bytes, at + 2)];
    if (at + 4 + length > end) return undefined;
    if (code === extendedError && length >= 2 && error === null)
      error = {
        code: wordAt(bytes, at + 4),
        text: bytes.toString('utf8', at + 6, at + 4 + length).slice(0, 200),
      };
    at += 4 + length;
  }
  return error;
}

function longAt(bytes: Buffer, at: number): number {
  return wordAt(bytes, at) * 0x10000 + wordAt(bytes, at + 2);
}
