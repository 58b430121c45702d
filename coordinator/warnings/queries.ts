import type { Queryable } from '../database/connect.ts';
import type { OpenWarning } from './model.ts';

/** The warnings of monitor `m` that last, oldest first, as a column; null without any. */
export function warningsColumn(sql: Queryable) {
  return sql`
  (select json_agg(json_build_object('monitor', w.monitor_id, 'code', w.code,
      'details', w.details, 'since', (extract(epoch from w.began_at) * 1000)::bigint)
      order by w.key)
    from warnings w where w.monitor_id = m.id and w.ended_at is null) as warnings`;
}

const maxOfGroup = 100;

/** Of the monitors of group `g`: how many are warned of, and their oldest warnings. */
export function warningsOfGroup(sql: Queryable) {
  return sql`
  (select count(distinct m.id)::int from monitors m join warnings w on w.monitor_id = m.id
    where m.group_id = g.id and w.ended_at is null) as warned,
  (select coalesce(json_agg(each), '[]') from (
    select w.monitor_id as monitor, w.code, w.details,
      (extract(epoch from w.began_at) * 1000)::bigint as since
    from monitors m join warnings w on w.monitor_id = m.id
    where m.group_id = g.id and w.ended_at is null
    order by w.key limit ${maxOfGroup}) each) as warnings`;
}

/** Whether monitor `m` has a warning that lasts, of a code or of any. */
export function isWarned(sql: Queryable, code: string) {
  return sql`
  exists (select 1 from warnings w where w.monitor_id = m.id and w.ended_at is null
    ${code === 'any' ? sql`` : sql`and w.code = ${code}`})`;
}

/** The warnings of these monitors that last. */
export function openWarningsOf(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
): Promise<OpenWarning[]> {
  return sql<OpenWarning[]>`
  select monitor_id as monitor, code, details,
    (extract(epoch from began_at) * 1000)::float8 as since
  from warnings where organisation_id = ${organisation} and ended_at is null
    and monitor_id = any(${monitors}::uuid[])
  order by key`;
}

type CertificateRow = {
  readonly monitor: string;
  readonly name: string;
  readonly fingerprint: string;
  readonly issuer: string;
  readonly ends_at: number;
  readonly seen_at: number;
};

/**
 * The certificates of an organisation's monitors, or of one, those that end first before the others.
 */
export function certificatesByEnd(
  sql: Queryable,
  organisation: string,
  { monitor, most: limit }: { readonly monitor: string | null; readonly most: number },
): Promise<CertificateRow[]> {
  return sql<CertificateRow[]>`
  select c.monitor_id as monitor, m.name, c.fingerprint, c.issuer, c.ends_at, c.seen_at
  from certificates c join monitors m on m.id = c.monitor_id
  where c.organisation_id = ${organisation} and m.organisation_id = ${organisation}
    ${monitor === null ? sql`` : sql`and c.monitor_id = ${monitor}`}
  order by c.ends_at, lower(m.name) limit ${limit}`;
}
