import type { Queryable } from './store-database.ts';
import { textsLiteral } from './store-sql-arrays.ts';

const hexOf = (subjects: readonly Buffer[]): string => textsLiteral(subjects.map((subject) => subject.toString('hex')));

/** Counts a try of each subject, in one statement; gives how many there were in each one's window, and when that began. A window that began by `since` is over. */
export const countTries = async (
  sql: Queryable,
  tried: readonly { readonly subject: Buffer; readonly since: Date }[],
  now: Date,
): Promise<{ readonly subject: Buffer; readonly tries: number; readonly began_at: Date }[]> => {
  const subjects = hexOf(tried.map(({ subject }) => subject));
  const sinces = textsLiteral(tried.map(({ since }) => since.toISOString()));
  return sql<{ subject: Buffer; tries: number; began_at: Date }[]>`
    with tried as (select decode(h, 'hex') as subject, since from unnest(${subjects}::text[], ${sinces}::timestamptz[]) t (h, since))
    insert into attempts as a (subject, began_at, tries)
    select subject, ${now}, 1 from tried order by 1
    on conflict (subject) do update set (tries, began_at) = (
      select case when a.began_at <= t.since then 1 else a.tries + 1 end, case when a.began_at <= t.since then excluded.began_at else a.began_at end
      from tried t where t.subject = excluded.subject)
    returning subject, tries, began_at`;
};

/** What was proven was not guessed. */
export const forgetTries = async (sql: Queryable, subjects: readonly Buffer[]): Promise<void> => {
  await sql`delete from attempts where subject in (select decode(h, 'hex') from unnest(${hexOf(subjects)}::text[]) h)`;
};
