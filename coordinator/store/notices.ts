import type { Queryable } from './database.ts';

/** For the operator: one row for an event, open while it lasts. */
export type NoticeKind = 'probe_lost' | 'bus_silent' | 'probe_quarantined' | 'probe_twice' | 'continent_alone' | 'results_dropped';

/** Opens a notice unless one of this kind about this subject is open. True when it is new. */
export const openNotice = async (sql: Queryable, kind: NoticeKind, subject: string, message: string): Promise<boolean> => {
  const rows = await sql`insert into notices (kind, subject, message) values (${kind}, ${subject}, ${message})
    on conflict (kind, subject) where ended_at is null do nothing returning id`;
  return rows.length > 0;
};

export const endNotice = async (sql: Queryable, kind: NoticeKind, subject: string): Promise<void> => {
  await sql`update notices set ended_at = now() where kind = ${kind} and subject = ${subject} and ended_at is null`;
};

export const openNotices = (sql: Queryable, kind: NoticeKind): Promise<{ subject: string; began_at: Date }[]> =>
  sql<{ subject: string; began_at: Date }[]>`select subject, began_at from notices where kind = ${kind} and ended_at is null`;
