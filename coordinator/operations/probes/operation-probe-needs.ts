import type { Continent } from '../../../shared/base/continents.ts';
import type { Queryable } from '../../store/store-database.ts';

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
  readonly doubted_at: Date | null;
  readonly doubt_reason: string | null;
  readonly place_trusted_as: string | null;
  readonly clock_offset_ms: number | null;
};

/** What a host is told that has become a probe: where everything is, and what its key may do. Nothing of it is secret. */
export type Welcome = {
  readonly nats_url: string;
  readonly nats_tls_first: boolean;
  readonly nats_ca: string | null;
  readonly jwt: string;
  readonly anchors: readonly string[];
  /** What verifies announcements of the coordinators, and whether what is not signed is refused. */
  readonly signing_keys: readonly string[];
  readonly require_signed: boolean;
};

export type ProbesPart = {
  /** @throws Refusal `name_taken`. The credentials (the text of a NATS credentials file) are shown once and stored nowhere. */
  readonly createProbe: (sql: Queryable, probe: NewProbe) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Whether whoever has this key signed the token. */
  readonly isEnrolmentProof: (key: string, proof: string, token: string) => boolean;
  /** A probe that made its key itself. @throws Refusal `name_taken`. */
  readonly enrolProbe: (sql: Queryable, probe: NewProbe, key: string) => Promise<{ readonly id: string }>;
  readonly welcome: (sql: Queryable, id: string, probe: NewProbe, key: string) => Promise<Welcome>;
  /** New credentials; the older ones go on working for a day. @throws Refusal `probe_not_found`. */
  readonly rotateProbe: (sql: Queryable, id: string) => Promise<{ readonly id: string; readonly credentials: string }>;
  /** Its connection falls within a second of the commit. @throws Refusal `probe_not_found`. */
  readonly revokeProbe: (sql: Queryable, id: string) => Promise<void>;
  /** Public and private ones, or those of one organisation; revoked ones included, oldest first. */
  readonly listProbes: (sql: Queryable, organisation?: string) => Promise<readonly ListedProbe[]>;
};
