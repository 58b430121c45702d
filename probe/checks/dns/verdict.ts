import type { DnsCause } from '../../../shared/checks/dns/causes.ts';
import type { DnsSettings } from '../../../shared/checks/dns/config.ts';
import { rcodeName, rcodes, recordTypeOf } from '../../../shared/checks/dns/keys.ts';
import {
  type Expectation,
  meets,
  type RecordFields,
  recordText,
} from '../../../shared/checks/dns/values.ts';
import type {
  CauseParams,
  Evidence,
  Json,
  Phases,
  Verdict,
} from '../../../shared/checks/result.ts';
import type { Exchange } from './exchange.ts';
import { type DnsMessage, type DnsRecord, flagBits } from './message.ts';
import { isAlias, recordsAsked } from './resolve.ts';

/** Judging apart from asking: a function of the monitor's terms and what came back. */
export type DnsObservation = {
  readonly exchange: Exchange;
  /**
   * The resolver is the probe's own. Its faults are the probe's, unless it just answered something
   * else (rule 1).
   */
  readonly own: boolean;
  readonly reached_other: boolean;
  /** Whether the probe has addresses of the resolver's family at all. */
  readonly has_family: boolean;
  readonly limit_ms: number;
  /** Whether a success must show what it saw; a failure always does. */
  readonly evidence_wanted: boolean;
};

/**
 * Whether the resolver itself may be what failed: it did not answer, or it says that it could not.
 */
export function resolverSuspected({ outcome }: Exchange, expected: DnsSettings['rcode']): boolean {
  return (
    outcome.is !== 'answer' ||
    (outcome.message.rcode !== rcodes[expected] &&
      !['NOERROR', 'NXDOMAIN'].includes(rcodeName(outcome.message.rcode)))
  );
}

export function judge(terms: DnsSettings, seen: DnsObservation): Verdict {
  const { exchange, own, reached_other, limit_ms } = seen;
  const { outcome } = exchange;
  const wrong = faultOf(terms, exchange, limit_ms);
  const phases = phasesOf(exchange);
  if (wrong === null) {
    // Whose resolver it was is always told, because the answer of one's own may come from its
    // memory.
    const { address, port } = exchange.resolver;
    const evidence = seen.evidence_wanted
      ? evidenceOf(terms, seen)
      : { resolver: { address, port, own } };
    return { outcome: 'ok', cause: null, phases, evidence };
  }
  const evidence = evidenceOf(terms, seen);
  const would_be = wrong.cause;
  if (own && !reached_other && resolverSuspected(exchange, terms.rcode))
    return {
      outcome: 'unknown',
      cause: { class: 'probe_resolver', params: {} },
      phases,
      evidence: { ...evidence, would_be },
    };
  // By UDP only our own system can say so: it has no socket left, or does not let us send there. By
  // TCP it is the other side that broke off.
  if (outcome.is === 'failed' && exchange.transport === 'udp')
    return {
      outcome: 'unknown',
      cause: { class: 'probe_not_sent', params: {} },
      phases,
      evidence: { ...evidence, would_be },
    };
  if (outcome.is === 'unreachable' && !seen.has_family) {
    const { family } = exchange.resolver;
    return {
      outcome: 'unknown',
      cause: { class: 'probe_no_family', params: { family } },
      phases,
      evidence: { ...evidence, would_be },
    };
  }
  return { outcome: 'fail', cause: { class: wrong.cause, params: wrong.params }, phases, evidence };
}

/** What is wrong with an answer; null if nothing is. */
type Fault = { readonly cause: DnsCause; readonly params: CauseParams } | null;

/** Outcomes that a resolver which works for other names can have for this one name only. */
const byOutcome = {
  silent: 'dns_silent',
  truncated: 'dns_truncated',
  wrong_question: 'dns_wrong_question',
  malformed: 'dns_malformed',
  oversized: 'dns_oversized',
  closed: 'dns_port_closed',
  refused: 'dns_tcp_refused',
  failed: 'dns_tcp_failed',
  unreachable: 'dns_unreachable',
} as const satisfies Record<Exclude<Exchange['outcome']['is'], 'answer'>, DnsCause>;

/** The outcome of asking as a fault; null for an answer that is right in all that was asked. */
function faultOf(terms: DnsSettings, { outcome }: Exchange, limit_ms: number): Fault {
  if (outcome.is === 'answer') return judgeAnswer(terms, outcome.message);
  return fault(byOutcome[outcome.is], outcome.is === 'silent' ? { limit_ms } : {});
}

const nameErrors: Readonly<Record<string, DnsCause>> = {
  NXDOMAIN: 'dns_name_missing',
  SERVFAIL: 'dns_server_failed',
  REFUSED: 'dns_refused',
};

/**
 * Why a resolver could not find an answer, by the codes of RFC 8914: only those that name what is
 * wrong.
 */
const extendedErrors: Readonly<Record<number, string>> = {
  1: 'Unsupported DNSKEY Algorithm',
  2: 'Unsupported DS Digest Type',
  5: 'DNSSEC Indeterminate',
  6: 'DNSSEC Bogus',
  7: 'Signature Expired',
  8: 'Signature Not Yet Valid',
  9: 'DNSKEY Missing',
  10: 'RRSIGs Missing',
  11: 'No Zone Key Bit Set',
  12: 'NSEC Missing',
  13: 'Cached Error',
  14: 'Not Ready',
  22: 'No Reachable Authority',
  23: 'Network Error',
  24: 'Invalid Data',
};

function judgeAnswer(terms: DnsSettings, message: DnsMessage): Fault {
  if (message.rcode !== rcodes[terms.rcode]) {
    const rcode = rcodeName(message.rcode);
    const params = { rcode, expected: terms.rcode };
    const plain = terms.rcode === 'NOERROR' ? nameErrors[rcode] : undefined;
    // Whoever looks finds that the name exists: what it leads to does not.
    const isDangling = plain === 'dns_name_missing' && isAlias(terms.name, message.answers);
    if (isDangling) return fault('dns_alias_dangling');
    // A name that exists although it should not was answered from outside; an error may be the
    // resolver's own.
    const reason =
      plain === 'dns_server_failed' && message.error
        ? extendedErrors[message.error.code]
        : undefined;
    return plain
      ? fault(plain, reason === undefined ? {} : { reason })
      : fault(rcode === 'NOERROR' ? 'dns_unexpected_rcode' : 'dns_rcode', params);
  }
  if (terms.rcode === 'NOERROR') {
    const { records, ttl } = recordsAsked(terms, message.answers);
    const wrong = judgeRecords(terms, records);
    if (wrong) return wrong;
    if (terms.min_ttl !== null && ttl !== null && ttl < terms.min_ttl)
      return fault('dns_ttl_low', { ttl, min_ttl: terms.min_ttl });
  }
  return terms.authenticated && (message.flags & flagBits.ad) === 0
    ? fault('dns_not_authenticated')
    : null;
}

function fault(cause: DnsCause, params: CauseParams = {}): Fault {
  return { cause, params };
}

function judgeRecords(terms: DnsSettings, records: readonly DnsRecord[]): Fault {
  const { type, expected, match } = terms;
  if (expected?.length === 0) return records.length > 0 ? fault('dns_records', { type }) : null;
  if (records.length === 0) return fault('dns_no_records', { type });
  if (expected === null) return null;
  if (match === 'any')
    return expected.some(({ is }) => isAmong(is, records))
      ? null
      : fault('dns_none_expected', { type });
  const missing = firstMissing(expected, records);
  if (missing !== undefined)
    return fault('dns_value_missing', { type, value: missing.slice(0, 200) });
  if (match !== 'exact') return null;
  for (const { fields } of records)
    if (fields !== null && !isExpected(fields, expected))
      return fault('dns_value_unexpected', { type });
  return null;
}

function isAmong(expectation: Expectation, records: readonly DnsRecord[]): boolean {
  for (const { fields } of records) if (fields !== null && meets(expectation, fields)) return true;
  return false;
}

type Expected = NonNullable<DnsSettings['expected']>;

function firstMissing(expected: Expected, records: readonly DnsRecord[]): string | undefined {
  for (const { is, text } of expected) if (!isAmong(is, records)) return text;
  return undefined;
}

function isExpected(fields: RecordFields, expected: Expected): boolean {
  for (const { is } of expected) if (meets(is, fields)) return true;
  return false;
}

function phasesOf({ outcome, answered_ms, connected_ms }: Exchange): Phases {
  const total = round(answered_ms);
  const tcp = connected_ms === null ? null : round(connected_ms);
  return { dns: outcome.is === 'answer' ? total : null, tcp, tls: null, first_byte: null, total };
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

const maxRecordsShown = 50;

const maxAliasesShown = 10;

const flagNames = ['aa', 'tc', 'rd', 'ra', 'ad', 'cd'] as const;

/** Who was asked what, and all that came back: text in it is the resolver's. */
function evidenceOf(
  terms: DnsSettings,
  { exchange, own }: Pick<DnsObservation, 'exchange' | 'own'>,
): Evidence {
  const { outcome, resolver, transport, attempts, strays } = exchange;
  const asked = {
    question: `${terms.name} ${terms.type}`,
    resolver: { address: resolver.address, port: resolver.port, own },
    transport,
    attempts,
    ...(strays > 0 ? { strays } : {}),
  };
  if (outcome.is !== 'answer') return { ...asked, answered: outcome.is };
  const { message } = outcome;
  const { ttl, aliases } = recordsAsked(terms, message.answers);
  return {
    ...asked,
    ttl,
    ...(aliases.length > 0 ? { aliases: aliases.slice(0, maxAliasesShown) } : {}),
    rcode: rcodeName(message.rcode),
    flags: flagNames.filter((flag) => (message.flags & flagBits[flag]) !== 0),
    answers: message.answers.slice(0, maxRecordsShown).map(recordShown),
    answer_count: message.answers.length,
    ...(message.answers.length === 0 && message.authority.length > 0
      ? { authority: message.authority.slice(0, maxRecordsShown).map(recordShown) }
      : {}),
    ...(message.error ? { extended_error: message.error } : {}),
    edns: message.edns,
    bytes: message.bytes,
  };
}

const maxTextShown = 512;

function recordShown({ name, type, ttl, fields }: DnsRecord): Json {
  const known = recordTypeOf(type);
  const text = known && fields ? recordText(known, fields) : '';
  return { name, type: known ?? `TYPE${type}`, ttl, value: text.slice(0, maxTextShown) };
}
