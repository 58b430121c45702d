import postgres from 'postgres';
import type { Log } from '../../shared/base/log.ts';
import type { Sql } from './connect.ts';
import { isRetryable } from './startup.ts';

export type Listening = { readonly unlisten: () => Promise<void> };

type More = {
  readonly log: Pick<Log, 'warn'>;
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Listens to a channel of the database, from when it settles until `unlisten`, also after its
 * connection was lost. It waits while there is no connection: the client (postgres.js 3.4.9)
 * rejects the call and nevertheless goes on asking by itself, so a second call would hear
 * everything twice. @throws when the database refuses, or the signal aborts the wait.
 */
export async function listenTo(
  sql: Sql,
  channel: string,
  hear: (line: string) => void,
  { log, signal }: More,
): Promise<Listening> {
  let isOver = false;
  const there = Promise.withResolvers<void>();
  const asked = sql.listen(
    channel,
    (line) => {
      if (!isOver) hear(line);
    },
    there.resolve,
  );
  asked.catch((error: unknown) => {
    if (isRefusal(error))
      there.reject(new Error(`the database refuses LISTEN ${channel}`, { cause: error }));
    else if (!isRetryable(error)) there.reject(error);
    else
      log.warn(
        { err: error, channel },
        'could not listen for notifications of the database; retrying',
      );
  });
  const end = (): void => there.reject(signal?.reason);
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { once: true });
  try {
    await there.promise;
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    signal?.removeEventListener('abort', end);
  }
  return {
    unlisten: async () => {
      isOver = true;
      // A rejected call has nothing to unlisten: what the client asks by itself ends with the pool.
      await (await asked.catch(() => undefined))?.unlisten();
    },
  };
}

/** The connection stays up, so that the client sees no reason to ask again. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof postgres.PostgresError &&
    error.severity !== 'FATAL' &&
    error.severity !== 'PANIC'
  );
}
