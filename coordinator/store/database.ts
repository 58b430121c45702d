import postgres from 'postgres';
import { createDatabaseSockets, type DatabaseSockets } from './database-sockets.ts';

type Types = { bigint: number };

/** A pool of connections. Tagged templates make parameters; nothing is ever pasted into the text of a query. */
export type Sql = postgres.Sql<Types>;
/** One transaction on one connection. */
export type Transaction = postgres.TransactionSql<Types>;
/** Either: for functions that do one statement and do not care in which of both. */
export type Queryable = postgres.ISql<Types>;

/** Running numbers and counts stay far below 2^53, so that a plain number holds every bigint that we store. */
const bigint = {
  to: 20,
  from: [20],
  serialize: (value: number): string => String(value),
  parse: (text: string): number => Number(text),
};

/**
 * Connects lazily: the first query opens the first connection, and a lost one is opened anew. bigint comes as a number,
 * timestamptz as a Date. A transaction that its client left open (a frozen process) is ended by the server, because its locks would
 * keep others from taking over.
 */
export const connect = (url: string, options: { readonly name: string; readonly connections?: number } = { name: 'antipode' }): Sql => {
  const sockets = createDatabaseSockets();
  const open = (connections: number, dial?: DatabaseSockets['dial'], fetch_types = true): Sql => {
    const all = {
      types: { bigint },
      fetch_types,
      max: connections,
      onnotice: () => undefined,
      connect_timeout: 5,
      idle_timeout: 60,
      backoff: (attempt: number) => Math.min(1, 0.05 * 2 ** attempt),
      connection: { application_name: options.name, idle_in_transaction_session_timeout: 4_000 },
      // Its types do not know of it.
      ...(dial ? { socket: dial } : {}),
    };
    return postgres(url, all);
  };
  const sql = open(options.connections ?? 10, sockets.dial);
  // Ended while it asks for the types of the database, which nobody waits for, a connection would take the whole process with it.
  ways.set(sql, { sockets, openAnother: () => open(1, undefined, false), openBeside: () => open(1, sockets.dial, false) });
  return sql;
};

/** How a pool reaches its database. */
type Way = {
  readonly sockets: DatabaseSockets;
  /** One connection of its own: to ask whether the database is there. */
  readonly openAnother: () => Sql;
  /** One connection more whose way is that of the pool's, and cut with them. */
  readonly openBeside: () => Sql;
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

/** Whether the database answers within so long. */
export const answersWithin = async (sql: Sql, patienceMs: number): Promise<boolean> => {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), patienceMs);
  const answer = sql`select 1`.then(
    () => true,
    () => false, // That it does not is the answer; why stands in the log of whoever needed it.
  );
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
};

export const answersSoon = (sql: Sql): Promise<boolean> => answersWithin(sql, 2_000);
