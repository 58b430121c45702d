import type { RefusalCode, RefusalKind } from '../base/refusal.ts';
import { type Fault, object, string } from './api-fields.ts';
import type { Operation, RestOperation } from './api-operation.ts';

/** An input that is not of the described form: every fault of it, as they are sent. */
export class InvalidInput extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map((fault) => `${fault.loc.join('.')}: ${fault.msg}`).join('; '));
    this.name = 'InvalidInput';
    this.faults = faults;
  }
}

/** The HTTP status of each kind of no; the document and the REST face read this one table. */
export const statusOf = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  invalid: 400,
  conflict: 409,
  mismatch: 422,
  limited: 429,
  too_large: 413,
  wrong_method: 405,
  unavailable: 503,
  internal: 500,
} as const satisfies Record<RefusalKind, number>;

/** The body of every refusal. */
export const ErrorOut = object('ErrorOut', {
  error: object('ErrorDetail', {
    code: string({ description: 'Stable; branch on it.' }),
    message: string({ description: 'For reading; its wording may change.' }),
  }),
});

const anyObject = { type: 'object' } as const;

/** The two shapes that clients generated for a FastAPI service know by name. */
export const validationSchemas = {
  ValidationError: {
    type: 'object',
    properties: {
      loc: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
      msg: { type: 'string' },
      type: { type: 'string' },
      input: {},
      ctx: anyObject,
    },
    required: ['loc', 'msg', 'type'],
  },
  HTTPValidationError: {
    type: 'object',
    properties: {
      detail: { type: 'array', items: { $ref: '#/components/schemas/ValidationError' } },
      error: { $ref: '#/components/schemas/ErrorDetail' },
    },
  },
} as const;

/** What a call may meet that names a key, so that it is done once. */
const namedCallRefusals = ['idempotency_key_in_use', 'idempotency_answer_too_large', 'idempotency_key_reused'] as const;

/** Every code that an operation may answer with: its own, and those that any call of its kind may meet. */
export const refusalsOf = (
  operation: Pick<Operation, 'access' | 'body' | 'refusals'> & Pick<RestOperation, 'method'>,
): readonly RefusalCode[] => [
  'token_missing',
  'token_invalid',
  ...(operation.access === 'read' ? [] : (['scope_insufficient', 'role_insufficient', 'organisation_ending'] as const)),
  ...operation.refusals,
  ...(operation.method === 'POST' ? namedCallRefusals : []),
  ...(operation.body === undefined ? [] : (['body_too_large'] as const)),
  'request_malformed',
  'headers_too_large',
  'rate_limited',
  'unavailable',
  'internal',
];
