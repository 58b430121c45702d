import {
  array,
  boolean,
  dateTime,
  integer,
  nullable,
  object,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/** For how long an archive can be downloaded. */
export const keptDays = 7;

const ArchiveOut = object('ArchiveOut', {
  id: uuid(),
  created_at: dateTime(),
  created_by: string(),
  ended_at: nullable(dateTime(), { description: 'Null while days are being added.' }),
  is_too_large: boolean({ description: 'Whether days are missing, because it was too large.' }),
  files: array(object('ArchiveFileOut', { day: string(), checks: integer(), bytes: integer() })),
});

export const createArchive = innerOperation({
  id: 'createArchive',
  access: 'manage',
  dangerous: true,
  whileEnding: true,
  summary: 'Make an archive of every check, in the background; while one is made, it is returned',
  response: ArchiveOut,
});

export const showArchive = innerOperation({
  id: 'showArchive',
  access: 'manage',
  does: 'looks',
  summary: 'Get the archive of the organisation',
  response: object('ArchiveShownOut', { archive: nullable(ArchiveOut) }),
});

export const readArchive = innerOperation({
  id: 'readArchive',
  access: 'manage',
  does: 'looks',
  summary: 'Get a piece of a file of an archive',
  query: { archive: uuid(), day: string(), nth: integer({ ge: 0 }) },
  response: object('ArchivePieceOut', {
    data: nullable(string(), { description: 'Base64; null behind the last piece.' }),
  }),
  refusals: ['archive_not_found'],
});
