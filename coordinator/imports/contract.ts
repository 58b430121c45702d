import {
  array,
  dateTime,
  dict,
  literal,
  maybe,
  nullable,
  object,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';
import { sources } from '../../shared/imports/sources.ts';

/** Operations that only pages call: programs have the client's `import`, and files. */

/** For how long an import can be undone. */
export const undoMs = 3_600_000;
/** As of a file that is applied. */
export const maxDocumentBytes = 2 * 1024 * 1024;

const ImportOut = object('ImportOut', {
  id: uuid(),
  source: literal(sources),
  state: literal(['draft', 'applied', 'undone']),
  undo_until: nullable(dateTime(), { description: 'Null unless it can be undone.' }),
  objects: array(object('ImportObjectOut', { kind: string(), key: string(), name: string() })),
  omissions: array(object('ImportOmissionOut', { why: string(), of: array(string()) })),
  variables: array(object('ImportVariableOut', { name: string(), meaning: string() })),
});

export const previewImport = innerOperation({
  id: 'previewImport',
  access: 'write',
  summary: 'Read what another service has, and keep a draft of what would be created',
  body: object('PreviewImportIn', {
    source: literal(sources),
    document: maybe(string(), { description: 'A file of it.' }),
    key: maybe(string(), { description: 'Or a key of its API, which is used once.' }),
    url: maybe(string(), { description: 'Where a service of their own is.' }),
  }),
  response: ImportOut,
});

export const showImport = innerOperation({
  id: 'showImport',
  access: 'write',
  does: 'looks',
  summary: 'Get a draft of an import, or what became of it',
  query: { import_id: uuid() },
  response: ImportOut,
});

export const applyImport = innerOperation({
  id: 'applyImport',
  access: 'write',
  summary: 'Create everything of a draft',
  body: object('ApplyImportIn', {
    import_id: uuid(),
    values: dict({ description: 'Secrets, by the names of their variables.' }),
  }),
  response: ImportOut,
});

export const undoImport = innerOperation({
  id: 'undoImport',
  access: 'write',
  summary: 'Delete what an import created, and nothing else',
  body: object('UndoImportIn', { import_id: uuid() }),
  response: ImportOut,
});
