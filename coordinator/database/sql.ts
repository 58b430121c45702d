import { codeOf } from '../../shared/base/errors.ts';
import { executeAll, type Queryable, type Sql, type Transaction } from './connect.ts';

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
  const own = sql.access.openLongRunning();
  try {
    const done = await own.begin(async (transaction) => {
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

const attempts = 5;

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
      return await sql.begin(work);
    } catch (error) {
      if (attempt >= attempts || !isConflict(error)) throw error;
    }
  }
}

/** A transaction that may COPY, on a connection of its own. */
export async function inCopyTransaction<Result>(
  sql: Sql,
  mode: string,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const own = sql.access.openCopying();
  try {
    return await own.begin(mode, work);
  } finally {
    await own.end({ timeout: 5 });
  }
}

/** The database rolled back one of two conflicting transactions; it wrote nothing. */
function isConflict(error: unknown): boolean {
  return /^40...$/.test(codeOf(error));
}

/** A part of a transaction: nothing of it is left when it fails, or unless it `stays`. */
export async function inSavepoint<Result>(
  transaction: Transaction,
  work: (part: Transaction) => Promise<{ readonly result: Result; readonly stays: boolean }>,
): Promise<Result> {
  const undo = (): Promise<void> =>
    executeAll([transaction`rollback to savepoint part`, transaction`release savepoint part`]);
  await transaction`savepoint part`;
  try {
    const { result, stays } = await work(transaction);
    await (stays ? executeAll([transaction`release savepoint part`]) : undo());
    return result;
  } catch (error) {
    if (!transaction.session.isLost) await undo();
    throw error;
  }
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

/** What a statement counts. */
export async function countOf(
  counted: PromiseLike<readonly { readonly count: number }[]>,
): Promise<number> {
  const [row] = await counted;
  return row?.count ?? 0;
}

/**
 * JSON that Postgres accepts: it stores neither NUL nor halves of surrogate pairs, and a target may
 * send both.
 */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, inside: unknown) =>
    typeof inside === 'string' ? inside.toWellFormed().replaceAll('\u0000', '\ufffd') : inside,
  );
}

/**
 * Milliseconds since the epoch of a timestamptz. date_part counts in floating point, which is exact
 * here, and twice as fast as extract.
 */
export function ms(sql: Queryable, column: string) {
  const known = msOf.get(column);
  if (known !== undefined) return known;
  const made = sql.unsafe(`(date_part('epoch', ${column}) * 1000)::bigint`);
  msOf.set(column, made);
  return made;
}

/** A page needs twenty, always the same: they have no parameters. */
const msOf = new Map<string, ReturnType<Queryable['unsafe']>>();
