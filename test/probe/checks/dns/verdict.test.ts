import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../../../probe/checks/dns/exchange.ts';
import { type DnsMessage, type DnsRecord, flagBits } from '../../../../probe/checks/dns/message.ts';
import { judge } from '../../../../probe/checks/dns/verdict.ts';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { causeLayer, causeSentence } from '../../../../shared/checks/causes.ts';
import { dnsSettings } from '../../../../shared/checks/dns/config.ts';
import { recordTypes } from '../../../../shared/checks/dns/keys.ts';

const a = (value: string, ttl = 300, name = 'example.test'): DnsRecord => ({ name, type: recordTypes.A, ttl, fields: [value] });
const alias = (name: string, to: string, ttl = 300): DnsRecord => ({ name, type: recordTypes.CNAME, ttl, fields: [to] });

const message = (more: Partial<DnsMessage> = {}): DnsMessage => ({
  flags: flagBits.rd | flagBits.ra,
  rcode: 0,
  answers: [a('192.0.2.1')],
  authority: [],
  edns: true,
  error: null,
  bytes: 60,
  ...more,
});

type Outcome = Exchange['outcome'];
const answered = (more: Partial<DnsMessage> = {}): Outcome => ({ is: 'answer', message: message(more) });

const verdictOf = (
  config: Config,
  outcome: Outcome,
  seen: { own?: boolean; reached_other?: boolean; family?: 4 | 6; has_family?: boolean } = {},
) => {
  const terms = dnsSettings({ target: 'example.test', config });
  if (!terms) throw new Error('no terms');
  const { own = false, reached_other = false, family = 4, has_family = true } = seen;
  const resolver = { address: '192.0.2.53', port: 53, family };
  const exchange: Exchange = { outcome, resolver, transport: terms.transport, attempts: 1, strays: 0, answered_ms: 3, connected_ms: null };
  return judge(terms, { exchange, own, reached_other, has_family, limit_ms: 5_000, evidence_wanted: false });
};

describe('the verdict of a DNS check', () => {
  type Row = readonly [what: string, config: Config, outcome: Outcome, layer: string, sentence: string];
  const two = answered({ answers: [a('192.0.2.1'), a('192.0.2.2', 30)] });
  const rows: readonly Row[] = [
    ['an answer', {}, answered(), '', ''],
    ['any of the values', { expected_values: ['192.0.2.9', '192.0.2.2'] }, two, '', ''],
    ['none of the values', { expected_values: ['192.0.2.9'] }, two, 'assertion', 'None of the expected values is among the A records'],
    ['all of the values', { expected_values: ['192.0.2.1'], match: 'all' }, two, '', ''],
    ['not all of the values', { expected_values: ['192.0.2.1', '192.0.2.9'], match: 'all' }, two, 'assertion', 'No A record is 192.0.2.9'],
    [
      'more than exactly the values',
      { expected_values: ['192.0.2.1'], match: 'exact' },
      two,
      'assertion',
      'The A records hold a value that is not expected',
    ],
    [
      'a failure of DNSSEC by its name',
      {},
      answered({ rcode: 2, answers: [], error: { code: 6, text: 'of the resolver' } }),
      'dns',
      'The resolver could not find an answer (SERVFAIL: DNSSEC Bogus)',
    ],
    [
      'a failure of a reason that is none',
      {},
      answered({ rcode: 2, answers: [], error: { code: 0, text: 'x' } }),
      'dns',
      'The resolver could not find an answer (SERVFAIL)',
    ],
    ['the lowest of the TTLs', { min_ttl: 31 }, two, 'assertion', 'TTL 30 s, at least 31 s expected'],
    [
      'the TTL of an alias on the way',
      { min_ttl: 31 },
      answered({ answers: [alias('example.test', 'b.test', 5), a('192.0.2.1', 300, 'b.test')] }),
      'assertion',
      'TTL 5 s, at least 31 s expected',
    ],
    ['no records', {}, answered({ answers: [] }), 'assertion', 'The name has no A records'],
    ['no authentication', { require_authenticated_data: true }, answered(), 'assertion', 'The answer is not authenticated (no AD flag)'],
    ['no such name', {}, answered({ rcode: 3, answers: [] }), 'dns', 'The name does not exist'],
    ['no such name, as agreed', { expected_rcode: 'NXDOMAIN' }, answered({ rcode: 3, answers: [] }), '', ''],
    ['a name, against what was agreed', { expected_rcode: 'NXDOMAIN' }, answered(), 'assertion', 'Answered NOERROR, expected NXDOMAIN'],
    [
      'another error than agreed',
      { expected_rcode: 'NXDOMAIN' },
      answered({ rcode: 2, answers: [] }),
      'dns',
      'Answered SERVFAIL, expected NXDOMAIN',
    ],
    ['a refusal', {}, answered({ rcode: 5, answers: [] }), 'dns', 'The resolver refused the question'],
    ['a failure of the resolver', {}, answered({ rcode: 2, answers: [] }), 'dns', 'The resolver could not find an answer (SERVFAIL)'],
    ['an error without a name', {}, answered({ rcode: 77, answers: [] }), 'dns', 'Answered RCODE77, expected NOERROR'],
    ['silence', {}, { is: 'silent' }, 'timeout', 'The resolver did not answer within 5 s'],
    ['only answers to something else', {}, { is: 'wrong_question' }, 'dns', 'The resolver only answered questions that were not asked'],
    ['rubbish', {}, { is: 'malformed' }, 'dns', "The resolver's answer is malformed"],
    ['a flood', {}, { is: 'oversized' }, 'dns', "The resolver's answer is larger than an answer may be"],
    ['a cut answer', {}, { is: 'truncated' }, 'dns', 'The answer was cut off, and the resolver does not answer over TCP'],
    ['a refused connection', {}, { is: 'refused' }, 'tcp', 'The resolver refused the TCP connection'],
    ['a connection that breaks', { transport: 'tcp' }, { is: 'failed' }, 'tcp', 'The TCP connection to the resolver failed'],
    ['no way there', {}, { is: 'unreachable' }, 'tcp', 'The resolver cannot be reached'],
  ];

  test.for(rows)('on %s', ([, config, outcome, layer, sentence]) => {
    const { cause, outcome: is } = verdictOf(config, outcome);
    expect([is, cause && causeLayer(cause), cause && causeSentence(cause)]).toEqual(
      layer === '' ? ['ok', null, null] : ['fail', layer, sentence],
    );
  });

  test("makes faults of the probe's own resolver its own, unless it answers others", () => {
    for (const outcome of [
      { is: 'silent' },
      { is: 'malformed' },
      answered({ rcode: 2, answers: [] }),
      answered({ rcode: 5, answers: [] }),
    ] satisfies Outcome[]) {
      expect(verdictOf({}, outcome, { own: true })).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_resolver' } });
      expect(verdictOf({}, outcome, { own: true, reached_other: true }).outcome).toBe('fail');
    }
    expect(verdictOf({}, answered({ rcode: 3, answers: [] }), { own: true }).outcome).toBe('fail');
    expect(verdictOf({ expected_values: ['192.0.2.9'] }, answered(), { own: true }).outcome).toBe('fail');
  });

  test('does not fail a resolver to which our own system sent nothing', () => {
    const verdict = verdictOf({}, { is: 'failed' }, { reached_other: true });
    expect(verdict).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_not_sent' } });
    expect(verdict.cause && causeLayer(verdict.cause)).toBe('probe');
  });

  test('does not fail a resolver that has only an address of a family that the probe has not', () => {
    for (const family of [4, 6] as const) {
      expect(verdictOf({}, { is: 'unreachable' }, { family, has_family: false })).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_no_family', params: { family } },
      });
      expect(verdictOf({}, { is: 'unreachable' }, { family })).toMatchObject({ outcome: 'fail', cause: { class: 'dns_unreachable' } });
    }
  });

  test('shows the lowest TTL on the way and the aliases', () => {
    const answers = [alias('example.test', 'b.test', 50), alias('b.test', 'c.test', 40), a('192.0.2.1', 300, 'c.test')];
    const { evidence } = verdictOf({ expected_values: ['192.0.2.9'] }, answered({ answers }));
    expect(evidence).toMatchObject({ ttl: 40, aliases: ['b.test', 'c.test'] });
    expect(verdictOf({ expected_values: ['192.0.2.9'] }, answered()).evidence).not.toHaveProperty('aliases');
    const long = Array.from({ length: 90 }, (_, at) => alias(at === 0 ? 'example.test' : `n${at}.test`, `n${at + 1}.test`));
    expect(verdictOf({}, answered({ answers: long })).evidence.aliases).toHaveLength(10);
  });
});
