import { connect as connectSocket } from 'node:net';
import postgres from 'postgres';
import { codeOf } from '../../shared/base/errors.ts';
import { DatabaseLine, type LineOptions, LostConnection, startupFiller } from './line.ts';

type Types = { bigint: number; numbers: (number | null)[]; texts: (string | null)[] };

/** A pool of connections. Tagged templates make parameters; nothing is ever pasted into the text of a query. */
export type Sql = postgres.Sql<Types>;
/** One transaction on one connection. */
export type Transaction = postgres.TransactionSql<Types>;
/** Either: for functions that do one statement and do not care in which of both. */
export type Queryable = postgres.ISql<Types>;

/** A statement that is written and not sent. Only `execute` sends it. */
export type Statement = PromiseLike<unknown> & {
  readonly execute: () => PromiseLike<unknown>;
  readonly describe: () => PromiseLike<unknown>;
};

/** Sends them one behind the other, without waiting between them; they run in this order. */
export const executeAll = async (statements: readonly Statement[]): Promise<void> => {
  await Promise.all(statements.map((statement) => statement.execute()));
};

/**
 * One connection for those who are in a hurry: what they ask goes out at once, one statement behind the other, and the database answers all of it in
 * one round trip, a whole transaction with its beginning and its end. From a pool a question may have to wait for a connection to be made, which
 * takes seven, or for its statement to be prepared there.
 *
 * Modes: `none` → (first question) `held` → (the connection is gone) `none`.
 */
export type CommitSlot = {
  /**
   * A transaction of statements of which none needs to know what another one answered. @throws what the first of them failed with that failed by
   * itself; then nothing of it is written, unless the connection went with the answer.
   */
  readonly inOneTrip: (statements: (sql: Queryable) => readonly Statement[]) => Promise<void>;
  /** One question outside of any transaction. */
  readonly ask: <Answer>(question: (sql: Queryable) => Promise<Answer>) => Promise<Answer>;
  /** Has these prepared, so that the first who comes need not wait for it. Nothing is executed. */
  readonly prepare: (statements: (sql: Queryable) => readonly Statement[]) => Promise<void>;
  readonly end: () => Promise<void>;
};

type Held = { readonly session: Awaited<ReturnType<Sql['reserve']>>; readonly lost: PromiseWithResolvers<never> };

/** What was asked after something else of the transaction had failed fails for that reason alone. */
const isFollowing = (error: unknown): boolean => codeOf(error) === '25P02';

const lostSlot = (): LostConnection => new LostConnection('the connection to the database was lost', 'CONNECTION_CLOSED');

/** `open`: a pool of one connection, which tells when that is gone. */
export const createCommitSlot = (open: (onClose: () => void) => Sql): CommitSlot => {
  let held: Promise<Held> | undefined;
  let current: Held | undefined;

  const sql = open(() => {
    current?.lost.reject(lostSlot());
    current = undefined;
    held = undefined;
  });

  const reserve = async (): Promise<Held> => {
    // The client never gives out a connection that it made to be reserved: one is made by a question, and is there when that is answered.
    await sql`select 1`;
    const session = await sql.reserve();
    const lost = Promise.withResolvers<never>();
    // Nobody may be waiting when it goes.
    lost.promise.catch(() => undefined);
    current = { session, lost };
    return current;
  };

  const hold = async (): Promise<Held> => {
    for (;;) {
      held ??= reserve();
      const mine = held;
      const got = await mine.catch((error: unknown) => {
        if (held === mine) held = undefined;
        throw error;
      });
      if (got === current) return got;
    }
  };

  return {
    inOneTrip: async (statements) => {
      const { session, lost } = await hold();
      // All are written before the first is sent: what cannot be written leaves no half of a transaction.
      const [begin, ended] = [session`begin`, session`commit`];
      const all: Statement[] = [begin, ...statements(session), ended];
      const outcomes = await Promise.race([Promise.allSettled(all.map((statement) => statement.execute())), lost.promise]);
      const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
      const cause = failed.find(({ reason }) => !isFollowing(reason)) ?? failed[0];
      if (cause) throw cause.reason;
      if ((await ended).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    },
    ask: async (question) => {
      const { session, lost } = await hold();
      return Promise.race([question(session), lost.promise]);
    },
    prepare: async (statements) => {
      const { session, lost } = await hold();
      const all: Statement[] = [session`begin`, ...statements(session), session`commit`];
      const described = Promise.all(all.map((statement) => statement.describe()));
      // A description is there a moment before the database is ready for more.
      await Promise.race([described.then(() => session`select 1`), lost.promise]);
    },
    end: async () => {
      current?.session.release();
      await sql.end({ timeout: 1 });
    },
  };
};

/**
 * The connections of a pool as the network has them. Where a database moved to another machine, or a router forgot its connections, nobody closes
 * them: the system would go on sending into the void for a quarter of an hour. Whoever knows better has the silent ones cut.
 */
export type DatabaseSockets = {
  /** Begins a connection; the client waits for it itself. */
  readonly dial: (to: Place) => DatabaseLine;
  /** How much has been heard on each. */
  readonly heard: () => Heard;
  /** Cuts all of them that have said nothing since, and says how many. The client makes new ones. */
  readonly cutSilent: (since: Heard) => number;
  /** When the database last said anything on any of them, by the clock of performance. */
  readonly heardAt: () => number;
};

export type Heard = ReadonlyMap<DatabaseLine, number>;

/** What the client has read from the database's address: several hosts take turns. */
export type Place = { readonly path?: string | false; readonly host: readonly string[]; readonly port: readonly number[] };

export const createDatabaseSockets = (options: Omit<LineOptions, 'host' | 'port' | 'onHeard'>): DatabaseSockets => {
  const open = new Set<DatabaseLine>();
  let turn = 0;
  let heardAt = 0;
  const onHeard = (): void => {
    heardAt = performance.now();
  };

  /** The client takes all listeners away when it is done with a socket, so its end is looked for. */
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
      // By its name a certificate is checked; both stand in what is said of a failure.
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
};

/**
 * Array literals of Postgres, joined by hand: a string bound to an array parameter passes through the client untouched, which takes a
 * third of what its own serialiser takes.
 */
export const numbersLiteral = (...lists: readonly (readonly (number | null)[])[]): string =>
  // JSON writes arrays of numbers in half the time that joining takes; its null, which NaN becomes too, is the NULL of Postgres.
  `{${lists.map((values) => JSON.stringify(values).slice(1, -1)).join(',')}}`;

/** Quoted, so that no text of a stranger means anything. */
export const textsLiteral = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`)).join(',')}}`;

/**
 * The arrays that we send and read, for the client. It would ask the database for all of them on each new connection, a round trip more; and where a
 * connection is lost within that question, its failure is nobody's, which ends the process. The numbers are the same in every Postgres.
 */
type ArrayType<Value> = {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (values: Value[]) => string;
  readonly parse: (text: string) => Value[];
};

/** What is an array literal already goes as it is. */
const unlessWritten =
  <Value>(write: (values: readonly Value[]) => string) =>
  (values: readonly Value[] | string): string =>
    typeof values === 'string' ? values : write(values);

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

/** Running numbers and counts stay far below 2^53, so that a plain number holds every bigint that we store. */
const bigint = {
  to: 20,
  from: [20],
  serialize: (value: number): string => String(value),
  parse: (text: string): number => Number(text),
};

/** How long the server works on one statement, and how long it may then say nothing before its connection is given up. */
type StartupTimeout = { readonly statementMs: number; readonly silentMs: number };

/** Every statement of a coordinator is one of many: none takes long. */
const usual: StartupTimeout = { statementMs: 20_000, silentMs: 25_000 };

/** What works through everything, such as a migration, a backup, or bringing one back. */
export const longWork: StartupTimeout = { statementMs: 6 * 3_600_000, silentMs: 6 * 3_600_000 + 60_000 };

/** What goes through many rows in the background. */
const maintenanceSettings: StartupTimeout = { statementMs: 600_000, silentMs: 660_000 };

/** A transaction that its client left open (a frozen process) is ended by the server, because its locks would keep others from taking over. */
const idleInTransactionMs = 4_000;

const settingsOf = ({ statementMs }: StartupTimeout): string =>
  `set statement_timeout = ${statementMs}; set idle_in_transaction_session_timeout = ${idleInTransactionMs}`;

type ConnectOptions = { readonly name: string; readonly connections?: number; readonly patience?: StartupTimeout };

/** How the address wants TLS, in the words of the client: what it reads from the address and the environment. */
const tlsOf = (url: string): LineOptions['tls'] => {
  const { ssl, sslnegotiation }: { readonly ssl?: unknown; readonly sslnegotiation?: unknown } = postgres(url, { max: 1 }).options;
  if (!ssl) return null;
  const isTrusting = ssl === 'require' || ssl === 'allow' || ssl === 'prefer';
  return { options: isTrusting ? { rejectUnauthorized: false } : {}, orPlain: ssl === 'prefer', direct: sslnegotiation === 'direct' };
};

/**
 * Connects lazily: the first query opens the first connection, and a lost one is opened anew. bigint comes as a number,
 * timestamptz as a Date.
 */
export const connect = (url: string, options: ConnectOptions = { name: 'antipode' }): Sql => {
  const { name, patience = usual } = options;
  const tls = tlsOf(url);
  const socketsFor = (how: StartupTimeout) => createDatabaseSockets({ tls, settings: settingsOf(how), silentMs: how.silentMs });
  const sockets = socketsFor(patience);
  const open = ({ dial }: DatabaseSockets, connections: number, onclose?: () => void): Sql => {
    const all = {
      types: { bigint, ...arrayTypes },
      fetch_types: false,
      max: connections,
      // The line makes it.
      ssl: false,
      onnotice: () => undefined,
      connect_timeout: 5,
      idle_timeout: 60,
      backoff: (attempt: number) => Math.min(1, 0.05 * 2 ** attempt),
      connection: { application_name: name, ...startupFiller },
      // Its types do not know of it.
      socket: dial,
      ...(onclose ? { onclose, idle_timeout: 0 } : {}),
    };
    return postgres(url, all);
  };
  const sql = open(sockets, options.connections ?? 10);
  ways.set(sql, {
    sockets,
    openAnother: () => open(socketsFor(patience), 1),
    openBeside: () => open(sockets, 1),
    openSlot: () => createCommitSlot((onClose) => open(sockets, 1, onClose)),
    openPatient: () => open(socketsFor(maintenanceSettings), 1),
  });
  return sql;
};

/** How a pool reaches its database. */
type Way = {
  readonly sockets: DatabaseSockets;
  /** One connection of its own: to ask whether the database is there. */
  readonly openAnother: () => Sql;
  /** One connection more whose way is that of the pool's, and cut with them. */
  readonly openBeside: () => Sql;
  /** One connection for what is in a hurry. */
  readonly openSlot: () => CommitSlot;
  /** One connection for what takes long. */
  readonly openPatient: () => Sql;
};

const ways = new WeakMap<Sql, Way>();

/** @throws for what connect() did not make. */
export const wayOf = (sql: Sql): Way => {
  const way = ways.get(sql);
  if (!way) throw new Error('this is no pool of ours');
  return way;
};

/** Whether an error is the refusal of a constraint or index of this name. */
export const isViolationOf = (error: unknown, constraint: string): boolean =>
  error instanceof postgres.PostgresError && error.constraint_name === constraint;

/** The database's own classes of errors that say nothing about what was written: connection, resources, shutdown, rollback by conflict, disk. */
const passing = ['08', '25', '40', '53', '55', '57', '58', 'XX'];

/**
 * Whether the same write may well succeed later. Then its outcome may also be unknown: the connection can break after the server
 * committed. Everything else the database refused because of what was written.
 */
export const isPassing = (error: unknown): boolean =>
  error instanceof postgres.PostgresError ? passing.includes(error.code.slice(0, 2)) : error instanceof Error && 'code' in error;

/** When it was asked and when it answered, by the clock of performance, and what the database's clock showed then. */
type TimeSeen = { readonly sent: number; readonly received: number; readonly theirs: number };

export const timeOf = async (sql: Sql): Promise<TimeSeen> => {
  const sent = performance.now();
  const [row] = await sql<{ theirs: number }[]>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as theirs`;
  if (!row) throw new Error('the database did not say what time it is');
  return { sent, received: performance.now(), theirs: row.theirs };
};

/** Whether the database answers within so long; and what time it is there, where anybody wants to know. */
export const answersWithin = async (sql: Sql, patienceMs: number, onTime?: (seen: TimeSeen) => void): Promise<boolean> => {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), patienceMs);
  const answer = timeOf(sql).then(
    (seen) => {
      onTime?.(seen);
      return true;
    },
    () => false, // That it does not is the answer; why stands in the log of whoever needed it.
  );
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
};

export const answersSoon = (sql: Sql): Promise<boolean> => answersWithin(sql, 2_000);

const name = 'antipode coordinator';

/** What a coordinator calls its connections: with a mark of each SECRET_KEY that it knows, by which a replacement sees whom it would leave behind. */
export const sessionNameOf = (keyMarks: readonly string[]): string => [name, ...keyMarks].join(' ');

/**
 * Where coordinators are connected from that do not know the key of this mark; none of an earlier version says what it knows. One that has asked for
 * nothing for a minute is gone with its machine, which the database may notice hours later.
 */
export const addressesWithoutKey = async (sql: Queryable, keyMark: string): Promise<readonly string[]> => {
  const rows = await sql<{ address: string }[]>`
    select distinct coalesce(host(client_addr), 'this machine') as address from pg_stat_activity
    where datname = current_database() and split_part(application_name, ' ', 1) || ' ' || split_part(application_name, ' ', 2) = ${name}
      and not ${keyMark} = any(string_to_array(application_name, ' ')) and state_change > now() - interval '1 minute'
    order by address`;
  return rows.map(({ address }) => address);
};
