/**
 * One after the other for each organisation. The database's lock alone would do for the data, but everyone who waits for it there
 * holds a connection, and one busy organisation could take all of them from the others.
 */
export type Turns = <Result>(organisation: string, work: () => Promise<Result>) => Promise<Result>;

export const createTurns = (): Turns => {
  const last = new Map<string, Promise<unknown>>();
  return (organisation, work) => {
    const before = last.get(organisation) ?? Promise.resolve();
    const mine = before.then(work);
    // Whoever comes next waits for the end, not for a success.
    const ended = mine.then(
      () => undefined,
      () => undefined,
    );
    last.set(organisation, ended);
    void ended.then(() => {
      if (last.get(organisation) === ended) last.delete(organisation);
    });
    return mine;
  };
};
