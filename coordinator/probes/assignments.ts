import pLimit from 'p-limit';
import { type Continent, continents } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { AssignmentMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { streams, subjects } from '../../shared/bus/subjects.ts';
import type { RosterProbe } from '../../shared/checks/assignment.ts';
import { namingSecrets } from '../../shared/checks/config.ts';
import { timeoutMs } from '../../shared/checks/kind-config.ts';
import { publicPlace } from '../../shared/checks/places.ts';
import { sealBox } from '../../shared/checks/sealed-secrets.ts';
import { continentsIn, type MonitorRow, placeIn } from '../engine/queries.ts';
import type { Directory } from './directory.ts';
import type { KeyOf, NetworkKeys } from './identities.ts';
import type { ProbeRow } from './queries.ts';

/**
 * Where a monitor's assignment goes: to the public probes of a continent, whichever regions of it
 * are chosen, or to the probes of a private place.
 */
export type AssignmentPlace =
  | { readonly is: 'continent'; readonly continent: Continent }
  | { readonly is: 'private'; readonly place: string };

const placeName = (place: AssignmentPlace): string =>
  place.is === 'continent' ? place.continent : place.place;

/** Where a probe of the roster gets what it checks. */
export const placeOfProbe = ({
  organisation: place,
  continent,
}: Pick<RosterProbe, 'organisation' | 'continent'>): AssignmentPlace =>
  place === null ? { is: 'continent', continent } : { is: 'private', place };

/** The place whose key a probe has. */
export const keyPlaceOf = ({
  place_id,
  continent,
}: Pick<ProbeRow, 'place_id' | 'continent'>): string => place_id ?? continent;

const subjectOf = (place: AssignmentPlace, monitor: string): string =>
  place.is === 'continent'
    ? subjects.assignment(place.continent, monitor)
    : subjects.privateAssignment(place.place, monitor);

/** Each of these places once. */
export const chosenPlaces = (
  chosen: readonly string[],
  served: readonly Continent[],
): readonly AssignmentPlace[] => {
  const continents = new Set(chosen.map((place) => publicPlace(place)?.continent));
  return [
    ...served
      .filter((continent) => continents.has(continent))
      .map((continent) => ({ is: 'continent', continent }) as const),
    ...new Set(chosen.filter((place) => publicPlace(place) === undefined)),
  ].map((place) => (typeof place === 'string' ? { is: 'private', place } : place));
};

export type Assignments = {
  /**
   * Sends the probes their present assignments; a monitor that is paused or deleted gets a deletion
   * marker. Settles when the bus has them all.
   */
  readonly publish: (changes: readonly AssignmentChange[]) => Promise<void>;
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
  /** null: it was deleted. */
  readonly row: MonitorRow | null;
  /** Nothing can have been published for it before. */
  readonly isNew: boolean;
};

export type AssignmentDependencies = {
  readonly bus: Bus;
  readonly directory: Directory;
  /** The secret part of the config as JSON; the database holds it encrypted. */
  readonly openSecrets: (row: MonitorRow) => Promise<string>;
  readonly keys: Pick<NetworkKeys, 'keyOf' | 'keysNow' | 'epochOf'>;
};

const tombstone = new Uint8Array();

/**
 * How many monitors are on their way to the bus at once: more would wait there beyond their
 * timeout, and take memory meanwhile.
 */
const maxAtOnce = 50;

export const createAssignments = ({
  bus,
  directory,
  openSecrets,
  keys,
}: AssignmentDependencies): Assignments => {
  const limit = pLimit(maxAtOnce);
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

  /**
   * A probe of an earlier version knows no places, and takes an assignment to the monitor's own id
   * for that of another private place: it leaves it alone.
   */
  const withoutSeal = (row: MonitorRow): AssignmentMessage => ({
    v: 1,
    monitor: row.id,
    organisation: row.organisation_id,
    kind: row.type,
    target: row.target,
    interval_ms: row.interval_s * 1_000,
    timeout_ms: timeoutMs(row.config, row.interval_s),
    config: row.secrets === null ? row.config : namingSecrets(row.type, row.config),
    sealed: null,
    config_version: row.config_version,
    ordinal: row.key,
    continents: continentsIn(row.config)?.slice() ?? null,
    ...(row.places ? { probe: row.id, places: [...row.places] } : { probe: placeIn(row.config) }),
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

  /** Subjects that may still have a message about the monitor and should not any more. */
  const leftBehind = async (monitor: string, wanted: ReadonlySet<string>): Promise<string[]> => {
    const possible = served().map((continent) => subjects.assignment(continent, monitor));
    const hasPrivate = directory.all().some((probe) => probe.organisation_id !== null);
    const inPrivate = hasPrivate
      ? await bus.subjectsOf('ASSIGN', subjects.privateAssignment('*', monitor))
      : [];
    const left: string[] = [];
    for (const subject of [...possible, ...inPrivate].filter((each) => !wanted.has(each))) {
      const last = await bus.last('ASSIGN', subject);
      if (last && last.data.length > 0) left.push(subject);
    }
    return left;
  };

  const textsOf = async (
    keyOf: KeyOf,
    row: MonitorRow,
  ): Promise<(place: AssignmentPlace) => string> => {
    const messageFor = await messagesOf(keyOf, row);
    const same = row.secrets === null ? JSON.stringify(withoutSeal(row)) : undefined;
    return (place) => same ?? JSON.stringify(messageFor(place));
  };

  const publishOne = async (
    { monitor, row, isNew }: AssignmentChange,
    keyOf: KeyOf,
  ): Promise<void> => {
    const places = row && row.paused_at === null ? placesOf(row) : [];
    const gone = isNew
      ? []
      : await leftBehind(monitor, new Set(places.map((place) => subjectOf(place, monitor))));
    const textFor = row && places.length > 0 ? await textsOf(keyOf, row) : () => '';
    await Promise.all([
      ...places.map((place) => bus.store(subjectOf(place, monitor), textFor(place))),
      ...gone.map((subject) => bus.store(subject, tombstone)),
    ]);
  };

  return {
    publish: async (changes) => {
      const keyOf = changes.some(({ row }) => row !== null && row.secrets !== null)
        ? await keys.keysNow()
        : keys.keyOf;
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
};

/**
 * Removes old deletion markers from the bus. Otherwise every monitor that was ever deleted or
 * paused would leave one for each continent, and every new probe would read them all. Each message
 * is examined once, the oldest first: an old message that is no marker can only be replaced, and
 * the replacement is the newest.
 *
 * Modes, for each stream: `walking` (some messages with each tick) ↔ `resting` (the next message is
 * too young); it starts from the beginning when the stream was made again.
 */
export type Tombstones = { readonly tick: () => Promise<void> };

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

export const createTombstones = ({ bus, clock, log, keptMs }: Dependencies): Tombstones => {
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
      // By its number: if the monitor was resumed just now, its assignment has another.
      if (message.data.length === 0 && (await bus.remove(stream, message.seq))) removed += 1;
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
};
