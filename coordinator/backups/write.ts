import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Queryable, Sql, Transaction } from '../database/connect.ts';
import { inCopyTransaction } from '../database/sql.ts';

/**
 * A backup is one gzip file: a magic line, then records of a kind (one letter), a length (four
 * bytes) and content. `H` header (JSON) · for each table `T` (JSON: name, columns), any number of
 * `D` (rows as COPY writes them), `E` · last `Z` (JSON: the sum).
 */
const magic = 'antipode backup 1\n';

type RecordKind = 'H' | 'T' | 'D' | 'E' | 'Z';
export type BackupRecord = { readonly kind: RecordKind; readonly content: Buffer };

const headLength = 5;
/** Longer than any chunk that is written: a damaged length must not allocate all memory. */
const longest = 64 * 1024 * 1024;

export function recordBytes(kind: RecordKind, content: Uint8Array): Buffer {
  const head = Buffer.alloc(headLength);
  head.write(kind, 'latin1');
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

const lineBreak = 10;

/**
 * How many rows the content of a `D` has. COPY's text form writes a line break inside a value as
 * \n, so lines are rows.
 */
export function rowsIn(content: Uint8Array): number {
  let rows = 0;
  for (let at = content.indexOf(lineBreak); at >= 0; at = content.indexOf(lineBreak, at + 1))
    rows += 1;
  return rows;
}

export class NoBackup extends Error {
  constructor(why: string) {
    super(`the file cannot be restored: ${why}`);
    this.name = 'NoBackup';
  }
}

/**
 * The records of an (unpacked) backup, one after the other. @throws NoBackup when it is none or
 * ends early.
 */
export async function* recordsOf(stream: Readable): AsyncGenerator<BackupRecord> {
  const chunks = stream[Symbol.asyncIterator]();
  let held = Buffer.alloc(0);
  const take = async (length: number): Promise<Buffer | undefined> => {
    while (held.length < length) {
      const { done, value } = await chunks.next();
      if (done) return undefined;
      held = Buffer.concat([held, Buffer.from(value)]);
    }
    const taken = held.subarray(0, length);
    held = held.subarray(length);
    return taken;
  };
  if ((await take(magic.length))?.toString() !== magic)
    throw new NoBackup('it is no backup of this service');
  for (;;) {
    const head = await take(headLength);
    if (head === undefined) return;
    const kind = head.toString('latin1', 0, 1);
    const length = head.readUInt32BE(1);
    if (!isKind(kind) || length > longest) throw new NoBackup('it is damaged');
    const content = await take(length);
    if (content === undefined) throw new NoBackup('it ends early');
    yield { kind, content };
  }
}

const kinds: readonly string[] = ['H', 'T', 'D', 'E', 'Z'] satisfies RecordKind[];

function isKind(text: string): text is RecordKind {
  return kinds.includes(text);
}

export type Table = { readonly name: string; readonly columns: readonly string[] };

/** What grants access: what was used or ended since the backup must not come back. */
export const accessTables: readonly string[] = [
  'one_time_secrets',
  'sessions',
  'attempts',
  'invitations',
  'oauth_records',
  'connections',
  'probe_invitations',
];

/**
 * What belongs to running coordinators or to this one database, and is created again after a
 * restore; also what grants access.
 */
const leftOut = [
  'migrations',
  'installation',
  'leases',
  'coordinators',
  'refutations',
  'rate_windows',
  'monitor_status',
  'monitor_counts',
  'events',
  'webhook_cursors',
  'kept_answers',
  ...accessTables,
];

/**
 * Tables that only some rows of are written: mails that were sent since the backup must not come
 * back, and events are not in it.
 */
const partly: Readonly<Record<string, string>> = { deliveries: "kind in ('alert', 'update')" };

/**
 * Every table with its columns, referenced tables first. Days of results are part of their parent.
 */
export async function tablesInOrder(sql: Queryable): Promise<Table[]> {
  const rows = await sql<{ name: string; columns: string[]; needs: string[] }[]>`
    select c.relname as name,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        order by a.attnum) as columns,
      array(select distinct r.relname::text from pg_constraint k join pg_class r
        on r.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> all(${leftOut})
    order by c.relname`;
  const ordered: Table[] = [];
  let waiting = [...rows];
  while (waiting.length > 0) {
    const placed = new Set(ordered.map(({ name }) => name));
    const ready = waiting.filter(({ needs }) =>
      needs.every((need) => placed.has(need) || leftOut.includes(need)),
    );
    if (ready.length === 0)
      throw new Error(
        `these tables refer to each other in a circle: ${waiting.map(({ name }) => name).join(', ')}`,
      );
    ordered.push(...ready.map(({ name, columns }) => ({ name, columns })));
    waiting = waiting.filter((row) => !ready.includes(row));
  }
  return ordered;
}

export async function appliedMigrations(sql: Queryable): Promise<string[]> {
  return (await sql<{ name: string }[]>`select name from migrations order by name`).map(
    ({ name }) => name,
  );
}

export type BackupSummary = { readonly tables: number; readonly rows: number };

/** Called after every table. */
export type Progress = (table: string, rows: number) => void;

/** First and last time of the stored checks: a restore creates their days from it. */
export async function resultsSpan(
  sql: Queryable,
  withResults = true,
): Promise<{ from: number; to: number } | null> {
  const [row] = withResults
    ? await sql<Span[]>`
      select (select min(at) from chunks) as from,
        greatest((select max(at) from chunks), (select max(hour) from journal)) as to`
    : await sql<Span[]>`
      select min(at) as from, max(at) as to from chunks
      where at >= (select min(day)::timestamp at time zone 'UTC' from stale_days)
        and ${sql.unsafe(isWithoutFigures)}`;
  return row?.to ? { from: row.from ?? row.to, to: row.to } : null;
}

type Span = { readonly from: number | null; readonly to: number | null };

type How = {
  readonly withResults?: boolean;
  /** Throws when the disk has no space for more. */
  readonly demand?: () => Promise<void>;
};

/**
 * Writes everything as of one moment to a file, while coordinators go on working. The file is
 * complete or absent.
 */
export async function writeBackup(
  sql: Sql,
  file: string,
  progress: Progress,
  { withResults = true, demand = async () => undefined }: How = {},
): Promise<BackupSummary> {
  const done = { tables: 0, rows: 0 };
  const partial = `${file}.partial`;
  try {
    await inCopyTransaction(sql, 'isolation level repeatable read read only', (transaction) =>
      pipeline(
        Readable.from(
          backupBytes(transaction, createHash('sha256'), done, { progress, withResults }),
        ),
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
}

type Wanted = { readonly progress: Progress; readonly withResults: boolean };

/**
 * Raw results are most of a backup, and are kept only for days; samples, incidents and uptime need
 * none of them. Figures do until their day has a row: without results, a backup has the chunks of
 * such days alone.
 */
const isWithoutFigures = `exists (select from stale_days s where s.monitor_key = chunks.monitor_key
  and s.day = (chunks.at at time zone 'UTC')::date)`;

async function* backupBytes(
  sql: Transaction,
  sum: Hash,
  done: { tables: number; rows: number },
  { progress, withResults }: Wanted,
): AsyncGenerator<Buffer> {
  const tables = (await tablesInOrder(sql)).filter(({ name }) => withResults || name !== 'journal');
  yield Buffer.from(magic);
  const header = recordBytes(
    'H',
    json({
      made_at: new Date().toISOString(),
      migrations: await appliedMigrations(sql),
      results: await resultsSpan(sql, withResults),
      journal: withResults ? await journalSpan(sql) : null,
    }),
  );
  sum.update(header);
  yield header;
  for (const table of tables) {
    const count = { rows: 0 };
    for await (const bytes of tableBytes(sql, table, count, withResults)) {
      sum.update(bytes);
      yield bytes;
    }
    done.tables += 1;
    done.rows += count.rows;
    progress(table.name, count.rows);
  }
  yield recordBytes('Z', json({ rows: done.rows, sha256: sum.digest('hex') }));
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** First and last hour of what is in no chunk yet. */
async function journalSpan(sql: Queryable): Promise<{ from: number; to: number } | null> {
  const [row] = await sql<
    { from: number | null; to: number | null }[]
  >`select min(hour) as from, max(hour) as to from journal`;
  return row?.from && row.to ? { from: row.from, to: row.to } : null;
}

async function* tableBytes(
  sql: Transaction,
  { name, columns }: Table,
  count: { rows: number },
  withResults: boolean,
): AsyncGenerator<Buffer> {
  yield recordBytes('T', json({ name, columns }));
  const isPart = name === 'chunks' && !withResults;
  const leaves = await leavesOf(sql, name);
  const rows = isPart ? isWithoutFigures : (partly[name] ?? 'true');
  for (const leaf of isPart ? await withoutFigures(sql, leaves) : leaves) {
    const { text } = sql`copy (select ${sql(columns)} from only ${sql.unsafe(leaf)} as ${sql(name)}
      where ${sql.unsafe(rows)}) to stdout`.write();
    for await (const bytes of inPieces(sql.session.copyTo(text))) {
      count.rows += rowsIn(bytes);
      yield recordBytes('D', bytes);
    }
  }
  yield recordBytes('E', Buffer.alloc(0));
}

/**
 * Where the rows of a table are: in the table itself, or in its partitions that this transaction
 * sees.
 */
async function leavesOf(sql: Transaction, table: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select relid::regclass::text as name from pg_partition_tree(${table}) where isleaf
    union all
    select oid::regclass::text from pg_class where oid = ${table}::regclass and relkind = 'r'`;
  return rows.map(({ name }) => name);
}

/** Of the days of chunks, those of which some monitor has no row yet. */
async function withoutFigures(sql: Transaction, days: readonly string[]): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct 'chunks_' || to_char(day, 'YYYYMMDD') as name from stale_days order by 1`;
  return rows.map(({ name }) => name).filter((name) => days.includes(name));
}

const pieceBytes = 256 * 1024;

/** Records are larger than what the database sends at once. */
async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    size += chunk.length;
    if (size < pieceBytes) continue;
    yield Buffer.concat(held);
    [held, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(held);
}

/** How many bytes are written between two checks of the free space. */
const lookEvery = 16 * 1024 * 1024;

/** Passes everything on, and checks the free space from time to time. */
function watched(demand: () => Promise<void>) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
}
