import { array, dateTime, dict, integer, maybe, nullable, object, string, uuid } from '../fields.ts';
import { innerOperation, page, pageQuery } from '../operation.ts';

/** The organisation itself. */

export const showOrganisation = innerOperation({
  id: 'showOrganisation',
  access: 'read',
  summary: 'Show the organisation, its plan, and how much of it is used',
  response: object('ShownOrganisationOut', {
    id: uuid(),
    name: string(),
    time_zone: string(),
    plan: string(),
    created_at: dateTime(),
    ends_at: nullable(dateTime(), { description: 'When it is deleted; null: nobody asked for that.' }),
    least_interval_s: integer({}, { description: 'How often the plan checks at most.' }),
    used: array(
      object('UsedOut', {
        what: string({ description: '`monitors`, `status_pages`, `members`, `private_probes`, `channels`, `groups` or `windows`.' }),
        count: integer(),
        most: nullable(integer(), { description: 'null where the plan has no limit.' }),
      }),
    ),
  }),
});

export const updateOrganisation = innerOperation({
  id: 'updateOrganisation',
  access: 'manage',
  summary: 'Change the name or the time zone of the organisation',
  body: object('OrganisationChangeIn', { name: maybe(string()), time_zone: maybe(string()) }),
  response: object('ChangedOrganisationOut', { id: uuid(), name: string(), time_zone: string() }),
  refusals: ['name_invalid', 'time_zone_invalid'],
});

export const endOrganisation = innerOperation({
  id: 'endOrganisation',
  access: 'own',
  dangerous: true,
  summary: 'Delete the organisation with all that belongs to it, in seven days, in which that can be undone',
  body: object('EndIn', { name: string({ description: 'What it is called, to be sure.' }) }),
  response: object('EndOut', {
    id: uuid(),
    ends_at: dateTime({ description: 'When it is deleted.' }),
    paused: integer({}, { description: 'How many monitors are not checked any more.' }),
  }),
  refusals: ['name_invalid', 'organisation_ending'],
});

export const keepOrganisation = innerOperation({
  id: 'keepOrganisation',
  access: 'own',
  whileEnding: true,
  summary: 'Undo the deletion of the organisation: everything is as it was',
  response: object('KeptOut', { id: uuid(), resumed: integer({}, { description: 'How many monitors are checked again.' }) }),
  refusals: ['organisation_not_ending', 'organisation_ending'],
});

export const beginExport = innerOperation({
  id: 'beginExport',
  access: 'manage',
  dangerous: true,
  whileEnding: true,
  summary: 'Take all that the organisation owns along: tell of which parts it is, and what is left out',
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
  summary: 'Read a part of what the organisation owns, a page at a time',
  query: { ...pageQuery, part: string() },
  response: page('ExportedOut', dict()),
  refusals: ['request_malformed'],
});
