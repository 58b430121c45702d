import { isContinent } from '../../../shared/base/continents.ts';
import { type Choice, choiceField, hiddenField } from '../../web/forms.ts';
import { html } from '../../web/html.ts';
import type { Locations, Widget } from './form-values.ts';

/**
 * From where a monitor is checked, as one list of boxes: continents, regions and private places.
 * The keys `continents` and `probe` are ways to say the simple choices, and probes of any version
 * know them; all others are `places`.
 */

type Config = Readonly<Record<string, unknown>>;

type Offered = {
  readonly continents: readonly string[];
  readonly regions: readonly string[];
  readonly places: readonly {
    readonly id: string;
    readonly name: string;
    /** As a config names it. */
    readonly called: string;
    readonly continent: string;
    /** The names of its probes. */
    readonly probes: readonly string[];
  }[];
};

/** The keys that one list of boxes stands for. */
export const locationKeys = ['continents', 'probe', 'places'] as const;

const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** As a box says it; a place whose last probe is gone has no name that anyone could know. */
export function locationLabel(name: string): string {
  if (id.test(name)) return 'A place without a probe';
  const [continent = '', region] = name.split('/');
  return region !== undefined && isContinent(continent)
    ? `${region}, ${continent}`
    : (continentIn(name) ?? name);
}

const prefix = 'continent:';

function continentIn(name: string): string | undefined {
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

/** Those that are offered, and those that this config once chose. */
export function locationsFor(offered: Offered, config: Config = {}): Locations {
  const own = new Map(offered.places.map(({ id, called }) => [id, called]));
  const stored = namesIn(config, own) ?? [];
  const continents = [...offered.continents, ...stored.flatMap((name) => continentIn(name) ?? [])];
  const usual = [...new Set(continents)].toSorted().map(ofContinent);
  const known = new Set([...usual, ...offered.regions, ...own.values()]);
  const gone = stored.filter((name) => !known.has(name));
  const nobody = { help: 'No probe there now.' };
  const groups: readonly (readonly [group: string, choices: readonly Choice[]])[] = [
    [
      'Continents',
      usual.map((value) => ({
        value,
        label: locationLabel(value),
        ...(offered.continents.includes(continentIn(value) ?? '') ? {} : nobody),
      })),
    ],
    ['Places', offered.regions.map((value) => ({ value, label: locationLabel(value) }))],
    [
      'Your places',
      [
        ...offered.places.map(({ name, called, continent, probes }) => ({
          value: called,
          label: `${name}, ${continent}${probes.length > 1 ? ` (${probes.length} probes)` : ''}`,
        })),
        ...gone.map((value) => ({ value, label: locationLabel(value), ...nobody })),
      ],
    ],
  ];
  const some = groups.filter(([, choices]) => choices.length > 0);
  const choices = some.flatMap(([group, each]) =>
    some.length > 1 ? each.map((choice) => ({ ...choice, group })) : each,
  );
  return { choices, usual, own };
}

function ofContinent(continent: string): string {
  return `${prefix}${continent}`;
}

/** The names of the places that a config chooses; undefined where it chooses none. */
function namesIn(
  { places, continents, probe }: Config,
  own: Locations['own'],
): readonly string[] | undefined {
  if (Array.isArray(places)) return places.map(String);
  if (typeof probe === 'string') return [own.get(probe) ?? probe];
  return Array.isArray(continents) ? continents.filter(isContinent).map(ofContinent) : undefined;
}

export function namesChosen(config: Config, { own, usual }: Locations): readonly string[] {
  return namesIn(config, own) ?? usual;
}

/** The keys that say this choice; none for every continent. */
export function configOfNames(
  names: readonly string[],
  { own, usual }: Locations,
): Readonly<Record<string, unknown>> {
  const continents = names.flatMap((name) => continentIn(name) ?? []);
  if (continents.length === names.length)
    return continents.length === usual.length && names.every((name) => usual.includes(name))
      ? {}
      : { continents };
  const [only, ...others] = names;
  const [probe] = [...own].find(([, called]) => called === only) ?? [];
  return others.length === 0 && probe !== undefined ? { probe } : { places: names };
}

/** A selection of none has a meaning. */
export const locations: Widget = {
  write: (stored) => ({ '[]': Array.isArray(stored) ? stored.map(String) : [] }),
  read: (sent) => {
    const all = sent('[]').filter((each) => each !== '');
    return all.length === 0 ? { fault: 'Select at least one.' } : { value: all.toSorted() };
  },
  draw: ({ locations: { choices, own }, name, ...drawn }) =>
    html`
      ${hiddenField(`${name}[]`, '')}
      ${choiceField({
        ...drawn,
        name: `${name}[]`,
        choices,
        several: true,
        help:
          own.size === 0
            ? "Locations take turns and confirm each other's failures. With all selected, new ones are included."
            : "Locations take turns and confirm each other's failures. Public and private locations are judged separately. With all continents selected, new ones are included.",
      })}
    `,
  unset: 'locations',
};
