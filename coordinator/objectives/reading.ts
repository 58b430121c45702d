import type { Queryable } from '../database/connect.ts';
import type { MonitorHistory } from '../monitors/status.ts';
import type { Results } from '../results/reading.ts';
import { budgetOf, createLedger, earliestOf, type Ledger, spanOf } from './model.ts';
import type { ObjectiveRow } from './queries.ts';
import { ledgersOf, readTimes } from './times.ts';

/** All objectives of an answer are of one reading of the ledger. */
export type LedgerRead = {
  readonly ledgerOf: (row: Pick<ObjectiveRow, 'latency_ms'>) => Ledger;
  readonly paused: ReadonlySet<string>;
  readonly zone: string;
  readonly now: number;
};

/** `histories`: of all monitors of objectives of uptime, from the earliest that counts. */
export async function readLedger(
  sql: Queryable,
  results: Results,
  { zone, now }: { readonly zone: string; readonly now: number },
  rows: readonly ObjectiveRow[],
  histories: readonly MonitorHistory[],
): Promise<LedgerRead> {
  const timed = rows.filter(({ latency_ms }) => latency_ms !== null);
  const times = await readTimes(sql, results, timed, { from: earliestOf(zone, now), to: now });
  const paused = histories.flatMap(({ id, paused_at }) => (paused_at === null ? [] : [id]));
  const ledgerOf = ledgersOf(createLedger(histories), times);
  return { ledgerOf, paused: new Set(paused), zone, now };
}

export function figuresOf(row: ObjectiveRow, { ledgerOf, paused, zone, now }: LedgerRead) {
  const { from, to } = spanOf(row.period, zone, now);
  const checked = row.monitors.filter((id) => !paused.has(id));
  const sums = ledgerOf(row)(row.monitors, { from, to: now });
  // How many checks are to come nobody knows.
  const rest = row.latency_ms === null ? (to - now) * checked.length : 0;
  return { from, to, ...budgetOf(row, sums, rest) };
}
