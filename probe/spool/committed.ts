import { partitionCount } from '../../shared/bus/subjects.ts';
import type { SpoolMarks } from './marks.ts';

/**
 * How far each partition is committed.
 *
 * Modes: `remembered` (the disk knows as much) ↔ `changed`.
 */
export type SpoolCommitted = {
  readonly of: (partition: number) => number;
  readonly highest: () => number;
  /** Whether it is news that this partition is committed so far; of what is no partition it never is. */
  readonly rise: (partition: number, seq: number) => boolean;
  /** Writes it down, if there is anything new. */
  readonly remember: () => Promise<void>;
  /** The same, if the last time is a while ago. */
  readonly rememberInTime: () => Promise<void>;
};

/** A probe that is killed in between hands over once more what was committed since, and a repeat changes nothing. */
const rememberEveryMs = 5_000;

export const createSpoolCommitted = (marks: Pick<SpoolMarks, 'committed' | 'remember'>): SpoolCommitted => {
  const committed = new Float64Array(partitionCount);
  for (const [partition, seq] of Object.entries(marks.committed)) committed[Number(partition)] = seq;
  let hasChanged = false;
  let remembered = performance.now();

  const remember = async (): Promise<void> => {
    if (!hasChanged) return;
    hasChanged = false;
    remembered = performance.now();
    const entries = [...committed].flatMap((seq, partition) => (seq > 0 ? [[partition, seq] as const] : []));
    await marks.remember(Object.fromEntries(entries));
  };

  return {
    of: (partition) => committed[partition] ?? 0,
    highest: () => Math.max(...committed),
    rise: (partition, seq) => {
      // Undefined beyond the last partition, and of what is no whole number.
      const before = committed[partition];
      if (before === undefined || seq <= before) return false;
      committed[partition] = seq;
      hasChanged = true;
      return true;
    },
    remember,
    rememberInTime: async () => {
      if (performance.now() - remembered >= rememberEveryMs) await remember();
    },
  };
};
