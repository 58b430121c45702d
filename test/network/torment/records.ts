/** What the database holds, as torment's checks need it. */
import type { Sql, Transaction } from '../../../coordinator/database/connect.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Row } from './ledger.ts';

export type Incident = {
  readonly place: string;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly seen_continent: Continent | null;
  readonly confirmed_continent: Continent | null;
  readonly downs: number;
  readonly ups: number;
};

/**
 * Confirmed by what was known, and over in the same moment by what was told late: two failures that lay in two outages. Nobody was told of it, and what
 * was confirmed stays so (rule 3).
 */
export const isUnmade = ({ confirmed_at, resolved_at, downs }: Incident): boolean =>
  confirmed_at !== null && resolved_at === confirmed_at && downs === 0;

/** A ping of a job that is written down. */
export type StoredPing = {
  readonly id: string;
  readonly place: string;
  readonly kind: 'success' | 'fail';
  readonly at: number;
  readonly body: string;
};

export type PlaceOf = (monitor: string) => string | undefined;

export type Moment = { readonly incidents: Incident[]; readonly rows: Row[] };

const readIncidents = async (sql: Transaction, placeOf: PlaceOf): Promise<Incident[]> => {
  const rows = await sql<
    (Omit<Incident, 'place' | 'started_at' | 'confirmed_at' | 'resolved_at'> & {
      monitor_id: string;
      started_at: Date;
      confirmed_at: Date | null;
      resolved_at: Date | null;
    })[]
  >`select i.monitor_id, i.started_at, i.confirmed_at, i.resolved_at, i.seen_continent, i.confirmed_continent,
      (select count(*) from alerts a where a.incident_id = i.id and a.event = 'down' and a.state in ('due', 'sent'))::int as downs,
      (select count(*) from alerts a where a.incident_id = i.id and a.event = 'up' and a.state in ('due', 'sent'))::int as ups
    from incidents i order by i.key`;
  return rows.flatMap(({ monitor_id, started_at, confirmed_at, resolved_at, ...row }) => {
    const place = placeOf(monitor_id);
    if (place === undefined) return [];
    const [from, until] = [confirmed_at && Number(confirmed_at), resolved_at && Number(resolved_at)];
    return [{ ...row, place, started_at: Number(started_at), confirmed_at: from, resolved_at: until }];
  });
};

const readRows = async (sql: Transaction, placeOf: PlaceOf, since: number): Promise<Row[]> => {
  const rows = await sql<{ probe: string; continent: Continent; monitor: string; at: number; took_ms: number; outcome: number }[]>`
    select p.name as probe, p.continent, m.id as monitor, (extract(epoch from r.at) * 1000)::float8 as at, r.took_ms, r.outcome
    from results r join probes p on p.key = r.probe_key join monitors m on m.key = r.monitor_key
    where m.type <> 'heartbeat' and r.at >= ${new Date(since)}`;
  return rows.flatMap(({ probe, continent, monitor, at, took_ms, outcome }) => {
    const place = placeOf(monitor);
    return place === undefined ? [] : [{ probe, continent, place, at: Math.round(at), took_ms, ok: outcome === 2 ? null : outcome === 0 }];
  });
};

/** All incidents as they are to be told, and the messages of which nobody knows whether they were taken. */
export const readExpectedMessages = (sql: Sql, placeOf: PlaceOf) =>
  inTransaction(sql, async (transaction) => {
    await transaction`set transaction isolation level repeatable read, read only`;
    const rows = await transaction<{ id: string; monitor: string; confirmed: Date | null; resolved: Date | null; is_due: boolean }[]>`
      select i.id, i.monitor_id as monitor, i.confirmed_at as confirmed, i.resolved_at as resolved,
        exists (select 1 from alerts a where a.incident_id = i.id and a.event = 'down' and a.state in ('due', 'sent')) as is_due
      from incidents i`;
    const overtaken = await transaction<{ id: string }[]>`select id from messages where state = 'overtaken'`;
    return {
      incidents: rows.flatMap(({ id, monitor, confirmed, resolved, is_due: isDue }) => {
        const place = placeOf(monitor);
        const [confirmed_at, resolved_at] = [confirmed && Number(confirmed), resolved && Number(resolved)];
        return place === undefined ? [] : [{ id, place, confirmed_at, resolved_at, isDue }];
      }),
      overtaken: new Set(overtaken.map(({ id }) => id)),
    };
  });

/** What probes judged of jobs. */
export const readJudged = async (sql: Sql, placeOf: PlaceOf) => {
  const rows = await sql<{ probe: string; monitor: string; at: number; outcome: number }[]>`
    select p.name as probe, m.id as monitor, (extract(epoch from r.at) * 1000)::float8 as at, r.outcome
    from results r join probes p on p.key = r.probe_key join monitors m on m.key = r.monitor_key
    where m.type = 'heartbeat' order by r.at`;
  return rows.map(({ monitor, at, outcome, probe }) => ({ probe, place: placeOf(monitor), at, ok: outcome === 2 ? null : outcome === 0 }));
};

/** One moment of the database; of the results those that began since then. */
export const readMoment = (sql: Sql, placeOf: PlaceOf, since = 0): Promise<Moment> =>
  inTransaction(sql, async (transaction) => {
    await transaction`set transaction isolation level repeatable read, read only`;
    return { incidents: await readIncidents(transaction, placeOf), rows: await readRows(transaction, placeOf, since) };
  });

/** The newest hundred of each job: no more are kept. */
export const readPings = async (sql: Sql, placeOf: PlaceOf): Promise<StoredPing[]> => {
  const rows = await sql<{ id: string; monitor_id: string; kind: string; at: Date; body: string }[]>`
    select id, monitor_id, kind, at, body from beats where kind in ('success', 'fail') order by at, id`;
  return rows.flatMap(({ id, monitor_id, kind, at, body }) => {
    const place = placeOf(monitor_id);
    return place === undefined ? [] : [{ id, place, kind: kind === 'fail' ? 'fail' : 'success', at: Number(at), body }];
  });
};
