import { type Continent, continentToken } from '../base/continents.ts';

/** Where beats are taken: by probes' ears in their continents, and by coordinators, wherever those are. */
export type BeatPlace = Continent | 'coordinator';

const beatPlaceToken = (place: BeatPlace): string => (place === 'coordinator' ? place : continentToken(place));

/** Every name on the bus, by functions, so that none is spelled twice. Arguments are ids, partitions and fingerprints: never user text. */
export const subjects = {
  assignment: (continent: Continent, monitor: string) => `assign.${continentToken(continent)}.${monitor}`,
  privateAssignment: (probe: string, monitor: string) => `assign.private.${probe}.${monitor}`,
  assignmentsOf: (continent: Continent) => `assign.${continentToken(continent)}.*`,
  privateAssignmentsOf: (probe: string) => `assign.private.${probe}.*`,
  allAssignments: 'assign.>',
  /** Says that all assignments of a partition are there. */
  marker: (partition: number) => `assign.marker.${partition}`,
  roster: 'roster',
  look: (probe: string) => `look.${probe}`,
  receipt: (probe: string) => `receipt.${probe}`,
  result: (continent: Continent, partition: number, probe: string) => `result.${continentToken(continent)}.${partition}.${probe}`,
  resultsOf: (partition: number) => `result.*.${partition}.*`,
  resultsOfProbe: (continent: Continent, probe: string) => `result.${continentToken(continent)}.*.${probe}`,
  allResults: 'result.>',
  presence: (probe: string) => `presence.${probe}`,
  allPresence: 'presence.*',
  /** A beat as some place took it: a probe's ear, or a coordinator. */
  beat: (place: BeatPlace, partition: number, key: string) => `beat.${beatPlaceToken(place)}.${partition}.${key}`,
  beatsTakenIn: (place: BeatPlace) => `beat.${beatPlaceToken(place)}.*.*`,
  beatsOfPartition: (partition: number) => `beat.*.${partition}.*`,
  allBeats: 'beat.>',
  /** What the beats of a monitor come to. Under its organisation, so that a private probe sees and says nothing of others. */
  lastBeats: (organisation: string, monitor: string) => `lastbeats.${organisation}.${monitor}`,
  lastBeatsOf: (organisation: string | null) => `lastbeats.${organisation ?? '*'}.*`,
  allLastBeats: 'lastbeats.>',
  beatKey: (organisation: string, key: string) => `beatkey.${organisation}.${key}`,
  beatKeysOf: (organisation: string | null) => `beatkey.${organisation ?? '*'}.*`,
  allBeatKeys: 'beatkey.>',
  /** What an ear holds of the keys, so that a coordinator notices when it lacks some. */
  earKeys: (probe: string) => `earkeys.${probe}`,
  allEarKeys: 'earkeys.*',
} as const;

/** What the last token of a subject names: a monitor, a key, a probe. */
export const lastTokenOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);

/** The prefix of a probe's inbox: the only place where it may hear answers. */
export const inboxOf = (probe: string): string => `_INBOX_${probe.replaceAll('-', '')}`;

export const partitionCount = 32;

/** The partition of a monitor: its id is random in the last digits, so they spread evenly. */
export const partitionOf = (monitor: string): number => Number.parseInt(monitor.slice(-4), 16) % partitionCount;
