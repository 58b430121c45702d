import type { SpoolIndex } from './spool-index-ring.ts';
import type { Segments } from './spool-segments.ts';

/** Texts of results in memory, by their number, so that what is handed over at once is not read back from the disk. Bounded in bytes. */
type SpoolTexts = {
  readonly keep: (seq: number, text: string) => void;
  readonly of: (seq: number) => string | undefined;
  readonly has: (seq: number) => boolean;
  readonly forget: (seq: number) => void;
  /** Forgets the oldest beyond the bound, but none from `firstUnsaved` on: memory is all that these are in. */
  readonly bound: (firstUnsaved: number) => void;
};

const mostBytes = 8 * 1024 * 1024;

export const createSpoolTexts = (): SpoolTexts => {
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
      if (bytes <= mostBytes) return;
      for (const seq of texts.keys()) {
        if (bytes <= mostBytes || seq >= firstUnsaved) return;
        forget(seq);
      }
    },
  };
};

/** Results of one partition that wait, in order, as texts that batchText() takes. */
export type Taken = {
  /** The result that waits just before these; null when none does. */
  readonly after: number | null;
  readonly last: number;
  readonly texts: readonly string[];
};

const mostTaken = 500;
const mostTakenBytes = 384 * 1024;

type From = {
  readonly texts: Pick<SpoolTexts, 'of' | 'has'>;
  readonly segments: Pick<Segments, 'read'>;
  /** The disk takes nothing: what is in memory only may go. */
  readonly isFailing: () => boolean;
};

/** Where the bytes of an entry lie is asked for before anything is awaited: it may be trimmed meanwhile. */
const textAt = async (index: SpoolIndex, position: number, { texts, segments }: From): Promise<string> => {
  const text = texts.of(index.seqAt(position));
  if (text !== undefined) return text;
  const [offset, length] = [index.offsetAt(position), index.lengthAt(position)];
  return (await segments.read(index.segmentAt(position))).toString('utf8', offset, offset + length);
};

/** As many as one batch may hold of those after `seq`; undefined when there are none, or they are just being dropped. */
export const takeAfter = async (index: SpoolIndex, seq: number, from: From): Promise<Taken | undefined> => {
  const first = index.firstAfter(seq);
  if (first >= index.tail()) return undefined;
  const after = first > index.head() ? index.seqAt(first - 1) : null;
  const taken: string[] = [];
  let bytes = 0;
  let last = 0;
  let segment: number | undefined;
  for (let position = first; position < index.tail() && taken.length < mostTaken; position += 1) {
    if (position < index.head()) return undefined; // Dropped while we read: the next call sees what is left.
    const entry = index.seqAt(position);
    // Nobody hears of a result before it is on disk, unless the disk takes nothing.
    if (index.segmentAt(position) === 0 && !from.isFailing()) break;
    if (!from.texts.has(entry)) {
      // One segment at a time is read for all partitions, not all segments for one.
      segment ??= index.segmentAt(position);
      if (index.segmentAt(position) !== segment) break;
    }
    const text = await textAt(index, position, from);
    bytes += Buffer.byteLength(text);
    if (taken.length > 0 && bytes > mostTakenBytes) break;
    taken.push(text);
    last = entry;
  }
  return taken.length > 0 ? { after, last, texts: taken } : undefined;
};
