export type End = () => Promise<unknown> | unknown;

/** Ends what was begun, the latest first. One that fails keeps no other from ending. @throws what failed, when all have ended. */
export const endAll = async (ends: readonly End[]): Promise<void> => {
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
};

export type Turns<Key> = <Value>(key: Key, work: () => Promise<Value>) => Promise<Value>;

/** Does one work after the other for each key, each once the one before has ended, well or not. */
export const createTurns = <Key>(): Turns<Key> => {
  const last = new Map<Key, Promise<unknown>>();
  return (key, work) => {
    const done = (last.get(key) ?? Promise.resolve()).then(work);
    // Whoever asked for it hears of its failure; the next only waits for its end.
    const ended = done
      .catch(() => undefined)
      .finally(() => {
        if (last.get(key) === ended) last.delete(key);
      });
    last.set(key, ended);
    return done;
  };
};

/** The same without keys: one work after the other. */
export const createTurn = (): (<Value>(work: () => Promise<Value>) => Promise<Value>) => {
  const inTurn = createTurns<undefined>();
  return (work) => inTurn(undefined, work);
};

/**
 * Remembers what was made for the keys that were asked for lately: in two generations, of which the older goes when the younger is full. What is
 * asked for again in time stays; however many keys there are, no more than twice so many are held.
 */
export type RecentCache<Key, Made> = {
  readonly find: (key: Key) => Made | undefined;
  readonly keep: (key: Key, made: Made) => void;
};

export const createRecentCache = <Key, Made>(most: number): RecentCache<Key, Made> => {
  let young = new Map<Key, Made>();
  let old = new Map<Key, Made>();
  const keep = (key: Key, made: Made): void => {
    if (young.size >= most) {
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
};

/** Gives for equal values the same one, by their text: always when no more than so many differ, and else for those that came lately. */
export const createShared = <Value>(most: number): ((text: string, value: Value) => Value) => {
  const known = createRecentCache<string, Value>(most);
  return (text, value) => {
    const found = known.find(text);
    if (found === undefined) known.keep(text, value);
    return found ?? value;
  };
};

/** How long to wait before attempt n (0 first): doubling from `first` up to `most`, so that a broken part is not hammered. */
export const backoff = (attempt: number, first: number, most: number): number => Math.min(most, first * 2 ** Math.min(attempt, 30));

/** Resolves after `ms`, or at once when the signal is aborted; never rejects, so that loops can end by looking at the signal. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
