import { describe, expect, test } from 'vitest';
import { configFrom, formOfConfig } from '../../../../coordinator/monitors/pages/form-config.ts';
import { locationsFor } from '../../../../coordinator/monitors/pages/form-locations.ts';
import { formOf } from '../../../../coordinator/web/form-data.ts';

const office = '01890000-0000-7000-8000-0000000000aa';
const shed = '01890000-0000-7000-8000-0000000000bb';
const place = { continent: 'Europe', probes: ['rack 1', 'rack 2'] };
const offered = {
  continents: ['Asia', 'Europe'],
  regions: ['Europe/Frankfurt'],
  places: [
    { ...place, id: office, name: 'Office', called: 'Office' },
    // A name that means another place: a config has its id.
    { ...place, id: shed, name: 'Europe', called: shed, probes: ['shed'] },
  ],
};

type Config = Readonly<Record<string, unknown>>;

const shown = (config: Config) =>
  formOfConfig('https', config, locationsFor(offered, config))['config.places[]'];

const saved = (names: readonly string[], stored: Config = {}) => {
  const from = locationsFor(offered, stored);
  const form = formOf({
    ...formOfConfig('https', stored, from),
    'config.places[]': ['', ...names],
  });
  return configFrom('https', form, stored, from).config;
};

describe('the boxes of locations', () => {
  test('are in groups, once there is more than continents', () => {
    const labels = (from: Parameters<typeof locationsFor>[0], config: Config = {}) =>
      locationsFor(from, config).choices.map(({ group = null, label }) => [group, label]);
    expect(labels(offered)).toEqual([
      ['Continents', 'Asia'],
      ['Continents', 'Europe'],
      ['Places', 'Frankfurt, Europe'],
      ['Your places', 'Office, Europe (2 probes)'],
      ['Your places', 'Europe, Europe'],
    ]);
    expect(labels({ ...offered, regions: [], places: [] })).toEqual([
      [null, 'Asia'],
      [null, 'Europe'],
    ]);
    expect(
      labels({ ...offered, regions: [], places: [] }, { places: ['Gone', 'continent:Africa'] }),
    ).toEqual([
      ['Continents', 'Africa'],
      ['Continents', 'Asia'],
      ['Continents', 'Europe'],
      ['Your places', 'Gone'],
    ]);
  });

  test.each<[string, Config, readonly string[]]>([
    ['nothing: every continent', {}, ['continent:Asia', 'continent:Europe']],
    ['continents', { continents: ['Asia'] }, ['continent:Asia']],
    ['a private place', { probe: office }, ['Office']],
    ['places', { places: ['Europe/Frankfurt', shed] }, ['Europe/Frankfurt', shed]],
  ])('show %s, and leave it as it is written', (_, config, names) => {
    expect(shown(config)).toEqual(names);
    expect(saved(names, config)).toEqual(config);
  });

  test.each<[string, readonly string[], Config]>([
    ['every continent', ['continent:Asia', 'continent:Europe'], {}],
    ['some continents', ['continent:Asia'], { continents: ['Asia'] }],
    ['one private place', ['Office'], { probe: office }],
    ['one with a name that means another', [shed], { probe: shed }],
    ['a region', ['Europe/Frankfurt'], { places: ['Europe/Frankfurt'] }],
    ['both sides', ['Office', 'continent:Asia'], { places: ['Office', 'continent:Asia'] }],
    ['two private places', ['Office', shed], { places: [shed, 'Office'] }],
  ])('%s are written in the simplest way, whatever was there', (_, names, config) => {
    for (const stored of [{ places: ['Office', 'Europe/Frankfurt'] }, { continents: ['Europe'] }])
      expect(saved(names, { ...stored, timeout_ms: 5_000 })).toEqual({
        ...config,
        timeout_ms: 5_000,
      });
  });
});
