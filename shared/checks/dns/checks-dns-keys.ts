import { type ConfigKeys, yesOrNo } from '../checks-config-key.ts';
import { everyKindKeys } from '../checks-every-kind-keys.ts';
import { rcodes, recordTypes } from './checks-dns-record-types.ts';

export const matches = ['any', 'all', 'exact'] as const;
export const transports = ['udp', 'tcp'] as const;

/** The keys of a dns config. */
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
    allowed: 'an IP address, with a port if it is not 53, such as "192.0.2.53" or "[2001:db8::53]:5353"',
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
    allowed: '"any" (one of the values is enough), "all" (each must be there) or "exact" (these and no others)',
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
