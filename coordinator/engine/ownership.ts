import { createTicker } from '../../shared/actor/mailbox.ts';
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
import type { PartitionMessage } from './messages.ts';
import {
  beAlive,
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
  const stopping = new Set<number>();
  const stops: { readonly stop: () => Promise<void> | void }[] = [];
  let balancing: Promise<void> = Promise.resolve();
  /** Since when there is no bus; undefined while it is connected. */
  let cutOffAt: number | undefined;
  /** When partitions stalled; simultaneous stalls count once. */
  let stalls: readonly number[] = [];
  let restsUntil = 0;
  const isResting = (): boolean => performance.now() < restsUntil;

  const drop = async (partition: number, leaveCheckpoint: boolean): Promise<void> => {
    const held = running.get(partition);
    if (!held) return;
    running.delete(partition);
    // A partition must finish its work before it starts again, so that it never runs twice.
    stopping.add(partition);
    await stopPartition(held, leaveCheckpoint).finally(() => stopping.delete(partition));
  };

  const begin = (lease: Lease, isTaken: boolean): void => {
    const { partition } = lease;
    const onFenced = () => {
      if (running.get(partition) !== mine) return;
      log.warn({ partition }, 'the partition now belongs to another coordinator');
      void drop(partition, false);
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
  };

  /**
   * A partition that still stops starts afterwards: the next run of balance() finds that we hold
   * its lease.
   */
  const beginUnlessStopping = (lease: Lease, isTaken = false): void => {
    if (!running.has(lease.partition) && !stopping.has(lease.partition)) begin(lease, isTaken);
  };

  /**
   * Renews the leases we hold, forgets partitions that others took, gives up those beyond the fair
   * share, takes free ones.
   */
  const balance = async (): Promise<void> => {
    const askedAt = performance.now();
    cutOffAt = bus.isConnected() ? undefined : (cutOffAt ?? askedAt);
    const rests = isResting();
    const { others, keepJournal } = await beAlive(
      sql,
      { owner, version, hasBus: cutOffAt === undefined && !rests },
      timing.leaseMs,
    );
    if (ownership.keepsJournal !== keepJournal)
      log.info(
        { journal: keepJournal },
        'every coordinator knows the journal of results, or one does not: results are written as all can read them',
      );
    ownership.keepsJournal = keepJournal;
    const leases = new Map(
      (await renewLeases(sql, owner, timing.leaseMs)).map((lease) => [lease.partition, lease]),
    );
    ownership.validUntil = askedAt + timing.leaseMs;
    const lost = [...running].filter(
      ([partition, { lease, epoch }]) =>
        epoch !== 'renewing' && leases.get(partition)?.epoch !== lease.epoch,
    );
    await Promise.all(lost.map(([partition]) => drop(partition, false)));
    for (const lease of leases.values()) beginUnlessStopping(lease);
    const cutOffMs = rests
      ? Number.POSITIVE_INFINITY
      : cutOffAt === undefined
        ? null
        : performance.now() - cutOffAt;
    const { most: limit, takes } = fairShare(partitionCount, {
      cutOffMs,
      others,
      reportedWithinMs: 2 * timing.leaseMs,
    });
    const extra = [...running.keys()].slice(limit);
    if (extra.length > 0) {
      log.info(
        { partitions: extra, others, cut_off_ms: cutOffMs },
        'released partitions to another coordinator',
      );
      const dropped = Promise.all(extra.map((partition) => drop(partition, !rests)));
      // A stalled partition may take its time to end: the next owner of the lease has another
      // epoch, which fences it off.
      if (rests) dropped.catch(onFailure);
      else await dropped;
      await releaseLeases(sql, owner, extra);
    } else if (takes && running.size < limit) {
      const taken = await takeLeases(sql, owner, limit - running.size, timing.leaseMs);
      if (taken.length > 0)
        log.info(
          { partitions: taken.map(({ partition }) => partition), others },
          'took partitions',
        );
      for (const lease of taken) beginUnlessStopping(lease, true);
    }
  };
  const balanceSoon = (): Promise<void> => {
    balancing = balancing
      .catch(() => undefined)
      .then(() => (ownership.isClosing ? undefined : balance()));
    return balancing;
  };

  const onFailure = (error: unknown) => log.error({ err: error }, 'could not renew the leases');

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
    const leave = async (): Promise<void> => {
      await drop(partition, false);
      await releaseLeases(sql, owner, [partition]);
      await balanceSoon();
    };
    // A stalled partition may need a new connection before it can end.
    await Promise.all([leave(), isTrouble ? bus.reconnect() : undefined]);
  };
  return {
    start: async () => {
      await balanceSoon();
      if (ownership.isClosing) return;
      const ticker = createTicker({ everyMs: timing.renewMs, tick: balanceSoon, onFailure });
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
      const leases = await listenTo(sql, leasesChannel, () => void balanceSoon().catch(onFailure), {
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
    pass: async (partition) => {
      const held = running.get(partition);
      if (!held) throw new Error(`partition ${partition} belongs to another coordinator`);
      await passThrough(held);
    },
    close: async () => {
      await Promise.all(stops.map(({ stop }) => stop()));
      ownership.isClosing = true;
      await balancing.catch(() => undefined);
      const held = [...running.keys()];
      const isThere = await answersSoon(sql);
      await Promise.all(held.map((partition) => drop(partition, isThere)));
      // The others notice by themselves.
      if (!isThere) return;
      await releaseLeases(sql, owner, held).catch(onFailure);
      await sayGoodbye(sql, owner).catch(onFailure);
    },
  };
}

/**
 * How many partitions a coordinator should hold. A coordinator without the bus decides nothing. It
 * still holds its leases, because it has the database, and leaves them to coordinators with the
 * bus. While no coordinator has the bus, none gives up anything.
 */
export type OwnershipInput = {
  /** How long it has been without the bus; null while it is connected. */
  readonly cutOffMs: number | null;
  /** How many other coordinators are alive and have the bus. */
  readonly others: number;
  /** By then any other coordinator that lost the bus in the same moment has reported it. */
  readonly reportedWithinMs: number;
};

/**
 * `most`: it gives away what it holds beyond that; `takes`: whether it takes free ones up to there.
 */
export type FairShare = { readonly most: number; readonly takes: boolean };

export function fairShare(
  partitions: number,
  { cutOffMs, others, reportedWithinMs: patienceMs }: OwnershipInput,
): FairShare {
  if (cutOffMs === null) return { most: Math.ceil(partitions / (1 + others)), takes: true };
  if (others === 0) return { most: partitions, takes: true };
  return { most: cutOffMs < patienceMs ? partitions : 0, takes: false };
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
