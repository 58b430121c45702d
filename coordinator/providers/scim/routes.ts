import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { InvalidInput, type Operation, rawInput } from '../../../shared/api/operation.ts';
import { isId, newId } from '../../../shared/base/crypto.ts';
import { Refusal, type RefusalCode } from '../../../shared/base/errors.ts';
import { isRecord, memberOf } from '../../../shared/base/json.ts';
import { isoText } from '../../../shared/base/time.ts';
import { largeBodyLimit, readBody } from '../../api/body.ts';
import { identify, type RestDependencies } from '../../api/caller.ts';
import { answerOf } from '../../api/errors.ts';
import type { Caller } from '../../gate/caller.ts';
import type { Kind, Values } from './attributes.ts';
import { provisionGroup, provisionUser, readProvisioned } from './contract.ts';
import { providerConfig, resourceTypes, schemas } from './discovery.ts';
import { placeFrom, schemaOf } from './filter.ts';

/** Where providers say who is there: SCIM 2.0 (RFC 7644). */

type Dependencies = Pick<
  RestDependencies<Caller>,
  'authenticate' | 'limiter' | 'log' | 'baseUrl' | 'execute'
>;

export const scimPath = '/scim/v2';
const json = 'application/scim+json; charset=utf-8';

const kinds: Readonly<Record<string, Kind>> = { Users: 'User', Groups: 'Group' };
const writes = { User: provisionUser, Group: provisionGroup } as const;
const collectionOf = { User: 'Users', Group: 'Groups' } as const satisfies Record<Kind, string>;

export function scimRoutes(app: FastifyInstance, dependencies: Dependencies): void {
  app.register(
    async (face) => {
      face.decorateRequest('caller', null);
      face.removeAllContentTypeParsers();
      face.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
        done(null, body),
      );
      face.addHook('onRequest', async (request, reply) => {
        // The server would refuse media types that it does not know.
        delete request.raw.headers['content-type'];
        reply.headers({
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'x-request-id': newId(),
        });
        const { authorization } = request.headers;
        request.setDecorator(
          'caller',
          await identify(dependencies, { authorization, address: request.ip }, reply),
        );
      });
      face.setErrorHandler((error, request, reply) => fail(dependencies, error, request, reply));
      face.setNotFoundHandler(() => {
        throw nothingHere();
      });
      const at = (url: string, methods: readonly string[], answer: typeof onCollection): void =>
        void face.route({
          method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
          url,
          bodyLimit: largeBodyLimit,
          exposeHeadRoute: false,
          handler: (request: Asked, reply) => {
            const { collection, id } = request.params;
            // One asks by an address, which is what others do as well.
            if (collection === '.search' || id === '.search')
              return send(reply.code(501), faultBody(501, 'Ask with GET and a filter.'));
            const allowed = Object.hasOwn(kinds, collection) ? methods : ['GET'];
            if (allowed.includes(request.method)) return answer(dependencies, request, reply);
            reply.header('allow', allowed.join(', '));
            throw new Refusal(
              'method_not_allowed',
              `This address answers to ${allowed.join(', ')}.`,
            );
          },
        });
      at('/:collection', ['GET', 'POST'], onCollection);
      at('/:collection/:id', ['GET', 'PUT', 'PATCH', 'DELETE'], onResource);
    },
    { prefix: scimPath },
  );
}

type Asked = FastifyRequest<{
  Params: { readonly collection: string; readonly id?: string };
  Querystring: Readonly<Record<string, string | undefined>>;
}>;

function nothingHere(): Refusal {
  return new Refusal('route_not_found', 'There is nothing at this address.');
}

const mostItems = 200;
const usualItems = 100;

async function onCollection(
  dependencies: Dependencies,
  request: Asked,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { collection } = request.params;
  const kind = Object.hasOwn(kinds, collection) ? kinds[collection] : undefined;
  if (kind === undefined) return send(reply, described(dependencies, collection, undefined));
  if (request.method === 'POST') {
    const row = await written(dependencies, request, kind, 'create');
    const made = resource(dependencies, kind, row, showsAll);
    return send(reply.code(201).header('location', String(memberOf(made.meta, 'location'))), made);
  }
  const { query } = request;
  const isShown = shownBy(kind, query);
  const start = Math.max(1, numberOf(query.startIndex, 1));
  const limit = Math.min(mostItems, Math.max(0, numberOf(query.count, usualItems)));
  const { total, rows } = await list(dependencies, request, {
    ...{ kind, filter: query.filter ?? null, skip: start - 1, limit },
    whole: isShown(besideIn[kind]),
  });
  return send(reply, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: start,
    itemsPerPage: rows.length,
    Resources: rows.map((row) => resource(dependencies, kind, row, isShown)),
  });
}

async function onResource(
  dependencies: Dependencies,
  request: Asked,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { method, query } = request;
  const { collection, id = '' } = request.params;
  const kind = Object.hasOwn(kinds, collection) ? kinds[collection] : undefined;
  if (kind === undefined) return send(reply, described(dependencies, collection, id));
  const isShown = shownBy(kind, query);
  if (method === 'GET') {
    const { rows } = isId(id)
      ? await list(dependencies, request, {
          ...{ kind, filter: `id eq "${id}"`, skip: 0, limit: 1 },
          whole: isShown(besideIn[kind]),
        })
      : { rows: [] };
    const [row] = rows;
    if (row === undefined) throw nothingHere();
    return send(reply, resource(dependencies, kind, row, isShown));
  }
  const act = method === 'DELETE' ? 'remove' : method === 'PUT' ? 'replace' : 'patch';
  const row = await written(dependencies, request, kind, act);
  // A group of thousands is not sent back for each member that is added.
  if (act === 'remove' || (act === 'patch' && kind === 'Group')) return reply.code(204).send();
  return send(reply, resource(dependencies, kind, row, isShown));
}

/** More than a number does not fit into a list either. */
function numberOf(text: string | undefined, otherwise: number): number {
  const number = Number.parseInt(text ?? '', 10);
  return Number.isNaN(number) ? otherwise : Math.min(number, 1_000_000);
}

async function list(
  { execute }: Dependencies,
  request: Asked,
  asked: Values,
): Promise<{ readonly total: number; readonly rows: readonly Values[] }> {
  const { body } = await execute(
    readProvisioned,
    callerOf(request),
    rawInput(readProvisioned, asked),
  );
  const [total, rows] = [memberOf(body, 'total'), memberOf(body, 'rows')];
  return { total: Number(total), rows: Array.isArray(rows) ? rows.filter(isRecord) : [] };
}

async function written(
  { execute }: Dependencies,
  request: Asked,
  kind: Kind,
  act: 'create' | 'replace' | 'patch' | 'remove',
): Promise<Values> {
  const bytes = Buffer.isBuffer(request.body) ? request.body : undefined;
  const said = act === 'remove' ? {} : readBody(bytes, 'application/json');
  const operation: Operation = writes[kind];
  const { id = null } = request.params;
  const { body } = await execute(
    operation,
    callerOf(request),
    rawInput(operation, { act, id, said }),
  );
  const row = memberOf(body, 'row');
  return isRecord(row) ? row : {};
}

function callerOf(request: FastifyRequest): Caller {
  return request.getDecorator<Caller>('caller');
}

type Shows = (name: string) => boolean;

const showsAll: Shows = () => true;
const always = ['schemas', 'id', 'meta'];
const longestList = 2_000;

/** Whether the caller wants to see an attribute. @throws Refusal `scim_path_invalid`. */
function shownBy(kind: Kind, { attributes, excludedAttributes }: Asked['query']): Shows {
  const [wanted, unwanted] = [namesIn(kind, attributes), namesIn(kind, excludedAttributes)];
  return (name) =>
    always.includes(name) || (wanted ? wanted.has(name) : unwanted?.has(name) !== true);
}

function namesIn(kind: Kind, list: unknown): ReadonlySet<string | undefined> | undefined {
  if (list === undefined || list === '') return undefined;
  if (typeof list !== 'string' || list.length > longestList)
    throw new Refusal('scim_path_invalid', 'Name attributes once, separated by commas.');
  return new Set(list.split(',').map((each) => placeFrom(kind, each.trim())?.attribute.name));
}

const besideIn = { User: 'groups', Group: 'members' } as const satisfies Record<Kind, string>;

function resource({ baseUrl }: Dependencies, kind: Kind, row: Values, isShown: Shows): Values {
  const { id, said, created_at, changed_at } = row;
  const at = (of: Kind, which: unknown): string =>
    `${baseUrl()}${scimPath}/${collectionOf[of]}/${String(which)}`;
  const beside = Array.isArray(row.beside) ? row.beside.filter(isRecord) : [];
  const whole: Values = {
    schemas: [schemaOf(kind)],
    id,
    ...(isRecord(said) ? said : {}),
    ...(beside.length === 0
      ? {}
      : {
          [besideIn[kind]]: beside.map((each) => ({
            ...each,
            $ref: at(kind === 'User' ? 'Group' : 'User', each.value),
          })),
        }),
    meta: {
      resourceType: kind,
      created: isoText(Number(created_at)),
      lastModified: isoText(Number(changed_at)),
      location: at(kind, id),
    },
  };
  return Object.fromEntries(Object.entries(whole).filter(([each]) => isShown(each)));
}

function described({ baseUrl }: Dependencies, collection: string, id: string | undefined): unknown {
  const at = `${baseUrl()}${scimPath}`;
  if (collection === 'ServiceProviderConfig' && id === undefined) return providerConfig(at);
  const all =
    collection === 'Schemas'
      ? schemas(at)
      : collection === 'ResourceTypes'
        ? resourceTypes(at)
        : undefined;
  if (all === undefined) throw nothingHere();
  if (id === undefined)
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: all.length,
      startIndex: 1,
      itemsPerPage: all.length,
      Resources: all,
    };
  const one = all.find((each) => each.id === id);
  if (one === undefined) throw nothingHere();
  return one;
}

function send(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.type(json).send(JSON.stringify(body));
}

const types: Partial<Record<RefusalCode, string>> = {
  scim_filter_invalid: 'invalidFilter',
  scim_path_invalid: 'invalidPath',
  scim_syntax_invalid: 'invalidSyntax',
  request_malformed: 'invalidSyntax',
  scim_value_invalid: 'invalidValue',
  scim_taken: 'uniqueness',
  account_exists: 'uniqueness',
  email_taken: 'uniqueness',
  last_owner: 'mutability',
};

function fail(
  { log }: Dependencies,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  // Whatever is wrong with a body is one kind of fault here.
  const known =
    error instanceof InvalidInput ? new Refusal('scim_syntax_invalid', error.message) : error;
  const { status, body, headers, hidden } = answerOf(known, largeBodyLimit);
  if (hidden)
    log.error(
      { err: hidden.error, request_id: hidden.request_id, url: request.routeOptions.url },
      'request failed',
    );
  const type = known instanceof Refusal ? types[known.code] : undefined;
  const detail = memberOf(memberOf(body, 'error'), 'message');
  return send(reply.code(status).headers(headers), faultBody(status, detail, type));
}

function faultBody(status: number, detail: unknown, scimType?: string) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail,
  };
}
