import type { Queryable } from '../../coordinator/database/statement.ts';
import { isoText } from '../../shared/base/time.ts';

const momentName = /(^|_)(at|since|until)$/;

/**
 * What stands behind `insert into table`: rows by the names of their columns, whose moments are
 * numbers.
 */
export function rowsFor(sql: Queryable, table: string, rows: object) {
  const all = [rows]
    .flat()
    .map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          value instanceof Uint8Array
            ? `\\x${Buffer.from(value).toString('hex')}`
            : typeof value === 'number' && momentName.test(name)
              ? isoText(value)
              : value,
        ]),
      ),
    );
  const columns = sql(Object.keys(all[0] ?? {}));
  return sql`(${columns}) select ${columns}
    from jsonb_populate_recordset(null::${sql(table)}, ${JSON.stringify(all)}::text::jsonb)`;
}
