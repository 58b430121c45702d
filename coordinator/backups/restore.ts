import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { codeOf } from '../../shared/base/errors.ts';
import type { Sql, Transaction } from '../database/connect.ts';
import { inCopyTransaction } from '../database/sql.ts';
import { makeJournalHours } from '../results/journal.ts';
import { makeResultDays } from '../results/retention.ts';
import { growEverySealEpoch } from '../secrets/at-rest.ts';
import { beginCursors } from '../webhooks/queries.ts';
import {
  accessTables,
  appliedMigrations,
  type BackupRecord,
  type BackupSummary,
  NoBackup,
  type Progress,
  recordBytes,
  recordsOf,
  rowsIn,
  type Table,
  tablesInOrder,
} from './write.ts';

const headerShape = z.object({
  made_at: z.string(),
  migrations: z.array(z.string()),
  results: z.object({ from: z.number(), to: z.number() }).nullable(),
  journal: z.object({ from: z.number(), to: z.number() }).nullable().default(null),
});

/**
 * A database that its own log brought back to an earlier moment (point-in-time recovery) is treated
 * like a restored backup. It becomes another installation to the bus. All that grants access is
 * deleted, because some of it was used or ended since. @returns how many rows were deleted.
 */
export function adoptRecoveredDatabase(sql: Sql): Promise<number> {
  return sql.begin(async (transaction) => {
    await refuseAtWork(transaction);
    await becomeAnother(transaction);
    await transaction`set local antipode.restoring = 'on'`;
    let gone = 0;
    for (const table of accessTables)
      gone += (await transaction`delete from ${transaction(table)}`).count;
    return gone;
  });
}

async function refuseAtWork(sql: Transaction): Promise<void> {
  const alive = await sql`select 1 from coordinators where seen_at > now() - interval '15 seconds'`;
  if (alive.length > 0) throw new NoBackup('a coordinator works on this database; stop it first');
}

/** Removes state of the past that must not continue. */
async function becomeAnother(sql: Transaction): Promise<void> {
  // The bus may hold messages of the older state; as another installation we do not take them for
  // ours.
  await sql`update installation set id = gen_random_uuid()`;
  // Probes that were revoked after the backup may hold the network's keys of that time.
  await growEverySealEpoch(sql);
  await sql`update leases set owner = null, expires_at = 'epoch'`;
}

/** A backup's header, without the rest. @throws NoBackup when it is none. */
export async function backupHeader(file: string): Promise<z.infer<typeof headerShape>> {
  await access(file, constants.R_OK);
  const source = unpacked(file);
  try {
    const { value: first } = await recordsOf(source).next();
    if (first?.kind !== 'H') throw new NoBackup('it does not begin with what it is');
    return parsed(headerShape, first);
  } catch (error) {
    throw isOfZip(error) ? new NoBackup('it is damaged, or no backup at all') : error;
  } finally {
    source.destroy();
  }
}

function unpacked(file: string): Readable {
  const unzip = createGunzip();
  // With pipe() alone a reader would wait for ever when the file cannot be read.
  createReadStream(file)
    .on('error', (error) => unzip.destroy(error))
    .pipe(unzip);
  // The reader gets the error too; this covers the time before the first read.
  return unzip.on('error', () => undefined);
}

function parsed<Shape extends z.ZodType>(shape: Shape, { content }: BackupRecord): z.infer<Shape> {
  try {
    return shape.parse(JSON.parse(content.toString()));
  } catch (error) {
    throw new NoBackup(
      `it is damaged (${error instanceof Error ? error.message.slice(0, 200) : String(error)})`,
    );
  }
}

function isOfZip(error: unknown): boolean {
  return codeOf(error).startsWith('Z_');
}

/**
 * Restores a backup into a database with today's schema: all of it, or nothing. @throws NoBackup
 * when the file or the database is unfit.
 */
export async function readBackup(
  sql: Sql,
  file: string,
  replace: boolean,
  progress: Progress,
): Promise<BackupSummary> {
  await access(file, constants.R_OK);
  const source = unpacked(file);
  try {
    return await inCopyTransaction(sql, '', (transaction) =>
      restoreAll(transaction, source, replace, progress),
    );
  } catch (error) {
    throw isOfZip(error) ? new NoBackup('it is damaged, or no backup at all') : error;
  } finally {
    source.destroy();
  }
}

const tableShape = z.object({ name: z.string(), columns: z.array(z.string()) });

const endShape = z.object({ rows: z.number(), sha256: z.string() });

async function restoreAll(
  transaction: Transaction,
  source: Readable,
  replace: boolean,
  progress: Progress,
): Promise<BackupSummary> {
  const tables = await tablesInOrder(transaction);
  await refuseUnfit(transaction, tables, replace);
  // Restored rows are of the past and raise no events.
  await transaction`set local antipode.restoring = 'on'`;
  const sum = createHash('sha256');
  const done = { tables: 0, rows: 0 };
  let ended = false;
  const records = recordsOf(source);

  const restoreTable = async (record: BackupRecord): Promise<void> => {
    const { name, columns } = parsed(tableShape, record);
    const table = tables.find((known) => known.name === name);
    if (!table || columns.some((column) => !table.columns.includes(column)))
      throw new NoBackup(`its table ${name} is not known here`);
    const before = done.rows;
    async function* rows(): AsyncGenerator<Buffer> {
      for (;;) {
        const { done: over, value } = await records.next();
        if (over || (value.kind !== 'D' && value.kind !== 'E')) throw new NoBackup('it ends early');
        sum.update(recordBytes(value.kind, value.content));
        if (value.kind === 'E') return;
        done.rows += rowsIn(value.content);
        yield value.content;
      }
    }
    await copyInto(transaction, { name, columns }, rows());
    done.tables += 1;
    progress(name, done.rows - before);
  };

  for (;;) {
    const { done: over, value: record } = await records.next();
    if (over) break;
    if (record.kind === 'Z') {
      const { rows, sha256 } = parsed(endShape, record);
      if (sha256 !== sum.digest('hex') || rows !== done.rows)
        throw new NoBackup('it is damaged: its sum is not right');
      ended = true;
      break;
    }
    sum.update(recordBytes(record.kind, record.content));
    if (record.kind === 'H') {
      const { migrations, results, journal } = parsed(headerShape, record);
      const here = await appliedMigrations(transaction);
      if (migrations.join() !== here.join())
        throw new NoBackup(
          `it is of another version of the schema (${migrations.at(-1)}; here it is ${here.at(-1)})`,
        );
      if (results) await makeResultDays(transaction, results.from, results.to + 1);
      if (journal) await makeJournalHours(transaction, journal.from, journal.to + 1);
    } else if (record.kind === 'T') await restoreTable(record);
  }
  if (!ended) throw new NoBackup('it ends early');
  await moveSequences(transaction);
  // Events are not in a backup: webhooks go on with what comes after it.
  await beginCursors(transaction, null);
  return done;
}

async function refuseUnfit(
  sql: Transaction,
  tables: readonly Table[],
  replace: boolean,
): Promise<void> {
  await refuseAtWork(sql);
  const people =
    await sql`select 1 from organisations union all select 1 from users union all select 1
      from probes limit 1`;
  if (people.length > 0 && !replace)
    throw new NoBackup(
      'this database is not empty; give an empty one, or --replace to lose what is in it',
    );
  await sql`truncate ${sql(tables.map(({ name }) => name))} cascade`;
  await becomeAnother(sql);
}

/** Fills a table by COPY. */
async function copyInto(
  sql: Transaction,
  { name, columns }: Table,
  rows: AsyncIterable<Buffer>,
): Promise<void> {
  const { text } = sql`copy ${sql(name)} (${sql(columns)}) from stdin`.write();
  const into = sql.session.copyFrom(text);
  await pipeline(rows, into).catch(async (error: unknown) => {
    if (error instanceof NoBackup) throw error;
    throw new NoBackup(
      `its rows of ${name} do not fit (${error instanceof Error ? error.message : String(error)})`,
    );
  });
}

/** Sequences continue after the highest restored number. */
async function moveSequences(sql: Transaction): Promise<void> {
  const rows = await sql<{ table: string; column: string; sequence: string }[]>`
    select c.relname as table, a.attname as column,
      pg_get_serial_sequence(c.relname, a.attname) as sequence
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and case when a.attnum > 0 and not a.attisdropped
        then pg_get_serial_sequence(c.relname, a.attname) is not null end`;
  for (const { table, column, sequence } of rows)
    await sql`select setval(${sequence}::regclass, greatest(coalesce(max(${sql(column)}), 0), 1),
      count(*) > 0) from ${sql(table)}`;
}
