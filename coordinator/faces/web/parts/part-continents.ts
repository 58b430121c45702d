/** Continents as pages show them: a name that is short enough, where they lie on the map, and a line that differs by more than colour. */
export const shortNames: Readonly<Record<string, string>> = { 'North America': 'N. America', 'South America': 'S. America' };

export const shortName = (continent: string): string => shortNames[continent] ?? continent;

/** In the order of the legend. */
export const continentOrder = ['Europe', 'North America', 'Asia', 'Africa', 'South America', 'Oceania', 'Antarctica'];

export const byContinent = (one: { readonly continent: string }, other: { readonly continent: string }): number =>
  continentOrder.indexOf(one.continent) - continentOrder.indexOf(other.continent);

/** The class of a continent's line: its colour and its dashes stand in the style. */
export const lineClass = (continent: string): string => `line-${continent.toLowerCase().replaceAll(' ', '-')}`;
