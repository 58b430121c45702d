import { readBatch } from '../../shared/bus/batch.ts';
import { strictJsonOf } from '../../shared/bus/messages.ts';
import type { Watched } from '../core/types.ts';
import { isPassing } from '../database/connect.ts';
import { markDone, type OutboxLine, waitingLines } from '../database/outbox.ts';
import type { AssignmentChange } from '../probes/assignments.ts';
import { addMonitor, beginDecisions, type DecisionBatch, decideOn, removeMonitor, stateOf } from './decision-batch.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { dropSetAside, Fenced, keepSetAside, type MonitorRow, monitorsById, setAsideById, targetHash, watchedOf } from './queries.ts';
import { askForFirst } from './rechecks.ts';
import { find, receiveBatches, settle } from './results.ts';
import type { PartitionState } from './state.ts';

const most = 500;

/** Applies one change of a monitor, as an operation wrote it down, to what is known of it. */
const apply = (decisions: DecisionBatch, line: OutboxLine<'monitor'>, row: MonitorRow | undefined, now: number): void => {
  const { monitor, change, what_is_checked_changed } = line.payload;
  // Dated by the database, whose clock may be ahead of ours: what is looked at after this is seen after it.
  const at = Math.min(line.at, now);
  const known = stateOf(decisions, monitor);
  if (change === 'deleted' || !row) {
    decideOn(decisions, monitor, { is: 'deleted', at });
    removeMonitor(decisions, monitor);
    return;
  }
  if (!known) {
    // The row may be paused already by a later line; that line says since when.
    addMonitor(decisions, row.key, { ...watchedOf(row), paused_at: null }, targetHash(row));
    if (change === 'created' && row.paused_at !== null && row.paused_at.getTime() <= at)
      decideOn(decisions, monitor, { is: 'paused', at: row.paused_at.getTime() });
    return;
  }
  if (change === 'paused') decideOn(decisions, monitor, { is: 'paused', at });
  else if (change === 'resumed') decideOn(decisions, monitor, { is: 'resumed', at });
  else if (change === 'edited') {
    const watched = { ...watchedOf(row), paused_at: known.watched.paused_at };
    decideOn(decisions, monitor, { is: 'edited', at, watched, changed: what_is_checked_changed });
  }
};

/** Whether the line makes people wait for a first answer. A heartbeat is not looked at: it speaks itself. */
const needsRecheck = ({ payload: { change, what_is_checked_changed } }: OutboxLine<'monitor'>, row: MonitorRow): boolean =>
  row.type !== 'heartbeat' &&
  row.paused_at === null &&
  (change === 'created' || change === 'resumed' || (change === 'edited' && what_is_checked_changed));

/** Whether it is to be checked less often from now on: what was seen last covers only the old interval, and the next turn may be far (rule 22). */
const isSlower = (known: Watched | undefined, row: MonitorRow): boolean =>
  known !== undefined && row.type !== 'heartbeat' && row.paused_at === null && watchedOf(row).interval_ms > known.interval_ms;

type OutboxDecisions = {
  readonly decisions: DecisionBatch;
  readonly lines: readonly number[];
  readonly changes: readonly AssignmentChange[];
  /** Whether more lines may wait. */
  readonly more: boolean;
};

/** What the outbox holds for this partition: decided, and ready to be published. Undefined when it holds nothing. */
const readOutbox = async (state: PartitionState, { sql, roster, clock }: PartitionDependencies): Promise<OutboxDecisions | undefined> => {
  const lines = await waitingLines(sql, 'monitor', state.lease.partition, most);
  if (lines.length === 0) return undefined;
  const ids = [...new Set(lines.map(({ payload }) => payload.monitor))];
  const rows = new Map((await monitorsById(sql, ids)).map((row) => [row.id, row]));
  const now = clock.now();
  const decisions = beginDecisions(state, roster(), now);
  const lookedAt = new Set<MonitorRow>();
  for (const line of lines) {
    if (state.unpublished.has(line.id)) continue;
    const row = rows.get(line.payload.monitor);
    const known = stateOf(decisions, line.payload.monitor)?.watched;
    apply(decisions, line, row, now);
    if (row && (needsRecheck(line, row) || isSlower(known, row))) lookedAt.add(row);
  }
  for (const { id } of lookedAt) {
    // What is awaited of it as it was before says nothing of it as it is now.
    state.unseen.awaited.delete(id);
    askForFirst(state.unseen, decisions, id, roster(), now);
  }
  const created = new Set(lines.filter(({ payload }) => payload.change === 'created').map(({ payload }) => payload.monitor));
  const changes = ids.map((monitor) => ({ monitor, row: rows.get(monitor) ?? null, isNew: created.has(monitor) && rows.has(monitor) }));
  return { decisions, lines: lines.map(({ id }) => id), changes, more: lines.length === most };
};

/** Decides about all that waits in the outbox, has the bus know it, and commits both. */
export const drainOutbox = async (state: PartitionState, parts: PartitionDependencies, goesOn?: () => void): Promise<void> => {
  for (;;) {
    goesOn?.();
    const found = await readOutbox(state, parts);
    if (!found) return;
    const { decisions, lines, changes, more } = found;
    const publishing = parts.bus.isConnected() ? parts.assignments.publish(changes) : Promise.reject(new Error('the bus is away'));
    const isPublished = await publishing.then(
      () => true,
      (error: unknown) => {
        parts.log.warn({ err: error, lines: lines.length }, 'assignments could not be published; they wait in the outbox');
        return false;
      },
    );
    if (isPublished) for (const line of lines) decisions.rows.done.push(line);
    await settle(decisions, parts);
    for (const line of lines) {
      if (isPublished) state.unpublished.delete(line);
      else state.unpublished.add(line);
    }
    if (!more || !isPublished) return;
  }
};

/**
 * The generation that a message counts under when it is worked on again: its own says already that it is over and done with. One for each
 * message, so that a second time (after a crash between the two writes) is told as a repeat.
 */
const generationOf = (id: number): string => `00000000-0000-4000-8000-${id.toString(16).padStart(12, '0')}`;

/** Who sent it was judged when it came; what it says is decided about as any late result. @throws why it cannot be. */
const workOnBatch = async (state: PartitionState, id: number, data: Uint8Array, parts: PartitionDependencies): Promise<void> => {
  const batch = readBatch(strictJsonOf(data));
  if (!batch || batch.partition !== state.lease.partition) throw new Error('it is no batch of results of this partition');
  const probe = await parts.directory.find(batch.probe);
  if (!probe) throw new Error(`there is no probe ${batch.probe}`);
  const { decisions, refused } = receiveBatches(
    state,
    [find({ probe, batch: { ...batch, generation: generationOf(id), after: null } }, state.monitors)],
    parts,
  );
  await settle(decisions, parts);
  for (const one of refused) parts.refusals.count(one.probe, one.reason);
};

/** Works once more on what the operator asked for. What cannot be worked on this time either stays set aside. */
export const retryAsked = async (state: PartitionState, parts: PartitionDependencies): Promise<void> => {
  const { sql, bus, log } = parts;
  for (const line of await waitingLines(sql, 'set_aside', state.lease.partition, 100)) {
    const { id } = line.payload;
    const aside = await setAsideById(sql, id);
    if (aside) {
      const { subject, data } = aside;
      const isPing = subject.startsWith('beat.');
      if (isPing && !bus.isConnected()) return;
      try {
        // A ping that comes twice is one ping, so it may simply come again.
        if (isPing) await bus.store(subject, data);
        else await workOnBatch(state, id, data, parts);
        await dropSetAside(sql, id);
        log.info({ id, subject }, 'a message that was set aside is worked on after all');
      } catch (error) {
        if (error instanceof Fenced || isPassing(error)) throw error;
        log.error({ err: error, id, subject }, 'a message that was set aside cannot be worked on this time either');
        await keepSetAside(sql, id, error instanceof Error ? error.message : String(error));
      }
    }
    await markDone(sql, [line.id]);
  }
};
