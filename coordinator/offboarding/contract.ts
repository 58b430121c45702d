import { array, dateTime, dict, integer, object, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation, page, pageQuery } from '../../shared/api/operation.ts';

export const endOrganisation = innerOperation({
  id: 'endOrganisation',
  access: 'own',
  dangerous: true,
  summary:
    'Delete the organisation and all its data after seven days; until then this can be undone',
  body: object('EndIn', { name: string({ description: 'What it is called, to be sure.' }) }),
  response: object('EndOut', {
    id: uuid(),
    ends_at: dateTime({ description: 'When it is deleted.' }),
    paused: integer({}, { description: 'How many monitors are not checked any more.' }),
  }),
  refusals: ['name_invalid', 'organisation_ending'],
});

export const beginExport = innerOperation({
  id: 'beginExport',
  access: 'manage',
  dangerous: true,
  whileEnding: true,
  summary: 'Export the organisation: list the parts of the export, and what is left out',
  response: object('ExportOut', {
    organisation: dict(),
    parts: array(string()),
    left_out: array(object('LeftOutOut', { what: string(), why: string() })),
  }),
});

export const readExport = innerOperation({
  id: 'readExport',
  access: 'manage',
  does: 'looks',
  summary: 'Get a part of the export, a page at a time',
  query: { ...pageQuery, part: string() },
  response: page('ExportedOut', dict()),
  refusals: ['request_malformed'],
});
