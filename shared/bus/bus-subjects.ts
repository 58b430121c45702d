import { type Continent, continentToken } from '../base/continents.ts';

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
