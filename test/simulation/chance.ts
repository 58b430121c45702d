/** Chance from one seed: the same seed gives the same story, on every machine. */
export type Chance = {
  /** From 0 to 1, 1 excluded. */
  readonly next: () => number;
  readonly between: (least: number, most: number) => number;
  readonly happens: (share: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
  readonly some: <T>(list: readonly T[], least: number, most: number) => T[];
};

const stir = (value: number): number => {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x119de1f3);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

export const createChance = (seed: number): Chance => {
  let state = stir(seed + 0x9e3779b9);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    return stir(state) / 2 ** 32;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  const pick = <T>(list: readonly T[]): T => {
    const chosen = list[Math.floor(next() * list.length)];
    if (chosen === undefined) throw new Error('nothing to pick from');
    return chosen;
  };
  return {
    next,
    between,
    pick,
    happens: (share) => next() < share,
    some: (list, least, most) => {
      const left = [...list];
      const count = Math.min(list.length, between(least, most));
      return Array.from({ length: count }, () => left.splice(Math.floor(next() * left.length), 1)).flat();
    },
  };
};

/**
 * Chance by name instead of by order: what happens to the third check of a probe hangs on nothing else, so that a story from which
 * something was taken out goes on as before.
 */
export const noise = (seed: number, subject: number, count: number, salt: number): number =>
  stir(Math.imul(stir(Math.imul(stir(seed ^ Math.imul(salt, 0x85ebca6b)) ^ subject, 0xc2b2ae35)) ^ count, 0x27d4eb2f)) / 2 ** 32;
