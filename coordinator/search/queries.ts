import { wordsOf } from '../../shared/base/names.ts';
import type { Queryable } from '../database/connect.ts';
import { escapeLike } from '../database/sql.ts';
import { anyLetter, formsOf } from './typos.ts';

type FoundRow = {
  readonly kind: 'monitor' | 'group' | 'incident' | 'status_page' | 'channel' | 'member' | 'tag';
  readonly id: string;
  readonly name: string;
  readonly detail: string;
  readonly status: string | null;
};

const most = { monitors: 8, others: 4 } as const;

/** Names that begin with the words come first; among the rest, trouble does. */
export async function findAnything(
  sql: Queryable,
  organisation: string,
  text: string,
  typos: boolean,
): Promise<readonly FoundRow[]> {
  const words = wordsOf(text);
  if (words.length === 0)
    return sql<FoundRow[]>`
      select 'monitor' as kind, m.id, m.name, m.target as detail, s.status from monitor_status s
      join monitors m on m.id = s.monitor_id
      where s.organisation_id = ${organisation} and s.status in ('down', 'verifying')
      order by s.status, s.since desc limit ${most.monitors}`;
  const patterns = words.map((word) =>
    formsOf(word, typos).map((form) => `%${escapeLike(form).replaceAll(anyLetter, '_')}%`),
  );
  const all = (column: string) =>
    patterns
      .map((any) => sql`${sql.unsafe(column)} like any(${any}::text[])`)
      .reduce((so, each) => sql`${so} and ${each}`);
  const begins = `${escapeLike(words.join(' '))}%`;
  const [monitors, groups, incidents, statusPages, channels, members, tags] = await Promise.all([
    sql<FoundRow[]>`
      select 'monitor' as kind, m.id, m.name, m.target as detail, s.status from monitor_status s
      join monitors m on m.id = s.monitor_id
      where s.organisation_id = ${organisation} and ${all("s.words || ' ' || m.type")}
      order by s.words like ${begins} desc, s.status not in ('down', 'verifying'),
        s.name_folded limit ${most.monitors}`,
    sql<FoundRow[]>`
      select 'group' as kind, id, name, coalesce(description, '') as detail, null as status
      from groups
      where organisation_id = ${organisation} and ${all('search_words(name)')} order by name_folded
      limit ${most.others}`,
    sql<FoundRow[]>`
      select 'incident' as kind, i.id, m.name,
        to_char(i.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as detail,
        ${incidentStatus(sql)} as status
      from incidents i join monitors m on m.id = i.monitor_id join monitor_status s
        on s.monitor_id = m.id
      where i.organisation_id = ${organisation} and ${all('s.words')}
      order by i.resolved_at is not null, i.key desc limit ${most.others}`,
    sql<FoundRow[]>`
      select 'status_page' as kind, id, name, slug as detail, null as status from status_pages
      where organisation_id = ${organisation} and ${all("search_words(name || ' ' || slug)")} order by name
      limit ${most.others}`,
    sql<FoundRow[]>`
      select 'channel' as kind, id, name, kind as detail, null as status from channels
      where organisation_id = ${organisation} and deleted_at is null
        and ${all("search_words(name || ' ' || kind)")} order by name limit ${most.others}`,
    sql<FoundRow[]>`
      select 'member' as kind, u.id, coalesce(nullif(u.name, ''), u.email) as name,
        u.email || ', ' || m.role as detail, null as status
      from memberships m join users u on u.id = m.user_id
      where m.organisation_id = ${organisation} and ${all("search_words(u.name || ' ' || u.email)")}
      order by u.email limit ${most.others}`,
    sql<FoundRow[]>`
      select 'tag' as kind, t.tag as id, t.tag as name,
        count(*) || case count(*) when 1 then ' monitor' else ' monitors' end as detail,
        null as status
      from monitors m cross join unnest(m.tags) as t (tag)
      where m.organisation_id = ${organisation} and ${all('search_words(t.tag)')}
      group by t.tag order by count(*) desc, t.tag limit ${most.others}`,
  ]);
  return [...monitors, ...tags, ...groups, ...incidents, ...statusPages, ...channels, ...members];
}

/** As its monitor was, or `unknown` once it is over. */
function incidentStatus(sql: Queryable) {
  return sql`case when i.resolved_at is not null then 'unknown'
    when i.confirmed_at is null then 'verifying' else 'down' end`;
}

/** Monitors and incidents, in the order of their ids. */
export function findRecent(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<FoundRow[]> {
  return sql<FoundRow[]>`
    select f.kind, f.id, f.name, f.detail, f.status from (
      select 'monitor' as kind, m.id, m.name, m.target as detail, s.status
      from monitors m join monitor_status s on s.monitor_id = m.id
      where m.organisation_id = ${organisation} and m.id = any(${ids}::uuid[])
      union all
      select 'incident', i.id, m.name,
        to_char(i.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        ${incidentStatus(sql)}
      from incidents i join monitors m on m.id = i.monitor_id
      where i.organisation_id = ${organisation} and i.id = any(${ids}::uuid[])
    ) f order by array_position(${ids}::uuid[], f.id)`;
}
