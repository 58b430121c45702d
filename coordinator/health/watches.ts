import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import { type Clock, systemClock } from '../../shared/base/time.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { answersWithin, type Sql } from '../database/connect.ts';

/**
 * The clock of a coordinator: its machine's, or the database's where the two differ by more than 2
 * s. Time never runs backwards within a process: a clock that is ahead goes at half speed until the
 * right time has caught up.
 *
 * The database's counts once they differ by over 2 s, whatever the round trip took, and until they
 * differ by less than 1 s.
 */
export type DatabaseClock = Clock & {
  /**
   * A query was sent at `sent` and answered at `received`, both by `steady`; the database's clock
   * then showed `theirs`.
   */
  readonly observe: (seen: TimeSeen) => void;
  /**
   * By how much the machine's clock is ahead (behind: negative), while the database's is in force.
   */
  readonly differenceMs: () => number | undefined;
};

type TimeSeen = {
  readonly sent: number;
  readonly received: number;
  readonly theirs: number;
};

const beginsAboveMs = 2_000;
const endsBelowMs = 1_000;
/** A longer round trip is too inaccurate. */
const longestTripMs = 4_000;

export function createDatabaseClock(
  host: Clock = systemClock,
  steady: () => number = () => performance.now(),
): DatabaseClock {
  let difference: number | undefined;
  /** The database's time at the zero of the steady clock. */
  let zero = 0;
  let isMeasured = false;
  let last = Number.NEGATIVE_INFINITY;
  let lastAt = steady();

  return {
    now: () => {
      const at = steady();
      const right = difference === undefined ? host.now() : Math.round(zero + at);
      // Until connected to the database no time is recorded, so the clock may jump.
      if (!isMeasured) return right;
      last = Math.max(right, last + (at - lastAt) / 2);
      lastAt = at;
      return Math.floor(last);
    },
    observe: ({ sent, received, theirs }) => {
      const trip = received - sent;
      if (trip < 0 || trip > longestTripMs) return;
      const theirZero = theirs - (sent + received) / 2;
      const ahead = host.now() - (theirZero + steady());
      const isFar =
        difference === undefined
          ? Math.abs(ahead) - trip / 2 > beginsAboveMs
          : Math.abs(ahead) + trip / 2 >= endsBelowMs;
      difference = isFar ? Math.round(ahead) : undefined;
      zero = theirZero;
      isMeasured = true;
    },
    differenceMs: () => difference,
  };
}

/**
 * Detects that the database is up, but not at the other end of the open connections: it moved to
 * another machine, or something in between forgot them. No one closes such connections, and queries
 * on them would wait for a quarter of an hour.
 *
 * When a query on a connection reserved for this is overdue and a new connection gets an answer,
 * the silent ones are cut. While there is no answer at all the database is down, and nothing is
 * cut.
 */
const everyMs = 3_000;
const patienceMs = 5_000;
/** After a standstill the process finds an earlier answer within this time. */
const onceMoreMs = 500;

type Watched = {
  readonly supervisor: Starts<'database watch'>;
  readonly sql: Sql;
  readonly log: Log;
  /** Receives the database's time. */
  readonly onTime: (seen: TimeSeen) => void;
};

export function watchDatabase({ supervisor, sql, log, onTime }: Watched): void {
  const { sessions, openAnother, openDedicated } = sql.access;
  const asked = openDedicated();
  let another: Sql | undefined;
  let stopped = false;
  /**
   * An answer that needed a new connection gives no time: it is unknown how its duration splits
   * between the two directions.
   */
  let isWarm = false;

  const isThere = async (): Promise<boolean> => {
    if (stopped) return false;
    another = openAnother();
    return answersWithin(another, patienceMs).finally(() => another?.end({ timeout: 0 }));
  };

  const tick = async (): Promise<void> => {
    const before = sessions.received();
    const wasWarm = isWarm;
    isWarm = await answersWithin(asked, patienceMs, (seen) => {
      if (wasWarm) onTime(seen);
    });
    if (isWarm || !(await isThere())) return;
    if (stopped || (await answersWithin(asked, onceMoreMs))) return;
    const connections = sessions.cutSilent(before);
    log.warn({ connections }, 'the database answers, but not on open connections; closing them');
  };

  const ticker = supervisor.ticker('database watch', { everyMs, tick });
  // Its own connection must be as old as the pool's: one made after the database moved would get an
  // answer.
  ticker.hurry();
  supervisor.part('database watch', async () => {
    stopped = true;
    // Everything awaited ends with its connection.
    await Promise.all([asked.end({ timeout: 0 }), another?.end({ timeout: 0 })]);
  });
}

/**
 * Whether every part makes progress. A process that renews its leases and answers requests may have
 * parts that wait for ever. Each part is asked regularly whether it moved; one that could not say
 * so for too long has stalled.
 */
export type Watchdog = {
  readonly tick: () => Promise<void>;
  /** The names of stalled parts. */
  readonly stalled: () => readonly string[];
};

/**
 * A part that must make progress: whether it moved since the last call, or has nothing to do. One
 * that never answers does not move either.
 */
export type Part = {
  readonly name: string;
  readonly mayStandMs: number;
  readonly moved: () => Promise<boolean>;
  /** Where asking is dear: at every so many ticks. */
  readonly askedEvery?: number;
};

type PartProgress = { movedAt: number; isAsked: boolean; isStanding: boolean };

export function createWatchdog(options: {
  readonly parts: () => readonly Part[];
  readonly log: Log;
}): Watchdog {
  const { parts, log } = options;
  const seen = new Map<string, PartProgress>();
  let ticks = -1;

  const ask = async ({ name, moved }: Part, known: PartProgress): Promise<void> => {
    known.isAsked = true;
    try {
      if (await moved()) known.movedAt = performance.now();
    } catch (error) {
      log.debug({ err: error, part: name }, 'could not read the progress of a part');
    } finally {
      known.isAsked = false;
    }
  };

  return {
    tick: async () => {
      const now = performance.now();
      const all = parts();
      const names = new Set(all.map(({ name }) => name));
      ticks += 1;
      for (const name of seen.keys()) if (!names.has(name)) seen.delete(name);
      for (const part of all) {
        const known = seen.get(part.name) ?? { movedAt: now, isAsked: false, isStanding: false };
        seen.set(part.name, known);
        // A part that does not answer is not awaited: it is the stalled one.
        const isTurn = ticks % (part.askedEvery ?? 1) === 0;
        if (isTurn && !known.isAsked) void ask(part, known);
        const stands = now - known.movedAt > part.mayStandMs;
        if (stands && !known.isStanding)
          log.error(
            { part: part.name, ms: Math.round(now - known.movedAt) },
            'a part of the engine has stalled',
          );
        if (!stands && known.isStanding)
          log.info({ part: part.name }, 'a stalled part of the engine has resumed');
        known.isStanding = stands;
      }
    },
    stalled: () => [...seen].filter(([, { isStanding }]) => isStanding).map(([name]) => name),
  };
}

/** What waits in a stream for one reader, and how far it has come. */
type ConsumerProgress = { readonly waiting: number; readonly acknowledged: number };

/** A stream's reader moves when it has advanced, or when nothing waits for it. */
export function readerOf(
  read: () => Promise<ConsumerProgress | undefined>,
): () => Promise<boolean> {
  let last: number | undefined;
  return async () => {
    const reading = await read();
    if (!reading) return false;
    const before = last;
    last = reading.acknowledged;
    return reading.waiting === 0 || before !== reading.acknowledged;
  };
}

/**
 * Whether every stream has a leading server. Without one it neither accepts nor delivers anything,
 * while the connection to the bus seems healthy.
 *
 * Where none has one for long, our server may have lost the others: we reconnect, which leads to
 * another server, at growing distances.
 */
export type StreamWatch = { readonly tick: () => Promise<void>; readonly areLed: () => boolean };

/** An older observation says nothing. */
const freshMs = 15_000;

const maxTimeoutMs = 300_000;

type Dependencies = {
  readonly bus: Bus;
  readonly log: Log;
  /** How long all may be leaderless before we reconnect. */
  readonly silentMs: number;
};

export function watchStreams({ bus, log, silentMs }: Dependencies): StreamWatch {
  let patienceMs = silentMs;
  let silentSince: number | undefined;
  let leaderless: readonly string[] = [];
  let seenAt = Number.NEGATIVE_INFINITY;
  const isLed = async (name: string): Promise<boolean> => {
    try {
      return await bus.isLed(name);
    } catch (error) {
      // No server answers for it, or the bus says that it has no leader.
      log.debug({ err: error, stream: name }, 'could not read the leader of a stream');
      return false;
    }
  };
  const enterAnew = async (isSilent: boolean): Promise<void> => {
    if (!isSilent) {
      silentSince = undefined;
      patienceMs = silentMs;
      return;
    }
    const now = performance.now();
    silentSince ??= now;
    if (now - silentSince < patienceMs) return;
    log.error({ ms: Math.round(now - silentSince) }, 'no stream answers: reconnecting to the bus');
    silentSince = undefined;
    patienceMs = Math.min(maxTimeoutMs, 2 * patienceMs);
    await bus.reconnect();
  };
  return {
    tick: async () => {
      if (!bus.isConnected()) return;
      const names = Object.values(streams).map(({ name }) => name);
      const led = await Promise.all(names.map(isLed));
      const now = names.filter((_, index) => !led[index]);
      // A failure just before the connection was lost is about the connection.
      if (!bus.isConnected()) return;
      if (now.join() !== leaderless.join()) {
        if (now.length > 0)
          log.error({ streams: now }, 'streams have no leader: they accept and deliver nothing');
        else log.info('every stream has a leader again');
      }
      leaderless = now;
      seenAt = performance.now();
      await enterAnew(now.length === names.length);
    },
    areLed: () => leaderless.length === 0 && performance.now() - seenAt < freshMs,
  };
}
