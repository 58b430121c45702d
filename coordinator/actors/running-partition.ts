import { type Actor, createActor } from '../../shared/actor/actor.ts';
import type { Delivered, Pull } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/streams.ts';
import { type Awaited, awaitedBy, beginHandover, goOn, mustWait, type Word } from '../domain/handover.ts';
import { isPassing } from '../store/database.ts';
import { Fenced, type Lease } from '../store/leases.ts';
import type { Known } from './alerter.ts';
import { createPartition, isTickDue, type Kept, type PartitionMessage } from './partition.ts';
import { createWaitingRoom, type WaitingRoom } from './partition-ahead.ts';
import type { PartitionParts } from './partition-parts.ts';
import type { PartitionState } from './partition-state.ts';

/**
 * A partition at work: its actor, the pull that feeds it, and the clock that ticks it.
 *
 * Modes: `loading` (read from the database) → `holding` (after an absence, see domain/handover.ts: what probes kept waits here,
 * unacknowledged, so that it is decided in order; rule 4; what need not wait goes ahead) ↔ `working`; `stopped`.
 */
export type RunningPartition = {
  readonly lease: Lease;
  readonly tell: (message: PartitionMessage) => Promise<void>;
  /** There may be lines in the outbox; one look at them at a time is enough. */
  readonly wakeOutbox: () => void;
  /** Looks whether the bus has all assignments. */
  readonly reconcile: () => void;
  /** The bus was away: what comes now may be of the past. */
  readonly holdAgain: () => void;
  /** What is known of its past, for its alerts. */
  readonly known: () => Known;
  /** Nothing is taken any more; what was taken is finished, and a checkpoint left if the lease is still ours. */
  readonly stop: (leaveCheckpoint: boolean) => Promise<void>;
};

type Options = {
  readonly lease: Lease;
  readonly parts: PartitionParts;
  /** Whether the lease still holds by our own clock. */
  readonly mayWork: () => boolean;
  readonly onFenced: () => void;
  /** What healthy probes last said of themselves. */
  readonly words: () => readonly Word[];
};

const pollBatch = 16;
const mostHeld = 200;
const workingEveryMs = 2_000;
const capacity = 1_000;
/** The last to hand over may do so when the hold ends. */
const handsOverWithin = 5_000;
/** After a failure, so that a database that is away is not asked ten times a second for each partition. */
const restMs = 1_000;

export const startPartition = ({ lease, parts, mayWork, onFenced, words }: Options): RunningPartition => {
  const { bus, log, timing, clock } = parts;
  const { partition } = lease;
  const consumer = partitionConsumer(partition);
  const actor: Actor<PartitionMessage> = createActor<PartitionState, PartitionMessage>(createPartition(lease, parts), {
    capacity,
    onFailure: (error) => {
      if (error instanceof Fenced) onFenced();
    },
  });
  let stopped = false;
  let loaded = false;
  // Whoever is heard all the while keeps nothing from us, whoever owned the partition before.
  let handover = beginHandover(performance.now(), Number.NEGATIVE_INFINITY, timing.catchUpMs);
  /** By the clock of results. */
  let heldSince = clock.now();
  let held: Delivered[] = [];
  /** How many hands are at work, and how much the bus still has for us. */
  let handing = 0;
  let pending = 0;
  /** Whether all that was kept has been decided since the past was last waited for. */
  let isCaughtUp = false;
  let waiting: { readonly room: WaitingRoom; taken: number; awaited: Awaited | undefined } | undefined;
  let workingSaidAt = 0;
  let nextCheckpoint = performance.now() + timing.checkpointMs * (0.5 + partition / 64);
  let restUntil = 0;
  let outbox: 'idle' | 'looking' | 'again' = 'idle';
  let pull: Pull | undefined;
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

  /** The partition shows what it was given: it tells of a while ago, and others may have kept as much. */
  const mayDecide = ({ ageMs, from }: Kept): boolean => {
    const now = performance.now();
    const since = now - ageMs;
    if (!mustWait(handover, { since, from }, words(), now)) return true;
    hold(since);
    log.debug({ partition, from, age_ms: Math.round(ageMs) }, 'what was kept is handed over; those who may keep as much are waited for');
    return false;
  };

  /** What waits is shown to the partition, because some of it need not (rule 4). */
  const lookAhead = async (): Promise<void> => {
    if (!loaded || handover.until === null) return;
    const until = clock.now() + handover.until - performance.now() + handsOverWithin;
    waiting ??= { room: createWaitingRoom(heldSince, until), taken: 0, awaited: undefined };
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
    await actor.tell({ is: 'waiting', deliveries, room: mine.room }).catch((error: unknown) => {
      // What cannot be worked on would fail each time: it is found and set aside when the hold ends, and until then all of it waits.
      if (!isPassing(error)) mine.taken = Number.POSITIVE_INFINITY;
      else if (waiting === mine) waiting = undefined;
      if (!(error instanceof Fenced))
        log.error({ err: error, partition }, 'what waits could not be looked at; it is decided with the rest');
    });
  };

  /** One after the other, so that messages that were held go before those that came later. */
  const hand = (): Promise<void> => {
    handing += 1;
    const work = async () => {
      if (isHolding() && held.length < mostHeld) return lookAhead();
      const deliveries = held;
      held = [];
      waiting = undefined;
      if (deliveries.length === 0) return;
      let isLeft = false;
      const isToWait = (kept: Kept): boolean => {
        isLeft = !mayDecide(kept);
        return isLeft;
      };
      try {
        await actor.tell({ is: 'deliveries', deliveries, isToWait });
        if (isLeft) {
          held = [...deliveries, ...held];
          await lookAhead();
        }
      } catch (error) {
        for (const delivered of deliveries) delivered.nak(200);
        log.error({ err: error, partition, messages: deliveries.length }, 'results could not be worked on; they come again');
      }
    };
    last = last.then(work).finally(() => {
      handing -= 1;
    });
    return last;
  };

  const take = async (messages: readonly Delivered[]): Promise<void> => {
    held.push(...messages);
    pending = messages.at(-1)?.pending ?? pending;
    await hand();
  };

  const failed = (what: string) => (error: unknown) => {
    restUntil = performance.now() + restMs;
    if (!stopped && !(error instanceof Fenced))
      log.error({ err: error, partition, what }, 'a partition failed and starts again from the database');
  };

  const onTick = () => {
    if (!mayWork()) return;
    const now = performance.now();
    if (now < restUntil) return;
    if (isHolding()) {
      // Somebody may have handed over who has nothing to tell.
      if (handing === 0 && held.length > 0) void hand();
      const only = waiting?.room.ahead;
      if (only && only.size > 0 && actor.waiting() === 0 && bus.isConnected()) actor.tell({ is: 'tick', only }).catch(failed('tick'));
      if (now - workingSaidAt < workingEveryMs) return;
      workingSaidAt = now;
      for (const delivered of held) delivered.working();
      return;
    }
    if (held.length > 0) void hand();
    else if (loaded && handing === 0 && pending === 0 && bus.isConnected()) isCaughtUp = true;
    if (!loaded || actor.waiting() > 10) return;
    // Nobody can be heard: silence means nothing now.
    if (bus.isConnected() && isTickDue(parts.loaded.get(partition), parts.roster(), clock.now()))
      actor.tell({ is: 'tick' }).catch(failed('tick'));
    if (now >= nextCheckpoint) {
      nextCheckpoint = now + timing.checkpointMs;
      actor.tell({ is: 'checkpoint' }).catch(failed('checkpoint'));
    }
  };
  const ticker = setInterval(onTick, timing.tickMs);

  /** A bus that is away is looked at again when it is back. */
  const reconcile = () => {
    if (bus.isConnected() && loaded) actor.tell({ is: 'reconcile' }).catch(failed('reconcile'));
  };

  const wakeOutbox = (): void => {
    if (stopped || !mayWork()) return;
    if (outbox !== 'idle') {
      outbox = 'again';
      return;
    }
    outbox = 'looking';
    actor
      .tell({ is: 'outbox' })
      .catch(failed('outbox'))
      .finally(() => {
        const again = outbox === 'again';
        outbox = 'idle';
        if (again) wakeOutbox();
      });
  };

  const begin = async (): Promise<void> => {
    // What an owner before us still holds comes back at once, and what he still asks for ends.
    await bus.renewConsumer(streams.results.name, consumer).catch(failed('consumer'));
    await actor.tell({ is: 'warm' });
    loaded = true;
    log.debug({ partition, monitors: parts.loaded.get(partition)?.monitors.size() }, 'a partition is at work');
    if (stopped) return;
    reconcile();
    pull = bus.pull({
      stream: streams.results.name,
      consumer: consumer.name,
      batch: pollBatch,
      mayAsk: mayWork,
      onMissing: async () => {
        await bus.ensureStream(streams.results);
        await bus.ensureConsumer(streams.results.name, consumer);
      },
      onMessages: take,
    });
  };
  const began = begin().catch((error: unknown) => {
    failed('start')(error);
    onFenced();
  });

  return {
    lease,
    tell: actor.tell,
    wakeOutbox,
    reconcile,
    holdAgain: () => {
      hold(performance.now());
    },
    known: () => ({ lease, isCaughtUp, isAhead: (monitor) => waiting?.room.ahead.has(monitor) === true }),
    stop: async (leaveCheckpoint) => {
      stopped = true;
      clearInterval(ticker);
      await began;
      await pull?.stop();
      for (const delivered of held.splice(0)) delivered.nak(0);
      await last;
      // What was left to wait for others.
      for (const delivered of held.splice(0)) delivered.nak(0);
      if (leaveCheckpoint && loaded) await actor.tell({ is: 'checkpoint' }).catch(failed('checkpoint'));
      await actor.close();
    },
  };
};
