import type { Actor } from '../../shared/actor/mailbox.ts';
import { createPump, type Pump } from '../../shared/actor/pump.ts';
import { atSharedTick } from '../../shared/base/shared-tick.ts';
import type { Pull } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import type { PartitionBacklog } from '../notifications/release.ts';
import {
  closeDeliveries,
  isCaughtUp,
  openDeliveries,
  type PartitionDeliveries,
  takeMessages,
  tickDeliveries,
} from './bus-deliveries.ts';
import type { PartitionDependencies } from './dependencies.ts';
import type { PartitionAnswer, PartitionMessage } from './messages.ts';
import { createPartition, isTickDue, unload } from './partition.ts';
import { Fenced, type Lease, renewEpoch } from './queries.ts';
import { type ReconcileAnswer, type ReconcileTurn, reconcile } from './reconcile.ts';
import type { PartitionState } from './state.ts';

type RunningOptions = {
  readonly lease: Lease;
  /** Newly taken: nothing was ever sent under its epoch. */
  readonly isTaken: boolean;
  readonly deps: PartitionDependencies;
  /** Whether the lease still holds by our own clock. */
  readonly mayWork: () => boolean;
  readonly onFenced: () => void;
  /** A message stalled: this one is given up. */
  readonly onGivenUp: () => void;
};

/**
 * A running partition: its actor, the pull that feeds it, and its ticker.
 *
 * Modes: `loading` (from the database) → `loaded` (messages are held or processed, see
 * engine/bus-deliveries.ts) → `stopped`; one that is stopped while it loads is `leaving` until then.
 *
 * Modes of its epoch: `unused` (nothing was ever sent under it) → `used` ↔ `renewing` (the
 * database's epoch may be newer than that of `lease`).
 */
export type RunningPartition = Pick<RunningOptions, 'deps' | 'mayWork'> & {
  mode: 'loading' | 'loaded' | 'leaving' | 'stopped';
  lease: Lease;
  epoch: 'unused' | 'used' | 'renewing';
  readonly actor: Actor<PartitionMessage, PartitionAnswer>;
  readonly deliveries: PartitionDeliveries;
  /**
   * Checks that the bus has all assignments. A bus that is down is checked once it is up.
   */
  readonly reconciling: Pump;
  /** There may be rows in the outbox; one read at a time is enough. */
  readonly outbox: Pump;
  readonly ticker: { readonly stop: () => void };
  pull: Pull | undefined;
  /** Settles when it runs, or cannot. */
  began: Promise<void>;
  /** Settles when it is stopped. */
  readonly stopped: PromiseWithResolvers<void>;
  nextCheckpoint: number;
  nextSeal: number;
  restUntil: number;
};

const capacity = 1_000;
/** Loading waits its turn behind others, and a slow database takes 10 s for a statement. */
const longestLoadMs = 300_000;

export function startPartition({
  lease,
  isTaken,
  deps,
  mayWork,
  onFenced,
  onGivenUp,
}: RunningOptions): RunningPartition {
  const { log, timing } = deps;
  const { partition } = lease;
  const actor = deps.supervisor.actor<PartitionState, PartitionMessage, PartitionAnswer>(
    createPartition(partition, () => leaseToRead(running), deps),
    {
      capacity,
      onFailure: (error) => {
        if (error instanceof Fenced) onFenced();
      },
      onGivenUp,
      timeoutMs: timing.stallMs,
      initTimeoutMs: longestLoadMs,
    },
  );
  const deliveries = openDeliveries({
    partition,
    deps,
    isLoaded: () => isLoaded(running),
    ask: actor.ask,
  });
  const running: RunningPartition = {
    deps,
    mayWork,
    lease,
    actor,
    mode: 'loading',
    epoch: isTaken ? 'unused' : 'used',
    deliveries,
    reconciling: createPump({
      once: () => reviewAssignments(running),
      onFailure: (error) => {
        if (!isStopped(running))
          log.error({ err: error, partition }, 'could not check the assignments; retrying');
      },
    }),
    outbox: createPump({
      once: async () => {
        if (mayWork()) await actor.ask({ is: 'outbox' });
      },
      onFailure: (error) => failed(running, 'outbox', error),
    }),
    ticker: atSharedTick(
      () => (isIdle(deps, partition, deliveries) ? idleTicks * timing.tickMs : timing.tickMs),
      () => tick(running),
    ),
    pull: undefined,
    began: Promise.resolve(),
    stopped: Promise.withResolvers(),
    nextCheckpoint: performance.now() + timing.checkpointMs * (0.5 + partition / 64),
    nextSeal: performance.now() + timing.sealMs * ((partition + 1) / 32),
    restUntil: 0,
  };
  running.began = begin(running).catch((error: unknown) => {
    failed(running, 'start', error);
    onFenced();
  });
  return running;
}

/** The lease to load it under; nothing sent before can write any more. */
async function leaseToRead(running: RunningPartition): Promise<Lease> {
  if (running.epoch !== 'unused') {
    running.epoch = 'renewing';
    running.lease = await renewEpoch(running.deps.sql, running.lease).finally(() => {
      running.epoch = 'used';
    });
  }
  running.epoch = 'used';
  return running.lease;
}

function isLoaded({ mode }: RunningPartition): boolean {
  return mode === 'loaded' || mode === 'stopped';
}

async function reviewAssignments(running: RunningPartition): Promise<void> {
  const { deps, lease, mayWork } = running;
  if (deps.bus.isConnected() && isLoaded(running) && mayWork())
    await reconcile(lease.partition, deps, (turn) => reconcileTurn(running, turn));
}

async function reconcileTurn(
  running: RunningPartition,
  turn: ReconcileTurn,
): Promise<ReconcileAnswer> {
  const { partition } = running.lease;
  if (isStopped(running) || !running.mayWork())
    throw new Error(`partition ${partition} is no longer ours`);
  const answer = await running.actor.ask({ is: 'reconcile', turn });
  if (answer.is === 'reconciled') return answer;
  throw answer.is === 'failed'
    ? answer.error
    : new Error(`partition ${partition} answered ${answer.is}`);
}

function isStopped({ mode }: RunningPartition): boolean {
  return mode === 'leaving' || mode === 'stopped';
}

/**
 * Pause after a failure, so that an unreachable database is not asked ten times a second for each
 * partition.
 */
const restMs = 1_000;

function failed(running: RunningPartition, what: string, error: unknown): void {
  running.restUntil = performance.now() + restMs;
  const { deps, lease } = running;
  if (!isStopped(running) && !(error instanceof Fenced))
    deps.log.error(
      { err: error, partition: lease.partition, what },
      'a partition failed; reloading it from the database',
    );
}

const idleTicks = 10;

/** Nothing falls due in a partition without monitors; a message brings the first one. */
function isIdle(
  { loaded }: PartitionDependencies,
  partition: number,
  deliveries: PartitionDeliveries,
): boolean {
  return (
    loaded.get(partition)?.monitors.size() === 0 &&
    deliveries.held.length === 0 &&
    isCaughtUp(deliveries)
  );
}

function tick(running: RunningPartition): void {
  const { deps, deliveries, actor, lease, mayWork } = running;
  const { bus, timing, clock, loaded, roster } = deps;
  if (!mayWork()) return;
  const now = performance.now();
  if (now < running.restUntil) return;
  if (tickDeliveries(deliveries, now)) return;
  if (!isLoaded(running) || actor.waiting() > 10) return;
  // While the bus is down no probe can be heard, so silence means nothing.
  if (bus.isConnected() && isTickDue(loaded.get(lease.partition), roster(), clock.now()))
    void send(running, { is: 'tick' });
  if (now >= running.nextCheckpoint) {
    running.nextCheckpoint = now + timing.checkpointMs;
    void send(running, { is: 'checkpoint' });
  }
  if (now >= running.nextSeal) void seal(running);
}

function send(running: RunningPartition, message: PartitionMessage): Promise<unknown> {
  return running.actor.ask(message).catch((error: unknown) => failed(running, message.is, error));
}

/** What a take-over left unread must not delay its decisions. */
const unreadMs = 1_000;

/** The next batch follows at once, so that an hour is soon in chunks; what comes late waits. */
async function seal(running: RunningPartition): Promise<void> {
  const { deps, actor, lease } = running;
  running.nextSeal = Number.POSITIVE_INFINITY;
  const answer = await actor
    .ask({ is: 'seal' })
    .catch((error: unknown) => failed(running, 'seal', error));
  const isMore = answer?.is === 'sealed' && answer.isMore;
  const pauseMs = deps.loaded.get(lease.partition)?.earlier ? unreadMs : 0;
  running.nextSeal = performance.now() + (isMore ? pauseMs : deps.timing.sealMs);
  if (answer?.is === 'failed')
    deps.log.error(
      { err: answer.error, partition: lease.partition },
      'could not write the chunks of an hour; retrying',
    );
}

const pollBatch = 16;

async function begin(running: RunningPartition): Promise<void> {
  const { deps, actor, deliveries, mayWork } = running;
  const { bus, log, loaded } = deps;
  const { partition } = running.lease;
  const consumer = partitionConsumer(partition);
  let isAsked = false;
  // Messages that an owner before us still holds come back at once, and its pulls end.
  const renewed = deps
    .renewing(async () => {
      if (isStopped(running)) return;
      isAsked = true;
      await bus.renewConsumer(streams.results.name, consumer);
    })
    .catch((error: unknown) => failed(running, 'consumer', error));
  // One that is stopped while it waits for its turn holds nothing up.
  await Promise.race([renewed, running.stopped.promise]);
  if (isAsked) await renewed;
  if (isStopped(running)) return becomeLoaded(running);
  await actor.ask({ is: 'warm' });
  becomeLoaded(running);
  log.debug(
    { partition, monitors: loaded.get(partition)?.monitors.size() },
    'a partition has started',
  );
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
}

const afterLoading = { loading: 'loaded', leaving: 'stopped' } as const;

function becomeLoaded(running: RunningPartition): void {
  const { mode, lease } = running;
  if (mode !== 'loading' && mode !== 'leaving')
    throw new Error(`partition ${lease.partition} is ${mode} and cannot be loaded again`);
  running.mode = afterLoading[mode];
}

/** Settles when all earlier messages have been processed, and rejects when they cannot be. */
export async function passThrough({ began, actor }: RunningPartition): Promise<void> {
  await began;
  await actor.ask({ is: 'warm' });
}

/** What is known of its past, for its alerts. */
export function backlogStateOf({ lease, deliveries }: RunningPartition): PartitionBacklog {
  return {
    lease,
    isCaughtUp: isCaughtUp(deliveries),
  };
}

/**
 * Takes no more messages, finishes those that it has, and leaves a checkpoint if we still own the
 * lease.
 */
export async function stopPartition(
  running: RunningPartition,
  leaveCheckpoint: boolean,
): Promise<void> {
  const { outbox, reconciling, ticker, deliveries, actor, deps } = running;
  const wasLoaded = isLoaded(running);
  becomeStopped(running);
  outbox.stop();
  reconciling.stop();
  ticker.stop();
  await running.began;
  await running.pull?.stop();
  await closeDeliveries(deliveries);
  if (leaveCheckpoint && wasLoaded) await send(running, { is: 'checkpoint' });
  await actor.close();
  // An actor that just failed has discarded its state and closes nothing; its entry in the counts
  // must go all the same.
  const state = deps.loaded.get(running.lease.partition);
  if (state?.lease === running.lease) unload(state, deps);
}

const afterStop = { loading: 'leaving', loaded: 'stopped' } as const;

function becomeStopped(running: RunningPartition): void {
  const { mode, lease } = running;
  if (mode !== 'loading' && mode !== 'loaded')
    throw new Error(`partition ${lease.partition} is ${mode} and cannot be stopped again`);
  running.mode = afterStop[mode];
  running.stopped.resolve();
}
