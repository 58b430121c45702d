import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { magic, recordBytes, rowsIn } from './store-backup-format.ts';
import { appliedMigrations, type Table, tablesInOrder } from './store-backup-tables.ts';
import type { Sql, Transaction } from './store-database.ts';

export type BackupDone = { readonly tables: number; readonly rows: number };

/** Called after every table. */
export type Progress = (table: string, rows: number) => void;

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** First and last moment of the raw results, for whoever restores to make their days. */
const resultsSpan = async (sql: Transaction): Promise<{ from: number; to: number } | null> => {
  const [row] = await sql<{ from: Date | null; to: Date | null }[]>`select min(at) as from, max(at) as to from results`;
  return row?.from && row.to ? { from: row.from.getTime(), to: row.to.getTime() } : null;
};

/** So many blocks of a table are asked for at once: about 8 MiB, besides what is stored beside the rows. */
const slice = 1024;

type Leaf = { readonly name: string; readonly blocks: number };

/** Where the rows of a table lie: in itself, or in the partitions that it has in this transaction's view. */
const leavesOf = (sql: Transaction, table: string): Promise<Leaf[]> => sql<Leaf[]>`
  select relid::regclass::text as name, pg_relation_size(relid) / current_setting('block_size')::int as blocks
  from pg_partition_tree(${table}) where isleaf
  union all
  select oid::regclass::text, pg_relation_size(oid) / current_setting('block_size')::int from pg_class where oid = ${table}::regclass and relkind = 'r'`;

/**
 * All that a COPY gives. The client stops reading from its socket when we read too slowly, and for ever when that happens at the end
 * of a COPY; so a slice is taken into memory as it comes, and the next is asked for when it is written.
 */
const copied = async (sql: Transaction, statement: string): Promise<Buffer[]> => {
  const stream = await sql.unsafe(statement).readable();
  const chunks: Buffer[] = [];
  const done = Promise.withResolvers<void>();
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.once('end', done.resolve);
  stream.once('error', done.reject);
  await done.promise;
  return chunks;
};

const pieceBytes = 256 * 1024;

/** The client gives a chunk for each row; records are larger. */
function* inPieces(chunks: readonly Buffer[]): Generator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  for (const chunk of chunks) {
    held.push(chunk);
    size += chunk.length;
    if (size < pieceBytes) continue;
    yield Buffer.concat(held);
    [held, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(held);
}

async function* tableBytes(sql: Transaction, { name, columns }: Table, count: { rows: number }): AsyncGenerator<Buffer> {
  yield recordBytes('T', json({ name, columns }));
  const list = columns.map((column) => `"${column}"`).join(', ');
  for (const leaf of await leavesOf(sql, name)) {
    for (let block = 0; block < Math.max(1, leaf.blocks); block += slice) {
      // Names and numbers are our own; a COPY takes no parameters. The last slice has no end.
      const until = block + slice < leaf.blocks ? ` and ctid < '(${block + slice},0)'` : '';
      const statement = `copy (select ${list} from only ${leaf.name} where ctid >= '(${block},0)'${until}) to stdout`;
      for (const bytes of inPieces(await copied(sql, statement))) {
        count.rows += rowsIn(bytes);
        yield recordBytes('D', bytes);
      }
    }
  }
  yield recordBytes('E', Buffer.alloc(0));
}

/** Raw results are the most of a backup, and are kept for days alone; charts, incidents and uptime need none of them. */
type Wanted = { readonly progress: Progress; readonly withResults: boolean };

async function* backupBytes(
  sql: Transaction,
  sum: Hash,
  done: { tables: number; rows: number },
  { progress, withResults }: Wanted,
): AsyncGenerator<Buffer> {
  const tables = (await tablesInOrder(sql)).filter(({ name }) => withResults || name !== 'results');
  yield Buffer.from(magic);
  const header = recordBytes(
    'H',
    json({
      made_at: new Date().toISOString(),
      migrations: await appliedMigrations(sql),
      results: withResults ? await resultsSpan(sql) : null,
    }),
  );
  sum.update(header);
  yield header;
  for (const table of tables) {
    const count = { rows: 0 };
    for await (const bytes of tableBytes(sql, table, count)) {
      sum.update(bytes);
      yield bytes;
    }
    done.tables += 1;
    done.rows += count.rows;
    progress(table.name, count.rows);
  }
  yield recordBytes('Z', json({ rows: done.rows, sha256: sum.digest('hex') }));
}

/** So many bytes go to the disk between two looks at its room. */
const lookEvery = 16 * 1024 * 1024;

/** Passes everything on, and asks now and then whether there is room for more. */
const watched = (demand: () => Promise<void>) =>
  async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let since = lookEvery;
    for await (const chunk of source) {
      since += chunk.length;
      if (since >= lookEvery) {
        await demand();
        since = 0;
      }
      yield chunk;
    }
  };

type How = {
  readonly withResults?: boolean;
  /** Throws where the disk has no room for more. */
  readonly demand?: () => Promise<void>;
};

/** Writes everything as it was at one moment to a file; coordinators may go on working. The file is there whole or not at all. */
export const writeBackup = async (
  sql: Sql,
  file: string,
  progress: Progress,
  { withResults = true, demand = async () => undefined }: How = {},
): Promise<BackupDone> => {
  const done = { tables: 0, rows: 0 };
  const partial = `${file}.partial`;
  try {
    await sql.begin('isolation level repeatable read read only', (transaction) =>
      pipeline(
        Readable.from(backupBytes(transaction, createHash('sha256'), done, { progress, withResults })),
        createGzip(),
        watched(demand),
        createWriteStream(partial, { mode: 0o600, flush: true }),
      ),
    );
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return done;
};
