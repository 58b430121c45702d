import postgres from 'postgres';
import { backoff, pause } from '../../shared/base/async.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { codeOf, Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import { isPassing, type Sql, wayOf } from './connect.ts';
import { LostConnection } from './line.ts';
import { inTransaction } from './sql.ts';

/** Why a database could not be entered, in words for the person who gave its address. Never the password. */

type Place = { readonly at: string; readonly user: string; readonly database: string };

const placeOf = (url: string): Place => {
  if (!URL.canParse(url)) return { at: 'that address', user: 'the user', database: 'of that name' };
  const { host, hostname, port, username, pathname } = new URL(url);
  return { at: port === '' ? `${host}:5432` : host, user: decodeURIComponent(username) || hostname, database: pathname.slice(1) };
};

const unreachable = ['ECONNREFUSED', 'CONNECT_TIMEOUT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET', 'EPIPE', 'ENOENT'];
const nameless = ['ENOTFOUND', 'EAI_AGAIN'];
const lost = ['CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECTION_SILENT'];

/**
 * Whether waiting may help: nobody answers yet, or who answers is starting, full, or about to take over. A password, a name of a database or a
 * certificate that is wrong stays so.
 */
export const mayCome = (error: unknown): boolean => {
  const code = codeOf(error);
  return [...unreachable, ...nameless, ...lost].includes(code) || (/^[0-9A-Z]{5}$/.test(code) && isPassing(error));
};

/** undefined when the error is not about getting in. */
export const whyNoEntry = (error: unknown, url: string): string | undefined => {
  const { at, user, database } = placeOf(url);
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  if (unreachable.includes(code)) return `nothing answers at ${at} (${code}): check host and port, and that a Postgres runs there`;
  if (lost.includes(code))
    return `what answers at ${at} closed the connection or fell silent (${said}): look whether a Postgres runs there`;
  if (nameless.includes(code)) return `the host ${at.replace(/:\d+$/, '')} is not known: check its name`;
  if (code.startsWith('28')) return `the Postgres at ${at} does not let ${user} in (${said}): check user and password`;
  if (code === '3D000') return `the Postgres at ${at} has no database ${database}: create it, or name another`;
  if (code === '42501') return `the Postgres at ${at} does not let ${user} make tables (${said}): use a user who owns the database`;
  if (mayCome(error)) return `the Postgres at ${at} cannot be used right now (${said})`;
  return undefined;
};

/** What to throw in the place of an error of the first use of a database. */
export const entryFault = (error: unknown, url: string): unknown => {
  const why = whyNoEntry(error, url);
  return why === undefined ? error : new ConfigurationFault([`DATABASE_URL: ${why}`]);
};

type Waiting = { readonly url: string; readonly log: Pick<Log, 'info' | 'warn'>; readonly signal: AbortSignal };

const firstPauseMs = 200;
const longestPauseMs = 2_000;
/** Who reads the log hears of it at once, of another reason at once, and of the same one at growing distances. */
const firstDistanceMs = 10_000;
const longestDistanceMs = 600_000;

/** Rejects when the signal ends the waiting. */
const endedBy = (signal: AbortSignal): Promise<never> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  // It may end when nobody waits any more.
  promise.catch(() => undefined);
  return promise;
};

/**
 * Enters the database, trying again as long as it may still come. `enter` is begun anew from its beginning.
 * @throws ConfigurationFault when waiting helps nobody, in words; the reason of the signal when that ends it.
 */
export const untilThere = async <Entered>(enter: () => Promise<Entered>, { url, log, signal }: Waiting): Promise<Entered> => {
  const begin = performance.now();
  const ended = endedBy(signal);
  let said: string | undefined;
  let lines = 0;
  let dueAt = 0;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const entered = await Promise.race([enter(), ended]);
      if (said !== undefined) log.info({ after_s: Math.round((performance.now() - begin) / 1_000) }, 'the database is there');
      return entered;
    } catch (error) {
      signal.throwIfAborted();
      if (!mayCome(error)) throw entryFault(error, url);
      const why = whyNoEntry(error, url) ?? String(error);
      if (why !== said || performance.now() >= dueAt) {
        log.warn({ why, for_s: Math.round((performance.now() - begin) / 1_000) }, 'the coordinator waits for the database');
        dueAt = performance.now() + backoff(lines, firstDistanceMs, longestDistanceMs);
        lines += 1;
        said = why;
      }
    }
    await pause(backoff(attempt, firstPauseMs, longestPauseMs), signal);
  }
};

/**
 * How long a caller waits for a database that says nothing at all, on any connection. The watch asks it something every 3 s, so that one which only
 * takes long over a question is heard meanwhile.
 */
const patienceMs = 4_000;

type Asking<Asked extends readonly unknown[], Told> = (...asked: Asked) => Promise<Told>;

/** The same asking, refused with `unavailable` where the database is what does not answer. */
export type WithTimeout = <Asked extends readonly unknown[], Told>(ask: Asking<Asked, Told>) => Asking<Asked, Told>;

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
export const createTimeouts = ({ sql, log }: { readonly sql: Sql; readonly log: Pick<Log, 'info' | 'warn'> }): WithTimeout => {
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

/**
 * Whether a pooler between us and Postgres gives each transaction another session. Then nothing that belongs to one holds: what is listened for,
 * what was prepared, the time limits of statements. It is found by what happens, for a pooler does not say how it was set: one session that serves
 * two of our connections at once, or two that serve one of them.
 */

const rounds = 5;

/** Who works for a connection, and who the other end said that it is when the connection was made: of a pooler, it is somebody else. */
type Worker = { readonly pid: number; readonly promised: number };

/** In the simple protocol: what was prepared before would not be there in another session. */
const workerOf = async (sql: { readonly unsafe: Sql['unsafe'] }): Promise<Worker> => {
  const answer = await sql.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid');
  const [row] = answer;
  if (!row) throw new Error('the database did not say who answers');
  return { pid: row.pid, promised: answer.state.pid };
};

const isShared = async (one: Sql, other: Sql): Promise<boolean> => {
  for (let round = 0; round < rounds; round += 1) {
    const before = await workerOf(one);
    const isFound = await inTransaction(other, async (transaction) => {
      const busy = await workerOf(transaction);
      if (busy.pid === before.pid) return true;
      const after = await workerOf(one);
      // A connection that was lost and made anew has another worker, too.
      return after.promised === before.promised && after.pid !== before.pid;
    });
    if (isFound) return true;
  }
  return false;
};

/** Costs one question where Postgres itself answers. @throws ConfigurationFault, with what to do. */
export const refuseTransactionPooling = async (sql: Sql, url: string): Promise<void> => {
  const first = await workerOf(sql);
  if (first.pid === first.promised) return;
  const [one, other] = [wayOf(sql).openBeside(), wayOf(sql).openBeside()];
  const isFound = await isShared(one, other).finally(() => Promise.all([one.end({ timeout: 0 }), other.end({ timeout: 0 })]));
  if (!isFound) return;
  const at = URL.canParse(url) ? new URL(url).host : 'that address';
  const why = `the pooler at ${at} gives each transaction another session (transaction pooling), but a coordinator needs sessions of its own`;
  throw new ConfigurationFault([
    `DATABASE_URL: ${why}: set pool_mode = session there for this database, or name the address of Postgres itself`,
  ]);
};
