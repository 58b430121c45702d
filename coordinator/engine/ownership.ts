import { createPump, createTicker } from '../../shared/actor/mailbox.ts';
import type { Bus, Subscription } from '../../shared/bus/nats.ts';
import {
  partitionConsumer,
  partitionCount,
  pingsConsumer,
  streams,
} from '../../shared/bus/subjects.ts';
import { answersSoon } from '../database/connect.ts';
import { listenTo } from '../database/listen.ts';
import { outboxChannel, partitionsWaiting } from '../database/outbox.ts';
import { type Part, readerOf } from '../health/watches.ts';
import type { PartitionBacklog } from '../notifications/release.ts';
import type { Assignments } from '../probes/assignments.ts';
import type { Directory } from '../probes/directory.ts';
import { holdAgain } from './deliveries.ts';
import type { PartitionDependencies } from './dependencies.ts';
import {
  circling,
  countedLeases,
  divide,
  fairShare,
  type History,
  type Others,
  remember,
} from './division.ts';
import type { PartitionMessage } from './messages.ts';
import {
  beAlive,
  freeLeases,
  type Lease,
  leasesChannel,
  releaseLeases,
  renewLeases,
  sayGoodbye,
  takeLeases,
} from './queries.ts';
import {
  backlogStateOf,
  passThrough,
  type RunningPartition,
  startPartition,
  stopPartition,
} from './running.ts';
import type { Timing } from './timing.ts';

/**
 * The partitions of this coordinator: its fair share of all, held through leases that it renews. It
 * stops working on a partition that it did not renew in time, by its own clock, and forgets one
 * that another coordinator took. While it is cut off from the bus and another is not, its share is
 * none.
 *
 * Modes: `fit` → (partitions stalled and were given up, three times) `resting` (all go to another
 * coordinator if there is one; the connection to the bus, which they have in common, is made again)
 * → (after a while) `fit`.
 */
export type Partitions = {
  readonly start: () => Promise<void>;
  readonly owns: (partition: number) => boolean;
  /** The backlog state of the partitions that may work. */
  readonly known: () => readonly PartitionBacklog[];
  /** @throws when the partition is not ours. */
  readonly tell: (partition: number, message: PartitionMessage) => Promise<void>;
  readonly tellAll: (message: PartitionMessage) => void;
  /** Checks that the bus has all assignments of our partitions. */
  readonly reconcile: () => void;
  /** Partitions that run here, or are about to. */
  readonly held: () => readonly number[];
  /** Whether it leaves its partitions to others, because too many of them stalled. */
  readonly isResting: () => boolean;
  /** Whether it takes the same partitions again and again. */
  readonly isCircling: () => boolean;
  /** Settles when the partition has processed all earlier messages, and rejects when it cannot. */
  readonly pass: (partition: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly owner: string;
  readonly version: string;
  readonly ownership: Ownership;
  readonly deps: PartitionDependencies;
  /** Aborts the wait at the start. */
  readonly signal?: AbortSignal;
};

/**
 * After this many stalls, within this many stall timeouts, the coordinator itself is the likely
 * cause.
 */
const maxStalls = 3;
const withinTimeouts = 10;
/** It takes its share again after this many stall timeouts. */
const restTimeouts = 2;

/** What this coordinator holds, for those who ask before its partitions are started. */
export type Ownership = {
  readonly running: Map<number, RunningPartition>;
  /** Until when the leases hold, by performance.now(). */
  validUntil: number;
  isClosing: boolean;
  /** Whether every coordinator that lives knows the journal. */
  keepsJournal: boolean;
};

export const createOwnership = (): Ownership => ({
  running: new Map(),
  validUntil: 0,
  isClosing: false,
  keepsJournal: false,
});

const mayWork = ({ isClosing, validUntil }: Ownership): boolean =>
  !isClosing && performance.now() < validUntil;

export const owns = (ownership: Ownership, partition: number): boolean =>
  mayWork(ownership) && ownership.running.has(partition);

export function createPartitions({ owner, version, ownership, deps, signal }: Options): Partitions {
  const { sql, bus, log, timing } = deps;
  const { running } = ownership;
  const stopping = new Map<number, Promise<void>>();
  const stops: { readonly stop: () => Promise<void> | void }[] = [];
  let others: Others = { heard: 0, counted: 0 };
  let history: History = { takes: [], givenUp: [] };
  /** Since when there is no bus; undefined while it is connected. */
  let cutOffAt: number | undefined;
  /** When partitions stalled; simultaneous stalls count once. */
  let stalls: readonly number[] = [];
  let restsUntil = 0;
  const isResting = (): boolean => performance.now() < restsUntil;

  /**
   * A partition must finish its work before it starts again, so that it never runs twice. Its lease
   * is renewed until then.
   */
  const end = async (
    partition: number,
    { leaveCheckpoint, release }: { leaveCheckpoint: boolean; release: boolean },
  ): Promise<void> => {
    const held = running.get(partition);
    if (!held) return;
    running.delete(partition);
    const ending = stopPartition(held, leaveCheckpoint)
      .then(() => (release ? releaseLeases(sql, owner, [partition]) : undefined))
      .finally(() => stopping.delete(partition));
    stopping.set(partition, ending);
    await ending;
  };
  const drop = (partition: number): void =>
    void end(partition, { leaveCheckpoint: false, release: false }).catch(onFailure);

  const begin = (lease: Lease, isTaken: boolean): void => {
    const { partition } = lease;
    const onFenced = () => {
      if (running.get(partition) !== mine) return;
      log.warn({ partition }, 'the partition now belongs to another coordinator');
      drop(partition);
    };
    const onGivenUp = () => {
      log.error(
        { partition },
        'a partition has stalled: releasing it, to restart here or elsewhere',
      );
      void giveUp(partition, mine).catch(onFailure);
    };
    const mine = startPartition({
      lease,
      isTaken,
      deps,
      mayWork: () => mayWork(ownership),
      onFenced,
      onGivenUp,
    });
    running.set(partition, mine);
    // What is loaded makes room for the next bite.
    void mine.began.then(division.run);
  };

  /**
   * A partition that still stops starts afterwards: the next renewal finds that we hold
   * its lease.
   */
  const beginUnlessStopping = (lease: Lease, isTaken = false): void => {
    if (!running.has(lease.partition) && !stopping.has(lease.partition)) begin(lease, isTaken);
  };

  /**
   * Says that we are alive, renews the leases we hold, and forgets partitions that others took. It
   * waits for nothing but the database: whoever is late here loses all that it holds.
   */
  const renew = async (): Promise<void> => {
    const askedAt = performance.now();
    cutOffAt = bus.isConnected() ? undefined : (cutOffAt ?? askedAt);
    // What starts, ends or gets a new epoch meanwhile is left for the next time.
    const asked = [...running].map(([partition, held]) => ({ partition, held, lease: held.lease }));
    const ending = new Set(stopping.keys());
    const alive = await beAlive(
      sql,
      { owner, version, hasBus: cutOffAt === undefined && !isResting() },
      { heardMs: timing.leaseMs, countedMs: countedLeases * timing.leaseMs },
    );
    if (ownership.keepsJournal !== alive.keepJournal)
      log.info(
        { journal: alive.keepJournal },
        'every coordinator knows the journal of results, or one does not: results are written as all can read them',
      );
    ownership.keepsJournal = alive.keepJournal;
    others = alive.others;
    const leases = new Map(
      (await renewLeases(sql, owner, timing.leaseMs)).map((lease) => [lease.partition, lease]),
    );
    if (ownership.isClosing) return;
    ownership.validUntil = askedAt + timing.leaseMs;
    for (const { partition, held, lease } of asked)
      if (
        running.get(partition) === held &&
        held.lease === lease &&
        held.epoch !== 'renewing' &&
        leases.get(partition)?.epoch !== lease.epoch
      )
        drop(partition);
    for (const lease of leases.values())
      if (!ending.has(lease.partition)) beginUnlessStopping(lease);
    void division.run();
  };

  /** Gives up, in the background, what is beyond the share, or takes what is free. */
  const balance = async (): Promise<void> => {
    if (!mayWork(ownership)) return;
    const free = await freeLeases(sql);
    if (ownership.isClosing) return;
    const now = performance.now();
    const rests = isResting();
    const cutOffMs = rests
      ? Number.POSITIVE_INFINITY
      : cutOffAt === undefined
        ? null
        : now - cutOffAt;
    const { giveUp: extra, take } = divide({
      now,
      leaseMs: timing.leaseMs,
      running: [...running.keys()],
      loading: [...running.values()].filter(({ mode }) => mode === 'loading').length,
      leaving: stopping.size,
      free: free.filter(({ partition }) => !stopping.has(partition)),
      share: fairShare(partitionCount, { cutOffMs, others, reportedWithinMs: 2 * timing.leaseMs }),
      isUnable: cutOffMs !== null,
      history,
    });
    if (extra.length > 0) {
      log.info(
        { partitions: extra, others, cut_off_ms: cutOffMs },
        'releasing partitions to another coordinator',
      );
      history = { ...history, givenUp: remember(history.givenUp, extra, now) };
      for (const partition of extra)
        void end(partition, { leaveCheckpoint: !rests, release: true }).catch(onFailure);
      // A stalled partition may take its time to end: the next owner of the lease has another
      // epoch, which fences it off.
      if (rests) await releaseLeases(sql, owner, extra);
    }
    if (take.length === 0) return;
    const taken = await takeLeases(sql, owner, take, timing.leaseMs);
    if (taken.length === 0) return;
    const partitions = taken.map(({ partition }) => partition);
    log.info({ partitions, others }, 'took partitions');
    deps.figures.took(partitions.length);
    history = { ...history, takes: remember(history.takes, partitions, performance.now()) };
    for (const lease of taken) beginUnlessStopping(lease, true);
  };

  const onFailure = (error: unknown) => log.error({ err: error }, 'could not renew the leases');
  let dividing: Promise<void> = Promise.resolve();
  const division = createPump({
    once: () => {
      dividing = balance();
      return dividing;
    },
    onFailure,
  });

  /**
   * The lease is released, so that a stalled write can no longer commit: its epoch has ended when
   * the lease is taken again.
   */
  const giveUp = async (partition: number, given: RunningPartition): Promise<void> => {
    if (ownership.isClosing || running.get(partition) !== given) return;
    deps.figures.gaveUp();
    const now = performance.now();
    if (now - (stalls.at(-1) ?? Number.NEGATIVE_INFINITY) >= timing.stallMs / 2)
      stalls = [...stalls.filter((at) => now - at < withinTimeouts * timing.stallMs), now];
    const isTrouble = stalls.length >= maxStalls;
    if (isTrouble) {
      stalls = [];
      restsUntil = now + restTimeouts * timing.stallMs;
      log.error('partitions stalled repeatedly: releasing all of them and reconnecting to the bus');
    }
    // A stalled partition may need a new connection before it can end.
    await Promise.all([
      end(partition, { leaveCheckpoint: false, release: true }),
      isTrouble ? bus.reconnect() : undefined,
    ]);
    await division.run();
  };
  return {
    start: async () => {
      await renew();
      await division.run();
      if (ownership.isClosing) return;
      const ticker = createTicker({ everyMs: timing.renewMs, tick: renew, onFailure });
      const again = createTicker({
        everyMs: timing.refreshMs,
        tick: async () => {
          for (const partition of await partitionsWaiting(sql, [...running.keys()]))
            void running.get(partition)?.outbox.run();
        },
        onFailure,
      });
      const status: Subscription = bus.onStatus((now) => {
        if (now === 'disconnected' || now === 'connected')
          for (const { deliveries } of running.values()) holdAgain(deliveries);
        if (now === 'connected') for (const { outbox } of running.values()) void outbox.run();
      });
      // This comes first: leases are renewed even before there is a connection for notifications of
      // the database.
      stops.push(ticker, again, status);
      const onLine = (line: string): void => {
        const [topic, partition] = line.split(':');
        if ((topic === 'monitor' || topic === 'set_aside') && partition !== undefined)
          void running.get(Number(partition))?.outbox.run();
      };
      const listening = await listenTo(sql, outboxChannel, onLine, { log, signal });
      stops.push({ stop: listening.unlisten });
      const leases = await listenTo(sql, leasesChannel, () => void division.run(), {
        log,
        signal,
      });
      stops.push({ stop: leases.unlisten });
    },
    owns: (partition) => owns(ownership, partition),
    known: () => (mayWork(ownership) ? [...running.values()].map(backlogStateOf) : []),
    tell: async (partition, message) => {
      const held = running.get(partition);
      if (!held) throw new Error(`partition ${partition} belongs to another coordinator`);
      await held.actor.tell(message);
    },
    tellAll: (message) => {
      for (const [partition, held] of running)
        held.actor
          .tell(message)
          .catch((error: unknown) =>
            log.error({ err: error, partition, is: message.is }, 'a partition failed on a message'),
          );
    },
    reconcile: () => {
      for (const { reconciling } of running.values()) void reconciling.run();
    },
    held: () => [...running.keys()],
    isResting,
    isCircling: () => circling(history, performance.now()).length > 0,
    pass: async (partition) => {
      const held = running.get(partition);
      if (!held) throw new Error(`partition ${partition} belongs to another coordinator`);
      await passThrough(held);
    },
    close: async () => {
      await Promise.all(stops.map(({ stop }) => stop()));
      ownership.isClosing = true;
      // Waits for the last run.
      division.stop();
      await dividing.catch(() => undefined);
      const held = [...running.keys()];
      const isThere = await answersSoon(sql);
      const ending = isResting() ? [] : [...stopping.values()];
      await Promise.all([
        ...held.map((partition) => end(partition, { leaveCheckpoint: isThere, release: false })),
        // Who started these reports their failure.
        Promise.allSettled(ending),
      ]);
      // The others notice by themselves.
      if (!isThere) return;
      await releaseLeases(sql, owner, held).catch(onFailure);
      await sayGoodbye(sql, owner).catch(onFailure);
    },
  };
}

/**
 * The watchdog's subjects: each partition of this coordinator, and the pull that reads for it from
 * the bus.
 */
export function createPartitionWatchdog(options: {
  readonly bus: Bus;
  readonly partitions: Partitions;
  readonly timing: Timing;
}): () => readonly Part[] {
  const { bus, partitions, timing } = options;
  const existing = new Map<number, readonly Part[]>();
  const { stalledMs, catchUpMs } = timing;

  const reader = (stream: string, consumer: string): Part => ({
    name: `stream ${consumer}`,
    // Backlog results stay there while other probes may deliver earlier ones.
    mayStandMs: stalledMs + catchUpMs,
    moved: readerOf(async () => {
      const state = await bus.consumerState(stream, consumer);
      return (
        state && { waiting: state.pending + state.unacknowledged, acknowledged: state.acknowledged }
      );
    }),
  });

  const partsOf = (partition: number): readonly Part[] => [
    {
      name: `partition ${partition}`,
      mayStandMs: stalledMs,
      moved: () => partitions.pass(partition).then(() => true),
    },
    reader(streams.results.name, partitionConsumer(partition).name),
    reader(streams.pings.name, pingsConsumer(partition).name),
  ];

  return () => {
    const mine = new Set(partitions.held());
    for (const partition of existing.keys()) if (!mine.has(partition)) existing.delete(partition);
    for (const partition of mine)
      if (!existing.has(partition)) existing.set(partition, partsOf(partition));
    return [...existing.values()].flat();
  };
}

type Dependencies = {
  readonly directory: Directory;
  readonly assignments: Pick<Assignments, 'served'>;
  readonly partitions: Pick<Partitions, 'reconcile' | 'tellAll'>;
};

/**
 * Partitions are notified of changes in the directory: a continent has a first probe, a probe is in
 * quarantine.
 */
export function announceProbeChanges({ directory, assignments, partitions }: Dependencies): void {
  let served = assignments.served().join();
  const quarantined = new Set(
    directory.all().flatMap((row) => (row.quarantined_at === null ? [] : [row.id])),
  );
  directory.onChange(() => {
    if (assignments.served().join() !== served) partitions.reconcile();
    served = assignments.served().join();
    for (const row of directory.all()) {
      if (row.quarantined_at === null) quarantined.delete(row.id);
      else if (!quarantined.has(row.id)) {
        quarantined.add(row.id);
        partitions.tellAll({ is: 'quarantined', probe: row.id });
      }
    }
  });
}
