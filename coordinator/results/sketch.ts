import { type Bytes, pushVarint, readVarint } from './varints.ts';

/**
 * How often which response time occurred, small enough to keep for every hour and place, and
 * mergeable: bucket n counts the times up to 1.04^n tenths of a millisecond. The middle of a bucket
 * is at most 2 % from every time in it.
 */
export type Sketch = Uint32Array;

const growth = Math.log(1.04);
/** The last bucket begins at 14 hours, which no check takes. */
const buckets = 512;

/** A year makes a thousand sketches for a moment: an array of its own for each costs ten times this. */
const perSlab = 64;
let slab = new Uint32Array(0);

export function emptySketch(): Sketch {
  if (slab.length === 0) slab = new Uint32Array(perSlab * buckets);
  const sketch = slab.subarray(0, buckets);
  slab = slab.subarray(buckets);
  return sketch;
}

/** `ticks`: tenths of a millisecond, the resolution that checks are stored with. */
export function countTime(sketch: Sketch, ticks: number): void {
  const bucket = bucketOf(ticks);
  sketch[bucket] = (sketch[bucket] ?? 0) + 1;
}

export function mergeSketch(into: Sketch, from: Sketch): void {
  for (let bucket = 0; bucket < buckets; bucket += 1)
    into[bucket] = (into[bucket] ?? 0) + (from[bucket] ?? 0);
}

/**
 * The time, in milliseconds, that the share `q` of all `total` times does not exceed; at most 2 %
 * from the time of that rank.
 */
export function quantileOf(sketch: Sketch, total: number, q: number): number {
  const rank = Math.max(1, Math.ceil(q * total));
  let bucket = 0;
  for (let below = sketch[0] ?? 0; below < rank && bucket < buckets; below += sketch[bucket] ?? 0)
    bucket += 1;
  return middleOf(bucket) / 10;
}

/** Whether a time is in the bucket of a limit or below, as countWithin() counts it. */
export function isWithin(ticks: number, limit: number): boolean {
  return bucketOf(ticks) <= bucketOf(limit);
}

/** How many times are within a limit, or in its bucket: at most 4 % longer. */
export function countWithin(sketch: Sketch, limit: number): number {
  return sketch.subarray(0, bucketOf(limit) + 1).reduce((sum, count) => sum + count, 0);
}

/**
 * The buckets that count something, each as its distance from the one before and its count; most
 * take one byte. The reader knows the least time and how many there are.
 */
export function writeSketch(sketch: Sketch, least: number, bytes: number[]): void {
  let last = bucketOf(least);
  for (const [bucket, count] of sketch.entries()) {
    if (count === 0) continue;
    pushVarint(bytes, (bucket - last) * shortCounts + Math.min(count, shortCounts) - 1);
    if (count >= shortCounts) pushVarint(bytes, count - shortCounts);
    last = bucket;
  }
}

/** Adds a written sketch of `total` times to another. @throws RangeError when it is damaged. */
export function readSketch(
  reader: Bytes,
  { least, total }: { readonly least: number; readonly total: number },
  into: Sketch,
): void {
  let bucket = bucketOf(least);
  for (let left = total; left > 0; ) {
    const number = readVarint(reader);
    const short = (number % shortCounts) + 1;
    const count = short < shortCounts ? short : short + readVarint(reader);
    bucket += Math.floor(number / shortCounts);
    if (count > left || bucket >= buckets) throw new RangeError('the sketch counts too many times');
    into[bucket] = (into[bucket] ?? 0) + count;
    left -= count;
  }
}

/** Counts below this are written with their bucket. */
const shortCounts = 8;

function bucketOf(ticks: number): number {
  return ticks < 1 ? 0 : Math.min(buckets - 1, 1 + Math.ceil(Math.log(ticks) / growth - 1e-9));
}

/** With the same relative distance to both ends of the bucket. */
function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : (2 * Math.exp((bucket - 1) * growth)) / 2.04;
}
