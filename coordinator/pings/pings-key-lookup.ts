import type { Log } from '../../shared/base/log.ts';

/**
 * A question to the database for what is not known by heart, bounded in number and in time: whoever asks is answered "no" rather than kept
 * waiting. A flood of made-up keys reaches no further than so many questions a second, and none while the database is silent.
 *
 * Modes: `asking` → (an answer is overdue) `silent`: nothing is asked → (the answer came, or the connection broke) `asking`.
 */
export type KeyLookup<Row> = (key: string) => Promise<Row | undefined>;

type Parts<Row> = {
  readonly ask: (key: string) => Promise<Row | undefined>;
  readonly log: Log;
  readonly mostPerSecond: number;
  readonly patienceMs: number;
};

export const createKeyLookup = <Row>({ ask, log, mostPerSecond, patienceMs }: Parts<Row>): KeyLookup<Row> => {
  let asked = 0;
  let since = performance.now();
  let overdue = 0;

  const mayAsk = (): boolean => {
    const now = performance.now();
    if (now - since > 1_000) {
      asked = 0;
      since = now;
    }
    asked += 1;
    return overdue === 0 && asked <= mostPerSecond;
  };

  return async (key) => {
    if (!mayAsk()) return undefined;
    const answer = ask(key).catch((error: unknown) => {
      log.warn({ err: error }, 'a heartbeat key could not be looked up');
      return undefined;
    });
    const { promise: patienceOver, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => {
      overdue += 1;
      log.warn('the database does not say whether a heartbeat key exists: whatever is not known by heart is unknown until it does');
      void answer.finally(() => {
        overdue -= 1;
      });
      resolve(undefined);
    }, patienceMs);
    try {
      return await Promise.race([answer, patienceOver]);
    } finally {
      clearTimeout(timer);
    }
  };
};
