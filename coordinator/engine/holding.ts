import { partitionCount } from '../../shared/bus/subjects.ts';
import {
  type Division,
  divide,
  type FreeLease,
  fairShare,
  type History,
  type Others,
  remember,
} from './division.ts';
import type { Lease } from './queries.ts';

/**
 * Which partitions a coordinator holds, and what it does about them. It decides at once and waits
 * for nothing: whoever acts for it tells it later what came of each act. So a bus or a database that
 * answers late delays what was asked of it, and never the renewal of the leases.
 *
 * Modes of a partition: (free) → take → loading → running → end → `ending` → (released) → free.
 * `handed over`: it is released when it has ended. `abandoned`: it was released before, because
 * nobody knows when it will end. `lost`: another coordinator has it.
 */
export type Holding = {
  /** Renews the leases. What was asked before and is not answered yet is not asked again. */
  readonly tick: (now: number, hasBus: boolean) => void;
  /** `undefined`: the database did not answer. The same holds for the following answers. */
  readonly renewed: (answer: Renewal | undefined, now: number) => void;
  /** Something may be free, or there may be room for it. */
  readonly look: () => void;
  readonly found: (free: readonly FreeLease[] | undefined, now: number) => void;
  readonly took: (leases: readonly Lease[] | undefined, now: number) => void;
  readonly released: (partitions: readonly number[]) => void;
  readonly ended: (partition: number) => void;
  /** Another coordinator has it, as a commit found. */
  readonly fenced: (partition: number) => void;
  readonly stalled: (partition: number, now: number) => void;
  /** Whether the leases hold by our own clock. */
  readonly mayWork: (now: number) => boolean;
  readonly isResting: (now: number) => boolean;
  readonly history: () => History;
  /** Takes, gives up and renews nothing any more. */
  readonly close: () => void;
};

export type Renewal = {
  readonly others: Others;
  /** All that this coordinator owns. */
  readonly leases: readonly Lease[];
};

/** What it needs to know of a partition that runs here. */
export type Held = {
  readonly lease: Lease;
  readonly mode: 'loading' | 'loaded' | 'leaving' | 'stopped';
  /** `renewing`: the epoch in the database may be newer than that of `lease`. */
  readonly epoch: 'unused' | 'used' | 'renewing';
};

export type HoldingActions<Part extends Held> = {
  readonly renew: (hasBus: boolean) => void;
  readonly find: () => void;
  readonly take: (partitions: readonly number[]) => void;
  readonly release: (partitions: readonly number[]) => void;
  /** `isTaken`: nothing was ever sent under this lease. */
  readonly begin: (lease: Lease, isTaken: boolean) => Part;
  readonly end: (part: Part, leaveCheckpoint: boolean) => void;
  /** For the log. */
  readonly gaveUp: (partitions: readonly number[], cutOffMs: number | null) => void;
  /** Too much stalled here: what all partitions have in common is recreated. */
  readonly startResting: () => void;
};

type HoldingTiming = { readonly leaseMs: number; readonly stallMs: number };

/**
 * After this many stalls, within this many stall timeouts, the coordinator itself is the likely
 * cause.
 */
const maxStalls = 3;
const withinTimeouts = 10;
/** It takes its share again after this many stall timeouts. */
const restTimeouts = 2;

export function createHolding<Part extends Held>({
  running,
  timing: { leaseMs, stallMs },
  acts,
}: {
  /** By partition; changed here alone. */
  readonly running: Map<number, Part>;
  readonly timing: HoldingTiming;
  readonly acts: HoldingActions<Part>;
}): Holding {
  const ending = new Map<number, 'handed over' | 'abandoned' | 'lost'>();
  /** Leases that we hold and that are for others now. */
  const leaving = new Set<number>();
  let renewal: Asked<Part> | undefined;
  let dividing: 'not' | 'once' | 'again' = 'not';
  let isReleasing = false;
  let isClosed = false;
  let others: Others = { heard: 0, counted: 0 };
  let history: History = { takes: [], givenUp: [] };
  let validUntil: number | undefined;
  /** When it renewed its leases after they had expired. */
  let lapsedAt = Number.NEGATIVE_INFINITY;
  /** Since when there is no bus. */
  let cutOffAt: number | undefined;
  /** When partitions stalled; simultaneous stalls count once. */
  let stalls: readonly number[] = [];
  let restsUntil = Number.NEGATIVE_INFINITY;

  const mayWork = (now: number): boolean =>
    !isClosed && validUntil !== undefined && now < validUntil;
  const isResting = (now: number): boolean => now < restsUntil;

  const begin = (lease: Lease, isTaken: boolean): void => {
    const { partition } = lease;
    // It must finish its work before it starts again, so that it never runs twice.
    if (running.has(partition) || ending.has(partition) || leaving.has(partition)) return;
    running.set(partition, acts.begin(lease, isTaken));
  };
  const end = (partition: number, how: 'handed over' | 'abandoned' | 'lost'): void => {
    const part = running.get(partition);
    if (!part) return;
    running.delete(partition);
    ending.set(partition, how);
    acts.end(part, how === 'handed over');
    if (how === 'abandoned') release([partition]);
  };
  const release = (partitions: readonly number[]): void => {
    for (const partition of partitions) leaving.add(partition);
    if (isReleasing || leaving.size === 0) return;
    isReleasing = true;
    acts.release([...leaving]);
  };
  const look = (): void => {
    if (isClosed) return;
    if (dividing !== 'not') dividing = 'again';
    else {
      dividing = 'once';
      acts.find();
    }
  };
  const divided = (): void => {
    const isAskedAgain = dividing === 'again';
    dividing = 'not';
    if (isAskedAgain) look();
  };

  const divisionOf = (
    free: readonly FreeLease[],
    now: number,
  ): Division & { readonly cutOffMs: number | null } => {
    const cutOffMs = isResting(now)
      ? Number.POSITIVE_INFINITY
      : cutOffAt === undefined
        ? null
        : now - cutOffAt;
    const division = divide({
      now,
      leaseMs,
      running: [...running.keys()],
      loading: [...running.values()].filter(({ mode }) => mode === 'loading').length,
      leaving: ending.size,
      free: free.filter(({ partition }) => !ending.has(partition) && !leaving.has(partition)),
      share: fairShare(partitionCount, { cutOffMs, others, reportedWithinMs: 2 * leaseMs }),
      isUnable: cutOffMs !== null,
      inTimeMs: now - lapsedAt,
      history,
    });
    return { ...division, cutOffMs };
  };

  return {
    tick: (now, hasBus) => {
      if (isClosed || renewal) return;
      cutOffAt = hasBus ? undefined : (cutOffAt ?? now);
      renewal = {
        at: now,
        parts: [...running].map(([partition, part]) => ({ partition, part, lease: part.lease })),
        ending: new Set([...ending.keys(), ...leaving]),
      };
      acts.renew(hasBus && !isResting(now));
    },
    renewed: (answer, now) => {
      const asked = renewal;
      renewal = undefined;
      if (!asked || !answer || isClosed) return;
      others = answer.others;
      if (validUntil !== undefined && validUntil < asked.at) lapsedAt = now;
      validUntil = asked.at + leaseMs;
      const epochs = new Map(answer.leases.map(({ partition, epoch }) => [partition, epoch]));
      for (const { partition, part, lease } of asked.parts)
        if (
          // What starts, ends or gets a new epoch meanwhile is left for the next time.
          running.get(partition) === part &&
          part.lease === lease &&
          part.epoch !== 'renewing' &&
          epochs.get(partition) !== lease.epoch
        )
          end(partition, 'lost');
      for (const lease of answer.leases)
        if (!asked.ending.has(lease.partition)) begin(lease, false);
      look();
    },
    look,
    found: (free, now) => {
      if (!free || !mayWork(now)) return divided();
      const { giveUp, take, cutOffMs } = divisionOf(free, now);
      if (giveUp.length > 0) {
        acts.gaveUp(giveUp, cutOffMs);
        // What it cannot work on now it may have back as soon as it can.
        if (cutOffMs === null)
          history = { ...history, givenUp: remember(history.givenUp, giveUp, now) };
        for (const partition of giveUp)
          end(partition, isResting(now) ? 'abandoned' : 'handed over');
      }
      if (take.length === 0) return divided();
      acts.take(take);
    },
    took: (leases = [], now) => {
      if (!isClosed) {
        const partitions = leases.map(({ partition }) => partition);
        history = { ...history, takes: remember(history.takes, partitions, now) };
        for (const lease of leases) begin(lease, true);
      }
      divided();
    },
    released: (partitions) => {
      // Where this failed, the next renewal finds that we hold them, and they start again here.
      for (const partition of partitions) leaving.delete(partition);
      isReleasing = false;
      release([]);
    },
    ended: (partition) => {
      const how = ending.get(partition);
      ending.delete(partition);
      if (how === 'handed over') release([partition]);
      look();
    },
    fenced: (partition) => end(partition, 'lost'),
    stalled: (partition, now) => {
      if (isClosed) return;
      if (now - (stalls.at(-1) ?? Number.NEGATIVE_INFINITY) >= stallMs / 2)
        stalls = [...stalls.filter((at) => now - at < withinTimeouts * stallMs), now];
      // That it restarts says nothing about other coordinators.
      history = { ...history, takes: history.takes.filter((take) => take.partition !== partition) };
      end(partition, 'abandoned');
      if (stalls.length < maxStalls) return;
      stalls = [];
      restsUntil = now + restTimeouts * stallMs;
      acts.startResting();
      look();
    },
    mayWork,
    isResting,
    history: () => history,
    close: () => {
      isClosed = true;
    },
  };
}

/** What ran and what ended here when the leases were asked for. */
type Asked<Part> = {
  readonly at: number;
  readonly parts: readonly {
    readonly partition: number;
    readonly part: Part;
    readonly lease: Lease;
  }[];
  readonly ending: ReadonlySet<number>;
};
