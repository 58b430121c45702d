import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { InOrganisation, OperationResult } from '../gate/context.ts';
import { orNotFound } from '../gate/context.ts';
import type * as contract from './contract.ts';
import { type ArchiveRow, archiveOf, insertArchive, pieceOf } from './queries.ts';

const archiveJson = ({
  id,
  created_at,
  created_by,
  ended_at,
  is_too_large,
  files,
}: ArchiveRow) => ({
  id,
  created_at: created_at.toISOString(),
  created_by,
  ended_at: ended_at?.toISOString() ?? null,
  is_too_large,
  // Days before its first monitor are empty.
  files: files.filter(({ checks }) => checks > 0),
});

export const createArchive = async ({
  sql,
  organisation,
  caller,
  now,
  note,
}: InOrganisation): OperationResult<OutputOf<typeof contract.createArchive>> => {
  await insertArchive(sql, organisation.id, {
    id: newId(),
    by: caller.person?.email ?? 'the operator',
    at: new Date(now),
  });
  const archive = archiveJson(
    orNotFound(await archiveOf(sql, organisation.id), 'organisation_not_found'),
  );
  note({ after: { archive: archive.id } });
  return archive;
};

export const showArchive = async ({
  sql,
  organisation,
}: InOrganisation): OperationResult<OutputOf<typeof contract.showArchive>> => {
  const archive = await archiveOf(sql, organisation.id);
  return { archive: archive === undefined ? null : archiveJson(archive) };
};

export const readArchive = async (
  { sql, organisation }: InOrganisation,
  { archive: id, day, nth }: InputOf<typeof contract.readArchive>,
): OperationResult<OutputOf<typeof contract.readArchive>> => {
  const { data } = orNotFound(
    await pieceOf(sql, organisation.id, { id, day, nth }),
    'archive_not_found',
  );
  return { data: data === null ? null : Buffer.from(data).toString('base64') };
};
