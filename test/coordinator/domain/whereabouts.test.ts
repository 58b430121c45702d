import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { doubtedOf, isImpossible, leastDistanceKm, type Placed } from '../../../coordinator/domain/whereabouts.ts';
import { continents } from '../../../shared/base/continents.ts';

const frankfurt: Placed = { id: 'frankfurt', continent: 'Europe' };
const lagos: Placed = { id: 'lagos', continent: 'Africa' };
const virginia: Placed = { id: 'virginia', continent: 'North America' };
const singapore: Placed = { id: 'singapore', continent: 'Asia' };
const sydney: Placed = { id: 'sydney', continent: 'Oceania' };
const saoPaulo: Placed = { id: 'sao-paulo', continent: 'South America' };
const all = [frankfurt, lagos, virginia, singapore, sydney, saoPaulo];
const trip = (one: string, other: string, ms: number) => ({ one, other, ms });

describe('where a probe can be', () => {
  test('is not bounded by round trips such as real ones', () => {
    const real = [
      ...[trip('frankfurt', 'lagos', 92), trip('frankfurt', 'virginia', 88), trip('frankfurt', 'singapore', 155)],
      ...[trip('frankfurt', 'sydney', 275), trip('frankfurt', 'sao-paulo', 195), trip('virginia', 'sao-paulo', 115)],
      ...[
        trip('virginia', 'sydney', 198),
        trip('singapore', 'sydney', 92),
        trip('lagos', 'sao-paulo', 200),
        trip('sydney', 'sao-paulo', 310),
      ],
    ];
    expect(doubtedOf(all, real)).toEqual(new Set());
  });

  test('cannot be Oceania for one that is as near to Europe and to Africa as a host in Frankfurt', () => {
    const liar: Placed = { id: 'liar', continent: 'Oceania' };
    const trips = [trip('liar', 'frankfurt', 4), trip('lagos', 'liar', 44), trip('liar', 'virginia', 88)];
    expect(doubtedOf([...all, liar], trips)).toEqual(new Set(['liar']));
    expect(doubtedOf([...all, liar], [...trips].reverse())).toEqual(new Set(['liar']));
  });

  test('is not proven by one continent alone, however many probes stand there, because the one that measures may be elsewhere', () => {
    const liar: Placed = { id: 'liar', continent: 'South America' };
    const second: Placed = { id: 'paris', continent: 'Europe' };
    expect(doubtedOf([...all, liar, second], [trip('liar', 'frankfurt', 4), trip('liar', 'paris', 9)])).toEqual(new Set());
  });

  test('of continents that touch, or of the same one, nothing is ever proven', () => {
    for (const [one, other] of [
      ['Europe', 'Asia'],
      ['Africa', 'Europe'],
      ['North America', 'South America'],
      ['Asia', 'Oceania'],
      ['Europe', 'Europe'],
    ] as const)
      expect(isImpossible(one, other, 0)).toBe(false);
  });

  test('a trip of a probe that is unknown, or that is no number, says nothing', () => {
    const liar: Placed = { id: 'liar', continent: 'Oceania' };
    const odd = [trip('liar', 'nobody', 1), trip('liar', 'frankfurt', Number.NaN), trip('liar', 'lagos', -1)];
    expect(doubtedOf([...all, liar], odd)).toEqual(new Set());
  });

  test('is bounded alike from both sides, and ever less by longer trips', () => {
    const continent = fc.constantFrom(...continents);
    fc.assert(
      fc.property(continent, continent, fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 400 }), (one, other, ms, more) => {
        expect(leastDistanceKm(one, other)).toBe(leastDistanceKm(other, one));
        expect(isImpossible(one, other, ms)).toBe(isImpossible(other, one, ms));
        if (!isImpossible(one, other, ms)) expect(isImpossible(one, other, ms + more)).toBe(false);
      }),
    );
  });

  test('whoever lies about their own place puts nobody else in doubt', () => {
    const place = fc.constantFrom(...continents);
    // All but the liar are where they say: their trips are possible. What the liar measures is whatever it likes.
    fc.assert(
      fc.property(
        place,
        fc.array(fc.tuple(fc.nat(all.length - 1), fc.integer({ min: 0, max: 300 })), { maxLength: 20 }),
        (continent, said) => {
          const liar: Placed = { id: 'liar', continent };
          const trips = said.map(([at, ms]) => trip('liar', all[at]?.id ?? '', ms));
          expect([...doubtedOf([...all, liar], trips)].filter((id) => id !== 'liar')).toEqual([]);
        },
      ),
    );
  });
});
