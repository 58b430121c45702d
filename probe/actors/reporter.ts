import type { Clock } from '../../shared/base/clock.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import { backoff } from '../../shared/base/retry.ts';
import type { Key } from '../../shared/bus/identity.ts';
import type { ReceiptMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { partitionCount, subjects } from '../../shared/bus/subjects.ts';
import type { Result } from '../../shared/checks/result.ts';
import { createDepartures } from './departures.ts';
import { atSharedBeat } from './shared-beat.ts';
import type { Spool, Taken } from './spool.ts';
import { createSpoolKeeper } from './spool-keeper.ts';

/**
 * Hands the spool over to the bus: batches of one partition, signed, in order.
 *
 * Modes of the whole: `away` (no bus, or it refused lately: results wait in the spool) ↔ `sending`; → `closed`.
 * Modes of a result: waiting (seq > sent) → in flight → landed (the stream has it) → committed (gone from the spool). A batch that does not
 * land, a gap that the coordinator reports, and a commit that never comes put the partition back to where it is known to be safe, and everything from there is sent again.
 */
export type Reporter = {
  /** Takes a result in. Urgent ones leave at once, with what waits of their partition; others within a second. */
  readonly report: (result: Omit<Result, 'seq'>, urgent: boolean) => void;
  readonly attach: (bus: Bus) => void;
  readonly receive: (receipt: Pick<ReceiptMessage, 'generation' | 'committed' | 'again'>) => void;
  /** Whether everything seen until two seconds ago has landed (rule 4). */
  readonly handedOver: () => boolean;
  readonly close: () => Promise<void>;
};

type Flight = { readonly before: number; readonly last: number };

type Route = {
  /** The last number that was sent. */
  sent: number;
  flights: Flight[];
  /** Since when something waits to be sent; undefined when nothing is known to. */
  waitingSince: number | undefined;
  isPumping: boolean;
  /** Something came while it was pumping, or could not go because too much was in flight. */
  again: boolean;
  rewoundAt: number;
  rewindAsked: boolean;
  /** Since when the oldest result that was sent has not been committed. */
  outstandingSince: number | undefined;
  patienceMs: number;
};

/**
 * What waits of all partitions goes in the same moment, once a second: here, on the bus and in the coordinator a message for which everybody is
 * woken costs several times as much as one of many. Probes have moments of their own.
 */
const sendEveryMs = 1_000;
const tickMs = 500;
const slotMs = 50;
const mostFlights = 4;
/** A coordinator holds back what it stores for up to 30 s after an absence (rule 4): longer than that, and the bus must have lost it. */
const defaultPatienceMs = 40_000;
const mostPatienceMs = 600_000;
/** A bus that comes back may have come back empty. */
const patienceAfterReturnMs = 10_000;
const hearingMs = 15_000;
const oldAfterMs = 2_000;

export const createReporter = (options: {
  readonly probe: string;
  readonly continent: Continent;
  readonly key: Key;
  readonly spool: Spool;
  /** How long a result that was sent may stay uncommitted while a coordinator is there, before it goes again. */
  readonly patienceMs?: number;
  readonly clock?: Clock;
  readonly log: Log;
}): Reporter => {
  const { probe, continent, key, spool, clock, log, patienceMs: firstPatienceMs = defaultPatienceMs } = options;
  const routes: readonly Route[] = Array.from({ length: partitionCount }, () => ({
    sent: 0,
    flights: [],
    waitingSince: undefined,
    isPumping: false,
    again: false,
    rewoundAt: Number.NEGATIVE_INFINITY,
    rewindAsked: false,
    outstandingSince: undefined,
    patienceMs: firstPatienceMs,
  }));
  const departures = createDepartures(key);
  const now = (): number => performance.now();
  let bus: Bus | undefined;
  let closing = false;
  let failures = 0;
  let retryAt = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  let sentAt = Number.NEGATIVE_INFINITY;
  let urgent = new Set<number>();
  const phase = (Number.parseInt(probe.slice(-4), 16) * slotMs) % sendEveryMs;
  const marks: { readonly at: number; readonly seq: number }[] = [{ at: now(), seq: spool.lastSeq() }];

  const maySend = (): Bus | undefined => (bus?.isConnected() && now() >= retryAt ? bus : undefined);

  const rewind = (partition: number, route: Route, to: number): void => {
    if (route.sent <= to) return;
    route.sent = to;
    route.rewoundAt = now();
    route.waitingSince = Number.NEGATIVE_INFINITY;
    void pump(partition);
  };

  const failed = (partition: number, route: Route, flight: Flight, error: unknown): void => {
    const at = route.flights.indexOf(flight);
    if (at < 0) return; // Given up already, when the connection broke.
    route.flights.splice(at, 1);
    route.sent = Math.min(route.sent, flight.before);
    route.waitingSince = Number.NEGATIVE_INFINITY;
    if (now() < retryAt) return;
    failures += 1;
    retryAt = now() + backoff(failures, 100, 10_000);
    log.warn({ err: error, partition, failures }, 'results could not be handed to the bus; they wait');
  };

  const landed = (partition: number, route: Route, flight: Flight): void => {
    const at = route.flights.indexOf(flight);
    if (at >= 0) route.flights.splice(at, 1);
    failures = 0;
    if (route.again) void pump(partition);
  };

  const send = (through: Bus, partition: number, route: Route, { after, last, texts }: Taken): void => {
    const head = `{"v":1,"probe":"${probe}","generation":"${spool.generation}","partition":${partition},"after":${after}`;
    const body = Buffer.from(`${head},"results":[${texts.join(',')}]}`);
    const flight = { before: route.sent, last };
    route.flights.push(flight);
    route.sent = last;
    route.outstandingSince ??= now();
    departures
      .store(through, subjects.result(continent, partition, probe), body)
      .then(() => landed(partition, route, flight))
      .catch((error: unknown) => failed(partition, route, flight, error));
  };

  /** Sends all that waits of a partition, as far as it may. */
  const pumpOnce = async (partition: number, route: Route): Promise<void> => {
    route.waitingSince = undefined;
    await spool.save();
    for (;;) {
      if (route.flights.length >= mostFlights) {
        route.again = true;
        return;
      }
      const from = route.sent;
      const taken = await spool.take(partition, from);
      if (!taken) return;
      const through = maySend();
      if (!through) {
        route.waitingSince = Number.NEGATIVE_INFINITY;
        return;
      }
      // Put back while we read: what we have is not what comes next.
      if (route.sent === from) send(through, partition, route, taken);
    }
  };

  const pump = async (partition: number): Promise<void> => {
    const route = routes[partition];
    if (!route || closing) return;
    if (route.isPumping) {
      route.again = true;
      return;
    }
    route.isPumping = true;
    try {
      do {
        route.again = false;
        await pumpOnce(partition, route);
      } while (route.again && route.flights.length < mostFlights);
    } catch (error) {
      route.waitingSince = now();
      log.error({ err: error, partition }, 'results could not be taken from the spool');
    } finally {
      route.isPumping = false;
    }
  };

  const pumpUrgent = (): void => {
    const partitions = urgent;
    urgent = new Set();
    for (const partition of partitions) void pump(partition);
  };

  /** Sent, landed, and never committed although a coordinator is there: the bus lost it. */
  const watchCommits = (partition: number, route: Route, at: number): void => {
    if (route.outstandingSince === undefined || route.flights.length > 0) return;
    if (at - route.outstandingSince < route.patienceMs || at - heardAt > hearingMs) return;
    log.warn({ partition, committed: spool.committedOf(partition), sent: route.sent }, 'sent results were never committed; they go again');
    route.outstandingSince = undefined;
    route.patienceMs = Math.min(mostPatienceMs, route.patienceMs * 2);
    rewind(partition, route, spool.committedOf(partition));
  };

  const tick = (): void => {
    const at = now();
    const isOpen = maySend() !== undefined;
    const isTurn = at - sentAt >= sendEveryMs - tickMs / 2;
    if (isTurn) sentAt = at;
    for (const [partition, route] of routes.entries()) {
      if (route.rewindAsked && at - route.rewoundAt >= 1_000) {
        route.rewindAsked = false;
        rewind(partition, route, spool.committedOf(partition));
      }
      if (isOpen && route.waitingSince !== undefined && (isTurn || at - route.waitingSince >= sendEveryMs)) void pump(partition);
      watchCommits(partition, route, at);
    }
    if (at - (marks.at(-1)?.at ?? 0) >= 500) marks.push({ at, seq: spool.lastSeq() });
    while (marks.length > 1 && at - (marks[1]?.at ?? at) >= oldAfterMs) marks.shift();
  };
  const ticker = atSharedBeat(tickMs, tick, { clock, phase });
  const keeper = createSpoolKeeper({ spool, clock, phase, log });

  /** What was in flight when the connection broke may have landed or not: it goes again, and repeats change nothing. */
  const resend = (): void => {
    failures = 0;
    retryAt = 0;
    for (const [partition, route] of routes.entries()) {
      for (const { before } of route.flights.splice(0)) route.sent = Math.min(route.sent, before);
      if (route.outstandingSince !== undefined) {
        route.outstandingSince = now();
        route.patienceMs = Math.min(route.patienceMs, patienceAfterReturnMs);
      }
      if (spool.nextAfter(partition, route.sent) !== undefined) void pump(partition);
    }
  };

  const landedUpTo = (route: Route): number => route.flights.reduce((least, { before }) => Math.min(least, before), route.sent);

  return {
    report: (result, isUrgent) => {
      const taken = spool.append(result);
      const route = taken && routes[taken.partition];
      if (!taken || !route) return;
      route.waitingSince ??= now();
      keeper.saveSoon();
      if (!isUrgent) return;
      if (urgent.size === 0) setImmediate(pumpUrgent);
      urgent.add(taken.partition);
    },
    attach: (to) => {
      bus = to;
      to.onStatus((status) => {
        if (status === 'connected') resend();
      });
      resend();
    },
    receive: ({ generation, committed, again }) => {
      if (generation !== spool.generation) return;
      heardAt = now();
      const before = routes.map((_, partition) => spool.committedOf(partition));
      spool.commit(committed);
      for (const [partition, route] of routes.entries()) {
        const mark = spool.committedOf(partition);
        if (mark !== before[partition]) {
          route.patienceMs = firstPatienceMs;
          route.outstandingSince = mark < route.sent ? now() : undefined;
        }
        if (again.includes(partition)) route.rewindAsked = true;
      }
      if (again.length > 0) tick();
    },
    handedOver: () => {
      const old = marks[0]?.seq ?? 0;
      return routes.every((route, partition) => (spool.nextAfter(partition, landedUpTo(route)) ?? Number.POSITIVE_INFINITY) > old);
    },
    close: async () => {
      ticker.stop();
      const synced = keeper.stop();
      if (maySend()) {
        await Promise.all(routes.map((_, partition) => pump(partition)));
        const patience = now() + 2_000;
        while (routes.some(({ flights }) => flights.length > 0) && now() < patience)
          await new Promise((resolve) => setTimeout(resolve, 20));
      }
      closing = true;
      await synced;
      await spool.close();
    },
  };
};
