import type { Continent } from '../../shared/base/continents.ts';
import type { Queryable } from '../store/database.ts';

/**
 * What operations may do to probes. Each runs inside the caller's transaction (so that a plan's limit is counted under its lock) and leaves
 * an outbox line; the bus hears of it right after the commit. app.ts hands it over, because it needs the keys of the bus.
 */
export type NewProbe = {
  readonly name: string;
  readonly continent: Continent;
  /** The organisation whose monitors alone it checks; null for a public probe. */
  readonly organisation: string | null;
};

export type ListedProbe = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly organisation: string | null;
  readonly created_at: Date;
  readonly revoked_at: Date | null;
  readonly last_seen_at: Date | null;
  readonly version: string | null;
  readonly quarantined_at: Date | null;
  readonly quarantine_reason: string | null;
  readonly clock_offset_ms: number | null;
};

export type ProbesPart = {
  /** @throws Refusal `name_taken`. The credentials (the text of a NATS credentials file) are shown once and stored nowhere. */
  readonly createProbe: (sql: Queryable, probe: NewProbe) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** New credentials; the older ones go on working for a day. @throws Refusal `probe_not_found`. */
  readonly rotateProbe: (sql: Queryable, id: string) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Its connection falls within a second of the commit. @throws Refusal `probe_not_found`. */
  readonly revokeProbe: (sql: Queryable, id: string) => Promise<void>;
  /** Public and private ones, or those of one organisation; revoked ones included, oldest first. */
  readonly listProbes: (sql: Queryable, organisation?: string) => Promise<readonly ListedProbe[]>;
};
