import { cookie, cookieOf } from './web-cookies.ts';
import { isZone } from './web-times.ts';

/** How a reader wants pages to look, kept in their browser. */

export const themes = ['light', 'dark'] as const;
/** Undefined: as their machine has it. */
export type Theme = (typeof themes)[number] | undefined;

const [zoneName, themeName] = ['zone', 'theme'];

/** The zone that they chose, if they chose one. */
export const zoneFrom = (cookies: string | undefined): string | undefined => {
  const zone = cookieOf(cookies, zoneName);
  return zone !== undefined && isZone(zone) ? zone : undefined;
};

export const themeFrom = (cookies: string | undefined): Theme => themes.find((theme) => theme === cookieOf(cookies, themeName));

/** The cookies that keep what was chosen; an empty choice is taken back. */
export const keptChoices = (
  { zone, theme }: { readonly zone: string | undefined; readonly theme: string | undefined },
  secure: boolean,
): readonly string[] => [
  ...(zone === undefined || (zone !== '' && !isZone(zone))
    ? []
    : [cookie(zoneName, zone, { secure, ...(zone === '' ? { seconds: 0 } : {}) })]),
  ...(theme === undefined ? [] : [cookie(themeName, theme, { secure, ...(themes.some((each) => each === theme) ? {} : { seconds: 0 }) })]),
];
