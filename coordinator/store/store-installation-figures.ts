import type { Sql } from './store-database.ts';

export type StoredFigure = { readonly name: string; readonly label: string; readonly value: number };

/** What the whole installation has waiting and open, in one question; each part of it walks an index of what is open alone. */
export const storedFigures = (sql: Sql, now: number): Promise<readonly StoredFigure[]> => {
  const at = new Date(now);
  return sql<StoredFigure[]>`
    select 'outbox_waiting' as name, topic as label, count(*)::float8 as value from outbox where done_at is null group by topic
    union all select 'outbox_oldest', '', coalesce(extract(epoch from ${at} - min(due_at)), 0)::float8 from outbox where done_at is null and due_at <= ${at}
    union all select 'incidents', case when confirmed_at is null then 'verifying' else 'confirmed' end, count(*)::float8
      from incidents where resolved_at is null group by 2
    union all select 'notices', kind, count(*)::float8 from notices where ended_at is null group by kind
    union all select 'messages_waiting', '', count(*)::float8 from messages where state = 'waiting'
    union all select 'messages_oldest', '', coalesce(extract(epoch from ${at} - min(due_at)), 0)::float8 from messages where state = 'waiting' and due_at <= ${at}
    union all select 'set_aside', '', count(*)::float8 from set_aside
    union all select 'partitions_owned', '', count(*)::float8 from leases where owner is not null and expires_at > now()`;
};
