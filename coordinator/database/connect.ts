import { connect as connectSocket } from 'node:net';
import postgres from 'postgres';
import { codeOf } from '../../shared/base/errors.ts';
import { DatabaseLine, type LineOptions, LostConnection, startupFiller } from './line.ts';

type Types = { bigint: number; numbers: (number | null)[]; texts: (string | null)[] };

/**
 * A pool of connections. Tagged templates make parameters; nothing is ever pasted into a query's
 * text.
 */
export type Sql = postgres.Sql<Types>;
/** One transaction on one connection. */
export type Transaction = postgres.TransactionSql<Types>;
/** Either: for functions that run one statement and need no transaction of their own. */
export type Queryable = postgres.ISql<Types>;

/** A statement that is not sent yet. Only `execute` sends it. */
export type Statement = PromiseLike<unknown> & {
  readonly execute: () => PromiseLike<unknown>;
  readonly describe: () => PromiseLike<unknown>;
};

/** Pipelines the statements; they run in this order. */
export async function executeAll(statements: readonly Statement[]): Promise<void> {
  await Promise.all(statements.map((statement) => statement.execute()));
}

/**
 * One connection for urgent work. Its statements are sent at once, one behind the other, and the
 * database answers all of them in one round trip: a whole transaction with its begin and commit. In
 * a pool a query may have to wait for a new connection, which takes seven round trips, or for its
 * statement to be prepared there.
 *
 * Modes: `none` → (first query) `held` → (the connection is lost) `none`.
 */
export type CommitSlot = {
  /**
   * A transaction of statements that do not need each other's results. @throws the error of the
   * first statement that failed by itself. Then nothing is written, unless the connection was lost
   * with the answer.
   */
  readonly inOneTrip: (statements: (sql: Queryable) => readonly Statement[]) => Promise<void>;
  /** One query outside of any transaction. */
  readonly ask: <Answer>(question: (sql: Queryable) => Promise<Answer>) => Promise<Answer>;
  /** Prepares these statements, so that their first use is fast. Nothing is executed. */
  readonly prepare: (statements: (sql: Queryable) => readonly Statement[]) => Promise<void>;
  readonly end: () => Promise<void>;
};

type Held = { readonly session: Sql; readonly lost: Promise<never> };

/** What the client of one session calls. */
type SessionEvents = {
  /** @throws once the session is over. */
  readonly onDial: () => void;
  readonly onClose: () => void;
};

/**
 * `open`: a client of one connection. It serves one session and ends with it. A connection that is
 * reserved from a pool would not do: the client goes on writing to its socket when that is gone,
 * and the error is no statement's, so it ends the process.
 */
export function createCommitSlot(open: (events: SessionEvents) => Sql): CommitSlot {
  let held: Promise<Held> | undefined;
  let current: Sql | undefined;

  const begin = async (): Promise<Held> => {
    const lost = Promise.withResolvers<never>();
    // No one may be waiting when it is lost.
    lost.promise.catch(() => undefined);
    let isOver = false;
    const session = open({
      // Statements that still wait in the client are the rest of a lost transaction.
      onDial: () => {
        if (isOver) throw lostSlot();
      },
      onClose: () => {
        if (isOver) return;
        isOver = true;
        lost.reject(lostSlot());
        if (current === session) held = undefined;
        void session.end({ timeout: 0 });
      },
    });
    current = session;
    await Promise.race([session`select 1`, lost.promise]);
    return { session, lost: lost.promise };
  };

  const hold = (): Promise<Held> => {
    if (held) return held;
    const mine = begin();
    held = mine;
    mine.catch(() => {
      if (held === mine) held = undefined;
    });
    return mine;
  };

  return {
    inOneTrip: async (statements) => {
      const { session, lost } = await hold();
      // All are built before the first is sent: one that cannot be built leaves no half of a
      // transaction.
      const [begin, ended] = [session`begin`, session`commit`];
      const all: Statement[] = [begin, ...statements(session), ended];
      const outcomes = await Promise.race([
        Promise.allSettled(all.map((statement) => statement.execute())),
        lost,
      ]);
      const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
      const cause = failed.find(({ reason }) => !isFollowing(reason)) ?? failed[0];
      if (cause) throw cause.reason;
      if ((await ended).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    },
    ask: async (question) => {
      const { session, lost } = await hold();
      return Promise.race([question(session), lost]);
    },
    prepare: async (statements) => {
      const { session, lost } = await hold();
      const all: Statement[] = [session`begin`, ...statements(session), session`commit`];
      const described = Promise.all(all.map((statement) => statement.describe()));
      // A description arrives a moment before the database is ready for more.
      await Promise.race([described.then(() => session`select 1`), lost]);
    },
    end: async () => {
      await current?.end({ timeout: 1 });
    },
  };
}

function lostSlot(): LostConnection {
  return new LostConnection('the connection to the database was lost', 'CONNECTION_CLOSED');
}

/** A statement after a failed one of the same transaction fails only because of that. */
function isFollowing(error: unknown): boolean {
  return codeOf(error) === '25P02';
}

/**
 * The sockets of a pool. When a database moves to another machine, or a router forgets its
 * connections, no one closes them: the system would retransmit for a quarter of an hour. Code that
 * notices has the silent sockets cut.
 */
export type DatabaseSockets = {
  /** Begins a connection; the client itself waits for it. */
  readonly dial: (to: DatabaseAddress) => DatabaseLine;
  /** How much was received on each socket. */
  readonly heard: () => LineActivity;
  /**
   * Cuts all sockets that received nothing since then, and returns how many. The client makes new
   * ones.
   */
  readonly cutSilent: (since: LineActivity) => number;
  /** When the database last sent anything on any socket, by performance.now(). */
  readonly heardAt: () => number;
};

export type LineActivity = ReadonlyMap<DatabaseLine, number>;

/** The client's form of the database's address: several hosts are tried in turn. */
export type DatabaseAddress = {
  readonly path?: string | false;
  readonly host: readonly string[];
  readonly port: readonly number[];
};

export function createDatabaseSockets(
  options: Omit<LineOptions, 'host' | 'port' | 'onHeard'>,
): DatabaseSockets {
  const open = new Set<DatabaseLine>();
  let turn = 0;
  let heardAt = 0;
  const onHeard = (): void => {
    heardAt = performance.now();
  };

  /**
   * The client removes all listeners when it is done with a socket, so we test whether it has
   * ended.
   */
  const forgetEnded = (): void => {
    for (const line of open) if (line.isClosed) open.delete(line);
  };

  return {
    dial: ({ path, host, port }) => {
      forgetEnded();
      const nth = turn % Math.max(1, host.length);
      turn += 1;
      const [name = 'localhost', number = 5432] = [host[nth], port[nth]];
      const socket = path ? connectSocket(path) : connectSocket({ host: name, port: number });
      // A certificate is checked by the host name; errors contain name and port.
      const line = new DatabaseLine(socket, { ...options, host: name, port: number, onHeard });
      open.add(line);
      return line;
    },
    heard: () => {
      forgetEnded();
      return new Map([...open].map((line) => [line, line.heard]));
    },
    cutSilent: (since) => {
      const silent = [...since].filter(([line, bytes]) => !line.isClosed && line.heard === bytes);
      for (const [line] of silent) line.destroy();
      return silent.length;
    },
    heardAt: () => heardAt,
  };
}

/**
 * Array literals of Postgres, built by hand. A string bound to an array parameter passes through
 * the client unchanged, in a third of the time of its own serializer.
 */
export function numbersLiteral(...lists: readonly (readonly (number | null)[])[]): string {
  // JSON writes arrays of numbers in half the time of join(). Its null, also for NaN, is Postgres'
  // NULL.
  return `{${lists.map((values) => JSON.stringify(values).slice(1, -1)).join(',')}}`;
}

/** Quoted, so that no text from outside has a special meaning. */
export function textsLiteral(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`)).join(',')}}`;
}

/**
 * The array types that we send and read, for the client. Otherwise it would ask the database for
 * all of them on each new connection. That costs a round trip, and if the connection is lost
 * meanwhile, no one catches the error, which ends the process. The type numbers are the same in
 * every Postgres.
 */
type ArrayType<Value> = {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (values: Value[]) => string;
  readonly parse: (text: string) => Value[];
};

/** int2, int4, int8, float4, float8: a parameter has the type that the statement gives it. */
const numbers: ArrayType<number | null> = {
  to: 1_007,
  from: [1_005, 1_007, 1_016, 1_021, 1_022],
  serialize: unlessWritten((values) => numbersLiteral(values)),
  parse: (text) =>
    text === '{}'
      ? []
      : text
          .slice(1, -1)
          .split(',')
          .map((one) => (one === 'NULL' ? null : Number(one))),
};

/** An array literal is passed on unchanged. */
function unlessWritten<Value>(write: (values: readonly Value[]) => string) {
  return (values: readonly Value[] | string): string =>
    typeof values === 'string' ? values : write(values);
}

const element = /"((?:[^"\\]|\\.)*)"|([^,]+)/gs;

/** name, text, varchar, uuid. */
const texts: ArrayType<string | null> = {
  to: 1_009,
  from: [1_003, 1_009, 1_015, 2_951],
  serialize: unlessWritten(textsLiteral),
  parse: (text) =>
    [...text.slice(1, -1).matchAll(element)].map(([, quoted, bare]) => {
      if (quoted !== undefined) return quoted.replaceAll(/\\(.)/gs, '$1');
      return bare === undefined || bare === 'NULL' ? null : bare;
    }),
};

export const arrayTypes = { numbers, texts };

/** Our ids and counts stay far below 2^53, so a plain number holds every bigint that we store. */
const bigint = {
  to: 20,
  from: [20],
  serialize: (value: number): string => String(value),
  parse: (text: string): number => Number(text),
};

/**
 * The time limit of a statement on the server, and the silence after which its connection is given
 * up.
 */
type StartupTimeout = { readonly statementMs: number; readonly silentMs: number };

/** Each statement of a coordinator is one of many: none takes long. */
const usual: StartupTimeout = { statementMs: 20_000, silentMs: 25_000 };

/** For work on everything, such as a migration, a backup or a restore. */
export const longWork: StartupTimeout = {
  statementMs: 6 * 3_600_000,
  silentMs: 6 * 3_600_000 + 60_000,
};

/** For background work on many rows. */
const maintenanceSettings: StartupTimeout = { statementMs: 600_000, silentMs: 660_000 };

/**
 * The server ends a transaction that its client (a frozen process) left open, because its locks
 * would keep other coordinators from taking over.
 */
const idleInTransactionMs = 4_000;

type ConnectOptions = {
  readonly name: string;
  readonly connections?: number;
  readonly patience?: StartupTimeout;
};

/**
 * Connects lazily: the first query opens the first connection, and a lost one is opened again.
 * bigint comes as a number, timestamptz as a Date.
 */
export function connect(url: string, options: ConnectOptions = { name: 'antipode' }): Sql {
  const { name, patience = usual } = options;
  const tls = tlsOf(url);
  const socketsFor = (how: StartupTimeout) =>
    createDatabaseSockets({ tls, settings: settingsOf(how), silentMs: how.silentMs });
  const sockets = socketsFor(patience);
  const open = (
    { dial }: Pick<DatabaseSockets, 'dial'>,
    connections: number,
    onclose?: () => void,
  ): Sql => {
    const all = {
      types: { bigint, ...arrayTypes },
      fetch_types: false,
      max: connections,
      // DatabaseLine does TLS.
      ssl: false,
      onnotice: () => undefined,
      connect_timeout: 5,
      idle_timeout: 60,
      backoff: (attempt: number) => Math.min(1, 0.05 * 2 ** attempt),
      connection: { application_name: name, ...startupFiller },
      // The client's types lack this option.
      socket: dial,
      ...(onclose ? { onclose, idle_timeout: 0, max_lifetime: null } : {}),
    };
    return postgres(url, all);
  };
  const sql = open(sockets, options.connections ?? 10);
  pools.set(sql, {
    sockets,
    openAnother: () => open(socketsFor(patience), 1),
    openDedicated: () => open(sockets, 1),
    openSlot: () =>
      createCommitSlot(({ onDial, onClose }) => {
        const dial: DatabaseSockets['dial'] = (to) => {
          onDial();
          return sockets.dial(to);
        };
        return open({ dial }, 1, onClose);
      }),
    openLongRunning: () => open(socketsFor(maintenanceSettings), 1),
  });
  return sql;
}

/**
 * The TLS mode that the address asks for, as the client reads it from the address and the
 * environment.
 */
function tlsOf(url: string): LineOptions['tls'] {
  const { ssl, sslnegotiation }: { readonly ssl?: unknown; readonly sslnegotiation?: unknown } =
    postgres(url, { max: 1 }).options;
  if (!ssl) return null;
  const isTrusting = ssl === 'require' || ssl === 'allow' || ssl === 'prefer';
  return {
    options: isTrusting ? { rejectUnauthorized: false } : {},
    orPlain: ssl === 'prefer',
    direct: sslnegotiation === 'direct',
  };
}

function settingsOf({ statementMs }: StartupTimeout): string {
  return `set statement_timeout = ${statementMs}; set idle_in_transaction_session_timeout = ${idleInTransactionMs}`;
}

/** How a pool reaches its database. */
type Pool = {
  readonly sockets: DatabaseSockets;
  /** One connection of its own, to test whether the database answers. */
  readonly openAnother: () => Sql;
  /** One connection outside the pool, closed with its sockets. */
  readonly openDedicated: () => Sql;
  /** One connection for urgent work. */
  readonly openSlot: () => CommitSlot;
  readonly openLongRunning: () => Sql;
};

const pools = new WeakMap<Sql, Pool>();

/** @throws for a pool that connect() did not make. */
export function poolOf(sql: Sql): Pool {
  const pool = pools.get(sql);
  if (!pool) throw new Error('this pool was not made by connect()');
  return pool;
}

/** Whether an error is the violation of the constraint or index of this name. */
export function isViolationOf(error: unknown, constraint: string): boolean {
  return error instanceof postgres.PostgresError && error.constraint_name === constraint;
}

/**
 * The database's error classes that say nothing about what was written: connection, resources,
 * shutdown, rollback by conflict, disk.
 */
const transient = ['08', '25', '40', '53', '55', '57', '58', 'XX'];

/**
 * Whether the same write may succeed later. Then its outcome may also be unknown: the connection
 * can break after the server committed. The database refused all else because of what was written.
 */
export function isTransient(error: unknown): boolean {
  return error instanceof postgres.PostgresError
    ? transient.includes(error.code.slice(0, 2))
    : error instanceof Error && 'code' in error;
}

/**
 * When the query was sent and answered, by performance.now(), and the database's clock at that
 * time.
 */
type TimeSeen = { readonly sent: number; readonly received: number; readonly theirs: number };

export async function timeOf(sql: Sql): Promise<TimeSeen> {
  const sent = performance.now();
  const [row] = await sql<
    { theirs: number }[]
  >`select (extract(epoch from clock_timestamp()) * 1000)::float8 as theirs`;
  if (!row) throw new Error('the database did not say what time it is');
  return { sent, received: performance.now(), theirs: row.theirs };
}

/** Whether the database answers within this time. `onTime` receives the time there. */
export async function answersWithin(
  sql: Sql,
  patienceMs: number,
  onTime?: (seen: TimeSeen) => void,
): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), patienceMs);
  const answer = timeOf(sql).then(
    (seen) => {
      onTime?.(seen);
      return true;
    },
    () => false, // No answer is a result; the log of the code that needed it has the reason.
  );
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

export function answersSoon(sql: Sql): Promise<boolean> {
  return answersWithin(sql, 2_000);
}

const name = 'antipode coordinator';

/**
 * The name of a coordinator's connections, with a mark of each SECRET_KEY that it knows. A
 * replacement of the key sees from it which coordinators it would lock out.
 */
export function sessionNameOf(keyMarks: readonly string[]): string {
  return [name, ...keyMarks].join(' ');
}

/**
 * Addresses of connected coordinators that do not know the key of this mark; those of an earlier
 * version do not report what they know. One that has sent nothing for a minute is gone with its
 * machine, which the database may notice hours later.
 */
export async function addressesWithoutKey(
  sql: Queryable,
  keyMark: string,
): Promise<readonly string[]> {
  const rows = await sql<{ address: string }[]>`
    select distinct coalesce(host(client_addr), 'this machine') as address from pg_stat_activity
    where datname = current_database()
      and split_part(application_name, ' ', 1) || ' '
        || split_part(application_name, ' ', 2) = ${name}
      and not ${keyMark} = any(string_to_array(application_name, ' '))
      and state_change > now() - interval '1 minute'
    order by address`;
  return rows.map(({ address }) => address);
}
