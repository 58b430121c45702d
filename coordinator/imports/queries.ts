import type { FileKind } from '../../shared/api/files.ts';
import { isoText } from '../../shared/base/time.ts';
import type { Imported, Omission, Variable } from '../../shared/imports/result.ts';
import type { Source } from '../../shared/imports/sources.ts';
import type { Queryable } from '../database/connect.ts';
import { importOf, type SecretsAtRest } from '../secrets/at-rest.ts';

export type Made = { readonly kind: FileKind; readonly id: string };

export type ImportRow = {
  readonly id: string;
  readonly source: Source;
  readonly objects: Imported['objects'];
  readonly omissions: readonly Omission[];
  readonly variables: readonly Variable[];
  readonly applied_at: number | null;
  readonly made: readonly Made[];
  readonly undone_at: number | null;
};

const names = 'id, source, objects, omissions, variables, applied_at, made, undone_at';

type Sealing = Pick<SecretsAtRest, 'seal' | 'open'>;

/** An organisation has one draft. */
export async function insertDraft(
  sql: Queryable,
  secrets: Pick<Sealing, 'seal'>,
  organisation: string,
  { id, source, objects, omissions, variables }: Pick<ImportRow, 'id' | 'source'> & Imported,
  at: number,
): Promise<void> {
  await sql`delete from imports where organisation_id = ${organisation} and applied_at is null`;
  const box = await secrets.seal(sql, JSON.stringify(objects), importOf(id));
  await sql`
    insert into imports (id, organisation_id, source, objects, omissions, variables, created_at)
    values (${id}, ${organisation}, ${source}, ${box},
      ${JSON.stringify(omissions)}::text::jsonb, ${JSON.stringify(variables)}::text::jsonb, ${new Date(at)})`;
}

/** Locked, so that it is applied and undone once. */
export async function importById(
  sql: Queryable,
  secrets: Pick<Sealing, 'open'>,
  organisation: string,
  id: string,
): Promise<ImportRow | undefined> {
  const [row] = await sql<(Omit<ImportRow, 'objects'> & { objects: Uint8Array })[]>`
    select ${sql.unsafe(names)} from imports
    where organisation_id = ${organisation} and id = ${id} for update`;
  return row && { ...row, objects: JSON.parse(await secrets.open(sql, row.objects, importOf(id))) };
}

/** With the objects that were made of it alone. */
export async function markApplied(
  sql: Queryable,
  secrets: Pick<Sealing, 'seal'>,
  organisation: string,
  { id, objects, applied_at, made, omissions }: ImportRow,
): Promise<void> {
  const box = await secrets.seal(sql, JSON.stringify(objects), importOf(id));
  await sql`update imports set objects = ${box}, applied_at = ${isoText(applied_at)},
    made = ${JSON.stringify(made)}::text::jsonb, omissions = ${JSON.stringify(omissions)}::text::jsonb
    where organisation_id = ${organisation} and id = ${id}`;
}

export async function markUndone(
  sql: Queryable,
  organisation: string,
  id: string,
  at: number,
): Promise<void> {
  await sql`update imports set undone_at = ${new Date(at)}
    where organisation_id = ${organisation} and id = ${id}`;
}

/** Earlier drafts, and what can no longer be undone. */
export async function forgetImports(sql: Queryable, before: number): Promise<void> {
  await sql`delete from imports where coalesce(applied_at, created_at) < ${new Date(before)}`;
}
