import { grown, object, string, uuid } from './fields.ts';
import { operation } from './operation.ts';

export const OrganisationOut = object('OrganisationOut', {
  id: uuid(),
  name: string(),
  plan: string({ description: '`free`, `team`, `business` or `self_hosted`.' }),
  time_zone: grown(string({ description: 'The IANA time zone that times without an offset are read in.' }), 'UTC'),
});

export const MeOut = object('MeOut', {
  organisation: OrganisationOut,
  role: string({ description: '`owner`, `admin`, `member` or `viewer`; all but `viewer` may write.' }),
  scope: string({ description: '`read` or `read_write`.' }),
  token_name: string({ description: 'Of the token, or of the assistant that is connected.' }),
});

export const whoami = operation({
  id: 'whoami',
  method: 'GET',
  path: '/api/v1/me',
  tag: 'Account',
  access: 'read',
  summary: 'Tell whose token this is',
  description: 'The organisation, role, scope and name of the token in use. The first call to make.',
  response: MeOut,
  success: 200,
});
