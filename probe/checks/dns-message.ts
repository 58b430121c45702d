import { Buffer } from 'node:buffer';
import dnsPacket from 'dns-packet';
import { type RecordType, recordTypeOf, recordTypes } from '../../shared/checks/dns/checks-dns-record-types.ts';
import type { RecordFields } from '../../shared/checks/dns/checks-dns-values.ts';
import { readName } from './dns-name.ts';
import { readFields } from './dns-records.ts';

/**
 * Messages of the DNS. Questions are written by dns-packet. Answers are read here, because they come from anybody: dns-packet lets a record
 * read beyond its own end, makes lossy text of bytes, and does not know SVCB and HTTPS.
 */

/** What we say we take by UDP: it passes every path unbroken. What is longer comes truncated, and is asked for again by TCP. */
const udpPayload = 1_232;
/** What a server sends by UDP against that: more is no honest answer. */
const mostUdpBytes = 4_096;
const mostRecords = 1_000;

/** Bits of a header's second word. */
export const flagBits = { aa: 0x0400, tc: 0x0200, rd: 0x0100, ra: 0x0080, ad: 0x0020, cd: 0x0010 } as const;

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

/** A question without its id, which is put in for each attempt. AD asks the resolver to say whether it authenticated the answer (RFC 6840). */
export const writeQuestion = ({ name, type }: Question, edns: boolean): Buffer => {
  const query = dnsPacket.encode({
    type: 'query',
    id: 0,
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.AUTHENTIC_DATA,
    // The library's type knows no SVCB and HTTPS; the number is put in below for all alike.
    questions: [{ type: 'A', name, class: 'IN' }],
    additionals: edns
      ? [{ type: 'OPT', name: '.', udpPayloadSize: udpPayload, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] }]
      : [],
  });
  const end = query.length - (edns ? 11 : 0);
  query.writeUInt16BE(recordTypes[type], end - 4);
  return query;
};

/** A question as bytes, with and without EDNS, for as long as it is asked. */
export type Written = { readonly edns: Buffer; readonly plain: Buffer };

export const write = (question: Question): Written => ({ edns: writeQuestion(question, true), plain: writeQuestion(question, false) });

/** The same question under an id of its own. */
export const withId = (question: Buffer, id: number): Buffer => {
  const query = Buffer.allocUnsafe(question.length);
  query.set(question);
  query.writeUInt16BE(id, 0);
  return query;
};

const header = { bytes: 12, qr: 0x8000, opcode: 0x7800, rcode: 0xf };
const optType = 41;
const inClass = 1;
const extendedError = 15;

/** Rcodes with which servers send back nothing but a header, when they did not read the question or would not. */
const bare: readonly number[] = [1, 2, 4, 5];

/** Numbers in an answer whose length was looked at before; node's own way looks at it again, which is half of reading a record. */
const wordAt = (bytes: Buffer, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
const longAt = (bytes: Buffer, at: number): number => wordAt(bytes, at) * 0x10000 + wordAt(bytes, at + 2);

const readExtendedError = (bytes: Buffer, start: number, end: number): DnsMessage['error'] | undefined => {
  let at = start;
  let error: DnsMessage['error'] = null;
  while (at < end) {
    if (at + 4 > end) return undefined;
    const [code, length] = [wordAt(bytes, at), wordAt(bytes, at + 2)];
    if (at + 4 + length > end) return undefined;
    if (code === extendedError && length >= 2 && error === null)
      error = { code: wordAt(bytes, at + 4), text: bytes.toString('utf8', at + 6, at + 4 + length).slice(0, 200) };
    at += 4 + length;
  }
  return error;
};

/** What the OPT record of a message says, filled in when it is met. */
type Opt = { isThere: boolean; rcode: number; error: DnsMessage['error'] };

/** Nearly every owner is a pointer to the question, whose name is known. */
const pointerToQuestion = 0xc000 | header.bytes;
const malformed = -1;

/**
 * Reads a section into `records`, if they are wanted, and returns where it ends. No object is made for what is only read on the way: of those,
 * a message would need more than it has records.
 */
const readSection = (
  bytes: Buffer,
  start: number,
  count: number,
  pointed: string,
  records: DnsRecord[] | null,
  opt: Opt | null,
): number => {
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
      const fields = known !== undefined && wordAt(bytes, at + 2) === inClass ? readFields(known, bytes, data, end) : null;
      if (fields === undefined) return malformed;
      // A TTL with its highest bit set counts as none (RFC 2181).
      const ttl = longAt(bytes, at + 4);
      if (records !== null) records[i] = { name, type, ttl: ttl > 0x7fffffff ? 0 : ttl, fields };
    }
    at = end;
  }
  return at;
};

/** One for all messages that have none in a section. */
const none: DnsRecord[] = [];

/** Whether a message asks just what this one does, byte by byte, as nearly every answer does. */
const asksTheSame = (bytes: Buffer, question: Buffer): boolean => {
  for (let at = header.bytes; at < question.length; at += 1) if (bytes[at] !== question[at]) return false;
  return true;
};

/** Where the question ends if it is ours; otherwise what is wrong with it. */
const readQuestion = (bytes: Buffer, question: Question, asked: Buffer): number | 'malformed' | 'stray' => {
  if (asksTheSame(bytes, asked)) return asked.length;
  const name = readName(bytes, header.bytes, bytes.length);
  if (name === undefined || name.end + 4 > bytes.length) return 'malformed';
  const isSame = wordAt(bytes, name.end) === recordTypes[question.type] && wordAt(bytes, name.end + 2) === inClass;
  return isSame && name.name === question.name ? name.end + 4 : 'stray';
};

/**
 * Reads what came from the right address under the right id. Everything is checked, nothing is trusted, nothing throws. `asked`: the
 * question as bytes, without EDNS.
 */
export const readMessage = (bytes: Buffer, question: Question, asked: Buffer, over: 'udp' | 'tcp'): Reading => {
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
  if ((over === 'udp' && bytes.length > mostUdpBytes) || answerCount + authorityCount + additionalCount > mostRecords)
    return { is: 'oversized' };
  // A truncated answer may end anywhere; nothing in it is used.
  if ((flags & flagBits.tc) !== 0)
    return { is: 'answer', message: { flags, rcode: low, answers: none, authority: none, edns: true, error: null, bytes: bytes.length } };

  // Without a question there is nothing there to point at, and the root is no name that a record of ours would have.
  const pointed = questions === 0 ? '.' : question.name;
  const opt: Opt = { isThere: false, rcode: 0, error: null };
  // Of their full length at once, because an array that grows is made anew.
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
    message: { flags, rcode, answers, authority, edns: opt.isThere, error: opt.error, bytes: bytes.length },
  };
};
