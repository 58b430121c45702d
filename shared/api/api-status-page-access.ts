import { array, boolean, nullable, object, string, uuid } from './api-fields.ts';
import { operation } from './api-operation.ts';
import { StatusPageDomainOut } from './api-status-pages.ts';

/** How people come to a status page: by a domain of its own, or by a link alone. */

const pageId = { page_id: uuid() };

const DomainCheckOut = object('StatusPageDomainCheckOut', {
  proved: boolean(),
  domain: nullable(StatusPageDomainOut),
  found: array(string(), { description: 'The texts of the records that stand there now.' }),
});

export const checkStatusPageDomain = operation({
  id: 'checkStatusPageDomain',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/domain/check',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Look whether the domain of a status page is proved',
  description: 'Asks DNS now for the TXT record that the page names. Once it was found, the page answers under its domain.',
  params: pageId,
  response: DomainCheckOut,
  success: 200,
  refusals: ['status_page_not_found', 'domain_missing', 'domain_taken'],
});

export const renewStatusPageLink = operation({
  id: 'renewStatusPageLink',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/link',
  tag: 'Status page editing',
  access: 'write',
  summary: 'Make the link of a private status page anew',
  description: 'The page is then seen by whoever has this link, and by nobody with an older one. It is shown once.',
  params: pageId,
  response: object('StatusPageLinkOut', { link: string() }),
  success: 201,
  refusals: ['status_page_not_found'],
});
