import type { Interval } from '../../shared/base/time.ts';
import type { Queryable, Transaction } from '../database/connect.ts';
import { bytesText } from '../database/table.ts';
import { hourMs } from './chunk.ts';
import type { MonitorKey, Results } from './reading.ts';
import { cellsOf, emptySummary, readCells, type Summary } from './summary.ts';

/**
 * Rows of months (`months`): one a monitor and month of UTC, made from its days once the month is
 * over, and again when one of them changes. A year of a thousand monitors is 365,000 rows of days,
 * which take ten seconds to read, and 12,000 of these.
 */

/**
 * Marks the month of a day whose rows are written in this transaction. A mark that is there already
 * is locked, so that makeMonths() leaves it until the rows can be seen.
 */
export async function markMonths(
  sql: Transaction,
  day: number,
  monitors: readonly number[],
): Promise<void> {
  await sql`insert into stale_months (month, monitor_key)
    select date_trunc('month', ${dateOf(day)}::date)::date, key
    from unnest(${monitors}::bigint[]) key order by key
    on conflict (monitor_key, month) do update set month = excluded.month where false`;
}

/** Makes the rows of some marked months. False when no mark waits. */
export async function makeMonths(
  sql: Transaction,
  {
    now,
    batchSize,
    results,
  }: { readonly now: number; readonly batchSize: number; readonly results: Results },
): Promise<boolean> {
  // The last day's row is made in the hours after it. What is later makes its month again.
  const marks = await sql<{ month: number; monitor_key: number }[]>`
    delete from stale_months where (monitor_key, month) in (
      select monitor_key, month from stale_months
      where month < date_trunc('month', ${dateOf(now - 24 * hourMs)}::date)::date
      order by month limit ${batchSize} for update skip locked)
    returning month, monitor_key`;
  for (const [month, some] of Map.groupBy(marks, (mark) => mark.month)) {
    const keys = some.map(({ monitor_key }) => monitor_key);
    const days = await sql<{ key: number; day: number; cells: Uint8Array }[]>`
      select monitor_key as key, day, whole as cells from days
      where monitor_key = any(${keys}::bigint[]) and day = any(array(
        select generate_series(${dateOf(month)}::date,
          ${dateOf(month)}::date + interval '1 month - 1 day', '1 day')::date))`;
    const made = [...summed(days, results)];
    await sql`
      insert into months (month, monitor_key, cells)
      select ${dateOf(month)}, m.key, m.cells::bytea
      from unnest(${made.map(([key]) => key)}::bigint[],
        ${made.map(([, summary]) => bytesText(cellsOf(summary)))}::text[]) as m (key, cells)
      where not exists (select 1 from forgotten_monitors f where f.monitor_key = m.key)
      on conflict (month, monitor_key) do update set cells = excluded.cells`;
  }
  return marks.length > 0;
}

/** The UTC day of a time, as the database reads it. */
export function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** By the keys of monitors; damaged rows are reported and left out. */
function summed(
  rows: readonly { readonly key: number; readonly day: number; readonly cells: Uint8Array }[],
  results: Results,
): Map<number, Summary> {
  const found = new Map<number, Summary>();
  for (const { key, day, cells } of rows) {
    const summary = found.getOrInsertComputed(key, emptySummary);
    const fault = readCells(cells, () => summary);
    if (fault !== null) results.reportDay(key, day, fault);
  }
  return found;
}

/** The checks of monitors, by their keys, in the months of UTC whose 15th begins in a window. */
export async function monthSummaries(
  sql: Queryable,
  results: Results,
  monitors: readonly MonitorKey[],
  { from, to }: Interval,
): Promise<ReadonlyMap<number, Summary>> {
  const rows = await sql<{ key: number; day: number; cells: Uint8Array }[]>`
    select monitor_key as key, month as day, cells from months
    where monitor_key = any(${monitors.map(({ key }) => key)}::bigint[]) and month = any(array(
      select month::date from generate_series(date_trunc('month', ${dateOf(from)}::timestamp),
        ${dateOf(to)}::timestamp, '1 month') month
      where month + interval '14 days' >= ${new Date(from).toISOString()}::timestamptz at time zone 'UTC'
        and month + interval '14 days' < ${new Date(to).toISOString()}::timestamptz at time zone 'UTC'))`;
  return summed(rows, results);
}
