import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  type ConfigContext,
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
} from '../kind-config.ts';
import {
  type dnsKeys,
  isRcode,
  isRecordType,
  matches,
  type Rcode,
  type RecordType,
  transports,
} from './keys.ts';
import { dnsAddress, type Expectation, exampleOf, expectation, questionName } from './values.ts';

type Match = (typeof matches)[number];
export type Transport = (typeof transports)[number];

export type Resolver = { readonly address: string; readonly port: number; readonly family: 4 | 6 };

/**
 * `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; undefined for anything
 * else, names included.
 */
export function parseResolver(text: string): Resolver | undefined {
  const [, inner, outer, portText] =
    /^(?:\[([^\]]+)\]|([^[\]]+?))(?::([0-9]{1,5}))?$/.exec(text.trim()) ?? [];
  const port = portText === undefined ? 53 : Number(portText);
  const made = (address: string | undefined, family: 4 | 6, at: number): Resolver | undefined =>
    address === undefined || at < 1 || at > 65_535 ? undefined : { address, port: at, family };
  if (inner !== undefined) return made(dnsAddress(inner, 6), 6, port);
  // Without brackets, every colon belongs to an IPv6 address.
  return made(dnsAddress(text.trim(), 6), 6, 53) ?? made(dnsAddress(outer ?? '', 4), 4, port);
}

const value = z.string().min(1).max(4_096);

const schemas = {
  ...everyKindSchemas,
  record_type: z.custom(isRecordType),
  resolver: z
    .string()
    .max(64)
    .refine((text) => parseResolver(text) !== undefined),
  transport: z.enum(transports),
  expected_values: z.union([value, z.array(value).max(100)]),
  match: z.enum(matches),
  expected_rcode: z.custom(isRcode),
  min_ttl: z.int().min(0).max(2_147_483_647),
  require_authenticated_data: z.boolean(),
} satisfies KeySchemas<keyof typeof dnsKeys>;

/** A DNS check as it is performed and judged. */
export type DnsSettings = {
  readonly name: string;
  readonly type: RecordType;
  /** null: the probe's own. */
  readonly resolver: Resolver | null;
  readonly transport: Transport;
  /** null: any record matches. */
  readonly expected: readonly { readonly text: string; readonly is: Expectation }[] | null;
  readonly match: Match;
  readonly rcode: Rcode;
  readonly min_ttl: number | null;
  readonly authenticated: boolean;
};

export const dnsConfig: KindConfig = {
  schemas,
  clashes,
  secretPaths: () => [],
};

function clashes(config: Config, { target }: ConfigContext): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const type = typeOf(config);
  const texts = textsOf(config);
  const rcode = config.expected_rcode ?? 'NOERROR';
  if (questionName(target, type) === undefined)
    faults.push({
      key: 'record_type',
      remedy: 'use a host name, or choose PTR for an IP address',
    });
  const odd = texts?.findIndex((text) => expectation(type, text) === undefined) ?? -1;
  if (odd >= 0)
    faults.push({
      key: `expected_values[${odd}]`,
      remedy: `write it as a value of ${type} records, such as ${exampleOf[type]}`,
    });
  if (texts?.length === 0 && config.match !== 'exact')
    faults.push({
      key: 'expected_values',
      remedy:
        'must have at least one value; an empty list needs `match` "exact", and then there must be no records',
    });
  if (rcode !== 'NOERROR') {
    const useless = ['expected_values', 'min_ttl'].find(
      (key) => config[key] !== undefined && config[key] !== null,
    );
    if (useless !== undefined)
      faults.push({
        key: useless,
        remedy: `leave it out; an answer with ${String(rcode)} has no records to judge`,
      });
  }
  return faults;
}

function typeOf(config: Config): RecordType {
  return isRecordType(config.record_type) ? config.record_type : 'A';
}

function textsOf(config: Config): readonly string[] | null {
  const given = config.expected_values;
  if (given === undefined || given === null) return null;
  return (Array.isArray(given) ? given : [given]).filter((text) => typeof text === 'string');
}

/**
 * The settings of a stored config; undefined for a target that is no name, which only an older
 * version could have stored.
 */
export function dnsSettings(of: {
  readonly target: string;
  readonly config: Config;
}): DnsSettings | undefined {
  const { config } = of;
  const type = typeOf(config);
  const name = questionName(of.target, type);
  if (name === undefined) return undefined;
  const expected = textsOf(config)?.flatMap((text) => {
    const is = expectation(type, text);
    return is ? [{ text, is }] : [];
  });
  return {
    name,
    type,
    resolver: typeof config.resolver === 'string' ? (parseResolver(config.resolver) ?? null) : null,
    transport: config.transport === 'tcp' ? 'tcp' : 'udp',
    expected: expected ?? null,
    match: matches.find((mode) => mode === config.match) ?? 'any',
    rcode: isRcode(config.expected_rcode) ? config.expected_rcode : 'NOERROR',
    min_ttl: typeof config.min_ttl === 'number' ? config.min_ttl : null,
    authenticated: config.require_authenticated_data === true,
  };
}

/**
 * The target of a DNS check is a name. For PTR records it may be the address whose name is wanted.
 */
export const dnsTarget: KindTarget = {
  fault: (target) => {
    const text = target.trim();
    if (/:\/\//.test(text)) return 'must be a name such as example.com, not an address of a page';
    if (questionName(text, 'PTR') === undefined) {
      return 'must be a domain name such as example.com (labels of at most 63 characters, 253 in all), or an IP address for PTR records';
    }
    return undefined;
  },
  defaultName: (target) => target.trim(),
};
