import { array, nullable, object, optional, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/**
 * What the search finds. An operation that only pages call; those of the API are in `shared/api/`.
 */
export const search = innerOperation({
  id: 'search',
  access: 'read',
  summary:
    'Find monitors, groups, incidents and status pages by words of their names, targets and groups',
  description: 'Without words: the monitors that are in trouble.',
  query: { q: optional(string(), '') },
  response: object('FoundOut', {
    items: array(
      object('FoundItemOut', {
        kind: string({ description: '`monitor`, `group`, `incident` or `status_page`.' }),
        id: uuid(),
        name: string(),
        detail: string(),
        status: nullable(string(), { description: 'Of a monitor.' }),
      }),
    ),
  }),
});
