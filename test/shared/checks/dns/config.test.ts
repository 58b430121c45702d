import { describe, expect, test } from 'vitest';
import { configFaults, defaultName, targetFault } from '../../../../shared/checks/config.ts';
import { dnsSettings, parseResolver } from '../../../../shared/checks/dns/config.ts';
import type { RecordType } from '../../../../shared/checks/dns/keys.ts';
import {
  dnsName,
  expectation,
  meets,
  questionName,
  type RecordFields,
} from '../../../../shared/checks/dns/values.ts';

describe('a name', () => {
  test.for([
    ['Example.COM.', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['_dmarc.Bücher.example', '_dmarc.xn--bcher-kva.example'],
    ['faß.de', 'xn--fa-hia.de'],
    ['日本語.jp', 'xn--wgv71a119e.jp'],
    ['*.example.com', '*.example.com'],
    ['0/25.2.0.192.in-addr.arpa', '0/25.2.0.192.in-addr.arpa'],
    ['.', '.'],
  ] as const)('%s is compared as %s', ([written, name]) => {
    expect(dnsName(written)).toBe(name);
  });

  test.for([
    '',
    '..',
    'a..b',
    'with blank.com',
    `${'a'.repeat(64)}.com`,
    Array.from({ length: 64 }, () => 'abc').join('.'),
    'a\0b.com',
    'https://example.com',
  ])('is not %j', (written) => {
    expect(dnsName(written)).toBeUndefined();
    expect(targetFault('dns', written)).toBeDefined();
  });

  test('is resolved as it is, or as the reverse of an address for PTR records', () => {
    expect(questionName('192.0.2.17', 'PTR')).toBe('17.2.0.192.in-addr.arpa');
    expect(questionName('2001:db8::1', 'PTR')).toBe(
      '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    );
    expect(questionName('192.0.2.17', 'A')).toBeUndefined();
    expect(defaultName('dns', 'Example.com')).toBe('Example.com');
  });
});

describe('a value as people write it', () => {
  const rows: readonly (readonly [RecordType, string, RecordFields, boolean])[] = [
    ['A', '192.0.2.1', ['192.0.2.1'], true],
    ['AAAA', '2001:DB8:0:0::1', ['2001:db8::1'], true],
    ['MX', '10 Mail.Example.', ['10', 'mail.example'], true],
    ['MX', 'mail.example', ['10', 'mail.example'], true],
    ['MX', '20 mail.example', ['10', 'mail.example'], false],
    ['MX', '0 .', ['0', '.'], true],
    ['SRV', '10 5 5060 sip.example', ['10', '5', '5060', 'sip.example'], true],
    ['SRV', '5060 sip.example', ['10', '5', '5060', 'sip.example'], true],
    ['SRV', 'sip.example:5061', ['10', '5', '5060', 'sip.example'], false],
    ['TXT', 'v=spf1  -all', ['v=spf1  -all'], true],
    ['TXT', '"v=spf1 " "-all"', ['v=spf1 -all'], true],
    ['TXT', 'V=SPF1 -all', ['v=spf1 -all'], false],
    ['TXT', '"a \\"quote\\""', ['a "quote"'], true],
    [
      'SOA',
      'ns1.example jane.doe@example.org 7',
      ['ns1.example', 'jane\\.doe.example.org', '7', '1', '2', '3', '4'],
      true,
    ],
    ['SOA', '8', ['ns1.example', 'jane.example.org', '7', '1', '2', '3', '4'], false],
    [
      'SOA',
      'ns1.example. jane\\.doe.example.org. 7 1 2 3 4',
      ['ns1.example', 'jane\\.doe.example.org', '7', '1', '2', '3', '4'],
      true,
    ],
    [
      'SOA',
      'example.\t3600\tIN\tSOA\tns1.example. jane\\.doe.example.org. 7 1 2 3 4',
      ['ns1.example', 'jane\\.doe.example.org', '7', '1', '2', '3', '4'],
      true,
    ],
    [
      'SOA',
      'example. 3600 IN SOA ns1.example. jane.example.org. (\n\t\t7 ; serial\n\t\t1 ; refresh (1 second)\n\t\t2 ; retry\n\t\t3 ; expire\n\t\t4 ; minimum\n\t\t)',
      ['ns1.example', 'jane.example.org', '7', '1', '2', '3', '4'],
      true,
    ],
    [
      'SOA',
      'ns1.example. jane\\.doe.example.org. 7 1 2 3 5',
      ['ns1.example', 'jane\\.doe.example.org', '7', '1', '2', '3', '4'],
      false,
    ],
    ['CAA', 'issue "ca.example; policy=ev"', ['0', 'issue', 'ca.example; policy=ev'], true],
    ['CAA', '128 issue ca.example', ['0', 'issue', 'ca.example'], false],
    ['HTTPS', '1 . alpn="h2,h3"', ['1', '.', 'alpn=h2,h3', 'port=443'], true],
    ['HTTPS', '1 . port=443 alpn=h2', ['1', '.', 'alpn=h2,h3', 'port=443'], false],
    ['TLSA', '3 1 1 AB CD', ['3', '1', '1', 'abcd'], true],
    ['DS', '12345 RSASHA256 2 abcd', ['12345', '8', '2', 'abcd'], true],
    ['DNSKEY', '257 3 13 AwEA AQ==', ['257', '3', '13', 'AwEAAQ'], true],
  ];
  test.for(rows)('%s %s', ([type, text, record, same]) => {
    const expected = expectation(type, text);
    expect(expected && meets(expected, record)).toBe(same);
  });

  test.for([
    ['A', '2001:db8::1'],
    ['A', '192.0.2'],
    ['AAAA', '192.0.2.1'],
    ['MX', '10 20 mail.example'],
    ['MX', '70000 mail.example'],
    ['SRV', 'a b c d'],
    ['TLSA', '3 1 1 xyz'],
    ['DS', '12345 13 2'],
    ['NS', 'not a name'],
    ['CAA', 'letsencrypt.org'],
  ] as const)('%s cannot be %s', ([type, text]) => {
    expect(expectation(type, text)).toBeUndefined();
  });
});

describe('a DNS config', () => {
  const faults = (config: object, target = 'example.com') =>
    configFaults('dns', target, { ...config }, 60).map(({ key }) => key);

  test.for([
    [{}],
    [
      {
        record_type: 'MX',
        expected_values: ['10 mail.example'],
        match: 'all',
        min_ttl: 300,
        transport: 'tcp',
      },
    ],
    [{ expected_values: '192.0.2.1', resolver: '[2001:db8::53]:5353' }],
    [{ expected_rcode: 'NXDOMAIN', require_authenticated_data: true }],
    [{ expected_values: [], match: 'exact' }],
  ] as const)('is accepted: %j', ([config]) => {
    expect(faults(config)).toEqual([]);
  });

  test.for([
    [{ record_type: 'ANY' }, 'record_type'],
    [{ record_type: 'mx' }, 'record_type'],
    [{ resolver: 'dns.example' }, 'resolver'],
    [{ resolver: '192.0.2.1:0' }, 'resolver'],
    [{ transport: 'tls' }, 'transport'],
    [{ match: 'some' }, 'match'],
    [{ expected_rcode: 'NOPE' }, 'expected_rcode'],
    [{ min_ttl: -1 }, 'min_ttl'],
    [{ record_type: 'MX', expected_values: ['10 mail.example', '10 20 x'] }, 'expected_values[1]'],
    [{ expected_values: [] }, 'expected_values'],
    [{ expected_rcode: 'NXDOMAIN', expected_values: ['192.0.2.1'] }, 'expected_values'],
    [{ require_authenticated_data: 'yes' }, 'require_authenticated_data'],
  ] as const)('is refused, naming the key: %j', ([config, key]) => {
    expect(faults(config)).toEqual([key]);
  });

  test('is refused when an address is resolved for anything but its name', () => {
    expect(faults({}, '192.0.2.1')).toEqual(['record_type']);
    expect(faults({ record_type: 'PTR' }, '192.0.2.1')).toEqual([]);
  });

  test('names its resolver by address and port', () => {
    expect(parseResolver('192.0.2.53')).toEqual({ address: '192.0.2.53', port: 53, family: 4 });
    expect(parseResolver('192.0.2.53:5353')).toEqual({
      address: '192.0.2.53',
      port: 5_353,
      family: 4,
    });
    expect(parseResolver('2001:DB8::53')).toEqual({ address: '2001:db8::53', port: 53, family: 6 });
    expect(parseResolver('[2001:db8::53]:5353')).toEqual({
      address: '2001:db8::53',
      port: 5_353,
      family: 6,
    });
    expect(parseResolver('192.0.2.53:99999')).toBeUndefined();
    expect(dnsSettings({ target: 'example.com', config: {} })).toMatchObject({
      type: 'A',
      resolver: null,
      transport: 'udp',
      match: 'any',
      rcode: 'NOERROR',
    });
  });
});
