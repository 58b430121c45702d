import { nullable, object, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/** Operations that only pages call. Those of the API are in `shared/api/`. */

export const showManager = innerOperation({
  id: 'showManager',
  access: 'read',
  summary: 'Tell which file manages an object',
  query: { object: uuid() },
  response: object('ManagerOut', { file: nullable(string()) }),
});
