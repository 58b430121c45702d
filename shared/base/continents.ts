/** The seven continents, spelled as the API returns them. */
export const continents = [
  'Africa',
  'Antarctica',
  'Asia',
  'Europe',
  'North America',
  'Oceania',
  'South America',
] as const;
export type Continent = (typeof continents)[number];

export function isContinent(text: unknown): text is Continent {
  return continents.some((continent) => continent === text);
}

/** A continent as one token of a bus subject, where spaces are not allowed. */
export function continentToken(continent: Continent): string {
  return continent.toLowerCase().replaceAll(' ', '-');
}
