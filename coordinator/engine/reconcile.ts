import pLimit, { type LimitFunction } from 'p-limit';
import { z } from 'zod';
import { jsonIn } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import {
  lastTokenOf,
  partitionCount,
  partitionOf,
  streams,
  subjects,
} from '../../shared/bus/subjects.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { monitorsAfter, monitorsOfPartition } from './queries.ts';

/**
 * Ensures that the bus holds the assignments of all monitors of a partition. A marker beside them
 * records for which database and continents, and with which keys, that was done. A wiped bus has
 * lost the marker, a restored database differs from it, a continent's first probe adds to it, and a
 * revoked probe retires a key.
 */
const marker = z.object({
  installation: z.string(),
  served: z.array(z.string()),
  /** Place → epoch of the key that its secrets are sealed with. */
  sealed: z.record(z.string(), z.number()).default({}),
  /** The keys that sign all assignments. */
  signed_by: z.array(z.string()).default([]),
});

type Marker = z.infer<typeof marker>;

/**
 * A step that runs while nothing else does in the partition, so that it never publishes older rows
 * after a later change: a page of monitors, or finally the marker.
 */
export type ReconcileTurn = {
  /** The assignments on the bus are of another database. */
  readonly isStranger: boolean;
} & (
  | {
      readonly is: 'page';
      /** The key of the last monitor of the page before. */
      readonly after: number;
      /** Only assignments sealed for one of these places with a retired key; all when undefined. */
      readonly outdated: ReadonlySet<string> | undefined;
    }
  | { readonly is: 'marker'; readonly marker: Marker }
);

/**
 * How many were published, and the monitor after which the next page begins; null when there is
 * none.
 */
export type ReconcileAnswer = { readonly published: number; readonly last: number | null };

type InTurn = (turn: ReconcileTurn) => Promise<ReconcileAnswer>;

/**
 * One page in each turn: in between the partition decides what has come. True when something had to
 * be published. @throws when the bus is away.
 */
export async function reconcile(
  partition: number,
  deps: PartitionDependencies,
  inTurn: InTurn,
): Promise<boolean> {
  const { bus, assignments, announcements, installation, log } = deps;
  const before = await readMarker(partition, deps);
  const served = [...assignments.served()];
  const sealed = { ...assignments.sealEpochs() };
  const signed_by = [...announcements.trust().keys];
  const isKnown =
    before?.installation === installation &&
    served.every((continent) => before.served.includes(continent)) &&
    signed_by.every((key) => before.signed_by.includes(key));
  const outdated = new Set(
    Object.keys(sealed).filter((place) => (sealed[place] ?? 1) > (before?.sealed[place] ?? 1)),
  );
  if (isKnown && outdated.size === 0) return false;
  const isStranger = before !== undefined && before.installation !== installation;
  let count = 0;
  const publishAll = async (): Promise<void> => {
    for (let after: number | null = 0; after !== null; ) {
      const answer: ReconcileAnswer = await inTurn({
        is: 'page',
        after,
        isStranger,
        outdated: isKnown ? outdated : undefined,
      });
      count += answer.published;
      after = answer.last;
    }
  };
  await queueOf(bus)(publishAll);
  await inTurn({ is: 'marker', isStranger, marker: { installation, served, sealed, signed_by } });
  if (count > 0)
    log.info(
      { partition, monitors: count, served, outdated: [...outdated] },
      'published assignments again',
    );
  return true;
}

async function readMarker(
  partition: number,
  { bus, announcements }: PartitionDependencies,
): Promise<Marker | undefined> {
  const last = await bus.last(streams.assignments.name, subjects.marker(partition));
  if (!last || last.data.length === 0) return undefined;
  if (!announcements.read(last, subjects.marker(partition))) return undefined;
  const read = marker.safeParse(jsonIn(last.data));
  return read.success ? read.data : undefined;
}

const queues = new WeakMap<Bus, LimitFunction>();

/**
 * All partitions begin at once, which does not make the bus faster: two at a time keep it busy, and
 * hold a sixteenth of the rows in memory.
 */
function queueOf(bus: Bus): LimitFunction {
  const queue = queues.get(bus) ?? pLimit(2);
  queues.set(bus, queue);
  return queue;
}

export async function takeTurn(
  partition: number,
  turn: ReconcileTurn,
  deps: PartitionDependencies,
): Promise<ReconcileAnswer> {
  const { sql, bus, assignments } = deps;
  const { isStranger } = turn;
  if (turn.is === 'marker') {
    if (isStranger) await deleteUnknownAssignments(partition, await idsOf(partition, deps), deps);
    await bus.store(subjects.marker(partition), JSON.stringify(turn.marker));
    return { published: 0, last: null };
  }
  const { after, outdated } = turn;
  const page = await monitorsAfter(sql, partition, after);
  const last = page.at(-1);
  if (!last) return { published: 0, last: null };
  const rows = outdated
    ? page.filter((row) => assignments.sealedFor(row).some((place) => outdated.has(place)))
    : page;
  // A paused monitor may have an old assignment there; all others are replaced anyway.
  await assignments.publish(
    rows.map((row) => ({ monitor: row.id, row, isNew: row.paused_at === null && !isStranger })),
  );
  return { published: rows.length, last: last.key };
}

/** Publishes a deletion marker for each assignment whose monitor this database does not have. */
async function deleteUnknownAssignments(
  partition: number,
  existing: ReadonlySet<string>,
  { bus }: PartitionDependencies,
): Promise<void> {
  for (const subject of await publishedFor(partition, bus)) {
    if (existing.has(lastTokenOf(subject))) continue;
    const last = await bus.last(streams.assignments.name, subject);
    if (last && last.data.length > 0) await bus.store(subject, new Uint8Array());
  }
}

type Listing = {
  readonly at: number;
  readonly byPartition: Promise<ReadonlyMap<number, readonly string[]>>;
};

/** The last listing of the stream. All partitions ask for it at once, and it may be large. */
const listings = new WeakMap<Bus, Listing>();
const listAgainMs = 2_000;

async function publishedFor(partition: number, bus: Bus): Promise<readonly string[]> {
  const last = listings.get(bus);
  const listing =
    last && performance.now() - last.at < listAgainMs
      ? last
      : { at: performance.now(), byPartition: list(bus) };
  listings.set(bus, listing);
  return (await listing.byPartition).get(partition) ?? [];
}

async function list(bus: Bus): Promise<ReadonlyMap<number, readonly string[]>> {
  const byPartition = new Map<number, string[]>();
  for (const subject of await bus.subjectsOf(streams.assignments.name, subjects.allAssignments)) {
    if (subject.startsWith('assign.marker.')) continue;
    const partition = partitionOf(subject);
    const known = byPartition.get(partition);
    if (known) known.push(subject);
    else byPartition.set(partition, [subject]);
  }
  return byPartition;
}

/**
 * The monitors as they are in this turn: one that was made since the pages were read must not be
 * deleted.
 */
async function idsOf(
  partition: number,
  { sql }: PartitionDependencies,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const page of monitorsOfPartition(sql, partition))
    for (const { id } of page) ids.add(id);
  return ids;
}

/**
 * Invalidates the markers: every owner publishes its partition again, and marks assignments as
 * deleted that this database does not know.
 */
export async function doubtMarkers(bus: Bus): Promise<void> {
  const doubt = JSON.stringify({ installation: 'doubted', served: [] });
  for (let partition = 0; partition < partitionCount; partition += 1)
    await bus.store(subjects.marker(partition), doubt);
}
