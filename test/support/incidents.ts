/** For test files: what the database holds of a monitor's incidents, alerts and results, as tests ask for it. */
import type { Sql } from '../../coordinator/database/connect.ts';
import { eventually } from './eventually.ts';

export type SeenIncident = {
  readonly id: string;
  readonly started_at: Date;
  readonly confirmed_at: Date | null;
  readonly resolved_at: Date | null;
  readonly seen_probe: string | null;
  readonly seen_continent: string | null;
  readonly confirmed_continent: string | null;
  readonly note: string | null;
  readonly scope: string | null;
};

/** Of a monitor, oldest first. */
export const incidentsOf = (sql: Sql, monitor: string): Promise<SeenIncident[]> =>
  sql<SeenIncident[]>`
    select id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, confirmed_continent, note, scope
    from incidents where monitor_id = ${monitor} order by key`;

/** The first incident of the monitor that fits, as soon as there is one. */
export const incidentThat = (
  sql: Sql,
  monitor: string,
  fits: (incident: SeenIncident) => boolean,
  withinMs = 30_000,
): Promise<SeenIncident> => eventually(async () => (await incidentsOf(sql, monitor)).find(fits), withinMs);

export const isConfirmed = ({ confirmed_at, resolved_at }: SeenIncident): boolean => confirmed_at !== null && resolved_at === null;
export const isResolved = ({ resolved_at }: SeenIncident): boolean => resolved_at !== null;

export const alertsOf = (sql: Sql, monitor: string): Promise<{ event: string; state: string }[]> =>
  sql<{ event: string; state: string }[]>`select event, state from alerts where monitor_id = ${monitor} order by id`;

/** Settles when the "down" of the monitor's incident has gone out: what ends before that is told to nobody, neither its beginning nor its end (rule 25). */
export const downIsSent = async (sql: Sql, monitor: string): Promise<void> => {
  await eventually(async () => (await alertsOf(sql, monitor)).some(({ event, state }) => event === 'down' && state === 'due'));
};

export type StoredResult = { readonly continent: string; readonly at: Date; readonly outcome: number };

export const resultsOf = (sql: Sql, monitor: string): Promise<StoredResult[]> =>
  sql<StoredResult[]>`
    select p.continent, r.at, r.outcome from results r join probes p on p.key = r.probe_key join monitors m on m.key = r.monitor_key
    where m.id = ${monitor} order by r.at`;

/** Whether nothing is stored of what was seen of the monitor within so many seconds after this moment: those results wait for somebody. */
export const isNothingStoredAfter = async (sql: Sql, monitor: string, from: number, seconds: number): Promise<boolean> =>
  (await resultsOf(sql, monitor)).every(({ at }) => Number(at) < from + 300 || Number(at) > from + seconds * 1_000);

/** Settles when each of so many continents has seen the monitor well. */
export const seenFrom = async (sql: Sql, monitor: string, continents: number): Promise<void> => {
  await eventually(async () => {
    const results = await resultsOf(sql, monitor);
    return new Set(results.filter(({ outcome }) => outcome === 0).map(({ continent }) => continent)).size >= continents;
  }, 45_000);
};
