import type { CauseParams } from '../../shared/checks/cause.ts';
import type { DnsCause } from '../../shared/checks/dns/causes.ts';
import type { DnsTerms } from '../../shared/checks/dns/config.ts';
import { rcodeName, rcodes, recordTypeOf, recordTypes } from '../../shared/checks/dns/record-types.ts';
import { type Expectation, meets, type RecordFields, recordText } from '../../shared/checks/dns/values.ts';
import type { Evidence, Json, Phases, Verdict } from '../../shared/checks/result.ts';
import type { Exchange } from './dns-exchange.ts';
import type { DnsMessage, DnsRecord } from './dns-message.ts';

/** Judging apart from asking: a function of the monitor's terms and what came back. */
export type Seen = {
  readonly exchange: Exchange;
  /** The resolver is the probe's own. Its faults are the probe's, unless it just answered something else (rule 1). */
  readonly own: boolean;
  readonly vouched: boolean;
  /** Whether the probe has addresses of the resolver's family at all. */
  readonly has_family: boolean;
  readonly limit_ms: number;
  /** Whether a success must show what it saw; a failure always does. */
  readonly evidence_wanted: boolean;
};

type Found = { readonly cause: DnsCause; readonly params: CauseParams } | null;

const found = (cause: DnsCause, params: CauseParams = {}): Found => ({ cause, params });

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;

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

const nameErrors: Readonly<Record<string, DnsCause>> = {
  NXDOMAIN: 'dns_name_missing',
  SERVFAIL: 'dns_server_failed',
  REFUSED: 'dns_refused',
};

/** The records of the asked type at the end of the chain of aliases, and the lowest TTL on the way. What lies beside the chain was not asked for. */
const recordsAsked = (
  terms: Pick<DnsTerms, 'name' | 'type'>,
  answers: readonly DnsRecord[],
): { readonly values: readonly RecordFields[]; readonly ttl: number | null } => {
  const wanted = recordTypes[terms.type];
  const values: RecordFields[] = [];
  const passed: string[] = [];
  let name = terms.name;
  let lowest = Number.POSITIVE_INFINITY;
  for (;;) {
    let alias: DnsRecord | undefined;
    for (const record of answers) {
      if (record.name !== name || record.fields === null) continue;
      if (record.type === wanted) {
        values.push(record.fields);
        lowest = Math.min(lowest, record.ttl);
      } else if (record.type === recordTypes.CNAME) alias ??= record;
    }
    passed.push(name);
    const next = alias?.fields?.[0];
    if (values.length > 0 || alias === undefined || next === undefined || passed.includes(next))
      return { values, ttl: Number.isFinite(lowest) ? lowest : null };
    lowest = Math.min(lowest, alias.ttl);
    name = next;
  }
};

const isAmong = (expectation: Expectation, values: readonly RecordFields[]): boolean => {
  for (const value of values) if (meets(expectation, value)) return true;
  return false;
};

const judgeValues = (terms: DnsTerms, values: readonly RecordFields[]): Found => {
  const { type, expected, match } = terms;
  if (expected?.length === 0) return values.length > 0 ? found('dns_records', { type }) : null;
  if (values.length === 0) return found('dns_no_records', { type });
  if (expected === null) return null;
  if (match === 'any') return expected.some(({ is }) => isAmong(is, values)) ? null : found('dns_none_expected', { type });
  const missing = expected.find(({ is }) => !isAmong(is, values));
  if (missing) return found('dns_value_missing', { type, value: missing.text.slice(0, 200) });
  const surplus = match === 'exact' && values.some((value) => !expected.some(({ is }) => meets(is, value)));
  return surplus ? found('dns_value_unexpected', { type }) : null;
};

const judgeAnswer = (terms: DnsTerms, message: DnsMessage): Found => {
  if (message.rcode !== rcodes[terms.rcode]) {
    const rcode = rcodeName(message.rcode);
    const params = { rcode, expected: terms.rcode };
    const plain = terms.rcode === 'NOERROR' ? nameErrors[rcode] : undefined;
    // A name that exists although it should not was answered from outside; an error may be the resolver's own.
    return plain ? found(plain) : found(rcode === 'NOERROR' ? 'dns_unexpected_rcode' : 'dns_rcode', params);
  }
  if (terms.rcode === 'NOERROR') {
    const { values, ttl } = recordsAsked(terms, message.answers);
    const wrong = judgeValues(terms, values);
    if (wrong) return wrong;
    if (terms.min_ttl !== null && ttl !== null && ttl < terms.min_ttl) return found('dns_ttl_low', { ttl, min_ttl: terms.min_ttl });
  }
  return terms.authenticated && !message.flags.ad ? found('dns_not_authenticated') : null;
};

/** Whether the resolver itself may be what failed: it did not answer, or it says that it could not. */
export const resolverSuspected = ({ outcome }: Exchange, expected: DnsTerms['rcode']): boolean =>
  outcome.is !== 'answer' ||
  (outcome.message.rcode !== rcodes[expected] && !['NOERROR', 'NXDOMAIN'].includes(rcodeName(outcome.message.rcode)));

export const judge = (terms: DnsTerms, seen: Seen): Verdict => {
  const { exchange, own, vouched, limit_ms } = seen;
  const { outcome } = exchange;
  const fault =
    outcome.is === 'answer'
      ? judgeAnswer(terms, outcome.message)
      : found(byOutcome[outcome.is], outcome.is === 'silent' ? { limit_ms } : {});
  const phases: Phases = {
    dns: outcome.is === 'answer' ? round(exchange.answered_ms) : null,
    tcp: exchange.connected_ms === null ? null : round(exchange.connected_ms),
    tls: null,
    first_byte: null,
    total: round(exchange.answered_ms),
  };
  if (fault === null) {
    // Whose resolver it was is always told, because the answer of one's own may come from its memory.
    const { address, port } = exchange.resolver;
    return {
      outcome: 'ok',
      cause: null,
      phases,
      evidence: seen.evidence_wanted ? evidenceOf(terms, seen) : { resolver: { address, port, own } },
    };
  }
  const evidence = evidenceOf(terms, seen);
  const would_be = fault.cause;
  if (own && !vouched && resolverSuspected(exchange, terms.rcode))
    return { outcome: 'unknown', cause: { class: 'probe_resolver', params: {} }, phases, evidence: { ...evidence, would_be } };
  if (outcome.is === 'unreachable' && !seen.has_family) {
    const { family } = exchange.resolver;
    return { outcome: 'unknown', cause: { class: 'probe_no_family', params: { family } }, phases, evidence: { ...evidence, would_be } };
  }
  return { outcome: 'fail', cause: { class: fault.cause, params: fault.params }, phases, evidence };
};

const mostRecordsShown = 50;
const mostTextShown = 512;

const flagNames = ['aa', 'tc', 'rd', 'ra', 'ad', 'cd'] as const;

const recordShown = ({ name, type, ttl, fields }: DnsRecord): Json => {
  const known = recordTypeOf(type);
  const text = known && fields ? recordText(known, fields) : '';
  return { name, type: known ?? `TYPE${type}`, ttl, value: text.slice(0, mostTextShown) };
};

/** Who was asked what, and all that came back: text in it is the resolver's. */
const evidenceOf = (terms: DnsTerms, { exchange, own }: Pick<Seen, 'exchange' | 'own'>): Evidence => {
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
  return {
    ...asked,
    rcode: rcodeName(message.rcode),
    flags: flagNames.filter((flag) => message.flags[flag]),
    answers: message.answers.slice(0, mostRecordsShown).map(recordShown),
    answer_count: message.answers.length,
    ...(message.answers.length === 0 && message.authority.length > 0
      ? { authority: message.authority.slice(0, mostRecordsShown).map(recordShown) }
      : {}),
    ...(message.error ? { extended_error: message.error } : {}),
    edns: message.edns,
    bytes: message.bytes,
  };
};
