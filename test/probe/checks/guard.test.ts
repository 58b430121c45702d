import { describe, expect, test } from 'vitest';
import { createGuard, unreadableRanges } from '../../../probe/checks/guard.ts';
import { probeIn, rosterOf } from '../../support/rosters.ts';

const bus = { address: '10.20.0.5', port: 4222 };
const guardOf = (allow: readonly string[] = [], own: readonly string[] = [], at = bus) =>
  createGuard({ allow, bus: () => [at], own: () => own });
const strict = guardOf();
const anywhere = {
  kind: 'https',
  target: 'https://a.example/',
  config: {},
  continents: null,
  probe: null,
} as const;

/**
 * Two addresses (the first and the last, where that says something) of every special range of the
 * registries, and of what reaches elsewhere under another name.
 */
const shut: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  'private 10': ['10.0.0.0', '10.255.255.255'],
  'private 172.16': ['172.16.0.0', '172.31.255.255'],
  'private 192.168': ['192.168.0.0', '192.168.255.255'],
  'carrier-grade NAT': ['100.64.0.0', '100.127.255.255'],
  loopback: ['127.0.0.1', '127.255.255.255'],
  'link-local': ['169.254.0.1', '169.254.255.255'],
  'IETF protocols': ['192.0.0.0', '192.0.0.9', '192.0.0.170', '192.0.0.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.255'],
  '6to4 relays': ['192.88.99.1'],
  benchmarking: ['198.18.0.0', '198.19.255.255'],
  multicast: ['224.0.0.1', '239.255.255.255'],
  reserved: ['240.0.0.1', '255.255.255.254'],
  broadcast: ['255.255.255.255'],
  'metadata of the clouds': [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '169.254.42.42',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '100.96.0.96',
  ],
  'metadata of the clouds by IPv6': [
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    'fe80::a9fe:a9fe',
  ],
  unspecified: ['::', '0:0:0:0:0:0:0:0'],
  'loopback by IPv6': ['::1', '0:0:0:0:0:0:0:1'],
  mapped: [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    '::ffff:8.8.8.8',
    '0:0:0:0:0:ffff:0:0',
  ],
  compatible: ['::127.0.0.1', '::a00:1', '::808:808'],
  'translated (SIIT)': ['::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8'],
  NAT64: [
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::808:808',
    '64:ff9b:1::1',
    '64:ff9b:1:ffff::a00:1',
  ],
  '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:808:808::1'],
  Teredo: ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001::1'],
  ISATAP: ['2001:4860:1::5efe:a00:1', '2001:4860:1::200:5efe:7f00:1'],
  'unique local': ['fc00::1', 'fdff:ffff::1'],
  'link-local by IPv6': ['fe80::1', 'febf::1', 'fe80::1%lo'],
  'site-local': ['fec0::1', 'feff::1'],
  'multicast by IPv6': ['ff00::1', 'ff02::1', 'ff0e::1'],
  'discard-only': ['100::1', '100:0:0:1::1', '100:ffff::1'],
  'documentation by IPv6': ['2001:db8::1', '3fff::1'],
  'IETF protocols by IPv6': [
    '2001:1::1',
    '2001:2::1',
    '2001:3::1',
    '2001:4:112::1',
    '2001:10::1',
    '2001:20::1',
    '2001:30::1',
    '2001:1ff::1',
  ],
  'AS112 by IPv6': ['2620:4f:8000::1'],
  '6bone': ['3ffe::1'],
  'segment routing': ['5f00::1'],
  'given out by nobody': ['4000::1', '8000::1', 'a000::1', 'e000::1', '1::1', '200::1'],
};

const notLiteral = [
  'localhost',
  'example.com',
  '',
  ' ',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '127.0.0.1.',
  '[::1]',
  '8.8.8.8 ',
  '8.8.8.8:80',
  '１２７.0.0.1',
];

const open = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.216.34',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '169.253.255.255',
  '168.63.129.17',
  '192.0.1.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2001:4860:4860::8888',
  '2a00:1450:4001::1',
  '2001:200::1',
];

test('it is this probe’s own limit when another, that may check the same, that may check the same, is allowed every one of these addresses', () => {
  const roster = rosterOf(
    probeIn('Asia', 1, { allowed_cidrs: ['10.0.0.0/8', '169.254.169.254'] }),
    probeIn('Asia', 2),
  );
  const { isOwnLimit: othersMay } = createGuard({
    allow: [],
    bus: () => [],
    own: () => [],
    roster: () => roster,
  });
  expect(othersMay(['10.1.2.3', '8.8.8.8', '169.254.169.254'], anywhere)).toBe(true);
  expect(othersMay(['10.1.2.3'], { ...anywhere, continents: ['Asia'] })).toBe(true);
  expect(othersMay(['10.1.2.3', '192.168.1.1'], anywhere)).toBe(false);
  expect(othersMay(['169.254.170.2'], anywhere)).toBe(false);
  expect(othersMay(['10.1.2.3'], { ...anywhere, continents: ['Europe'] })).toBe(false);
  expect(strict.isOwnLimit(['10.1.2.3'], anywhere)).toBe(false);
});

test('without the permission of its host a private probe gives no result for internal targets; a name that resolves to nothing is the target’s fault', () => {
  const mine = {
    kind: 'https',
    target: 'https://a.example/',
    config: {},
    continents: null,
    probe: 'c',
  } as const;
  expect(strict.isOwnLimit(['10.1.2.3'], mine)).toBe(true);
  expect(strict.isOwnLimit(['fd12::1', '192.168.1.1'], mine)).toBe(true);
  expect(strict.isOwnLimit(['127.0.0.1'], { ...mine, target: 'https://127.0.0.1/' })).toBe(true);
  for (const address of ['127.0.0.1', '0.0.0.0', '169.254.169.254', '::1'])
    expect(strict.isOwnLimit([address], mine)).toBe(false);
});

describe('without configuration, a probe reaches only public addresses', () => {
  test.each(
    Object.entries(shut).flatMap(([range, addresses]) =>
      addresses.map((address) => [range, address] as const),
    ),
  )('%s is shut: %s', (_range, address) => {
    expect(strict.allows(address, 443)).toBe(false);
  });

  test.each(notLiteral)('an invalid address is closed: %j', (text) => {
    expect(strict.allows(text, 443)).toBe(false);
    expect(guardOf(['0.0.0.0/0', '::/0']).allows(text, 443)).toBe(false);
  });

  test.each(open)('%s is public', (address) => {
    expect(strict.allows(address, 443)).toBe(true);
    // Asked again: what was remembered says the same.
    expect(strict.allows(address, 443)).toBe(true);
  });
});

describe('what the host of a probe allows', () => {
  test('a range opens its addresses and no other', () => {
    const guard = guardOf(['10.1.0.0/16', 'fd12::/16']);
    expect(guard.allows('10.1.2.3', 80)).toBe(true);
    expect(guard.allows('::ffff:10.1.2.3', 80)).toBe(true);
    expect(guard.allows('fd12::1', 80)).toBe(true);
    expect(guard.allows('10.2.0.1', 80)).toBe(false);
    expect(guard.allows('fd13::1', 80)).toBe(false);
    expect(guard.allows('127.0.0.1', 80)).toBe(false);
  });

  test('an address without a length is that one address', () => {
    const guard = guardOf(['192.168.1.7']);
    expect(guard.allows('192.168.1.7', 80)).toBe(true);
    expect(guard.allows('192.168.1.8', 80)).toBe(false);
  });

  test('even everything does not open metadata addresses, nor those of this machine', () => {
    const guard = guardOf(['0.0.0.0/0', '::/0']);
    expect(guard.allows('10.0.0.1', 80)).toBe(true);
    for (const address of [
      '169.254.169.254',
      '168.63.129.16',
      '100.100.100.200',
      'fd00:ec2::254',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '0.0.0.0',
      '::',
    ]) {
      expect(guard.allows(address, 80), address).toBe(false);
    }
  });

  test('a metadata address named singly is open', () => {
    expect(guardOf(['169.254.169.254/32']).allows('169.254.169.254', 80)).toBe(true);
    expect(guardOf(['169.254.169.254']).allows('169.254.170.2', 80)).toBe(false);
    expect(guardOf(['fd00:ec2::254/128']).allows('fd00:ec2::254', 80)).toBe(true);
    expect(guardOf(['169.254.0.0/16']).allows('169.254.169.254', 80)).toBe(false);
  });

  test('a gateway that is allowed leads only where its IPv4 address may go by itself', () => {
    const guard = guardOf(['64:ff9b::/96']);
    expect(guard.allows('64:ff9b::808:808', 443)).toBe(true);
    expect(guard.allows('64:ff9b::7f00:1', 443)).toBe(false);
    expect(guard.allows('64:ff9b::a00:1', 443)).toBe(false);
  });

  test('ranges that cannot be read are named, so that the configuration refuses them', () => {
    expect(unreadableRanges(['10.0.0.0/8', '10.0.0.0/33', 'lan', '::1', '', '10.0.0.1'])).toEqual([
      '10.0.0.0/33',
      'lan',
      '',
    ]);
  });
});

describe("the probe's own bus", () => {
  test('stays closed in an allowed range, on its port alone', () => {
    const guard = guardOf(['10.0.0.0/8']);
    expect(guard.allows('10.20.0.5', 4222)).toBe(false);
    expect(guard.allows('::ffff:10.20.0.5', 4222)).toBe(false);
    expect(guard.allows('10.20.0.5', 443)).toBe(true);
    expect(guard.allows('10.20.0.6', 4222)).toBe(true);
  });

  test('opens when it is named singly', () => {
    expect(guardOf(['10.0.0.0/8', '10.20.0.5/32']).allows('10.20.0.5', 4222)).toBe(true);
  });

  test('on the same machine is closed by each of its addresses', () => {
    const guard = guardOf(['127.0.0.0/8', '::1/128', '10.0.0.0/8'], ['10.9.9.9', 'fe80::1%eth0'], {
      address: '127.0.0.1',
      port: 4222,
    });
    for (const address of ['127.0.0.1', '127.0.0.2', '10.9.9.9', '::ffff:127.0.0.1'])
      expect(guard.allows(address, 4222), address).toBe(false);
    expect(guard.allows('127.0.0.1', 8080)).toBe(true);
    expect(guard.allows('10.9.9.8', 4222)).toBe(true);
  });

  test('is closed on a public address too', () => {
    const guard = guardOf([], [], { address: '93.184.216.34', port: 4222 });
    expect(guard.allows('93.184.216.34', 4222)).toBe(false);
    expect(guard.allows('93.184.216.34', 443)).toBe(true);
  });
});

describe("the probe's own public addresses", () => {
  const own = ['93.184.216.10', '2a00:1450:4001::7', '10.9.9.9'];

  test('are closed on every port, also by another notation and in an allowed range', () => {
    for (const guard of [guardOf([], own), guardOf(['93.184.216.0/24', '::ffff:0:0/96'], own)])
      for (const address of ['93.184.216.10', '::ffff:93.184.216.10', '2a00:1450:4001:0:0::7'])
        for (const port of [22, 443, 9_100])
          expect(guard.allows(address, port), `${address} ${port}`).toBe(false);
    expect(guardOf([], own).allows('93.184.216.11', 443)).toBe(true);
    expect(guardOf(['10.0.0.0/8'], own).allows('10.9.9.9', 443)).toBe(true);
  });

  test('are open where the host names them singly', () => {
    expect(guardOf(['93.184.216.10'], own).allows('93.184.216.10', 443)).toBe(true);
    expect(guardOf(['2a00:1450:4001::7/128'], own).allows('2a00:1450:4001::7', 443)).toBe(true);
  });

  test('are read from the machine now', () => {
    let now: readonly string[] = [];
    const guard = createGuard({ allow: [], bus: () => [bus], own: () => now });
    expect(guard.allows('93.184.216.10', 443)).toBe(true);
    now = own;
    expect(guard.allows('93.184.216.10', 443)).toBe(false);
  });

  test('are a limit of this probe, because others reach them', () => {
    const guard = guardOf([], own);
    expect(guard.isOwnLimit(['93.184.216.10'], anywhere)).toBe(true);
    expect(guard.isOwnLimit(['93.184.216.10', '8.8.8.8'], anywhere)).toBe(true);
    expect(guard.isOwnLimit(['93.184.216.10', '127.0.0.1'], anywhere)).toBe(false);
  });
});
