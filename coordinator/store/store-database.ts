import postgres from 'postgres';
import { type CommitSlot, createCommitSlot } from './store-database-commit-slot.ts';
import { startupFiller } from './store-database-frames.ts';
import type { LineOptions } from './store-database-line.ts';
import { createDatabaseSockets, type DatabaseSockets } from './store-database-sockets.ts';
import type { Sql } from './store-sql.ts';
import { arrayTypes } from './store-sql-arrays.ts';

export type { Queryable, Sql, Transaction } from './store-sql.ts';

/** Running numbers and counts stay far below 2^53, so that a plain number holds every bigint that we store. */
const bigint = {
  to: 20,
  from: [20],
  serialize: (value: number): string => String(value),
  parse: (text: string): number => Number(text),
};

/** How long the server works on one statement, and how long it may then say nothing before its connection is given up. */
type Patience = { readonly statementMs: number; readonly silentMs: number };

/** Every statement of a coordinator is one of many: none takes long. */
const usual: Patience = { statementMs: 20_000, silentMs: 25_000 };

/** What works through everything, such as a migration, a backup, or bringing one back. */
export const longWork: Patience = { statementMs: 6 * 3_600_000, silentMs: 6 * 3_600_000 + 60_000 };

/** What goes through many rows in the background. */
const housework: Patience = { statementMs: 600_000, silentMs: 660_000 };

/** A transaction that its client left open (a frozen process) is ended by the server, because its locks would keep others from taking over. */
const idleInTransactionMs = 4_000;

const settingsOf = ({ statementMs }: Patience): string =>
  `set statement_timeout = ${statementMs}; set idle_in_transaction_session_timeout = ${idleInTransactionMs}`;

type ConnectOptions = { readonly name: string; readonly connections?: number; readonly patience?: Patience };

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
  const socketsFor = (how: Patience) => createDatabaseSockets({ tls, settings: settingsOf(how), silentMs: how.silentMs });
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
    openPatient: () => open(socketsFor(housework), 1),
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
