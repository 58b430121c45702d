import dnsPacket from 'dns-packet';
import { afterAll, describe, expect, test } from 'vitest';
import {
  createLookup,
  type Families,
  type IpFamily,
  type Lookup,
} from '../../../../probe/checks/connection/lookup.ts';
import { createUdpSockets } from '../../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../../probe/checks/guard.ts';
import type { RosterProbe } from '../../../../shared/checks/assignment.ts';
import {
  answerTo,
  type Resolver,
  rawAnswerTo,
  startResolver,
} from '../../../support/name-servers.ts';
import { deadlineIn, httpsChecker } from '../../support/checkers.ts';
import { answerBy, serve } from '../../support/observations.ts';

describe('addresses', () => {
  const check = httpsChecker();
  const open: Resolver[] = [];
  const sockets = createUdpSockets();
  afterAll(async () => {
    sockets.close();
    await Promise.all(open.map((resolver) => resolver.close()));
  });

  /**
   * An https check of a name whose questions, by type, are answered so; null: only when the test
   * says.
   */
  const checkerOf = async (
    says: Readonly<Record<'A' | 'AAAA', readonly string[] | null | 'malformed'>>,
    families = { 4: true, 6: true },
  ) => {
    const held: (() => void)[] = [];
    const resolver = await startResolver(({ query }) => {
      const type = dnsPacket.decode(query).questions?.[0]?.type === 'AAAA' ? 'AAAA' : 'A';
      const name = dnsPacket.decode(query).questions?.[0]?.name ?? '';
      const said = says[type];
      const answer = answerTo(query, {
        answers:
          said === null || said === 'malformed'
            ? []
            : said.map((data) => ({ type, name, ttl: 60, data })),
      });
      if (said === 'malformed') return rawAnswerTo(query, 3, Buffer.from('c00c0001000100', 'hex'));
      const port = resolver.sources.at(-1) ?? 0;
      if (said === null)
        held.push(() =>
          resolver.send(answerTo(query, { answers: [{ type, name, ttl: 60, data: '::1' }] }), port),
        );
      return said === null ? null : answer;
    });
    open.push(resolver);
    const lookup = createLookup({
      families: () => families,
      sockets,
      resolvers: () => [{ address: '127.0.0.1', port: resolver.port, family: 4 }],
    });
    return {
      check: httpsChecker({ lookup, families }),
      answerLate: () => {
        for (const answer of held) answer();
      },
    };
  };

  describe('a name of which one family is', () => {
    test.each([
      ['AAAA', 'never answered', { A: ['127.0.0.1'], AAAA: null }, '127.0.0.1'],
      ['AAAA', 'malformed', { A: ['127.0.0.1'], AAAA: 'malformed' }, '127.0.0.1'],
      ['A', 'never answered', { A: null, AAAA: ['::1'] }, '::1'],
      ['A', 'malformed', { A: 'malformed', AAAA: ['::1'] }, '::1'],
    ] as const)('%s and %s is checked by the other', async (type, _, says, host) => {
      const target = await serve({ host });
      const { check } = await checkerOf(says);
      const { outcome, sentence, phases, evidence } = await check(
        `http://shop.example:${target.port}/`,
      );
      expect({ outcome, sentence }).toEqual({ outcome: 'ok', sentence: null });
      expect(evidence).toMatchObject({
        address: host,
        lookup: { note: `${type} was not answered` },
      });
      expect(phases?.dns).toBeLessThan(1_500);
    });

    test('late joins what is tried, and is not called unanswered', async () => {
      const target = await serve({ host: '::1' });
      const { check, answerLate } = await checkerOf({ A: ['127.0.0.99'], AAAA: null });
      const checked = check(`http://shop.example:${target.port}/`);
      setTimeout(answerLate, 600);
      const { outcome, evidence } = await checked;
      expect(outcome).toBe('ok');
      expect(evidence).toMatchObject({
        addresses: ['127.0.0.99', '::1'],
        attempts: [
          { address: '127.0.0.99', code: 'ECONNREFUSED' },
          { address: '::1', code: null },
        ],
      });
      expect(evidence.lookup).not.toHaveProperty('note');
    });

    test('never answered, and of which the other fails, has that failure as its cause', async () => {
      const { check } = await checkerOf({ A: ['127.0.0.99'], AAAA: null });
      expect(await check('http://shop.example:9/', {}, { timeout_ms: 900 })).toMatchObject({
        outcome: 'fail',
        sentence: 'Connection refused',
      });
    });

    test('late and not public is refused', async () => {
      const target = await serve({ host: '127.0.0.2' });
      const late: Lookup = async () => ({
        addresses: ['127.0.0.99'],
        second: {
          type: 'A',
          addresses: Promise.resolve(['10.0.0.1']),
          fault: () => null,
          end: () => undefined,
        },
      });
      expect(
        await httpsChecker({ lookup: late })(`http://shop.example:${target.port}/`),
      ).toMatchObject({
        sentence: 'Address is not public',
      });
    });

    test('the only one that the probe could use ends while looking up the name', async () => {
      const { check } = await checkerOf(
        { A: ['93.184.216.34'], AAAA: null },
        { 4: false, 6: true },
      );
      expect(await check('http://shop.example:9/', {}, { timeout_ms: 900 })).toMatchObject({
        outcome: 'fail',
        sentence: 'No complete answer within 900 ms (while looking up the name)',
        phases: { tcp: null },
        evidence: { lookup: { note: 'AAAA was not answered' } },
      });
    });

    test('asked for alone is waited for', async () => {
      const { check } = await checkerOf({ A: ['127.0.0.1'], AAAA: null });
      expect(
        await check('http://shop.example:9/', { ip_family: '6' }, { timeout_ms: 900 }),
      ).toMatchObject({
        outcome: 'fail',
        sentence: 'No complete answer within 900 ms (while looking up the name)',
      });
    });
  });

  describe('names and addresses', () => {
    const leadsTo =
      (...addresses: readonly string[]): Lookup =>
      async () => ({ addresses });

    test('an address that does not answer is passed over for one that does', async () => {
      const target = await serve();
      const checker = httpsChecker({ lookup: leadsTo('127.0.0.99', '127.0.0.1') });
      expect(await checker(`http://pool.example:${target.port}/`)).toMatchObject({
        outcome: 'ok',
        evidence: {
          address: '127.0.0.1',
          attempts: [
            { address: '127.0.0.99', code: 'ECONNREFUSED' },
            { address: '127.0.0.1', code: null },
          ],
        },
      });
    });

    test('more than six that refuse at once are passed over for one that does not', async () => {
      const target = await serve();
      const refusing = Array.from({ length: 12 }, (_, i) => `127.0.0.${100 + i}`);
      const checker = httpsChecker({ lookup: leadsTo(...refusing, '127.0.0.1') });
      expect(await checker(`http://pool.example:${target.port}/`)).toMatchObject({
        outcome: 'ok',
        evidence: { address: '127.0.0.1', addresses_tried: '13 of 13' },
      });
    });

    test('a name is no list of machines to scan: of very many that refuse, a few are tried', async () => {
      const refusing = Array.from({ length: 200 }, (_, i) => `127.0.1.${i + 1}`);
      expect(
        await httpsChecker({ lookup: leadsTo(...refusing) })('http://pool.example:9/'),
      ).toMatchObject({
        outcome: 'fail',
        sentence: 'Connection refused',
        evidence: { addresses_tried: '32 of 200' },
      });
    });

    test('one address that is not public refuses them all, and none is connected to', async () => {
      const target = await serve();
      const checker = httpsChecker({ lookup: leadsTo('127.0.0.1', '10.0.0.1') });
      expect(await checker(`http://mixed.example:${target.port}/`)).toMatchObject({
        outcome: 'fail',
        sentence: 'Address is not public',
      });
      expect(target.connections()).toBe(0);
    });

    test('an address that other probes may reach is beyond this probe alone: unknown, and the address is not shown', async () => {
      const probe = {
        id: 'a',
        name: 'a',
        continent: 'Asia',
        organisation: null,
        healthy: false,
        quarantined: false,
      } as const;
      const beside = (others: readonly Partial<RosterProbe>[]) =>
        httpsChecker({
          lookup: leadsTo('10.0.0.1', '127.0.0.1'),
          guard: createGuard({
            allow: ['127.0.0.0/8'],
            bus: () => [],
            own: () => [],
            roster: () => ({ epoch: 1, probes: others.map((other) => ({ ...probe, ...other })) }),
          }),
        })('http://inside.example:9/');
      const lan = { allowed_cidrs: ['10.0.0.0/8', '127.0.0.1'] };
      expect(await beside([{}, lan])).toMatchObject({
        outcome: 'unknown',
        sentence: 'The host of this probe does not allow that address',
        evidence: { addresses: [] },
      });
      const outage = { outcome: 'fail', sentence: 'Address is not public' };
      // Nobody may; only a part of what the name leads to; only somebody's private probe.
      for (const others of [
        [],
        [{}],
        [{ allowed_cidrs: ['10.0.0.0/8'] }],
        [{ ...lan, organisation: 'o' }],
      ])
        expect(await beside(others)).toMatchObject(outage);
    });

    test('a name that resolves differently at its second look-up meets the guard there too', async () => {
      const [home, trap] = await Promise.all([serve(), serve({ host: '127.0.0.2' })]);
      let asked = 0;
      const checker = httpsChecker({
        allow: ['127.0.0.1/32'],
        lookup: async () => {
          asked += 1;
          return { addresses: [asked === 1 ? '127.0.0.1' : '127.0.0.2'] };
        },
      });
      home.answer(
        answerBy(() => ({
          status: 302,
          headers: { location: `http://rebinding.example:${trap.port}/` },
        })),
      );
      expect(await checker(`http://rebinding.example:${home.port}/`)).toMatchObject({
        outcome: 'fail',
        sentence: 'Address is not public',
      });
      expect(asked).toBe(2);
      expect(home.connections()).toBe(1);
      expect(trap.connections()).toBe(0);
    });

    test('without configuration, a probe connects to nothing of this machine', async () => {
      const target = await serve();
      const strict = httpsChecker({ allow: [] });
      const { port } = target;
      for (const host of [
        '127.0.0.1',
        'localhost',
        '0x7f.1',
        '2130706433',
        '0177.0.0.1',
        '127.1',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '0.0.0.0',
        '[::]',
        '[::1]',
        '１２７.0.0.1',
        '[64:ff9b::7f00:1]',
        '[2002:7f00:1::]',
        '169.254.169.254',
      ]) {
        expect(await strict(`http://${host}:${port}/`), host).toMatchObject({
          outcome: 'fail',
          sentence: 'Address is not public',
        });
      }
      expect(target.connections()).toBe(0);
    });

    test('a probe without IPv6 does not fail a target that has nothing else', async () => {
      const checker = httpsChecker({
        lookup: leadsTo('2001:4860:4860::8888'),
        families: { 4: true, 6: false },
      });
      expect(await checker('http://six.example:9/')).toMatchObject({
        outcome: 'unknown',
        sentence: 'The probe has no IPv6 and the target has nothing else',
        phases: { tcp: null },
      });
    });

    test('a probe without IPv6 checks a target that has both by IPv4', async () => {
      const target = await serve();
      const checker = httpsChecker({
        lookup: leadsTo('2001:4860:4860::8888', '127.0.0.1'),
        families: { 4: true, 6: false },
      });
      expect(await checker(`http://both.example:${target.port}/`)).toMatchObject({
        outcome: 'ok',
        evidence: { attempts: [{ address: '127.0.0.1' }] },
      });
    });

    test('an address of the wrong family is no address', async () => {
      const target = await serve();
      expect(await check(target.url(), { ip_family: '6' })).toMatchObject({
        outcome: 'fail',
        sentence: 'The name has no IPv6 address',
      });
      expect(await check(target.url(), { ip_family: '4' })).toMatchObject({ outcome: 'ok' });
    });
  });
});

describe('lookup', () => {
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
      const rcode = entry
        ? ((type === 'A' ? entry.codeOfA : entry.codeOfAAAA) ?? entry.code ?? 0)
        : 3;
      const answers = (entry?.[type] ?? []).map(
        (data) => ({ type, name, ttl: 3_600, data }) as const,
      );
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
    ] as const)(
      '%s, family %s, on a probe with %j, gives %j',
      async (name, family, families, expected) => {
        const { lookup } = await lookupIn(() => zone, families);
        expect(await lookup(name, family)).toEqual(expected);
      },
    );

    test('is resolved each time, whatever its time to live', async () => {
      let now: Zone = { 'moving.example': { A: ['192.0.2.1'] } };
      const { lookup, asked } = await lookupIn(() => now, onlyFour);
      expect(await lookup('moving.example', 'any')).toEqual({ addresses: ['192.0.2.1'] });
      now = { 'moving.example': { A: ['192.0.2.9'] } };
      expect(await lookup('moving.example', 'any')).toEqual({ addresses: ['192.0.2.9'] });
      now = {};
      expect(await lookup('moving.example', 'any')).toEqual({ code: 'ENOTFOUND' });
      expect(asked).toEqual(['moving.example A', 'moving.example A', 'moving.example A']);
    });

    test('of this machine is not resolved', async () => {
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
      answerTo(query, {
        rcode,
        answers: [{ type: 'CNAME', name, ttl: 60, data: 'elsewhere.example' }],
      }),
    );
    expect(await look('shop.example')).toEqual({ code: 'ENODATA' });
  });

  test('a resolver that drops questions with EDNS is asked without it from the third time on', async () => {
    const asked: boolean[] = [];
    const look = await lookupBy(({ query, name }) => {
      const hasEdns = (dnsPacket.decode(query).additionals ?? []).length > 0;
      asked.push(hasEdns);
      return hasEdns
        ? null
        : answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.1' }] });
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
          return hasEdns
            ? null
            : answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.1' }] });
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
    expect(await look('shop.example', 'any', deadlineIn(1_500))).toMatchObject({
      addresses: ['192.0.2.1'],
    });
    expect(asked).toEqual([true, true, false]);
  });

  describe('an answer that cannot be read', () => {
    const unreadable = (query: Buffer): Buffer =>
      rawAnswerTo(query, 3, Buffer.from('c00c0001000100', 'hex'));
    const address = (query: Buffer, name: string): Buffer =>
      answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.1' }] });

    test('breaks no other look-up under way', async () => {
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
      const others = Array.from({ length: 60 }, (_, i) =>
        look(`well-${i}.example`, 'any', deadlineIn(20_000)),
      );
      const hostile = Array.from({ length: 40 }, (_, i) =>
        look(`hostile-${i}.example`, 'any', deadlineIn(20_000)),
      );
      expect(await Promise.all(hostile)).toMatchObject(hostile.map(() => ({ code: 'EBADRESP' })));
      for (const { query, name, port } of held) resolver.send(address(query, name), port);
      expect(await Promise.all(others)).toMatchObject(
        others.map(() => ({ addresses: ['192.0.2.1'] })),
      );
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

    test('that comes again is the fault of the name servers', async () => {
      const look = await lookupBy(({ query }) => unreadable(query));
      expect(await look('shop.example')).toEqual({ code: 'EBADRESP' });
    });

    test('that does not come again proves nothing about the name', async () => {
      let asked = 0;
      const look = await lookupBy(({ query }) => {
        asked += 1;
        return asked === 1 ? unreadable(query) : null;
      });
      expect(await look('shop.example', 800)).toEqual({ code: 'OWN_RESOLVER' });
    });
  });
});
