import { describe, expect, test } from 'vitest';
import {
  type Failing,
  findCauses,
  keepCauses,
  type Passing,
  type Share,
  suspectCauses,
} from '../../../coordinator/core/causes.ts';
import { causeFault } from '../../simulation/cause-mix.ts';

const began = 1_000_000;
const minute = 60_000;
const address = (value: string): Share => ({ kind: 'address', value });
const server = address('203.0.113.7:443');

function failing(nth: number, shares: readonly Share[], other: Partial<Failing> = {}): Failing {
  return {
    incident: `i${nth}`,
    passed_at: began - 1_000 * nth,
    failed_at: began - 1_000 * nth + minute,
    layer: 'tcp',
    manner: 'unreachable',
    shares,
    ...other,
  };
}

const many = <T>(count: number, make: (nth: number) => T): T[] =>
  Array.from({ length: count }, (_, nth) => make(nth));
const passes = (shares: readonly Share[], passed_at = began + minute): Passing => ({
  passed_at,
  shares,
});

describe('rule 48: outages that began together and share what failed have one cause', () => {
  test('which says how many fail and pass', () => {
    const found = findCauses(
      many(30, (nth) => failing(nth, [server])),
      many(41, (nth) => passes([address(`198.51.100.${nth}:443`)])),
    );
    expect(found).toMatchObject([
      { ...server, began_at: began, passing: 0, others: { failing: 0, all: 41 } },
    ]);
    expect(found[0]?.members).toHaveLength(30);
  });

  test('two that broke in the same minute are two', () => {
    const zone: Share = { kind: 'zone', value: 'shop.example' };
    const found = findCauses(
      [
        ...many(5, (nth) => failing(nth, [server])),
        ...many(4, (nth) => failing(nth + 5, [zone], { layer: 'dns', manner: 'name' })),
      ],
      many(20, () => passes([])),
    );
    expect(found.map(({ kind, members }) => [kind, members.length])).toEqual([
      ['address', 5],
      ['zone', 4],
    ]);
  });

  test('the narrowest is named of several that explain the same', () => {
    const shares: Share[] = [
      { kind: 'issuer', value: 'Ada' },
      { kind: 'certificate', value: '00' },
    ];
    const found = findCauses(
      many(5, (nth) => failing(nth, shares, { layer: 'tls', manner: 'certificate_expired' })),
      many(20, () => passes([])),
    );
    expect(found.map(({ kind }) => kind)).toEqual(['certificate']);
  });
});

describe('rule 49: without enough evidence there is no cause', () => {
  const others = many(20, () => passes([]));

  test('of two', () => {
    expect(
      findCauses(
        many(2, (nth) => failing(nth, [server])),
        others,
      ),
    ).toEqual([]);
  });

  test('where what shares it passes', () => {
    const sharing = many(3, () => passes([server]));
    const three = many(3, (nth) => failing(nth, [server]));
    expect(findCauses(three, [...others, ...sharing])).toEqual([]);
  });

  test('while most of what shares it was not checked since', () => {
    const three = many(3, (nth) => failing(nth, [server]));
    const before = many(3, () => passes([server], began - 1));
    expect(findCauses(three, [...others, ...before])).toEqual([]);
    expect(findCauses(three, [...others, ...before.slice(1)])).toHaveLength(1);
  });

  test('where they did not begin together', () => {
    const one = (nth: number) =>
      failing(nth, [server], { passed_at: nth * 10 * minute, failed_at: nth * 10 * minute + 1 });
    expect(findCauses(many(5, one), others)).toEqual([]);
  });

  test('where they fail in a layer that it does not explain, or in different ways', () => {
    const wrong = (nth: number) => failing(nth, [server], { layer: 'dns', manner: 'name' });
    expect(findCauses(many(5, wrong), others)).toEqual([]);
    const different = (nth: number) =>
      failing(nth, [server], { layer: 'http', manner: String(500 + nth) });
    expect(findCauses(many(5, different), others)).toEqual([]);
  });

  test('where three fail and nothing else is known', () => {
    expect(
      findCauses(
        many(3, (nth) => failing(nth, [server])),
        [],
      ),
    ).toEqual([]);
  });
});

test('rule 50: what fails alike joins while at least half of its outages go on', () => {
  const cause = { ...server, id: 'c', began_at: began, manners: ['unreachable'], members: ['i0'] };
  const both = many(2, (nth) => failing(nth, [server]));
  const joins = keepCauses([{ ...cause, grows: true }], both);
  expect(joins).toEqual({ kept: [{ id: 'c', members: ['i0', 'i1'] }], left: [] });
  const { kept, left } = keepCauses([{ ...cause, grows: false }], both);
  expect([kept, left]).toEqual([[{ id: 'c', members: ['i0'] }], both.slice(1)]);
});

describe('rule 51: two that may have a common cause', () => {
  const others = many(20, () => passes([]));
  const unlooked = (nth: number) => ({ ...passes([server], began - 1), nth });

  test('are suspected, and some of what shares it is asked', () => {
    const two = many(2, (nth) => failing(nth, [server]));
    const { incidents, toAsk } = suspectCauses(two, [...others, ...many(200, unlooked)]);
    expect([...incidents].toSorted()).toEqual(['i0', 'i1']);
    expect(toAsk.map((one) => ('nth' in one ? one.nth : null))).toEqual(many(50, (nth) => nth * 4));
  });

  test('are not where nothing else shares it, or what does has passed since', () => {
    const two = many(2, (nth) => failing(nth, [server]));
    expect(suspectCauses(two, others).incidents.size).toBe(0);
    const sharing = many(3, () => passes([server]));
    expect(suspectCauses(two, [...others, ...sharing, unlooked(0)]).incidents.size).toBe(0);
  });

  test('have one where those that were asked fail, too, and stand for the rest', () => {
    const failed = many(12, (nth) => failing(nth, [server], { asked: nth > 1 }));
    const rest = many(500, unlooked);
    expect(findCauses(failed, [...others, ...rest])).toHaveLength(1);
    const pass = many(4, (nth) => ({ ...unlooked(nth), asked: true }));
    expect(findCauses(failed, [...others, ...rest, ...pass])).toEqual([]);
    expect(findCauses(failed.slice(1), [...others, ...rest])).toHaveLength(1);
    expect(findCauses(failed.slice(0, 11), [...others, ...rest])).toEqual([]);
  });
});

test('rules 48 and 49: of 10,000 mixes, 3 % of planted causes are missed and 1 % of members are unrelated at most', () => {
  expect(causeFault(0, 10_000)).toBeUndefined();
});
