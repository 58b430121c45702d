import type { Refuted } from '../../store/store-probe-trust.ts';

type Row = {
  readonly id: string;
  readonly name: string;
  readonly continent: string;
  readonly version: string | null;
  readonly created_at: Date;
  readonly last_seen_at: Date | null;
  readonly quarantined_at: Date | null;
  readonly quarantine_reason: string | null;
  readonly doubted_at: Date | null;
  readonly doubt_reason: string | null;
  readonly place_trusted_as: string | null;
  readonly clock_offset_ms: number | null;
};

/** Nothing proves that a probe is where it says; it can only be shown that it is not, or be known otherwise. */
const placeOf = ({ doubted_at, place_trusted_as, continent }: Row): 'doubted' | 'trusted' | 'not_proven' => {
  if (doubted_at !== null) return 'doubted';
  return place_trusted_as === continent ? 'trusted' : 'not_proven';
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
    ...{ place: placeOf(row), doubt: row.doubt_reason },
    refuted: share?.refuted ?? 0,
    targets: share?.targets ?? null,
  };
};
