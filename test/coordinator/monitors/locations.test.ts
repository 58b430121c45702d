import { describe, expect, test } from 'vitest';
import {
  type Checker,
  locate,
  placeName,
  refuseUnreachable,
} from '../../../coordinator/monitors/locations.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { configFaults } from '../../../shared/checks/config.ts';

const organisation = '01890000-0000-7000-8000-000000000001';
const strangers = '01890000-0000-7000-8000-000000000002';
const idOf = (nth: number): string => `01890000-0000-7000-8000-${String(nth).padStart(12, '0')}`;

const open = (
  nth: number,
  continent: Checker['continent'],
  region: string | null = null,
  more: Partial<Checker> = {},
): Checker => ({
  id: idOf(nth),
  organisation: null,
  place: null,
  place_name: null,
  continent,
  region,
  allowed_cidrs: [],
  kinds: ['places'],
  ...more,
});

const own = (nth: number, place_name: string, more: Partial<Checker> = {}): Checker => ({
  ...open(nth, 'Europe'),
  organisation,
  place: idOf(nth),
  place_name,
  ...more,
});

const office = idOf(11);
const checkers = [
  open(1, 'Europe', 'Frankfurt'),
  open(2, 'Europe'),
  open(3, 'North America', 'Springfield'),
  open(4, 'Oceania', 'Springfield'),
  own(11, 'Office'),
  own(12, 'Office', { place: office }),
  own(13, 'Springfield'),
  own(14, 'Europe'),
  own(15, 'Europe/Paris'),
  own(16, 'Their office', { organisation: strangers }),
];

const located = (...places: readonly string[]) => locate({ places }, organisation, checkers);
const refusal = (attempt: () => unknown): [code: string, message: string] => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.message];
    throw error;
  }
  return ['taken', ''];
};

describe('the places of a config', () => {
  test.each([
    ['continent:Europe', 'Europe', 'continent:Europe'],
    [' continent: North America ', 'North America', 'continent:North America'],
    ['Europe', 'Europe', 'continent:Europe'],
    ['Europe/Frankfurt', 'Europe/Frankfurt', 'Europe/Frankfurt'],
    ['Frankfurt', 'Europe/Frankfurt', 'Europe/Frankfurt'],
    ['Office', office, 'Office'],
    [office.toUpperCase(), office, 'Office'],
    ['any probe of it', office, 'Office'],
    // An own place comes before a region of its name, and after an id.
    ['Springfield', idOf(13), 'Springfield'],
    ['Oceania/Springfield', 'Oceania/Springfield', 'Oceania/Springfield'],
    [idOf(14), idOf(14), idOf(14)],
    [idOf(15), idOf(15), idOf(15)],
  ])('%s is found, and named so that it is found again', (called, id, name) => {
    const sent = called === 'any probe of it' ? idOf(12) : called;
    expect(located(sent)).toEqual({ config: { places: [name] }, places: [id] });
    expect(located(name)).toEqual({ config: { places: [name] }, places: [id] });
  });

  test('are kept in their order, each once', () => {
    expect(located('Office', 'Europe', office, 'continent:Europe')).toEqual({
      config: { places: ['Office', 'continent:Europe'] },
      places: [office, 'Europe'],
    });
  });

  test.each([
    [
      'Atlantis',
      /^config\.places\[1\]: there is no place "Atlantis"; there are .*Europe\/Frankfurt/,
    ],
    ['continent:Asia', /there is no place "continent:Asia"/],
    ['continent:Office', /there is no place/],
    ['Europe/Paris', /there is no place/],
    ['Asia', /there is no place "Asia"/],
    ['Their office', /there is no place/],
    [idOf(16), /there is no place/],
    [idOf(1), /there is no place/],
    ['office', /there is no place "office"; .*Office/],
  ])('%s is no place: the error lists what there is', (called, message) => {
    const [code, said] = refusal(() => located('continent:Europe', called));
    expect(code).toBe('place_unknown');
    expect(said).toMatch(message);
    expect(said).not.toContain(strangers);
    expect(said.replace('"Their office"', '')).not.toContain('Their office');
  });

  test('a name of several regions is refused with their ids', () => {
    const public_ = checkers.filter((checker) => checker.organisation === null);
    expect(refusal(() => locate({ places: ['Springfield'] }, organisation, public_))).toEqual([
      'place_unknown',
      'config.places[0]: "Springfield" is in 2 places; choose one of North America/Springfield, Oceania/Springfield.',
    ]);
  });

  test('without any probe there are none', () => {
    expect(refusal(() => locate({ places: ['Europe'] }, organisation, []))[1]).toContain(
      'there are no probes yet',
    );
  });

  test('a renamed place is named by its new name, and one that is gone by its id', () => {
    const renamed = [own(11, 'Office Berlin')];
    expect(placeName(office, organisation, renamed)).toBe('Office Berlin');
    expect(placeName(office, organisation, [])).toBe(office);
  });
});

describe('inside_counts', () => {
  const choice = (...places: readonly string[]) =>
    refusal(() => locate({ places, inside_counts: true }, organisation, checkers))[0];

  test('is for places of both sides', () => {
    expect(choice('Office', 'continent:Europe')).toBe('taken');
    expect(choice('Office', 'Springfield')).toBe('config_invalid');
    expect(choice('continent:Europe', 'Europe/Frankfurt')).toBe('config_invalid');
    for (const config of [{}, { probe: office }, { continents: ['Europe'] }])
      expect(
        refusal(() => locate({ ...config, inside_counts: true }, organisation, checkers))[0],
      ).toBe('config_invalid');
    const without = { places: ['Office'], inside_counts: false };
    expect(locate(without, organisation, checkers).config).toEqual(without);
  });
});

test('places stand for themselves: continents and a probe beside them are faults', () => {
  const faults = (config: Config) =>
    configFaults('https', 'https://example.com/', config, 60).map(({ key }) => key);
  expect(faults({ places: ['Europe'] })).toEqual([]);
  expect(faults({ places: ['Europe'], continents: null, probe: null })).toEqual([]);
  expect(faults({ places: ['Europe'], continents: ['Europe'] })).toEqual(['places']);
  expect(faults({ places: ['Office'], probe: office })).toEqual(['places']);
  expect(faults({ places: [] })).toEqual(['places']);
  expect(faults({ places: Array.from({ length: 21 }, (_, nth) => `Office ${nth}`) })).toEqual([
    'places',
  ]);
});

describe('every chosen place', () => {
  const reaching = ['10.0.0.0/8'];
  const judged = (config: Config, target: string, of: readonly Checker[], kind: 'https' | 'tcp') =>
    refusal(() =>
      refuseUnreachable({ kind, target, organisation, ...locate(config, organisation, of) }, of),
    );

  test('must have a probe that makes the check', () => {
    const of = [open(1, 'Europe', null, { kinds: ['tcp', 'places'] }), own(11, 'Office')];
    const at = (...places: string[]) => judged({ places }, 'db.example:5432', of, 'tcp');
    expect(at('Europe')[0]).toBe('taken');
    expect(at('Europe', 'Office')).toEqual([
      'nobody_can_check',
      expect.stringContaining('no probe of "Office" makes tcp checks'),
    ]);
  });

  test('must reach a private address: a private one with all of its probes', () => {
    const of = [
      open(1, 'Europe'),
      own(11, 'Office', { allowed_cidrs: reaching }),
      own(12, 'Warehouse', { allowed_cidrs: reaching }),
      own(13, 'Warehouse', { place: idOf(12) }),
    ];
    const at = (...places: string[]) => judged({ places }, 'http://10.1.2.3/', of, 'https');
    expect(at('Office')[0]).toBe('taken');
    expect(at('Office', 'Europe')).toEqual([
      'target_forbidden',
      expect.stringContaining('no probe of "continent:Europe" may reach it; leave that place out'),
    ]);
    expect(at('Warehouse')).toEqual([
      'target_forbidden',
      expect.stringContaining('only some of the probes of "Warehouse" may reach it'),
    ]);
  });

  test('must have a probe at all', () => {
    const monitor = { kind: 'https' as const, target: 'https://example.com/', organisation };
    const gone = { config: { places: ['Office'] }, places: [office] };
    expect(refusal(() => refuseUnreachable({ ...monitor, ...gone }, []))).toEqual([
      'nobody_can_check',
      'config.places: "Office" has no probe any more; leave it out, or choose another place.',
    ]);
  });
});
