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
