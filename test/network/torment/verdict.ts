/** Whether what the database decided is true to what really was: which outages there were, once each, and who was told. Pure. */
import type { Continent } from '../../../shared/base/continents.ts';
import type { Row } from './ledger.ts';
import type { Outage } from './outages.ts';
import { type Incident, isUnmade } from './records.ts';

export type Verdict = {
  /** Outages that two continents saw twice and more. */
  readonly outages: number;
  /** Those of them that no confirmed incident tells of. */
  readonly missed: readonly string[];
  /** Confirmed incidents and alerts of what never was. */
  readonly false_alerts: readonly string[];
  /** Incidents that lie over one another, are open although all is well, tell of one outage twice or of two as one. */
  readonly crooked: readonly string[];
  /** A "down" or an "up" too many, or one without the other. */
  readonly unpaired: readonly string[];
  readonly confirmed: number;
  readonly told: number;
};

/** A check that started just before the target changed may have been answered just after. */
const slack = 2_000;
const ever = Number.POSITIVE_INFINITY;

type Span = { readonly from: number; readonly until: number };

/** What ended before the target changed was about something else, however shortly before. */
const touches = ({ started_at, resolved_at }: Incident, { from, until }: Span): boolean =>
  started_at <= until + slack && (resolved_at ?? ever) >= from;

export const describeIncident = ({ place, started_at, confirmed_at, resolved_at }: Incident): string =>
  `${place} ${[started_at, confirmed_at, resolved_at].map((at) => (at === null ? '–' : new Date(at).toISOString())).join(' … ')}`;

const describeOutage = ({ place, from, until }: Outage): string =>
  `${place} ${[from, until].map((at) => (at === ever ? 'now' : new Date(at).toISOString())).join(' … ')}`;

/** How many of these results each continent has of the place in that time. */
const countBy = (rows: readonly Row[], place: string, { from, until }: Span, ok: boolean): number[] => {
  const counts = new Map<Continent, number>();
  for (const row of rows)
    if (row.ok === ok && row.place === place && row.at >= from && row.at <= until)
      counts.set(row.continent, (counts.get(row.continent) ?? 0) + 1);
  return [...counts.values()];
};

const wasSeenByTwo = (outage: Outage, rows: readonly Row[]): boolean =>
  countBy(rows, outage.place, outage, false).filter((count) => count >= 2).length >= 2;

/** Between two outages of a place two continents have seen it well: whoever takes them for one has not listened. */
const areApart = (one: Outage, other: Outage, rows: readonly Row[]): boolean =>
  countBy(rows, one.place, { from: one.until, until: other.from }, true).length >= 2;

const pairing = (incident: Incident): string | undefined => {
  const { downs, ups, resolved_at } = incident;
  if (downs > 1) return `${describeIncident(incident)} was told ${downs} times`;
  if (ups > 1) return `${describeIncident(incident)}: its end was told ${ups} times`;
  if (ups > downs) return `${describeIncident(incident)}: its end was told, and its beginning was not`;
  if (resolved_at !== null && downs > ups) return `${describeIncident(incident)}: its beginning was told, and its end was not`;
  return undefined;
};

export const judge = (
  incidents: readonly Incident[],
  outages: readonly Outage[],
  rows: readonly Row[],
  stalls: readonly Span[],
): Verdict => {
  const confirmed = incidents.filter((one) => one.confirmed_at !== null && !isUnmade(one));
  const real = outages.filter(({ onlyFrom }) => onlyFrom === null);
  const isReal = (incident: Incident) =>
    real.some((outage) => outage.place === incident.place && touches(incident, outage)) ||
    stalls.some(({ from, until }) => incident.started_at >= from - slack && incident.started_at <= until);
  const wanted = real.filter((outage) => wasSeenByTwo(outage, rows));
  const about = (outage: Outage) => confirmed.filter((incident) => incident.place === outage.place && touches(incident, outage));
  const overlapping = confirmed.filter((one, index) =>
    confirmed
      .slice(index + 1)
      .some(
        (other) =>
          other.place === one.place && other.started_at < (one.resolved_at ?? ever) && one.started_at < (other.resolved_at ?? ever),
      ),
  );
  const merged = confirmed.filter((incident) => {
    const touched = real
      .filter((outage) => outage.place === incident.place && touches(incident, outage))
      .toSorted((a, b) => a.from - b.from);
    return touched.some((outage, index) => index > 0 && areApart(touched[index - 1] ?? outage, outage, rows));
  });
  return {
    outages: wanted.length,
    missed: wanted.filter((outage) => about(outage).length === 0).map(describeOutage),
    false_alerts: incidents.filter((one) => (one.confirmed_at !== null || one.downs > 0) && !isReal(one)).map(describeIncident),
    crooked: [
      ...overlapping.map((one) => `${describeIncident(one)} lies over another`),
      ...incidents.filter(({ resolved_at }) => resolved_at === null).map((one) => `${describeIncident(one)} is still open`),
      ...wanted
        .filter((one) => about(one).length > 1)
        .map((one) => `${describeOutage(one)} is ${about(one).length} incidents: ${about(one).map(describeIncident).join(', ')}`),
      ...merged.map((one) => `${describeIncident(one)} takes several outages for one`),
    ],
    unpaired: incidents.flatMap((one) => pairing(one) ?? []),
    confirmed: confirmed.length,
    told: incidents.reduce((sum, { downs }) => sum + downs, 0),
  };
};
