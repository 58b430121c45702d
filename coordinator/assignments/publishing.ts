import pLimit from 'p-limit';
import { type Continent, continents } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { bucketOf, type Packed } from '../../shared/bus/envelope.ts';
import type { AssignmentMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { bucketSubject, isDelta, partitionOf, streams } from '../../shared/bus/subjects.ts';
import { assignedElement, assignedIn, type RosterProbe } from '../../shared/checks/assignment.ts';
import { timeoutMs } from '../../shared/checks/kind-config.ts';
import { publicPlace } from '../../shared/checks/places.ts';
import { sealBox } from '../../shared/checks/sealed-secrets.ts';
import { continentsIn, type MonitorRow, placeIn } from '../engine/queries.ts';
import type { Directory } from '../probes/directory.ts';
import type { KeyOf, NetworkKeys } from '../probes/identities.ts';
import { keyPlaceOf, type ProbeRow } from '../probes/queries.ts';
import { type Bucket, bucketOfRow, createEnvelopes, maxChangesAtOnce } from './envelopes.ts';

/**
 * Where a monitor's assignment goes: to the public probes of a continent, whichever regions of it
 * are chosen, or to the probes of a private place.
 */
type AssignmentPlace =
  | { readonly is: 'continent'; readonly continent: Continent }
  | { readonly is: 'private'; readonly place: string };

/** Where a probe of the roster gets what it checks. */
export function placeOfProbe({
  organisation: place,
  continent,
}: Pick<RosterProbe, 'organisation' | 'continent'>): AssignmentPlace {
  return place === null ? { is: 'continent', continent } : { is: 'private', place };
}

/** Each of these places once. */
export function chosenPlaces(
  chosen: readonly string[],
  served: readonly Continent[],
): readonly AssignmentPlace[] {
  const continents = new Set(chosen.map((place) => publicPlace(place)?.continent));
  return [
    ...served
      .filter((continent) => continents.has(continent))
      .map((continent) => ({ is: 'continent', continent }) as const),
    ...new Set(chosen.filter((place) => publicPlace(place) === undefined)),
  ].map((place) => (typeof place === 'string' ? { is: 'private', place } : place));
}

export type Assignments = {
  /**
   * Sends the probes their present assignments; a monitor that is paused or deleted gets a deletion
   * marker. Settles when the bus has them all.
   */
  readonly publish: (changes: readonly AssignmentChange[]) => Promise<void>;
  /** Sends all assignments of a bucket once more by the envelope; `rows`: those that changed. */
  readonly publishBucket: (bucket: Bucket, rows: readonly MonitorRow[]) => Promise<void>;
  /** Writes envelopes again that their deltas have outgrown. */
  readonly foldDeltas: (partition: number) => Promise<void>;
  /** Empties the buckets of a partition on the bus that have no monitor. */
  readonly emptyBuckets: (partition: number, existing: ReadonlySet<number>) => Promise<void>;
  /** The assignment for one place, as a recheck includes it. */
  readonly messageFor: (row: MonitorRow, place: AssignmentPlace) => Promise<AssignmentMessage>;
  /** The same for a config that is stored nowhere; `secrets` as JSON, or null. */
  readonly trialFor: (
    row: MonitorRow,
    secrets: string | null,
    place: AssignmentPlace,
  ) => AssignmentMessage;
  /** The continents with a public probe: nothing is published for others. */
  readonly served: () => readonly Continent[];
  /**
   * Place → epoch of the key that its secrets are sealed with, for all places that have a probe.
   */
  readonly sealEpochs: () => Readonly<Record<string, number>>;
  /** The places whose keys seal this monitor's secrets. */
  readonly sealedFor: (row: MonitorRow) => readonly string[];
};

export type AssignmentChange = {
  readonly monitor: string;
  /** Its sequence number; undefined for a deleted one that is not known any more. */
  readonly key: number | undefined;
  /** null: it was deleted. */
  readonly row: MonitorRow | null;
  /** Nothing can have been published for it before. */
  readonly isNew: boolean;
};

type AssignmentDependencies = {
  readonly bus: Bus;
  readonly directory: Directory;
  /** The secret part of the config as JSON; the database holds it encrypted. */
  readonly openSecrets: (row: MonitorRow) => Promise<string>;
  readonly keys: Pick<NetworkKeys, 'keyOf' | 'keysNow' | 'epochOf'>;
  /** What has to happen before any of these is published. */
  readonly prepare: (
    changes: readonly Pick<AssignmentChange, 'monitor' | 'row'>[],
  ) => Promise<void>;
  /** The monitors of a bucket as they are now, prepared in the same way. */
  readonly rowsOf: (bucket: Bucket) => Promise<readonly MonitorRow[]>;
};

/**
 * How many monitors are on their way to the bus at once: more would wait there beyond their
 * timeout, and take memory meanwhile.
 */
const maxAtOnce = 50;

export function createAssignments({
  bus,
  directory,
  openSecrets,
  keys,
  prepare,
  rowsOf,
}: AssignmentDependencies): Assignments {
  const limit = pLimit(maxAtOnce);
  const envelopes = createEnvelopes({ bus });
  let servedBy:
    | { readonly rows: readonly ProbeRow[]; readonly continents: readonly Continent[] }
    | undefined;
  const served = (): readonly Continent[] => {
    const rows = directory.all();
    if (servedBy?.rows === rows) return servedBy.continents;
    const having = new Set(
      rows
        .filter(
          ({ organisation_id, revoked_at }) => organisation_id === null && revoked_at === null,
        )
        .map(({ continent }) => continent),
    );
    servedBy = { rows, continents: continents.filter((continent) => having.has(continent)) };
    return servedBy.continents;
  };

  const placesOf = (row: MonitorRow): readonly AssignmentPlace[] => {
    if (row.places) return chosenPlaces(row.places, served());
    const place = placeIn(row.config);
    if (place !== null) return [{ is: 'private', place }];
    const allowed = continentsIn(row.config);
    return served()
      .filter((continent) => allowed === null || allowed.includes(continent))
      .map((continent) => ({ is: 'continent', continent }));
  };

  const withoutSeal = (row: MonitorRow): AssignmentMessage => ({
    v: 1,
    monitor: row.id,
    organisation: row.organisation_id,
    kind: row.type,
    target: row.target,
    interval_ms: row.interval_s * 1_000,
    timeout_ms: timeoutMs(row.config, row.interval_s),
    config: row.config,
    sealed: null,
    config_version: row.config_version,
    ordinal: row.key,
    continents: continentsIn(row.config)?.slice() ?? null,
    probe: placeIn(row.config),
    ...(row.places ? { places: [...row.places] } : {}),
  });

  /**
   * The message for each place. Only the key that seals the secrets differs, so all places get the
   * same message when there are none.
   */
  const messagesOf = async (
    keyOf: KeyOf,
    row: MonitorRow,
  ): Promise<(place: AssignmentPlace) => AssignmentMessage> => {
    const plain = withoutSeal(row);
    if (row.secrets === null) return () => plain;
    const secrets = await openSecrets(row);
    return (place) => ({ ...plain, sealed: sealBox(keyOf(placeName(place)), secrets, row.id) });
  };

  /** Places that may still have the monitor in their bucket and should not any more. */
  const leftInBuckets = async (
    { monitor, row }: AssignmentChange,
    bucket: Bucket,
    wanted: ReadonlySet<string>,
  ): Promise<readonly string[]> => {
    const own = directory
      .all()
      .filter(
        ({ organisation_id }) => organisation_id === (row?.organisation_id ?? organisation_id),
      );
    const others = new Set(own.map(keyPlaceOf).filter((place) => !wanted.has(place)));
    for (const continent of served()) if (!wanted.has(continent)) others.add(continent);
    if (others.size === 0) return [];
    return envelopes.placesWith(bucket, monitor, (place) => others.has(place));
  };

  const textsOf = async (
    keyOf: KeyOf,
    row: MonitorRow,
  ): Promise<(place: AssignmentPlace) => string> => {
    const messageFor = await messagesOf(keyOf, row);
    const same = row.secrets === null ? JSON.stringify(withoutSeal(row)) : undefined;
    return (place) => same ?? JSON.stringify(messageFor(place));
  };

  const bucketOfChange = async ({ monitor, key }: AssignmentChange): Promise<Bucket | undefined> =>
    key === undefined
      ? envelopes.bucketWith(monitor)
      : bucketOfRow({ partition: partitionOf(monitor), key });

  /** By a delta in each place. */
  const publishOne = async (change: AssignmentChange, keyOf: KeyOf): Promise<void> => {
    const { monitor, row, isNew } = change;
    const bucket = await bucketOfChange(change);
    if (bucket === undefined) return;
    const places = row && row.paused_at === null ? placesOf(row) : [];
    const wanted = new Set(places.map(placeName));
    const gone = isNew ? [] : await leftInBuckets(change, bucket, wanted);
    const textFor = row && places.length > 0 ? await textsOf(keyOf, row) : () => '';
    await Promise.all([
      ...places.map((place) => envelopes.change(placeName(place), bucket, monitor, textFor(place))),
      ...gone.map((place) => envelopes.change(place, bucket, monitor, '')),
    ]);
  };

  const keysFor = (rows: readonly (MonitorRow | null)[]): Promise<KeyOf> | KeyOf =>
    rows.some((row) => row !== null && row.secrets !== null) ? keys.keysNow() : keys.keyOf;

  const writeBucket = async (bucket: Bucket, rows: readonly MonitorRow[]): Promise<void> => {
    const keyOf = await keysFor(rows);
    const byPlace = new Map<string, Packed[]>();
    for (const row of rows) {
      const places = row.paused_at === null ? placesOf(row) : [];
      if (places.length === 0) continue;
      const messageFor = await messagesOf(keyOf, row);
      const pack = (message: AssignmentMessage): Packed => ({
        ordinal: row.key,
        text: JSON.stringify(message),
        element: assignedElement(assignedIn(message)),
      });
      const same = row.secrets === null ? pack(withoutSeal(row)) : undefined;
      for (const place of places) {
        const name = placeName(place);
        const packed = byPlace.get(name) ?? [];
        byPlace.set(name, packed);
        packed.push(same ?? pack(messageFor(place)));
      }
    }
    await envelopes.write(bucket, byPlace);
  };

  const publishSingly = async (changes: readonly AssignmentChange[]): Promise<void> => {
    const keyOf = await keysFor(changes.map(({ row }) => row));
    let next = 0;
    const work = async (): Promise<void> => {
      for (let change = changes[next]; change; change = changes[next]) {
        next += 1;
        await publishOne(change, keyOf);
      }
    };
    // Workers queue up, not the changes: objects in a long queue grow old, and only a major
    // garbage collection frees them.
    await Promise.all(
      Array.from({ length: Math.min(maxAtOnce, changes.length) }, () => limit(work)),
    );
  };

  /** Buckets of which so much changes at once that their envelopes are written again. */
  const bucketsToWrite = (changes: readonly AssignmentChange[]): ReadonlyMap<string, Bucket> => {
    if (changes.length <= maxChangesAtOnce) return new Map();
    const counts = new Map<string, number>();
    const found = new Map<string, Bucket>();
    for (const change of changes) {
      const name = nameOfBucket(change);
      if (change.key === undefined || name === undefined) continue;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count > maxChangesAtOnce)
        found.set(name, bucketOfRow({ partition: partitionOf(change.monitor), key: change.key }));
    }
    return found;
  };

  return {
    publish: async (changes) => {
      await prepare(changes);
      const written = bucketsToWrite(changes);
      for (const bucket of written.values()) await writeBucket(bucket, await rowsOf(bucket));
      await publishSingly(changes.filter((change) => !written.has(nameOfBucket(change) ?? '')));
    },
    publishBucket: async (bucket, rows) => {
      await prepare(rows.map((row) => ({ monitor: row.id, row })));
      await writeBucket(bucket, await rowsOf(bucket));
    },
    foldDeltas: async (partition) => {
      if (!bus.isConnected()) return;
      for (const bucket of await envelopes.outgrown(partition))
        await writeBucket(bucket, await rowsOf(bucket));
    },
    emptyBuckets: async (partition, existing) => {
      for (const bucket of await envelopes.bucketsOf(partition))
        if (!existing.has(bucket)) await envelopes.write({ partition, bucket }, new Map());
    },
    trialFor: (row, secrets, place) => ({
      ...withoutSeal(row),
      sealed: secrets === null ? null : sealBox(keys.keyOf(placeName(place)), secrets, row.id),
    }),
    messageFor: async (row, place) => (await messagesOf(keys.keyOf, row))(place),
    served,
    sealEpochs: () =>
      Object.fromEntries(
        directory
          .all()
          .filter(({ revoked_at }) => revoked_at === null)
          .map(keyPlaceOf)
          .map((place) => [place, keys.epochOf(place)]),
      ),
    sealedFor: (row) =>
      row.secrets === null || row.paused_at !== null ? [] : placesOf(row).map(placeName),
  };
}

function placeName(place: AssignmentPlace): string {
  return place.is === 'continent' ? place.continent : place.place;
}

function nameOfBucket({ monitor, key }: AssignmentChange): string | undefined {
  return key === undefined ? undefined : `${partitionOf(monitor)}.${bucketOf(key)}`;
}

/**
 * Removes old deletion markers from the bus. Otherwise every monitor that was ever deleted or
 * paused would leave one for each continent, and every new probe would read them all. Each message
 * is examined once, the oldest first: an old message that is no marker can only be replaced, and
 * the replacement is the newest.
 *
 * It goes through some messages of each stream with each tick, rests while the next message is too
 * young, and starts from the beginning when the stream was made again.
 */
type Tombstones = { readonly tick: () => Promise<void> };

type Dependencies = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** How long they stay there. */
  readonly keptMs: number;
};

/**
 * How many messages of a stream are examined with each tick: a new coordinator needs a few hours
 * for a hundred thousand old ones.
 */
const atOnce = 500;

const walked = [streams.assignments.name, streams.pingKeys.name] as const;

/** Everything before `from` was examined, in the stream that was made at `createdAt`. */
type Walk = { readonly createdAt: number; readonly from: number };

export function createTombstones({ bus, clock, log, keptMs }: Dependencies): Tombstones {
  const walks = new Map<string, Walk>();

  const walk = async (stream: string): Promise<void> => {
    const state = await bus.streamState(stream);
    if (!state) return;
    const { createdAt } = state;
    const before = walks.get(stream);
    let from = before?.createdAt === createdAt ? before.from : 1;
    let removed = 0;
    for (let looked = 0; looked < atOnce; looked += 1) {
      const message = await bus.next(stream, from, '>');
      if (!message || message.storedAt + keptMs > clock.now()) break;
      // By its number: if the monitor was resumed just now, its assignment has another. A delta
      // stays until its envelope, which still has the monitor, is written again.
      const isOfEnvelope = isDelta(bucketSubject(message.subject)?.item ?? '');
      if (message.data.length === 0 && !isOfEnvelope && (await bus.remove(stream, message.seq)))
        removed += 1;
      from = message.seq + 1;
      walks.set(stream, { createdAt, from });
    }
    if (removed > 0) log.info({ stream, removed }, 'removed old deletion markers from the bus');
  };

  return {
    tick: async () => {
      if (!bus.isConnected()) return;
      for (const stream of walked) await walk(stream);
    },
  };
}
