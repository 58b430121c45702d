import type { Queryable } from '../../coordinator/database/statement.ts';

/** What stands behind `insert into table`: rows by the names of their columns. */
export function rowsFor(sql: Queryable, table: string, rows: object) {
  const all = [rows]
    .flat()
    .map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value,
        ]),
      ),
    );
  const columns = sql(Object.keys(all[0] ?? {}));
  return sql`(${columns}) select ${columns}
    from jsonb_populate_recordset(null::${sql(table)}, ${JSON.stringify(all)}::text::jsonb)`;
}
