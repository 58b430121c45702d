import type { Delivered } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import { type Awaited, awaitedBy, beginHandover, goOn, type Handover } from '../domain/handover.ts';
import { isPassing } from '../store/store-database.ts';
import { Fenced } from '../store/store-leases.ts';
import { createWaitingRoom, type WaitingRoom } from './partition-ahead-of-handover.ts';
import type { PartitionAnswer, PartitionMessage } from './partition-message.ts';
import type { PartitionParts } from './partition-parts.ts';

/**
 * How far the past of a partition is decided, since it was last waited for.
 *
 * Modes: `untold` (the bus has not said what it has for us: that nothing is pending tells nothing) → `told` → `decided`; `cut off` (it was decided when
 * the bus went away, and nobody knows better). Each absence of the bus leads back to `untold` or `cut off`, what a probe kept to `told` or `untold`.
 */
type Past = 'untold' | 'told' | 'decided' | 'cut off';

/** The bus has said something of what it has. */
const afterWord: Readonly<Record<Past, Past>> = { untold: 'told', told: 'told', decided: 'decided', 'cut off': 'decided' };
/** The bus was away, and is, or is here again. */
const whileAway: Readonly<Record<Past, Past>> = { untold: 'untold', told: 'untold', decided: 'cut off', 'cut off': 'cut off' };
/** Something of the past is waited for anew. */
const behindAgain: Readonly<Record<Past, Past>> = { untold: 'untold', told: 'told', decided: 'told', 'cut off': 'untold' };

/** What waits and has been shown to the partition, because some of it need not (rule 4). */
type Shown = {
  readonly room: WaitingRoom;
  /** So many of what is held were shown; infinite once they cannot be. */
  taken: number;
  /** Who was waited for when they were; undefined before the first time. */
  awaited: Awaited | undefined;
};

type Options = {
  readonly partition: number;
  readonly parts: Pick<PartitionParts, 'bus' | 'log' | 'timing' | 'clock' | 'words'>;
  /** Whether the partition has been read from the database. */
  readonly isLoaded: () => boolean;
  readonly tell: (message: PartitionMessage) => Promise<PartitionAnswer>;
};

/**
 * What the bus delivers to a partition, on its way to it.
 *
 * Modes: `open` → `closed` (what waited is the bus's again). While it is open `handover` says whether it is holding (after an absence: what probes kept
 * waits here, unacknowledged, so that it is decided in order; rule 4; what need not wait goes ahead) or working (it goes on as it comes).
 */
export type PartitionDeliveries = Options & {
  mode: 'open' | 'closed';
  handover: Handover;
  /** Since when it is holding, by the clock of results. */
  heldSince: number;
  held: Delivered[];
  past: Past;
  /** How often the bus was away. */
  absences: number;
  shown: Shown | undefined;
  /** How many hands are at work, and how much the bus still has for us. */
  handing: number;
  pending: number;
  /** Whether the bus is being asked what it has. */
  isAsking: boolean;
  /** When the bus was last told that we are at what is held. */
  workingSaidAt: number;
  last: Promise<void>;
};

const mostHeld = 200;
const workingEveryMs = 2_000;

export const openDeliveries = (options: Options): PartitionDeliveries => ({
  ...options,
  mode: 'open',
  // Whoever is heard all the while keeps nothing from us, whoever owned the partition before.
  handover: beginHandover(performance.now(), Number.NEGATIVE_INFINITY, options.parts.timing.catchUpMs),
  heldSince: options.parts.clock.now(),
  held: [],
  past: 'untold',
  ...{ absences: 0, handing: 0, pending: 0, workingSaidAt: 0 },
  shown: undefined,
  isAsking: false,
  last: Promise.resolve(),
});

const assertOpen = ({ mode, partition }: PartitionDeliveries): void => {
  if (mode !== 'open') throw new Error(`the deliveries of partition ${partition} are ${mode}, and take nothing more`);
};

const hold = (deliveries: PartitionDeliveries, since: number): void => {
  const { bus, clock, timing } = deliveries.parts;
  deliveries.handover = beginHandover(performance.now(), since, timing.catchUpMs);
  deliveries.heldSince = clock.now();
  // While the bus is away nobody knows better than what was decided last.
  if (bus.isConnected()) deliveries.past = behindAgain[deliveries.past];
  // Begun anew with all that waits: what nobody awaits any more may be awaited again.
  deliveries.shown = undefined;
};

const isHolding = (deliveries: PartitionDeliveries): boolean => {
  const { handover: before, held, partition, parts } = deliveries;
  if (before.until === null && !before.spent) return false;
  const now = goOn(before, parts.words(), performance.now(), (held.at(-1)?.pending ?? 0) > 0);
  deliveries.handover = now;
  if (now.spent && !before.spent) parts.log.warn({ partition }, 'not all probes handed over in time; what came is decided without them');
  return now.until !== null;
};

/** Shows the partition what waits. */
const lookAhead = async (deliveries: PartitionDeliveries): Promise<void> => {
  const { handover, held, pending, partition, parts, isLoaded, tell } = deliveries;
  if (!isLoaded() || handover.until === null) return;
  deliveries.shown ??= { room: createWaitingRoom(deliveries.heldSince), taken: 0, awaited: undefined };
  const mine = deliveries.shown;
  if (mine.taken === Number.POSITIVE_INFINITY) return;
  const awaited = awaitedBy(handover.since, mine.awaited, parts.words(), performance.now(), pending > 0);
  const isFewer = mine.awaited === undefined || mine.awaited.keys().some((probe) => !awaited.has(probe));
  mine.awaited = awaited;
  const news = held.slice(mine.taken);
  if (news.length === 0 && (!isFewer || mine.room.about.size === 0)) return;
  mine.taken = held.length;
  const message = { is: 'waiting', deliveries: news, room: mine.room, awaited: new Set(awaited.keys()), isFewer } as const;
  await tell(message).catch((error: unknown) => {
    // What cannot be worked on would fail each time: it is found and set aside when the hold ends, and until then all of it waits.
    if (!isPassing(error)) mine.taken = Number.POSITIVE_INFINITY;
    else if (deliveries.shown === mine) deliveries.shown = undefined;
    if (!(error instanceof Fenced))
      parts.log.error({ err: error, partition }, 'what waits could not be looked at; it is decided with the rest');
  });
};

const work = async (deliveries: PartitionDeliveries): Promise<void> => {
  if (isHolding(deliveries) && deliveries.held.length < mostHeld) return lookAhead(deliveries);
  const { held: taken, handover: before, partition, parts, tell } = deliveries;
  deliveries.held = [];
  deliveries.shown = undefined;
  if (taken.length === 0) return;
  try {
    const answer = await tell({ is: 'deliveries', deliveries: taken, handover: before });
    if (answer.is !== 'waits') return;
    const { since, from } = answer;
    // If the bus was away in between, a hold has begun, and these are among what it holds.
    if (deliveries.handover === before) hold(deliveries, since);
    deliveries.held = [...taken, ...deliveries.held];
    const age_ms = Math.round(performance.now() - since);
    parts.log.debug({ partition, from, age_ms }, 'what was kept is handed over; those who may keep as much are waited for');
    await lookAhead(deliveries);
  } catch (error) {
    for (const delivered of taken) delivered.nak(200);
    parts.log.error({ err: error, partition, messages: taken.length }, 'results could not be worked on; they come again');
  }
};

/** One after the other, so that messages that were held go before those that came later. */
const hand = (deliveries: PartitionDeliveries): Promise<void> => {
  deliveries.handing += 1;
  deliveries.last = deliveries.last
    .then(() => work(deliveries))
    .finally(() => {
      deliveries.handing -= 1;
    });
  return deliveries.last;
};

/** Nothing has come: there is nothing, or it is on its way. */
const askBus = async (deliveries: PartitionDeliveries): Promise<void> => {
  if (deliveries.isAsking) return;
  deliveries.isAsking = true;
  const { absences, partition, parts } = deliveries;
  const left = await parts.bus.consumerState(streams.results.name, partitionConsumer(partition).name).catch((error: unknown) => {
    parts.log.debug({ err: error, partition }, 'what the bus has left for a partition could not be asked; it is asked again');
    return undefined;
  });
  if (left?.pending === 0 && left.unacknowledged === 0 && absences === deliveries.absences) deliveries.past = afterWord[deliveries.past];
  deliveries.isAsking = false;
};

/** Settles when these have been worked on, or wait. */
export const takeMessages = (deliveries: PartitionDeliveries, messages: readonly Delivered[]): Promise<void> => {
  assertOpen(deliveries);
  deliveries.held.push(...messages);
  deliveries.pending = messages.at(-1)?.pending ?? deliveries.pending;
  if (messages.length > 0) deliveries.past = afterWord[deliveries.past];
  return hand(deliveries);
};

/** The bus was away: what comes now may be of the past. */
export const holdAgain = (deliveries: PartitionDeliveries): void => {
  deliveries.absences += 1;
  deliveries.past = whileAway[deliveries.past];
  hold(deliveries, performance.now());
};

/** Whether all that was kept has been decided since the past was last waited for. */
export const isCaughtUp = ({ past }: PartitionDeliveries): boolean => past === 'decided' || past === 'cut off';

/** What is to be done again and again; returns whether it is holding. */
export const goOnWith = (deliveries: PartitionDeliveries, now: number): boolean => {
  if (isHolding(deliveries)) {
    // Somebody may have handed over who has nothing to tell.
    if (deliveries.handing === 0 && deliveries.held.length > 0) void hand(deliveries);
    if (now - deliveries.workingSaidAt < workingEveryMs) return true;
    deliveries.workingSaidAt = now;
    for (const delivered of deliveries.held) delivered.working();
    return true;
  }
  const { held, past, handing, pending, parts, isLoaded } = deliveries;
  if (held.length > 0) void hand(deliveries);
  else if (!isCaughtUp(deliveries) && isLoaded() && handing === 0 && pending === 0 && parts.bus.isConnected()) {
    if (past === 'told') deliveries.past = 'decided';
    else void askBus(deliveries);
  }
  return false;
};

/** The monitors that are decided ahead of what waits, if anything does. */
export const aheadOf = ({ shown }: PartitionDeliveries): ReadonlySet<string> | undefined => shown?.room.ahead;

const giveBack = ({ held }: PartitionDeliveries): void => {
  for (const delivered of held.splice(0)) delivered.nak(0);
};

export const closeDeliveries = async (deliveries: PartitionDeliveries): Promise<void> => {
  assertOpen(deliveries);
  deliveries.mode = 'closed';
  giveBack(deliveries);
  await deliveries.last;
  // What was left to wait for others.
  giveBack(deliveries);
};
