/**
 * One figure of the table: what was measured, against what in the same run, and what it is meant to
 * be.
 */
export type Figure = {
  readonly what: string;
  /** Our own measure, with its unit. */
  readonly ours: string;
  /** The limit or peer measured in the same run; why there is none where it is missing. */
  readonly against: string;
  /** Ours over theirs; null where there was nobody to measure against. */
  readonly ratio: number | null;
  /** What the ratio (or, for a measure without a peer, the measure) is meant to be. */
  readonly goal: string;
  /** Whether the goal is met; null where it could not be told. */
  readonly holds: boolean | null;
};

export type Bench = {
  readonly name: string;
  readonly about: string;
  /** Not one of all: it takes more of a machine than most have. */
  readonly onlyByName?: true;
  /** `say` tells how far it is. Everything that it starts is ended before it settles. */
  readonly run: (
    say: (progress: string) => void,
    wanted?: BenchOptions,
  ) => Promise<readonly Figure[]>;
};

/** What somebody in a hurry may say; benches without such a window take no notice. */
export type BenchOptions = { readonly windowMs?: number };

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [
    sorted[sorted.length % 2 === 0 ? middle - 1 : middle] ?? Number.NaN,
    sorted[middle] ?? Number.NaN,
  ];
  return (low + high) / 2;
};

/**
 * Contestants in turn, round by round, so that a drift of the machine meets all alike: what each
 * did in every round.
 */
export const roundByRound = async <Name extends string, Value = number>(
  contestants: Readonly<Record<Name, () => Promise<Value>>>,
  rounds: number,
  say: (progress: string) => void,
): Promise<Readonly<Record<Name, readonly Value[]>>> => {
  const names = Object.keys(contestants).filter((name): name is Name =>
    Object.hasOwn(contestants, name),
  );
  const seen = new Map<Name, Value[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      say(round === 0 ? `warm-up: ${name}` : `round ${round} of ${rounds}: ${name}`);
      const value = await contestants[name]();
      // The first round warms caches and compilers and is not counted.
      if (round > 0) seen.get(name)?.push(value);
    }
  }
  // Every name has its values, which the compiler cannot follow through fromEntries.
  return Object.fromEntries(names.map((name) => [name, seen.get(name) ?? []])) as Record<
    Name,
    Value[]
  >;
};

/** The median of each. */
export const interleaved = async <Name extends string>(
  contestants: Readonly<Record<Name, () => Promise<number>>>,
  rounds: number,
  say: (progress: string) => void,
): Promise<Readonly<Record<Name, number>>> => {
  const seen = await roundByRound(contestants, rounds, say);
  const names = Object.keys(contestants).filter((name): name is Name =>
    Object.hasOwn(contestants, name),
  );
  return Object.fromEntries(names.map((name) => [name, median(seen[name])])) as Record<
    Name,
    number
  >;
};

/**
 * The median of what one is of the other in the same round, which a machine that others use
 * disturbs less than either by itself.
 */
export const ratioByRound = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
