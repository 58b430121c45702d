import { type Actor, createActor, createPump, type Pump } from '../../shared/actor/mailbox.ts';
import type { Pull } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import type { Known } from '../alerts/alerter.ts';
import { Fenced, type Lease, renewEpoch } from '../store/store-leases.ts';
import { createPartition, isTickDue } from './partition.ts';
import {
  aheadOf,
  closeDeliveries,
  goOnWith,
  isCaughtUp,
  openDeliveries,
  type PartitionDeliveries,
  takeMessages,
} from './partition-deliveries.ts';
import type { PartitionAnswer, PartitionMessage } from './partition-message.ts';
import type { PartitionParts } from './partition-parts.ts';
import { type ReconcileAnswer, type ReconcileTurn, reconcile } from './partition-reconcile.ts';
import type { PartitionState } from './partition-state.ts';

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

/**
 * A partition at work: its actor, the pull that feeds it, and the clock that ticks it.
 *
 * Modes: `loading` (read from the database) → `loaded` (what comes is held or worked on, see partition-deliveries.ts) → `stopped`; one that is stopped before
 * it has been read is `leaving` until then.
 *
 * Modes of its epoch: `unused` (nothing was ever sent under it) → `used` ↔ `renewing` (that of the database may be ahead of what `lease` says).
 */
export type RunningPartition = Pick<Options, 'parts' | 'mayWork'> & {
  mode: 'loading' | 'loaded' | 'leaving' | 'stopped';
  lease: Lease;
  epoch: 'unused' | 'used' | 'renewing';
  readonly actor: Actor<PartitionMessage, PartitionAnswer>;
  readonly deliveries: PartitionDeliveries;
  /** Looks whether the bus has all assignments; one that is away is looked at again when it is back. */
  readonly reconciling: Pump;
  /** There may be lines in the outbox; one look at them at a time is enough. */
  readonly outbox: Pump;
  readonly ticker: NodeJS.Timeout;
  pull: Pull | undefined;
  /** Settles when it is at work, or cannot be. */
  began: Promise<void>;
  nextCheckpoint: number;
  restUntil: number;
};

const pollBatch = 16;
const capacity = 1_000;
/** After a failure, so that a database that is away is not asked ten times a second for each partition. */
const restMs = 1_000;

const afterLoading = { loading: 'loaded', leaving: 'stopped' } as const;
const afterStop = { loading: 'leaving', loaded: 'stopped' } as const;

const isLoaded = ({ mode }: RunningPartition): boolean => mode === 'loaded' || mode === 'stopped';
const isStopped = ({ mode }: RunningPartition): boolean => mode === 'leaving' || mode === 'stopped';

/** It has been read. */
const becomeLoaded = (running: RunningPartition): void => {
  const { mode, lease } = running;
  if (mode !== 'loading' && mode !== 'leaving') throw new Error(`partition ${lease.partition} is ${mode}, and was read again`);
  running.mode = afterLoading[mode];
};

/** It is not to go on. */
const becomeStopped = (running: RunningPartition): void => {
  const { mode, lease } = running;
  if (mode !== 'loading' && mode !== 'loaded') throw new Error(`partition ${lease.partition} is ${mode}, and was stopped again`);
  running.mode = afterStop[mode];
};

/** The lease under which it may be read, and all that was sent before can write nothing any more. */
const leaseToRead = async (running: RunningPartition): Promise<Lease> => {
  if (running.epoch !== 'unused') {
    running.epoch = 'renewing';
    running.lease = await renewEpoch(running.parts.sql, running.lease).finally(() => {
      running.epoch = 'used';
    });
  }
  running.epoch = 'used';
  return running.lease;
};

const failed = (running: RunningPartition, what: string, error: unknown): void => {
  running.restUntil = performance.now() + restMs;
  const { parts, lease } = running;
  if (!isStopped(running) && !(error instanceof Fenced))
    parts.log.error({ err: error, partition: lease.partition, what }, 'a partition failed and starts again from the database');
};

const tell = (running: RunningPartition, message: PartitionMessage): Promise<unknown> =>
  running.actor.tell(message).catch((error: unknown) => failed(running, message.is, error));

const tick = (running: RunningPartition): void => {
  const { parts, deliveries, actor, lease, mayWork } = running;
  const { bus, timing, clock, loaded, roster } = parts;
  if (!mayWork()) return;
  const now = performance.now();
  if (now < running.restUntil) return;
  if (goOnWith(deliveries, now)) {
    const only = aheadOf(deliveries);
    if (only && only.size > 0 && actor.waiting() === 0 && bus.isConnected()) void tell(running, { is: 'tick', only });
    return;
  }
  if (!isLoaded(running) || actor.waiting() > 10) return;
  // Nobody can be heard: silence means nothing now.
  if (bus.isConnected() && isTickDue(loaded.get(lease.partition), roster(), clock.now())) void tell(running, { is: 'tick' });
  if (now >= running.nextCheckpoint) {
    running.nextCheckpoint = now + timing.checkpointMs;
    void tell(running, { is: 'checkpoint' });
  }
};

const reconcileTurn = async (running: RunningPartition, turn: ReconcileTurn): Promise<ReconcileAnswer> => {
  const { partition } = running.lease;
  if (isStopped(running) || !running.mayWork()) throw new Error(`partition ${partition} is not ours any more`);
  const answer = await running.actor.tell({ is: 'reconcile', turn });
  if (answer.is === 'reconciled') return answer;
  throw answer.is === 'failed' ? answer.error : new Error(`partition ${partition} answered ${answer.is}`);
};

const lookThroughAssignments = async (running: RunningPartition): Promise<void> => {
  const { parts, lease, mayWork } = running;
  if (parts.bus.isConnected() && isLoaded(running) && mayWork())
    await reconcile(lease.partition, parts, (turn) => reconcileTurn(running, turn));
};

const begin = async (running: RunningPartition): Promise<void> => {
  const { parts, actor, deliveries, mayWork } = running;
  const { bus, log, loaded } = parts;
  const { partition } = running.lease;
  const consumer = partitionConsumer(partition);
  // What an owner before us still holds comes back at once, and what he still asks for ends.
  await bus.renewConsumer(streams.results.name, consumer).catch((error: unknown) => failed(running, 'consumer', error));
  await actor.tell({ is: 'warm' });
  becomeLoaded(running);
  log.debug({ partition, monitors: loaded.get(partition)?.monitors.size() }, 'a partition is at work');
  if (isStopped(running)) return;
  void running.reconciling.run();
  running.pull = bus.pull({
    stream: streams.results.name,
    consumer: consumer.name,
    batch: pollBatch,
    mayAsk: mayWork,
    onMissing: async () => {
      await bus.ensureStream(streams.results);
      await bus.ensureConsumer(streams.results.name, consumer);
    },
    onMessages: (messages) => takeMessages(deliveries, messages),
  });
};

export const startPartition = ({ lease, isTaken, parts, mayWork, onFenced, onGivenUp }: Options): RunningPartition => {
  const { log, timing } = parts;
  const { partition } = lease;
  const actor = createActor<PartitionState, PartitionMessage, PartitionAnswer>(
    createPartition(partition, () => leaseToRead(running), parts),
    {
      capacity,
      onFailure: (error) => {
        if (error instanceof Fenced) onFenced();
      },
      onGivenUp,
      patienceMs: timing.standstillMs,
    },
  );
  const running: RunningPartition = {
    ...{ parts, mayWork, lease, actor },
    mode: 'loading',
    epoch: isTaken ? 'unused' : 'used',
    deliveries: openDeliveries({ partition, parts, isLoaded: () => isLoaded(running), tell: actor.tell }),
    reconciling: createPump({
      once: () => lookThroughAssignments(running),
      onFailure: (error) => {
        if (!isStopped(running)) log.error({ err: error, partition }, 'assignments could not be looked through; it is tried again');
      },
    }),
    outbox: createPump({
      once: async () => {
        if (mayWork()) await actor.tell({ is: 'outbox' });
      },
      onFailure: (error) => failed(running, 'outbox', error),
    }),
    ticker: setInterval(() => tick(running), timing.tickMs),
    pull: undefined,
    began: Promise.resolve(),
    nextCheckpoint: performance.now() + timing.checkpointMs * (0.5 + partition / 64),
    restUntil: 0,
  };
  running.began = begin(running).catch((error: unknown) => {
    failed(running, 'start', error);
    onFenced();
  });
  return running;
};

/** Settles when all that was told before has been worked on, and rejects when it cannot be. */
export const passThrough = async ({ began, actor }: RunningPartition): Promise<void> => {
  await began;
  await actor.tell({ is: 'warm' });
};

/** What is known of its past, for its alerts. */
export const knownOf = ({ lease, deliveries }: RunningPartition): Known => ({
  lease,
  isCaughtUp: isCaughtUp(deliveries),
  isAhead: (monitor) => aheadOf(deliveries)?.has(monitor) === true,
});

/** Nothing is taken any more; what was taken is finished, and a checkpoint left if the lease is still ours. */
export const stopPartition = async (running: RunningPartition, leaveCheckpoint: boolean): Promise<void> => {
  const { outbox, reconciling, ticker, deliveries, actor, parts } = running;
  becomeStopped(running);
  outbox.stop();
  reconciling.stop();
  clearInterval(ticker);
  await running.began;
  await running.pull?.stop();
  await closeDeliveries(deliveries);
  if (leaveCheckpoint && isLoaded(running)) await tell(running, { is: 'checkpoint' });
  await actor.close();
  // An actor that failed last has forgotten its state, and has nothing to close; what others count by must go all the same.
  const { partition } = running.lease;
  if (parts.loaded.get(partition)?.lease === running.lease) parts.loaded.delete(partition);
};
