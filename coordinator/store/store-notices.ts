import type { NoticeKind } from '../domain/notice.ts';
import type { Queryable } from './store-database.ts';

export type NoticeRow = {
  readonly id: number;
  readonly kind: string;
  readonly subject: string;
  readonly message: string;
  readonly began_at: Date;
  readonly ended_at: Date | null;
};

/** Opens a notice unless one of this kind about this subject is open; that one gets the newer words. True when it is new. */
export const openNotice = async (sql: Queryable, kind: NoticeKind, subject: string, message: string): Promise<boolean> => {
  const rows = await sql<{ fresh: boolean }[]>`insert into notices (kind, subject, message) values (${kind}, ${subject}, ${message})
    on conflict (kind, subject) where ended_at is null do update set message = excluded.message
      where notices.message <> excluded.message
    returning xmax = 0 as fresh`;
  return rows[0]?.fresh === true;
};

export const endNotice = async (sql: Queryable, kind: NoticeKind, subject: string): Promise<void> => {
  await sql`update notices set ended_at = now() where kind = ${kind} and subject = ${subject} and ended_at is null`;
};

/** Ends what coordinators said of themselves that are not there any more. */
export const endNoticesOfGone = async (sql: Queryable, kind: NoticeKind): Promise<void> => {
  await sql`update notices set ended_at = now() where kind = ${kind} and ended_at is null
    and not exists (select 1 from coordinators where id::text = subject and seen_at > now() - interval '1 minute')`;
};

/** Nothing more will come of this subject: a probe that is gone for good. */
export const endNoticesAbout = async (sql: Queryable, subject: string): Promise<void> => {
  await sql`update notices set ended_at = now() where subject = ${subject} and ended_at is null`;
};

export const openNotices = (sql: Queryable, kind: NoticeKind): Promise<{ subject: string; began_at: Date }[]> =>
  sql<{ subject: string; began_at: Date }[]>`select subject, began_at from notices where kind = ${kind} and ended_at is null`;

/** What all open ones are about. */
export const noticesOpen = (sql: Queryable): Promise<{ kind: NoticeKind; subject: string }[]> =>
  sql<{ kind: NoticeKind; subject: string }[]>`select kind, subject from notices where ended_at is null`;

/** All that are open, and those that ended since a time; the open ones first, the newest of each first. */
export const noticesSince = (sql: Queryable, since: Date): Promise<NoticeRow[]> =>
  sql<NoticeRow[]>`
    select id, kind, subject, message, began_at, ended_at from notices where ended_at is null or ended_at >= ${since}
    order by ended_at is not null, began_at desc, id desc limit 1000`;
