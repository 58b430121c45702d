import { array, dateTime, dict, integer, maybe, moment, nullable, object, string } from '../fields.ts';
import { innerOperation, page, pageQuery } from '../operation.ts';

/** Who changed what in the organisation. */

export const listAudit = innerOperation({
  id: 'listAudit',
  access: 'manage',
  does: 'looks',
  summary: 'List who changed what, the newest first',
  query: {
    ...pageQuery,
    who: maybe(string(), { description: 'The e-mail address of who did it, or `operator`.' }),
    operation: maybe(string()),
    from: maybe(moment()),
    until: maybe(moment(), { description: 'What happened at this moment is not in it any more.' }),
  },
  response: page(
    'AuditOut',
    object('AuditEntryOut', {
      id: integer(),
      at: dateTime(),
      who: string({ description: 'Their address at that time, or `operator`.' }),
      through: string({ description: '`page`, `api`, `assistant` or `operator`.' }),
      token_name: nullable(string()),
      address: nullable(string()),
      operation: string(),
      what: string({ description: 'The operation in words.' }),
      about: dict({ description: 'The ids of what was changed.' }),
      before: nullable(dict()),
      after: nullable(dict({ description: 'As it became; or what was sent, where nothing was there before. Without secrets.' })),
    }),
  ),
});

export const getAuditChoices = innerOperation({
  id: 'getAuditChoices',
  access: 'manage',
  does: 'looks',
  summary: 'Tell who did anything, and what was done, to choose from',
  response: object('AuditChoicesOut', {
    who: array(string()),
    operations: array(object('AuditedOperationOut', { id: string(), what: string() })),
  }),
});
