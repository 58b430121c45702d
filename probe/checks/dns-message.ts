import { Buffer } from 'node:buffer';
import dnsPacket from 'dns-packet';
import { type RecordType, recordTypeOf, recordTypes } from '../../shared/checks/dns/record-types.ts';
import type { RecordFields } from '../../shared/checks/dns/values.ts';
import { readName, readSameName } from './dns-name.ts';
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

export type DnsFlags = {
  readonly aa: boolean;
  readonly tc: boolean;
  readonly rd: boolean;
  readonly ra: boolean;
  readonly ad: boolean;
  readonly cd: boolean;
};

export type DnsRecord = {
  readonly name: string;
  readonly type: number;
  readonly ttl: number;
  /** null for types that nothing here asks for. */
  readonly fields: RecordFields | null;
};

export type DnsMessage = {
  readonly flags: DnsFlags;
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

/** The same question under an id of its own. */
export const withId = (question: Buffer, id: number): Buffer => {
  const query = Buffer.allocUnsafe(question.length);
  query.set(question);
  query.writeUInt16BE(id, 0);
  return query;
};

const header = { bytes: 12, qr: 0x8000, aa: 0x0400, tc: 0x0200, rd: 0x0100, ra: 0x0080, ad: 0x0020, cd: 0x0010, opcode: 0x7800 };
const optType = 41;
const inClass = 1;
const extendedError = 15;

/** Rcodes with which servers send back nothing but a header, when they did not read the question or would not. */
const bare: readonly number[] = [1, 2, 4, 5];

const readExtendedError = (bytes: Buffer, start: number, end: number): DnsMessage['error'] | undefined => {
  let at = start;
  let error: DnsMessage['error'] = null;
  while (at < end) {
    if (at + 4 > end) return undefined;
    const [code, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)];
    if (at + 4 + length > end) return undefined;
    if (code === extendedError && length >= 2 && error === null)
      error = { code: bytes.readUInt16BE(at + 4), text: bytes.toString('utf8', at + 6, at + 4 + length).slice(0, 200) };
    at += 4 + length;
  }
  return error;
};

type Section = { readonly records: DnsRecord[]; readonly end: number };
type Opt = { rcode: number; error: DnsMessage['error'] };

/** Nearly every owner is a pointer to the question, whose name is known. */
const pointerToQuestion = 0xc000 | header.bytes;

const readSection = (bytes: Buffer, start: number, count: number, asked: string, opts: Opt[] | null): Section | undefined => {
  if (count === 0) return { records: [], end: start };
  const records: DnsRecord[] = [];
  let at = start;
  for (let i = 0; i < count; i += 1) {
    const isAsked = at + 2 <= bytes.length && bytes.readUInt16BE(at) === pointerToQuestion;
    const owner = isAsked ? { name: asked, end: at + 2 } : readName(bytes, at, bytes.length);
    if (owner === undefined || owner.end + 10 > bytes.length) return undefined;
    const type = bytes.readUInt16BE(owner.end);
    const data = owner.end + 10;
    const end = data + bytes.readUInt16BE(owner.end + 8);
    if (end > bytes.length) return undefined;
    if (type === optType) {
      const error = readExtendedError(bytes, data, end);
      // One OPT at most, at the root, in the additional section (RFC 6891).
      if (opts === null || opts.length > 0 || owner.name !== '.' || error === undefined) return undefined;
      opts.push({ rcode: bytes[owner.end + 4] ?? 0, error });
    } else {
      const known = recordTypeOf(type);
      const fields = known !== undefined && bytes.readUInt16BE(owner.end + 2) === inClass ? readFields(known, bytes, data, end) : null;
      if (fields === undefined) return undefined;
      // A TTL with its highest bit set counts as none (RFC 2181).
      const ttl = bytes.readUInt32BE(owner.end + 4);
      records.push({ name: owner.name, type, ttl: ttl > 0x7fffffff ? 0 : ttl, fields });
    }
    at = end;
  }
  return { records, end: at };
};

/** Reads what came from the right address under the right id. Everything is checked, nothing is trusted, nothing throws. */
export const readMessage = (bytes: Buffer, question: Question, over: 'udp' | 'tcp'): Reading => {
  if (bytes.length < header.bytes) return { is: 'malformed' };
  const word = bytes.readUInt16BE(2);
  if ((word & header.qr) === 0 || (word & header.opcode) !== 0) return { is: 'stray' };
  const questions = bytes.readUInt16BE(4);
  const answerCount = bytes.readUInt16BE(6);
  const authorityCount = bytes.readUInt16BE(8);
  const additionalCount = bytes.readUInt16BE(10);
  const low = word & 0xf;
  let at = header.bytes;
  if (questions === 0) {
    if (!bare.includes(low) || answerCount + authorityCount > 0) return { is: 'stray' };
  } else {
    if (questions > 1) return { is: 'malformed' };
    const asked = readSameName(bytes, at, question.name) ?? readName(bytes, at, bytes.length);
    if (asked === undefined || asked.end + 4 > bytes.length) return { is: 'malformed' };
    if (asked.name !== question.name || bytes.readUInt16BE(asked.end) !== recordTypes[question.type]) return { is: 'stray' };
    if (bytes.readUInt16BE(asked.end + 2) !== inClass) return { is: 'stray' };
    at = asked.end + 4;
  }
  if ((over === 'udp' && bytes.length > mostUdpBytes) || answerCount + authorityCount + additionalCount > mostRecords)
    return { is: 'oversized' };

  const flags: DnsFlags = {
    aa: (word & header.aa) !== 0,
    tc: (word & header.tc) !== 0,
    rd: (word & header.rd) !== 0,
    ra: (word & header.ra) !== 0,
    ad: (word & header.ad) !== 0,
    cd: (word & header.cd) !== 0,
  };
  // A truncated answer may end anywhere; nothing in it is used.
  if (flags.tc)
    return { is: 'answer', message: { flags, rcode: low, answers: [], authority: [], edns: true, error: null, bytes: bytes.length } };

  // Without a question there is nothing there to point at, and the root is no name that a record of ours would have.
  const pointed = questions === 0 ? '.' : question.name;
  const opts: Opt[] = [];
  const answers = readSection(bytes, at, answerCount, pointed, null);
  const authority = answers && readSection(bytes, answers.end, authorityCount, pointed, null);
  const additional = authority && readSection(bytes, authority.end, additionalCount, pointed, opts);
  if (!answers || !authority || additional?.end !== bytes.length) return { is: 'malformed' };
  const [opt] = opts;
  return {
    is: 'answer',
    message: {
      flags,
      rcode: ((opt?.rcode ?? 0) << 4) | low,
      answers: answers.records,
      authority: authority.records,
      edns: opt !== undefined,
      error: opt?.error ?? null,
      bytes: bytes.length,
    },
  };
};
