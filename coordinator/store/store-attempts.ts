import type { Queryable } from './store-database.ts';
import { textsLiteral } from './store-sql-arrays.ts';

const hexOf = (subjects: readonly Buffer[]): string => textsLiteral(subjects.map((subject) => subject.toString('hex')));

/** Counts a try of each subject, in one statement; gives how many there were in each one's window, and when that began. */
export const countTries = async (
  sql: Queryable,
  subjects: readonly Buffer[],
  now: Date,
  windowMs: number,
): Promise<{ readonly subject: Buffer; readonly tries: number; readonly began_at: Date }[]> => {
  const over = new Date(now.getTime() - windowMs);
  return sql<{ subject: Buffer; tries: number; began_at: Date }[]>`
    insert into attempts as a (subject, began_at, tries)
    select decode(h, 'hex'), ${now}, 1 from unnest(${hexOf(subjects)}::text[]) h order by 1
    on conflict (subject) do update set
      tries = case when a.began_at <= ${over} then 1 else a.tries + 1 end,
      began_at = case when a.began_at <= ${over} then excluded.began_at else a.began_at end
    returning subject, tries, began_at`;
};

/** What was proven was not guessed. */
export const forgetTries = async (sql: Queryable, subjects: readonly Buffer[]): Promise<void> => {
  await sql`delete from attempts where subject in (select decode(h, 'hex') from unnest(${hexOf(subjects)}::text[]) h)`;
};
