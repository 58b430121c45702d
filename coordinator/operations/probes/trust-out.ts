import type { Refuted } from '../../store/probe-trust.ts';

type Row = {
  readonly id: string;
  readonly name: string;
  readonly continent: string;
  readonly version: string | null;
  readonly created_at: Date;
  readonly last_seen_at: Date | null;
  readonly quarantined_at: Date | null;
  readonly quarantine_reason: string | null;
  readonly clock_offset_ms: number | null;
};

/** A probe as whoever relies on it may know it. */
export const trustOut = (row: Row, shares: ReadonlyMap<string, Refuted>) => {
  const { id, name, continent, version, quarantine_reason, clock_offset_ms } = row;
  const share = shares.get(id);
  return {
    ...{ id, name, continent, version, quarantine_reason, clock_offset_ms },
    created_at: row.created_at.toISOString(),
    last_seen_at: row.last_seen_at?.toISOString() ?? null,
    quarantined: row.quarantined_at !== null,
    refuted: share?.refuted ?? 0,
    targets: share?.targets ?? null,
  };
};
