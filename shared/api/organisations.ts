import {
  array,
  dateTime,
  dict,
  grown,
  integer,
  maybe,
  nullable,
  object,
  string,
  uuid,
} from './fields.ts';
import { moment, written } from './moment.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

export const OrganisationOut = object('OrganisationOut', {
  id: uuid({ example: exampleIds.organisation }),
  name: string({ example: 'Harbour Works' }),
  plan: string({ description: '`free`, `team`, `business` or `self_hosted`.', example: 'team' }),
  time_zone: grown(
    string({
      description: 'The IANA time zone that times without an offset are read in.',
      example: 'Europe/Vienna',
    }),
    'UTC',
  ),
});

export const MeOut = object('MeOut', {
  organisation: OrganisationOut,
  role: string({
    description: '`owner`, `admin`, `member` or `viewer`; all but `viewer` may write.',
    example: 'admin',
  }),
  scope: string({ description: '`read` or `read_write`.', example: 'read_write' }),
  token_name: string({
    description: 'Of the token, or of the assistant that is connected.',
    example: 'deploy',
  }),
});

export const whoami = operation({
  id: 'whoami',
  method: 'GET',
  path: '/api/v1/me',
  tag: 'Account',
  access: 'read',
  summary: 'Get the owner of the token in use',
  description:
    'The organisation, role, scope and name of the token in use. The first call to make.',
  response: MeOut,
});

export const showOrganisation = operation({
  id: 'showOrganisation',
  method: 'GET',
  path: '/api/v1/organisation',
  tag: 'Organisation',
  access: 'read',
  summary: 'Get the organisation, its plan and its usage',
  description: 'Each thing that a plan limits, with how many there are and how many there may be.',
  response: object('ShownOrganisationOut', {
    id: uuid({ example: exampleIds.organisation }),
    name: string({ example: 'Harbour Works' }),
    time_zone: string({
      description: 'The IANA time zone that times without an offset are read in.',
      example: 'Europe/Vienna',
    }),
    plan: string({ description: '`free`, `team`, `business` or `self_hosted`.', example: 'team' }),
    created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
    ends_at: nullable(dateTime(), {
      description: 'When it will be deleted; null: never.',
      example: null,
    }),
    least_interval_s: integer(
      {},
      { description: 'How often the plan checks at most, in seconds.', example: 60 },
    ),
    used: array(
      object('UsedOut', {
        what: string({
          description:
            '`monitors`, `status_pages`, `members`, `private_probes`, `channels`, `webhooks`, `groups`, `objectives` or `windows` (maintenance that is not over). There may be others later.',
          example: 'monitors',
        }),
        count: integer({}, { meaning: 'How many there are.', example: 42 }),
        most: nullable(integer(), {
          description: 'null where the plan has no limit.',
          example: 100,
        }),
      }),
    ),
  }),
});

export const listAudit = operation({
  id: 'listAudit',
  method: 'GET',
  path: '/api/v1/audit',
  tag: 'Audit',
  access: 'manage',
  does: 'looks',
  summary: 'List audit entries',
  description: 'Newest first, kept for 400 days. For owners and admins.',
  query: {
    ...pageQuery,
    who: maybe(string({ minLength: 1, limits: { maxLength: 254 } }), {
      description: 'Only by this e-mail address, or by `operator`.',
    }),
    operation: maybe(string({ minLength: 1, limits: { maxLength: 100 } }), {
      description: 'Only this operation, by its id.',
    }),
    from: maybe(moment(written), { description: 'Only changes from this moment on.' }),
    until: maybe(moment(written), { description: 'Changes from this moment on are left out.' }),
  },
  response: page(
    'AuditPage',
    object('AuditEntryOut', {
      id: integer({}, { meaning: 'Its running number.', example: 4711 }),
      at: dateTime({ meaning: 'When it was.', example: '2026-11-20T12:00:00.000Z' }),
      who: string({
        description: 'Their address at that time, or `operator`.',
        example: 'ada@harbour.example.com',
      }),
      through: string({
        description: '`page`, `api`, `assistant` or `operator`.',
        example: 'api',
      }),
      token_name: nullable(string(), {
        description: 'Of the token, or of the assistant.',
        example: 'deploy',
      }),
      address: nullable(string(), {
        description: 'Where the call came from.',
        example: '203.0.113.20',
      }),
      operation: string({ meaning: 'The id of the operation.', example: 'createMonitor' }),
      what: string({ description: 'The operation in words.', example: 'Created monitor' }),
      subject: nullable(string(), {
        description: 'The name of what was changed, today.',
        example: 'Shop',
      }),
      about: dict({
        description: 'The ids of what was changed.',
        example: { id: exampleIds.monitor },
      }),
      before: nullable(dict(), { description: 'As it was.', example: null }),
      after: nullable(dict(), {
        description:
          'As it became; or what was sent, where nothing was there before. Without secrets.',
        example: { name: 'Shop', type: 'https' },
      }),
    }),
  ),
  columns: ['at', 'who', 'what', 'subject', 'through', 'address'],
});
