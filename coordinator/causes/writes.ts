import { isoText } from '../../shared/base/time.ts';
import type { ServedNote } from '../../shared/checks/result.ts';
import type { Queryable, Statement } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';

export type ServedWrite = ServedNote & { readonly monitor: string; readonly at: number };

/** The engine's side of causes: by what monitors were served. */
export function writeServed(sql: Queryable, writes: readonly ServedWrite[]): Statement[] {
  if (writes.length === 0) return [];
  const last = new Map(
    writes
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, ...rest }) => [rest.monitor, { ...rest, seen_at: isoText(at) }]),
  );
  return [
    sql`
      insert into served (monitor_id, organisation_id, addresses, server, redirect, seen_at)
      select m.id, m.organisation_id, s.addresses, s.server, s.redirect, s.seen_at
      from json_to_recordset(${jsonText([...last.values()])}::text::json) as s (monitor uuid,
        addresses text[], server text, redirect text, seen_at timestamptz)
      join monitors m on m.id = s.monitor
      order by m.id
      on conflict (monitor_id) do update
      set addresses = excluded.addresses, server = excluded.server,
        redirect = excluded.redirect, seen_at = excluded.seen_at
      where served.seen_at < excluded.seen_at`,
  ];
}
