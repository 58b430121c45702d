import pLimit, { type LimitFunction } from 'p-limit';
import { z } from 'zod';
import { bucketOf } from '../../shared/bus/envelope.ts';
import { jsonIn } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import {
  bucketSubject,
  lastTokenOf,
  partitionCount,
  partitionOf,
  singlePlaceOf,
  streams,
  subjects,
} from '../../shared/bus/subjects.ts';
import { bucketOfRow } from '../probes/envelopes.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { keyAfter, monitorsOfBucket, monitorsOfPartition } from './queries.ts';

/**
 * Ensures that the bus holds the assignments of all monitors of a partition. A marker beside them
 * records for which database and continents, in which form, and with which keys, that was done. A
 * wiped bus has lost the marker, a restored database differs from it, a continent's first probe
 * adds to it, a revoked probe retires a key, and a place's last probe without envelopes changes
 * its form.
 *
 * A coordinator of the version before cannot read a marker with envelopes. So it publishes single
 * assignments, and leaves a marker without envelopes, which the next owner of this version makes
 * up for.
 */
const stored = z.object({
  installation: z.string().optional(),
  /** The installation, once there are envelopes. */
  enveloped: z.string().optional(),
  /** The places with single assignments; missing in a marker without envelopes. */
  single: z.array(z.string()).optional(),
  served: z.array(z.string()),
  /** Place → epoch of the key that its secrets are sealed with. */
  sealed: z.record(z.string(), z.number()).default({}),
  /** The keys that sign all assignments. */
  signed_by: z.array(z.string()).default([]),
});

type Marker = {
  readonly installation: string;
  /** null: all. */
  readonly single: readonly string[] | null;
  readonly served: readonly string[];
  readonly sealed: Readonly<Record<string, number>>;
  readonly signed_by: readonly string[];
};

const storedOf = ({ installation, single, ...rest }: Marker): z.input<typeof stored> => ({
  served: [...rest.served],
  sealed: { ...rest.sealed },
  signed_by: [...rest.signed_by],
  ...(single === null ? { installation } : { enveloped: installation, single: [...single] }),
});

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
  const { bus, assignments, announcements, forms, installation, log } = deps;
  const before = await readMarker(partition, deps);
  const served = [...assignments.served()];
  const sealed = { ...assignments.sealEpochs() };
  const signed_by = [...announcements.trust()];
  const single = forms.single();
  const isKnown =
    before?.installation === installation &&
    before.single?.join() === single?.join() &&
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
  await inTurn({
    is: 'marker',
    isStranger,
    marker: { installation, single, served, sealed, signed_by },
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
): Promise<(Marker & { readonly seq: number }) | undefined> {
  const last = await bus.last(streams.assignments.name, subjects.marker(partition));
  if (!last || last.data.length === 0) return undefined;
  if (!announcements.read(last, subjects.marker(partition))) return undefined;
  const read = stored.safeParse(jsonIn(last.data));
  if (!read.success) return undefined;
  const { installation, enveloped = installation, single = null, ...rest } = read.data;
  return enveloped === undefined
    ? undefined
    : { installation: enveloped, single, seq: last.seq, ...rest };
}

const queues = new WeakMap<Bus, LimitFunction>();

/**
 * All partitions begin at once, which does not make the bus faster. A page waits for its turn in
 * its partition, so some more than the bus keeps busy go on at the same time.
 */
function queueOf(bus: Bus): LimitFunction {
  const queue = queues.get(bus) ?? pLimit(8);
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
    const existing = await existingIn(partition, deps);
    if (isStranger) await deleteUnknownAssignments(partition, existing.ids, deps);
    await assignments.emptyBuckets(partition, existing.buckets);
    await bus.store(subjects.marker(partition), JSON.stringify(storedOf(turn.marker)));
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
  // A paused monitor may have an old assignment there; all others are replaced anyway.
  const changes = rows.map((row) => ({
    monitor: row.id,
    key: row.key,
    row,
    isNew: row.paused_at === null && !isStranger,
  }));
  await assignments.publishBucket(bucket, changes);
  return { published: rows.length, last };
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
    if (subject.startsWith('assign.marker.') || bucketSubject(subject)) continue;
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
async function existingIn(
  partition: number,
  { sql }: PartitionDependencies,
): Promise<{ readonly ids: ReadonlySet<string>; readonly buckets: ReadonlySet<number> }> {
  const ids = new Set<string>();
  const buckets = new Set<number>();
  for await (const page of monitorsOfPartition(sql, partition))
    for (const { id, key } of page) {
      ids.add(id);
      buckets.add(bucketOf(key));
    }
  return { ids, buckets };
}

/**
 * Removes what a place had in its other form, once every partition is marked in the present one.
 * True when nothing is left to be removed. What was stored since stays: a coordinator of the
 * version before may have.
 */
export async function removeOtherForm({
  bus,
  announcements,
  forms,
  log,
}: Pick<PartitionDependencies, 'bus' | 'announcements' | 'forms' | 'log'>): Promise<boolean> {
  const { single, isEnveloped } = forms;
  let before = Number.POSITIVE_INFINITY;
  for (let partition = 0; partition < partitionCount; partition += 1) {
    const read = await readMarker(partition, { bus, announcements });
    if (!read || read.single?.join() !== single()?.join()) return false;
    before = Math.min(before, read.seq);
  }
  const left = new Map<string, string>();
  for (const subject of await bus.subjectsOf(streams.assignments.name, subjects.allAssignments)) {
    const within = bucketSubject(subject);
    const place = within?.place ?? singlePlaceOf(subject);
    if (place === undefined || isEnveloped(place) === (within !== undefined)) continue;
    const all = { partition: '*', bucket: '*', item: '*' } as const;
    left.set(place, within ? subjects.inBucket(place, all) : subjects.singleAssignmentsOf(place));
  }
  for (const [place, filter] of left) {
    await bus.purge(streams.assignments.name, filter, before);
    log.info({ place, filter }, 'removed the assignments of the other form');
  }
  return true;
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
