import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import { atSharedTick } from '../../shared/base/shared-tick.ts';
import type { Clock } from '../../shared/base/time.ts';
import { passText, wholeText } from '../../shared/bus/batch.ts';
import { partitionCount, partitionOf } from '../../shared/bus/subjects.ts';
import type { Result } from '../../shared/checks/result.ts';
import { readIfThere, replaceFile } from '../disk/files.ts';
import {
  createSpoolIndex,
  createSpoolTexts,
  type Location,
  openSegments,
  type SpoolIndex,
  type TakenResults,
  takeAfter,
} from './segments.ts';

export const seqStride = 100_000;

/**
 * The results that the coordinator has not committed yet, on disk before anyone else receives them
 * (rule 6).
 *
 * What is appended is written at once and synced about once a second. While the disk accepts
 * nothing, results wait in memory, bounded, and are offered anyway; each save tries again. Bounded
 * in bytes: the oldest segment is dropped first, and losses are counted. The disk holds every
 * result in the full, original form, so an older probe that is restored can read what a newer one
 * left. In memory, a fast-path pass is the short text that is sent.
 */
export type Spool = {
  readonly generation: string;
  /**
   * Numbers the result and takes it. `undefined`: memory and disk are full; the result is lost and
   * counted.
   */
  readonly append: (
    result: Omit<Result, 'seq'>,
  ) => { readonly seq: number; readonly partition: number } | undefined;
  /** Settles when all that was appended before has been written, or cannot be. Never rejects. */
  readonly save: () => Promise<void>;
  /** The saved results of a partition that wait after `seq`; undefined when there are none. */
  readonly take: (partition: number, seq: number) => Promise<TakenResults | undefined>;
  /** How far each partition is committed: nothing up to there is needed any more. */
  readonly commit: (committed: Readonly<Record<string, number>>) => void;
  readonly committedOf: (partition: number) => number;
  /**
   * The number of the first waiting result of a partition after `seq`; undefined when none waits.
   */
  readonly nextAfter: (partition: number, seq: number) => number | undefined;
  /** The highest number given at all. */
  readonly lastSeq: () => number;
  readonly status: () => {
    readonly waiting: number;
    readonly dropped: number;
    readonly bytes: number;
  };
  /** What must happen about once a second: sync, and remember how far is committed. */
  readonly tick: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const maxUnsaved = 20_000;

export async function openSpool(options: {
  readonly folder: string;
  readonly mostBytes: number;
  readonly segmentBytes?: number;
  readonly log: Log;
}): Promise<Spool> {
  const {
    folder,
    mostBytes,
    log,
    segmentBytes = Math.min(2 * 1024 * 1024, Math.ceil(mostBytes / 4)),
  } = options;
  const marks = await openSpoolMarks(folder);
  const { generation } = marks;
  const committed = createSpoolCommitted(marks);
  const indexes: readonly SpoolIndex[] = Array.from({ length: partitionCount }, createSpoolIndex);
  const indexOf = (partition: number): SpoolIndex => {
    const index = indexes[partition];
    if (!index) throw new Error(`there is no partition ${partition}`);
    return index;
  };
  let waiting = 0;
  let dropped = 0;
  let lastSeq = Math.max(marks.promised(), committed.highest());

  const keep = (line: string, { segment, offset, length }: Location): boolean => {
    const result = readSavedLine(line);
    if (!result) {
      dropped += 1;
      return false;
    }
    const partition = partitionOf(result.monitor);
    lastSeq = Math.max(lastSeq, result.seq);
    if (result.seq <= committed.of(partition)) return false;
    const index = indexOf(partition);
    index.place(index.push(result.seq), segment, offset, length);
    waiting += 1;
    return true;
  };
  const segments = await openSegments({
    folder: join(folder, generation),
    segmentBytes,
    log,
    keep,
  });
  await marks.promise(lastSeq);

  const texts = createSpoolTexts();

  /** Removes a partition's fitting entries from the index, from the oldest on. */
  const shiftWhile = (
    partition: number,
    fits: (index: SpoolIndex) => boolean,
    release: boolean,
  ): number => {
    const index = indexOf(partition);
    let taken = 0;
    while (index.head() < index.tail() && fits(index)) {
      const entry = index.shift();
      if (!entry) break;
      texts.forget(entry.seq);
      if (release && entry.segment > 0) segments.release(entry.segment);
      taken += 1;
    }
    waiting -= taken;
    return taken;
  };

  const makeRoom = async (): Promise<void> => {
    while (segments.bytes() > mostBytes) {
      const gone = await segments.dropOldest();
      if (gone === undefined) return;
      let lost = 0;
      for (let partition = 0; partition < partitionCount; partition += 1) {
        const inIt = (index: SpoolIndex) =>
          index.segmentAt(index.head()) > 0 && index.segmentAt(index.head()) <= gone;
        lost += shiftWhile(partition, inIt, false);
      }
      dropped += lost;
      if (lost > 0) log.warn({ lost }, 'the spool is full: its oldest results are lost');
    }
  };

  const saving = createSpoolWriter({
    append: segments.append,
    isWanted: texts.has,
    onWritten: ({ partition, position }, { segment, offset, length }) => {
      const isWanted = indexOf(partition).place(position, segment, offset, length);
      if (!isWanted) segments.release(segment);
    },
    finish: async () => {
      if (lastSeq + seqStride / 2 > marks.promised()) await marks.promise(lastSeq);
      await makeRoom();
      texts.bound(saving.first() ?? Number.POSITIVE_INFINITY);
    },
    log,
  });

  return {
    generation,
    append: (result) => {
      if (saving.count() >= maxUnsaved) {
        dropped += 1;
        return undefined;
      }
      lastSeq += 1;
      const seq = lastSeq;
      const partition = partitionOf(result.monitor);
      const whole = wholeText(seq, result);
      const line = isTooLong(whole)
        ? wholeText(seq, { ...result, evidence: { left_out: 'too large' } })
        : whole;
      const position = indexOf(partition).push(seq);
      texts.keep(seq, passText(seq, result) ?? line);
      saving.add({ seq, partition, position, line });
      waiting += 1;
      return { seq, partition };
    },
    save: async () => {
      // What came during the last write needs another.
      await saving.settled();
      if (saving.count() > 0 || segments.bytes() > mostBytes) await saving.save();
    },
    take: (partition, seq) =>
      takeAfter(indexOf(partition), seq, { texts, segments, isFailing: saving.isFailing }),
    commit: (marksNow) => {
      for (const [name, seq] of Object.entries(marksNow)) {
        const partition = Number(name);
        if (!committed.rise(partition, seq)) continue;
        shiftWhile(partition, (index) => index.seqAt(index.head()) <= seq, true);
        if (seq <= lastSeq) continue;
        log.warn(
          { partition, committed: seq, lastSeq },
          'more is committed than this spool has sent: it was restored to an earlier state',
        );
        lastSeq = seq;
      }
    },
    committedOf: committed.of,
    nextAfter: (partition, seq) => {
      const index = indexOf(partition);
      const first = index.firstAfter(seq);
      return first < index.tail() ? index.seqAt(first) : undefined;
    },
    lastSeq: () => lastSeq,
    status: () => ({ waiting, dropped, bytes: segments.bytes() }),
    tick: async () => {
      if (saving.count() > 0) await saving.save();
      await segments.sync();
      await committed.rememberInTime();
    },
    close: async () => {
      await saving.settled();
      await saving.save();
      await committed.remember();
      await segments.close();
    },
  };
}

/**
 * What a spool must know of itself across restarts: its generation, the numbers it may have given,
 * and how far is committed. It reserves numbers on disk in advance, so none is ever given twice,
 * not even after a power loss. A generation whose name is lost is never continued.
 */
type SpoolMarks = {
  readonly generation: string;
  /** Numbers up to here may have been given. */
  readonly promised: () => number;
  /** Reserves more numbers, beyond the last that was given. */
  readonly promise: (lastSeq: number) => Promise<void>;
  readonly committed: Readonly<Record<string, number>>;
  readonly remember: (committed: Readonly<Record<string, number>>) => Promise<void>;
};

const spoolFile = z.object({ v: z.literal(1), generation: z.uuid(), promised: z.int().min(0) });
const committedFile = z.object({
  v: z.literal(1),
  generation: z.uuid(),
  committed: z.record(z.string(), z.int().min(0)),
});

export async function openSpoolMarks(folder: string): Promise<SpoolMarks> {
  const [spoolPath, committedPath] = [join(folder, 'spool.json'), join(folder, 'committed.json')];
  const known = parseOr(spoolFile, await readIfThere(spoolPath));
  const generation = known?.generation ?? randomUUID();
  const marks = parseOr(committedFile, await readIfThere(committedPath));
  let promised = known?.promised ?? 0;
  let promising: Promise<void> | undefined;

  const promise = (lastSeq: number): Promise<void> => {
    const upTo = lastSeq + seqStride;
    promising ??= replaceFile(spoolPath, JSON.stringify({ v: 1, generation, promised: upTo }), {
      durable: true,
    })
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
    // Results of a generation with unknown numbers could not be distinguished from those already
    // sent.
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory() && entry.name !== generation)
        await rm(join(folder, entry.name), { recursive: true });
    }
  }

  return {
    generation,
    promised: () => promised,
    promise,
    committed: marks?.generation === generation ? marks.committed : {},
    remember: (committed) =>
      replaceFile(committedPath, JSON.stringify({ v: 1, generation, committed }), {
        durable: false,
      }),
  };
}

function parseOr<Value>(schema: z.ZodType<Value>, text: string | undefined): Value | undefined {
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined; // Unreadable counts as missing: the caller starts from scratch.
  }
}

/** How far each partition is committed. */
type SpoolCommitted = {
  readonly of: (partition: number) => number;
  readonly highest: () => number;
  /**
   * Whether it is news that this partition is committed this far; false for an unknown partition.
   */
  readonly rise: (partition: number, seq: number) => boolean;
  /** Writes it to disk, if anything changed. */
  readonly remember: () => Promise<void>;
  /** The same, if the last time is a while ago. */
  readonly rememberInTime: () => Promise<void>;
};

/** A probe killed in between sends again what was committed since; repeats change nothing. */
const rememberEveryMs = 5_000;

export function createSpoolCommitted(
  marks: Pick<SpoolMarks, 'committed' | 'remember'>,
): SpoolCommitted {
  const committed = new Float64Array(partitionCount);
  for (const [partition, seq] of Object.entries(marks.committed))
    committed[Number(partition)] = seq;
  let hasChanged = false;
  let remembered = performance.now();

  const remember = async (): Promise<void> => {
    if (!hasChanged) return;
    hasChanged = false;
    remembered = performance.now();
    const entries = [...committed].flatMap((seq, partition) =>
      seq > 0 ? [[partition, seq] as const] : [],
    );
    await marks.remember(Object.fromEntries(entries));
  };

  return {
    of: (partition) => committed[partition] ?? 0,
    highest: () => Math.max(...committed),
    rise: (partition, seq) => {
      // Undefined beyond the last partition, and for anything but a whole number.
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
}

const savedLine = z.object({ seq: z.int().min(1), monitor: z.uuid() });

/** The place of a saved line; undefined when the line is torn or damaged. */
export function readSavedLine(
  line: string,
): { readonly seq: number; readonly monitor: string } | undefined {
  return parseOr(savedLine, line);
}

/**
 * Results on their way to the disk, in order.
 *
 * One write at a time; what comes meanwhile goes with the next, so that nobody waits for more than
 * they asked for. What could not be written stays in the queue until a write succeeds.
 */
export type SpoolWriter = {
  readonly add: (entry: Unsaved) => void;
  /** Settles when all that was added before has been written, or cannot be. Never rejects. */
  readonly save: () => Promise<void>;
  readonly count: () => number;
  /** The number of the oldest in the queue. */
  readonly first: () => number | undefined;
  readonly isFailing: () => boolean;
  /** Settles when no write is in progress. */
  readonly settled: () => Promise<void>;
};

export type Unsaved = {
  readonly seq: number;
  readonly partition: number;
  readonly position: number;
  readonly line: string;
};

/** Results in one write. */
const maxWritten = 500;

export function createSpoolWriter(parts: {
  readonly append: (lines: readonly string[]) => Promise<readonly Location[]>;
  /** What was committed or dropped meanwhile needs no disk. */
  readonly isWanted: (seq: number) => boolean;
  readonly onWritten: (entry: Unsaved, place: Location) => void;
  /** What else belongs to a save. */
  readonly finish: () => Promise<void>;
  readonly log: Log;
}): SpoolWriter {
  const { append, isWanted, onWritten, finish, log } = parts;
  const unsaved: Unsaved[] = [];
  let fault: string | undefined;
  let saving: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    if (fault !== undefined)
      unsaved.splice(0, unsaved.length, ...unsaved.filter(({ seq }) => isWanted(seq)));
    let left = unsaved.length;
    while (left > 0) {
      const some = unsaved.slice(0, Math.min(left, maxWritten));
      const wanted = some.filter(({ seq }) => isWanted(seq));
      if (wanted.length > 0) {
        const places = await append(wanted.map(({ line }) => line));
        for (const [at, entry] of wanted.entries()) {
          const place = places[at];
          if (place) onWritten(entry, place);
        }
      }
      unsaved.splice(0, some.length);
      left -= some.length;
    }
    await finish();
  };

  return {
    add: (entry) => unsaved.push(entry),
    save: () => {
      saving ??= write()
        .then(() => {
          if (fault !== undefined) log.info('results are written to the disk again');
          fault = undefined;
        })
        .catch((error: unknown) => {
          const text = error instanceof Error ? error.message : String(error);
          if (fault !== text)
            log.error({ err: error }, 'could not write results to the disk; they wait in memory');
          fault = text;
        })
        .finally(() => {
          saving = undefined;
        });
      return saving;
    },
    count: () => unsaved.length,
    first: () => unsaved[0]?.seq,
    isFailing: () => fault !== undefined,
    settled: async () => {
      if (saving) await saving;
    },
  };
}

/**
 * Longer ones are sent without their evidence: a result must never be too large for a message of
 * the bus.
 */
const maxTextBytes = 128 * 1024;

/** A character has at most three bytes. */
function isTooLong(text: string): boolean {
  return text.length * 3 > maxTextBytes && Buffer.byteLength(text) > maxTextBytes;
}

/**
 * When the spool writes to disk: what came is written in the same turn of the loop, and synced once
 * a second.
 */
type SpoolFolder = {
  /**
   * Writes at once and not when it is sent: a probe killed in between still has the observation.
   */
  readonly saveSoon: () => void;
  /** Settles when no sync is in progress. */
  readonly stop: () => Promise<void>;
};

const syncEveryMs = 1_000;

export function createSpoolFolder(parts: {
  readonly spool: Spool;
  readonly clock: Clock | undefined;
  /** When in the second it syncs: each probe has a different moment. */
  readonly phase: number;
  readonly log: Log;
}): SpoolFolder {
  const { spool, clock, phase, log } = parts;
  let isSaveAsked = false;
  let syncing: Promise<void> | undefined;

  const sync = (): void => {
    syncing ??= spool
      .tick()
      .catch((error: unknown) => log.error({ err: error }, 'could not sync the spool'))
      .finally(() => {
        syncing = undefined;
      });
  };
  const syncer = atSharedTick(syncEveryMs, sync, { clock, phase });

  return {
    saveSoon: () => {
      if (isSaveAsked) return;
      isSaveAsked = true;
      // Results that come in one turn of the loop go in one write.
      setImmediate(() => {
        isSaveAsked = false;
        void spool.save();
      });
    },
    stop: async () => {
      syncer.stop();
      await syncing;
    },
  };
}
