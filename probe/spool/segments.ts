import { write } from 'node:fs';
import { type FileHandle, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createTurn } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import { createLogFile, eachWholeLine } from '../disk/files.ts';

/**
 * Where the waiting results of one partition are, in order of seq: a ring of typed arrays, so an
 * hour's absence costs megabytes of index and not a hundred. Positions count up forever; an entry
 * keeps its position until it is trimmed.
 */
export type SpoolIndex = {
  readonly push: (seq: number) => number;
  /**
   * The entry has been written to a segment (numbered from 1). An entry that was trimmed meanwhile
   * is skipped.
   */
  readonly place: (position: number, segment: number, offset: number, length: number) => boolean;
  readonly head: () => number;
  readonly tail: () => number;
  readonly seqAt: (position: number) => number;
  /** 0 while it is in memory only. */
  readonly segmentAt: (position: number) => number;
  readonly offsetAt: (position: number) => number;
  readonly lengthAt: (position: number) => number;
  /** The position of the first entry with a higher seq; the tail when there is none. */
  readonly firstAfter: (seq: number) => number;
  /** Removes the first entry; `undefined` when there is none. */
  readonly shift: () => { readonly seq: number; readonly segment: number } | undefined;
};

export function createSpoolIndex(): SpoolIndex {
  let capacity = 64;
  let seqs = new Float64Array(capacity);
  let segments = new Int32Array(capacity);
  let offsets = new Int32Array(capacity);
  let lengths = new Int32Array(capacity);
  let head = 0;
  let tail = 0;
  const at = (position: number): number => position % capacity;

  const grow = (): void => {
    const wider = capacity * 2;
    const moved = {
      seqs: new Float64Array(wider),
      segments: new Int32Array(wider),
      offsets: new Int32Array(wider),
      lengths: new Int32Array(wider),
    };
    for (let position = head; position < tail; position += 1) {
      const [from, to] = [at(position), position % wider];
      moved.seqs[to] = seqs[from] ?? 0;
      moved.segments[to] = segments[from] ?? 0;
      moved.offsets[to] = offsets[from] ?? 0;
      moved.lengths[to] = lengths[from] ?? 0;
    }
    ({ seqs, segments, offsets, lengths } = moved);
    capacity = wider;
  };

  const seqAt = (position: number): number => seqs[at(position)] ?? 0;

  return {
    push: (seq) => {
      if (tail - head === capacity) grow();
      seqs[at(tail)] = seq;
      segments[at(tail)] = 0;
      tail += 1;
      return tail - 1;
    },
    place: (position, segment, offset, length) => {
      if (position < head) return false;
      segments[at(position)] = segment;
      offsets[at(position)] = offset;
      lengths[at(position)] = length;
      return true;
    },
    head: () => head,
    tail: () => tail,
    seqAt,
    segmentAt: (position) => segments[at(position)] ?? 0,
    offsetAt: (position) => offsets[at(position)] ?? 0,
    lengthAt: (position) => lengths[at(position)] ?? 0,
    firstAfter: (seq) => {
      let low = head;
      let high = tail;
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if (seqAt(middle) > seq) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    shift: () => {
      if (head === tail) return undefined;
      const first = { seq: seqAt(head), segment: segments[at(head)] ?? 0 };
      head += 1;
      return first;
    },
  };
}

/**
 * The files of the spool: numbered segments that are append-only, and removed whole when nothing in
 * them is needed any more.
 *
 * At most one is being written. One that is full, or was found at the start, or whose write failed
 * is never written again, so only its last line can be torn. It is removed when its count of needed
 * lines is 0, or when the spool needs space.
 */
export type Location = {
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
};

export type Segments = {
  /**
   * Appends lines in one write and returns where each is. @throws when the disk does not accept
   * them: then none of them counts as written.
   */
  readonly append: (lines: readonly string[]) => Promise<Location[]>;
  /** The whole text of a segment, as far as it is written. */
  readonly read: (segment: number) => Promise<Buffer>;
  /** One line of this segment is not needed any more. */
  readonly release: (segment: number) => void;
  /** Removes the oldest segment with its content, and seals it first if it was active. */
  readonly dropOldest: () => Promise<number | undefined>;
  readonly bytes: () => number;
  /** Settles when what was appended before survives a power loss. */
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Segment = { readonly number: number; size: number; wanted: number };

export async function openSegments(options: {
  readonly folder: string;
  /** A segment is sealed at this size. */
  readonly segmentBytes: number;
  readonly log: Log;
  readonly keep: (line: string, place: Location) => boolean;
}): Promise<Segments> {
  const { folder, segmentBytes, log } = options;
  const segments = await recover(folder, options.keep);
  let lastNumber = Math.max(0, ...segments.keys());
  let active: { segment: Segment; handle: FileHandle } | undefined;
  let isDirty = false;
  let cached: { number: number; text: Buffer } | undefined;
  /** One at a time: a file must not be closed while it is being synced. */
  const inTurn = createTurn();

  const remove = (segment: Segment): void => {
    segments.delete(segment.number);
    if (cached?.number === segment.number) cached = undefined;
    rm(fileOf(folder, segment.number), { force: true }).catch((error: unknown) =>
      log.warn({ err: error, segment: segment.number }, 'could not remove a spool segment'),
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
    // The number is used up even if the file cannot be made: a later segment must never come before
    // an earlier one.
    lastNumber += 1;
    const handle = await createLogFile(fileOf(folder, lastNumber));
    const segment = { number: lastNumber, size: 0, wanted: 0 };
    segments.set(lastNumber, segment);
    active = { segment, handle };
    return active;
  };

  const append = async (lines: readonly string[]): Promise<Location[]> => {
    const { segment, handle } = await activeSegment();
    const text = Buffer.from(`${lines.join('\n')}\n`);
    try {
      for (let from = 0; from < text.length; ) from += await written(handle, text, from);
    } catch (error) {
      // The segment may end in half a line now: nothing may follow it.
      // A torn last line does not count, so it may stay.
      await handle.truncate(segment.size).catch(() => undefined);
      await seal().catch((fault: unknown) =>
        log.warn({ err: fault }, 'could not close a spool segment'),
      );
      throw error;
    }
    isDirty = true;
    const places: Location[] = [];
    for (const line of lines) {
      // The length of a single line, by far the most common case, is known.
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
      // The active segment still grows, so its text is not cached.
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
}

/**
 * Reads every whole line of an earlier run's segments, in order; `keep` says whether it is needed.
 * A torn last line does not count.
 */
async function recover(
  folder: string,
  keep: (line: string, place: Location) => boolean,
): Promise<Map<number, Segment>> {
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
}

function fileOf(folder: string, segment: number): string {
  return join(folder, `${String(segment).padStart(10, '0')}.jsonl`);
}

/**
 * Writes from `from` on, at the end of the file, and returns how much was written. Uses a callback,
 * which costs half as much as a handle's own promise.
 */
function written(handle: FileHandle, text: Buffer, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(handle.fd, text, from, text.length - from, null, (error, bytes) =>
      error ? reject(error) : resolve(bytes),
    );
  });
}

/**
 * Texts of results in memory, by number, so what is sent at once is not read back from disk.
 * Bounded in bytes.
 */
type SpoolTexts = {
  readonly keep: (seq: number, text: string) => void;
  readonly of: (seq: number) => string | undefined;
  readonly has: (seq: number) => boolean;
  readonly forget: (seq: number) => void;
  /**
   * Drops the oldest beyond the bound, but none from `firstUnsaved` on: those exist only in memory.
   */
  readonly bound: (firstUnsaved: number) => void;
};

const maxBytes = 8 * 1024 * 1024;

export function createSpoolTexts(): SpoolTexts {
  const texts = new Map<number, string>();
  let bytes = 0;

  const forget = (seq: number): void => {
    const text = texts.get(seq);
    if (text === undefined) return;
    bytes -= text.length;
    texts.delete(seq);
  };

  return {
    forget,
    keep: (seq, text) => {
      texts.set(seq, text);
      bytes += text.length;
    },
    of: (seq) => texts.get(seq),
    has: (seq) => texts.has(seq),
    bound: (firstUnsaved) => {
      if (bytes <= maxBytes) return;
      for (const seq of texts.keys()) {
        if (bytes <= maxBytes || seq >= firstUnsaved) return;
        forget(seq);
      }
    },
  };
}

/** Waiting results of one partition, in order, as texts for batchText(). */
export type TakenResults = {
  /** The waiting result just before these; null when there is none. */
  readonly after: number | null;
  readonly last: number;
  readonly texts: readonly string[];
};

const maxTaken = 500;
const maxTakenBytes = 384 * 1024;

type From = {
  readonly texts: Pick<SpoolTexts, 'of' | 'has'>;
  readonly segments: Pick<Segments, 'read'>;
  /** The disk accepts nothing: results in memory may be sent unsaved. */
  readonly isFailing: () => boolean;
};

/**
 * As many results after `seq` as fit into one batch; undefined when there are none, or they are
 * just being dropped.
 */
export async function takeAfter(
  index: SpoolIndex,
  seq: number,
  from: From,
): Promise<TakenResults | undefined> {
  const first = index.firstAfter(seq);
  if (first >= index.tail()) return undefined;
  const after = first > index.head() ? index.seqAt(first - 1) : null;
  const taken: string[] = [];
  let bytes = 0;
  let last = 0;
  let segment: number | undefined;
  for (let position = first; position < index.tail() && taken.length < maxTaken; position += 1) {
    // Dropped during the read: the next call returns what is left.
    if (position < index.head()) return undefined;
    const entry = index.seqAt(position);
    // A result is not sent before it is on disk, unless the disk accepts nothing.
    if (index.segmentAt(position) === 0 && !from.isFailing()) break;
    if (!from.texts.has(entry)) {
      // Reads one segment at a time for all partitions, not all segments for one.
      segment ??= index.segmentAt(position);
      if (index.segmentAt(position) !== segment) break;
    }
    const text = await textAt(index, position, from);
    bytes += Buffer.byteLength(text);
    if (taken.length > 0 && bytes > maxTakenBytes) break;
    taken.push(text);
    last = entry;
  }
  return taken.length > 0 ? { after, last, texts: taken } : undefined;
}

/**
 * Reads the position of an entry before anything is awaited, because it may be trimmed meanwhile.
 */
async function textAt(
  index: SpoolIndex,
  position: number,
  { texts, segments }: From,
): Promise<string> {
  const text = texts.of(index.seqAt(position));
  if (text !== undefined) return text;
  const [offset, length] = [index.offsetAt(position), index.lengthAt(position)];
  return (await segments.read(index.segmentAt(position))).toString('utf8', offset, offset + length);
}
