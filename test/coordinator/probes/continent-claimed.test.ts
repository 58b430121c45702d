import { describe, expect, test } from 'vitest';
import {
  doubtedOf,
  doubtSentence,
  isImpossible,
  leastDistanceKm,
  measurable,
  measurersOf,
  type Placed,
  roundTripOf,
} from '../../../coordinator/probes/location.ts';
import { continents } from '../../../shared/base/continents.ts';
import { noPhases } from '../../../shared/checks/result.ts';
import fc from '../../support/random.ts';

const frankfurt: Placed = { id: 'frankfurt', continent: 'Europe' };
const lagos: Placed = { id: 'lagos', continent: 'Africa' };
const virginia: Placed = { id: 'virginia', continent: 'North America' };
const singapore: Placed = { id: 'singapore', continent: 'Asia' };
const sydney: Placed = { id: 'sydney', continent: 'Oceania' };
const saoPaulo: Placed = { id: 'sao-paulo', continent: 'South America' };
const all = [frankfurt, lagos, virginia, singapore, sydney, saoPaulo];
const trip = (one: string, other: string, ms: number) => ({ one, other, ms });

describe('where a probe can be', () => {
  test('is consistent with round trips like real ones', () => {
    const real = [
      trip('frankfurt', 'lagos', 92),
      trip('frankfurt', 'virginia', 88),
      trip('frankfurt', 'singapore', 155),
      trip('frankfurt', 'sydney', 275),
      trip('frankfurt', 'sao-paulo', 195),
      trip('virginia', 'sao-paulo', 115),
      trip('virginia', 'sydney', 198),
      trip('singapore', 'sydney', 92),
      trip('lagos', 'sao-paulo', 200),
      trip('sydney', 'sao-paulo', 310),
    ];
    expect(doubtedOf(all, real)).toEqual(new Set());
  });

  test('cannot be Oceania for one that is as near to Europe and to Africa as a host in Frankfurt', () => {
    const liar: Placed = { id: 'liar', continent: 'Oceania' };
    const trips = [
      trip('liar', 'frankfurt', 4),
      trip('lagos', 'liar', 44),
      trip('liar', 'virginia', 88),
    ];
    expect(doubtedOf([...all, liar], trips)).toEqual(new Set(['liar']));
    expect(doubtedOf([...all, liar], [...trips].reverse())).toEqual(new Set(['liar']));
  });

  test('is not disproved by one continent alone, however many probes are there, because the measuring one may be elsewhere', () => {
    const liar: Placed = { id: 'liar', continent: 'South America' };
    const second: Placed = { id: 'paris', continent: 'Europe' };
    expect(
      doubtedOf([...all, liar, second], [trip('liar', 'frankfurt', 4), trip('liar', 'paris', 9)]),
    ).toEqual(new Set());
  });

  test('is never disproved by continents that touch, or by the same one', () => {
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
    const odd = [
      trip('liar', 'nobody', 1),
      trip('liar', 'frankfurt', Number.NaN),
      trip('liar', 'lagos', -1),
    ];
    expect(doubtedOf([...all, liar], odd)).toEqual(new Set());
  });

  test('is limited equally from both sides, and less by longer trips', () => {
    const continent = fc.constantFrom(...continents);
    fc.assert(
      fc.property(
        continent,
        continent,
        fc.integer({ min: 0, max: 400 }),
        fc.integer({ min: 0, max: 400 }),
        (one, other, ms, more) => {
          expect(leastDistanceKm(one, other)).toBe(leastDistanceKm(other, one));
          expect(isImpossible(one, other, ms)).toBe(isImpossible(other, one, ms));
          if (!isImpossible(one, other, ms))
            expect(isImpossible(one, other, ms + more)).toBe(false);
        },
      ),
    );
  });

  test('a probe with a false continent puts no other in doubt', () => {
    const place = fc.constantFrom(...continents);
    // All but the liar are where they say: their trips are possible. What the liar measures is
    // whatever it likes.
    fc.assert(
      fc.property(
        place,
        fc.array(fc.tuple(fc.nat(all.length - 1), fc.integer({ min: 0, max: 300 })), {
          maxLength: 20,
        }),
        (continent, said) => {
          const liar: Placed = { id: 'liar', continent };
          const trips = said.map(([at, ms]) => trip('liar', all[at]?.id ?? '', ms));
          expect([...doubtedOf([...all, liar], trips)].filter((id) => id !== 'liar')).toEqual([]);
        },
      ),
    );
  });
});

describe('measured targets', () => {
  const at = (place: Placed, address?: string) => ({ ...place, address });

  test('are probes at public addresses of their own', () => {
    const addressed = [
      at(frankfurt, '198.41.0.4'),
      at(lagos, '10.0.0.7'),
      at(virginia, '127.0.0.1'),
      at(singapore),
      at(sydney, 'no address'),
      at(saoPaulo, '2a00:1450:4001:80e::200e'),
    ];
    expect(measurable(addressed).map(({ id }) => id)).toEqual(['frankfurt', 'sao-paulo']);
  });

  test('exclude an address that probes of several continents use, as through one gateway', () => {
    const second: Placed = { id: 'paris', continent: 'Europe' };
    const shared = [
      at(frankfurt, '198.41.0.4'),
      at(second, '198.41.0.4'),
      at(lagos, '199.9.14.201'),
      at(sydney, '199.9.14.201'),
    ];
    expect(measurable(shared).map(({ id }) => id)).toEqual(['frankfurt', 'paris']);
  });

  test('are measured by one probe of each continent that could prove anything, another one each time', () => {
    const able = [...all, { id: 'paris', continent: 'Europe' } as const];
    const by = (round: number) => measurersOf(sydney, able, round).map(({ id }) => id);
    expect(by(0)).toEqual(['frankfurt', 'lagos', 'virginia', 'sao-paulo']);
    expect(by(1)).toEqual(['paris', 'lagos', 'virginia', 'sao-paulo']);
    expect(measurersOf(sydney, [sydney, singapore], 0)).toEqual([]);
  });

  test('count when the host itself accepted or refused the connection, and never when a middlebox may have answered', () => {
    const phases = { ...noPhases, tcp: 12 };
    const failed = (name: string) =>
      roundTripOf({ outcome: 'fail', cause: { class: name, params: {} }, phases });
    expect(roundTripOf({ outcome: 'ok', cause: null, phases })).toBe(12);
    for (const name of ['connection_refused', 'tls_not_spoken', 'tls_closed', 'unexpected_status'])
      expect(failed(name)).toBe(12);
    for (const name of [
      'host_unreachable',
      'network_unreachable',
      'connection_failed',
      'connection_reset',
      'timeout',
      'of_tomorrow',
    ])
      expect(failed(name)).toBeUndefined();
    expect(
      roundTripOf({
        outcome: 'unknown',
        cause: { class: 'connection_refused', params: {} },
        phases,
      }),
    ).toBeUndefined();
    expect(roundTripOf({ outcome: 'ok', cause: null, phases: null })).toBeUndefined();
  });

  test('a mismatch says which distances are too short', () => {
    const liar = { id: 'liar', name: 'Suva', continent: 'Oceania' } as const;
    const named = [liar, ...all.map((one) => ({ ...one, name: one.id }))];
    const trips = [
      trip('frankfurt', 'liar', 9),
      trip('liar', 'frankfurt', 3.2),
      trip('lagos', 'liar', 31),
      trip('virginia', 'liar', 90),
    ];
    expect(doubtSentence(liar, named, trips)).toBe(
      'It answers frankfurt (Europe) in 4 ms and lagos (Africa) in 31 ms: no host in Oceania can be so near',
    );
  });
});
