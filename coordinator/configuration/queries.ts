import type { FileKind } from '../../shared/api/files.ts';
import type { Queryable } from '../database/connect.ts';
import { insertRows } from '../database/table.ts';

/** An object that a file manages. */
export type Managed = { readonly kind: FileKind; readonly key: string; readonly id: string };

/** An object of any kind, as files refer to it. */
type Thing = { readonly kind: FileKind; readonly id: string; readonly name: string };

/**
 * What a file manages, of what still exists. Each object is looked up by its id: a join of as many
 * rows as a file has just written would be planned for one.
 */
export function managedBy(sql: Queryable, organisation: string, file: string): Promise<Managed[]> {
  return sql<Managed[]>`
    select f.kind, f.key, f.object_id as id from file_objects f
    where f.organisation_id = ${organisation} and f.file = ${file} and case f.kind
      when 'groups' then exists (select from groups t
        where t.id = f.object_id and t.organisation_id = f.organisation_id)
      when 'monitors' then exists (select from monitors t
        where t.id = f.object_id and t.organisation_id = f.organisation_id)
      when 'channels' then exists (select from channels t
        where t.id = f.object_id and t.organisation_id = f.organisation_id
          and t.deleted_at is null and t.user_id is null)
      when 'maintenance' then exists (select from maintenance_windows t
        where t.id = f.object_id and t.organisation_id = f.organisation_id
          and t.deleted_at is null)
      when 'objectives' then exists (select from objectives t
        where t.id = f.object_id and t.organisation_id = f.organisation_id)
      else exists (select from status_pages t
        where t.id = f.object_id and t.organisation_id = f.organisation_id) end
    order by f.kind, f.key`;
}

/** What other files manage. */
export function managedElsewhere(
  sql: Queryable,
  organisation: string,
  file: string,
): Promise<{ readonly id: string; readonly file: string }[]> {
  return sql<{ readonly id: string; readonly file: string }[]>`
    select object_id as id, file from file_objects
    where organisation_id = ${organisation} and file <> ${file} order by file, object_id`;
}

/** The objects of these ids, with the file that manages each. */
export function thingsWithFile(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<(Thing & { readonly type: string | null; readonly file: string | null })[]> {
  return sql<(Thing & { readonly type: string | null; readonly file: string | null })[]>`
    select t.kind, t.id, t.name, t.type, f.file from (${things(sql, organisation)}) t
    left join file_objects f on f.organisation_id = ${organisation} and f.object_id = t.id
    where t.id = any(${ids}::uuid[])`;
}

/** Everything of an organisation that a file can manage. */
function things(sql: Queryable, organisation: string) {
  return sql`
  select 'groups' as kind, id, name, external_id, null as type from groups
    where organisation_id = ${organisation}
  union all select 'monitors', id, name, external_id, type from monitors
    where organisation_id = ${organisation}
  union all select 'channels', id, name, null, kind from channels
    where organisation_id = ${organisation} and deleted_at is null and user_id is null
  union all select 'maintenance', id, coalesce(name, ''), null, null from maintenance_windows
    where organisation_id = ${organisation} and deleted_at is null
  -- What never changes of one: what it is of.
  union all select 'objectives', id, name, null, concat_ws('/', coalesce(monitor_id::text, '-'),
      coalesce(group_id::text, '-'), coalesce(tag, '-'), coalesce(latency_ms::text, '-'))
    from objectives where organisation_id = ${organisation}
  union all select 'status_pages', id, name, null, null from status_pages
    where organisation_id = ${organisation}`;
}

/** Groups and monitors by their external ids. */
export function objectsNamed(
  sql: Queryable,
  organisation: string,
  externalIds: readonly string[],
): Promise<(Thing & { readonly external_id: string; readonly file: string | null })[]> {
  return sql<(Thing & { readonly external_id: string; readonly file: string | null })[]>`
    select t.kind, t.id, t.name, t.external_id, f.file from (${things(sql, organisation)}) t
    left join file_objects f on f.organisation_id = ${organisation} and f.object_id = t.id
    where t.external_id = any(${externalIds}::text[])`;
}

/** A file that manages any of these objects; undefined when all are managed by hand. */
export async function fileOf(
  sql: Queryable,
  organisation: string,
  objects: readonly string[],
): Promise<string | undefined> {
  const [row] = await sql<{ file: string }[]>`
    select file from file_objects
    where organisation_id = ${organisation} and object_id = any(${objects}::uuid[])
    order by file limit 1`;
  return row?.file;
}

/** The file manages these from now on; each key names one object. */
export async function writeManaged(
  sql: Queryable,
  organisation: string,
  file: string,
  managed: readonly Managed[],
): Promise<void> {
  if (managed.length === 0) return;
  const named = managed.map(({ kind, key }) => `${kind} ${key}`);
  await sql`delete from file_objects where organisation_id = ${organisation} and file = ${file}
    and kind || ' ' || key = any(${named}::text[])`;
  await insertRows(
    sql,
    'file_objects',
    { file: 'text', kind: 'text', key: 'text', object_id: 'uuid' },
    organisation,
    managed.map(({ id, ...rest }) => ({ ...rest, file, object_id: id })),
  );
}

export async function removeManaged(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  await sql`delete from file_objects
    where organisation_id = ${organisation} and object_id = any(${ids}::uuid[])`;
}
