import type { ConsumerOptions, StreamOptions } from './bus-stream-management.ts';
import { subjects } from './bus-subjects.ts';

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
