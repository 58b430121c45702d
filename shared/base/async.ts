export type End = () => Promise<unknown> | unknown;

/**
 * Ends what was begun, the latest first. A failure does not keep the others from ending. @throws
 * the failures, when all have ended.
 */
export async function endAll(ends: readonly End[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of ends.toReversed()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, 'several parts did not end cleanly');
}

type Turns<Key> = <Value>(key: Key, work: () => Promise<Value>) => Promise<Value>;

/**
 * Runs one work after the other for each key, each once the one before has ended, with or without
 * success.
 */
export function createTurns<Key>(): Turns<Key> {
  const last = new Map<Key, Promise<unknown>>();
  return (key, work) => {
    const done = (last.get(key) ?? Promise.resolve()).then(work);
    // The caller receives its failure; the next work only waits for its end.
    const ended = done
      .catch(() => undefined)
      .finally(() => {
        if (last.get(key) === ended) last.delete(key);
      });
    last.set(key, ended);
    return done;
  };
}

/** The same without keys: one work after the other. */
export function createTurn(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const inTurn = createTurns<undefined>();
  return (work) => inTurn(undefined, work);
}

/**
 * A cache of recently used keys in two generations: when the younger is full, the older is dropped.
 * A key that is used again in time stays. It never holds more than twice the limit.
 */
export type RecentCache<Key, Made> = {
  readonly find: (key: Key) => Made | undefined;
  readonly keep: (key: Key, made: Made) => void;
};

export function createRecentCache<Key, Made>(limit: number): RecentCache<Key, Made> {
  let young = new Map<Key, Made>();
  let old = new Map<Key, Made>();
  const keep = (key: Key, made: Made): void => {
    if (young.size >= limit) {
      old = young;
      young = new Map();
    }
    young.set(key, made);
  };
  return {
    keep,
    find: (key) => {
      const found = young.get(key);
      if (found !== undefined) return found;
      const earlier = old.get(key);
      if (earlier !== undefined) keep(key, earlier);
      return earlier;
    },
  };
}

/**
 * Returns the same object for equal values, by their text: always when no more than `most` differ,
 * and otherwise for recent ones.
 */
export function createShared<Value>(limit: number): (text: string, value: Value) => Value {
  const known = createRecentCache<string, Value>(limit);
  return (text, value) => {
    const found = known.find(text);
    if (found === undefined) known.keep(text, value);
    return found ?? value;
  };
}

/**
 * How long to wait before attempt n (0 first): doubles from `first` up to `most`, to spare a broken
 * service.
 */
export function backoff(attempt: number, first: number, limit: number): number {
  return Math.min(limit, first * 2 ** Math.min(attempt, 30));
}

/**
 * Resolves after `ms`, or at once when the signal is aborted. Never rejects: loops end by checking
 * the signal.
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}
