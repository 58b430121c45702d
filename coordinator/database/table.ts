import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from './connect.ts';

/** Columns of a table by name, each with its type in the database. */
type Columns = Readonly<Record<string, string>>;

/** A value for each column, as JSON. A moment is a number. */
type RowOf<Own extends Columns> = {
  readonly [Name in keyof Own]: Own[Name] extends 'timestamptz' ? number | null : unknown;
};

/** `id, name`, or `m.id, m.name`: all of them, for a statement. */
export function namesOf(columns: Columns, table?: string): string {
  return Object.keys(columns)
    .map((name) => (table === undefined ? name : `${table}.${name}`))
    .join(', ');
}

/** Writes rows of one organisation by one statement, in the order of the input. */
export async function insertRows<Own extends Columns>(
  sql: Queryable,
  table: string,
  columns: Own,
  organisation: string,
  rows: readonly RowOf<Own>[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql`insert into ${sql(table)} (organisation_id, ${sql.unsafe(namesOf(columns))})
    select ${organisation}, ${sql.unsafe(namesOf(columns, 'r'))}
    from ${recordset(sql, columns, rows)}`;
}

/**
 * Gives rows of one organisation these values, by their ids and by one statement. `also`: what
 * follows from a row `r` for `t`, in SQL.
 */
export async function updateRows<Own extends Columns>(
  sql: Queryable,
  table: string,
  columns: Own,
  organisation: string,
  rows: readonly (RowOf<Own> & { readonly id: string })[],
  also: readonly string[] = [],
): Promise<void> {
  const [one, ...others] = rows;
  if (one === undefined) return;
  // The database expects a hundred rows of any list, and would read a whole table for one.
  const which = others.length === 0 ? sql`t.id = ${one.id}` : sql`t.id = r.id`;
  const sets = [...Object.keys(columns).map((name) => `${name} = r.${name}`), ...also];
  await sql`update ${sql(table)} t set ${sql.unsafe(sets.join(', '))}
    from ${recordset(sql, { id: 'uuid', ...columns }, rows)}
    where ${which} and t.organisation_id = ${organisation}`;
}

/** Bytes as the text that the database reads as bytes. */
export function bytesText(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : `\\x${Buffer.from(bytes).toString('hex')}`;
}

/** The rows as `r`; what they hold beside the columns stays here. */
function recordset(
  sql: Queryable,
  columns: Columns,
  rows: readonly Readonly<Record<string, unknown>>[],
) {
  const kept = rows.map((row) =>
    Object.fromEntries(
      Object.entries(columns).map(([name, type]) => [name, asJson(type, row[name])]),
    ),
  );
  const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  return sql`jsonb_to_recordset(${JSON.stringify(kept)}::text::jsonb)
    as r (${sql.unsafe(types.join(', '))})`;
}

function asJson(type: string, value: unknown): unknown {
  return type === 'timestamptz' && typeof value === 'number' ? isoText(value) : value;
}
