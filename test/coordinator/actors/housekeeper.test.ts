import { describe, expect, test } from 'vitest';
import { createHousekeeper } from '../../../coordinator/actors/housekeeper.ts';
import { insertResults, type ResultRow } from '../../../coordinator/store/results.ts';
import { eventually } from '../../support/eventually.ts';
import { testLog } from '../../support/network.ts';
import { ownDatabase } from '../../support/own-database.ts';

const day = 86_400_000;
const noon = Date.UTC(2026, 10, 20, 12);
const kept = { rawDays: 2, rollupDays: 400, ledgerDays: 400 };
const { sql } = await ownDatabase();

const resultAt = (at: number): ResultRow => ({
  ...{ monitor_key: 1, at, probe_key: 1, took_ms: 12.5, outcome: 'ok', cause_class: null, phases: null },
});

const days = async (): Promise<string[]> => {
  const rows = await sql<
    { name: string }[]
  >`select relid::regclass::text as name from pg_partition_tree('results') where isleaf order by 1`;
  return rows.map(({ name }) => name);
};

/** Reads the results for as long as it takes, as a backup does. */
const startReading = async (): Promise<{ readonly end: () => Promise<void> }> => {
  const [began, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reading = sql.begin('isolation level repeatable read read only', async (transaction) => {
    await transaction`set local idle_in_transaction_session_timeout = 0`;
    await transaction`select count(*) from results`;
    began.resolve();
    await over.promise;
  });
  await began.promise;
  return {
    end: async () => {
      over.resolve();
      await reading;
    },
  };
};

/** Whether a statement about results waits, so that all that come after it wait behind it. */
const isAnyWaiting = async (): Promise<boolean> => {
  const [row] = await sql<
    { waits: boolean }[]
  >`select exists (select 1 from pg_locks where not granted and relation = 'results'::regclass) as waits`;
  return row?.waits === true;
};

describe('the housekeeper', () => {
  test('makes the days that come and drops those that are over, and holds up no result while somebody reads them all', async () => {
    let now = noon;
    const housekeeper = createHousekeeper({ sql, clock: { now: () => now }, log: testLog(), kept });
    await housekeeper.prepare();
    const before = await days();
    expect(before[0]).toBe('results_20261118');
    expect(before.at(-1)).toBe('results_20261123');
    now += day;
    const reading = await startReading();
    let isOver = false;
    const ticking = housekeeper.tick().finally(() => {
      isOver = true;
    });
    await eventually(async () => isOver || (await isAnyWaiting()));
    await insertResults(sql, [resultAt(now)]);
    await ticking;
    expect(await days()).toEqual([...before, 'results_20261124']);
    await reading.end();
    await housekeeper.tick();
    expect(await days()).toEqual([...before.slice(1), 'results_20261124']);
    await insertResults(sql, [resultAt(now + 3 * day)]);
    const [index] = await sql`select 1 from pg_indexes where tablename = 'results_20261124' and indexdef like '%(monitor_key, at)%'`;
    expect(index).toBeDefined();
  }, 30_000);
});
