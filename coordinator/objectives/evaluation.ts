import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { ledgerHistories } from '../monitors/status-queries.ts';
import type { Results } from '../results/reading.ts';
import { burnWindows } from './burn.ts';
import { burnAt, createLedger, type Ledger } from './model.ts';
import {
  type NewBurn,
  type OpenBurn,
  objectivesBurning,
  openBurns,
  type WatchedObjective,
  writeBurns,
} from './queries.ts';
import { ledgersOf, readTimes, type TimesRead } from './times.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const longestMs = Math.max(...burnWindows.map(({ long_minutes }) => long_minutes)) * minuteMs;

/**
 * Warns, on the leader and once a minute, of error budgets that burn (rule 52). It reads the ledger as
 * it is, so a minute that is missed changes nothing of the next.
 */
export function createObjectiveEvaluation({
  sql,
  results,
  clock,
  isLeader,
}: {
  readonly sql: Sql;
  readonly results: Results;
  readonly clock: Clock;
  readonly isLeader: () => boolean;
}): { readonly tick: () => Promise<void> } {
  let evaluated = 0;
  let earlier: Earlier = { hour: 0, limits: '', read: new Map() };
  return {
    tick: async () => {
      const now = Math.floor(clock.now() / minuteMs) * minuteMs;
      if (!isLeader() || now === evaluated) return;
      await inTransaction(sql, async (transaction) => {
        const since = now - longestMs;
        const open = await openBurns(transaction);
        const objectives = await objectivesBurning(transaction, since);
        if (open.length === 0 && objectives.length === 0) return;
        const timed = objectives.filter(({ latency_ms }) => latency_ms !== null);
        earlier = await earlierTimes(transaction, results, timed, { earlier, now });
        const { hour } = earlier;
        const recent = await readTimes(transaction, results, timed, { from: hour, to: now });
        const others = objectives.filter(({ latency_ms }) => latency_ms === null);
        const monitors = [...new Set(others.flatMap((each) => each.monitors))];
        const window = { from: since, to: now };
        const ledger = createLedger(await ledgerHistories(transaction, monitors, window));
        const ledgerOf = ledgersOf(ledger, earlier.read, recent);
        const burning = objectives.flatMap((each) => burningOf(each, ledgerOf(each), now));
        const isAmong = (all: readonly Pick<OpenBurn, 'objective' | 'code'>[], one: OpenBurn) =>
          all.some(({ objective, code }) => objective === one.objective && code === one.code);
        const begun = burning.filter((one) => !isAmong(open, one));
        const ended = open.filter((one) => !isAmong(burning, one)).map(({ id }) => id);
        await writeBurns(transaction, { begun, ended }, now);
      });
      evaluated = now;
    },
  };
}

/** Times before an hour: reading those of three days each minute would take too long. */
type Earlier = { readonly hour: number; readonly limits: string; readonly read: TimesRead };

/** Read again each hour, and when other monitors or limits are asked for. */
async function earlierTimes(
  sql: Queryable,
  results: Results,
  objectives: readonly WatchedObjective[],
  { earlier, now }: { readonly earlier: Earlier; readonly now: number },
): Promise<Earlier> {
  const hour = Math.floor(now / hourMs) * hourMs;
  const limits = JSON.stringify(objectives.map((each) => [each.latency_ms, each.monitors]));
  if (earlier.hour === hour && earlier.limits === limits) return earlier;
  const read = await readTimes(sql, results, objectives, { from: now - longestMs, to: hour });
  return { hour, limits, read };
}

/** The warnings that hold at a moment, each on the monitor that was down, or slow, most. */
function burningOf(objective: WatchedObjective, ledger: Ledger, now: number): NewBurn[] {
  const { id, name, target, monitors } = objective;
  const burns = burnAt(objective, monitors, ledger, now).filter((each) => each.burns);
  return [...Map.groupBy(burns, ({ code }) => code)].flatMap(([code, [first]]) => {
    if (!first) return [];
    const window = { from: now - first.long_minutes * minuteMs, to: now };
    const downOf = new Map(
      monitors.map((monitor) => [monitor, ledger([monitor], window).countedDown]),
    );
    const [monitor] = monitors.toSorted((a, b) => (downOf.get(b) ?? 0) - (downOf.get(a) ?? 0));
    if (monitor === undefined) return [];
    const details = {
      objective: name,
      target,
      rate: Number(first.long_rate.toPrecision(2)),
      hours: first.long_minutes / 60,
    };
    return [{ id: newId(), objective: id, code, monitor, details }];
  });
}
