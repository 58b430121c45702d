import { grown, object, string, uuid } from './fields.ts';
import { exampleIds, operation } from './operation.ts';

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
  success: 200,
});
