import dnsPacket from 'dns-packet';
import { afterAll, describe, expect, test } from 'vitest';
import { createUdpSockets } from '../../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../../probe/checks/guard.ts';
import { createLookup, type Lookup } from '../../../../probe/checks/https/lookup.ts';
import type { RosterProbe } from '../../../../shared/checks/assignment.ts';
import { answerTo, type Resolver, rawAnswerTo, startResolver } from '../../../support/name-servers.ts';
import { httpsChecker } from '../../support/checkers.ts';
import { answerBy, serve } from '../../support/observations.ts';

const check = httpsChecker();
const open: Resolver[] = [];
const sockets = createUdpSockets();
afterAll(async () => {
  sockets.close();
  await Promise.all(open.map((resolver) => resolver.close()));
});

/** An https check of a name whose questions, by type, are answered so; null: only when the test says. */
const checkerOf = async (says: Readonly<Record<'A' | 'AAAA', readonly string[] | null | 'malformed'>>, families = { 4: true, 6: true }) => {
  const held: (() => void)[] = [];
  const resolver = await startResolver(({ query }) => {
    const type = dnsPacket.decode(query).questions?.[0]?.type === 'AAAA' ? 'AAAA' : 'A';
    const name = dnsPacket.decode(query).questions?.[0]?.name ?? '';
    const said = says[type];
    const answer = answerTo(query, {
      answers: said === null || said === 'malformed' ? [] : said.map((data) => ({ type, name, ttl: 60, data })),
    });
    if (said === 'malformed') return rawAnswerTo(query, 3, Buffer.from('c00c0001000100', 'hex'));
    const port = resolver.sources.at(-1) ?? 0;
    if (said === null) held.push(() => resolver.send(answerTo(query, { answers: [{ type, name, ttl: 60, data: '::1' }] }), port));
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
    const { outcome, sentence, phases, evidence } = await check(`http://shop.example:${target.port}/`);
    expect({ outcome, sentence }).toEqual({ outcome: 'ok', sentence: null });
    expect(evidence).toMatchObject({ address: host, lookup: { note: `${type} was not answered` } });
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
      second: { type: 'A', addresses: Promise.resolve(['10.0.0.1']), fault: () => null, end: () => undefined },
    });
    expect(await httpsChecker({ lookup: late })(`http://shop.example:${target.port}/`)).toMatchObject({
      sentence: 'Address is not public',
    });
  });

  test('the only one that the probe could use ends while looking up the name', async () => {
    const { check } = await checkerOf({ A: ['93.184.216.34'], AAAA: null }, { 4: false, 6: true });
    expect(await check('http://shop.example:9/', {}, { timeout_ms: 900 })).toMatchObject({
      outcome: 'fail',
      sentence: 'No complete answer within 900 ms (while looking up the name)',
      phases: { tcp: null },
      evidence: { lookup: { note: 'AAAA was not answered' } },
    });
  });

  test('asked for alone is waited for', async () => {
    const { check } = await checkerOf({ A: ['127.0.0.1'], AAAA: null });
    expect(await check('http://shop.example:9/', { ip_family: '6' }, { timeout_ms: 900 })).toMatchObject({
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
    expect(await httpsChecker({ lookup: leadsTo(...refusing) })('http://pool.example:9/')).toMatchObject({
      outcome: 'fail',
      sentence: 'Connection refused',
      evidence: { addresses_tried: '32 of 200' },
    });
  });

  test('one address that is not public refuses them all, and none is connected to', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('127.0.0.1', '10.0.0.1') });
    expect(await checker(`http://mixed.example:${target.port}/`)).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    expect(target.connections()).toBe(0);
  });

  test('what others who check the same are allowed to reach is beyond this probe alone: unknown, and where it leads is told to nobody', async () => {
    const probe = { id: 'a', name: 'a', continent: 'Asia', organisation: null, healthy: false, quarantined: false } as const;
    const beside = (others: readonly Partial<RosterProbe>[]) =>
      httpsChecker({
        lookup: leadsTo('10.0.0.1', '127.0.0.1'),
        guard: createGuard({
          ...{ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] },
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
    for (const others of [[], [{}], [{ allowed_cidrs: ['10.0.0.0/8'] }], [{ ...lan, organisation: 'o' }]])
      expect(await beside(others)).toMatchObject(outage);
  });

  test('a name that leads elsewhere at its second look-up finds the guard there too', async () => {
    const [home, trap] = await Promise.all([serve(), serve({ host: '127.0.0.2' })]);
    let asked = 0;
    const checker = httpsChecker({
      allow: ['127.0.0.1/32'],
      lookup: async () => {
        asked += 1;
        return { addresses: [asked === 1 ? '127.0.0.1' : '127.0.0.2'] };
      },
    });
    home.answer(answerBy(() => ({ status: 302, headers: { location: `http://rebinding.example:${trap.port}/` } })));
    expect(await checker(`http://rebinding.example:${home.port}/`)).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    expect(asked).toBe(2);
    expect(home.connections()).toBe(1);
    expect(trap.connections()).toBe(0);
  });

  test('without a word from its host, a probe connects to nothing of this machine', async () => {
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
      expect(await strict(`http://${host}:${port}/`), host).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    }
    expect(target.connections()).toBe(0);
  });

  test('a probe without IPv6 does not fail a target that has nothing else', async () => {
    const checker = httpsChecker({ lookup: leadsTo('2001:4860:4860::8888'), families: { 4: true, 6: false } });
    expect(await checker('http://six.example:9/')).toMatchObject({
      outcome: 'unknown',
      sentence: 'The probe has no IPv6 and the target has nothing else',
      phases: { tcp: null },
    });
  });

  test('a probe without IPv6 checks a target that has both by IPv4', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('2001:4860:4860::8888', '127.0.0.1'), families: { 4: true, 6: false } });
    expect(await checker(`http://both.example:${target.port}/`)).toMatchObject({
      outcome: 'ok',
      evidence: { attempts: [{ address: '127.0.0.1' }] },
    });
  });

  test('an address of the wrong family is no address', async () => {
    const target = await serve();
    expect(await check(target.url(), { ip_family: '6' })).toMatchObject({ outcome: 'fail', sentence: 'The name has no IPv6 address' });
    expect(await check(target.url(), { ip_family: '4' })).toMatchObject({ outcome: 'ok' });
  });
});
