import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's old space close to what lives in it. While much is made, V8 lets it grow to four times that, which costs the least CPU; but it
 * keeps to such a limit long after there is little to do.
 *
 * Modes: `busy` (V8's own way) → (the heap is worth it, and the loop had room for some seconds) `settling` (what is free is collected in small steps and given back) →
 * `calm` (half of what lives may lie about as garbage) → (the loop is full) `busy`.
 */
export type LeanHeap = {
  /** Called once a second with the share of it that the loop was at work, and what the heap takes. */
  readonly tick: (utilization: number, heapBytes: number) => void;
  /** Back to V8's own way. */
  readonly release: () => void;
};

type Mode = 'busy' | 'settling' | 'calm';

/** Where no object of a form is left for two collections, V8 forgets the form, and all that was optimized for it: with so many collections, what is run every second. */
const keepCode = '--retain-maps-for-n-gc=100';

const flags: Readonly<Record<Mode, readonly string[]>> = {
  busy: ['--heap-growing-percent=0', '--no-optimize-for-size', '--retain-maps-for-n-gc=2'],
  // Has V8's memory reducer begin, which looks every eight seconds, also while something is made.
  settling: ['--heap-growing-percent=30', '--optimize-for-size', keepCode],
  calm: ['--heap-growing-percent=50', '--no-optimize-for-size', keepCode],
};

const fullAbove = 0.5;
/** What takes less than this, a look through all monitors for example, changes nothing. */
const turnsAfterSeconds = 3;
const settlingSeconds = 25;
/** What less than this could give back is not worth the CPU. */
const usualLeastBytes = 48 * 1_024 * 1_024;

export const createLeanHeap = (setFlag: (flag: string) => void, leastBytes = usualLeastBytes): LeanHeap => {
  let mode: Mode = 'busy';
  /** For how many seconds the loop has been full, and has had room since. */
  let full = 0;
  let roomy = 0;

  const turn = (to: Mode): void => {
    if (to === mode) return;
    mode = to;
    for (const flag of flags[to]) setFlag(flag);
  };

  return {
    tick: (utilization, heapBytes) => {
      full = utilization > fullAbove ? full + 1 : 0;
      if (full >= turnsAfterSeconds) roomy = 0;
      else if (full === 0 && (mode !== 'busy' || heapBytes >= leastBytes)) roomy += 1;
      if (roomy === 0) turn('busy');
      else if (roomy >= turnsAfterSeconds + settlingSeconds) turn('calm');
      else if (roomy >= turnsAfterSeconds) turn('settling');
    },
    release: () => turn('busy'),
  };
};

/** For as long as this process runs. */
export const keepHeapLean = (leastBytes?: number): void => {
  const heap = createLeanHeap(setFlagsFromString, leastBytes);
  let before = performance.eventLoopUtilization();
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    heap.tick(performance.eventLoopUtilization(now, before).utilization, getHeapStatistics().total_heap_size);
    before = now;
  };
  setInterval(look, 1_000).unref();
  // What node keeps of compiled code at the end is thrown away at the next start if it was compiled under other flags.
  process.once('exit', heap.release);
};
