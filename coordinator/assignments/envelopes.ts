import { bucketOf, type Packed, packEnvelopes, readEnvelope } from '../../shared/bus/envelope.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import {
  bucketSubject,
  isDelta,
  partitionOf,
  streams,
  subjects,
} from '../../shared/bus/subjects.ts';

/**
 * The envelopes of the bus and the deltas since (shared/bus/envelope.ts). Nothing about them is
 * remembered here: the bus itself tells what it has, so that any coordinator can continue
 * where another was killed.
 *
 * When the deltas of a bucket have outgrown the envelopes of the partition, it is written again. An
 * empty one is a deletion marker for a week. A kill between writing and purging leaves older
 * messages, which readers ignore; the next write purges them.
 */
type Envelopes = {
  /**
   * Replaces all that the bus has of a bucket: in each of these places by these assignments, in
   * each other place by none.
   */
  readonly write: (
    bucket: Bucket,
    byPlace: ReadonlyMap<string, readonly Packed[]>,
  ) => Promise<void>;
  /** Stores a change of one monitor; empty: none now. */
  readonly change: (place: string, bucket: Bucket, monitor: string, text: string) => Promise<void>;
  /** Those of the places that may have an assignment of this monitor which do have one. */
  readonly placesWith: (
    bucket: Bucket,
    monitor: string,
    mayHave: (place: string) => boolean,
  ) => Promise<readonly string[]>;
  /** The bucket of a monitor of which only the id is known; undefined when the bus has none. */
  readonly bucketWith: (monitor: string) => Promise<Bucket | undefined>;
  /** The buckets with deltas, once these have outgrown the envelopes of their partition. */
  readonly outgrown: (partition: number) => Promise<readonly Bucket[]>;
  /** All buckets of a partition that the bus has something of. */
  readonly bucketsOf: (partition: number) => Promise<ReadonlySet<number>>;
};

export type Bucket = { readonly partition: number; readonly bucket: number };

type Dependencies = {
  readonly bus: Pick<Bus, 'store' | 'last' | 'purge' | 'subjectsOf'>;
};

type Item = NonNullable<ReturnType<typeof bucketSubject>> & { readonly subject: string };

const assign = streams.assignments.name;
const emptied = new Uint8Array();

/** Of a partition, in all places; beyond that, deltas may be a twelfth of its envelopes. */
const maxDeltas = 16;
const envelopesPerDelta = 12;

/** So many changes of a bucket at once are an envelope rather than deltas. */
export const maxChangesAtOnce = 16;

export function bucketOfRow({
  partition,
  key,
}: {
  readonly partition: number;
  readonly key: number;
}) {
  return {
    partition,
    bucket: bucketOf(key),
  };
}

export function createEnvelopes({ bus }: Dependencies): Envelopes {
  const itemsOf = async (partition: number, bucket: number | '*'): Promise<readonly Item[]> => {
    const found = await Promise.all(
      subjects
        .inBuckets({ partition, bucket, item: '*' })
        .map((filter) => bus.subjectsOf(assign, filter)),
    );
    return found.flat().flatMap((subject) => {
      const read = bucketSubject(subject);
      return read ? [{ ...read, subject }] : [];
    });
  };

  const writePlace = async (
    place: string,
    at: Bucket,
    envelopes: readonly Uint8Array[],
    present: readonly Item[],
  ): Promise<void> => {
    let first: number | undefined;
    for (const [item, envelope] of envelopes.entries()) {
      const { seq } = await bus.store(subjects.inBucket(place, { ...at, item }), envelope);
      first ??= seq;
    }
    const isReplaced = ({ item }: Item): boolean =>
      isDelta(item) || Number(item) >= envelopes.length;
    if (present.some(isReplaced))
      await bus.purge(assign, subjects.inBucket(place, { ...at, item: '*' }), first);
  };

  const monitorsIn = async ({ subject, bucket }: Item): Promise<ReadonlySet<string>> => {
    const last = await bus.last(assign, subject);
    const assignments = last ? readEnvelope(bucket, last.data).assignments : [];
    return new Set(assignments.map(({ monitor }) => monitor));
  };

  const isIn = async (items: readonly Item[], monitor: string): Promise<boolean> => {
    const delta = items.find(({ item }) => item === monitor);
    if (delta) return ((await bus.last(assign, delta.subject))?.data.length ?? 0) > 0;
    for (const item of items)
      if (!isDelta(item.item) && (await monitorsIn(item)).has(monitor)) return true;
    return false;
  };

  return {
    write: async (at, byPlace) => {
      const present = Map.groupBy(await itemsOf(at.partition, at.bucket), ({ place }) => place);
      /** Without secrets, the same assignments are the same bytes in all places. */
      const packed = new Map<string, readonly Uint8Array[]>();
      const envelopesOf = (all: readonly Packed[]): readonly Uint8Array[] => {
        const text = all.map((one) => one.text).join();
        const made = packed.get(text) ?? packEnvelopes(at.bucket, all);
        packed.set(text, made);
        return made;
      };
      const places = new Set([...byPlace.keys(), ...present.keys()]);
      await Promise.all(
        [...places].map((place) => {
          const all = byPlace.get(place) ?? [];
          const envelopes = all.length === 0 ? [emptied] : envelopesOf(all);
          return writePlace(place, at, envelopes, present.get(place) ?? []);
        }),
      );
    },
    change: async (place, at, monitor, text) => {
      await bus.store(subjects.inBucket(place, { ...at, item: monitor }), text);
    },
    placesWith: async ({ partition, bucket }, monitor, mayHave) => {
      const places = Map.groupBy(await itemsOf(partition, bucket), ({ place }) => place);
      const having: string[] = [];
      for (const [place, items] of places)
        if (mayHave(place) && (await isIn(items, monitor))) having.push(place);
      return having;
    },
    bucketWith: async (monitor) => {
      const items = await itemsOf(partitionOf(monitor), '*');
      const delta = items.find(({ item }) => item === monitor);
      if (delta) return delta;
      for (const item of items)
        if (!isDelta(item.item) && (await monitorsIn(item)).has(monitor)) return item;
      return undefined;
    },
    outgrown: async (partition) => {
      const items = await itemsOf(partition, '*');
      const changed = items.filter(({ item }) => isDelta(item));
      const limit = Math.max(maxDeltas, (items.length - changed.length) / envelopesPerDelta);
      if (changed.length <= limit) return [];
      return [...new Set(changed.map(({ bucket }) => bucket))].map((bucket) => ({
        partition,
        bucket,
      }));
    },
    bucketsOf: async (partition) =>
      new Set((await itemsOf(partition, '*')).map(({ bucket }) => bucket)),
  };
}
