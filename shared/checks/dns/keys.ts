import { type ConfigKeys, everyKindKeys, yesOrNo } from '../config-key.ts';

/** The record types that a check can query, with their numbers in the DNS. */
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

export function isRecordType(text: unknown): text is RecordType {
  return typeof text === 'string' && Object.hasOwn(recordTypes, text);
}

/** By number, because reading each record needs it. */
const byNumber: (RecordType | undefined)[] = Array.from({
  length: Math.max(...Object.values(recordTypes)) + 1,
});
for (const [name, number] of Object.entries(recordTypes))
  if (isRecordType(name)) byNumber[number] = name;

export function recordTypeOf(number: number): RecordType | undefined {
  return byNumber[number];
}

/** What a server can answer to a question, by its number; 16 and above need EDNS. */
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

export function isRcode(text: unknown): text is Rcode {
  return typeof text === 'string' && Object.hasOwn(rcodes, text);
}

const rcodeNames = new Map<number, string>(
  Object.entries(rcodes).map(([name, value]) => [value, name]),
);

/** The name of an rcode, or its number where the DNS has no name for it. */
export function rcodeName(number: number): string {
  return rcodeNames.get(number) ?? `RCODE${number}`;
}

export const matches = ['any', 'all', 'exact'] as const;
export const transports = ['udp', 'tcp'] as const;

export const dnsKeys = {
  ...everyKindKeys,
  record_type: {
    meaning: 'The type of the records that are asked for.',
    allowed: `one of ${Object.keys(recordTypes).join(', ')}`,
    initial: 'A',
    example: 'MX',
    choices: Object.keys(recordTypes),
  },
  resolver: {
    meaning: 'The name server that is asked.',
    allowed:
      'an IP address, with a port if it is not 53, such as "192.0.2.53" or "[2001:db8::53]:5353"',
    otherwise: "the probe's own",
    example: '192.0.2.53',
  },
  transport: {
    meaning: 'How it is asked; what does not fit into UDP is asked again over TCP.',
    allowed: '"udp" or "tcp"',
    initial: 'udp',
    example: 'tcp',
    choices: transports,
  },
  expected_values: {
    meaning: 'Values that the records must have, written as `dig` prints them.',
    allowed: 'a list of at most 100 texts of 1 to 4,096 characters',
    otherwise: 'any record will do',
    example: ['192.0.2.1'],
  },
  match: {
    meaning: 'How the records must agree with `expected_values`.',
    allowed:
      '"any" (one of the values is enough), "all" (each must be there) or "exact" (these and no others)',
    initial: 'any',
    example: 'exact',
    choices: matches,
  },
  expected_rcode: {
    meaning: 'The answer code that is right; NXDOMAIN watches that a name does not exist.',
    allowed: `one of ${Object.keys(rcodes).join(', ')}`,
    initial: 'NOERROR',
    example: 'NXDOMAIN',
    choices: Object.keys(rcodes),
  },
  min_ttl: {
    meaning: 'Fails when the lowest TTL on the way to the records is lower, in seconds.',
    allowed: 'a whole number of seconds from 0 to 2,147,483,647',
    otherwise: 'any TTL will do',
    example: 300,
  },
  require_authenticated_data: {
    meaning: 'Whether the resolver must say that it verified the answer by DNSSEC (the AD flag).',
    ...yesOrNo,
    initial: false,
    example: true,
  },
} as const satisfies ConfigKeys;
