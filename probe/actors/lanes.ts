/**
 * Bounded concurrency in lanes, so that targets that are slow do not keep those that are fast waiting: checks of targets that were slow lately have
 * a lane of their own, looks another. A check that turns out slow on the fast lane gives its place there back after a second.
 *
 * Modes of a check: queued → on its lane → (fast lane, for over a second) overtime → done.
 */
export type Lane = 'fast' | 'slow' | 'look';

export type Lanes = {
  /** Runs the task when its lane has room. The task must not reject. */
  readonly run: (lane: Lane, task: () => Promise<void>) => void;
  readonly inFlight: () => number;
  readonly close: () => void;
};

/** So many tasks at a time, in order. One that finds room begins at once, as most do. */
const createLimit = (most: number): ((task: () => Promise<void>) => void) => {
  const queue = new Set<() => Promise<void>>();
  let active = 0;
  const begin = (task: () => Promise<void>): void => {
    active += 1;
    void task().then(ended);
  };
  const ended = (): void => {
    active -= 1;
    const [next] = queue;
    if (!next) return;
    queue.delete(next);
    begin(next);
  };
  return (task) => {
    if (active < most) begin(task);
    else queue.add(task);
  };
};

export const slowAfterMs = 1_000;
/** Checks that started close together are released together. */
const leastWaitMs = 100;

export const createLanes = (options: { readonly concurrency: number }): Lanes => {
  const quarter = Math.max(1, Math.floor(options.concurrency / 4));
  const limits = { fast: createLimit(quarter), slow: createLimit(quarter), look: createLimit(quarter) };
  const mostOvertime = quarter;
  let running = 0;
  let overtime = 0;
  /** Checks on the fast lane in order of their start; those that are done are passed over. */
  let started: { readonly at: number; release: (() => void) | undefined }[] = [];
  /** Set while there may be one to release; a probe at rest is not woken for it. */
  let timer: NodeJS.Timeout | undefined;

  const onFastLane = (task: () => Promise<void>): Promise<void> =>
    new Promise((resolve) => {
      const entry: { readonly at: number; release: (() => void) | undefined } = { at: performance.now(), release: resolve };
      started.push(entry);
      timer ??= setTimeout(releaseSlow, slowAfterMs);
      void task().then(() => {
        if (entry.release) resolve();
        else overtime -= 1;
        entry.release = undefined;
      });
    });

  const releaseSlow = (): void => {
    const until = performance.now() - slowAfterMs;
    let passed = 0;
    for (const entry of started) {
      if (entry.release && (entry.at > until || overtime >= mostOvertime)) break;
      passed += 1;
      if (!entry.release) continue;
      const { release } = entry;
      entry.release = undefined;
      overtime += 1;
      release();
    }
    if (passed > 0) started = started.slice(passed);
    const [oldest] = started;
    timer = oldest && setTimeout(releaseSlow, Math.max(leastWaitMs, oldest.at - until));
  };

  return {
    run: (lane, task) => {
      const counted = (): Promise<void> => {
        running += 1;
        return task().then(() => {
          running -= 1;
        });
      };
      limits[lane](lane === 'fast' ? () => onFastLane(counted) : counted);
    },
    inFlight: () => running,
    close: () => clearTimeout(timer),
  };
};
