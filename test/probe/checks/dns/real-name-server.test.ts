import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUdpSockets, type UdpSockets } from '../../../../probe/checks/dns/sockets.ts';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { type Knot, startKnot } from '../../../support/name-servers.ts';
import { dnsChecker } from '../../support/checkers.ts';

let knot: Knot | undefined;
let sockets: UdpSockets;

beforeAll(async () => {
  sockets = createUdpSockets();
  knot = await startKnot();
});
afterAll(async () => {
  sockets.close();
  await knot?.stop();
});

type Row = readonly [what: string, target: string, config: Config, outcome: string];

const rows: readonly Row[] = [
  ['an address', 'www.knot.test', { expected_values: ['192.0.2.2'] }, 'ok'],
  [
    'a name written in capitals and with its dot',
    'WWW.Knot.Test.',
    { expected_values: ['192.0.2.1'] },
    'ok',
  ],
  [
    'both addresses, exactly',
    'www.knot.test',
    { expected_values: ['192.0.2.2', '192.0.2.1'], match: 'exact' },
    'ok',
  ],
  [
    'one address, exactly',
    'www.knot.test',
    { expected_values: ['192.0.2.1'], match: 'exact' },
    'dns_value_unexpected',
  ],
  [
    'a missing one of all',
    'www.knot.test',
    { expected_values: ['192.0.2.1', '192.0.2.7'], match: 'all' },
    'dns_value_missing',
  ],
  ['none of any', 'www.knot.test', { expected_values: ['192.0.2.7'] }, 'dns_none_expected'],
  [
    'an IPv6 address in another writing',
    'www.knot.test',
    { record_type: 'AAAA', expected_values: ['2001:0DB8:0::1'] },
    'ok',
  ],
  [
    'an alias, without case',
    'alias.knot.test',
    { record_type: 'CNAME', expected_values: ['OTHER.knot.test.'] },
    'ok',
  ],
  ['an address behind two aliases', 'alias.knot.test', { expected_values: ['192.0.2.1'] }, 'ok'],
  [
    'mail servers as people write them',
    'knot.test',
    {
      record_type: 'MX',
      expected_values: ['10 mail.knot.test', 'backup.example.org'],
      match: 'exact',
    },
    'ok',
  ],
  [
    'a mail server of another preference',
    'knot.test',
    { record_type: 'MX', expected_values: ['20 mail.knot.test'] },
    'dns_none_expected',
  ],
  [
    'name servers',
    'knot.test',
    { record_type: 'NS', expected_values: ['ns1.knot.test', 'ns2.knot.test'], match: 'exact' },
    'ok',
  ],
  [
    'a text of several strings',
    'knot.test',
    { record_type: 'TXT', expected_values: ['v=spf1 include:_spf.example.org -all'] },
    'ok',
  ],
  [
    'a text quoted as in a zone file',
    'knot.test',
    { record_type: 'TXT', expected_values: ['"v=spf1 include:" "_spf.example.org -all"'] },
    'ok',
  ],
  [
    'a text too long for UDP, over TCP',
    'big.knot.test',
    { record_type: 'TXT', expected_values: ['x'.repeat(6_000)] },
    'ok',
  ],
  [
    'a service as fields',
    '_sip._tcp.knot.test',
    { record_type: 'SRV', expected_values: ['10 5 5060 sip.knot.test'] },
    'ok',
  ],
  [
    'a service as host and port',
    '_sip._tcp.knot.test',
    { record_type: 'SRV', expected_values: ['sip.knot.test:5060'] },
    'ok',
  ],
  [
    'a zone by its keeper',
    'knot.test',
    { record_type: 'SOA', expected_values: ['ns1.knot.test hostmaster@knot.test'] },
    'ok',
  ],
  [
    'a zone by its serial',
    'knot.test',
    { record_type: 'SOA', expected_values: ['2026112001'] },
    'ok',
  ],
  [
    'issuers',
    'knot.test',
    {
      record_type: 'CAA',
      expected_values: ['0 issue "letsencrypt.org"', 'iodef mailto:security@example.org'],
      match: 'exact',
    },
    'ok',
  ],
  [
    'an HTTPS binding',
    'svc.knot.test',
    { record_type: 'HTTPS', expected_values: ['1 . ipv4hint=192.0.2.1,192.0.2.2 alpn="h2,h3"'] },
    'ok',
  ],
  [
    'an HTTPS binding without that parameter',
    'svc.knot.test',
    { record_type: 'HTTPS', expected_values: ['1 . port=443'] },
    'dns_none_expected',
  ],
  [
    'an SVCB binding',
    'svc.knot.test',
    { record_type: 'SVCB', expected_values: ['1 backend.example.org'] },
    'ok',
  ],
  [
    'a certificate association',
    '_443._tcp.www.knot.test',
    {
      record_type: 'TLSA',
      expected_values: ['3 1 1 01234567 89ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef'],
    },
    'ok',
  ],
  [
    'a delegation signer',
    'child.knot.test',
    {
      record_type: 'DS',
      expected_values: [
        '12345 ECDSAP256SHA256 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
      ],
    },
    'ok',
  ],
  [
    'a zone key',
    'knot.test',
    {
      record_type: 'DNSKEY',
      expected_values: [
        '257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+ KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==',
      ],
    },
    'ok',
  ],
  ['a pointer', '1.knot.test', { record_type: 'PTR', expected_values: ['host.knot.test'] }, 'ok'],
  ['a name of another script', 'bücher.knot.test', { expected_values: ['192.0.2.9'] }, 'ok'],
  ['a name that does not exist', 'missing.knot.test', {}, 'dns_name_missing'],
  ['a name that must not exist', 'missing.knot.test', { expected_rcode: 'NXDOMAIN' }, 'ok'],
  [
    'a name that exists and must not',
    'www.knot.test',
    { expected_rcode: 'NXDOMAIN' },
    'dns_unexpected_rcode',
  ],
  ['a type that the name has not', 'ns1.knot.test', { record_type: 'MX' }, 'dns_no_records'],
  [
    'no records, as agreed',
    'ns1.knot.test',
    { record_type: 'MX', expected_values: [], match: 'exact' },
    'ok',
  ],
  [
    'records where there must be none',
    'knot.test',
    { record_type: 'MX', expected_values: [], match: 'exact' },
    'dns_records',
  ],
  ['a zone that is served elsewhere', 'example.org', {}, 'dns_refused'],
  ['a refusal, as agreed', 'example.org', { expected_rcode: 'REFUSED' }, 'ok'],
  ['a TTL that is low', 'www.knot.test', { min_ttl: 61 }, 'dns_ttl_low'],
  ['a TTL that is high enough', 'www.knot.test', { min_ttl: 60 }, 'ok'],
  [
    'an answer that nobody authenticated',
    'www.knot.test',
    { require_authenticated_data: true },
    'dns_not_authenticated',
  ],
  [
    'a question over TCP',
    'www.knot.test',
    { transport: 'tcp', expected_values: ['192.0.2.1'] },
    'ok',
  ],
];

describe('a DNS check against a real knot', () => {
  test.for(rows)('judges %s', async ([, target, config, outcome], { skip }) => {
    if (!knot) return skip('no knotd could be had');
    const verdict = await dnsChecker(sockets)({
      target,
      config: { ...config, resolver: `127.0.0.1:${knot.port}` },
    });
    expect(verdict.cause?.class ?? verdict.outcome, JSON.stringify(verdict.evidence)).toBe(outcome);
  });

  test('shows answers, flags, TTLs and the resolver', async ({ skip }) => {
    if (!knot) return skip('no knotd could be had');
    const { evidence, phases } = await dnsChecker(sockets)({
      target: 'alias.knot.test',
      config: { resolver: `127.0.0.1:${knot.port}` },
    });
    expect(evidence).toMatchObject({
      question: 'alias.knot.test A',
      resolver: { address: '127.0.0.1', port: knot.port, own: false },
      transport: 'udp',
      attempts: 1,
      rcode: 'NOERROR',
      flags: ['aa', 'rd'],
      edns: true,
      answers: expect.arrayContaining([
        { name: 'alias.knot.test', type: 'CNAME', ttl: 300, value: 'other.knot.test' },
        { name: 'www.knot.test', type: 'A', ttl: 60, value: '192.0.2.2' },
      ]),
    });
    expect(phases?.dns).toBeGreaterThan(0);
  });
});
