import dnsPacket from 'dns-packet';
import { afterAll, describe, expect, test } from 'vitest';
import { createLookup, type Families } from '../../../probe/checks/https-lookup.ts';
import { answerTo, type Resolver, startResolver } from '../../support/resolver.ts';

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
afterAll(() => Promise.all(open.map((resolver) => resolver.close())));

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
  return { lookup: createLookup(() => families, [resolver.address]), asked };
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
