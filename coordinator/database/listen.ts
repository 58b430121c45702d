import pg from 'pg';
import type { Log } from '../../shared/base/log.ts';
import type { Sql } from './connect.ts';
import { isRetryable } from './startup.ts';

export type Listening = { readonly unlisten: () => Promise<void> };

type More = {
  readonly log: Pick<Log, 'warn'>;
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called each time when it begins: what was said before, no one heard. */
  readonly onListening?: () => void;
};

/**
 * Listens to a channel of the database, from when it settles until `unlisten`, also after its
 * connection was lost. It waits while there is no connection. @throws when the database refuses, or
 * the signal aborts the wait.
 */
export async function listenTo(
  sql: Sql,
  channel: string,
  hear: (line: string) => void,
  { log, signal, onListening }: More,
): Promise<Listening> {
  signal?.throwIfAborted();
  const there = Promise.withResolvers<void>();
  let isThere = false;
  const unlisten = sql.access.listener.add(channel, {
    hear,
    onListening: () => {
      isThere = true;
      there.resolve();
      onListening?.();
    },
    onFailure: (error) => {
      if (isThere) return;
      if (isRefusal(error))
        there.reject(new Error(`the database refuses LISTEN ${channel}`, { cause: error }));
      else if (!isRetryable(error)) there.reject(error);
      else
        log.warn(
          { err: error, channel },
          'could not listen for notifications of the database; retrying',
        );
    },
  });
  const end = (): void => there.reject(signal?.reason);
  signal?.addEventListener('abort', end, { once: true });
  try {
    await there.promise;
  } catch (error) {
    await unlisten();
    throw error;
  } finally {
    signal?.removeEventListener('abort', end);
  }
  return { unlisten };
}

/** The connection stays up. */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(FATAL|PANIC)$/.test(error.severity ?? '');
}
