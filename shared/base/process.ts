import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import manifest from '../../package.json' with { type: 'json' };
import { codeOf } from './errors.ts';

/**
 * Keeps V8's heap close to what lives in it. V8 lets the old space grow to four times that before it collects, and its young space with what
 * is under way, and keeps to such limits long after there is little to do. What is collected late is more than the heap: the buffers of sockets
 * go with it, and memory that malloc once had it hardly ever gives back.
 *
 * Modes: `busy` (the limits are the program's, see `Lean`) → (the heap is worth it, and the loop had room for some seconds) `settling` (what is free is collected in small steps and given back) →
 * `calm` (half of what lives may lie about as garbage) where still much lives, else `busy`; `calm` → (the loop is full) `busy`.
 */
export type LeanHeap = {
  /** Called once a second with the share of it that the loop was at work, and what the heap takes. */
  readonly tick: (utilization: number, heapBytes: number) => void;
  /** Back to V8's own way. */
  readonly release: () => void;
};

export type Lean = {
  /** So much garbage may come to what lives before it is collected, in percent, by what the heap takes; 0 leaves that to V8. */
  readonly growth: (heapBytes: number) => number;
  /** What takes less could not give back what settling costs. */
  readonly settlesFrom: number;
  /** Where less than this is left by settling, nothing is kept calm. */
  readonly calmFrom: number;
};

const mib = 1_024 * 1_024;

/** The coordinator's garbage is buffers for a good part: of small heaps half, which costs nothing that can be measured, of large ones as much as lives. */
export const leanCoordinator: Lean = {
  growth: (heapBytes) => (heapBytes < 64 * mib ? 50 : 100),
  settlesFrom: 48 * mib,
  calmFrom: 48 * mib,
};

/**
 * Checks make a heap of 50 MB of which 30 live, whatever their number. To keep that small costs a sixth of all that a check takes, because code
 * that was compiled goes with the garbage; only what a great many monitors take is worth it. But what thousands of assignments and first looks
 * leave behind is given back.
 */
export const leanProbe: Lean = { growth: () => 0, settlesFrom: 80 * mib, calmFrom: 128 * mib };

type Mode = 'busy' | 'settling' | 'calm';

/** Where no object of a form is left for two collections, V8 forgets the form, and all that was optimized for it: with so many collections, what is run every second. */
const keepCode = '--retain-maps-for-n-gc=100';

const ownFlags = ['--heap-growing-percent=0', '--no-optimize-for-size', '--retain-maps-for-n-gc=2'];

const flagsOf = (mode: Mode, growth: number): readonly string[] => {
  // Has V8's memory reducer begin, which looks every eight seconds, also while something is made.
  if (mode === 'settling') return ['--heap-growing-percent=30', '--optimize-for-size', keepCode];
  const percent = mode === 'calm' ? 50 : growth;
  return percent === 0 ? ownFlags : [`--heap-growing-percent=${percent}`, '--no-optimize-for-size', keepCode];
};

const fullAbove = 0.5;
/** What takes less than this, a look through all monitors for example, changes nothing. */
const turnsAfterSeconds = 3;
const settlingSeconds = 25;
/** A heap of which little was left, and that is as large again soon, needs what it takes. */
const settlesAgainAfterSeconds = 600;

export const createLeanHeap = (setFlag: (flag: string) => void, lean: Lean): LeanHeap => {
  let mode: Mode = 'busy';
  let set: readonly string[] = ownFlags;
  /** For how many seconds the loop has been full, and has had room since. */
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
      // What was broken off is begun again as soon as there is room, and so is what a full loop ended.
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
  // What node keeps of compiled code at the end is thrown away at the next start if it was compiled under other flags.
  process.once('exit', heap.release);
};

/** Why nothing can listen there, in words for whoever chose HOST and PORT; undefined for an error that is about something else. */
export const listenObstacle = (error: unknown, port: number, host: string): string | undefined => {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') return `port ${port} is taken`;
  if (code === 'EACCES') return `port ${port} is not for this user`;
  const isAboutHost = error instanceof Error && 'syscall' in error && (error.syscall === 'listen' || error.syscall === 'getaddrinfo');
  if (!isAboutHost) return undefined;
  return `HOST=${host} is no address of this machine (${code}): 127.0.0.1 is for this machine alone, 0.0.0.0 for all networks that it is in`;
};

/**
 * Makes a folder and those above it that are not there, for a place that a person chose: Node's own `recursive` never comes back where a
 * folder takes no other one and calls that "no such file", as `/proc` does. @throws when it cannot be made.
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

/** The version of everything in this package; it travels in user agents, presence and documents. */
export const version: string = manifest.version;
