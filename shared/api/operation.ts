import type { RefusalCode, RefusalKind } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import {
  addFaults,
  array,
  type Fault,
  type Field,
  integer,
  type JsonSchema,
  maybe,
  mostFaults,
  nullable,
  type ObjectField,
  object,
  optional,
  type Parsed,
  parseShape,
  type Shape,
  string,
  type Values,
  valueFault,
} from './fields.ts';

/** The fewest characters that an id takes in a list: 32 digits, two quotes, a comma. */
const shortestId = 35;

/**
 * The most ids that fit into a body where no other limit applies: 64 KiB, or 2 MiB where many
 * things may be named.
 */
export const maxIdsIn = {
  body: Math.floor((64 * 1024) / shortestId),
  largeBody: Math.floor((2 * 1024 * 1024) / shortestId),
} as const;

const secretKey =
  /passw|secret|bearer|token|authori[sz]ation|cookie|api[-_]?key|credential|^code$/i;

/** Whether what is called so may be a secret. */
export function isSecretName(name: string): boolean {
  return secretKey.test(name);
}

const hidden = '***';

/** A copy of an input without anything that may be a secret, to echo it in a fault. */
export function redact(input: unknown): unknown {
  // A whole config sent as text contains its keys.
  if (typeof input === 'string')
    return secretKey.test(input) && /[:=]/.test(input) ? hidden : input;
  if (Array.isArray(input)) return input.map(redact);
  if (!isRecord(input)) return input;
  const secretHeaders = namesOf(input.secret_headers);
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      if (key === 'secret_headers') return [key, value];
      if (key === 'headers' && isRecord(value)) return [key, redactHeaders(value, secretHeaders)];
      return [key, secretKey.test(key) ? hidden : redact(value)];
    }),
  );
}

function namesOf(value: unknown): ReadonlySet<string> {
  return new Set(
    (Array.isArray(value) ? value : [value])
      .filter((name): name is string => typeof name === 'string')
      .map((name) => name.toLowerCase()),
  );
}

function redactHeaders(
  headers: Readonly<Record<string, unknown>>,
  secret: ReadonlySet<string>,
): unknown {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secret.has(name.toLowerCase()) || secretKey.test(name) ? hidden : redact(value),
    ]),
  );
}

function redactFaults(faults: readonly Fault[]): readonly Fault[] {
  return faults.map((fault) => ({
    ...fault,
    input: fault.loc.some((part) => typeof part === 'string' && secretKey.test(part))
      ? hidden
      : redact(fault.input),
  }));
}

/**
 * What a caller's role and scope must allow: reading, changing what is the caller's alone, writing,
 * managing the organisation (owner and admin), deciding who belongs to it, or owning it.
 */
type Access = 'read' | 'self' | 'write' | 'manage' | 'members' | 'own';

/**
 * For whom an operation is: a user in an organisation, a user on what is their own, anyone who is
 * not signed in, and the operator, in the browser too or only at the machine.
 */
export type Audience = 'organisation' | 'person' | 'anonymous' | 'operator' | 'installation';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** What a caller sent, by location. */
export type RawInput = {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
};

type None = Readonly<Record<never, never>>;
type Flat<T> = { readonly [K in keyof T]: T[K] };

/**
 * One operation of the service, defined once: the API, web, MCP, CLI and the handler's type all
 * derive from it.
 */
export type Operation<Id extends string = string, Input = unknown, Output = unknown> = {
  readonly id: Id;
  readonly summary: string;
  readonly description?: string;
  readonly audience: Audience;
  readonly access: Access;
  readonly params: Shape;
  readonly query: Shape;
  readonly body?: ObjectField<Shape>;
  readonly response?: Field<Output>;
  /** Its own codes; those that any call may get are not listed. */
  readonly refusals: readonly RefusalCode[];
  /** In a browser it requires a recent proof of identity. */
  readonly dangerous?: true;
  /** Allowed also while the organisation is about to be deleted, when other changes are refused. */
  readonly whileEnding?: true;
  /**
   * Set where the default is wrong: an operation with read access and no body reads, any other one
   * changes something.
   */
  readonly does?: 'looks' | 'acts';
  /** Reads path, query and body into one flat input, or returns every fault at once. */
  readonly parse: (raw: RawInput) => Parsed<Input>;
};

/** An operation with a route in the REST API. */
export type RestOperation<
  Id extends string = string,
  Input = unknown,
  Output = unknown,
> = Operation<Id, Input, Output> & {
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly success: 200 | 201 | 204;
  /** Another success that the operation may answer with, and when. */
  readonly otherSuccess?: { readonly status: 200; readonly when: string };
  /** It takes many ids or things at once, with a body of up to 2 MiB instead of 64 KiB. */
  readonly takesMuch?: true;
  /** How many calls it counts as when the input asks for much work; the default is one. */
  readonly calls?: (body: unknown) => number;
  /** What the client's table of its items shows, in this order; the default is every member. */
  readonly columns?: readonly string[];
  /** The member of its answer whose items are the lines of its CSV; without, it has none. */
  readonly csv?: string;
};

export type InputOf<Op> = Op extends { readonly parse: (raw: RawInput) => Parsed<infer Input> }
  ? Input
  : never;
export type OutputOf<Op> = Op extends { readonly response?: Field<infer Output> } ? Output : never;

type Dependencies<Id extends string, P extends Shape, Q extends Shape, B extends Shape, Output> = {
  readonly id: Id;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: ObjectField<B>;
  readonly response?: Field<Output>;
  readonly refusals?: readonly RefusalCode[];
  readonly dangerous?: true;
  readonly whileEnding?: true;
  readonly does?: 'looks' | 'acts';
};

/** A read-only operation is one statement, or two that need no lock, and leaves no trace. */
export function isReadOnly({
  does,
  access,
  body,
}: Pick<Operation, 'does' | 'access' | 'body'>): boolean {
  return does === undefined ? access === 'read' && body === undefined : does === 'looks';
}

type RestDependencies = Pick<
  RestOperation,
  'method' | 'path' | 'tag' | 'success' | 'otherSuccess' | 'takesMuch' | 'calls' | 'columns' | 'csv'
>;

/** `success`: 200, and 204 without a response, where nothing else is said. */
type Routed = Omit<RestDependencies, 'success'> & Partial<Pick<RestDependencies, 'success'>>;

type Made<
  For extends Audience,
  Id extends string,
  P extends Shape,
  Q extends Shape,
  B extends Shape,
  Output,
> = Operation<Id, Flat<Values<P> & Values<Q> & Values<B>>, Output> & { readonly audience: For };

export const innerOperation = operationFor('organisation');

/** An operation without a route: pages and operators need more than the API offers. */
function operationFor<For extends Audience>(audience: For) {
  return <
    const Id extends string,
    P extends Shape = None,
    Q extends Shape = None,
    B extends Shape = None,
    Output = void,
  >(
    dependencies: Dependencies<Id, P, Q, B, Output>,
  ): Made<For, Id, P, Q, B, Output> => {
    const { params = {}, query = {}, body, refusals = [], ...rest } = dependencies;
    return {
      ...rest,
      audience,
      params,
      query,
      ...(body === undefined ? {} : { body }),
      refusals,
      // parseAll reads exactly the shapes P, Q and B; the compiler cannot express their union of
      // keys.
      parse: (raw) =>
        parseAll(params, query, body, raw) as Parsed<Flat<Values<P> & Values<Q> & Values<B>>>,
    };
  };
}

/** Path before query before body, in FastAPI's order of faults. */
function parseAll(
  params: Shape,
  query: Shape,
  body: ObjectField<Shape> | undefined,
  raw: RawInput,
): Parsed<Record<string, unknown>> {
  const parts = [
    parseShape(params, raw.path ?? {}, ['path']),
    parseShape(query, raw.query ?? {}, ['query']),
  ];
  if (body) parts.push(parseBody(body, raw.body));
  const faults: Fault[] = [];
  const value: Record<string, unknown> = {};
  for (const part of parts) {
    if (part.ok) Object.assign(value, part.value);
    else addFaults(faults, part.faults);
  }
  return faults.length === 0 ? { ok: true, value } : { ok: false, faults: redactFaults(faults) };
}

function parseBody(body: ObjectField<Shape>, input: unknown): Parsed<Values<Shape>> {
  return input === undefined || input === null
    ? {
        ok: false,
        faults: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
      }
    : body.parse(input, ['body']);
}
export const personOperation = operationFor('person');
export const anonymousOperation = operationFor('anonymous');
export const operatorOperation = operationFor('operator');
export const installationOperation = operationFor('installation');

/** An operation with a route. */
export function operation<
  const Id extends string,
  P extends Shape = None,
  Q extends Shape = None,
  B extends Shape = None,
  Output = void,
>(
  dependencies: Dependencies<Id, P, Q, B, Output> & Routed,
): Made<'organisation', Id, P, Q, B, Output> & RestDependencies {
  const success = dependencies.response === undefined ? 204 : 200;
  return { success, ...dependencies, ...innerOperation(dependencies) };
}

/** Sorts the flat arguments of a tool, a command or a form into path, query and body. */
export function rawInput(
  of: Pick<Operation, 'params' | 'query' | 'body'>,
  flat: unknown,
): RawInput {
  const given = isRecord(flat) ? Object.entries(flat) : [];
  const pick = (shape: Shape) =>
    Object.fromEntries(given.filter(([key]) => Object.hasOwn(shape, key)));
  return {
    path: pick(of.params),
    query: pick(of.query),
    ...(of.body === undefined ? {} : { body: pick(of.body.shape) }),
  };
}

/** An input that does not match the described form, with every fault as it is sent. */
export class InvalidInput extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map((fault) => `${fault.loc.join('.')}: ${fault.msg}`).join('; '));
    this.name = 'InvalidInput';
    this.faults = faults;
  }
}

/** The HTTP status of each kind of refusal, used by the document and the REST API. */
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

/** What the document's examples are about. */
export const exampleIds = {
  organisation: '019a9c10-4f0e-7b52-9a6d-0c1d5b8f2e31',
  monitor: '019a9c12-8d3a-7c61-b4e0-5f7a9c2d1b44',
  group: '019a9c11-2b7c-7d10-8f35-6e4b1a0c9d22',
  incident: '019aa1f0-63b5-7e08-a1c9-3d2e7f50b866',
  cause: '019aa1f0-6a11-7c3e-9b52-8e4d1f7a2c06',
  window: '019aa3c4-10de-7f93-b672-9a8b0c4d5e77',
  message: '019aa7d3-5c41-7b20-8e9f-4d6a1c3b7e52',
  channel: '019aa7d2-0b6e-7c34-9e58-1a2f4c6d8b90',
  invitation: '019aab04-5d1e-7c72-8f60-9b3d7a1c5e24',
  probe: '019a9c0f-3a21-7d44-9b18-5c7e2f6a0d13',
  test: '019aae31-6b0f-7e59-a2c4-8d1f5b7e3c60',
  post: '019aa1f2-1c07-7a93-8e46-5b9d0f2c7a18',
  page: '019a9c1a-77f1-7a25-8c04-2f6d3b9e1a55',
  member: '019a9c0e-1b2d-7f46-8a35-6c9e2d4f7b10',
  subscriber: '019aa1f5-4c72-7e18-9b60-3d8a5f2c7e91',
  report: '019aa1f3-2f55-7c11-9d0a-7e4b8c1d6f29',
  share: '019aa1f4-0b3e-7d62-8c57-2f9a6e1d4b83',
} as const;

/** What is said of the body of each change. */
export const patched = { description: 'A field that is not sent, or null, stays as it is.' };

/** The body of every refusal. */
export const ErrorOut = object('ErrorOut', {
  error: object('ErrorDetail', {
    code: string({ description: 'Stable; branch on it.' }),
    message: string({ description: 'For reading; its wording may change.' }),
  }),
});

/** The two shapes that clients generated for a FastAPI service know by name. */
export const validationSchemas = {
  ValidationError: {
    type: 'object',
    properties: {
      loc: {
        type: 'array',
        items: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        description: 'Where the fault is, from `body`, `query` or `path` on.',
      },
      msg: { type: 'string', description: 'What is wrong.' },
      type: { type: 'string', description: 'The type of the monitor, or of the fault.' },
      input: { description: 'What was sent there; never a secret.' },
      ctx: { type: 'object', description: 'What the words of the fault are made of.' },
    },
    required: ['loc', 'msg', 'type'],
  },
  HTTPValidationError: {
    type: 'object',
    properties: {
      detail: {
        type: 'array',
        items: { $ref: '#/components/schemas/ValidationError' },
        description: `Every fault, up to ${mostFaults}.`,
      },
      error: { $ref: '#/components/schemas/ErrorDetail' },
    },
  },
} as const;

/** Refusals of a call with an idempotency key. */
const namedCallRefusals = [
  'idempotency_key_in_use',
  'idempotency_answer_too_large',
  'idempotency_key_reused',
] as const;

/**
 * Every code that an operation may answer with: its own, and those that any call of its kind may
 * get.
 */
export function refusalsOf(
  operation: Pick<Operation, 'access' | 'body' | 'refusals'> & Pick<RestOperation, 'method'>,
): readonly RefusalCode[] {
  return [
    'token_missing',
    'token_invalid',
    ...(operation.access === 'read'
      ? []
      : (['scope_insufficient', 'role_insufficient', 'organisation_ending'] as const)),
    ...operation.refusals,
    ...(operation.method === 'POST' ? namedCallRefusals : []),
    ...(operation.body === undefined ? [] : (['body_too_large'] as const)),
    'request_malformed',
    'headers_too_large',
    'rate_limited',
    'unavailable',
    'internal',
  ];
}

const pageSize = { least: 1, most: 200, default: 50 } as const;

/**
 * The query of every list. The store reads a cursor, because it knows what the cursor was issued
 * for.
 */
export const pageQuery = {
  limit: optional(
    integer(
      { ge: pageSize.least, le: pageSize.most },
      { description: 'How many items the page may hold.' },
    ),
    pageSize.default,
  ),
  cursor: maybe(string({ minLength: 1, limits: { maxLength: 1_000 } }), {
    description:
      'The `next_cursor` of the page before, as it is: it is good for this list with these filters alone, and has no end.',
  }),
};

export function page<Name extends string, Item>(
  name: Name,
  item: Field<Item>,
  more: JsonSchema = {},
) {
  return object(
    name,
    {
      items: array(item),
      next_cursor: maybe(string(), {
        description: 'Send it back as `cursor` for the next page; null when the walk is over.',
        example: null,
      }),
    },
    more,
  );
}

/** The fault for a cursor that the list did not issue. */
export function cursorFault(cursor: string): Fault {
  return valueFault(
    ['query', 'cursor'],
    'not a cursor of this list as it is asked for now; begin again without one',
    cursor,
  );
}

export function nullableString(description: string, more: JsonSchema = {}) {
  return nullable(string(), { description, ...more });
}

/**
 * Version of the API document: the first number is that of `/api/v1`; the rest grows with
 * additions.
 */
export const apiVersion = '1.1.9';

/** Counts our additions to that version: one more with every change of the document. */
export const apiRevision = 88;
