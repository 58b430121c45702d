import type { Queryable } from './store-database.ts';

export type Refused = { readonly probe: string; readonly reason: string; readonly count: number };

export type RefusedRow = Refused & {
  /** Such as 2026-11-21. */
  readonly day: string;
  /** Of the probe, where it is one of ours. */
  readonly name: string | null;
  readonly last_at: Date;
};

/** Adds to today's counts of what was refused. */
export const countRefused = async (sql: Queryable, counts: readonly Refused[]): Promise<void> => {
  if (counts.length === 0) return;
  await sql`
    insert into refused (day, probe, reason, count, last_at)
    select (now() at time zone 'UTC')::date, probe, reason, count, now()
    from json_to_recordset(${JSON.stringify(counts)}::text::json) as t (probe text, reason text, count bigint)
    on conflict (day, probe, reason) do update set count = refused.count + excluded.count, last_at = excluded.last_at`;
};

/** Since a day, the newest day first and in it the most. */
export const refusedSince = (sql: Queryable, since: Date, probe: string | null): Promise<RefusedRow[]> =>
  sql<RefusedRow[]>`
    select to_char(r.day, 'YYYY-MM-DD') as day, r.probe, p.name, r.reason, r.count, r.last_at
    from refused r left join probes p on p.id::text = r.probe
    where r.day >= (${since}::timestamptz at time zone 'UTC')::date ${probe === null ? sql`` : sql`and r.probe = ${probe}`}
    order by r.day desc, r.count desc, r.probe, r.reason limit 1000`;
