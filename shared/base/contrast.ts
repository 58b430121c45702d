/** Colours as `#rrggbb`, and whether one is readable on another (WCAG 2). */

const channels = (colour: string): readonly number[] => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

const hex = (values: readonly number[]): string => `#${values.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;

const linear = (value: number): number => {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};

const luminance = (colour: string): number => {
  const [red = 0, green = 0, blue = 0] = channels(colour).map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

/** From 1, where nothing is visible, to 21, black on white. */
export const contrastOf = (one: string, other: string): number => {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
};

/** The minimum for small text. */
export const leastContrast = 4.5;

/**
 * The colour itself if it is readable on that ground, or the nearest darker or lighter readable
 * shade.
 */
export const readableOn = (colour: string, ground: string): string => {
  if (contrastOf(colour, ground) >= leastContrast) return colour;
  const towards = luminance(ground) > 0.18 ? 0 : 255;
  const mixed = (share: number): string => hex(channels(colour).map((value) => value + (towards - value) * share));
  let [least, limit] = [0, 1];
  for (let step = 0; step < 12; step += 1) {
    const middle = (least + limit) / 2;
    if (contrastOf(mixed(middle), ground) >= leastContrast) limit = middle;
    else least = middle;
  }
  return mixed(limit);
};
