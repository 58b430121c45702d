import type { Queryable } from './database.ts';

/** A message that could not be worked on, kept for the operator to look at. */
export const setAside = async (sql: Queryable, message: { subject: string; reason: string; data: Uint8Array }): Promise<void> => {
  await sql`insert into set_aside (subject, reason, data) values (${message.subject}, ${message.reason}, ${message.data})`;
};

export type Refused = { readonly probe: string; readonly reason: string; readonly count: number };

/** Adds to today's counts of what was refused. */
export const countRefused = async (sql: Queryable, counts: readonly Refused[]): Promise<void> => {
  if (counts.length === 0) return;
  await sql`
    insert into refused (day, probe, reason, count)
    select (now() at time zone 'UTC')::date, probe, reason, count
    from json_to_recordset(${JSON.stringify(counts)}::text::json) as t (probe text, reason text, count bigint)
    on conflict (day, probe, reason) do update set count = refused.count + excluded.count`;
};
