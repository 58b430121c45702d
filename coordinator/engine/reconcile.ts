import { z } from 'zod';
import { bucketOf } from '../../shared/bus/envelope.ts';
import { jsonIn } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { partitionCount, streams, subjects } from '../../shared/bus/subjects.ts';
import { bucketOfRow } from '../assignments/envelopes.ts';
import type { Sql } from '../database/connect.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { keyAfter, monitorsOfBucket, monitorsOfPartition } from './queries.ts';

/**
 * Ensures that the bus holds the assignments of all monitors of a partition. A marker beside them
 * records for which database and continents, and with which keys, that was done. A wiped bus has
 * lost the marker, a restored database differs from it, a continent's first probe adds to it, and a
 * revoked probe retires a key.
 */
const stored = z.object({
  installation: z.string(),
  served: z.array(z.string()),
  /** Place → epoch of the key that its secrets are sealed with. */
  sealed: z.record(z.string(), z.number()),
  /** The keys that sign all assignments. */
  signed_by: z.array(z.string()),
});

type Marker = z.infer<typeof stored>;

/**
 * A step that runs while nothing else does in the partition, so that it never publishes older rows
 * after a later change: a page of monitors, or finally the marker.
 */
export type ReconcileTurn =
  | {
      readonly is: 'page';
      /** The key of the last monitor of the page before. */
      readonly after: number;
      /** Only assignments sealed for one of these places with a retired key; all when undefined. */
      readonly outdated: ReadonlySet<string> | undefined;
    }
  | { readonly is: 'marker'; readonly marker: Marker };

/**
 * How many were published, and the monitor after which the next page begins; null when there is
 * none.
 */
export type ReconcileAnswer = { readonly published: number; readonly last: number | null };

type InTurn = (turn: ReconcileTurn) => Promise<ReconcileAnswer>;

/**
 * One page in each turn: in between the partition decides what has come. True when something had to
 * be published. @throws when the bus is down.
 */
export async function reconcile(
  partition: number,
  deps: PartitionDependencies,
  inTurn: InTurn,
): Promise<boolean> {
  const { assignments, announcements, installation, log } = deps;
  const before = await readMarker(partition, deps);
  const served = [...assignments.served()];
  const sealed = { ...assignments.sealEpochs() };
  const signed_by = [...announcements.trust()];
  const isKnown =
    before?.installation === installation &&
    served.every((continent) => before.served.includes(continent)) &&
    signed_by.every((key) => before.signed_by.includes(key));
  const outdated = new Set(
    Object.keys(sealed).filter((place) => (sealed[place] ?? 1) > (before?.sealed[place] ?? 1)),
  );
  if (isKnown && outdated.size === 0) return false;
  let count = 0;
  const publishAll = async (): Promise<void> => {
    for (let after: number | null = 0; after !== null; ) {
      const answer: ReconcileAnswer = await inTurn({
        is: 'page',
        after,
        outdated: isKnown ? outdated : undefined,
      });
      count += answer.published;
      after = answer.last;
    }
  };
  await deps.reconciling(publishAll);
  await inTurn({
    is: 'marker',
    marker: { installation, served, sealed, signed_by },
  });
  if (count > 0)
    log.info(
      { partition, monitors: count, served, outdated: [...outdated] },
      'published assignments again',
    );
  return true;
}

async function readMarker(
  partition: number,
  { bus, announcements }: Pick<PartitionDependencies, 'bus' | 'announcements'>,
): Promise<Marker | undefined> {
  const last = await bus.last(streams.assignments.name, subjects.marker(partition));
  if (!last || last.data.length === 0) return undefined;
  if (!announcements.read(last, subjects.marker(partition))) return undefined;
  return stored.safeParse(jsonIn(last.data)).data;
}

export async function takeTurn(
  partition: number,
  turn: ReconcileTurn,
  deps: PartitionDependencies,
): Promise<ReconcileAnswer> {
  const { sql, bus, assignments } = deps;
  if (turn.is === 'marker') {
    await assignments.emptyBuckets(partition, await bucketsIn(partition, sql));
    await bus.store(subjects.marker(partition), JSON.stringify(turn.marker));
    return { published: 0, last: null };
  }
  const { after, outdated } = turn;
  const key = await keyAfter(sql, partition, after);
  if (key === undefined) return { published: 0, last: null };
  const bucket = bucketOfRow({ partition, key });
  const page = await monitorsOfBucket(sql, bucket);
  const last = page.at(-1)?.key ?? key;
  const rows = outdated
    ? page.filter((row) => assignments.sealedFor(row).some((place) => outdated.has(place)))
    : page;
  if (rows.length === 0) return { published: 0, last };
  await assignments.publishBucket(bucket, rows);
  return { published: rows.length, last };
}

/** Those with a monitor in this turn: one may have been made since the pages were read. */
async function bucketsIn(partition: number, sql: Sql): Promise<ReadonlySet<number>> {
  const buckets = new Set<number>();
  for await (const page of monitorsOfPartition(sql, partition))
    for (const { key } of page) buckets.add(bucketOf(key));
  return buckets;
}

/**
 * Removes the markers: every owner publishes its partition again, and empties the buckets that this
 * database does not have.
 */
export async function doubtMarkers(bus: Bus): Promise<void> {
  for (let partition = 0; partition < partitionCount; partition += 1)
    await bus.store(subjects.marker(partition), new Uint8Array());
}
