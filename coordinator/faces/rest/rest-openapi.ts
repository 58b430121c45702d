import type { JsonSchema, NamedSchema, Shape } from '../../../shared/api/fields.ts';
import { restOperations } from '../../../shared/api/index.ts';
import type { RestOperation } from '../../../shared/api/operation.ts';
import { apiRevision, apiVersion, ErrorOut, refusalsOf, validationSchemas } from '../../../shared/api/operation.ts';
import type { RefusalCode } from '../../../shared/base/errors.ts';
import { withConfigKeys } from './rest-config-docs.ts';
import { configComponents, withConfigSchemas } from './rest-config-schemas.ts';
import { told, toldObject } from './rest-document-words.ts';
import { examples, validationExample } from './rest-examples.ts';
import { figuresOperation, figuresSuccess } from './rest-figures-docs.ts';
import { keyParameter, replayed, reusedKey, validationOr, whileInUse } from './rest-idempotency-docs.ts';
import { replayedHeader } from './rest-idempotency-key.ts';
import { hasPlace } from './rest-place-of-made.ts';
import { meaningOf, statusOfCode } from './rest-refusal-words.ts';

type Json = { readonly [key: string]: unknown };

export type Parameter = { readonly name: string; readonly in: string; readonly required: boolean; readonly schema: JsonSchema };
export type Response = { readonly description: string; readonly headers?: Json; readonly content?: Json };
export type Reference = { readonly $ref: string };
export type OperationEntry = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Json[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Json;
  readonly responses: Readonly<Record<string, Response | Reference>>;
};
export type ApiDocument = {
  readonly openapi: string;
  readonly info: Json;
  readonly servers: readonly Json[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationEntry>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Json;
    readonly headers: Json;
  };
};

const header = (name: string) => ({ $ref: `#/components/headers/${name}` });
const counted = {
  'RateLimit-Remaining': header('RateLimit-Remaining'),
  'RateLimit-Reset': header('RateLimit-Reset'),
  'X-Request-Id': header('X-Request-Id'),
};

const parametersOf = (where: 'path' | 'query', shape: Shape): readonly Parameter[] =>
  Object.entries(shape).map(([name, field]) => {
    const { description, ...schema } = told(name, field.schema, true);
    return {
      name,
      in: where,
      required: field.absent === undefined,
      ...(description === undefined ? {} : { description }),
      schema,
    };
  });

const sessionCookie: Parameter & { readonly description: string } = {
  name: 'svc_session',
  in: 'cookie',
  required: false,
  description: 'Accepted and ignored: only a bearer token authenticates here.',
  schema: { anyOf: [{ type: 'string' }, { type: 'null' }] },
};

const successOf = (operation: RestOperation): Readonly<Record<string, Response>> => {
  if (!operation.response) return { [operation.success]: { description: 'Done; no body.', headers: counted } };
  const name = operation.response.components[0]?.name ?? '';
  const common = operation.method === 'POST' ? { ...counted, [replayedHeader]: replayed } : counted;
  const headers = {
    ...common,
    ...(operation.method === 'GET' ? { ETag: header('ETag') } : {}),
    ...(hasPlace(operation) ? { Location: header('Location') } : {}),
  };
  const content = { 'application/json': { schema: operation.response.schema, example: examples[name] } };
  return {
    [operation.success]: { description: operation.success === 201 ? 'Created.' : 'What was asked for.', headers, content },
    ...(operation.otherSuccess && {
      [operation.otherSuccess.status]: { description: operation.otherSuccess.when, headers: common, content },
    }),
  };
};

const extraHeaders: Readonly<Record<string, Json>> = {
  401: { 'WWW-Authenticate': header('WWW-Authenticate'), ...counted },
  429: { 'Retry-After': header('Retry-After'), ...counted },
  431: {},
  503: { 'Retry-After': header('Retry-After'), ...counted },
  500: counted,
};

const refusedWith = (codes: readonly RefusalCode[], status: number): Response => ({
  description: codes.map((code) => `\`${code}\`: ${meaningOf(code)}`).join('\n\n'),
  headers: {
    ...(extraHeaders[status] ?? counted),
    ...(codes.includes('idempotency_key_in_use') ? { 'Retry-After': whileInUse } : {}),
  },
  content: {
    'application/json': {
      schema: ErrorOut.schema,
      examples: Object.fromEntries(codes.map((code) => [code, { summary: code, value: { error: { code, message: meaningOf(code) } } }])),
    },
  },
});

const validationFailure: Response = {
  description: 'The path, the query or the body is not of the described form; every fault is named.',
  headers: counted,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/HTTPValidationError' }, example: validationExample } },
};

/** Said before a route is found, so that it carries no count. */
const tooSlow: Response = {
  ...refusedWith(['request_malformed'], 431),
  description: '`request_malformed`: The request did not arrive within a minute.',
};

/** Refusals that many operations share, by their codes: the document has them once. */
const shared: Readonly<Record<string, string>> = {
  'token_missing token_invalid': 'Unauthenticated',
  'scope_insufficient role_insufficient': 'MayNotWrite',
  request_malformed: 'Unreadable',
  body_too_large: 'BodyTooLarge',
  headers_too_large: 'HeadersTooLarge',
  rate_limited: 'TooManyCalls',
  unavailable: 'Unavailable',
  internal: 'Internal',
};

const reference = (name: string): Reference => ({ $ref: `#/components/responses/${name}` });

const refusalsByStatus = (operation: RestOperation): Readonly<Record<string, Response | Reference>> =>
  Object.fromEntries(
    [...Map.groupBy(refusalsOf(operation), statusOfCode)].map(([status, codes]) => {
      const name = shared[codes.join(' ')];
      return [String(status), name === undefined ? refusedWith(codes, status) : reference(name)];
    }),
  );

const sharedResponses = (): ApiDocument['components']['responses'] => {
  const refused = restOperations.flatMap((operation) => [...Map.groupBy(refusalsOf(operation), statusOfCode)]);
  const named = refused.flatMap(([status, codes]) => {
    const name = shared[codes.join(' ')];
    return name === undefined ? [] : [[name, refusedWith(codes, status)] as const];
  });
  return { ...Object.fromEntries(named), TooSlow: tooSlow, ValidationFailure: validationFailure };
};

/** A response as it is, wherever in the document it stands. */
export const responseIn = (document: ApiDocument, response: Response | Reference): Response => {
  if (!('$ref' in response)) return response;
  const found = document.components.responses[response.$ref.replace('#/components/responses/', '')];
  if (!found) throw new Error(`the document refers to ${response.$ref}, which it does not have`);
  return found;
};

const unprocessableOf = (operation: RestOperation): Response | Reference => {
  const own = [...(operation.method === 'POST' ? reusedKey : []), ...refusalsOf(operation).filter((code) => statusOfCode(code) === 422)];
  return own.length > 0 ? validationOr(validationFailure, own) : reference('ValidationFailure');
};

const entryOf = (operation: RestOperation, success = successOf(operation)): OperationEntry => ({
  operationId: operation.id,
  tags: [operation.tag],
  summary: operation.summary,
  description: operation.description ?? `${operation.summary}.`,
  security: [{ HTTPBearer: [] }],
  parameters: [
    ...parametersOf('path', operation.params),
    ...parametersOf('query', operation.query),
    ...(operation.method === 'POST' ? [keyParameter] : []),
    sessionCookie,
  ],
  ...(operation.body && {
    requestBody: {
      required: true,
      content: { 'application/json': { schema: operation.body.schema, example: examples[operation.body.name] } },
    },
  }),
  responses: {
    ...success,
    ...refusalsByStatus(operation),
    408: reference('TooSlow'),
    422: unprocessableOf(operation),
  },
});

/** Every named object that the operations speak of, and those inside them. */
const componentsOf = (named: readonly NamedSchema[]): readonly (readonly [string, JsonSchema])[] =>
  named.flatMap(({ name, schema, components }) => [
    [name, withConfigSchemas(name, withConfigKeys(name, toldObject(name, schema)))] as const,
    ...componentsOf(components),
  ]);

const about = `Watches targets from several continents and tells when one fails. What the web interface can do to monitors, incidents,
maintenance windows, groups and status pages, this API can do with the same roles and the same limits of the plan.

Send a token as \`Authorization: Bearer svc_…\`; \`GET /api/v1/me\` tells whose it is. A token is made in the API tokens section of the
account. It acts for one organisation and can do no more than the person who made it: writing needs a \`read_write\` token and a role
that may write.

Each token may make 120 calls a minute, where the operator of the service did not choose another number. \`RateLimit-Remaining\` and
\`RateLimit-Reset\` (seconds) stand on every answer below \`/api/v1\`, this document and refusals included; a call without a valid token
counts for its address. What is only asked on the way there tells that count too, but adds nothing to it and is never refused: what leads
on to the docs, what a browser asks before a call, \`/health\`, \`/livez\`, \`/readyz\` and addresses where nothing is. Pages for people have
no such headers, nor has a request that could not be read as HTTP.

Lists come in pages: send \`next_cursor\` back as \`cursor\` until it is null. Ids are UUIDs, date-times are in UTC. A refusal has a body
\`{"error": {"code", "message"}}\`; branch on the code, which is stable. An unknown route answers 404 \`route_not_found\`, a wrong method
405 \`method_not_allowed\` with \`Allow\`.

Answers to GET carry an \`ETag\`: sent back as \`If-None-Match\`, what has not changed is answered 304. HEAD is answered wherever GET is. Answers
come as brotli or gzip to who takes it. \`X-Request-Id\` names each call.

A POST may carry an \`Idempotency-Key\` of your choice: sent again within 24 hours, it is answered as it was the first time and does nothing again.
So a call whose answer got lost can be sent again without fear; \`GET /api/v1/docs\` says more, under "Sending again".

Version 1 only grows: fields may be added, none is removed or changes its type.`;

/** Those of the specification's operations, and of their own for what came later. */
const tags = [
  { name: 'Account', description: 'Whose token this is.' },
  { name: 'Monitors', description: 'What is watched, and how it is.' },
  { name: 'Monitor batches', description: 'Many monitors by one call.' },
  { name: 'Monitor history', description: 'What was measured, and what every second was counted as.' },
  { name: 'Incidents', description: 'Outages, as they were seen and confirmed.' },
  { name: 'Incident evidence', description: 'What each probe saw of an outage.' },
  { name: 'Events', description: 'What changed, for programs that follow.' },
  { name: 'Channels', description: 'Who is told of outages, how and when, and that somebody is on it.' },
  { name: 'Maintenance', description: 'Times in which what fails does not alert.' },
  { name: 'Maintenance changes', description: 'Other times for a window, and what they would come to.' },
  { name: 'Groups', description: 'Monitors that share one status.' },
  { name: 'Status pages', description: 'What is shown to the public.' },
  { name: 'Status page editing', description: 'Pages themselves, their order, their domain and who may see them.' },
  { name: 'Status page posts', description: 'What is told of an incident on a page, and to how many.' },
  { name: 'Probes', description: 'Hosts of your own that check for you alone.' },
  { name: 'Metrics', description: 'Figures for your own Prometheus.' },
] as const;

const components = (): ApiDocument['components'] => ({
  schemas: Object.fromEntries(
    [
      ...componentsOf([...restOperations.flatMap(({ body, response }) => [...(body?.components ?? []), ...(response?.components ?? [])])]),
      ...componentsOf(ErrorOut.components),
      ...configComponents(),
      ...Object.entries(validationSchemas).map(([name, schema]) => [name, toldObject(name, schema)] as const),
    ].toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ),
  responses: sharedResponses(),
  securitySchemes: { HTTPBearer: { type: 'http', scheme: 'bearer', description: 'An API token: `svc_` and forty characters.' } },
  headers: {
    'RateLimit-Remaining': { description: 'Calls left in the present window.', schema: { type: 'integer' } },
    'RateLimit-Reset': { description: 'Whole seconds until the window ends.', schema: { type: 'integer' } },
    'Retry-After': { description: 'Whole seconds to wait.', schema: { type: 'integer' } },
    'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' } },
    ETag: {
      description: 'What this answer holds: sent back as `If-None-Match`, an answer that is the same is 304 without a body.',
      schema: { type: 'string' },
    },
    Location: { description: 'Where what was made can be read.', schema: { type: 'string' } },
    'X-Request-Id': { description: 'Names this call; a failure stands in our log under it.', schema: { type: 'string', format: 'uuid' } },
  },
});

/** The API document, from the table of operations alone. */
export const apiDocument = (baseUrl: string): ApiDocument => ({
  openapi: '3.1.1',
  info: {
    title: 'Antipode',
    version: apiVersion,
    'x-revision': apiRevision,
    summary: 'Monitoring service HTTP API, version 1',
    description: about,
    contact: { name: 'Whoever runs this installation', url: baseUrl },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: baseUrl }],
  tags,
  paths: {
    ...Object.fromEntries(
      [...Map.groupBy(restOperations, ({ path }) => path)].map(([path, those]) => [
        path,
        Object.fromEntries(those.map((operation) => [operation.method.toLowerCase(), entryOf(operation)])),
      ]),
    ),
    [figuresOperation.path]: { get: entryOf(figuresOperation, figuresSuccess({ ...counted, ETag: header('ETag') })) },
  },
  components: components(),
});
