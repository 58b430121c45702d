import { atSharedTick } from '../../shared/base/shared-tick.ts';
import type { Bus, Subscription } from '../../shared/bus/nats.ts';
import {
  creatingPingsConsumer,
  partitionConsumer,
  partitionCount,
  pingsConsumer,
  streams,
} from '../../shared/bus/subjects.ts';
import type { Assignments } from '../assignments/publishing.ts';
import { answersSoon } from '../database/connect.ts';
import { listenTo } from '../database/listen.ts';
import { outboxChannel, partitionsWaiting } from '../database/outbox.ts';
import { type Part, readerOf } from '../health/watches.ts';
import type { PartitionBacklog } from '../notifications/release.ts';
import type { Directory } from '../probes/directory.ts';
import { holdAfterReconnect } from './bus-deliveries.ts';
import type { PartitionDependencies } from './dependencies.ts';
import { circling, countedLeases } from './division.ts';
import { createHolding, type Holding, type Renewal } from './holding.ts';
import type { PartitionMessage } from './messages.ts';
import {
  forgetCoordinator,
  freeLeases,
  type Lease,
  leasesChannel,
  recordCoordinator,
  releaseLeases,
  renewLeases,
  takeLeases,
} from './queries.ts';
import {
  backlogStateOf,
  passThrough,
  type RunningPartition,
  startPartition,
  stopPartition,
} from './running.ts';
import { longestTurnMs, type Timing } from './timing.ts';

/**
 * The partitions of this coordinator: its fair share of all, held through leases that it renews. It
 * stops working on a partition that it did not renew in time, by its own clock, and forgets one
 * that another coordinator took. While it is cut off from the bus and another is not, its share is
 * none.
 *
 * After partitions stalled and were given up three times, it rests for a while: all go to another
 * coordinator if there is one, and the connection to the bus, which they have in common, is made
 * again.
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

/** What this coordinator holds, for those who ask before its partitions are started. */
export type Ownership = {
  readonly running: Map<number, RunningPartition>;
  /** Whether the leases hold, by our own clock. */
  mayWork: () => boolean;
};

export function createOwnership(): Ownership {
  return {
    running: new Map(),
    mayWork: () => false,
  };
}

export function owns(ownership: Ownership, partition: number): boolean {
  return ownership.mayWork() && ownership.running.has(partition);
}

export function createPartitions({ owner, version, ownership, deps, signal }: Options): Partitions {
  const { sql, bus, log, timing } = deps;
  const { running } = ownership;
  const stops: { readonly stop: () => Promise<void> | void }[] = [];
  const ending = new Map<number, Promise<void>>();
  let renewing: Promise<void> = Promise.resolve();
  let dividing: Promise<void> = Promise.resolve();
  let isClosed = false;
  const now = (): number => performance.now();
  const onFailure = (error: unknown) => log.error({ err: error }, 'could not renew the leases');

  const renew = async (hasBus: boolean): Promise<Renewal> => {
    const others = await recordCoordinator(
      sql,
      { owner, version, hasBus },
      { heardMs: timing.leaseMs, countedMs: countedLeases * timing.leaseMs },
    );
    return { others, leases: await renewLeases(sql, owner, timing.leaseMs) };
  };

  const take = async (partitions: readonly number[]): Promise<readonly Lease[]> => {
    const taken = await takeLeases(sql, owner, partitions, timing.leaseMs);
    if (taken.length > 0) {
      deps.figures.took(taken.length);
      log.info({ partitions: taken.map(({ partition }) => partition) }, 'took partitions');
    }
    return taken;
  };

  const begin = (lease: Lease, isTaken: boolean): RunningPartition => {
    const { partition } = lease;
    const part = startPartition({
      lease,
      isTaken,
      deps,
      mayWork: ownership.mayWork,
      onFenced: () => {
        if (running.get(partition) !== part) return;
        log.warn({ partition }, 'the partition now belongs to another coordinator');
        holding.fenced(partition);
      },
      onGivenUp: () => {
        if (running.get(partition) !== part) return;
        log.error(
          { partition },
          'a partition has stalled: releasing it, to restart here or elsewhere',
        );
        deps.figures.gaveUp();
        holding.stalled(partition, now());
      },
    });
    // What is loaded makes room for more.
    void part.began.then(holding.look);
    return part;
  };

  const holding: Holding = createHolding<RunningPartition>({
    running,
    timing,
    acts: {
      renew: (hasBus) => {
        renewing = renew(hasBus).then(
          (answer) => holding.renewed(answer, now()),
          (error: unknown) => {
            onFailure(error);
            holding.renewed(undefined, now());
          },
        );
      },
      find: () => {
        dividing = freeLeases(sql).then(
          (free) => holding.found(free, now()),
          (error: unknown) => {
            onFailure(error);
            holding.found(undefined, now());
          },
        );
      },
      take: (partitions) => {
        dividing = take(partitions).then(
          (leases) => holding.took(leases, now()),
          (error: unknown) => {
            onFailure(error);
            holding.took(undefined, now());
          },
        );
      },
      release: (partitions) =>
        void releaseLeases(sql, owner, partitions)
          .catch(onFailure)
          .then(() => holding.released(partitions)),
      begin,
      end: (part, leaveCheckpoint) => {
        const { partition } = part.lease;
        ending.set(
          partition,
          stopPartition(part, leaveCheckpoint)
            .catch(onFailure)
            .then(() => {
              ending.delete(partition);
              holding.ended(partition);
            }),
        );
      },
      gaveUp: (partitions, cutOffMs) =>
        log.info(
          { partitions, cut_off_ms: cutOffMs },
          'releasing partitions to another coordinator',
        ),
      startResting: () => {
        log.error(
          'partitions stalled repeatedly: releasing all of them and reconnecting to the bus',
        );
        // A stalled partition may need a new connection before it can end.
        void bus.reconnect().catch(onFailure);
      },
    },
  });
  ownership.mayWork = () => holding.mayWork(now());
  const tick = (): void => holding.tick(now(), bus.isConnected());

  return {
    start: async () => {
      tick();
      await renewing;
      await dividing;
      stops.push(atSharedTick(timing.renewMs, tick));
      if (isClosed) return;
      const again = deps.supervisor.ticker('waiting lines', {
        everyMs: timing.refreshMs,
        tick: async () => {
          for (const partition of await partitionsWaiting(sql, [...running.keys()]))
            void running.get(partition)?.outbox.run();
        },
      });
      const status: Subscription = bus.onStatus((now) => {
        if (now === 'disconnected' || now === 'connected')
          for (const { deliveries } of running.values()) holdAfterReconnect(deliveries);
        if (now === 'connected') for (const { outbox } of running.values()) void outbox.run();
      });
      // This comes first: leases are renewed even before there is a connection for notifications of
      // the database.
      stops.push(again, status);
      const onLine = (line: string): void => {
        const [topic, partition] = line.split(':');
        if ((topic === 'monitor' || topic === 'set_aside') && partition !== undefined)
          void running.get(Number(partition))?.outbox.run();
      };
      const listening = await listenTo(sql, outboxChannel, onLine, { log, signal });
      stops.push({ stop: listening.unlisten });
      const leases = await listenTo(sql, leasesChannel, holding.look, {
        log,
        signal,
      });
      stops.push({ stop: leases.unlisten });
    },
    owns: (partition) => owns(ownership, partition),
    known: () => (ownership.mayWork() ? [...running.values()].map(backlogStateOf) : []),
    tell: async (partition, message) => {
      const held = running.get(partition);
      if (!held) throw new Error(`partition ${partition} belongs to another coordinator`);
      await held.actor.ask(message);
    },
    tellAll: (message) => {
      for (const [partition, held] of running)
        held.actor
          .ask(message)
          .catch((error: unknown) =>
            log.error(
              { err: error, partition, is: message.is },
              'a partition could not process a message',
            ),
          );
    },
    reconcile: () => {
      for (const { reconciling } of running.values()) void reconciling.run();
    },
    held: () => [...running.keys()],
    isResting: () => holding.isResting(now()),
    isCircling: () => circling(holding.history(), now()).length > 0,
    pass: async (partition) => {
      const held = running.get(partition);
      if (!held) throw new Error(`partition ${partition} belongs to another coordinator`);
      await passThrough(held);
    },
    close: async () => {
      isClosed = true;
      await Promise.all(stops.map(({ stop }) => stop()));
      holding.close();
      await Promise.all([renewing, dividing]);
      const isThere = await answersSoon(sql);
      const held = [...running];
      running.clear();
      // Nobody knows when what stalled ends.
      const others = holding.isResting(now()) ? [] : [...ending.values()];
      await Promise.all([...held.map(([, part]) => stopPartition(part, isThere)), ...others]);
      // The others notice by themselves.
      if (!isThere) return;
      await releaseLeases(sql, owner, everyPartition).catch(onFailure);
      await forgetCoordinator(sql, owner).catch(onFailure);
    },
  };
}

const everyPartition = [...Array(partitionCount).keys()];

/**
 * The watchdog's subjects: each partition of this coordinator, and the pulls that read for it from
 * the bus; the leader also reads the pings that create monitors.
 */
export function createPartitionWatchdog(options: {
  readonly bus: Bus;
  readonly partitions: Pick<Partitions, 'held' | 'pass'>;
  readonly timing: Timing;
  readonly isLeader: () => boolean;
}): () => readonly Part[] {
  const { bus, partitions, timing, isLeader } = options;
  const existing = new Map<number, readonly Part[]>();
  const { stalledMs, catchUpMs } = timing;

  const reader = (stream: string, consumer: string, alsoMs = 0): Part => ({
    name: `stream ${consumer}`,
    // Backlog results stay there while other probes may deliver earlier ones.
    mayStandMs: stalledMs + catchUpMs + alsoMs,
    askedEvery: 5,
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

  const creating = reader(streams.pings.name, creatingPingsConsumer.name, longestTurnMs);

  return () => {
    const mine = new Set(partitions.held());
    for (const partition of existing.keys()) if (!mine.has(partition)) existing.delete(partition);
    for (const partition of mine)
      if (!existing.has(partition)) existing.set(partition, partsOf(partition));
    return [...[...existing.values()].flat(), ...(isLeader() ? [creating] : [])];
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
