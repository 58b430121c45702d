import type { Delivered } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import { type Backlog, beginBacklog, updateBacklog } from '../core/backlog.ts';
import { isTransient } from '../database/connect.ts';
import type { PartitionDependencies } from './dependencies.ts';
import type { PartitionAnswer, PartitionMessage } from './messages.ts';

type Options = {
  readonly partition: number;
  readonly deps: Pick<PartitionDependencies, 'bus' | 'log' | 'timing' | 'presences'>;
  /** Whether the partition has been loaded from the database. */
  readonly isLoaded: () => boolean;
  readonly ask: (message: PartitionMessage) => Promise<PartitionAnswer>;
};

/**
 * Deliveries of the bus on their way to a partition.
 *
 * While its backlog is held after an absence (core/backlog.ts), messages wait here unacknowledged,
 * so that they are decided in order (rule 4). Otherwise they are decided as they come.
 */
export type PartitionDeliveries = Options & {
  backlog: Backlog;
  /** How many holds began. */
  hold: number;
  held: Delivered[];
  /** When what the database did not take is tried again; null: it took everything. */
  retryAt: number | null;
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

/**
 * How far the past of a partition is decided, since it was last awaited.
 *
 * Modes: `unreported` (the bus has not reported what it has for us, so an empty queue proves
 * nothing) → `reported` → `decided`; `cut off` (it was decided when the bus went down, and nothing
 * newer is known). Each absence of the bus leads back to `unreported` or `cut off`, a backlog of a
 * probe to `reported` or `unreported`.
 */
type Past = 'unreported' | 'reported' | 'decided' | 'cut off';

export function openDeliveries(options: Options): PartitionDeliveries {
  return {
    ...options,
    // A probe that is heard all the while keeps nothing from us, even after a change of owner.
    backlog: beginBacklog(
      performance.now(),
      Number.NEGATIVE_INFINITY,
      options.deps.timing.catchUpMs,
    ),
    hold: 0,
    held: [],
    retryAt: null,
    past: 'unreported',
    flushing: 0,
    pending: 0,
    isAsking: false,
    extendedAt: 0,
    last: Promise.resolve(),
  };
}

/** Settles when these messages have been processed, or wait. */
export function takeMessages(
  deliveries: PartitionDeliveries,
  messages: readonly Delivered[],
): Promise<void> {
  deliveries.held.push(...messages);
  deliveries.pending = messages.at(-1)?.pending ?? deliveries.pending;
  if (messages.length > 0) deliveries.past = afterReport[deliveries.past];
  return flush(deliveries);
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
const retryMs = 200;

async function work(deliveries: PartitionDeliveries): Promise<void> {
  if (performance.now() < (deliveries.retryAt ?? 0)) return;
  if (isHolding(deliveries) && deliveries.held.length < maxHeld) return;
  const { held: taken, backlog: before, partition, deps, ask } = deliveries;
  deliveries.held = [];
  if (taken.length === 0) {
    deliveries.retryAt = null;
    return;
  }
  try {
    const answer = await ask({ is: 'deliveries', deliveries: taken, backlog: before });
    deliveries.retryAt = null;
    if (answer.is !== 'waits') return;
    const { since, from } = answer;
    // If the bus was down in between, a hold has begun that contains these.
    if (deliveries.backlog === before) hold(deliveries, since);
    deliveries.held = [...taken, ...deliveries.held];
    const age_ms = Math.round(performance.now() - since);
    deps.log.debug(
      { partition, from, age_ms },
      'sent the backlog; waiting for others who may have one',
    );
  } catch (error) {
    // Given back to the bus, they would come again one after the other, behind newer ones: what a
    // place saw would be decided before what another saw before it.
    if (isTransient(error)) {
      deliveries.held = [...taken, ...deliveries.held];
      deliveries.retryAt = performance.now() + retryMs;
    } else for (const delivered of taken) delivered.nak(retryMs);
    deps.log.error(
      { err: error, partition, messages: taken.length },
      'could not process results; retrying',
    );
  }
}

function isHolding(deliveries: PartitionDeliveries): boolean {
  const { backlog: before, held, partition, deps } = deliveries;
  if (before.until === null && !before.spent) return false;
  const now = updateBacklog(
    before,
    deps.presences(),
    performance.now(),
    (held.at(-1)?.pending ?? 0) > 0,
  );
  deliveries.backlog = now;
  if (now.spent && !before.spent)
    deps.log.warn(
      { partition },
      'not all probes sent their backlog in time; deciding without them',
    );
  return now.until !== null;
}

function hold(deliveries: PartitionDeliveries, since: number): void {
  const { bus, timing } = deliveries.deps;
  deliveries.backlog = beginBacklog(performance.now(), since, timing.catchUpMs);
  deliveries.hold += 1;
  // While the bus is down, the last decisions remain the best knowledge.
  if (bus.isConnected()) deliveries.past = behindAgain[deliveries.past];
}

/** Part of the past is awaited again. */
const behindAgain: Readonly<Record<Past, Past>> = {
  unreported: 'unreported',
  reported: 'reported',
  decided: 'reported',
  'cut off': 'unreported',
};

/** The bus has reported what it has. */
const afterReport: Readonly<Record<Past, Past>> = {
  unreported: 'reported',
  reported: 'reported',
  decided: 'decided',
  'cut off': 'decided',
};

/** The bus was down, and still is or has just returned. */
const whileDown: Readonly<Record<Past, Past>> = {
  unreported: 'unreported',
  reported: 'unreported',
  decided: 'cut off',
  'cut off': 'cut off',
};

/** The work of each tick; returns whether what is known of now must wait for what is held. */
export function tickDeliveries(deliveries: PartitionDeliveries, now: number): boolean {
  if (isHolding(deliveries) || deliveries.retryAt !== null) {
    // A probe may have delivered its backlog without any result for this partition.
    if (deliveries.flushing === 0 && deliveries.held.length > 0) void flush(deliveries);
    if (now - deliveries.extendedAt < workingEveryMs) return true;
    deliveries.extendedAt = now;
    for (const delivered of deliveries.held) delivered.working();
    return true;
  }
  const { held, past, flushing, pending, deps, isLoaded } = deliveries;
  if (held.length > 0) void flush(deliveries);
  else if (
    !isCaughtUp(deliveries) &&
    isLoaded() &&
    flushing === 0 &&
    pending === 0 &&
    deps.bus.isConnected()
  ) {
    if (past === 'reported') deliveries.past = 'decided';
    else void askBus(deliveries);
  }
  return false;
}

const workingEveryMs = 2_000;

/** Whether all kept results have been decided since the past was last awaited. */
export function isCaughtUp({ past }: PartitionDeliveries): boolean {
  return past === 'decided' || past === 'cut off';
}

/** No message has come: either there is none, or it is on its way. */
async function askBus(deliveries: PartitionDeliveries): Promise<void> {
  if (deliveries.isAsking) return;
  deliveries.isAsking = true;
  const { hold, partition, deps } = deliveries;
  const left = await deps.bus
    .consumerState(streams.results.name, partitionConsumer(partition).name)
    .catch((error: unknown) => {
      deps.log.debug(
        { err: error, partition },
        'could not read the pending messages of a partition; retrying',
      );
      return undefined;
    });
  if (left?.pending === 0 && left.unacknowledged === 0 && hold === deliveries.hold)
    deliveries.past = afterReport[deliveries.past];
  deliveries.isAsking = false;
}

/** The bus was down: what comes now may be of the past. */
export function holdAfterReconnect(deliveries: PartitionDeliveries): void {
  deliveries.past = whileDown[deliveries.past];
  hold(deliveries, performance.now());
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
