import { isTransient } from '../database/connect.ts';
import {
  beginRound,
  beginSealing,
  dropSealed,
  endSealing,
  hasDue,
  type Sealing,
  sealedUntil,
} from '../results/hours.ts';
import { sealOf } from '../results/sealing.ts';
import { emptyUnit } from './commit.ts';
import type { PartitionDependencies } from './dependencies.ts';
import type { PartitionAnswer } from './messages.ts';
import { Fenced } from './queries.ts';
import type { PartitionState } from './state.ts';

/** Checks of an hour that has just ended may still be on their way; later ones join its chunks. */
const settledMs = 120_000;
/** How many monitors' chunks are written in one turn: in between the partition decides. */
const monitorsAtOnce = 1_000;

type SealedState = Pick<PartitionState, 'lease' | 'hours' | 'earlier' | 'sealing'>;

type Dependencies = Pick<
  PartitionDependencies,
  'sql' | 'clock' | 'log' | 'writer' | 'oldestKept' | 'unsealed'
>;

/**
 * The owner of a partition moves the hours that are over from the journal into chunks, in rounds,
 * once it has read what came before its checkpoint: that is not needed to decide.
 *
 *   1 batches   of the oldest such hour, a thousand monitors in each turn
 *   2 mark    once no hour of the round is left: all that arrived before a time is in chunks
 *
 * A check that comes late waits for the next round, which is a minute away: its chunk is written
 * again. A crash in between begins again with all that arrived after the last mark: a chunk takes
 * a check that it has only once. What the database refuses is tried again later, and does not
 * discard the state.
 */
export async function sealTurn(
  state: SealedState,
  deps: Dependencies,
  atOnce = monitorsAtOnce,
): Promise<PartitionAnswer> {
  const nothingMore: PartitionAnswer = { is: 'sealed', isMore: false };
  const { hours, lease } = state;
  const endedBefore = deps.clock.now() - settledMs;
  try {
    if (state.earlier) {
      state.earlier = await deps.unsealed.readEarlier(hours, state.earlier);
      if (!state.earlier) deps.unsealed.own(lease.partition, hours);
      return { is: 'sealed', isMore: true };
    }
    if (!state.sealing && !hasDue(hours)) beginRound(hours, endedBefore);
    state.sealing ??= beginSealing(hours);
    if (state.sealing) {
      await sealBatch(state, state.sealing, atOnce, deps);
      if (state.sealing || hasDue(hours)) return { is: 'sealed', isMore: true };
    }
    const until = sealedUntil(hours, endedBefore);
    if (until === hours.until) return nothingMore;
    await deps.writer.commit({ ...emptyUnit(lease), sealedUntil: until });
    dropSealed(hours, until);
    return nothingMore;
  } catch (error) {
    // It may be committed after all, and must not be so after a later one.
    if (error instanceof Fenced || isTransient(error)) throw error;
    return { is: 'failed', error };
  }
}

async function sealBatch(
  state: SealedState,
  sealing: Sealing,
  atOnce: number,
  { sql, clock, log, writer, oldestKept }: Dependencies,
): Promise<void> {
  const { monitors, hour } = sealing;
  const { partition } = state.lease;
  const batch = monitors.slice(-atOnce);
  // The day of checks that waited too long is no longer kept.
  if (hour >= oldestKept(clock.now())) {
    const keys = batch.map((key) => ({ key, partition }));
    const seal = await sealOf(sql, log, sealing, keys);
    await writer.commit({ ...emptyUnit(state.lease), seal });
  }
  monitors.length -= batch.length;
  if (monitors.length > 0) return;
  endSealing(state.hours);
  state.sealing = undefined;
}
