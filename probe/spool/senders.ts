import { createPump, type Pump } from '../../shared/actor/pump.ts';
import { backoff } from '../../shared/base/async.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import { batchText } from '../../shared/bus/batch.ts';
import { signaturesOf } from '../../shared/bus/identity.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import { partitionCount, subjects } from '../../shared/bus/subjects.ts';
import type { TakenResults } from './segments.ts';
import type { Spool } from './store.ts';

/**
 * Whether anything may be sent: there is a bus, and it did not refuse lately.
 *
 * It rests after a refusal, ever longer.
 */
export type ReporterGate = {
  readonly attach: (bus: Bus) => void;
  /** There is a new connection: earlier refusals do not count. */
  readonly opened: () => void;
  /** The bus, if anything may be sent now. */
  readonly open: () => Bus | undefined;
  readonly accepted: () => void;
  readonly refused: (error: unknown, partition: number) => void;
};

export function createReporterGate(log: Log): ReporterGate {
  let bus: Bus | undefined;
  let failures = 0;
  let retryAt = 0;
  const isResting = (): boolean => now() < retryAt;
  return {
    attach: (to) => {
      bus = to;
    },
    opened: () => {
      failures = 0;
      retryAt = 0;
    },
    open: () => (bus?.isConnected() && !isResting() ? bus : undefined),
    accepted: () => {
      failures = 0;
    },
    refused: (error, partition) => {
      if (isResting()) return;
      failures += 1;
      retryAt = now() + backoff(failures, 100, 10_000);
      log.warn({ err: error, partition, failures }, 'could not send results to the bus; they wait');
    },
  };
}

function now(): number {
  return performance.now();
}

/**
 * How far one partition has been sent. Pure: the reporter acts on it.
 *
 * A batch that does not land in the stream, a gap that the coordinator reports, and a commit that
 * never comes reset the partition to its last safe position.
 */
export type Flight = { readonly before: number; readonly last: number };

export type Route = {
  /** The last number that was sent. */
  readonly sent: number;
  readonly flights: readonly Flight[];
  /** Since when something waits to be sent; undefined when nothing is known to wait. */
  readonly waitingSince: number | undefined;
  readonly rewoundAt: number;
  readonly rewindAsked: boolean;
  /** Since when the oldest sent result has not been committed. */
  readonly outstandingSince: number | undefined;
  readonly patienceMs: number;
};

export function askedToRewind(route: Route): Route {
  return { ...route, rewindAsked: true };
}

/** The sender of one partition. */
export type PartitionSender = { readonly partition: number; route: Route; readonly pump: Pump };

/** The partitions, and what sends their waiting results. */
export type Senders = {
  readonly senders: readonly PartitionSender[];
  /**
   * Resets what must be sent again: partitions with a reported gap, and results never committed
   * although a coordinator is there.
   */
  readonly look: (at: number, isHeard: boolean) => void;
  /** There is a new connection. */
  readonly resend: () => void;
  readonly commit: (committed: Readonly<Record<string, number>>) => void;
  /** Sends what can be sent now, and settles when it has landed, or could not land for a while. */
  readonly close: () => Promise<void>;
};

export type SendersOptions = {
  readonly probe: string;
  readonly continent: Continent;
  readonly key: Key;
  readonly spool: Spool;
  /**
   * How long a sent result may stay uncommitted while a coordinator is there, before it is sent
   * again.
   */
  readonly patienceMs?: number;
  readonly log: Log;
};

/**
 * A coordinator holds back what it stores for up to 30 s after an absence (rule 4). After more than
 * that, the bus must have lost it.
 */
const defaultTimeoutMs = 40_000;
const closingMs = 2_000;

export function createSenders(
  { probe, continent, key, spool, patienceMs = defaultTimeoutMs, log }: SendersOptions,
  gate: ReporterGate,
): Senders {
  const departures = createDepartures(key);

  const rewind = (sender: PartitionSender): void => {
    const back = rewoundTo(sender.route, spool.committedOf(sender.partition), now());
    if (!back) return;
    sender.route = back;
    void sender.pump.run();
  };

  const onLanded = (sender: PartitionSender, flight: Flight): void => {
    sender.route = landed(sender.route, flight);
    gate.accepted();
    void sender.pump.resume();
  };

  const onFailed = (sender: PartitionSender, flight: Flight, error: unknown): void => {
    const back = failed(sender.route, flight);
    if (!back) return;
    sender.route = back;
    gate.refused(error, sender.partition);
  };

  const send = (
    through: Bus,
    sender: PartitionSender,
    { after, last, texts }: TakenResults,
  ): void => {
    const { partition } = sender;
    const body = Buffer.from(
      batchText({ probe, generation: spool.generation, partition, after }, texts),
    );
    const { route, flight } = left(sender.route, last, now());
    sender.route = route;
    departures
      .store(through, subjects.result(continent, partition, probe), body)
      .then(() => onLanded(sender, flight))
      .catch((error: unknown) => onFailed(sender, flight, error));
  };

  /** Sends all that waits of a partition, as far as possible. */
  const pumpOnce = async (sender: PartitionSender): Promise<void> => {
    sender.route = taken(sender.route);
    await spool.save();
    for (;;) {
      if (!mayLeave(sender.route)) return sender.pump.askAgain();
      const from = sender.route.sent;
      const next = await spool.take(sender.partition, from);
      if (!next) return;
      const through = gate.open();
      if (!through) {
        sender.route = dueNow(sender.route);
        return;
      }
      // If the partition was reset during the read, these are not the next results.
      if (sender.route.sent === from) send(through, sender, next);
    }
  };

  const senders: readonly PartitionSender[] = Array.from(
    { length: partitionCount },
    (_, partition) => {
      const sender: PartitionSender = {
        partition,
        route: newRoute(patienceMs),
        pump: createPump({
          once: () => pumpOnce(sender),
          may: () => mayLeave(sender.route),
          onFailure: (error) => {
            sender.route = came(sender.route, now());
            log.error({ err: error, partition }, 'could not read results from the spool');
          },
        }),
      };
      return sender;
    },
  );

  return {
    senders,
    look: (at, isHeard) => {
      for (const sender of senders) {
        if (isRewindDue(sender.route, at)) {
          sender.route = { ...sender.route, rewindAsked: false };
          rewind(sender);
        }
        if (!isHeard || !isLost(sender.route, at)) continue;
        const { partition } = sender;
        const { sent } = sender.route;
        log.warn(
          { partition, committed: spool.committedOf(partition), sent },
          'sent results were never committed; sending them again',
        );
        sender.route = afterLoss(sender.route);
        rewind(sender);
      }
    },
    resend: () => {
      for (const sender of senders) {
        sender.route = reconnected(sender.route, now());
        if (spool.nextAfter(sender.partition, sender.route.sent) !== undefined)
          void sender.pump.run();
      }
    },
    commit: (committed) => {
      const before = senders.map(({ partition }) => spool.committedOf(partition));
      spool.commit(committed);
      for (const sender of senders) {
        const mark = spool.committedOf(sender.partition);
        if (mark !== before[sender.partition])
          sender.route = committedUpTo(sender.route, mark, now(), patienceMs);
      }
    },
    close: async () => {
      if (gate.open()) {
        await Promise.all(senders.map(({ pump }) => pump.run()));
        const patience = now() + closingMs;
        while (senders.some(({ route }) => route.flights.length > 0) && now() < patience)
          await new Promise((resolve) => setTimeout(resolve, 20));
      }
      for (const { pump } of senders) pump.stop();
    },
  };
}

/**
 * Batches about to leave: those that leave at the same moment are signed together.
 *
 * Everything else of this turn of the loop joins the first.
 */
type Departures = {
  /** Settles when the stream has it. */
  readonly store: (through: Bus, subject: string, body: Uint8Array) => Promise<unknown>;
};

type Waiting = {
  readonly body: Uint8Array;
  readonly go: (headers: Parameters<Bus['publish']>[2]) => void;
};

function createDepartures(key: Key): Departures {
  let gathered: Waiting[] = [];

  const leave = (): void => {
    const leaving = gathered;
    gathered = [];
    const signed = signaturesOf(
      [key],
      leaving.map(({ body }) => body),
    );
    for (const [nth, { go }] of leaving.entries()) go(signed[nth]);
  };

  return {
    store: (through, subject, body) =>
      new Promise((resolve) => {
        if (gathered.length === 0) setImmediate(leave);
        gathered.push({
          body,
          go: (headers) =>
            resolve(through.store(subject, body, headers === undefined ? {} : { headers })),
        });
      }),
  };
}

/** Sends again from the committed position. Undefined when nothing beyond it was sent. */
export function rewoundTo(route: Route, committed: number, at: number): Route | undefined {
  return route.sent <= committed ? undefined : dueNow({ ...route, sent: committed, rewoundAt: at });
}

const longAgo = Number.NEGATIVE_INFINITY;

/** It could not be sent now, and is due with the next turn. */
export function dueNow(route: Route): Route {
  return { ...route, waitingSince: longAgo };
}

export function landed(route: Route, flight: Flight): Route {
  return { ...route, flights: without(route, flight) };
}

function without({ flights }: Route, flight: Flight): readonly Flight[] {
  return flights.filter((other) => other !== flight);
}

/** Undefined when the flight was already abandoned with its connection. */
export function failed(route: Route, flight: Flight): Route | undefined {
  return route.flights.includes(flight)
    ? dueNow({
        ...route,
        flights: without(route, flight),
        sent: Math.min(route.sent, flight.before),
      })
    : undefined;
}

export function left(
  route: Route,
  last: number,
  at: number,
): { readonly route: Route; readonly flight: Flight } {
  const flight = { before: route.sent, last };
  const outstandingSince = route.outstandingSince ?? at;
  return {
    route: { ...route, flights: [...route.flights, flight], sent: last, outstandingSince },
    flight,
  };
}

/** All that waits is being sent, as far as possible. */
export function taken(route: Route): Route {
  return { ...route, waitingSince: undefined };
}

export const maxFlights = 4;

export function mayLeave({ flights }: Route): boolean {
  return flights.length < maxFlights;
}

export function newRoute(patienceMs: number): Route {
  return {
    sent: 0,
    flights: [],
    waitingSince: undefined,
    rewoundAt: longAgo,
    rewindAsked: false,
    outstandingSince: undefined,
    patienceMs,
  };
}

/** A result came. */
export function came(route: Route, at: number): Route {
  return route.waitingSince === undefined ? { ...route, waitingSince: at } : route;
}

const rewindEveryMs = 1_000;

/** A gap was reported, and the partition was not reset just now. */
export function isRewindDue({ rewindAsked, rewoundAt }: Route, at: number): boolean {
  return rewindAsked && at - rewoundAt >= rewindEveryMs;
}

/**
 * Sent, landed, and never committed although a coordinator is there: the bus lost it, or the
 * coordinator did not understand it.
 */
export function isLost({ outstandingSince, flights, patienceMs }: Route, at: number): boolean {
  return (
    outstandingSince !== undefined && flights.length === 0 && at - outstandingSince >= patienceMs
  );
}

const maxTimeoutMs = 600_000;

/** Sends again, with a longer timeout. */
export function afterLoss(route: Route): Route {
  return {
    ...route,
    outstandingSince: undefined,
    patienceMs: Math.min(maxTimeoutMs, route.patienceMs * 2),
  };
}

/** A bus that comes back may have lost its data. */
const timeoutAfterReturnMs = 10_000;

/**
 * What was in flight when the connection broke may have landed or not. It is sent again; repeats
 * change nothing.
 */
export function reconnected(route: Route, at: number): Route {
  return {
    ...route,
    flights: [],
    sent: landedUpTo(route),
    ...(route.outstandingSince === undefined
      ? {}
      : { outstandingSince: at, patienceMs: Math.min(route.patienceMs, timeoutAfterReturnMs) }),
  };
}

export function landedUpTo({ flights, sent }: Route): number {
  return flights.reduce((least, { before }) => Math.min(least, before), sent);
}

/** More of it was committed. */
export function committedUpTo(route: Route, mark: number, at: number, patienceMs: number): Route {
  return {
    ...route,
    patienceMs,
    outstandingSince: mark < route.sent ? at : undefined,
  };
}
