import type postgres from 'postgres';

type Types = { bigint: number; numbers: (number | null)[]; texts: (string | null)[] };

/** A pool of connections. Tagged templates make parameters; nothing is ever pasted into the text of a query. */
export type Sql = postgres.Sql<Types>;
/** One transaction on one connection. */
export type Transaction = postgres.TransactionSql<Types>;
/** Either: for functions that do one statement and do not care in which of both. */
export type Queryable = postgres.ISql<Types>;
