/** Does one work after the other, each once the one before has ended, well or not. */
export const createTurn = (): (<Value>(work: () => Promise<Value>) => Promise<Value>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    // Whoever asked for it hears of its failure; the next only waits for its end.
    last = done.catch(() => undefined);
    return done;
  };
};
