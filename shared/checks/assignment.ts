import type { Continent } from '../base/continents.ts';
import type { Kind } from './kinds.ts';
import type { Json } from './result.ts';
import { keyIdOf } from './sealed-secrets.ts';

/**
 * A monitor's stored config: keys that its kind knows are validated, others are kept and do
 * nothing.
 */
export type Config = { readonly [key: string]: Json };

/**
 * What to check and how, as a probe holds it. Secrets of the config are not in `config` but in
 * `sealed`, and are merged only for the check.
 */
export type Assignment = {
  readonly monitor: string;
  readonly organisation: string;
  readonly kind: Kind;
  readonly target: string;
  readonly interval_ms: number;
  readonly timeout_ms: number;
  readonly config: Config;
  /**
   * Base64 of the secret part of the config, for the probes that may check this monitor; null when
   * there is none.
   */
  readonly sealed: string | null;
  readonly config_version: number;
  /** The monitor's sequence number in the installation: spreads phases evenly (see placement). */
  readonly ordinal: number;
  /** Continents that may check; null: every continent that has a healthy probe. */
  readonly continents: readonly Continent[] | null;
  /**
   * The private place whose probes check, by its id, which is that of its first probe; null: the
   * public probes.
   */
  readonly probe: string | null;
  /**
   * From where it is checked, by `Place` of checks/places.ts, which wins over continents and probe;
   * null: as those say.
   */
  readonly places?: readonly string[] | null | undefined;
};

/** A probe as the whole network knows it. */
export type RosterProbe = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  /**
   * The place of a private probe, which others may share; null for a public one. Whose it is
   * concerns nobody else.
   */
  readonly organisation: string | null;
  /** Gets work: present, not revoked. A quarantined probe still checks, as a shadow. */
  readonly healthy: boolean;
  readonly quarantined: boolean;
  /**
   * Non-public ranges that its host allows (PROBE_ALLOW_CIDRS), for public probes that have any.
   */
  readonly allowed_cidrs?: readonly string[] | undefined;
  /** What it checks besides the first kinds, if anything. */
  readonly kinds?: readonly string[] | undefined;
  /** Where on its continent a public probe is. */
  readonly region?: string | null | undefined;
  /** The autonomous system of its network, if it is known. */
  readonly origin_as?: number | undefined;
  /**
   * Of a private probe: equal for places that share a host or a public address, and may fail
   * together. Null: not known.
   */
  readonly site?: string | null | undefined;
};

export type Roster = { readonly epoch: number; readonly probes: readonly RosterProbe[] };

/**
 * Mixes all bits of a 32-bit number (the finisher of MurmurHash3): similar inputs give very
 * different outputs.
 */
export function mixBits(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** FNV-1a over the text's characters, mixed. */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mixBits(hash);
}

/**
 * Summarises a set in a few characters: equal for equal sets in any order of insertion, and updated
 * with each change instead of computed again. The coordinator and a probe compare theirs to find
 * out whether the probe missed something.
 */
export type Digest = {
  readonly add: (element: Element) => void;
  readonly remove: (element: Element) => void;
  /** Adds all of a set that has nothing in common with this one, by its `assignmentsDigest`. */
  readonly addAll: (count: number, text: string) => void;
  /** Removes all of a set, which need not be part of this one: equal rests are equal differences. */
  readonly removeAll: (count: number, text: string) => void;
  readonly count: () => number;
  readonly text: () => string;
};

/** One member of the set, hashed. */
export type Element = readonly [number, number, number, number];

const seeds = [0x811c9dc5, 0x2545f491, 0x9e3779b9, 0x6a09e667] as const;

/** `hashOf` by each seed, in one pass. */
export function elementOf(text: string): Element {
  let [a, b, c, d]: Element = seeds;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x01000193);
    c = Math.imul(c ^ code, 0x01000193);
    d = Math.imul(d ^ code, 0x01000193);
  }
  return [mixBits(a), mixBits(b), mixBits(c), mixBits(d)];
}

export function createDigest(): Digest {
  // Sums, because a sum does not depend on the order and subtraction removes an element.
  const sums = new Uint32Array(seeds.length);
  let count = 0;
  const put = (element: Element, sign: 1 | -1): void => {
    for (let at = 0; at < sums.length; at += 1)
      sums[at] = (sums[at] ?? 0) + sign * (element[at] ?? 0);
    count += sign;
  };
  const putAll = (more: number, text: string, sign: 1 | -1): void => {
    for (let at = 0; at < sums.length; at += 1)
      sums[at] =
        (sums[at] ?? 0) +
        sign * Number.parseInt(text.slice(form.length).slice(8 * at, 8 * at + 8), 16);
    count += sign * more;
  };
  return {
    add: (element) => put(element, 1),
    remove: (element) => put(element, -1),
    addAll: (more, text) => putAll(more, text, 1),
    removeAll: (more, text) => putAll(more, text, -1),
    count: () => count,
    text: () => [...sums].map((sum) => sum.toString(16).padStart(8, '0')).join(''),
  };
}

/**
 * All of an assignment that can differ from the wanted one. The version covers kind, target and
 * config, which determine the timeout.
 */
export type Assigned = Pick<
  Assignment,
  'monitor' | 'config_version' | 'interval_ms' | 'ordinal' | 'continents' | 'probe' | 'places'
> & {
  /** The id of the key that seals its secrets; null when it has none. */
  readonly key: string | null;
};

export function assignedIn({ sealed, ...assignment }: Assignment): Assigned {
  return {
    ...assignment,
    key: sealed === null ? null : keyIdOf(sealed),
  };
}

export function assignedElement({
  monitor,
  config_version,
  interval_ms,
  ordinal,
  continents,
  probe,
  places,
  key,
}: Assigned): Element {
  return elementOf(
    `${monitor}@${config_version} ${interval_ms} ${ordinal} ${continents?.join() ?? '*'} ${probe ?? '*'} ${key ?? '*'}${places ? ` ${places.join()}` : ''}`,
  );
}

/**
 * The prefix of an assignment digest: a probe of another version may compute other digests, which
 * cannot be compared.
 */
const form = '2-';

export function assignmentsDigest(digest: Digest): string {
  return `${form}${digest.text()}`;
}

export function isComparable(text: string): boolean {
  return text.startsWith(form);
}
