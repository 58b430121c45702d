/**
 * Where the waiting results of one partition lie, in order of seq: a ring of typed arrays, so that an hour's absence costs megabytes of index
 * and not a hundred. Positions count up for ever; an entry keeps its position until it is trimmed.
 */
export type SpoolIndex = {
  readonly push: (seq: number) => number;
  /** The entry has been written to a segment (numbered from 1). An entry that was trimmed meanwhile is passed over. */
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
  /** Takes the first entry out; `undefined` when there is none. */
  readonly shift: () => { readonly seq: number; readonly segment: number } | undefined;
};

export const createSpoolIndex = (): SpoolIndex => {
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
};
