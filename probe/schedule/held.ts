import { createShared } from '../../shared/base/async.ts';
import { bucketOf, type Envelope } from '../../shared/bus/envelope.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import {
  type Assignment,
  assignedElement,
  assignedIn,
  assignmentsDigest,
  createDigest,
  isComparable,
} from '../../shared/checks/assignment.ts';
import { keyIdOf } from '../../shared/checks/sealed-secrets.ts';

/**
 * The assignments that a probe holds, and where in the stream each came from: what the stream
 * stored later wins (shared/bus/envelope.ts), in whatever order messages arrive.
 *
 * Modes of an assignment: absent → `single` (by a message of its own) ↔ `enveloped` (a later
 * envelope says the same) → absent (a later message says that it is gone, or a later envelope of
 * its bucket says nothing of it).
 */
export type Held = {
  readonly find: (monitor: string) => Assignment | undefined;
  readonly monitors: () => Iterable<string>;
  readonly state: () => { readonly count: number; readonly digest: string };
  /** The keys that seal the secrets of what is held. */
  readonly keysInUse: () => ReadonlySet<string>;
  readonly put: (assignment: Assignment, at: Origin) => void;
  readonly gone: (monitor: string, at: Origin) => void;
  readonly open: (place: EnvelopePlace, envelope: Envelope, body: string, at: Origin) => void;
  /** From now on the stream numbers its messages from the start again: positions from before count for nothing. */
  readonly restart: () => void;
  /** The later origin of what is known of a monitor, or of an envelope's range. */
  readonly originOf: (monitor: string, bucket?: Bucket) => Origin | undefined;
  readonly originOfRange: (bucket: Bucket, range: Range) => Origin | undefined;
  /** All that makes up the present state, to be repeated in this order. */
  readonly snapshot: (forgetBefore: number) => Iterable<SnapshotEntry>;
};

/** Where a message came from: its number in the stream, and its announcement's revision. */
export type Origin = { readonly seq: number; readonly revision: number };

export type Bucket = { readonly partition: number; readonly bucket: number };
export type EnvelopePlace = Bucket & { readonly part: number };
type Range = Pick<Envelope, 'from' | 'until'>;

export type SnapshotEntry =
  | {
      readonly is: 'envelope';
      readonly place: EnvelopePlace;
      readonly body: string;
      readonly at: Origin;
    }
  | { readonly is: 'put'; readonly assignment: Assignment; readonly at: Origin }
  | { readonly is: 'gone'; readonly monitor: string; readonly at: Origin };

type Part = Range & {
  readonly place: EnvelopePlace;
  readonly body: string;
  readonly at: Origin;
  /** Those that it said something of. */
  readonly monitors: readonly string[];
};

export function createHeld(events: {
  readonly onPut: (assignment: Assignment) => void;
  readonly onGone: (monitor: string) => void;
}): Held {
  const assignments = new Map<string, Assignment>();
  const digest = createDigest();
  const compact = createCompact();
  /**
   * Of what came by a message of its own, held or gone. The origin of what is gone is kept for a
   * week, so that a replayed older message is refused.
   */
  const singles = new Map<string, Origin>();
  const buckets = new Map<string, readonly Part[]>();

  const partsOf = (bucket: Bucket): readonly Part[] => buckets.get(nameOf(bucket)) ?? [];

  const drop = (monitor: string): void => {
    const old = assignments.get(monitor);
    if (!old) return;
    assignments.delete(monitor);
    digest.remove(assignedElement(assignedIn(old)));
    events.onGone(monitor);
  };

  const hold = (given: Assignment, isSummed = false): void => {
    const assignment = compact(given);
    const old = assignments.get(assignment.monitor);
    // A check keeps what it prepared for the same object.
    if (old && isSame(old, assignment)) return;
    if (old) digest.remove(assignedElement(assignedIn(old)));
    assignments.set(assignment.monitor, assignment);
    if (!isSummed) digest.add(assignedElement(assignedIn(assignment)));
    events.onPut(assignment);
  };

  /** Whether all of it is new, so that its digest sums it up: at a start that is all envelopes. */
  const isNew = ({ assignments: all, unread, digest: text }: Envelope): boolean =>
    unread === 0 &&
    isComparable(text) &&
    all.every(({ monitor }) => !assignments.has(monitor) && !singles.has(monitor));

  const isWithin = (monitor: string, { partition }: Bucket, { from, until }: Range): boolean => {
    const ordinal = assignments.get(monitor)?.ordinal;
    return (
      ordinal !== undefined &&
      ordinal >= from &&
      ordinal < until &&
      partitionOf(monitor) === partition
    );
  };

  /** Takes these parts away; what they said beyond the range stays, as if it had come singly. */
  const dissolve = (
    parts: readonly Part[],
    place: Bucket,
    range: Range,
    covered: Set<string>,
  ): void => {
    for (const { monitors, at } of parts)
      for (const monitor of monitors) {
        if (singles.has(monitor)) continue;
        if (isWithin(monitor, place, range)) covered.add(monitor);
        else if (assignments.has(monitor)) singles.set(monitor, at);
      }
  };

  const bucketFor = (monitor: string): Bucket | undefined => {
    const ordinal = assignments.get(monitor)?.ordinal;
    return ordinal === undefined
      ? undefined
      : { partition: partitionOf(monitor), bucket: bucketOf(ordinal) };
  };

  const originOfRange: Held['originOfRange'] = (bucket, range) =>
    partsOf(bucket)
      .filter((part) => overlaps(part, range))
      .reduce<Origin | undefined>((found, { at }) => later(found, at), undefined);

  return {
    find: (monitor) => assignments.get(monitor),
    monitors: () => assignments.keys(),
    state: () => ({ count: digest.count(), digest: assignmentsDigest(digest) }),
    keysInUse: () =>
      new Set(
        [...assignments.values()].flatMap(({ sealed }) =>
          sealed === null ? [] : [keyIdOf(sealed)],
        ),
      ),
    put: (assignment, at) => {
      singles.set(assignment.monitor, at);
      hold(assignment);
    },
    gone: (monitor, at) => {
      singles.set(monitor, at);
      drop(monitor);
    },
    open: (place, envelope, body, at) => {
      const { from, until } = envelope;
      const all = partsOf(place);
      const replaced = all.filter((part) => overlaps(part, envelope));
      const missing = new Set<string>();
      dissolve(replaced, place, envelope, missing);
      for (const [monitor, single] of singles)
        if (single.seq <= at.seq && isWithin(monitor, place, envelope)) missing.add(monitor);
      const isSummed = isNew(envelope);
      if (isSummed) digest.addAll(envelope.assignments.length, envelope.digest);
      for (const assignment of envelope.assignments) {
        const { monitor } = assignment;
        missing.delete(monitor);
        const single = singles.get(monitor);
        if (single && single.seq > at.seq) continue;
        singles.delete(monitor);
        hold(assignment, isSummed);
      }
      for (const monitor of missing) {
        singles.delete(monitor);
        drop(monitor);
      }
      const part = {
        place,
        from,
        until,
        body,
        at,
        monitors: envelope.assignments.map((one) => one.monitor),
      };
      buckets.set(nameOf(place), [...all.filter((one) => !replaced.includes(one)), part]);
    },
    restart: () => {
      const fromStart = ({ revision }: Origin): Origin => ({ seq: 0, revision });
      for (const [monitor, at] of singles) singles.set(monitor, fromStart(at));
      for (const [name, parts] of buckets)
        buckets.set(
          name,
          parts.map((part) => ({ ...part, at: fromStart(part.at) })),
        );
    },
    originOf: (monitor, bucket = bucketFor(monitor)) => {
      const ordinal = assignments.get(monitor)?.ordinal;
      const range = ordinal === undefined ? everything : { from: ordinal, until: ordinal + 1 };
      return later(singles.get(monitor), bucket && originOfRange(bucket, range));
    },
    originOfRange,
    snapshot: function* (forgetBefore) {
      const parts = [...buckets.values()].flat().toSorted((a, b) => a.at.seq - b.at.seq);
      const enveloped = new Set<string>();
      for (const { place, body, at, monitors } of parts) {
        yield { is: 'envelope', place, body, at };
        for (const monitor of monitors) enveloped.add(monitor);
      }
      for (const [monitor, at] of singles) {
        const assignment = assignments.get(monitor);
        if (assignment) yield { is: 'put', assignment, at };
        else if (at.revision < forgetBefore && !enveloped.has(monitor)) singles.delete(monitor);
        else yield { is: 'gone', monitor, at };
      }
    },
  };
}

function nameOf({ partition, bucket }: Bucket): string {
  return `${partition}.${bucket}`;
}

function overlaps(one: Range, other: Range): boolean {
  return one.from < other.until && other.from < one.until;
}

function later(one: Origin | undefined, other: Origin | undefined): Origin | undefined {
  return one && other ? (one.seq >= other.seq ? one : other) : (one ?? other);
}

const everything: Range = { from: 0, until: Number.POSITIVE_INFINITY };

/** Whether both say the same in every respect. */
function isSame(one: Assignment, other: Assignment): boolean {
  return (
    one.target === other.target &&
    one.config_version === other.config_version &&
    one.interval_ms === other.interval_ms &&
    one.sealed === other.sealed &&
    (one.config === other.config || JSON.stringify(one.config) === JSON.stringify(other.config)) &&
    restOf(one) === restOf(other)
  );
}

function restOf(one: Assignment): string {
  return JSON.stringify([
    one.organisation,
    one.kind,
    one.timeout_ms,
    one.ordinal,
    one.continents,
    one.probe,
    one.places ?? null,
  ]);
}

const maxShared = 10_000;

/**
 * Stores the assignment compactly: values that many share exist once, and V8 keeps all of it as one
 * object instead of a property list beside one.
 */
function createCompact(): (assignment: Assignment) => Assignment {
  const organisations = createShared<string>(maxShared);
  const configs = createShared<Assignment['config']>(maxShared);
  return (given) => ({
    monitor: given.monitor,
    organisation: organisations(given.organisation, given.organisation),
    kind: given.kind,
    target: given.target,
    interval_ms: given.interval_ms,
    timeout_ms: given.timeout_ms,
    config: configs(JSON.stringify(given.config), given.config),
    sealed: given.sealed,
    config_version: given.config_version,
    ordinal: given.ordinal,
    continents: given.continents,
    probe: given.probe,
    ...(given.places ? { places: given.places } : {}),
  });
}
