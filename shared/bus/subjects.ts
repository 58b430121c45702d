import { type Continent, continents, continentToken, isContinent } from '../base/continents.ts';
import type { ConsumerOptions, StreamOptions } from './jetstream.ts';

/**
 * Where pings are accepted: by probes' ping receivers in their continents, and by coordinators
 * anywhere.
 */
export type PingPlace = Continent | 'coordinator';

/**
 * Every name on the bus, as functions, so each is spelled once. Arguments are ids, partitions and
 * fingerprints: never user text.
 */
export const subjects = {
  /** All that the probes of a place are to check (bus/envelope.ts). */
  assignmentsOf: (place: string) => `${assignedIn(place)}.>`,
  /** An envelope by its part, or a delta by its monitor; `*`: all of the bucket. */
  inBucket: (place: string, { partition, bucket, item }: InBucket) =>
    `${assignedIn(place)}.${partition}.${bucket}.${item}`,
  /** Envelopes and deltas in all places, by the same; one filter each for both kinds of places. */
  inBuckets: ({ partition, bucket, item }: InBucket) => [
    `assign.*.${partition}.${bucket}.${item}`,
    `assign.private.*.${partition}.${bucket}.${item}`,
  ],
  allAssignments: 'assign.>',
  /** Marks that all assignments of a partition are there. */
  marker: (partition: number) => `assign.marker.${partition}`,
  /** Marks that all heartbeat keys are there. */
  pingKeysMarker: 'assign.marker.keys',
  roster: 'roster',
  /** A test run that a coordinator began, for the others: its answers come to all of them. */
  testRun: (test: string) => `test.${test}`,
  allTestRuns: 'test.*',
  look: (probe: string) => `look.${probe}`,
  receipt: (probe: string) => `receipt.${probe}`,
  result: (continent: Continent, partition: number, probe: string) =>
    `result.${continentToken(continent)}.${partition}.${probe}`,
  resultsOf: (partition: number) => `result.*.${partition}.*`,
  resultsOfProbe: (continent: Continent, probe: string) =>
    `result.${continentToken(continent)}.*.${probe}`,
  allResults: 'result.>',
  presence: (probe: string) => `presence.${probe}`,
  allPresence: 'presence.*',
  /** A ping as a probe's ping receiver or a coordinator accepted it. */
  ping: (place: PingPlace, partition: number, key: string) =>
    `beat.${pingPlaceToken(place)}.${partition}.${key}`,
  /** One that creates its monitor, which is in no partition yet. */
  creatingPing: (place: PingPlace, key: string) => `beat.${pingPlaceToken(place)}.create.${key}`,
  creatingPings: 'beat.*.create.*',
  pingsTakenIn: (place: PingPlace) => `beat.${pingPlaceToken(place)}.*.*`,
  pingsOfPartition: (partition: number) => `beat.*.${partition}.*`,
  allPings: 'beat.>',
  /**
   * The summary of a monitor's pings. Below its organisation, so a private probe reads and writes
   * nothing of others.
   */
  lastPings: (organisation: string, monitor: string) => `lastbeats.${organisation}.${monitor}`,
  lastPingsOf: (organisation: string | null) => `lastbeats.${organisation ?? '*'}.*`,
  allLastPings: 'lastbeats.>',
  pingKey: (organisation: string, key: string) => `beatkey.${organisation}.${key}`,
  pingKeysOf: (organisation: string | null) => `beatkey.${organisation ?? '*'}.*`,
  allPingKeys: 'beatkey.>',
  /**
   * Below it a private probe publishes messages for other subjects, which a coordinator passes on.
   */
  relay: (probe: string) => `relay.${probe}`,
  allRelays: 'relay.>',
  /** Which keys a ping receiver holds: a coordinator notices missing ones. */
  receiverKeys: (probe: string) => `earkeys.${probe}`,
  allReceiverKeys: 'earkeys.*',
} as const;

function assignedIn(place: string): string {
  return isContinent(place) ? `assign.${continentToken(place)}` : `assign.private.${place}`;
}

function pingPlaceToken(place: PingPlace): string {
  return place === 'coordinator' ? place : continentToken(place);
}

type InBucket = {
  readonly partition: number | '*';
  readonly bucket: number | '*';
  /** The number of a part, or the id of a monitor. */
  readonly item: number | string;
};

type BucketSubject = {
  readonly place: string;
  readonly partition: number;
  readonly bucket: number;
  readonly item: string;
};

/** Of an envelope or a delta; undefined for any other subject. */
export function bucketSubject(subject: string): BucketSubject | undefined {
  const [place, partition, bucket, item, ...more] = withinPlace(subject);
  return place !== undefined && item !== undefined && more.length === 0
    ? { place, partition: Number(partition), bucket: Number(bucket), item }
    : undefined;
}

/** The place of an assignment's subject, and what follows it. */
function withinPlace(subject: string): readonly (string | undefined)[] {
  const [kind, first, ...rest] = subject.split('.');
  if (kind !== 'assign' || first === 'marker') return [];
  if (first === 'private') return rest;
  return [continents.find((continent) => continentToken(continent) === first), ...rest];
}

/** Whether the item of a bucket is a monitor's delta, and no part. */
export function isDelta(item: string): boolean {
  return item.includes('-');
}

/** What the last token of a subject names: a monitor, a key, a probe. */
export function lastTokenOf(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1);
}

/** The prefix of a probe's inbox: the only place where it may receive answers. */
export function inboxOf(probe: string): string {
  return `_INBOX_${probe.replaceAll('-', '')}`;
}

export const partitionCount = 32;

/** The partition of a monitor: the last digits of its id are random, so monitors spread evenly. */
export function partitionOf(monitor: string): number {
  return Number.parseInt(monitor.slice(-4), 16) % partitionCount;
}

/** The streams of the bus. */
export const streams = {
  /**
   * Results wait here until a coordinator has committed them; when it is full, probes keep them on
   * disk.
   */
  results: {
    name: 'RESULTS',
    subjects: [subjects.allResults],
    retention: 'workqueue',
    discard: 'new',
    maxBytes: 1024 ** 3,
  },
  /**
   * What to check, by the last value of each subject: envelopes and deltas (bus/envelope.ts). An
   * empty message is a deletion marker.
   */
  assignments: {
    name: 'ASSIGN',
    subjects: [subjects.allAssignments, subjects.roster],
    retention: 'limits',
    discard: 'old',
    maxPerSubject: 1,
  },
  /** Pings wait here until a coordinator has stored them. */
  pings: {
    name: 'BEATS',
    subjects: [subjects.allPings],
    retention: 'workqueue',
    discard: 'new',
    maxBytes: 1024 ** 3,
  },
  /** The summary of each monitor's pings: all that its deadline depends on. */
  lastPings: {
    name: 'LASTBEATS',
    subjects: [subjects.allLastPings],
    retention: 'limits',
    discard: 'old',
    maxPerSubject: 1,
  },
  /**
   * The existing heartbeat keys, for the ping receivers. An empty message is a deletion marker, and
   * is removed after a week.
   */
  pingKeys: {
    name: 'BEATKEYS',
    subjects: [subjects.allPingKeys],
    retention: 'limits',
    discard: 'old',
    maxPerSubject: 1,
  },
} as const satisfies Record<string, StreamOptions>;

/**
 * For the coordinator that owns the partition: what a frozen owner holds comes again after
 * ack_wait.
 */
export function partitionConsumer(partition: number): ConsumerOptions {
  return {
    name: `partition-${partition}`,
    filter: subjects.resultsOf(partition),
    deliver: 'all',
    ackWaitMs: 5_000,
    maxAckPending: 256,
  };
}

/** The pings of a partition, for the coordinator that owns it. */
export function pingsConsumer(partition: number): ConsumerOptions {
  return {
    name: `beats-${partition}`,
    filter: subjects.pingsOfPartition(partition),
    deliver: 'all',
    ackWaitMs: 5_000,
    maxAckPending: 1_000,
  };
}

/**
 * The pings that create monitors, for the leader. Those that wait for their turn are pending, and
 * must not keep out those of other ping keys.
 */
export const creatingPingsConsumer: ConsumerOptions = {
  name: 'beats-create',
  filter: subjects.creatingPings,
  deliver: 'all',
  ackWaitMs: 30_000,
  maxAckPending: 100_000,
};

/**
 * On one server each: a probe has four, and each replicated one would be a voting group. The
 * coordinator recreates lost ones.
 */
const lastValues = {
  deliver: 'last_per_subject',
  ackWaitMs: 10_000,
  maxAckPending: 1_000,
  replicas: 1,
} as const;

/** The consumers that a probe pulls from. The coordinator creates them, because a probe may not. */
export const probeConsumers = {
  roster: (probe: string): ConsumerOptions => ({
    name: `roster-${probe}`,
    filter: subjects.roster,
    ...lastValues,
  }),
  assignments: (probe: string, filter: string): ConsumerOptions => ({
    name: `assign-${probe}`,
    filter,
    ...lastValues,
  }),
  private: (probe: string, place: string): ConsumerOptions => ({
    name: `private-${probe}`,
    filter: subjects.assignmentsOf(place),
    ...lastValues,
  }),
  /** In the stream of ping keys: all, or those of a private probe's organisation. */
  pingKeys: (probe: string, organisation: string | null): ConsumerOptions => ({
    name: `beatkeys-${probe}`,
    filter: subjects.pingKeysOf(organisation),
    ...lastValues,
  }),
} as const;
