import { type Actor, createActor, createPump, type Pump } from '../../shared/actor/mailbox.ts';
import type { Delivered, Pull } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import { type Awaited, awaitedBy, type Backlog, beginBacklog, updateBacklog } from '../core/backlog.ts';
import { isPassing } from '../database/connect.ts';
import type { PartitionBacklog } from '../notifications/release.ts';
import type { PartitionDependencies } from './dependencies.ts';
import type { EarlyAnswer, PartitionAnswer, PartitionMessage } from './messages.ts';
import { createPartition, isTickDue } from './partition.ts';
import { Fenced, type Lease, renewEpoch } from './queries.ts';
import { type ReconcileAnswer, type ReconcileTurn, reconcile } from './reconcile.ts';
import type { PartitionState } from './state.ts';

/**
 * How far the past of a partition is decided, since it was last awaited.
 *
 * Modes: `unreported` (the bus has not reported what it has for us, so an empty queue proves
 * nothing) → `reported` → `decided`; `cut off` (it was decided when the bus went away, and nothing
 * newer is known). Each absence of the bus leads back to `unreported` or `cut off`, a backlog of a
 * probe to `reported` or `unreported`.
 */
type Past = 'unreported' | 'reported' | 'decided' | 'cut off';

/** What the partition was told of the held messages, because some need not wait (rule 4). */
type Early = EarlyAnswer & {
  /** How many of the held messages it has. */
  readonly taken: number;
  /** The probes that were awaited then; undefined before the first time. */
  readonly awaited: Awaited | undefined;
  /** It failed at one of them: all that is held waits for the end of the hold. */
  readonly isOff: boolean;
};

const noneEarly: Early = {
  taken: 0,
  awaited: undefined,
  isOff: false,
  monitors: new Set(),
  areOthersWaiting: false,
};

type Options = {
  readonly partition: number;
  readonly deps: Pick<PartitionDependencies, 'bus' | 'log' | 'timing' | 'clock' | 'presences'>;
  /** Whether the partition has been loaded from the database. */
  readonly isLoaded: () => boolean;
  readonly tell: (message: PartitionMessage) => Promise<PartitionAnswer>;
};

/**
 * Deliveries of the bus on their way to a partition.
 *
 * Modes are those of its backlog (core/backlog.ts). Holding, after an absence: messages wait here
 * unacknowledged, so that they are decided in order (rule 4); early decisions need not wait.
 * Working: they are decided as they come.
 */
export type PartitionDeliveries = Options & {
  backlog: Backlog;
  /** How many holds began. */
  hold: number;
  /** When the last one began, by the clock of results. */
  heldSince: number;
  held: Delivered[];
  /** Of the last hold. */
  early: Early;
  past: Past;
  /** How many flushes are in progress, and how much the bus still has for us. */
  flushing: number;
  pending: number;
  /** Whether the bus is being asked for its pending count. */
  isAsking: boolean;
  /** When the bus was last told that we still work on held messages. */
  extendedAt: number;
  last: Promise<void>;
};

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
 * engine/running.ts) → `stopped`; one that is stopped while it loads is `leaving` until then.
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
   * Checks that the bus has all assignments. A bus that is away is checked again when it is back.
   */
  readonly reconciling: Pump;
  /** There may be lines in the outbox; one read at a time is enough. */
  readonly outbox: Pump;
  readonly ticker: NodeJS.Timeout;
  pull: Pull | undefined;
  /** Settles when it runs, or cannot. */
  began: Promise<void>;
  nextCheckpoint: number;
  restUntil: number;
};

const capacity = 1_000;

export function startPartition({ lease, isTaken, deps, mayWork, onFenced, onGivenUp }: RunningOptions): RunningPartition {
  const { log, timing } = deps;
  const { partition } = lease;
  const actor = createActor<PartitionState, PartitionMessage, PartitionAnswer>(
    createPartition(partition, () => leaseToRead(running), deps),
    {
      capacity,
      onFailure: (error) => {
        if (error instanceof Fenced) onFenced();
      },
      onGivenUp,
      timeoutMs: timing.standstillMs,
    },
  );
  const running: RunningPartition = {
    deps,
    mayWork,
    lease,
    actor,
    mode: 'loading',
    epoch: isTaken ? 'unused' : 'used',
    deliveries: openDeliveries({ partition, deps, isLoaded: () => isLoaded(running), tell: actor.tell }),
    reconciling: createPump({
      once: () => reviewAssignments(running),
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

export function openDeliveries(options: Options): PartitionDeliveries {
  return {
    ...options,
    // A probe that is heard all the while keeps nothing from us, even after a change of owner.
    backlog: beginBacklog(performance.now(), Number.NEGATIVE_INFINITY, options.deps.timing.catchUpMs),
    hold: 0,
    heldSince: options.deps.clock.now(),
    held: [],
    early: noneEarly,
    past: 'unreported',
    flushing: 0,
    pending: 0,
    isAsking: false,
    extendedAt: 0,
    last: Promise.resolve(),
  };
}

function isLoaded({ mode }: RunningPartition): boolean {
  return mode === 'loaded' || mode === 'stopped';
}

async function reviewAssignments(running: RunningPartition): Promise<void> {
  const { deps, lease, mayWork } = running;
  if (deps.bus.isConnected() && isLoaded(running) && mayWork())
    await reconcile(lease.partition, deps, (turn) => reconcileTurn(running, turn));
}

async function reconcileTurn(running: RunningPartition, turn: ReconcileTurn): Promise<ReconcileAnswer> {
  const { partition } = running.lease;
  if (isStopped(running) || !running.mayWork()) throw new Error(`partition ${partition} is not ours any more`);
  const answer = await running.actor.tell({ is: 'reconcile', turn });
  if (answer.is === 'reconciled') return answer;
  throw answer.is === 'failed' ? answer.error : new Error(`partition ${partition} answered ${answer.is}`);
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
    deps.log.error({ err: error, partition: lease.partition, what }, 'a partition failed and starts again from the database');
}

function tick(running: RunningPartition): void {
  const { deps, deliveries, actor, lease, mayWork } = running;
  const { bus, timing, clock, loaded, roster } = deps;
  if (!mayWork()) return;
  const now = performance.now();
  if (now < running.restUntil) return;
  if (tickDeliveries(deliveries, now)) {
    const only = deliveries.early.monitors;
    if (only.size > 0 && actor.waiting() === 0 && bus.isConnected()) void tell(running, { is: 'tick', only });
    return;
  }
  if (!isLoaded(running) || actor.waiting() > 10) return;
  // While the bus is away no probe can be heard, so silence means nothing.
  if (bus.isConnected() && isTickDue(loaded.get(lease.partition), roster(), clock.now())) void tell(running, { is: 'tick' });
  if (now >= running.nextCheckpoint) {
    running.nextCheckpoint = now + timing.checkpointMs;
    void tell(running, { is: 'checkpoint' });
  }
}

const workingEveryMs = 2_000;

/** The work of each tick; returns whether it is holding. */
export function tickDeliveries(deliveries: PartitionDeliveries, now: number): boolean {
  if (isHolding(deliveries)) {
    // A probe may have delivered its backlog without any result for this partition.
    if (deliveries.flushing === 0 && deliveries.held.length > 0) void flush(deliveries);
    if (now - deliveries.extendedAt < workingEveryMs) return true;
    deliveries.extendedAt = now;
    for (const delivered of deliveries.held) delivered.working();
    return true;
  }
  const { held, past, flushing, pending, deps, isLoaded } = deliveries;
  if (held.length > 0) void flush(deliveries);
  else if (!isCaughtUp(deliveries) && isLoaded() && flushing === 0 && pending === 0 && deps.bus.isConnected()) {
    if (past === 'reported') deliveries.past = 'decided';
    else void askBus(deliveries);
  }
  return false;
}

function isHolding(deliveries: PartitionDeliveries): boolean {
  const { backlog: before, held, partition, deps } = deliveries;
  if (before.until === null && !before.spent) return false;
  const now = updateBacklog(before, deps.presences(), performance.now(), (held.at(-1)?.pending ?? 0) > 0);
  deliveries.backlog = now;
  if (now.spent && !before.spent) deps.log.warn({ partition }, 'not all probes handed over in time; what came is decided without them');
  return now.until !== null;
}

/** One after the other, so that held messages go before later ones. */
function flush(deliveries: PartitionDeliveries): Promise<void> {
  deliveries.flushing += 1;
  deliveries.last = deliveries.last
    .then(() => work(deliveries))
    .finally(() => {
      deliveries.flushing -= 1;
    });
  return deliveries.last;
}

const maxHeld = 200;

async function work(deliveries: PartitionDeliveries): Promise<void> {
  if (isHolding(deliveries) && deliveries.held.length < maxHeld) return decideEarly(deliveries);
  const { held: taken, backlog: before, partition, deps, tell } = deliveries;
  deliveries.held = [];
  deliveries.early = noneEarly;
  if (taken.length === 0) return;
  try {
    const answer = await tell({ is: 'deliveries', deliveries: taken, backlog: before });
    if (answer.is !== 'waits') return;
    const { since, from } = answer;
    // If the bus was away in between, a hold has begun that contains these.
    if (deliveries.backlog === before) hold(deliveries, since);
    deliveries.held = [...taken, ...deliveries.held];
    const age_ms = Math.round(performance.now() - since);
    deps.log.debug({ partition, from, age_ms }, 'what was kept is handed over; those who may keep as much are waited for');
    await decideEarly(deliveries);
  } catch (error) {
    for (const delivered of taken) delivered.nak(200);
    deps.log.error({ err: error, partition, messages: taken.length }, 'results could not be worked on; they come again');
  }
}

/** Tells the partition what is held: it decides what need not wait. */
async function decideEarly(deliveries: PartitionDeliveries): Promise<void> {
  const { backlog, hold, heldSince: since, held, early: before, pending, partition, deps, isLoaded, tell } = deliveries;
  if (!isLoaded() || backlog.until === null || before.isOff) return;
  const awaited = awaitedBy(backlog.since, before.awaited, deps.presences(), performance.now(), pending > 0);
  const isFewer = before.awaited === undefined || before.awaited.keys().some((probe) => !awaited.has(probe));
  const hasMore = held.length > before.taken;
  deliveries.early = { ...before, awaited, taken: held.length };
  if (!hasMore && !(isFewer && before.areOthersWaiting)) return;
  const message = { is: 'waiting', hold, since, deliveries: [...held], awaited: new Set(awaited.keys()), isFewer } as const;
  const answer = await tell(message).catch((error: unknown) => {
    // Results that cannot be processed would fail each time. They are found and set aside when the
    // hold ends; until then all results wait.
    if (deliveries.hold === hold) deliveries.early = isPassing(error) ? noneEarly : { ...deliveries.early, isOff: true };
    if (!(error instanceof Fenced))
      deps.log.error({ err: error, partition }, 'what waits could not be looked at; it is decided with the rest');
    return undefined;
  });
  // If the bus was away in between, another hold has begun.
  if (answer?.is !== 'early' || deliveries.hold !== hold) return;
  const { monitors, areOthersWaiting } = answer;
  deliveries.early = { ...deliveries.early, monitors, areOthersWaiting };
}

/** Part of the past is awaited again. */
const behindAgain: Readonly<Record<Past, Past>> = {
  unreported: 'unreported',
  reported: 'reported',
  decided: 'reported',
  'cut off': 'unreported',
};

function hold(deliveries: PartitionDeliveries, since: number): void {
  const { bus, clock, timing } = deliveries.deps;
  deliveries.backlog = beginBacklog(performance.now(), since, timing.catchUpMs);
  deliveries.hold += 1;
  deliveries.heldSince = clock.now();
  // While the bus is away, the last decisions remain the best knowledge.
  if (bus.isConnected()) deliveries.past = behindAgain[deliveries.past];
  // A probe that was no longer awaited may be awaited again.
  deliveries.early = noneEarly;
}

/** Whether all kept results have been decided since the past was last awaited. */
export function isCaughtUp({ past }: PartitionDeliveries): boolean {
  return past === 'decided' || past === 'cut off';
}

/** The bus has reported what it has. */
const afterReport: Readonly<Record<Past, Past>> = {
  unreported: 'reported',
  reported: 'reported',
  decided: 'decided',
  'cut off': 'decided',
};

/** No message has come: either there is none, or it is on its way. */
async function askBus(deliveries: PartitionDeliveries): Promise<void> {
  if (deliveries.isAsking) return;
  deliveries.isAsking = true;
  const { hold, partition, deps } = deliveries;
  const left = await deps.bus.consumerState(streams.results.name, partitionConsumer(partition).name).catch((error: unknown) => {
    deps.log.debug({ err: error, partition }, 'what the bus has left for a partition could not be asked; it is asked again');
    return undefined;
  });
  if (left?.pending === 0 && left.unacknowledged === 0 && hold === deliveries.hold) deliveries.past = afterReport[deliveries.past];
  deliveries.isAsking = false;
}

function tell(running: RunningPartition, message: PartitionMessage): Promise<unknown> {
  return running.actor.tell(message).catch((error: unknown) => failed(running, message.is, error));
}

const pollBatch = 16;

async function begin(running: RunningPartition): Promise<void> {
  const { deps, actor, deliveries, mayWork } = running;
  const { bus, log, loaded } = deps;
  const { partition } = running.lease;
  const consumer = partitionConsumer(partition);
  // Messages that an owner before us still holds come back at once, and its pulls end.
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
}

const afterLoading = { loading: 'loaded', leaving: 'stopped' } as const;

function becomeLoaded(running: RunningPartition): void {
  const { mode, lease } = running;
  if (mode !== 'loading' && mode !== 'leaving') throw new Error(`partition ${lease.partition} is ${mode}, and was read again`);
  running.mode = afterLoading[mode];
}

/** Settles when these messages have been processed, or wait. */
export function takeMessages(deliveries: PartitionDeliveries, messages: readonly Delivered[]): Promise<void> {
  deliveries.held.push(...messages);
  deliveries.pending = messages.at(-1)?.pending ?? deliveries.pending;
  if (messages.length > 0) deliveries.past = afterReport[deliveries.past];
  return flush(deliveries);
}

/** Settles when all earlier messages have been processed, and rejects when they cannot be. */
export async function passThrough({ began, actor }: RunningPartition): Promise<void> {
  await began;
  await actor.tell({ is: 'warm' });
}

/** What is known of its past, for its alerts. */
export const backlogStateOf = ({ lease, deliveries }: RunningPartition): PartitionBacklog => ({
  lease,
  isCaughtUp: isCaughtUp(deliveries),
  isDecidedEarly: (monitor) => deliveries.early.monitors.has(monitor),
});

/**
 * Takes no more messages, finishes those that it has, and leaves a checkpoint if we still own the
 * lease.
 */
export async function stopPartition(running: RunningPartition, leaveCheckpoint: boolean): Promise<void> {
  const { outbox, reconciling, ticker, deliveries, actor, deps } = running;
  becomeStopped(running);
  outbox.stop();
  reconciling.stop();
  clearInterval(ticker);
  await running.began;
  await running.pull?.stop();
  await closeDeliveries(deliveries);
  if (leaveCheckpoint && isLoaded(running)) await tell(running, { is: 'checkpoint' });
  await actor.close();
  // An actor that just failed has discarded its state and closes nothing; its entry in the counts
  // must go all the same.
  const { partition } = running.lease;
  if (deps.loaded.get(partition)?.lease === running.lease) deps.loaded.delete(partition);
}

const afterStop = { loading: 'leaving', loaded: 'stopped' } as const;

function becomeStopped(running: RunningPartition): void {
  const { mode, lease } = running;
  if (mode !== 'loading' && mode !== 'loaded') throw new Error(`partition ${lease.partition} is ${mode}, and was stopped again`);
  running.mode = afterStop[mode];
}

/** What is held goes back to the bus. */
export async function closeDeliveries(deliveries: PartitionDeliveries): Promise<void> {
  giveBack(deliveries);
  await deliveries.last;
  // Results that were left to wait for other probes.
  giveBack(deliveries);
}

function giveBack({ held }: PartitionDeliveries): void {
  for (const delivered of held.splice(0)) delivered.nak(0);
}

/** The bus was away, and still is or has just returned. */
const whileAway: Readonly<Record<Past, Past>> = {
  unreported: 'unreported',
  reported: 'unreported',
  decided: 'cut off',
  'cut off': 'cut off',
};

/** The bus was away: what comes now may be of the past. */
export function holdAgain(deliveries: PartitionDeliveries): void {
  deliveries.past = whileAway[deliveries.past];
  hold(deliveries, performance.now());
}
