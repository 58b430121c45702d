/** Whether what the database decided is true to what really was. */
import type { Sql } from '../../../coordinator/store/database.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Outage, Seen } from './truth.ts';

export type Incident = {
  readonly place: string;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly downs: number;
};

export const readIncidents = async (sql: Sql, placeOf: (monitor: string) => string | undefined): Promise<Incident[]> => {
  const rows = await sql<
    { monitor_id: string; started_at: Date; confirmed_at: Date | null; resolved_at: Date | null; downs: number }[]
  >`select i.monitor_id, i.started_at, i.confirmed_at, i.resolved_at,
      (select count(*) from alerts a where a.incident_id = i.id and a.event = 'down') as downs
    from incidents i order by i.key`;
  return rows.map(({ monitor_id, started_at, confirmed_at, resolved_at, downs }) => ({
    place: placeOf(monitor_id) ?? monitor_id,
    started_at: Number(started_at),
    confirmed_at: confirmed_at && Number(confirmed_at),
    resolved_at: resolved_at && Number(resolved_at),
    downs,
  }));
};

export type Verdict = {
  /** Outages that two continents saw twice and more. */
  readonly outages: number;
  /** Those of them that no confirmed incident tells of. */
  readonly missed: readonly string[];
  /** Confirmed incidents and alerts of what never was. */
  readonly false_alerts: readonly string[];
  /** Incidents that lie over one another, are open although all is well, or were told twice. */
  readonly crooked: readonly string[];
  readonly confirmed: number;
  readonly told: number;
};

/** A check that started just before the target changed may have been answered just after. */
const slack = 2_000;

const touches = ({ started_at, resolved_at }: Incident, { from, until }: Outage): boolean =>
  started_at <= until + slack && (resolved_at ?? Number.POSITIVE_INFINITY) >= from - slack;

const tell = ({ place, started_at, confirmed_at, resolved_at }: Incident): string =>
  `${place} ${[started_at, confirmed_at, resolved_at].map((at) => (at === null ? '–' : new Date(at).toISOString())).join(' … ')}`;

const wasSeenByTwo = (outage: Outage, seen: readonly Seen[]): boolean => {
  const failures = new Map<Continent, number>();
  for (const { at, place, continent, ok } of seen)
    if (!ok && place === outage.place && at >= outage.from && at <= outage.until)
      failures.set(continent, (failures.get(continent) ?? 0) + 1);
  return [...failures.values()].filter((count) => count >= 2).length >= 2;
};

type Stall = { readonly from: number; readonly until: number };

export const judge = (
  incidents: readonly Incident[],
  outages: readonly Outage[],
  seen: readonly Seen[],
  stalls: readonly Stall[],
): Verdict => {
  const confirmed = incidents.filter(({ confirmed_at }) => confirmed_at !== null);
  const real = outages.filter(({ onlyFrom }) => onlyFrom === null);
  const isReal = (incident: Incident) =>
    real.some((outage) => outage.place === incident.place && touches(incident, outage)) ||
    stalls.some(({ from, until }) => incident.started_at >= from - slack && incident.started_at <= until);
  const wanted = real.filter((outage) => wasSeenByTwo(outage, seen));
  const missed = wanted.filter((outage) => !confirmed.some((incident) => incident.place === outage.place && touches(incident, outage)));
  const overlapping = confirmed.filter((one, index) =>
    confirmed
      .slice(index + 1)
      .some(
        (other) =>
          other.place === one.place &&
          other.started_at < (one.resolved_at ?? Number.POSITIVE_INFINITY) &&
          one.started_at < (other.resolved_at ?? Number.POSITIVE_INFINITY),
      ),
  );
  return {
    outages: wanted.length,
    missed: missed.map(({ place, from, until }) => `${place} ${new Date(from).toISOString()} … ${new Date(until).toISOString()}`),
    false_alerts: incidents.filter((one) => (one.confirmed_at !== null || one.downs > 0) && !isReal(one)).map(tell),
    crooked: [
      ...overlapping.map((one) => `${tell(one)} lies over another`),
      ...incidents.filter(({ resolved_at }) => resolved_at === null).map((one) => `${tell(one)} is still open`),
      ...incidents.filter(({ downs }) => downs > 1).map((one) => `${tell(one)} was told ${one.downs} times`),
    ],
    confirmed: confirmed.length,
    told: incidents.reduce((sum, { downs }) => sum + downs, 0),
  };
};
