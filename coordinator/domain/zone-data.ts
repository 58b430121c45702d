/**
 * When versions of the world's time zones came out, as far as this release knows. A coordinator has no way to ask; the name of a version tells its
 * year, and no more than that.
 */
const released: Readonly<Record<string, string>> = {
  ...{ '2025a': '2025-01-15', '2025b': '2025-03-22', '2025c': '2025-12-10' },
  ...{ '2026a': '2026-03-02', '2026b': '2026-04-22', '2026c': '2026-07-08' },
};

const dayMs = 86_400_000;

/** Older than this it is looked after: governments change their clocks several times a year, some of them with weeks of notice. */
export const oldZoneDays = 120;

export type ZoneData = {
  readonly version: string | null;
  /** The day on which it came out (ISO); null where this release does not know it. */
  readonly released_on: string | null;
  /** So many days old it is for certain; null where that cannot be said. */
  readonly least_age_days: number | null;
};

/** What can be said of a version of the time zones without asking anybody. */
export const zoneDataAt = (version: string | undefined, now: number): ZoneData => {
  if (version === undefined) return { version: null, released_on: null, least_age_days: null };
  const released_on = Object.hasOwn(released, version) ? (released[version] ?? null) : null;
  const year = Number(/^\d{4}/.exec(version)?.[0] ?? Number.NaN);
  // Of an unknown one only that it came out in its year: at the latest on the last day of it.
  const latest = released_on === null ? Date.UTC(year, 11, 31) : Date.parse(released_on);
  const days = Math.floor((now - latest) / dayMs);
  return { version, released_on, least_age_days: days >= 0 ? days : null };
};

export const isOldZoneData = ({ least_age_days }: ZoneData): boolean => least_age_days !== null && least_age_days > oldZoneDays;
