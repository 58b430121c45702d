import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { partitionCount } from '../../shared/bus/bus-subjects.ts';
import { readIfThere, replaceFile } from '../disk/disk.ts';

/**
 * What a spool must know of itself across restarts: its generation, which numbers it may have given, and how far is committed. Numbers are
 * promised on disk ahead, so that none is ever given twice, not even after a loss of power; a generation whose name is lost is never continued.
 */
type SpoolMarks = {
  readonly generation: string;
  /** Numbers up to here may have been given. */
  readonly promised: () => number;
  /** Promises more numbers, beyond the last that was given. */
  readonly promise: (lastSeq: number) => Promise<void>;
  readonly committed: Readonly<Record<string, number>>;
  readonly remember: (committed: Readonly<Record<string, number>>) => Promise<void>;
};

export const seqStride = 100_000;

const spoolFile = z.object({ v: z.literal(1), generation: z.uuid(), promised: z.int().min(0) });
const committedFile = z.object({ v: z.literal(1), generation: z.uuid(), committed: z.record(z.string(), z.int().min(0)) });
const savedLine = z.object({ seq: z.int().min(1), monitor: z.uuid() });

const parseOr = <Value>(schema: z.ZodType<Value>, text: string | undefined): Value | undefined => {
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined; // Unreadable is as good as not there: the caller begins anew.
  }
};

/** What of a saved line places it; undefined when it is torn or damaged. */
export const readSavedLine = (line: string): { readonly seq: number; readonly monitor: string } | undefined => parseOr(savedLine, line);

export const openSpoolMarks = async (folder: string): Promise<SpoolMarks> => {
  const [spoolPath, committedPath] = [join(folder, 'spool.json'), join(folder, 'committed.json')];
  const known = parseOr(spoolFile, await readIfThere(spoolPath));
  const generation = known?.generation ?? randomUUID();
  const marks = parseOr(committedFile, await readIfThere(committedPath));
  let promised = known?.promised ?? 0;
  let promising: Promise<void> | undefined;

  const promise = (lastSeq: number): Promise<void> => {
    const upTo = lastSeq + seqStride;
    promising ??= replaceFile(spoolPath, JSON.stringify({ v: 1, generation, promised: upTo }), { durable: true })
      .then(() => {
        promised = upTo;
      })
      .finally(() => {
        promising = undefined;
      });
    return promising;
  };

  if (!known) {
    await promise(0);
    promised = 0;
    // Results of a generation whose numbers are not known any more could not be told from those that were handed over.
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory() && entry.name !== generation) await rm(join(folder, entry.name), { recursive: true });
    }
  }

  return {
    generation,
    promised: () => promised,
    promise,
    committed: marks?.generation === generation ? marks.committed : {},
    remember: (committed) => replaceFile(committedPath, JSON.stringify({ v: 1, generation, committed }), { durable: false }),
  };
};

/**
 * How far each partition is committed.
 *
 * Modes: `remembered` (the disk knows as much) ↔ `changed`.
 */
type SpoolCommitted = {
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
