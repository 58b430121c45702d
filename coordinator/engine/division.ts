/**
 * How coordinators divide the partitions: what one gives up, and what it takes next. A partition
 * that changes hands costs the bus and the database work, and this must never delay the next
 * change: coordinators would then take partitions from each other without end. So few move at once,
 * those that arrive load before more are taken, and one coordinator's silence is no reason to take
 * all that it held.
 */
export type DivisionInput = {
  readonly now: number;
  readonly leaseMs: number;
  /** Partitions that run here, in order of their start. */
  readonly running: readonly number[];
  /** How many of these still load. */
  readonly loading: number;
  /** How many end here and are not yet released. */
  readonly leaving: number;
  readonly free: readonly FreeLease[];
  readonly share: Share;
  /** It cannot work on its partitions, so it gives up at once what is beyond its share. */
  readonly isUnable: boolean;
  /** For how long it has renewed its leases in time. */
  readonly inTimeMs: number;
  readonly history: History;
};

/** A partition that no coordinator holds, and since when. */
export type FreeLease = { readonly partition: number; readonly freeMs: number };

/** What this coordinator took and gave up in the last minutes. */
export type History = {
  readonly takes: readonly Move[];
  readonly givenUp: readonly Move[];
};
type Move = { readonly partition: number; readonly at: number };

export type Division = { readonly giveUp: readonly number[]; readonly take: readonly number[] };

/** How many may change hands at once. */
const batchSize = 8;
/** A partition that was taken more often than this within the window circles. */
const usualTakes = 3;
const windowMs = 300_000;
/** A partition that was not taken for this long no longer circles. */
const calmMs = 30_000;
/** A partition that was given up is left to others for this many leases. */
const leftLeases = 5;
const longestRestMs = 10_000;

export function divide(input: DivisionInput): Division {
  const { running, leaving, free, share, isUnable } = input;
  const beyond = running.slice(share.keep);
  if (beyond.length === 0) return { giveUp: [], take: taken(input) };
  // More follow when these have an owner.
  const most = isUnable ? beyond.length : Math.max(0, batchSize - leaving - free.length);
  return { giveUp: beyond.slice(0, most), take: [] };
}

function taken({
  now,
  leaseMs,
  running,
  loading,
  free,
  share,
  inTimeMs,
  history,
}: DivisionInput): readonly number[] {
  // Where the database was down, leases are free because nobody could renew them. Their owners
  // renew them now.
  if (inTimeMs < leaseMs) return [];
  const lastAt = history.takes.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  // What loads for longer than a lease waits for a slow bus or database; it must not hold up the
  // partitions that nobody works on.
  const room = batchSize - (now - lastAt < leaseMs ? loading : 0);
  const isLeft = ({ partition, freeMs }: FreeLease): boolean =>
    freeMs < leaseMs &&
    history.givenUp.some(
      (move) => move.partition === partition && now - move.at < leftLeases * leaseMs,
    );
  const mayRun = free.filter((lease) => !isLeft(lease));
  // Each coordinator that is not silent has room for its share of these.
  const orphans = mayRun.filter(({ freeMs }) => freeMs >= leaseMs / 3);
  const isRested = now - lastAt >= restMs(history, now);
  const within = isRested ? mayRun.slice(0, Math.max(0, share.take - running.length)) : [];
  const beyond = share.take === 0 ? [] : orphans.slice(0, Math.max(0, share.keep - running.length));
  const chosen = beyond.length > within.length ? beyond : within;
  return chosen.slice(0, Math.max(0, room)).map(({ partition }) => partition);
}

/** The rest between two batches grows with the number of partitions that come back. */
function restMs(history: History, now: number): number {
  const again = recent(history.takes, now).length - new Set(partitionsOf(history, now)).size;
  return Math.min(longestRestMs, Math.max(0, again - 32) * 100);
}

/** The partitions that this coordinator takes again and again, because another does too. */
export function circling(history: History, now: number): readonly number[] {
  const moves = Map.groupBy(recent(history.takes, now), ({ partition }) => partition);
  return [...moves].flatMap(([partition, takes]) =>
    takes.length > usualTakes && takes.some(({ at }) => now - at < calmMs) ? [partition] : [],
  );
}

function partitionsOf({ takes }: History, now: number): readonly number[] {
  return recent(takes, now).map(({ partition }) => partition);
}

function recent(moves: readonly Move[], now: number): readonly Move[] {
  return moves.filter(({ at }) => now - at < windowMs);
}

export function remember(
  moves: readonly Move[],
  partitions: readonly number[],
  now: number,
): readonly Move[] {
  return [...recent(moves, now), ...partitions.map((partition) => ({ partition, at: now }))];
}

/**
 * How many partitions a coordinator should hold. A coordinator without the bus decides nothing. It
 * still holds its leases, because it has the database, and leaves them to coordinators with the
 * bus. While no coordinator has the bus, none gives up anything.
 */
export type ShareInput = {
  /** How long it has been without the bus; null while it is connected. */
  readonly cutOffMs: number | null;
  readonly others: Others;
  /** By then any other coordinator that lost the bus in the same moment has reported it. */
  readonly reportedWithinMs: number;
};

/**
 * How many other coordinators have the bus: those seen within a lease, and these with those that
 * were silent for longer, but may be back soon.
 */
export type Others = { readonly heard: number; readonly counted: number };

/**
 * `keep`: it gives away what it holds beyond that. `take`: up to there it takes what is free; what
 * stays free it takes up to `keep`. 0 means that it takes nothing.
 */
export type Share = { readonly keep: number; readonly take: number };

/** A silent coordinator counts for this many leases. */
export const countedLeases = 3;

export function fairShare(
  partitions: number,
  { cutOffMs, others, reportedWithinMs: patienceMs }: ShareInput,
): Share {
  if (cutOffMs === null || others.heard === 0)
    return {
      keep: Math.ceil(partitions / (1 + others.heard)),
      take: Math.ceil(partitions / (1 + others.counted)),
    };
  return { keep: cutOffMs < patienceMs ? partitions : 0, take: 0 };
}
