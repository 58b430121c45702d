import type { Delivered } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/streams.ts';
import { type Awaited, awaitedBy, beginHandover, goOn } from '../domain/handover.ts';
import { isPassing } from '../store/database.ts';
import { Fenced } from '../store/leases.ts';
import { createWaitingRoom, type WaitingRoom } from './ahead-of-handover.ts';
import type { PartitionAnswer, PartitionMessage } from './message.ts';
import type { PartitionParts } from './partition-parts.ts';

/**
 * What the bus delivers to a partition, on its way to it.
 *
 * Modes: `holding` (after an absence, see domain/handover.ts: what probes kept waits here, unacknowledged, so that it is decided in order;
 * rule 4; what need not wait goes ahead) ↔ `working` (it goes on as it comes); `closed` (what waited is the bus's again).
 */
export type PartitionDeliveries = {
  /** Settles when these have been worked on, or wait. */
  readonly take: (messages: readonly Delivered[]) => Promise<void>;
  /** The bus was away: what comes now may be of the past. */
  readonly holdAgain: () => void;
  /** What is to be done again and again; returns whether it is holding. */
  readonly tick: (now: number) => boolean;
  /** Whether all that was kept has been decided since the past was last waited for. */
  readonly isCaughtUp: () => boolean;
  /** The monitors that are decided ahead of what waits, if anything does. */
  readonly ahead: () => ReadonlySet<string> | undefined;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly partition: number;
  readonly parts: Pick<PartitionParts, 'bus' | 'log' | 'timing' | 'clock' | 'words'>;
  /** Whether the partition has been read from the database. */
  readonly isLoaded: () => boolean;
  readonly tell: (message: PartitionMessage) => Promise<PartitionAnswer>;
};

const mostHeld = 200;
const workingEveryMs = 2_000;

export const createPartitionDeliveries = ({ partition, parts, isLoaded, tell }: Options): PartitionDeliveries => {
  const { bus, log, timing, clock, words } = parts;
  // Whoever is heard all the while keeps nothing from us, whoever owned the partition before.
  let handover = beginHandover(performance.now(), Number.NEGATIVE_INFINITY, timing.catchUpMs);
  /** By the clock of results. */
  let heldSince = clock.now();
  let held: Delivered[] = [];
  /** How many hands are at work, and how much the bus still has for us. */
  let handing = 0;
  let pending = 0;
  let isCaughtUp = false;
  /** Whether the bus has told what it has for us; until its first word `pending` tells nothing. Counts anew with each absence. */
  let isToldOfBus = false;
  let absences = 0;
  let asking = false;
  let waiting: { readonly room: WaitingRoom; taken: number; awaited: Awaited | undefined } | undefined;
  let workingSaidAt = 0;
  let last: Promise<void> = Promise.resolve();

  const hold = (since: number): void => {
    handover = beginHandover(performance.now(), since, timing.catchUpMs);
    heldSince = clock.now();
    // While the bus is away nobody knows better than what was decided last.
    if (bus.isConnected()) isCaughtUp = false;
    // Begun anew with all that waits: what nobody awaits any more may be awaited again.
    waiting = undefined;
  };

  const isHolding = (): boolean => {
    const before = handover;
    if (before.until === null && !before.spent) return false;
    handover = goOn(before, words(), performance.now(), (held.at(-1)?.pending ?? 0) > 0);
    if (handover.spent && !before.spent) log.warn({ partition }, 'not all probes handed over in time; what came is decided without them');
    return handover.until !== null;
  };

  /** What waits is shown to the partition, because some of it need not (rule 4). */
  const lookAhead = async (): Promise<void> => {
    if (!isLoaded() || handover.until === null) return;
    waiting ??= { room: createWaitingRoom(heldSince), taken: 0, awaited: undefined };
    const mine = waiting;
    if (mine.taken === Number.POSITIVE_INFINITY) return;
    const awaited = awaitedBy(handover.since, mine.awaited, words(), performance.now(), pending > 0);
    const isFewer = mine.awaited === undefined || mine.awaited.keys().some((probe) => !awaited.has(probe));
    mine.awaited = awaited;
    const deliveries = held.slice(mine.taken);
    if (deliveries.length === 0 && (!isFewer || mine.room.about.size === 0)) return;
    mine.room.awaited = new Set(awaited.keys());
    mine.room.isFewer = isFewer;
    mine.taken = held.length;
    await tell({ is: 'waiting', deliveries, room: mine.room }).catch((error: unknown) => {
      // What cannot be worked on would fail each time: it is found and set aside when the hold ends, and until then all of it waits.
      if (!isPassing(error)) mine.taken = Number.POSITIVE_INFINITY;
      else if (waiting === mine) waiting = undefined;
      if (!(error instanceof Fenced))
        log.error({ err: error, partition }, 'what waits could not be looked at; it is decided with the rest');
    });
  };

  const work = async (): Promise<void> => {
    if (isHolding() && held.length < mostHeld) return lookAhead();
    const deliveries = held;
    held = [];
    waiting = undefined;
    if (deliveries.length === 0) return;
    const before = handover;
    try {
      const answer = await tell({ is: 'deliveries', deliveries, handover: before });
      if (answer.is !== 'waits') return;
      const { since, from } = answer;
      // If the bus was away in between, a hold has begun, and these are among what it holds.
      if (handover === before) hold(since);
      held = [...deliveries, ...held];
      const age_ms = Math.round(performance.now() - since);
      log.debug({ partition, from, age_ms }, 'what was kept is handed over; those who may keep as much are waited for');
      await lookAhead();
    } catch (error) {
      for (const delivered of deliveries) delivered.nak(200);
      log.error({ err: error, partition, messages: deliveries.length }, 'results could not be worked on; they come again');
    }
  };

  /** One after the other, so that messages that were held go before those that came later. */
  const hand = (): Promise<void> => {
    handing += 1;
    last = last.then(work).finally(() => {
      handing -= 1;
    });
    return last;
  };

  /** Nothing has come: there is nothing, or it is on its way. */
  const askBus = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    const since = absences;
    const left = await bus.consumerState(streams.results.name, partitionConsumer(partition).name).catch((error: unknown) => {
      log.debug({ err: error, partition }, 'what the bus has left for a partition could not be asked; it is asked again');
      return undefined;
    });
    if (left?.pending === 0 && left.unacknowledged === 0 && since === absences) isToldOfBus = true;
    asking = false;
  };

  const giveBack = (): void => {
    for (const delivered of held.splice(0)) delivered.nak(0);
  };

  return {
    take: (messages) => {
      held.push(...messages);
      pending = messages.at(-1)?.pending ?? pending;
      isToldOfBus ||= messages.length > 0;
      return hand();
    },
    holdAgain: () => {
      absences += 1;
      isToldOfBus = false;
      hold(performance.now());
    },
    tick: (now) => {
      if (isHolding()) {
        // Somebody may have handed over who has nothing to tell.
        if (handing === 0 && held.length > 0) void hand();
        if (now - workingSaidAt < workingEveryMs) return true;
        workingSaidAt = now;
        for (const delivered of held) delivered.working();
        return true;
      }
      if (held.length > 0) void hand();
      else if (!isCaughtUp && isLoaded() && handing === 0 && pending === 0 && bus.isConnected()) {
        if (isToldOfBus) isCaughtUp = true;
        else void askBus();
      }
      return false;
    },
    isCaughtUp: () => isCaughtUp,
    ahead: () => waiting?.room.ahead,
    close: async () => {
      giveBack();
      await last;
      // What was left to wait for others.
      giveBack();
    },
  };
};
