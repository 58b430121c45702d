import { hashOf } from './hash.ts';

/**
 * What a set of assignments is, in a few characters: equal for equal sets in whatever order they were filled, and kept up to date with each
 * change instead of being made anew. The coordinator and a probe compare theirs to find out whether the probe missed something.
 */
export type Digest = {
  readonly add: (monitor: string, configVersion: number) => void;
  readonly remove: (monitor: string, configVersion: number) => void;
  readonly count: () => number;
  readonly text: () => string;
};

const seeds = [0x811c9dc5, 0x2545f491, 0x9e3779b9, 0x6a09e667] as const;

export const createDigest = (): Digest => {
  // Sums, because a sum forgets the order and a difference takes an element out again.
  const sums = new Uint32Array(seeds.length);
  let count = 0;
  const put = (monitor: string, configVersion: number, sign: 1 | -1): void => {
    const element = `${monitor}@${configVersion}`;
    for (const [at, seed] of seeds.entries()) sums[at] = (sums[at] ?? 0) + sign * hashOf(element, seed);
    count += sign;
  };
  return {
    add: (monitor, configVersion) => put(monitor, configVersion, 1),
    remove: (monitor, configVersion) => put(monitor, configVersion, -1),
    count: () => count,
    text: () => [...sums].map((sum) => sum.toString(16).padStart(8, '0')).join(''),
  };
};

export const digestOf = (elements: Iterable<readonly [monitor: string, configVersion: number]>): Digest => {
  const digest = createDigest();
  for (const [monitor, configVersion] of elements) digest.add(monitor, configVersion);
  return digest;
};
