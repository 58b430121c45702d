import { array, dateTime, maybe, object, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/** What only pages ask. */
export const listDomains = innerOperation({
  id: 'listDomains',
  access: 'read',
  summary: 'List the watched domains whose end is known, those that expire first',
  query: { monitor: maybe(uuid(), { description: 'Only of this monitor.' }) },
  response: object('DomainsOut', {
    items: array(
      object('DomainOut', {
        monitor: uuid(),
        name: string(),
        domain: string(),
        registrar: string(),
        ends_at: dateTime(),
      }),
    ),
  }),
});
