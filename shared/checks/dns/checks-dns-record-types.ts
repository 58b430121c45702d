/** The record types that a check can ask for, with their numbers in the DNS. */
export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DS: 43,
  DNSKEY: 48,
  TLSA: 52,
  SVCB: 64,
  HTTPS: 65,
  CAA: 257,
} as const;

export type RecordType = keyof typeof recordTypes;

export const isRecordType = (text: unknown): text is RecordType => typeof text === 'string' && Object.hasOwn(recordTypes, text);

/** By their number, because each record that is read asks for it. */
const byNumber: (RecordType | undefined)[] = Array.from({ length: Math.max(...Object.values(recordTypes)) + 1 });
for (const [name, number] of Object.entries(recordTypes)) if (isRecordType(name)) byNumber[number] = name;

export const recordTypeOf = (number: number): RecordType | undefined => byNumber[number];

/** What a server can say about a question, by its number; 16 and above need EDNS. */
export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  YXDOMAIN: 6,
  YXRRSET: 7,
  NXRRSET: 8,
  NOTAUTH: 9,
  NOTZONE: 10,
  BADVERS: 16,
  BADCOOKIE: 23,
} as const;

export type Rcode = keyof typeof rcodes;

export const isRcode = (text: unknown): text is Rcode => typeof text === 'string' && Object.hasOwn(rcodes, text);

const rcodeNames = new Map<number, string>(Object.entries(rcodes).map(([name, value]) => [value, name]));

/** The name of an rcode, or its number where the DNS has no name for it. */
export const rcodeName = (number: number): string => rcodeNames.get(number) ?? `RCODE${number}`;
