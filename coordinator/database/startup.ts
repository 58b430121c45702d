import pg from 'pg';
import { backoff, pause } from '../../shared/base/async.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { codeOf, Refusal } from '../../shared/base/errors.ts';
import type { Log } from '../../shared/base/log.ts';
import { isTransient, type Sql } from './connect.ts';
import { LostConnection } from './session.ts';
import { inTransaction } from './sql.ts';

/**
 * Why a database could not be entered, in words for the person who gave its address. Never the
 * password.
 */

const unreachable = [
  'ECONNREFUSED',
  'CONNECT_TIMEOUT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
];
const nameless = ['ENOTFOUND', 'EAI_AGAIN'];
const lost = ['CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECTION_SILENT'];

/**
 * Whether waiting may help: no server answers yet, or it is starting, full, or about to take over.
 * A wrong password, database name or certificate stays wrong.
 */
export function isRetryable(error: unknown): boolean {
  const code = codeOf(error);
  return (
    [...unreachable, ...nameless, ...lost].includes(code) ||
    (/^[0-9A-Z]{5}$/.test(code) && isTransient(error))
  );
}

/** undefined when the error is not about entering the database. */
export function whyUnreachable(error: unknown, url: string): string | undefined {
  const { at, user, database } = placeOf(url);
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  if (unreachable.includes(code))
    return `nothing answers at ${at} (${code}): check host and port, and that a Postgres runs there`;
  if (lost.includes(code))
    return `what answers at ${at} closed the connection or stopped answering (${said}): check that a Postgres runs there`;
  if (nameless.includes(code))
    return `the host ${at.replace(/:\d+$/, '')} is not known: check its name`;
  if (code.startsWith('28'))
    return `the Postgres at ${at} rejects ${user} (${said}): check user and password`;
  if (code === '3D000')
    return `the Postgres at ${at} has no database ${database}: create it, or name another`;
  if (code === '42501')
    return `the Postgres at ${at} does not let ${user} create tables (${said}): use the owner of the database`;
  if (isRetryable(error)) return `the Postgres at ${at} cannot be used right now (${said})`;
  return undefined;
}

type DatabaseTarget = { readonly at: string; readonly user: string; readonly database: string };

function placeOf(url: string): DatabaseTarget {
  if (!URL.canParse(url)) return { at: 'that address', user: 'the user', database: 'of that name' };
  const { host, hostname, port, username, pathname } = new URL(url);
  return {
    at: port === '' ? `${host}:5432` : host,
    user: decodeURIComponent(username) || hostname,
    database: pathname.slice(1),
  };
}

/** The error to throw for an error at the first use of a database. */
export function connectionFault(error: unknown, url: string): unknown {
  const why = whyUnreachable(error, url);
  return why === undefined ? error : new ConfigurationFault([`DATABASE_URL: ${why}`]);
}

type Waiting = {
  readonly url: string;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly signal: AbortSignal;
};

const firstPauseMs = 200;
const longestPauseMs = 2_000;
/**
 * The log reports the first failure at once, a new reason at once, and the same reason at growing
 * distances.
 */
const firstDistanceMs = 10_000;
const longestDistanceMs = 600_000;

/**
 * Retries `enter` as long as that may help, from its beginning each time. @throws
 * ConfigurationFault, in words, when waiting does not help; the signal's reason when it aborts.
 */
export async function waitForDatabase<Entered>(
  enter: () => Promise<Entered>,
  { url, log, signal }: Waiting,
): Promise<Entered> {
  const begin = performance.now();
  const ended = endedBy(signal);
  let said: string | undefined;
  let lines = 0;
  let dueAt = 0;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const entered = await Promise.race([enter(), ended]);
      if (said !== undefined)
        log.info(
          { after_s: Math.round((performance.now() - begin) / 1_000) },
          'connected to the database',
        );
      return entered;
    } catch (error) {
      signal.throwIfAborted();
      if (!isRetryable(error)) throw connectionFault(error, url);
      const why = whyUnreachable(error, url) ?? String(error);
      if (why !== said || performance.now() >= dueAt) {
        log.warn(
          { why, for_s: Math.round((performance.now() - begin) / 1_000) },
          'the coordinator waits for the database',
        );
        dueAt = performance.now() + backoff(lines, firstDistanceMs, longestDistanceMs);
        lines += 1;
        said = why;
      }
    }
    await pause(backoff(attempt, firstPauseMs, longestPauseMs), signal);
  }
}

/** Rejects when the signal aborts. */
function endedBy(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  // It may abort when no one waits any more.
  promise.catch(() => undefined);
  return promise;
}

/**
 * How long a caller waits for a database that is silent on all connections. The watch queries it
 * every 3 s, so a database that is only slow with one query is heard meanwhile.
 */
const patienceMs = 4_000;

type Asking<Asked extends readonly unknown[], Told> = (...asked: Asked) => Promise<Told>;

/** The same function, rejected with `unavailable` when the database does not answer. */
export type WithTimeout = <Asked extends readonly unknown[], Told>(
  ask: Asking<Asked, Told>,
) => Asking<Asked, Told>;

/** The answer to callers while the database is down. */
export function unavailable(): Refusal {
  return new Refusal(
    'unavailable',
    'The database does not answer right now. Try again in a moment; look first whether what you asked for was done all the same.',
  );
}

/**
 * Callers get an answer soon while the database gives none. Once a caller waited and the database
 * was silent all that time, no new queries are sent until it sends anything: they would wait until
 * it is back, and run then.
 */
export function createTimeouts({
  sql,
  log,
}: {
  readonly sql: Sql;
  readonly log: Pick<Log, 'info' | 'warn'>;
}): WithTimeout {
  const { sessions } = sql.access;
  let awaySince: number | undefined;

  const isSilent = (): boolean => {
    if (awaySince === undefined) return false;
    if (sessions.answeredAt() <= awaySince) return true;
    awaySince = undefined;
    log.info({}, 'the database answers again');
    return false;
  };

  /** Rejects after this long without a sign of the database. */
  const silence = (signal: AbortSignal): Promise<never> => {
    const { promise, reject } = Promise.withResolvers<never>();
    const begin = performance.now();
    const look = (isSecond = false): void => {
      if (signal.aborted) return;
      const left = Math.max(begin, sessions.answeredAt()) + patienceMs - performance.now();
      if (left > 0) {
        const timer = setTimeout(look, left);
        signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
      } else if (isSecond) {
        if (awaySince === undefined)
          log.warn({}, 'the database does not answer; calls are refused');
        awaySince = performance.now();
        reject(unavailable());
      } else {
        // After a standstill the process reads what arrived meanwhile before this second check.
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
}

/**
 * Whether the connection failed, or the server is shutting down or starting: the query is not at
 * fault.
 */
function isAway(error: unknown): boolean {
  return error instanceof pg.DatabaseError
    ? codeOf(error).startsWith('57P0')
    : error instanceof LostConnection;
}

/**
 * Detects a pooler between us and Postgres that gives each transaction another session. Then
 * nothing that belongs to a session holds: listened channels, prepared statements, statement
 * timeouts. A pooler does not report its mode, so we observe sessions: one that serves two of our
 * connections at once, or two that serve one of them.
 *
 * Costs one transaction where Postgres itself answers. @throws ConfigurationFault with the remedy.
 */
export async function refuseTransactionPooling(sql: Sql, url: string): Promise<void> {
  const isDirect = await sql.begin(
    async (transaction) => (await workerOf(transaction)) === transaction.session.backend,
  );
  if (isDirect) return;
  const [one, other] = [sql.access.openDedicated(), sql.access.openDedicated()];
  const isFound = await isShared(one, other).finally(() =>
    Promise.all([one.end({ timeout: 0 }), other.end({ timeout: 0 })]),
  );
  if (!isFound) return;
  const at = URL.canParse(url) ? new URL(url).host : 'that address';
  const why = `the pooler at ${at} gives each transaction another session (transaction pooling), but a coordinator needs sessions of its own`;
  throw new ConfigurationFault([
    `DATABASE_URL: ${why}: set pool_mode = session there for this database, or name the address of Postgres itself`,
  ]);
}

/**
 * The backend that serves a connection. In the simple protocol: a prepared statement may be missing
 * in another session.
 */
async function workerOf(sql: Pick<Sql, 'unsafe'>): Promise<number> {
  const [row] = await sql.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid');
  if (!row) throw new Error('the database did not say who answers');
  return row.pid;
}

const rounds = 5;

async function isShared(one: Sql, other: Sql): Promise<boolean> {
  for (let round = 0; round < rounds; round += 1) {
    const before = await workerOf(one);
    const isFound = await inTransaction(other, async (transaction) => {
      const busy = await workerOf(transaction);
      return busy === before || (await workerOf(one)) !== before;
    });
    if (isFound) return true;
  }
  return false;
}
