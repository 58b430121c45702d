import type { Continent } from '../base/continents.ts';
import type { Kind } from './checks-kinds.ts';
import type { Json } from './checks-result.ts';

/** A monitor's stored config: the keys that its kind knows are checked, others are kept and do nothing. */
export type Config = { readonly [key: string]: Json };

/** What to check and how, as a probe holds it. Secrets of the config are not in `config` but in `sealed`, and are merged for the check alone. */
export type Assignment = {
  readonly monitor: string;
  readonly organisation: string;
  readonly kind: Kind;
  readonly target: string;
  readonly interval_ms: number;
  readonly timeout_ms: number;
  readonly config: Config;
  /** Base64 of the secret part of the config, for the probes that may check this monitor; null when there is none. */
  readonly sealed: string | null;
  readonly config_version: number;
  /** The installation's running number of the monitor: spreads phases evenly (see placement). */
  readonly ordinal: number;
  /** Continents that may check; null: every continent that has a healthy probe. */
  readonly continents: readonly Continent[] | null;
  /** The one private probe that checks; null: the public ones. */
  readonly probe: string | null;
};

/** A probe as the whole network knows it. */
export type RosterProbe = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  /** The organisation of a private probe; null for a public one. */
  readonly organisation: string | null;
  /** Well enough to be given work: present, not revoked. A quarantined probe still checks, as a shadow. */
  readonly healthy: boolean;
  readonly quarantined: boolean;
  /** Ranges beyond the public that its host allows (PROBE_ALLOW_CIDRS), of public probes that have any. */
  readonly allowed_cidrs?: readonly string[] | undefined;
};

export type Roster = { readonly epoch: number; readonly probes: readonly RosterProbe[] };
