import { type Actor, createActor, createPump, type Pump } from '../../shared/actor/mailbox.ts';
import type { Delivered, Pull } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import { type Awaited, awaitedBy, type Backlog, beginBacklog, goOn } from '../core/backlog.ts';
import { isPassing } from '../database/connect.ts';
import type { Known } from '../notifications/release.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { createWaitingQueue, type WaitingQueue } from './early-decisions.ts';
import type { PartitionAnswer, PartitionMessage } from './messages.ts';
import { createPartition, isTickDue } from './partition.ts';
import { Fenced, type Lease, renewEpoch } from './queries.ts';
import { type ReconcileAnswer, type ReconcileTurn, reconcile } from './reconcile.ts';
import type { PartitionState } from './state.ts';

/**
 * How far the past of a partition is decided, since it was last awaited.
 *
 * Modes: `untold` (the bus has not reported what it has for us, so an empty queue proves nothing) →
 * `told` → `decided`; `cut off` (it was decided when the bus went away, and nothing newer is
 * known). Each absence of the bus leads back to `untold` or `cut off`, a backlog of a probe to
 * `told` or `untold`.
 */
type Past = 'untold' | 'told' | 'decided' | 'cut off';

/**
 * Waiting results that were shown to the partition, because some of them need not wait (rule 4).
 */
type Shown = {
  readonly room: WaitingQueue;
  /** How many of the held results were shown; infinity once they cannot be. */
  taken: number;
  /** The probes that were awaited at that time; undefined before the first time. */
  awaited: Awaited | undefined;
};

type Options = {
  readonly partition: number;
  readonly parts: Pick<PartitionDependencies, 'bus' | 'log' | 'timing' | 'clock' | 'words'>;
  /** Whether the partition has been loaded from the database. */
  readonly isLoaded: () => boolean;
  readonly tell: (message: PartitionMessage) => Promise<PartitionAnswer>;
};

/**
 * Deliveries of the bus on their way to a partition.
 *
 * Modes: `open` → `closed` (what waited goes back to the bus). While it is open, `handover` says
 * whether it is holding or working. Holding (after an absence): kept results wait here
 * unacknowledged, so that they are decided in order (rule 4); early decisions need not wait.
 * Working: results are decided as they come.
 */
export type PartitionDeliveries = Options & {
  mode: 'open' | 'closed';
  handover: Backlog;
  /** Since when it is holding, by the clock of results. */
  heldSince: number;
  held: Delivered[];
  past: Past;
  /** How often the bus was away. */
  absences: number;
  shown: Shown | undefined;
  /** How many flushes are in progress, and how much the bus still has for us. */
  handing: number;
  pending: number;
  /** Whether the bus is being asked for its pending count. */
  isAsking: boolean;
  /** When the bus was last told that we still work on held messages. */
  workingSaidAt: number;
  last: Promise<void>;
};

type RunningOptions = {
  readonly lease: Lease;
  /** Newly taken: nothing was ever sent under its epoch. */
  readonly isTaken: boolean;
  readonly parts: PartitionDependencies;
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
export type RunningPartition = Pick<RunningOptions, 'parts' | 'mayWork'> & {
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

export function startPartition({ lease, isTaken, parts, mayWork, onFenced, onGivenUp }: RunningOptions): RunningPartition {
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
    running.lease = await renewEpoch(running.parts.sql, running.lease).finally(() => {
      running.epoch = 'used';
    });
  }
  running.epoch = 'used';
  return running.lease;
}

export function openDeliveries(options: Options): PartitionDeliveries {
  return {
    ...options,
    mode: 'open',
    // A probe that is heard all the while keeps nothing from us, even after a change of owner.
    handover: beginBacklog(performance.now(), Number.NEGATIVE_INFINITY, options.parts.timing.catchUpMs),
    heldSince: options.parts.clock.now(),
    held: [],
    past: 'untold',
    ...{ absences: 0, handing: 0, pending: 0, workingSaidAt: 0 },
    shown: undefined,
    isAsking: false,
    last: Promise.resolve(),
  };
}

function isLoaded({ mode }: RunningPartition): boolean {
  return mode === 'loaded' || mode === 'stopped';
}

async function reviewAssignments(running: RunningPartition): Promise<void> {
  const { parts, lease, mayWork } = running;
  if (parts.bus.isConnected() && isLoaded(running) && mayWork())
    await reconcile(lease.partition, parts, (turn) => reconcileTurn(running, turn));
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
  const { parts, lease } = running;
  if (!isStopped(running) && !(error instanceof Fenced))
    parts.log.error({ err: error, partition: lease.partition, what }, 'a partition failed and starts again from the database');
}

function tick(running: RunningPartition): void {
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
  // While the bus is away no probe can be heard, so silence means nothing.
  if (bus.isConnected() && isTickDue(loaded.get(lease.partition), roster(), clock.now())) void tell(running, { is: 'tick' });
  if (now >= running.nextCheckpoint) {
    running.nextCheckpoint = now + timing.checkpointMs;
    void tell(running, { is: 'checkpoint' });
  }
}

const workingEveryMs = 2_000;

/** The work of each tick; returns whether it is holding. */
export function goOnWith(deliveries: PartitionDeliveries, now: number): boolean {
  if (isHolding(deliveries)) {
    // A probe may have delivered its backlog without any result for this partition.
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
}

function isHolding(deliveries: PartitionDeliveries): boolean {
  const { handover: before, held, partition, parts } = deliveries;
  if (before.until === null && !before.spent) return false;
  const now = goOn(before, parts.words(), performance.now(), (held.at(-1)?.pending ?? 0) > 0);
  deliveries.handover = now;
  if (now.spent && !before.spent) parts.log.warn({ partition }, 'not all probes handed over in time; what came is decided without them');
  return now.until !== null;
}

/** One after the other, so that held messages go before later ones. */
function hand(deliveries: PartitionDeliveries): Promise<void> {
  deliveries.handing += 1;
  deliveries.last = deliveries.last
    .then(() => work(deliveries))
    .finally(() => {
      deliveries.handing -= 1;
    });
  return deliveries.last;
}

const maxHeld = 200;

async function work(deliveries: PartitionDeliveries): Promise<void> {
  if (isHolding(deliveries) && deliveries.held.length < maxHeld) return decideWaiting(deliveries);
  const { held: taken, handover: before, partition, parts, tell } = deliveries;
  deliveries.held = [];
  deliveries.shown = undefined;
  if (taken.length === 0) return;
  try {
    const answer = await tell({ is: 'deliveries', deliveries: taken, handover: before });
    if (answer.is !== 'waits') return;
    const { since, from } = answer;
    // If the bus was away in between, a hold has begun that contains these.
    if (deliveries.handover === before) hold(deliveries, since);
    deliveries.held = [...taken, ...deliveries.held];
    const age_ms = Math.round(performance.now() - since);
    parts.log.debug({ partition, from, age_ms }, 'what was kept is handed over; those who may keep as much are waited for');
    await decideWaiting(deliveries);
  } catch (error) {
    for (const delivered of taken) delivered.nak(200);
    parts.log.error({ err: error, partition, messages: taken.length }, 'results could not be worked on; they come again');
  }
}

/** Shows the waiting results to the partition. */
async function decideWaiting(deliveries: PartitionDeliveries): Promise<void> {
  const { handover, held, pending, partition, parts, isLoaded, tell } = deliveries;
  if (!isLoaded() || handover.until === null) return;
  deliveries.shown ??= { room: createWaitingQueue(deliveries.heldSince), taken: 0, awaited: undefined };
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
    // Results that cannot be processed would fail each time. They are found and set aside when the
    // hold ends; until then all results wait.
    if (!isPassing(error)) mine.taken = Number.POSITIVE_INFINITY;
    else if (deliveries.shown === mine) deliveries.shown = undefined;
    if (!(error instanceof Fenced))
      parts.log.error({ err: error, partition }, 'what waits could not be looked at; it is decided with the rest');
  });
}

/** Part of the past is awaited again. */
const behindAgain: Readonly<Record<Past, Past>> = { untold: 'untold', told: 'told', decided: 'told', 'cut off': 'untold' };

function hold(deliveries: PartitionDeliveries, since: number): void {
  const { bus, clock, timing } = deliveries.parts;
  deliveries.handover = beginBacklog(performance.now(), since, timing.catchUpMs);
  deliveries.heldSince = clock.now();
  // While the bus is away, the last decisions remain the best knowledge.
  if (bus.isConnected()) deliveries.past = behindAgain[deliveries.past];
  // Reset and rebuilt from the queue: a probe that was no longer awaited may be awaited again.
  deliveries.shown = undefined;
}

/** Whether all kept results have been decided since the past was last awaited. */
export function isCaughtUp({ past }: PartitionDeliveries): boolean {
  return past === 'decided' || past === 'cut off';
}

/** The bus has reported what it has. */
const afterWord: Readonly<Record<Past, Past>> = { untold: 'told', told: 'told', decided: 'decided', 'cut off': 'decided' };

/** No message has come: either there is none, or it is on its way. */
async function askBus(deliveries: PartitionDeliveries): Promise<void> {
  if (deliveries.isAsking) return;
  deliveries.isAsking = true;
  const { absences, partition, parts } = deliveries;
  const left = await parts.bus.consumerState(streams.results.name, partitionConsumer(partition).name).catch((error: unknown) => {
    parts.log.debug({ err: error, partition }, 'what the bus has left for a partition could not be asked; it is asked again');
    return undefined;
  });
  if (left?.pending === 0 && left.unacknowledged === 0 && absences === deliveries.absences) deliveries.past = afterWord[deliveries.past];
  deliveries.isAsking = false;
}

/** The monitors with early decisions, while other results wait. */
export function aheadOf({ shown }: PartitionDeliveries): ReadonlySet<string> | undefined {
  return shown?.room.ahead;
}

function tell(running: RunningPartition, message: PartitionMessage): Promise<unknown> {
  return running.actor.tell(message).catch((error: unknown) => failed(running, message.is, error));
}

const pollBatch = 16;

async function begin(running: RunningPartition): Promise<void> {
  const { parts, actor, deliveries, mayWork } = running;
  const { bus, log, loaded } = parts;
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
  assertOpen(deliveries);
  deliveries.held.push(...messages);
  deliveries.pending = messages.at(-1)?.pending ?? deliveries.pending;
  if (messages.length > 0) deliveries.past = afterWord[deliveries.past];
  return hand(deliveries);
}

function assertOpen({ mode, partition }: PartitionDeliveries): void {
  if (mode !== 'open') throw new Error(`the deliveries of partition ${partition} are ${mode}, and take nothing more`);
}

/** Settles when all earlier messages have been processed, and rejects when they cannot be. */
export async function passThrough({ began, actor }: RunningPartition): Promise<void> {
  await began;
  await actor.tell({ is: 'warm' });
}

/** What is known of its past, for its alerts. */
export const knownOf = ({ lease, deliveries }: RunningPartition): Known => ({
  lease,
  isCaughtUp: isCaughtUp(deliveries),
  isAhead: (monitor) => aheadOf(deliveries)?.has(monitor) === true,
});

/**
 * Takes no more messages, finishes those that it has, and leaves a checkpoint if we still own the
 * lease.
 */
export async function stopPartition(running: RunningPartition, leaveCheckpoint: boolean): Promise<void> {
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
  // An actor that just failed has discarded its state and closes nothing; its entry in the counts
  // must go all the same.
  const { partition } = running.lease;
  if (parts.loaded.get(partition)?.lease === running.lease) parts.loaded.delete(partition);
}

const afterStop = { loading: 'leaving', loaded: 'stopped' } as const;

function becomeStopped(running: RunningPartition): void {
  const { mode, lease } = running;
  if (mode !== 'loading' && mode !== 'loaded') throw new Error(`partition ${lease.partition} is ${mode}, and was stopped again`);
  running.mode = afterStop[mode];
}

export async function closeDeliveries(deliveries: PartitionDeliveries): Promise<void> {
  assertOpen(deliveries);
  deliveries.mode = 'closed';
  giveBack(deliveries);
  await deliveries.last;
  // Results that were left to wait for other probes.
  giveBack(deliveries);
}

function giveBack({ held }: PartitionDeliveries): void {
  for (const delivered of held.splice(0)) delivered.nak(0);
}

/** The bus was away, and still is or has just returned. */
const whileAway: Readonly<Record<Past, Past>> = { untold: 'untold', told: 'untold', decided: 'cut off', 'cut off': 'cut off' };

/** The bus was away: what comes now may be of the past. */
export function holdAgain(deliveries: PartitionDeliveries): void {
  deliveries.absences += 1;
  deliveries.past = whileAway[deliveries.past];
  hold(deliveries, performance.now());
}
