/**
 * Bounded concurrency in paces, so slow targets do not make fast ones wait. Checks of recently slow
 * targets have a pace of their own, rechecks another. A check that turns out slow on the fast pace
 * gives up its place there after a second.
 *
 * Modes of a check: queued → on its pace → (fast pace, for over a second) overtime → done.
 */
export type Pace = 'fast' | 'slow' | 'look';

/** A check as its pace sees it. */
export type OnPace = {
  readonly pace: Pace;
  /** Only the paces use it. */
  mode: 'queued' | 'on its lane' | 'overtime' | 'done';
  /** When it began, by `performance.now()`; set by `begin`. */
  began: number;
  /** Called when a place is free. The check calls `done` when it is over, at once or later. */
  readonly begin: () => void;
};

export type Paces = {
  readonly run: (check: OnPace) => void;
  readonly done: (check: OnPace) => void;
  readonly inFlight: () => number;
  readonly close: () => void;
};

/** A check that finds a free place begins at once, as most do; the others wait in order. */
type Places = { taken: number; isFilling: boolean; readonly queue: Set<OnPace> };

export const slowAfterMs = 1_000;
/** Checks that started close together are released together. */
const leastWaitMs = 100;

export const createPaces = (options: { readonly concurrency: number }): Paces => {
  const quarter = Math.max(1, Math.floor(options.concurrency / 4));
  const empty = (): Places => ({ taken: 0, isFilling: false, queue: new Set() });
  const paces = { fast: empty(), slow: empty(), look: empty() };
  const mostOvertime = quarter;
  let running = 0;
  let overtime = 0;
  /** Checks on the fast pace in order of their start; those that are done are skipped. */
  let started: OnPace[] = [];
  /** Set while there may be one to release; a probe at rest does not wake for it. */
  let timer: NodeJS.Timeout | undefined;

  const begin = (places: Places, check: OnPace): void => {
    places.taken += 1;
    running += 1;
    check.mode = 'on its lane';
    check.begin();
    if (check.pace !== 'fast') return;
    started.push(check);
    timer ??= setTimeout(releaseSlow, slowAfterMs);
  };

  /** A check that is over as soon as it begins frees its place while this loop runs. */
  const fill = (places: Places): void => {
    if (places.isFilling) return;
    places.isFilling = true;
    for (const next of places.queue) {
      if (places.taken >= quarter) break;
      places.queue.delete(next);
      begin(places, next);
    }
    places.isFilling = false;
  };

  const free = (places: Places): void => {
    places.taken -= 1;
    if (places.queue.size > 0) fill(places);
  };

  const releaseSlow = (): void => {
    const until = performance.now() - slowAfterMs;
    let passed = 0;
    for (const check of started) {
      const isOnPace = check.mode === 'on its lane';
      if (isOnPace && (check.began > until || overtime >= mostOvertime)) break;
      passed += 1;
      if (!isOnPace) continue;
      check.mode = 'overtime';
      overtime += 1;
      free(paces.fast);
    }
    if (passed > 0) started = started.slice(passed);
    const [oldest] = started;
    timer = oldest && setTimeout(releaseSlow, Math.max(leastWaitMs, oldest.began - until));
  };

  return {
    run: (check) => {
      const places = paces[check.pace];
      if (places.taken < quarter) begin(places, check);
      else places.queue.add(check);
    },
    done: (check) => {
      running -= 1;
      const wasOvertime = check.mode === 'overtime';
      check.mode = 'done';
      if (wasOvertime) overtime -= 1;
      else free(paces[check.pace]);
    },
    inFlight: () => running,
    close: () => clearTimeout(timer),
  };
};
