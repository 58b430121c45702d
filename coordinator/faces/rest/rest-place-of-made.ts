import { restOperations } from '../../../shared/api/index.ts';
import type { RestOperation } from '../../../shared/api/operation.ts';
import { isRecord } from '../../../shared/base/json.ts';

/** Whether what an operation makes can be read by itself, below the path that it was made at. */
export const hasPlace = ({ success, path }: RestOperation): boolean =>
  success === 201 &&
  restOperations.some(
    ({ method, path: other }) =>
      method === 'GET' && other.startsWith(`${path}/{`) && other.split('/').length === path.split('/').length + 1,
  );

/** Where what was made can be read. */
export const placeOf = (operation: RestOperation, made: unknown): string | undefined =>
  hasPlace(operation) && isRecord(made) && typeof made.id === 'string' ? `${operation.path}/${made.id}` : undefined;
