import postgres from 'postgres';
import { codeOf } from '../../shared/base/errors.ts';
import { poolOf, type Queryable, type Sql, type Transaction } from './connect.ts';
import { LostConnection } from './line.ts';

/** Any numbers will do, as long as they differ and are the same in every version. */
const numbers = {
  migrations: 7_405_021,
  /** Two that create the same day of results at once would block each other. */
  resultDays: 7_405_022,
  /** Publishing heartbeat keys alone ensures that no outdated key is published. */
  pingKeys: 7_301,
  /** Two that replace SECRET_KEY at once would each make a newest key. */
  secretKey: 7_405_023,
  /** Two would delete each other's files in progress. */
  backups: 7_405_024,
} as const;

/**
 * Waits until no other transaction, of this coordinator or another, does the same; holds the lock
 * until this one ends.
 */
export async function takeAdvisoryLock(
  transaction: Transaction,
  what: keyof typeof numbers,
): Promise<void> {
  await transaction`select pg_advisory_xact_lock(${numbers[what]})`;
}

/** How often the lock's own transaction sends something: the database ends an idle one. */
const signOfLifeMs = 2_000;

/**
 * Runs `work` under the lock for as long as it takes; undefined when another process holds the
 * lock.
 */
export async function withAdvisoryLock<Result>(
  sql: Sql,
  what: keyof typeof numbers,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  const own = poolOf(sql).openLongRunning();
  try {
    const done = await once(own, async (transaction) => {
      const [row] = await transaction<
        { mine: boolean }[]
      >`select pg_try_advisory_xact_lock(${numbers[what]}) as mine`;
      if (!row?.mine) return undefined;
      // A failure shows when the transaction ends.
      const alive = setInterval(
        () => void transaction`select 1`.catch(() => undefined),
        signOfLifeMs,
      );
      try {
        return { result: await work() };
      } finally {
        clearInterval(alive);
      }
    });
    return done?.result;
  } finally {
    await own.end({ timeout: 5 });
  }
}

export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, (mark) => `\\${mark}`);
}

/**
 * A text to search for literally. The database accepts no NUL and no half of a surrogate pair. A
 * control character replaces NUL; it occurs in no name, so nothing is found.
 */
export function searchText(text: string): string {
  return text.replaceAll('\0', '\u0001').toWellFormed();
}

/** No one types more words than this; each must be found. */
const maxWords = 8;

export function wordsOf(search: string): readonly string[] {
  return search
    .toLowerCase()
    .replaceAll('\0', '')
    .toWellFormed()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, maxWords);
}

const attempts = 5;

const never = new Promise<never>(() => undefined);

/**
 * One transaction. When its connection is lost, its caller learns so at once. The client never
 * does: it would send a rollback or a commit to a closed socket, which ends the process. The server
 * has rolled back by itself.
 */
async function once<Result>(
  sql: Sql,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const cutOff = Promise.withResolvers<never>();
  let isGone = false;
  const lose = (error: unknown): void => {
    isGone = true;
    cutOff.reject(error);
  };
  const done = sql.begin(async (transaction) => {
    try {
      const result = await work(guarded(transaction, () => isGone, lose));
      return isGone ? await never : { result };
    } catch (error) {
      if (!isGone && !isCutOff(error)) throw error;
      lose(error);
      return never;
    }
  });
  // The connection may be lost while the work waits for something else, such as the bus; the work
  // itself would not show it.
  const watched = done.catch((error: unknown) => {
    isGone ||= isCutOff(error);
    throw error;
  });
  return (await Promise.race([watched, cutOff.promise])).result;
}

/** The codes of a lost connection; those of a refusal do not count. */
function isCutOff(error: unknown): boolean {
  return (
    error instanceof LostConnection || /^CONNECTION_(CLOSED|ENDED|DESTROYED)$/.test(codeOf(error))
  );
}

/**
 * The same transaction, whose statements fail once its connection is gone. The client would write
 * them to a closed socket, which ends the process, or to the next session, outside of any
 * transaction. Its own rollback to a savepoint is such a statement, so a savepoint of a lost
 * transaction never ends.
 */
function guarded(
  transaction: Transaction,
  isGone: () => boolean,
  lose: (error: unknown) => void,
): Transaction {
  return new Proxy(transaction, {
    apply: (target, self, parts) => guardQuery(Reflect.apply(target, self, parts), isGone, lose),
    get: (target, key) => {
      if (key === 'unsafe')
        return (...call: Parameters<Transaction['unsafe']>) =>
          guardQuery(target.unsafe(...call), isGone, lose);
      if (key === 'savepoint')
        return (work: (part: Transaction) => Promise<unknown>) =>
          target.savepoint(async (part) => {
            try {
              return await work(guarded(part, isGone, lose));
            } catch (error) {
              if (!isGone() && !isCutOff(error)) throw error;
              lose(error);
              return await never;
            }
          });
      return Reflect.get(target, key);
    },
  });
}

/**
 * The same statement, which is sent by the first who waits for it. Parts of other statements are
 * statements that nobody waits for.
 */
function guardQuery<Query>(
  query: Query,
  isGone: () => boolean,
  lose: (error: unknown) => void,
): Query {
  if (!(query instanceof Promise)) return query;
  const waited = (): Promise<unknown> => {
    const done = isGone()
      ? Promise.reject(
          new LostConnection('the connection of the transaction was lost', 'CONNECTION_CLOSED'),
        )
      : query.then(undefined, (error: unknown) => {
          // Before its caller, who may send another statement, learns of it.
          if (isCutOff(error)) lose(error);
          throw error;
        });
    // As for every query of a transaction, someone need not wait for it.
    done.catch(() => undefined);
    return done;
  };
  const shown = new Proxy(query, {
    get: (target, key) => {
      if (key === 'then' || key === 'catch' || key === 'finally') {
        const done = waited();
        return done[key].bind(done);
      }
      if (key === 'execute') return waited;
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return (...call: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, call);
        return result === target ? shown : result;
      };
    },
  });
  return shown;
}

/**
 * One transaction, run again after a conflict. Operations lock their organisation first, but the
 * engine's writer holds rows too, and may take locks in the other order. `work` must do nothing
 * that a rollback does not undo.
 */
export async function inTransaction<Result>(
  sql: Sql,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once(sql, work);
    } catch (error) {
      if (attempt >= attempts || !isConflict(error)) throw error;
    }
  }
}

/** The database rolled back one of two conflicting transactions; it wrote nothing. */
function isConflict(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code.startsWith('40');
}

/** A part of a transaction: nothing of it is left when it fails, or unless it `stays`. */
export async function inSavepoint<Result>(
  transaction: Transaction,
  work: (part: Transaction) => Promise<{ readonly result: Result; readonly stays: boolean }>,
): Promise<Result> {
  const undo = new Error('undone');
  const done = Promise.withResolvers<Result>();
  await transaction
    .savepoint(async (part) => {
      const { result, stays } = await work(part);
      done.resolve(result);
      if (!stays) throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return done.promise;
}

/**
 * A time as text in UTC, "2026-11-20T10:00:00.123456" in JSON's quotes, whatever the server's
 * settings; no fraction when it is whole. To make a Date of a text and a text of the Date would
 * cost a quarter of a page of monitors.
 */
export function utcText(sql: Queryable, column: string) {
  return sql`to_json(${sql.unsafe(column)} at time zone 'UTC')::text`;
}

/** Turns that text into ISO with milliseconds and Z, as answers have it. */
export function isoOf(text: string): string {
  return `${text.slice(1, 20)}.${text.slice(21, -1).slice(0, 3).padEnd(3, '0')}Z`;
}

/**
 * A literal of the statement: for a parameter the database expects a tenth of all rows, so it
 * considers a new plan for every call cheaper than a shared one, and makes one each time.
 */
export function limited(sql: Queryable, limit: number) {
  return sql`limit ${sql.unsafe(String(Math.trunc(limit)))}`;
}
