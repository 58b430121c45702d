import dnsPacket from 'dns-packet';
import { afterAll, describe, expect, test } from 'vitest';
import { createUdpSockets } from '../../../../probe/checks/dns/sockets.ts';
import { createLookup, type Families, type IpFamily } from '../../../../probe/checks/https/lookup.ts';
import { answerTo, type Resolver, rawAnswerTo, startResolver } from '../../../support/name-servers.ts';
import { deadlineIn } from '../../support/checkers.ts';

/** What a name has, by record type; a number is a response code for every question. */
type Zone = Readonly<
  Record<
    string,
    {
      readonly A?: readonly string[];
      readonly AAAA?: readonly string[];
      readonly code?: number;
      readonly codeOfA?: number;
      readonly codeOfAAAA?: number;
    }
  >
>;

const open: Resolver[] = [];
const sockets = createUdpSockets();
afterAll(async () => {
  sockets.close();
  await Promise.all(open.map((resolver) => resolver.close()));
});

const both: Families = { 4: true, 6: true };
const onlyFour: Families = { 4: true, 6: false };

const lookupIn = async (zone: () => Zone, families: Families = both) => {
  const asked: string[] = [];
  const resolver = await startResolver(({ query }) => {
    const question = dnsPacket.decode(query).questions?.[0];
    const name = question?.name.toLowerCase() ?? '';
    const type = question?.type === 'AAAA' ? 'AAAA' : 'A';
    asked.push(`${name} ${type}`);
    const entry = zone()[name];
    const rcode = entry ? ((type === 'A' ? entry.codeOfA : entry.codeOfAAAA) ?? entry.code ?? 0) : 3;
    const answers = (entry?.[type] ?? []).map((data) => ({ type, name, ttl: 3_600, data }) as const);
    return answerTo(query, { rcode, answers });
  });
  open.push(resolver);
  const look = createLookup({
    families: () => families,
    sockets,
    resolvers: () => [{ address: '127.0.0.1', port: resolver.port, family: 4 }],
  });
  // Who said so has a test of its own.
  const lookup = async (name: string, family: IpFamily) => {
    const { by: _by, ...answer } = await look(name, family, deadlineIn(5_000));
    return answer;
  };
  return { lookup, asked };
};

const zone: Zone = {
  'both.example': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] },
  'four.example': { A: ['192.0.2.1'] },
  'six.example': { AAAA: ['2001:db8::1'] },
  'none.example': {},
  'sick.example': { code: 2 },
  'shut.example': { code: 5 },
  'half.example': { A: ['192.0.2.1'], codeOfAAAA: 2 },
  'odd.example': { codeOfAAAA: 2 },
};

describe('a name', () => {
  test.each([
    ['both.example', 'any', both, { addresses: ['2001:db8::1', '192.0.2.1', '192.0.2.2'] }],
    ['both.example', 'any', onlyFour, { addresses: ['192.0.2.1', '192.0.2.2'] }],
    ['both.example', '4', both, { addresses: ['192.0.2.1', '192.0.2.2'] }],
    ['both.example', '6', onlyFour, { addresses: ['2001:db8::1'] }],
    ['BOTH.example.', '6', both, { addresses: ['2001:db8::1'] }],
    ['four.example', '6', both, { code: 'ENODATA' }],
    ['six.example', 'any', onlyFour, { addresses: ['2001:db8::1'] }],
    ['none.example', 'any', both, { code: 'ENODATA' }],
    ['missing.example', 'any', both, { code: 'ENOTFOUND' }],
    ['missing.example', 'any', onlyFour, { code: 'ENOTFOUND' }],
    ['sick.example', 'any', onlyFour, { code: 'ESERVFAIL' }],
    ['shut.example', '4', both, { code: 'EREFUSED' }],
    ['half.example', 'any', both, { addresses: ['192.0.2.1'] }],
    ['odd.example', 'any', both, { code: 'ESERVFAIL' }],
  ] as const)('%s, family %s, on a probe with %j, gives %j', async (name, family, families, expected) => {
    const { lookup } = await lookupIn(() => zone, families);
    expect(await lookup(name, family)).toEqual(expected);
  });

  test('is asked for afresh each time, whatever its time to live', async () => {
    let now: Zone = { 'moving.example': { A: ['192.0.2.1'] } };
    const { lookup, asked } = await lookupIn(() => now, onlyFour);
    expect(await lookup('moving.example', 'any')).toEqual({ addresses: ['192.0.2.1'] });
    now = { 'moving.example': { A: ['192.0.2.9'] } };
    expect(await lookup('moving.example', 'any')).toEqual({ addresses: ['192.0.2.9'] });
    now = {};
    expect(await lookup('moving.example', 'any')).toEqual({ code: 'ENOTFOUND' });
    expect(asked).toEqual(['moving.example A', 'moving.example A', 'moving.example A']);
  });

  test('of this machine is not asked for at all', async () => {
    const { lookup, asked } = await lookupIn(() => zone);
    expect(await lookup('localhost', '4')).toEqual({ addresses: ['127.0.0.1'] });
    expect(await lookup('api.localhost', 'any')).toEqual({ addresses: ['127.0.0.1', '::1'] });
    expect(asked).toEqual([]);
  });

  test('that is an address already is that address', async () => {
    const { lookup, asked } = await lookupIn(() => zone);
    expect(await lookup('192.0.2.7', 'any')).toEqual({ addresses: ['192.0.2.7'] });
    expect(await lookup('192.0.2.7', '6')).toEqual({ code: 'ENODATA' });
    expect(asked).toEqual([]);
  });
});

const lookupBy = async (say: Parameters<typeof startResolver>[0]) => {
  const resolver = await startResolver(say);
  open.push(resolver);
  const look = createLookup({
    families: () => onlyFour,
    sockets,
    resolvers: () => [{ address: '127.0.0.1', port: resolver.port, family: 4 }],
  });
  return async (name: string, ms = 5_000) => {
    const { by: _by, ...answer } = await look(name, 'any', deadlineIn(ms));
    return answer;
  };
};

test.each([
  ['does not exist', 3],
  ['has no address', 0],
])('a name that is an alias of one that %s has no address', async (_, rcode) => {
  const look = await lookupBy(({ query, name }) =>
    answerTo(query, { rcode, answers: [{ type: 'CNAME', name, ttl: 60, data: 'elsewhere.example' }] }),
  );
  expect(await look('shop.example')).toEqual({ code: 'ENODATA' });
});

test('a resolver that drops questions with EDNS is asked without it from the third time on', async () => {
  const asked: boolean[] = [];
  const look = await lookupBy(({ query, name }) => {
    const hasEdns = (dnsPacket.decode(query).additionals ?? []).length > 0;
    asked.push(hasEdns);
    return hasEdns ? null : answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.1' }] });
  });
  expect(await look('shop.example', 1_500)).toEqual({ addresses: ['192.0.2.1'] });
  expect(asked).toEqual([true, true, false]);
});

test('two resolvers that both drop questions with EDNS are asked without it from the third time on', async () => {
  const asked: boolean[] = [];
  const ports = await Promise.all(
    [1, 2].map(async () => {
      const resolver = await startResolver(({ query, name }) => {
        const hasEdns = (dnsPacket.decode(query).additionals ?? []).length > 0;
        asked.push(hasEdns);
        return hasEdns ? null : answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.1' }] });
      });
      open.push(resolver);
      return resolver.port;
    }),
  );
  const look = createLookup({
    families: () => onlyFour,
    sockets,
    resolvers: () => ports.map((port) => ({ address: '127.0.0.1', port, family: 4 })),
  });
  expect(await look('shop.example', 'any', deadlineIn(1_500))).toMatchObject({ addresses: ['192.0.2.1'] });
  expect(asked).toEqual([true, true, false]);
});

describe('an answer that cannot be read', () => {
  const unreadable = (query: Buffer): Buffer => rawAnswerTo(query, 3, Buffer.from('c00c0001000100', 'hex'));
  const address = (query: Buffer, name: string): Buffer => answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.1' }] });

  test('spoils no other look-up under way', async () => {
    const held: { readonly query: Buffer; readonly name: string; readonly port: number }[] = [];
    const resolver = await startResolver(({ query, name }) => {
      if (name.startsWith('hostile')) return unreadable(query);
      held.push({ query, name, port: resolver.sources.at(-1) ?? 0 });
      return null;
    });
    open.push(resolver);
    const look = createLookup({
      families: () => onlyFour,
      sockets,
      resolvers: () => [{ address: '127.0.0.1', port: resolver.port, family: 4 }],
    });
    const others = Array.from({ length: 60 }, (_, i) => look(`well-${i}.example`, 'any', deadlineIn(20_000)));
    const hostile = Array.from({ length: 40 }, (_, i) => look(`hostile-${i}.example`, 'any', deadlineIn(20_000)));
    expect(await Promise.all(hostile)).toMatchObject(hostile.map(() => ({ code: 'EBADRESP' })));
    for (const { query, name, port } of held) resolver.send(address(query, name), port);
    expect(await Promise.all(others)).toMatchObject(others.map(() => ({ addresses: ['192.0.2.1'] })));
  });

  test('is asked for once more, by a port of its own', async () => {
    let asked = 0;
    const look = await lookupBy(({ query, name }) => {
      asked += 1;
      return asked === 1 ? unreadable(query) : address(query, name);
    });
    expect(await look('shop.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(asked).toBe(2);
  });

  test('that comes again is the name servers', async () => {
    const look = await lookupBy(({ query }) => unreadable(query));
    expect(await look('shop.example')).toEqual({ code: 'EBADRESP' });
  });

  test('that does not come again says nothing of the name', async () => {
    let asked = 0;
    const look = await lookupBy(({ query }) => {
      asked += 1;
      return asked === 1 ? unreadable(query) : null;
    });
    expect(await look('shop.example', 800)).toEqual({ code: 'OWN_RESOLVER' });
  });
});
