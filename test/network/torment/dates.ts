/**
 * Whether dates are those of the checks that were stored (rules 3, 8, 10, 12): looked at while it happens, for results and what they decide
 * are committed together, so that every moment of the database must be right by itself. Pure.
 */
import type { Continent } from '../../../shared/base/continents.ts';
import type { Row } from './ledger.ts';
import type { Outage } from './outages.ts';
import { type Incident, isUnmade } from './records.ts';
import { describeIncident } from './verdict.ts';

/** A check that began before the target changed may have been answered after it. */
const checkMs = 3_000;
/** Failures that far apart confirm one another. */
const togetherMs = 60_000;
/** Two turns of a continent: a view is no older (see RULES.md). */
const viewMs = 2 * 9_000;

const newestOf = (rows: readonly Row[]): ReadonlyMap<Continent, Row> => {
  const newest = new Map<Continent, Row>();
  for (const row of rows) {
    const known = newest.get(row.continent);
    if (row.ok !== null && (!known || row.at > known.at)) newest.set(row.continent, row);
  }
  return newest;
};

/**
 * Failures that an incident before it was about, which closed since, are not its own; unless it began with one: what a continent tells only after
 * others have seen the outage end is an incident beside that one (rules 3 and 12).
 */
const faultOf = (incident: Incident, outage: Outage, unsorted: readonly Row[], closedBefore: number): string | undefined => {
  const { started_at, confirmed_at, resolved_at, seen_continent, confirmed_continent } = incident;
  const rows = unsorted.toSorted((a, b) => a.at - b.at);
  const failures = rows.filter(({ ok, at }) => ok === false && at >= outage.from - checkMs && at <= outage.until);
  const isStart = (at: number, of: Continent | null) => failures.some((row) => row.at === at && row.continent === of);
  if (!isStart(started_at, seen_continent)) return `did not start when ${seen_continent} began a check that failed`;
  const own = failures.filter(({ at }) => at > closedBefore);
  const first = Math.min(...own.map(({ at }) => at));
  if (resolved_at === null && first < started_at) return `started later than the first failure, ${new Date(first).toISOString()}`;
  if (confirmed_at === null) return undefined;
  if (confirmed_continent === seen_continent) return `was confirmed from where it was seen`;
  // Who had failed shortly before, and told nothing since, confirms it in the moment in which it begins (rule 10).
  const seenBefore = rows.findLast(({ continent, at }) => continent === confirmed_continent && at < started_at);
  const isAtOnce = confirmed_at === started_at && seenBefore?.ok === false && started_at - seenBefore.at <= togetherMs;
  if (!isAtOnce && !isStart(confirmed_at, confirmed_continent))
    return `was not confirmed when ${confirmed_continent} began a check that failed`;
  const second = Math.min(...own.filter(({ continent }) => continent !== seen_continent).map(({ at }) => at));
  if (resolved_at === null && second < confirmed_at)
    return `was confirmed later than by the second continent, ${new Date(second).toISOString()}`;
  if (resolved_at !== null) {
    const isEnd = rows.some(({ at, ok }) => ok === true && at === resolved_at);
    return isEnd ? undefined : 'did not end when a check began that passed';
  }
  const views = [...newestOf(rows).values()];
  const now = Math.max(...views.map(({ at }) => at));
  const fresh = views.filter(({ at }) => now - at < viewMs);
  const passing = fresh.filter(({ ok }) => ok === true).length;
  return passing >= 2 && fresh.length - passing < 2 && views.length === fresh.length
    ? `is open although ${passing} continents see it well`
    : undefined;
};

export type Crooked = { readonly place: string; readonly fault: string };

/** `rows` and `incidents` of one moment of the database. */
export const crookedDates = (incidents: readonly Incident[], outages: readonly Outage[], rows: readonly Row[]): Crooked[] => {
  const byPlace = new Map<string, Row[]>();
  for (const row of rows) byPlace.set(row.place, [...(byPlace.get(row.place) ?? []), row]);
  return incidents.flatMap((incident) => {
    // What came to be one incident by an outage that nobody saw end is judged with the verdict.
    const touched = outages.filter(
      ({ place, from, until, onlyFrom }) =>
        onlyFrom === null && place === incident.place && incident.started_at >= from - checkMs && incident.started_at <= until,
    );
    const [outage] = touched;
    if (!outage || touched.length > 1 || isUnmade(incident)) return [];
    const before = incidents.filter(({ place, started_at }) => place === incident.place && started_at < incident.started_at);
    const closedBefore = Math.max(0, ...before.map(({ resolved_at }) => resolved_at ?? 0));
    const fault = faultOf(incident, outage, byPlace.get(incident.place) ?? [], closedBefore);
    return fault === undefined ? [] : [{ place: incident.place, fault: `${describeIncident(incident)} ${fault}` }];
  });
};
