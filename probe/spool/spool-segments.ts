import { write } from 'node:fs';
import { type FileHandle, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createTurn } from '../../shared/base/in-turn.ts';
import type { Log } from '../../shared/base/log.ts';
import { createLogFile, eachWholeLine } from '../disk/disk.ts';

/**
 * The files of the spool: numbered segments that are only appended to, and removed whole when nothing in them is wanted any more.
 *
 * Modes of a segment: `active` (the one that is written; at most one) → `sealed` (full, or a write to it failed, or found at start: never written
 * again, so a torn line can only be its last) → removed when its count of wanted lines is 0, or when the spool must make room.
 */
export type Place = { readonly segment: number; readonly offset: number; readonly length: number };

export type Segments = {
  /** Appends lines in one write and says where each lies. @throws when the disk does not take them: then none of them counts as written. */
  readonly append: (lines: readonly string[]) => Promise<Place[]>;
  /** The whole text of a segment, as far as it is written. */
  readonly read: (segment: number) => Promise<Buffer>;
  /** One line of this segment is not wanted any more. */
  readonly release: (segment: number) => void;
  /** The oldest segment, sealed if it was active, and removed with all that is in it. */
  readonly dropOldest: () => Promise<number | undefined>;
  readonly bytes: () => number;
  /** Settles when what was appended before outlives a loss of power. */
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Segment = { readonly number: number; size: number; wanted: number };

const fileOf = (folder: string, segment: number): string => join(folder, `${String(segment).padStart(10, '0')}.jsonl`);

/** Every whole line of the segments of an earlier run, in order; `keep` says whether it is wanted. A torn last line is no line. */
const recover = async (folder: string, keep: (line: string, place: Place) => boolean): Promise<Map<number, Segment>> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const segments = new Map<number, Segment>();
  const numbers = (await readdir(folder))
    .filter((name) => /^\d{10}\.jsonl$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .toSorted((a, b) => a - b);
  for (const number of numbers) {
    const text = await readFile(fileOf(folder, number));
    const segment: Segment = { number, size: text.length, wanted: 0 };
    eachWholeLine(text, (line, offset, length) => {
      if (keep(line, { segment: number, offset, length })) segment.wanted += 1;
    });
    if (segment.wanted === 0) await rm(fileOf(folder, number));
    else segments.set(number, segment);
  }
  return segments;
};

/** Writes from `from` on, at the end of the file, and says how much of it: by a callback, which costs half of what a handle's own promise does. */
const written = (handle: FileHandle, text: Buffer, from: number): Promise<number> =>
  new Promise((resolve, reject) => {
    write(handle.fd, text, from, text.length - from, null, (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });

export const openSegments = async (options: {
  readonly folder: string;
  /** A segment that has grown to this is sealed. */
  readonly segmentBytes: number;
  readonly log: Log;
  readonly keep: (line: string, place: Place) => boolean;
}): Promise<Segments> => {
  const { folder, segmentBytes, log } = options;
  const segments = await recover(folder, options.keep);
  let lastNumber = Math.max(0, ...segments.keys());
  let active: { segment: Segment; handle: FileHandle } | undefined;
  let isDirty = false;
  let cached: { number: number; text: Buffer } | undefined;
  /** One at a time, so that a file is not closed while it is being synced. */
  const inTurn = createTurn();

  const remove = (segment: Segment): void => {
    segments.delete(segment.number);
    if (cached?.number === segment.number) cached = undefined;
    rm(fileOf(folder, segment.number), { force: true }).catch((error: unknown) =>
      log.warn({ err: error, segment: segment.number }, 'a segment of the spool could not be removed'),
    );
  };

  const seal = async (): Promise<void> => {
    if (!active) return;
    const { segment, handle } = active;
    active = undefined;
    try {
      if (isDirty) await handle.datasync();
    } finally {
      isDirty = false;
      await handle.close();
      if (segment.wanted === 0) remove(segment);
    }
  };

  const activeSegment = async (): Promise<{ segment: Segment; handle: FileHandle }> => {
    if (active && active.segment.size >= segmentBytes) await seal();
    if (active) return active;
    // The number is spent even if the file cannot be made: a later segment must never lie before an earlier one.
    lastNumber += 1;
    const handle = await createLogFile(fileOf(folder, lastNumber));
    const segment = { number: lastNumber, size: 0, wanted: 0 };
    segments.set(lastNumber, segment);
    active = { segment, handle };
    return active;
  };

  const append = async (lines: readonly string[]): Promise<Place[]> => {
    const { segment, handle } = await activeSegment();
    const text = Buffer.from(`${lines.join('\n')}\n`);
    try {
      for (let from = 0; from < text.length; ) from += await written(handle, text, from);
    } catch (error) {
      // Half a line may stand there now: nothing may follow it.
      await handle.truncate(segment.size).catch(() => undefined); // A torn last line is no line, so it may as well stay.
      await seal().catch((fault: unknown) => log.warn({ err: fault }, 'a segment of the spool could not be closed well'));
      throw error;
    }
    isDirty = true;
    const places: Place[] = [];
    for (const line of lines) {
      // Of a single line, by far the most common, the length is known.
      const length = lines.length === 1 ? text.length - 1 : Buffer.byteLength(line);
      places.push({ segment: segment.number, offset: segment.size, length });
      segment.size += length + 1;
    }
    segment.wanted += lines.length;
    if (cached?.number === segment.number) cached = undefined;
    return places;
  };

  return {
    append: (lines) => inTurn(() => append(lines)),
    read: async (number) => {
      if (cached?.number === number) return cached.text;
      const text = await readFile(fileOf(folder, number));
      // The active one still grows: what is read now does not hold for long.
      if (active?.segment.number !== number && segments.has(number)) cached = { number, text };
      return text;
    },
    release: (number) => {
      const segment = segments.get(number);
      if (!segment) return;
      segment.wanted -= 1;
      if (segment.wanted === 0 && active?.segment !== segment) remove(segment);
    },
    dropOldest: () =>
      inTurn(async () => {
        const oldest = segments.values().next().value;
        if (!oldest) return undefined;
        if (active?.segment === oldest) await seal();
        remove(oldest);
        return oldest.number;
      }),
    bytes: () => {
      let sum = 0;
      for (const { size } of segments.values()) sum += size;
      return sum;
    },
    sync: () =>
      inTurn(async () => {
        if (!active || !isDirty) return;
        isDirty = false;
        await active.handle.datasync();
      }),
    close: () => inTurn(seal),
  };
};
