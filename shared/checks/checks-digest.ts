import type { Assignment } from './checks-assignment.ts';
import { hashOf } from './checks-hash.ts';
import { keyIdOf } from './checks-sealed-secrets.ts';

/**
 * What a set is, in a few characters: equal for equal sets in whatever order they were filled, and kept up to date with each change instead of
 * being made anew. The coordinator and a probe compare theirs to find out whether the probe missed something.
 */
export type Digest = {
  readonly add: (element: Element) => void;
  readonly remove: (element: Element) => void;
  readonly count: () => number;
  readonly text: () => string;
};

/** One member of the set, hashed. */
export type Element = readonly [number, number, number, number];

const seeds = [0x811c9dc5, 0x2545f491, 0x9e3779b9, 0x6a09e667] as const;

export const elementOf = (text: string): Element => [
  hashOf(text, seeds[0]),
  hashOf(text, seeds[1]),
  hashOf(text, seeds[2]),
  hashOf(text, seeds[3]),
];

export const createDigest = (): Digest => {
  // Sums, because a sum forgets the order and a difference takes an element out again.
  const sums = new Uint32Array(seeds.length);
  let count = 0;
  const put = (element: Element, sign: 1 | -1): void => {
    for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] ?? 0) + sign * (element[at] ?? 0);
    count += sign;
  };
  return {
    add: (element) => put(element, 1),
    remove: (element) => put(element, -1),
    count: () => count,
    text: () => [...sums].map((sum) => sum.toString(16).padStart(8, '0')).join(''),
  };
};

/** All of an assignment that can differ from the one that is wanted. The version stands for kind, target and config, from which the time limit follows. */
export type Assigned = Pick<Assignment, 'monitor' | 'config_version' | 'interval_ms' | 'ordinal' | 'continents' | 'probe'> & {
  /** The id of the key that its secrets are sealed under; null when it has none. */
  readonly key: string | null;
};

export const assignedIn = ({ sealed, ...assignment }: Assignment): Assigned => ({
  ...assignment,
  key: sealed === null ? null : keyIdOf(sealed),
});

export const assignedElement = ({ monitor, config_version, interval_ms, ordinal, continents, probe, key }: Assigned): Element =>
  elementOf(`${monitor}@${config_version} ${interval_ms} ${ordinal} ${continents?.join() ?? '*'} ${probe ?? '*'} ${key ?? '*'}`);

/** How a digest of assignments begins: a probe of another version may make other ones, which cannot be compared. */
const form = '2-';

export const assignmentsDigest = (digest: Digest): string => `${form}${digest.text()}`;

export const isComparable = (text: string): boolean => text.startsWith(form);
