import type { Queryable } from '../database/connect.ts';

export type ArchiveFile = {
  /** As in `2026-11-20`. */
  readonly day: string;
  readonly checks: number;
  readonly bytes: number;
};

export type ArchiveRow = {
  readonly id: string;
  readonly organisation_id: string;
  readonly created_at: Date;
  readonly created_by: string;
  readonly ended_at: Date | null;
  readonly is_too_large: boolean;
  readonly files: readonly ArchiveFile[];
};

const withFiles = (sql: Queryable) => sql`
  a.id, a.organisation_id, a.created_at, a.created_by, a.ended_at, a.is_too_large,
  (select coalesce(json_agg(json_build_object('day', f.day, 'checks', f.checks, 'bytes', f.bytes)
      order by f.day), '[]') from archive_files f where f.archive_id = a.id) as files`;

export async function archiveOf(
  sql: Queryable,
  organisation: string,
): Promise<ArchiveRow | undefined> {
  const [row] = await sql<ArchiveRow[]>`select ${withFiles(sql)} from archives a
    where a.organisation_id = ${organisation}`;
  return row;
}

/** An organisation has one; a new one takes the place of one that has ended. */
export async function insertArchive(
  sql: Queryable,
  organisation: string,
  { id, by, at }: { readonly id: string; readonly by: string; readonly at: Date },
): Promise<void> {
  await sql`delete from archives where organisation_id = ${organisation} and ended_at is not null`;
  await sql`insert into archives (id, organisation_id, created_at, created_by)
    values (${id}, ${organisation}, ${at}, ${by}) on conflict (organisation_id) do nothing`;
}

/** A piece of a whole day; null behind its last one. */
export async function pieceOf(
  sql: Queryable,
  organisation: string,
  { id, day, nth }: { readonly id: string; readonly day: string; readonly nth: number },
): Promise<{ readonly data: Uint8Array | null } | undefined> {
  const [row] = await sql<{ data: Uint8Array | null }[]>`
    select p.data from archive_files f left join archive_pieces p
      on p.archive_id = f.archive_id and p.day = f.day and p.nth = ${nth}
    where f.organisation_id = ${organisation} and f.archive_id = ${id} and f.day::text = ${day}`;
  return row;
}

export async function oldestWaiting(
  sql: Queryable,
  postponed: readonly string[] = [],
): Promise<ArchiveRow | undefined> {
  const [row] = await sql<ArchiveRow[]>`select ${withFiles(sql)} from archives a
    where a.ended_at is null and a.id <> all(${[...postponed]}::uuid[]) order by a.created_at limit 1`;
  return row;
}

type ArchiveKey = Pick<ArchiveRow, 'id' | 'organisation_id'>;

/** False when the archive is gone. */
export async function insertPiece(
  sql: Queryable,
  { id, organisation_id }: ArchiveKey,
  { day, nth, data }: { readonly day: string; readonly nth: number; readonly data: Uint8Array },
): Promise<boolean> {
  const { count } = await sql`
    insert into archive_pieces (archive_id, organisation_id, day, nth, data)
    select id, organisation_id, ${day}::date, ${nth}, ${data} from archives
    where id = ${id} and organisation_id = ${organisation_id}`;
  return count > 0;
}

export async function deletePieces(
  sql: Queryable,
  { id, organisation_id }: ArchiveKey,
  day: string,
): Promise<void> {
  await sql`delete from archive_pieces
    where archive_id = ${id} and organisation_id = ${organisation_id} and day = ${day}::date`;
}

export async function insertFile(
  sql: Queryable,
  { id, organisation_id }: ArchiveKey,
  { day, checks, bytes }: ArchiveFile,
): Promise<void> {
  await sql`
    insert into archive_files (archive_id, organisation_id, day, checks, bytes)
    select id, organisation_id, ${day}::date, ${checks}, ${bytes} from archives
    where id = ${id} and organisation_id = ${organisation_id}`;
}

export async function endArchive(
  sql: Queryable,
  { id, organisation_id }: ArchiveKey,
  { at, isTooLarge }: { readonly at: Date; readonly isTooLarge: boolean },
): Promise<void> {
  await sql`update archives set ended_at = ${at}, is_too_large = ${isTooLarge}
    where id = ${id} and organisation_id = ${organisation_id}`;
}

export async function forgetArchives(sql: Queryable, before: Date): Promise<void> {
  await sql`delete from archives where created_at < ${before}`;
}
