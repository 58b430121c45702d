/**
 * The cases of the guard's laboratory: names as its resolver answers them, and what is checked.
 * Shared by the test and the process in the namespace.
 */

/**
 * Public addresses (by their ranges; nothing leaves the namespace) on which the laboratory's own
 * servers answer.
 */
export const publicServer = '93.184.216.34';
export const publicServer6 = '2606:2800:220:1::34';
export const nameServer = '93.184.216.53';
export const ports = { http: 80, https: 443, other: 8080, bus: 4222, dns: 53 } as const;

/** Addresses that no check may reach, in the spellings that a resolver or a person may give. */
const forbiddenIpv4 = [
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.254',
  '100.64.0.1',
  '100.100.100.200',
  '100.96.0.96',
  '127.0.0.1',
  '127.1.2.3',
  '168.63.129.16',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
] as const;

const forbiddenIpv6 = [
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:10.0.0.1',
  '::127.0.0.1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '2002:a9fe:a9fe::1',
  '2001:4860:1::5efe:a00:1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
] as const;

/** Other ways to write loopback and metadata in an address bar. */
const spellings = [
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '0177.1',
  '127.1',
  '127.0.1',
  '0',
  '0x0',
  '１２７.0.0.1',
  '127。0。0。1',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '169.16689662',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'x.localhost',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:7f00:1]',
  '[::ffff:127.0.0.1]',
  '[0:0:0:0:0:ffff:a9fe:a9fe]',
] as const;

type Records = { readonly A?: readonly string[]; readonly AAAA?: readonly string[] };

/** What the resolver says at the first, second, … question for a name; the last answer stays. */
export const zone: Readonly<Record<string, readonly Records[]>> = {
  'public.test': [{ A: [publicServer] }],
  'public6.test': [{ AAAA: [publicServer6] }],
  'mixed.test': [{ A: [publicServer, '10.0.0.1'] }],
  'mixed-first.test': [{ A: ['127.0.0.1', publicServer] }],
  'mixed-families.test': [{ A: [publicServer], AAAA: ['fd00:ec2::254'] }],
  'rebinding.test': [{ A: [publicServer] }, { A: ['127.0.0.1'] }],
  'rebinding-metadata.test': [{ A: [publicServer] }, { A: ['169.254.169.254'] }],
  'bus.test': [{ A: ['10.20.0.5'] }],
  'allowed.test': [{ A: ['10.20.0.6'] }],
  ...Object.fromEntries(
    forbiddenIpv4.map((address) => [`a-${address.replaceAll('.', '-')}.test`, [{ A: [address] }]]),
  ),
  ...Object.fromEntries(
    forbiddenIpv6.map((address, i) => [`aaaa-${i}.test`, [{ AAAA: [address] }]]),
  ),
};

export type Case = {
  readonly name: string;
  readonly kind: 'https' | 'dns' | 'tcp' | 'tls' | 'websocket' | 'grpc' | 'icmp';
  readonly target: string;
  readonly config?: Readonly<Record<string, string | number | boolean>>;
  readonly timeout_ms?: number;
  /** Checked twice; the second verdict counts. */
  readonly again?: boolean;
  /** What the probe's host allows in this case. */
  readonly allow?: readonly string[];
  /** How many connections may be opened in all, to public servers only. */
  readonly opens: number;
  /** How many echo requests may be sent. */
  readonly sends?: number;
  readonly cause: string | null;
  /** What the traps then tell: nothing, but for the case that shows that they spring. */
  readonly trapped?: readonly string[];
};

const notPublic = 'address_not_public';
const refused = (name: string, target: string, opens = 0): Case => ({
  name,
  kind: 'https',
  target,
  opens,
  cause: notPublic,
});
const refusedByPort = (name: string, host: string): Case[] =>
  (
    [
      ['tcp', `${host}:443`],
      ['tls', `${host}:443`],
      ['grpc', `${host}:443`],
      ['websocket', `ws://${host}/`],
      ['websocket', `wss://${host}:8080/`],
    ] as const
  ).map(([kind, target]) => ({
    name: `${name} by ${kind} (${target})`,
    kind,
    target,
    opens: 0,
    cause: notPublic,
  }));
const refusedByPing = (name: string, host: string): Case => ({
  name: `${name} by ping`,
  kind: 'icmp',
  target: host,
  opens: 0,
  cause: notPublic,
});
const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address);
const byPublic = (path: string): string => `http://public.test${path}`;
const to = (address: string): string => `/to?${encodeURIComponent(address)}`;

/** Hosts in addresses under which nobody but this machine or its network is reached. */
export const forbiddenHosts: readonly string[] = [
  ...forbiddenIpv4,
  ...forbiddenIpv6.map(bracketed),
  ...spellings,
];

export const cases: readonly Case[] = [
  {
    name: 'a public server by IPv4 is reached',
    kind: 'https',
    target: byPublic('/'),
    opens: 1,
    cause: null,
  },
  {
    name: 'a public server by IPv6 is reached',
    kind: 'https',
    target: 'http://public6.test/',
    opens: 1,
    cause: null,
  },
  ...[...forbiddenIpv4, ...forbiddenIpv6].flatMap((address) => [
    refused(`${address} by http`, `http://${bracketed(address)}/`),
    refused(`${address} by https on another port`, `https://${bracketed(address)}:8080/`),
    refused(`a redirect to ${address}`, byPublic(to(`http://${bracketed(address)}/`)), 1),
    ...refusedByPort(address, bracketed(address)),
    refusedByPing(address, bracketed(address)),
  ]),
  ...spellings.flatMap((host) => [
    refused(`${host} in an address`, `http://${host}/`),
    refused(`a redirect to ${host}`, byPublic(to(`http://${host}:8080/`)), 1),
    ...refusedByPort(host, host),
    refusedByPing(host, host),
  ]),
  ...Object.keys(zone)
    .filter((name) => /^(a-|aaaa-|mixed)/.test(name))
    .flatMap((name) => [
      refused(`the name ${name}`, `http://${name}/`),
      refused(`a redirect to the name ${name}`, byPublic(to(`https://${name}/`)), 1),
      ...refusedByPort(`the name ${name}`, name),
      refusedByPing(`the name ${name}`, name),
    ]),
  {
    name: 'a port of a public server is reached',
    kind: 'tcp',
    target: 'public.test:8080',
    opens: 1,
    cause: null,
  },
  {
    name: 'a public server that speaks no TLS is reached',
    kind: 'tls',
    target: 'public6.test:80',
    opens: 1,
    cause: 'tls_not_spoken',
  },
  ...[publicServer, publicServer6, 'public.test', 'public6.test'].map(
    (target): Case => ({
      name: `${target} is pinged`,
      kind: 'icmp',
      target,
      config: { packets: 2 },
      opens: 0,
      sends: 2,
      cause: null,
    }),
  ),
  {
    name: 'an address in a range that its host allows is pinged',
    kind: 'icmp',
    target: 'allowed.test',
    config: { packets: 1 },
    allow: ['10.0.0.0/8'],
    opens: 0,
    sends: 1,
    cause: null,
  },
  {
    name: 'a name that moves to loopback between two pings',
    kind: 'icmp',
    target: 'rebinding.test',
    config: { packets: 1 },
    again: true,
    opens: 0,
    sends: 1,
    cause: notPublic,
  },
  {
    name: 'a public server that speaks no HTTP/2 is reached',
    kind: 'grpc',
    target: 'grpc://public.test:80',
    opens: 1,
    cause: 'http2_not_spoken',
  },
  {
    name: 'a public server that speaks no WebSocket is reached',
    kind: 'websocket',
    target: 'ws://public.test/',
    opens: 1,
    cause: 'websocket_not_spoken',
  },
  {
    name: 'a redirect of an upgrade is not followed',
    kind: 'websocket',
    target: `ws://public.test${to('http://169.254.169.254/')}`,
    opens: 1,
    cause: 'upgrade_refused',
  },
  {
    name: "the probe's bus by its port in a range that its host allows",
    kind: 'tcp',
    target: 'bus.test:4222',
    allow: ['10.0.0.0/8'],
    opens: 0,
    cause: notPublic,
  },
  {
    name: 'a port in a range that its host allows is reached, and the trap there springs',
    kind: 'tcp',
    target: 'allowed.test:80',
    allow: ['10.0.0.0/8'],
    opens: 1,
    cause: null,
    trapped: ['tcp 10.20.0.6'],
  },
  refused(
    'a chain of redirects that ends at metadata',
    byPublic(
      to(
        `http://public6.test${to(`http://public.test${to('http://169.254.169.254/latest/meta-data/')}`)}`,
      ),
    ),
    3,
  ),
  refused(
    'a chain over a name that is mixed',
    byPublic(to(`http://public.test${to('http://mixed.test/')}`)),
    2,
  ),
  refused(
    'a name that moves to loopback between two hops',
    `http://rebinding.test${to('http://rebinding.test/again')}`,
    1,
  ),
  refused(
    'a name that moves to metadata between two hops',
    `http://rebinding-metadata.test${to('http://rebinding-metadata.test/latest')}`,
    1,
  ),
  {
    name: 'a circle of redirects ends',
    kind: 'https',
    target: byPublic('/circle'),
    opens: 1,
    cause: 'redirect_loop',
  },
  {
    name: 'redirects without end end',
    kind: 'https',
    target: byPublic('/longer?1'),
    opens: 6,
    cause: 'redirect_limit',
  },
  {
    name: 'a bomb of a body ends',
    kind: 'https',
    target: byPublic('/bomb'),
    config: { body_contains: 'needle' },
    opens: 1,
    cause: 'body_lacks',
  },
  {
    name: 'a flood of headers ends',
    kind: 'https',
    target: byPublic('/flood'),
    opens: 1,
    cause: 'response_headers_too_large',
  },
  {
    name: 'a drip ends with the time limit',
    kind: 'https',
    target: byPublic('/drip'),
    timeout_ms: 1_000,
    opens: 1,
    cause: 'timed_out',
  },
  {
    name: 'metadata in a range that its host allows',
    kind: 'https',
    target: 'http://169.254.169.254/',
    allow: ['0.0.0.0/0', '::/0'],
    opens: 0,
    cause: notPublic,
  },
  {
    name: "the probe's bus in a range that its host allows",
    kind: 'https',
    target: 'http://10.20.0.5:4222/',
    allow: ['10.0.0.0/8'],
    opens: 0,
    cause: notPublic,
  },
  {
    name: "the probe's bus by name in a range that its host allows",
    kind: 'https',
    target: 'http://bus.test:4222/',
    allow: ['10.0.0.0/8'],
    opens: 0,
    cause: notPublic,
  },
  {
    name: 'an address in a range that its host allows is reached, and the trap there springs',
    kind: 'https',
    target: 'http://allowed.test/',
    allow: ['10.0.0.0/8'],
    opens: 1,
    cause: null,
    trapped: ['tcp 10.20.0.6'],
  },
  ...[...forbiddenIpv4, ...forbiddenIpv6].flatMap((address): Case[] =>
    ['udp', 'tcp'].map((transport) => ({
      name: `${address} as a resolver by ${transport}`,
      kind: 'dns',
      target: 'example.com',
      config: { resolver: address, transport },
      timeout_ms: 1_000,
      opens: 0,
      cause: notPublic,
    })),
  ),
];
