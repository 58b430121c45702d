import postgres from 'postgres';
import { Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import { type Sql, wayOf } from './store-database.ts';
import { LostConnection } from './store-database-line.ts';

/**
 * How long a caller waits for a database that says nothing at all, on any connection. The watch asks it something every 3 s, so that one which only
 * takes long over a question is heard meanwhile.
 */
const patienceMs = 4_000;

type Asking<Asked extends readonly unknown[], Told> = (...asked: Asked) => Promise<Told>;

/** The same asking, refused with `unavailable` where the database is what does not answer. */
export type Patiently = <Asked extends readonly unknown[], Told>(ask: Asking<Asked, Told>) => Asking<Asked, Told>;

/** What callers are told while the database is away. */
export const unavailable = (): Refusal =>
  new Refusal(
    'unavailable',
    'The database does not answer right now. Try again in a moment; look first whether what you asked for was done all the same.',
  );

/** Whether the connection failed, or the server goes down or comes up: nothing is wrong with what was asked. */
const isAway = (error: unknown): boolean => {
  if (error instanceof postgres.PostgresError) return error.code.startsWith('57P0');
  return error instanceof LostConnection || (error instanceof Error && 'code' in error && String(error.code).startsWith('CONNECT'));
};

/**
 * Callers are answered soon while the database is not. Modes: `there` → (a caller waited, and nothing was heard from the database for as long)
 * `away`: nothing new is asked, for it would lie there until the database is back, and be done then → (anything is heard) `there`.
 */
export const createPatience = ({ sql, log }: { readonly sql: Sql; readonly log: Pick<Log, 'info' | 'warn'> }): Patiently => {
  const { sockets } = wayOf(sql);
  let awaySince: number | undefined;

  const isSilent = (): boolean => {
    if (awaySince === undefined) return false;
    if (sockets.heardAt() <= awaySince) return true;
    awaySince = undefined;
    log.info({}, 'the database answers callers again');
    return false;
  };

  /** Rejects when nothing has been heard for so long. */
  const silence = (signal: AbortSignal): Promise<never> => {
    const { promise, reject } = Promise.withResolvers<never>();
    const begin = performance.now();
    const look = (isSecond = false): void => {
      if (signal.aborted) return;
      const left = Math.max(begin, sockets.heardAt()) + patienceMs - performance.now();
      if (left > 0) {
        const timer = setTimeout(look, left);
        signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
      } else if (isSecond) {
        if (awaySince === undefined) log.warn({}, 'the database does not answer, and callers are told so');
        awaySince = performance.now();
        reject(unavailable());
      } else {
        // A process that stood still reads what came meanwhile before this second look.
        setImmediate(() => look(true));
      }
    };
    look();
    return promise;
  };

  return (ask) =>
    async (...asked) => {
      if (isSilent()) throw unavailable();
      const done = new AbortController();
      try {
        return await Promise.race([ask(...asked), silence(done.signal)]);
      } catch (error) {
        throw isAway(error) ? unavailable() : error;
      } finally {
        done.abort();
      }
    };
};
