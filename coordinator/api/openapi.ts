import { csvType } from '../../shared/api/csv.ts';
import type { JsonSchema, NamedSchema, Shape } from '../../shared/api/fields.ts';
import { restOperations } from '../../shared/api/index.ts';
import {
  apiRevision,
  apiVersion,
  ErrorOut,
  type RestOperation,
  refusalsOf,
  validationSchemas,
} from '../../shared/api/operation.ts';
import type { RefusalCode } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { type Plan, planNames, plans } from '../gate/plans.ts';
import { listMonitorFigures } from '../monitors/contract.ts';
import { configComponents, withConfigKeys, withConfigSchemas } from './config-schemas.ts';
import {
  copyable,
  describedObject,
  escapeHtml,
  figuresText,
  figuresType,
  meaningOf,
  statusOfCode,
  tags,
  told,
} from './document-words.ts';
import { eventPost } from './event-post.ts';
import { keyHeader, keyPattern, maxKeyCharacters, prefix, replayedHeader } from './server.ts';

/** The only answer that is not JSON: metrics in the text format of Prometheus. */

export const figuresOperation: RestOperation = {
  ...listMonitorFigures,
  id: 'getMetrics',
  method: 'GET',
  path: `${prefix}/metrics`,
  tag: 'Metrics',
  success: 200,
  summary: 'Get figures of all monitors for Prometheus',
  description:
    'The text format of Prometheus, version 0.0.4: `antipode_monitor_up`, ' +
    '`antipode_monitor_status` and `antipode_monitor_response_seconds` of as many monitors as ' +
    'the plan allows, and `antipode_response_seconds`, a histogram of their newest checks by place. What is not known has no row. A read token is enough.',
};

const monitor = {
  id: '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f',
  name: 'Shop',
  type: 'https',
  status: 'up',
  is_up: true,
  response_ms: 182,
  place: 'Europe',
  warnings: ['certificate_expires'],
};

function figuresSuccess(headers: Readonly<Record<string, unknown>>) {
  return {
    200: {
      description: 'Success.',
      headers,
      content: {
        [figuresType]: {
          schema: { type: 'string' },
          example: figuresText({ items: [monitor], left_out: 0 }),
        },
      },
    },
  };
}

/** Calls that are done once, however often they are sent: for the document and its page. */
const keyParameter = {
  name: keyHeader,
  in: 'header',
  required: false,
  description:
    'Any text of your choice, best a random UUID, new for each thing that you want done. The ' +
    'same call sent again with it within 24 hours gets the first answer and does nothing.',
  schema: { type: 'string', minLength: 1, maxLength: maxKeyCharacters, pattern: keyPattern },
} as const;

/** For an answer; neither header is on each of its kind. */
const replayed = {
  description:
    '`true` where this is the answer that was given before to the same `Idempotency-Key`; absent otherwise.',
  required: false,
  schema: { type: 'string', enum: ['true'] },
} as const;
const whileInUse = {
  description: 'Whole seconds to wait, with `idempotency_key_in_use` alone.',
  required: false,
  schema: { type: 'integer' },
} as const;

/** For every POST: a key may belong to another request. */
const reusedKey = ['idempotency_key_reused'] as const;

/**
 * The answer to invalid input, which may also be one of these refusals with the same status 422.
 */
function validationOr<Response extends { readonly description: string; readonly content?: object }>(
  validation: Response,
  codes: readonly RefusalCode[],
) {
  return {
    ...validation,
    description: [
      validation.description,
      ...codes.map(
        (code) =>
          `\`${code}\`: ${meaningOf(code)} Then the body has \`error\` in place of \`detail\`.`,
      ),
    ].join('\n\n'),
    content: Object.fromEntries(
      Object.entries(validation.content ?? {}).map(([type, media]) => {
        const { example, ...rest } = { example: undefined, ...Object(media) };
        const refused = codes.map((code) => [
          code,
          { summary: code, value: { error: { code, message: meaningOf(code) } } },
        ]);
        return [
          type,
          {
            ...rest,
            examples: {
              validation: { summary: 'not of the form', value: example },
              ...Object.fromEntries(refused),
            },
          },
        ];
      }),
    ),
  };
}

const example = `KEY=$(uuidgen)
curl -sS --fail-with-body --retry 3 --retry-all-errors -X POST "$ANTIPODE_URL/api/v1/monitors" \\
  -H "Authorization: Bearer $ANTIPODE_TOKEN" -H "Idempotency-Key: $KEY" \\
  -H 'Content-Type: application/json' -d '{"type": "https", "target": "https://shop.example/"}'`;

export function onceChapter(): string {
  return `<h2 id="once">Retries and idempotency</h2>
<p>When an answer gets lost, you cannot know whether the call was done. Send each POST with the header <code>Idempotency-Key</code> and retry until you get an answer: the call is done once.</p>
${copyable('Creates one monitor, however often you send it', example)}
<ul>
<li>A key is one to ${maxKeyCharacters} printable characters of ASCII, blanks at its ends left out. It belongs to your token, to the method, the address and the body, byte for byte, for 24 hours. With another request it is refused: 422 <code>idempotency_key_reused</code>.</li>
<li>A repeat gets the status, the body and the <code>Location</code> of the first answer, and <code>Idempotency-Replayed: true</code>. It reports what was true then, changes nothing, and counts against the rate limit like any call.</li>
<li>While the first call is in progress, a repeat is answered 409 <code>idempotency_key_in_use</code> with <code>Retry-After</code>.</li>
<li>Kept are successes, and refusals of what was asked, such as a limit of the plan, an invalid target or a name that is taken. After you changed something, send a new key. Not kept, so that the same key can still succeed: 401, 422, 429, 5xx, and what your token or role may not do.</li>
<li>What a call does and its answer are one transaction of the database: whatever part of the service dies at whatever moment, there are both or neither. E-mails, alerts and probes follow from what was written with it.
  Only <code>checkStatusPageDomain</code> looks something up in DNS before, and <code>createChannel</code> sends a test message; a call that died before its answer does that again.</li>
<li>An answer over 512 KiB is not kept, and of all that an organisation is answered in a day the newest 64 MiB are. Also then nothing is done twice: a repeat is answered 409 <code>idempotency_answer_too_large</code>, which says when the call was answered; read what there is.</li>
<li>Answers lie encrypted in the database and are deleted after a day. They are not in backups. On GET, PATCH and DELETE the header is ignored.</li>
</ul>`;
}

/** Whether what an operation creates can be read by itself, below the path of its creation. */
function hasPlace({ success, path }: RestOperation): boolean {
  return (
    success === 201 &&
    restOperations.some(
      ({ method, path: other }) =>
        method === 'GET' &&
        other.startsWith(`${path}/{`) &&
        other.split('/').length === path.split('/').length + 1,
    )
  );
}

/** Where the created object can be read. */
export function placeOf(operation: RestOperation, made: unknown): string | undefined {
  return hasPlace(operation) && isRecord(made) && typeof made.id === 'string'
    ? `${operation.path}/${made.id}`
    : undefined;
}

type Json = { readonly [key: string]: unknown };

export type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
};
export type Response = {
  readonly description: string;
  readonly headers?: Json;
  readonly content?: Json;
};
type Reference = { readonly $ref: string };
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
  readonly webhooks: Json;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Json;
    readonly headers: Json;
  };
};

const counted = {
  'RateLimit-Remaining': header('RateLimit-Remaining'),
  'RateLimit-Reset': header('RateLimit-Reset'),
  'X-Request-Id': header('X-Request-Id'),
};

function header(name: string) {
  return { $ref: `#/components/headers/${name}` };
}

const extraHeaders: Readonly<Record<string, Json>> = {
  401: { 'WWW-Authenticate': header('WWW-Authenticate'), ...counted },
  429: { 'Retry-After': header('Retry-After'), ...counted },
  431: {},
  503: { 'Retry-After': header('Retry-After'), ...counted },
  500: counted,
};

/** An example of a validation failure. */
const validationExample = {
  detail: [
    {
      type: 'uuid_parsing',
      loc: ['path', 'monitor_id'],
      msg: 'Input should be a valid UUID, invalid length: expected length 32 for simple format, found 3',
      input: '123',
      ctx: { error: 'invalid length: expected length 32 for simple format, found 3' },
    },
  ],
};

/** A response itself, wherever the document defines it. */
export function responseIn(document: ApiDocument, response: Response | Reference): Response {
  if (!('$ref' in response)) return response;
  const found = document.components.responses[response.$ref.replace('#/components/responses/', '')];
  if (!found) throw new Error(`the document refers to ${response.$ref}, which it does not have`);
  return found;
}

const about = `Monitors targets from several continents and alerts when one fails. What the web interface can do to monitors, incidents,
maintenance windows, groups and status pages, this API can do with the same roles and the same limits of the plan.

Send a token as \`Authorization: Bearer svc_…\`; \`GET /api/v1/me\` returns its owner. Create a token under API & assistants in your
account. It acts for one organisation and can do no more than the person who created it: writing needs a \`read_write\` token and a role
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
So you can safely retry a call whose answer got lost; \`GET /api/v1/docs\` says more, under "Retries and idempotency".

Version 1 only grows: fields may be added, none is removed or changes its type.`;

/** The API document, made from the table of operations alone. */
export function apiDocument(baseUrl: string): ApiDocument {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Antipode',
      version: apiVersion,
      'x-revision': apiRevision,
      summary: 'Monitoring service HTTP API, version 1',
      description: about,
      contact: { name: 'Operator of this installation', url: baseUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags,
    paths: {
      ...Object.fromEntries(
        [...Map.groupBy(restOperations, ({ path }) => path)].map(([path, those]) => [
          path,
          Object.fromEntries(
            those.map((operation) => [operation.method.toLowerCase(), entryOf(operation)]),
          ),
        ]),
      ),
      [figuresOperation.path]: {
        get: entryOf(figuresOperation, figuresSuccess({ ...counted, ETag: header('ETag') })),
      },
    },
    webhooks: { event: { post: eventPost } },
    components: components(),
  };
}

const sessionCookie: Parameter & { readonly description: string } = {
  name: 'svc_session',
  in: 'cookie',
  required: false,
  description: 'Accepted and ignored: only a bearer token authenticates here.',
  schema: { anyOf: [{ type: 'string' }, { type: 'null' }] },
};

function entryOf(operation: RestOperation, success = successOf(operation)): OperationEntry {
  return {
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
        content: {
          'application/json': {
            schema: operation.body.schema,
            example: operation.body.documented.example,
          },
        },
      },
    }),
    responses: {
      ...success,
      ...refusalsByStatus(operation),
      408: openapiReference('TooSlow'),
      422: unprocessableOf(operation),
    },
  };
}

function successOf(operation: RestOperation): Readonly<Record<string, Response>> {
  if (!operation.response)
    return { [operation.success]: { description: 'Done; no body.', headers: counted } };
  const common = operation.method === 'POST' ? { ...counted, [replayedHeader]: replayed } : counted;
  const headers = {
    ...common,
    ...(operation.method === 'GET' ? { ETag: header('ETag') } : {}),
    ...(hasPlace(operation) ? { Location: header('Location') } : {}),
  };
  const content = {
    'application/json': {
      schema: operation.response.schema,
      example: operation.response.documented.example,
    },
    ...(operation.csv !== undefined && { [csvType]: { schema: { type: 'string' } } }),
  };
  return {
    [operation.success]: {
      description: operation.success === 201 ? 'Created.' : 'Success.',
      headers,
      content,
    },
    ...(operation.otherSuccess && {
      [operation.otherSuccess.status]: {
        description: operation.otherSuccess.when,
        headers: common,
        content,
      },
    }),
  };
}

function parametersOf(where: 'path' | 'query', shape: Shape): readonly Parameter[] {
  return Object.entries(shape).map(([name, field]) => {
    const { description, ...schema } = told(name, field);
    return {
      name,
      in: where,
      required: field.absent === undefined,
      ...(description === undefined ? {} : { description }),
      schema,
    };
  });
}

/** Refusals that many operations share, by code: the document has them once. */
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

function refusalsByStatus(
  operation: RestOperation,
): Readonly<Record<string, Response | Reference>> {
  return Object.fromEntries(
    [...Map.groupBy(refusalsOf(operation), statusOfCode)].map(([status, codes]) => {
      const name = shared[codes.join(' ')];
      return [
        String(status),
        name === undefined ? refusedWith(codes, status) : openapiReference(name),
      ];
    }),
  );
}

function refusedWith(codes: readonly RefusalCode[], status: number): Response {
  return {
    description: codes.map((code) => `\`${code}\`: ${meaningOf(code)}`).join('\n\n'),
    headers: {
      ...(extraHeaders[status] ?? counted),
      ...(codes.includes('idempotency_key_in_use') ? { 'Retry-After': whileInUse } : {}),
    },
    content: {
      'application/json': {
        schema: ErrorOut.schema,
        examples: Object.fromEntries(
          codes.map((code) => [
            code,
            { summary: code, value: { error: { code, message: meaningOf(code) } } },
          ]),
        ),
      },
    },
  };
}

function openapiReference(name: string): Reference {
  return { $ref: `#/components/responses/${name}` };
}

const validationFailure: Response = {
  description:
    'The path, the query or the body is not of the described form; every fault is named.',
  headers: counted,
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/HTTPValidationError' },
      example: validationExample,
    },
  },
};

function unprocessableOf(operation: RestOperation): Response | Reference {
  const own = [
    ...(operation.method === 'POST' ? reusedKey : []),
    ...refusalsOf(operation).filter((code) => statusOfCode(code) === 422),
  ];
  return own.length > 0
    ? validationOr(validationFailure, own)
    : openapiReference('ValidationFailure');
}

function components(): ApiDocument['components'] {
  return {
    schemas: Object.fromEntries(
      [
        ...componentsOf([
          ...restOperations.flatMap(({ body, response }) => [
            ...(body?.components ?? []),
            ...(response?.components ?? []),
          ]),
        ]),
        ...componentsOf(ErrorOut.components),
        ...configComponents(),
        ...Object.entries(validationSchemas),
      ].toSorted(([one], [other]) => (one < other ? -1 : 1)),
    ),
    responses: sharedResponses(),
    securitySchemes: {
      HTTPBearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API token: `svc_` and forty characters.',
      },
    },
    headers: {
      'RateLimit-Remaining': {
        description: 'Calls left in the present window.',
        schema: { type: 'integer' },
      },
      'RateLimit-Reset': {
        description: 'Whole seconds until the window ends.',
        schema: { type: 'integer' },
      },
      'Retry-After': { description: 'Whole seconds to wait.', schema: { type: 'integer' } },
      'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' } },
      ETag: {
        description:
          'What this answer holds: sent back as `If-None-Match`, an answer that is the same is 304 without a body.',
        schema: { type: 'string' },
      },
      Location: { description: 'Where what was made can be read.', schema: { type: 'string' } },
      'X-Request-Id': {
        description: 'The id of this call; our log has failures under it.',
        schema: { type: 'string', format: 'uuid' },
      },
    },
  };
}

/** Every named object that the operations use, and those inside them. */
function componentsOf(named: readonly NamedSchema[]): readonly (readonly [string, JsonSchema])[] {
  return named.flatMap((component) => [
    [
      component.name,
      withConfigSchemas(component.name, withConfigKeys(component.name, describedObject(component))),
    ] as const,
    ...componentsOf(component.components),
  ]);
}

/** Sent before a route is found, so it carries no count. */
const tooSlow: Response = {
  ...refusedWith(['request_malformed'], 431),
  description: '`request_malformed`: The request did not arrive within a minute.',
};

function sharedResponses(): ApiDocument['components']['responses'] {
  const refused = restOperations.flatMap((operation) => [
    ...Map.groupBy(refusalsOf(operation), statusOfCode),
  ]);
  const named = refused.flatMap(([status, codes]) => {
    const name = shared[codes.join(' ')];
    return name === undefined ? [] : [[name, refusedWith(codes, status)] as const];
  });
  return { ...Object.fromEntries(named), TooSlow: tooSlow, ValidationFailure: validationFailure };
}

const rows: { readonly [K in keyof Plan]: string } = {
  monitors: 'Monitors',
  min_interval_s: 'Shortest interval, in seconds',
  status_pages: 'Status pages',
  members: 'Members',
  private_probes: 'Private probes',
  channels: 'Alert channels',
  webhooks: 'Webhooks',
  groups: 'Groups',
  objectives: 'Objectives',
  windows: 'Active and upcoming maintenance windows',
  occurrences: 'Occurrences of one window in the 90 days ahead',
  check_days: 'Days for which single checks are kept, if the installation keeps them as long',
};

/** A page: the limits of each plan, from the table with the plans' numbers. */
export function plansChapter(): string {
  return `<h1>Plans</h1><p>The limits of an organisation, by plan. <code>GET /api/v1/me</code> returns the plan; only the operator of the installation can change it. Calls beyond a limit are refused with 403 and a code that begins with <code>plan_limit_</code>.</p>
<div class="wide" tabindex="0" role="region" aria-label="Plans"><table class="plans"><thead><tr><th scope="col">Limit</th>${planNames
    .map((plan) => `<th scope="col"><code>${plan}</code></th>`)
    .join(
      '',
    )}</tr></thead><tbody>${Object.keys(rows).filter(isLimit).map(row).join('')}</tbody></table></div>`;
}

function isLimit(key: string): key is keyof Plan {
  return Object.hasOwn(rows, key);
}

function row(key: keyof Plan): string {
  return `<tr><th scope="row">${escapeHtml(rows[key])}</th>${planNames.map((plan) => `<td>${shown(key, plans[plan][key])}</td>`).join('')}</tr>`;
}

/** Limits for all plans, where a plan has no number of its own. */
const withoutNumber: Partial<Record<keyof Plan, string>> = { min_interval_s: '10' };

function shown(key: keyof Plan, value: number): string {
  if (value === 0 && withoutNumber[key] !== undefined) return withoutNumber[key];
  return Number.isFinite(value) ? value.toLocaleString('en') : 'no limit';
}
