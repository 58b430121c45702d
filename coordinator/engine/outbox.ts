import { readBatch } from '../../shared/bus/batch.ts';
import { strictJsonOf } from '../../shared/bus/messages.ts';
import type { AssignmentChange } from '../assignments/publishing.ts';
import type { Watched } from '../core/types.ts';
import { isTransient } from '../database/connect.ts';
import { markDone, type OutboxRow, waitingRows } from '../database/outbox.ts';
import {
  addMonitor,
  beginDecisions,
  type DecisionBatch,
  decideOn,
  removeMonitor,
  stateOf,
} from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import {
  dropSetAside,
  Fenced,
  keepSetAside,
  type MonitorRow,
  monitorsById,
  setAsideById,
  targetHash,
  watchedOf,
} from './queries.ts';
import { askForFirst } from './rechecks.ts';
import { decideBatches, locate, settle } from './results.ts';
import type { PartitionState } from './state.ts';

/** Decides everything that waits in the outbox, publishes it on the bus, and commits both. */
export async function drainOutbox(
  state: PartitionState,
  deps: PartitionDependencies,
  reportProgress?: () => void,
): Promise<void> {
  for (;;) {
    reportProgress?.();
    const found = await readOutbox(state, deps);
    if (!found) return;
    const { decisions, lines, changes, more } = found;
    const publishing = deps.bus.isConnected()
      ? deps.assignments.publish(changes)
      : Promise.reject(new Error('not connected to the bus'));
    const isPublished = await publishing.then(
      () => true,
      (error: unknown) => {
        deps.log.warn(
          { err: error, rows: lines.length },
          'could not publish assignments; they wait in the outbox',
        );
        return false;
      },
    );
    if (isPublished) for (const line of lines) decisions.rows.done.push(line);
    await settle(decisions, deps);
    for (const line of lines) {
      if (isPublished) state.unpublished.delete(line);
      else state.unpublished.add(line);
    }
    if (!more || !isPublished) return;
  }
}

const most = 500;

type OutboxDecisions = {
  readonly decisions: DecisionBatch;
  readonly lines: readonly number[];
  readonly changes: readonly AssignmentChange[];
  /** Whether more rows may wait. */
  readonly more: boolean;
};

/**
 * The partition's rows of the outbox: decided, and ready to be published. Undefined when there are
 * none.
 */
async function readOutbox(
  state: PartitionState,
  { sql, roster, clock }: PartitionDependencies,
): Promise<OutboxDecisions | undefined> {
  const lines = await waitingRows(sql, 'monitor', state.lease.partition, most);
  if (lines.length === 0) return undefined;
  const ids = [...new Set(lines.map(({ payload }) => payload.monitor))];
  const rows = new Map((await monitorsById(sql, ids)).map((row) => [row.id, row]));
  const now = clock.now();
  const decisions = beginDecisions(state, roster(), now);
  const changed = new Set<MonitorRow>();
  for (const line of lines) {
    if (state.unpublished.has(line.id)) continue;
    const row = rows.get(line.payload.monitor);
    const known = stateOf(decisions, line.payload.monitor)?.watched;
    apply(decisions, line, row, now);
    if (row && (needsRecheck(line, row) || isSlower(known, row))) changed.add(row);
  }
  for (const { id } of changed) {
    // An awaited check of the old config says nothing about the new one.
    state.firstChecks.awaited.delete(id);
    askForFirst(state.firstChecks, decisions, id, roster(), now);
  }
  const created = new Set(
    lines
      .filter(({ payload }) => payload.change === 'created')
      .map(({ payload }) => payload.monitor),
  );
  const changes = ids.map((monitor) => ({
    monitor,
    key: rows.get(monitor)?.key ?? state.monitors.keyOf(monitor),
    row: rows.get(monitor) ?? null,
    isNew: created.has(monitor) && rows.has(monitor),
  }));
  return { decisions, lines: lines.map(({ id }) => id), changes, more: lines.length === most };
}

/** Applies one change of a monitor, as an operation wrote it, to what is known of it. */
function apply(
  decisions: DecisionBatch,
  line: OutboxRow<'monitor'>,
  row: MonitorRow | undefined,
  now: number,
): void {
  const { monitor, change, what_is_checked_changed, restored } = line.payload;
  // The database's clock, which set this time, may be ahead of ours. Every later check must count
  // as after the change.
  const at = Math.min(line.at, now);
  const known = stateOf(decisions, monitor);
  if (change === 'deleted' || !row) {
    decideOn(decisions, monitor, { is: 'deleted', at });
    removeMonitor(decisions, monitor);
    return;
  }
  if (!known) {
    const since = restored?.unchecked_since;
    // A later line may have paused the row already; that line has the time of the pause.
    addMonitor(decisions, row.key, { ...watchedOf(row), paused_at: null }, targetHash(row), since);
    // The time in the trash is a pause, before which everything was covered.
    if (since !== undefined) decideOn(decisions, monitor, { is: 'paused', at: since });
    if (restored?.is_paused === false) decideOn(decisions, monitor, { is: 'resumed', at });
    if (change === 'created' && row.paused_at !== null && row.paused_at <= at)
      decideOn(decisions, monitor, { is: 'paused', at: row.paused_at });
    return;
  }
  if (change === 'paused') decideOn(decisions, monitor, { is: 'paused', at });
  else if (change === 'resumed') decideOn(decisions, monitor, { is: 'resumed', at });
  else if (change === 'edited') {
    const watched = { ...watchedOf(row), paused_at: known.watched.paused_at };
    decideOn(decisions, monitor, { is: 'edited', at, watched, changed: what_is_checked_changed });
  }
}

/**
 * Whether users wait for a first result after this change. A heartbeat gets no checks: it reports
 * itself.
 */
function needsRecheck(
  { payload: { change, what_is_checked_changed } }: OutboxRow<'monitor'>,
  row: MonitorRow,
): boolean {
  return (
    row.type !== 'heartbeat' &&
    row.paused_at === null &&
    (change === 'created' ||
      change === 'resumed' ||
      change === 'restored' ||
      (change === 'edited' && what_is_checked_changed))
  );
}

/**
 * Whether it is checked less often from now on. The last result covers only the old interval, and
 * the next turn may be far away (rule 22).
 */
function isSlower(known: Watched | undefined, row: MonitorRow): boolean {
  return (
    known !== undefined &&
    row.type !== 'heartbeat' &&
    row.paused_at === null &&
    watchedOf(row).interval_ms > known.interval_ms
  );
}

/**
 * Processes set-aside messages again that the operator asked for. A message that fails again stays
 * set aside.
 */
export async function retrySetAsideAsked(
  state: PartitionState,
  deps: PartitionDependencies,
): Promise<void> {
  const { sql, bus, log } = deps;
  for (const line of await waitingRows(sql, 'set_aside', state.lease.partition, 100)) {
    const { id } = line.payload;
    const aside = await setAsideById(sql, id);
    if (aside) {
      const { subject, data } = aside;
      const isPing = subject.startsWith('beat.');
      if (isPing && !bus.isConnected()) return;
      try {
        // A repeated ping is the same ping, so it can be sent again.
        if (isPing) await bus.store(subject, data);
        else await workOnBatch(state, id, data, deps);
        await dropSetAside(sql, id);
        log.info({ id, subject }, 'a message that was set aside has been processed');
      } catch (error) {
        if (error instanceof Fenced || isTransient(error)) throw error;
        log.error({ err: error, id, subject }, 'a message that was set aside failed again');
        await keepSetAside(sql, id, error instanceof Error ? error.message : String(error));
      }
    }
    await markDone(sql, [line.id]);
  }
}

/**
 * Its sender was verified when it came; its content is decided like any late result. @throws the
 * reason when it cannot be processed.
 */
async function workOnBatch(
  state: PartitionState,
  id: number,
  data: Uint8Array,
  deps: PartitionDependencies,
): Promise<void> {
  const batch = readBatch(strictJsonOf(data));
  if (!batch || batch.partition !== state.lease.partition)
    throw new Error('this is not a batch of results of this partition');
  const probe = await deps.directory.find(batch.probe);
  if (!probe) throw new Error(`there is no probe ${batch.probe}`);
  const { decisions, refused } = decideBatches(
    state,
    [
      locate(
        {
          probe,
          batch: { ...batch, generation: generationOf(id), after: null },
          delivered: { data, header: () => undefined },
        },
        state.monitors,
      ),
    ],
    deps,
  );
  await settle(decisions, deps);
  for (const one of refused) deps.refusals.count(one.probe, one.reason);
}

/**
 * The generation under which a message is processed again: its own is marked as complete already.
 * It is unique for each message, so that a second run (after a crash between the two writes) is
 * detected as a repeat.
 */
function generationOf(id: number): string {
  return `00000000-0000-4000-8000-${id.toString(16).padStart(12, '0')}`;
}
