import dnsPacket from 'dns-packet';
import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../../../probe/checks/dns/exchange.ts';
import {
  type DnsMessage,
  type DnsRecord,
  flagBits,
  readMessage,
  readName,
  withId,
  write,
  writeQuestion,
} from '../../../../probe/checks/dns/message.ts';
import { judge } from '../../../../probe/checks/dns/verdict.ts';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { causeLayer, causeSentence } from '../../../../shared/checks/causes.ts';
import { dnsSettings } from '../../../../shared/checks/dns/config.ts';
import { recordTypes } from '../../../../shared/checks/dns/keys.ts';
import fc from '../../../support/random.ts';

test('a name has no more pointers than it may have labels', () => {
  // A root, and pointers that each lead to the one before.
  const chain = Buffer.alloc(1 + 2 * 128);
  for (let nth = 0; nth < 128; nth += 1)
    chain.writeUInt16BE(0xc000 | Math.max(0, 2 * nth - 1), 1 + 2 * nth);
  const nameAt = (nth: number) => readName(chain, 1 + 2 * nth, chain.length)?.name;
  expect([nameAt(126), nameAt(127)]).toEqual(['.', undefined]);
});

describe('the verdict of a DNS check', () => {
  const a = (value: string, ttl = 300, name = 'example.test'): DnsRecord => ({
    name,
    type: recordTypes.A,
    ttl,
    fields: [value],
  });
  const alias = (name: string, to: string, ttl = 300): DnsRecord => ({
    name,
    type: recordTypes.CNAME,
    ttl,
    fields: [to],
  });

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
  const answered = (more: Partial<DnsMessage> = {}): Outcome => ({
    is: 'answer',
    message: message(more),
  });

  const verdictOf = (
    config: Config,
    outcome: Outcome,
    seen: { own?: boolean; reached_other?: boolean; family?: 4 | 6; has_family?: boolean } = {},
  ) => {
    const terms = dnsSettings({ target: 'example.test', config });
    if (!terms) throw new Error('no terms');
    const { own = false, reached_other = false, family = 4, has_family = true } = seen;
    const resolver = { address: '192.0.2.53', port: 53, family };
    const exchange: Exchange = {
      outcome,
      resolver,
      transport: terms.transport,
      attempts: 1,
      strays: 0,
      answered_ms: 3,
      connected_ms: null,
    };
    return judge(terms, {
      exchange,
      own,
      reached_other,
      has_family,
      limit_ms: 5_000,
      evidence_wanted: false,
    });
  };

  type Row = readonly [
    what: string,
    config: Config,
    outcome: Outcome,
    layer: string,
    sentence: string,
  ];
  const two = answered({ answers: [a('192.0.2.1'), a('192.0.2.2', 30)] });
  const rows: readonly Row[] = [
    ['an answer', {}, answered(), '', ''],
    ['any of the values', { expected_values: ['192.0.2.9', '192.0.2.2'] }, two, '', ''],
    [
      'none of the values',
      { expected_values: ['192.0.2.9'] },
      two,
      'assertion',
      'None of the expected values is among the A records',
    ],
    ['all of the values', { expected_values: ['192.0.2.1'], match: 'all' }, two, '', ''],
    [
      'not all of the values',
      { expected_values: ['192.0.2.1', '192.0.2.9'], match: 'all' },
      two,
      'assertion',
      'No A record is 192.0.2.9',
    ],
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
    [
      'the lowest of the TTLs',
      { min_ttl: 31 },
      two,
      'assertion',
      'TTL 30 s, at least 31 s expected',
    ],
    [
      'the TTL of an alias on the way',
      { min_ttl: 31 },
      answered({ answers: [alias('example.test', 'b.test', 5), a('192.0.2.1', 300, 'b.test')] }),
      'assertion',
      'TTL 5 s, at least 31 s expected',
    ],
    ['no records', {}, answered({ answers: [] }), 'assertion', 'The name has no A records'],
    [
      'no authentication',
      { require_authenticated_data: true },
      answered(),
      'assertion',
      'The answer is not authenticated (no AD flag)',
    ],
    ['no such name', {}, answered({ rcode: 3, answers: [] }), 'dns', 'The name does not exist'],
    [
      'no such name, as agreed',
      { expected_rcode: 'NXDOMAIN' },
      answered({ rcode: 3, answers: [] }),
      '',
      '',
    ],
    [
      'a name, against what was agreed',
      { expected_rcode: 'NXDOMAIN' },
      answered(),
      'assertion',
      'Answered NOERROR, expected NXDOMAIN',
    ],
    [
      'another error than agreed',
      { expected_rcode: 'NXDOMAIN' },
      answered({ rcode: 2, answers: [] }),
      'dns',
      'Answered SERVFAIL, expected NXDOMAIN',
    ],
    [
      'a refusal',
      {},
      answered({ rcode: 5, answers: [] }),
      'dns',
      'The resolver refused the question',
    ],
    [
      'a failure of the resolver',
      {},
      answered({ rcode: 2, answers: [] }),
      'dns',
      'The resolver could not find an answer (SERVFAIL)',
    ],
    [
      'an error without a name',
      {},
      answered({ rcode: 77, answers: [] }),
      'dns',
      'Answered RCODE77, expected NOERROR',
    ],
    ['silence', {}, { is: 'silent' }, 'timeout', 'The resolver did not answer within 5 s'],
    [
      'only answers to something else',
      {},
      { is: 'wrong_question' },
      'dns',
      'The resolver only answered questions that were not asked',
    ],
    ['rubbish', {}, { is: 'malformed' }, 'dns', "The resolver's answer is malformed"],
    [
      'a flood',
      {},
      { is: 'oversized' },
      'dns',
      "The resolver's answer is larger than an answer may be",
    ],
    [
      'a cut answer',
      {},
      { is: 'truncated' },
      'dns',
      'The answer was cut off, and the resolver does not answer over TCP',
    ],
    [
      'a refused connection',
      {},
      { is: 'refused' },
      'tcp',
      'The resolver refused the TCP connection',
    ],
    [
      'a connection that breaks',
      { transport: 'tcp' },
      { is: 'failed' },
      'tcp',
      'The TCP connection to the resolver failed',
    ],
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
      expect(verdictOf({}, outcome, { own: true })).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_resolver' },
      });
      expect(verdictOf({}, outcome, { own: true, reached_other: true }).outcome).toBe('fail');
    }
    expect(verdictOf({}, answered({ rcode: 3, answers: [] }), { own: true }).outcome).toBe('fail');
    expect(verdictOf({ expected_values: ['192.0.2.9'] }, answered(), { own: true }).outcome).toBe(
      'fail',
    );
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
      expect(verdictOf({}, { is: 'unreachable' }, { family })).toMatchObject({
        outcome: 'fail',
        cause: { class: 'dns_unreachable' },
      });
    }
  });

  test('shows the lowest TTL on the way and the aliases', () => {
    const answers = [
      alias('example.test', 'b.test', 50),
      alias('b.test', 'c.test', 40),
      a('192.0.2.1', 300, 'c.test'),
    ];
    const { evidence } = verdictOf({ expected_values: ['192.0.2.9'] }, answered({ answers }));
    expect(evidence).toMatchObject({ ttl: 40, aliases: ['b.test', 'c.test'] });
    expect(verdictOf({ expected_values: ['192.0.2.9'] }, answered()).evidence).not.toHaveProperty(
      'aliases',
    );
    const long = Array.from({ length: 90 }, (_, at) =>
      alias(at === 0 ? 'example.test' : `n${at}.test`, `n${at + 1}.test`),
    );
    expect(verdictOf({}, answered({ answers: long })).evidence.aliases).toHaveLength(10);
  });
});

describe('message', () => {
  const question = { name: 'www.example.test', type: 'A' } as const;
  const { plain } = write(question);

  describe('a question', () => {
    test('reads as what it is to another codec', () => {
      const written = withId(
        writeQuestion({ name: 'svc.example.test', type: 'HTTPS' }, true),
        4_711,
      );
      const read = dnsPacket.decode(written);
      expect(read).toMatchObject({ id: 4_711, type: 'query', flag_rd: true, flag_ad: true });
      expect(written.readUInt16BE(12 + 'svc.example.test'.length + 2)).toBe(recordTypes.HTTPS);
      expect(read.additionals?.[0]).toMatchObject({ type: 'OPT', udpPayloadSize: 1_232 });
      expect(dnsPacket.decode(writeQuestion(question, false)).additionals).toEqual([]);
    });
  });

  describe('an answer', () => {
    test('of any bytes is read or refused, and nothing is thrown', () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
          expect(['answer', 'stray', 'malformed', 'oversized']).toContain(
            readMessage(Buffer.from(bytes), question, plain, 'udp').is,
          );
        }),
        { numRuns: 3_000 },
      );
    });

    const label = fc.stringMatching(/^[a-z0-9]{1,12}$/);
    const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    const ttl = fc.integer({ min: 0, max: 100_000 });
    const answer = fc.oneof(
      fc.record({ type: fc.constant('A' as const), name, ttl, data: fc.ipV4() }),
      fc.record({ type: fc.constant('CNAME' as const), name, ttl, data: name }),
      fc.record({
        type: fc.constant('MX' as const),
        name,
        ttl,
        data: fc.record({ preference: fc.integer({ min: 0, max: 65_535 }), exchange: name }),
      }),
      fc.record({
        type: fc.constant('SRV' as const),
        name,
        ttl,
        data: fc.record({
          priority: fc.nat(65_535),
          weight: fc.nat(65_535),
          port: fc.nat(65_535),
          target: name,
        }),
      }),
      fc.record({
        type: fc.constant('TXT' as const),
        name,
        ttl,
        data: fc.array(fc.stringMatching(/^[ -~]{0,80}$/), { minLength: 1, maxLength: 4 }),
      }),
    );
    const packet = fc.array(answer, { maxLength: 8 }).map((answers) =>
      dnsPacket.encode({
        type: 'response',
        id: 1,
        flags: dnsPacket.RECURSION_AVAILABLE,
        questions: [{ type: 'A', name: question.name }],
        answers,
      }),
    );

    test('written by another codec is read whole, with the same records', () => {
      fc.assert(
        fc.property(fc.array(answer, { maxLength: 8 }), (answers) => {
          const bytes = dnsPacket.encode({
            type: 'response',
            id: 1,
            questions: [{ type: 'A', name: question.name }],
            answers,
          });
          const reading = readMessage(bytes, question, plain, 'tcp');
          if (reading.is !== 'answer') throw new Error(reading.is);
          expect(
            reading.message.answers.map((record) => [record.name, record.type, record.ttl]),
          ).toEqual(answers.map((one) => [one.name, recordTypes[one.type], one.ttl]));
          const texts = answers.map((one) => {
            if (one.type === 'MX') return [String(one.data.preference), one.data.exchange];
            if (one.type === 'SRV')
              return [one.data.priority, one.data.weight, one.data.port, one.data.target].map(
                String,
              );
            return [one.type === 'TXT' ? one.data.join('') : one.data];
          });
          expect(reading.message.answers.map(({ fields }) => fields)).toEqual(texts);
        }),
        { numRuns: 500 },
      );
    });

    test('cut anywhere or with one byte changed is read or refused, and nothing is thrown', () => {
      fc.assert(
        fc.property(packet, fc.nat(), fc.nat(), fc.nat(255), (bytes, cut, place, value) => {
          const shorter = bytes.subarray(0, cut % bytes.length);
          expect(readMessage(shorter, question, plain, 'udp').is).not.toBe('answer');
          const changed = Buffer.from(bytes);
          changed[place % changed.length] = value;
          expect(['answer', 'stray', 'malformed', 'oversized']).toContain(
            readMessage(changed, question, plain, 'udp').is,
          );
        }),
        { numRuns: 2_000 },
      );
    });
  });
});
