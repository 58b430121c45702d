import type { Log } from '../../shared/base/log.ts';
import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import {
  addBatch,
  checksIn,
  createHours,
  dropSealed,
  type Hours,
  type JournalBatch,
  newestIn,
} from './hours.ts';
import { batchesAtOnce, type Position, readBehind } from './journal.ts';
import type { UnsealedHours } from './reading.ts';

/**
 * What of each partition is committed and may be in no chunk yet. The owner of a partition adds
 * what it commits; of the others the journal is read when somebody asks.
 *
 * What was read for others is forgotten when nobody asks for a while.
 */
export type OwnedUnsealedHours = UnsealedHours & {
  /** Reads what came after a batch of a partition that we own from now on: nobody else adds to it. */
  readonly read: (partition: number, after?: number) => Promise<Hours>;
  /** Reads some of what came before; undefined: that was all. */
  readonly readEarlier: (
    hours: Hours,
    earlier: Earlier,
    most?: number,
  ) => Promise<Earlier | undefined>;
  /** What we read is complete from now on, because we add what we commit. */
  readonly own: (partition: number, hours: Hours) => void;
  /** We own it no longer. */
  readonly leave: (partition: number, hours: Hours) => void;
};

/** Batches of a partition after one up to another, which are not read yet. */
export type Earlier = { readonly partition: number; readonly last: number; readonly to: number };

type Read = { readonly hours: Hours; last: number; usedAt: number; readonly isOwn: boolean };

/** What nobody asked for is forgotten after this. */
const keptMs = 600_000;
/** Taking more in at once would keep the partition from deciding. */
const earlierAtOnce = 100;

export function createUnsealedHours({
  sql,
  log,
}: {
  readonly sql: Queryable;
  readonly log: Log;
}): OwnedUnsealedHours {
  const known = new Map<number, Read>();
  /** Partitions that wait for the next read. */
  const asked = new Set<number>();
  let next: Promise<void> | undefined;
  let current: Promise<void> = Promise.resolve();

  const readAsked = async (): Promise<void> => {
    next = undefined;
    const partitions = [...asked].filter((partition) => known.get(partition)?.isOwn !== true);
    asked.clear();
    const now = performance.now();
    for (const [partition, { usedAt, isOwn }] of known)
      if (!isOwn && now - usedAt > keptMs) known.delete(partition);
    if (partitions.length === 0) return;
    const reads = new Map(
      partitions.map((partition) => {
        const read = known.get(partition) ?? newRead();
        read.usedAt = now;
        return [partition, read];
      }),
    );
    await readAll(sql, reads, log);
    for (const [partition, read] of reads)
      if (known.get(partition)?.isOwn !== true) known.set(partition, read);
  };

  return {
    refresh: (partitions) => {
      if (partitions.every((partition) => known.get(partition)?.isOwn === true))
        return Promise.resolve();
      for (const partition of partitions) asked.add(partition);
      // A read in progress may have begun before what the caller knows to be committed.
      next ??= current = current.catch(() => undefined).then(readAsked);
      return next;
    },
    checksOf: (partition, monitor, from, to) =>
      checksIn(known.get(partition)?.hours ?? nothing, monitor, from, to),
    newestOf: (partition, monitor) => newestIn(known.get(partition)?.hours ?? nothing, monitor),
    read: async (partition, after = 0) => {
      const read = { ...newRead(), last: after };
      await readAll(sql, new Map([[partition, read]]), log);
      return read.hours;
    },
    readEarlier: async (hours, { partition, last, to }, most = earlierAtOnce) => {
      const rows = await readBehind(sql, [{ partition, last }], most);
      const batches = rows.flatMap(({ batch }) => (batch && batch.id <= to ? [batch] : []));
      for (const batch of batches) addJournalBatch(hours, batch, log);
      const newest = batches.at(-1);
      return newest === undefined || batches.length < most
        ? undefined
        : { partition, last: newest.id, to };
    },
    own: (partition, hours) => {
      known.set(partition, { ...newRead(), hours, isOwn: true });
    },
    leave: (partition, hours) => {
      if (known.get(partition)?.hours === hours) known.delete(partition);
    },
  };
}

const nothing: Pick<Hours, 'held'> = { held: [] };

function newRead(): Read {
  return { hours: createHours(), last: 0, usedAt: 0, isOwn: false };
}

async function readAll(sql: Queryable, reads: ReadonlyMap<number, Read>, log: Log): Promise<void> {
  let behind = [...reads];
  let coming = readBehind(sql, behind.map(positionOf));
  while (behind.length > 0) {
    const most = batchesAtOnce(behind.length);
    const rows = await coming;
    const counts = new Map<number, number>();
    for (const { partition, batch } of rows) {
      const read = reads.get(partition);
      if (!read || !batch) continue;
      read.last = batch.id;
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    behind = behind.filter(([partition]) => counts.get(partition) === most);
    // The database works on the next ones while these are taken in.
    if (behind.length > 0) coming = readBehind(sql, behind.map(positionOf));
    for (const { partition, until, batch } of rows) {
      const hours = reads.get(partition)?.hours;
      if (!hours) continue;
      dropSealed(hours, until);
      if (batch) addJournalBatch(hours, batch, log);
    }
  }
}

function positionOf([partition, { last }]: readonly [number, Read]): Position {
  return {
    partition,
    last,
  };
}

/** A damaged batch is logged, and the others go on. */
function addJournalBatch(
  hours: Hours,
  batch: JournalBatch & { readonly id: number },
  log: Log,
): void {
  const fault = addBatch(hours, batch);
  if (fault !== null)
    log.error(
      { journal: batch.id, probe: batch.probe, arrival: isoText(batch.arrival), fault },
      'a batch of results in the journal is damaged; its checks are missing in charts and lists',
    );
}
