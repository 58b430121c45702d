import { type Continent, continentToken } from '../base/continents.ts';
import type { ConsumerOptions, StreamOptions } from './jetstream.ts';

/** Where pings are taken: by probes' ping receivers in their continents, and by coordinators, wherever those are. */
export type PingPlace = Continent | 'coordinator';

const pingPlaceToken = (place: PingPlace): string => (place === 'coordinator' ? place : continentToken(place));

/** Every name on the bus, by functions, so that none is spelled twice. Arguments are ids, partitions and fingerprints: never user text. */
export const subjects = {
  assignment: (continent: Continent, monitor: string) => `assign.${continentToken(continent)}.${monitor}`,
  privateAssignment: (probe: string, monitor: string) => `assign.private.${probe}.${monitor}`,
  assignmentsOf: (continent: Continent) => `assign.${continentToken(continent)}.*`,
  privateAssignmentsOf: (probe: string) => `assign.private.${probe}.*`,
  allAssignments: 'assign.>',
  /** Says that all assignments of a partition are there. */
  marker: (partition: number) => `assign.marker.${partition}`,
  /** Says that all heartbeat keys are there. */
  pingKeysMarker: 'assign.marker.keys',
  roster: 'roster',
  look: (probe: string) => `look.${probe}`,
  receipt: (probe: string) => `receipt.${probe}`,
  result: (continent: Continent, partition: number, probe: string) => `result.${continentToken(continent)}.${partition}.${probe}`,
  resultsOf: (partition: number) => `result.*.${partition}.*`,
  resultsOfProbe: (continent: Continent, probe: string) => `result.${continentToken(continent)}.*.${probe}`,
  allResults: 'result.>',
  presence: (probe: string) => `presence.${probe}`,
  allPresence: 'presence.*',
  /** A ping as some place took it: a probe's ping receiver, or a coordinator. */
  ping: (place: PingPlace, partition: number, key: string) => `beat.${pingPlaceToken(place)}.${partition}.${key}`,
  pingsTakenIn: (place: PingPlace) => `beat.${pingPlaceToken(place)}.*.*`,
  pingsOfPartition: (partition: number) => `beat.*.${partition}.*`,
  allPings: 'beat.>',
  /** What the pings of a monitor come to. Under its organisation, so that a private probe sees and says nothing of others. */
  lastPings: (organisation: string, monitor: string) => `lastbeats.${organisation}.${monitor}`,
  lastPingsOf: (organisation: string | null) => `lastbeats.${organisation ?? '*'}.*`,
  allLastPings: 'lastbeats.>',
  pingKey: (organisation: string, key: string) => `beatkey.${organisation}.${key}`,
  pingKeysOf: (organisation: string | null) => `beatkey.${organisation ?? '*'}.*`,
  allPingKeys: 'beatkey.>',
  /** Below it a private probe publishes what is meant for other subjects, for a coordinator to pass on. */
  relay: (probe: string) => `relay.${probe}`,
  allRelays: 'relay.>',
  /** What a ping receiver holds of the keys, so that a coordinator notices when it lacks some. */
  receiverKeys: (probe: string) => `earkeys.${probe}`,
  allReceiverKeys: 'earkeys.*',
} as const;

/** What the last token of a subject names: a monitor, a key, a probe. */
export const lastTokenOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);

/** The prefix of a probe's inbox: the only place where it may hear answers. */
export const inboxOf = (probe: string): string => `_INBOX_${probe.replaceAll('-', '')}`;

export const partitionCount = 32;

/** The partition of a monitor: its id is random in the last digits, so they spread evenly. */
export const partitionOf = (monitor: string): number => Number.parseInt(monitor.slice(-4), 16) % partitionCount;

/** The streams of the bus. Only what nats-server 2.9 knows. */
export const streams = {
  /** Results wait here until a coordinator has committed them; when it is full, probes keep them on their disks. */
  results: {
    name: 'RESULTS',
    subjects: [subjects.allResults],
    retention: 'workqueue',
    discard: 'new',
    maxBytes: 1024 ** 3,
  },
  /** What to check, last value for each monitor and continent; an empty message is a tombstone, and goes after a week. */
  assignments: {
    name: 'ASSIGN',
    subjects: [subjects.allAssignments, subjects.roster],
    retention: 'limits',
    discard: 'old',
    maxPerSubject: 1,
  },
  /** Pings wait here until a coordinator has written them down. */
  pings: {
    name: 'BEATS',
    subjects: [subjects.allPings],
    retention: 'workqueue',
    discard: 'new',
    maxBytes: 1024 ** 3,
  },
  /** What the pings of each monitor come to: all that its deadline depends on. */
  lastPings: {
    name: 'LASTBEATS',
    subjects: [subjects.allLastPings],
    retention: 'limits',
    discard: 'old',
    maxPerSubject: 1,
  },
  /** Which heartbeat keys exist, for the ping receivers; an empty message is a tombstone, and goes after a week. */
  pingKeys: {
    name: 'BEATKEYS',
    subjects: [subjects.allPingKeys],
    retention: 'limits',
    discard: 'old',
    maxPerSubject: 1,
  },
} as const satisfies Record<string, StreamOptions>;

/** Of a partition, for the coordinator that owns it: what a frozen owner holds comes again after ack_wait. */
export const partitionConsumer = (partition: number): ConsumerOptions => ({
  name: `partition-${partition}`,
  filter: subjects.resultsOf(partition),
  deliver: 'all',
  ackWaitMs: 5_000,
  maxAckPending: 256,
});

/** Of a partition's pings, for the coordinator that owns it. */
export const pingsConsumer = (partition: number): ConsumerOptions => ({
  name: `beats-${partition}`,
  filter: subjects.pingsOfPartition(partition),
  deliver: 'all',
  ackWaitMs: 5_000,
  maxAckPending: 1_000,
});

/** Of one server each: four a probe, and each of several would be a group that votes. The coordinator remakes what is lost. */
const lastValues = { deliver: 'last_per_subject', ackWaitMs: 10_000, maxAckPending: 1_000, replicas: 1 } as const;

/** The durables that a probe pulls from; the coordinator makes them, because a probe may not. */
export const probeConsumers = {
  roster: (probe: string): ConsumerOptions => ({ name: `roster-${probe}`, filter: subjects.roster, ...lastValues }),
  assignments: (probe: string, filter: string): ConsumerOptions => ({ name: `assign-${probe}`, filter, ...lastValues }),
  private: (probe: string): ConsumerOptions => ({ name: `private-${probe}`, filter: subjects.privateAssignmentsOf(probe), ...lastValues }),
  /** In the stream of ping keys: all, or those of a private probe's organisation. */
  pingKeys: (probe: string, organisation: string | null): ConsumerOptions => ({
    name: `beatkeys-${probe}`,
    filter: subjects.pingKeysOf(organisation),
    ...lastValues,
  }),
} as const;
