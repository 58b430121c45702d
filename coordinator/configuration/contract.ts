import { array, nullable, object, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/** Operations that only pages call. Those of the API are in `shared/api/`. */

export const showManager = innerOperation({
  id: 'showManager',
  access: 'read',
  does: 'looks',
  summary: 'Tell which file manages any of these objects',
  body: object('ManagedObjectsIn', { objects: array(uuid(), { maxItems: 100 }) }),
  response: object('ManagerOut', { file: nullable(string()) }),
});
