import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import manifest from '../../package.json' with { type: 'json' };
import { codeOf } from './errors.ts';

/**
 * Keeps V8's heap close to its live size. V8 lets the old space grow to four times that before it
 * collects, grows its young space with the load, and keeps such limits long after the load is gone.
 * Late collection costs more than the heap: the buffers of sockets are freed with it, and malloc
 * rarely returns memory to the system.
 *
 * Modes: `busy` (the limits are the program's, see `Lean`) → (the heap is large enough, and the
 * loop had free time for some seconds) `settling` (garbage is collected in small steps and
 * returned) → `calm` (garbage may reach half of the live size) if much is live, else `busy`; `calm`
 * → (the loop is full) `busy`.
 */
export type LeanHeap = {
  /** Called once a second with the loop's utilization and the heap's size. */
  readonly tick: (utilization: number, heapBytes: number) => void;
  /** Returns to V8's defaults. */
  readonly release: () => void;
};

export type Lean = {
  /**
   * How much garbage may accumulate before collection, in percent of the live size, by the heap's
   * size; 0 leaves that to V8.
   */
  readonly growth: (heapBytes: number) => number;
  /** A smaller heap could not return enough memory to pay for settling. */
  readonly settlesFrom: number;
  /** If settling leaves less than this, the heap does not stay calm. */
  readonly calmFrom: number;
};

const mib = 1_024 * 1_024;

/**
 * A good part of the coordinator's garbage is buffers. Small heaps may grow by half, which costs
 * nothing measurable, large ones by their live size.
 */
export const leanCoordinator: Lean = {
  growth: (heapBytes) => (heapBytes < 64 * mib ? 50 : 100),
  settlesFrom: 48 * mib,
  calmFrom: 48 * mib,
};

/**
 * Checks make a heap of 50 MB of which 30 are live, whatever their number. Keeping it smaller costs
 * a sixth of a check's total, because compiled code is collected with the garbage; only the memory
 * of very many monitors is worth that. But what thousands of assignments and first checks leave
 * behind is returned.
 */
export const leanProbe: Lean = { growth: () => 0, settlesFrom: 80 * mib, calmFrom: 128 * mib };

type Mode = 'busy' | 'settling' | 'calm';

/**
 * When two collections find no object of a hidden class, V8 drops the class with all code optimized
 * for it. With this many collections, it would drop code that runs every second.
 */
const keepCode = '--retain-maps-for-n-gc=100';

const ownFlags = ['--heap-growing-percent=0', '--no-optimize-for-size', '--retain-maps-for-n-gc=2'];

const flagsOf = (mode: Mode, growth: number): readonly string[] => {
  // Starts V8's memory reducer, which checks every eight seconds, even while the program allocates.
  if (mode === 'settling') return ['--heap-growing-percent=30', '--optimize-for-size', keepCode];
  const percent = mode === 'calm' ? 50 : growth;
  return percent === 0 ? ownFlags : [`--heap-growing-percent=${percent}`, '--no-optimize-for-size', keepCode];
};

const fullAbove = 0.5;
/** Shorter phases, such as a pass over all monitors, change nothing. */
const turnsAfterSeconds = 3;
const settlingSeconds = 25;
/** A heap that settling shrank and that is soon as large again needs its memory. */
const settlesAgainAfterSeconds = 600;

export const createLeanHeap = (setFlag: (flag: string) => void, lean: Lean): LeanHeap => {
  let mode: Mode = 'busy';
  let set: readonly string[] = ownFlags;
  /** For how many seconds the loop has been full, and has had free time since. */
  let full = 0;
  let roomy = 0;
  let sinceSettledToLittle = Number.POSITIVE_INFINITY;

  const put = (flags: readonly string[]): void => {
    for (const flag of flags) if (!set.includes(flag)) setFlag(flag);
    set = flags;
  };

  const next = (heapBytes: number): Mode => {
    if (full >= turnsAfterSeconds) return 'busy';
    if (mode === 'busy') {
      const isWorth = heapBytes >= lean.settlesFrom && sinceSettledToLittle >= settlesAgainAfterSeconds;
      return roomy >= turnsAfterSeconds && isWorth ? 'settling' : 'busy';
    }
    if (mode === 'calm' || roomy < turnsAfterSeconds + settlingSeconds) return mode;
    return heapBytes >= lean.calmFrom ? 'calm' : 'busy';
  };

  put(flagsOf('busy', lean.growth(0)));
  return {
    tick: (utilization, heapBytes) => {
      full = utilization > fullAbove ? full + 1 : 0;
      if (full >= turnsAfterSeconds) roomy = 0;
      else if (full === 0) roomy += 1;
      const to = next(heapBytes);
      if (to === 'settling' && mode === 'busy') roomy = turnsAfterSeconds;
      // An aborted settling starts again as soon as there is time; so does one that a full loop
      // ended.
      sinceSettledToLittle = mode === 'settling' && to === 'busy' && roomy > 0 ? 0 : sinceSettledToLittle + 1;
      mode = to;
      put(flagsOf(mode, lean.growth(heapBytes)));
    },
    release: () => put(ownFlags),
  };
};

/** For as long as this process runs. */
export const keepHeapLean = (lean: Lean): void => {
  const heap = createLeanHeap(setFlagsFromString, lean);
  let before = performance.eventLoopUtilization();
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    heap.tick(performance.eventLoopUtilization(now, before).utilization, getHeapStatistics().total_heap_size);
    before = now;
  };
  setInterval(look, 1_000).unref();
  // Node writes its compile cache at exit. The next start would reject code compiled under other
  // flags.
  process.once('exit', heap.release);
};

/**
 * Why nothing can listen there, in words for the operator who chose HOST and PORT; undefined for
 * any other error.
 */
export const listenObstacle = (error: unknown, port: number, host: string): string | undefined => {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') return `port ${port} is taken`;
  if (code === 'EACCES') return `port ${port} is not for this user`;
  const isAboutHost = error instanceof Error && 'syscall' in error && (error.syscall === 'listen' || error.syscall === 'getaddrinfo');
  if (!isAboutHost) return undefined;
  return `HOST=${host} is no address of this machine (${code}): 127.0.0.1 is for this machine alone, 0.0.0.0 for all networks that it is in`;
};

/**
 * Makes a folder and its missing parents, at a path that a user chose. Node's own `recursive` never
 * returns where a folder accepts no subfolder and reports "no such file", as `/proc` does. @throws
 * when it cannot be made.
 */
export const makeFolder = (folder: string, mode = 0o700): void => {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
    const above = dirname(folder);
    if (codeOf(error) !== 'ENOENT' || existsSync(above)) throw error;
    makeFolder(above, mode);
    makeFolder(folder, mode);
  }
};

/** The version of everything in this package, sent in user agents, presence and documents. */
export const version: string = manifest.version;
