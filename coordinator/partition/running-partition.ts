import { createActor } from '../../shared/actor/actor.ts';
import { createPump } from '../../shared/actor/pump.ts';
import type { Pull } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/streams.ts';
import type { Known } from '../alerts/alerter.ts';
import { Fenced, type Lease, renewEpoch } from '../store/leases.ts';
import { createPartitionDeliveries } from './deliveries.ts';
import type { PartitionAnswer, PartitionMessage } from './message.ts';
import { createPartition, isTickDue } from './partition.ts';
import type { PartitionParts } from './partition-parts.ts';
import { type ReconcileAnswer, type ReconcileTurn, reconcile } from './reconcile.ts';
import type { PartitionState } from './state.ts';

/**
 * A partition at work: its actor, the pull that feeds it, and the clock that ticks it.
 *
 * Modes: `loading` (read from the database) → `loaded` (what comes is held or worked on, see deliveries.ts) → `stopped`.
 */
export type RunningPartition = {
  readonly lease: () => Lease;
  /** Its epoch in the database may be ahead of what `lease` says. */
  readonly isRenewing: () => boolean;
  readonly tell: (message: PartitionMessage) => Promise<PartitionAnswer>;
  /** There may be lines in the outbox; one look at them at a time is enough. */
  readonly wakeOutbox: () => void;
  /** Looks whether the bus has all assignments. */
  readonly reconcile: () => void;
  /** The bus was away: what comes now may be of the past. */
  readonly holdAgain: () => void;
  /** What is known of its past, for its alerts. */
  readonly known: () => Known;
  /** Settles when all that was told before has been worked on, and rejects when it cannot be. */
  readonly pass: () => Promise<void>;
  /** Nothing is taken any more; what was taken is finished, and a checkpoint left if the lease is still ours. */
  readonly stop: (leaveCheckpoint: boolean) => Promise<void>;
};

type Options = {
  readonly lease: Lease;
  /** Just taken: nothing was ever sent under its epoch. */
  readonly isTaken: boolean;
  readonly parts: PartitionParts;
  /** Whether the lease still holds by our own clock. */
  readonly mayWork: () => boolean;
  readonly onFenced: () => void;
  /** A message stands: nothing comes of this one any more. */
  readonly onGivenUp: () => void;
};

const pollBatch = 16;
const capacity = 1_000;
/** After a failure, so that a database that is away is not asked ten times a second for each partition. */
const restMs = 1_000;

export const startPartition = ({ lease: first, isTaken, parts, mayWork, onFenced, onGivenUp }: Options): RunningPartition => {
  const { bus, log, timing, clock, sql } = parts;
  const { partition } = first;
  const consumer = partitionConsumer(partition);
  let lease = first;
  let isUnused = isTaken;
  let isRenewing = false;
  const leaseToRead = async (): Promise<Lease> => {
    if (!isUnused) {
      isRenewing = true;
      lease = await renewEpoch(sql, lease).finally(() => {
        isRenewing = false;
      });
    }
    isUnused = false;
    return lease;
  };
  const actor = createActor<PartitionState, PartitionMessage, PartitionAnswer>(createPartition(partition, leaseToRead, parts), {
    capacity,
    onFailure: (error) => {
      if (error instanceof Fenced) onFenced();
    },
    onGivenUp,
    patienceMs: timing.standstillMs,
  });
  let stopped = false;
  let loaded = false;
  let nextCheckpoint = performance.now() + timing.checkpointMs * (0.5 + partition / 64);
  let restUntil = 0;
  let pull: Pull | undefined;
  const deliveries = createPartitionDeliveries({ partition, parts, isLoaded: () => loaded, tell: actor.tell });

  const failed = (what: string) => (error: unknown) => {
    restUntil = performance.now() + restMs;
    if (!stopped && !(error instanceof Fenced))
      log.error({ err: error, partition, what }, 'a partition failed and starts again from the database');
  };
  const tell = (message: PartitionMessage): Promise<unknown> => actor.tell(message).catch(failed(message.is));

  const onTick = () => {
    if (!mayWork()) return;
    const now = performance.now();
    if (now < restUntil) return;
    if (deliveries.tick(now)) {
      const only = deliveries.ahead();
      if (only && only.size > 0 && actor.waiting() === 0 && bus.isConnected()) void tell({ is: 'tick', only });
      return;
    }
    if (!loaded || actor.waiting() > 10) return;
    // Nobody can be heard: silence means nothing now.
    if (bus.isConnected() && isTickDue(parts.loaded.get(partition), parts.roster(), clock.now())) void tell({ is: 'tick' });
    if (now >= nextCheckpoint) {
      nextCheckpoint = now + timing.checkpointMs;
      void tell({ is: 'checkpoint' });
    }
  };
  const ticker = setInterval(onTick, timing.tickMs);

  const inTurn = async (turn: ReconcileTurn): Promise<ReconcileAnswer> => {
    if (stopped || !mayWork()) throw new Error(`partition ${partition} is not ours any more`);
    const answer = await actor.tell({ is: 'reconcile', turn });
    if (answer.is === 'reconciled') return answer;
    throw answer.is === 'failed' ? answer.error : new Error(`partition ${partition} answered ${answer.is}`);
  };

  /** A bus that is away is looked at again when it is back. */
  const reconciling = createPump({
    once: async () => {
      if (bus.isConnected() && loaded && mayWork()) await reconcile(partition, parts, inTurn);
    },
    onFailure: (error) => {
      if (!stopped) log.error({ err: error, partition }, 'assignments could not be looked through; it is tried again');
    },
  });

  const outbox = createPump({
    once: async () => {
      if (mayWork()) await actor.tell({ is: 'outbox' });
    },
    onFailure: failed('outbox'),
  });

  const begin = async (): Promise<void> => {
    // What an owner before us still holds comes back at once, and what he still asks for ends.
    await bus.renewConsumer(streams.results.name, consumer).catch(failed('consumer'));
    await actor.tell({ is: 'warm' });
    loaded = true;
    log.debug({ partition, monitors: parts.loaded.get(partition)?.monitors.size() }, 'a partition is at work');
    if (stopped) return;
    void reconciling.run();
    pull = bus.pull({
      stream: streams.results.name,
      consumer: consumer.name,
      batch: pollBatch,
      mayAsk: mayWork,
      onMissing: async () => {
        await bus.ensureStream(streams.results);
        await bus.ensureConsumer(streams.results.name, consumer);
      },
      onMessages: deliveries.take,
    });
  };
  const began = begin().catch((error: unknown) => {
    failed('start')(error);
    onFenced();
  });

  return {
    lease: () => lease,
    isRenewing: () => isRenewing,
    tell: actor.tell,
    wakeOutbox: () => void outbox.run(),
    reconcile: () => void reconciling.run(),
    holdAgain: deliveries.holdAgain,
    pass: async () => {
      await began;
      await actor.tell({ is: 'warm' });
    },
    known: () => ({ lease, isCaughtUp: deliveries.isCaughtUp(), isAhead: (monitor) => deliveries.ahead()?.has(monitor) === true }),
    stop: async (leaveCheckpoint) => {
      stopped = true;
      outbox.stop();
      reconciling.stop();
      clearInterval(ticker);
      await began;
      await pull?.stop();
      await deliveries.close();
      if (leaveCheckpoint && loaded) await tell({ is: 'checkpoint' });
      await actor.close();
      // An actor that failed last has forgotten its state, and has nothing to close; what others count by must go all the same.
      if (parts.loaded.get(partition)?.lease === lease) parts.loaded.delete(partition);
    },
  };
};
