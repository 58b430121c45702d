/**
 * How many partitions a coordinator should hold. Who has lost the bus decides about nothing, but holds its leases all the same, because the
 * database is there: it leaves them to those who have it. While nobody has it, nobody gives up anything.
 */
export type Standing = {
  /** For how long it has been without the bus; null while it has it. */
  readonly cutOffMs: number | null;
  /** How many others live and have the bus. */
  readonly others: number;
  /** Whoever lost the bus in the same moment has said so by then. */
  readonly patienceMs: number;
};

/** `most`: what it holds beyond that it gives away; `takes`: whether it takes free ones up to there. */
export type FairShare = { readonly most: number; readonly takes: boolean };

export const fairShare = (partitions: number, { cutOffMs, others, patienceMs }: Standing): FairShare => {
  if (cutOffMs === null) return { most: Math.ceil(partitions / (1 + others)), takes: true };
  if (others === 0) return { most: partitions, takes: true };
  return { most: cutOffMs < patienceMs ? partitions : 0, takes: false };
};
