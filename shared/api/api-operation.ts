import { isRecord } from '../base/json-record.ts';
import type { RefusalCode } from '../base/refusal.ts';
import { type Fault, type Field, type ObjectField, type Parsed, parseShape, type Shape, type Values } from './api-fields.ts';
import { redactFaults } from './api-redact.ts';

/** What a caller's role and scope must allow: reading, writing, managing the organisation (owner and admin), or owning it. */
export type Access = 'read' | 'write' | 'manage' | 'own';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** What a caller sent, by where it stood. */
export type RawInput = {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
};

type None = Readonly<Record<never, never>>;
type Flat<T> = { readonly [K in keyof T]: T[K] };

/** One thing that the service can be asked to do, written down once: every face and the handler's type follow from it. */
export type Operation<Id extends string = string, Input = unknown, Output = unknown> = {
  readonly id: Id;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly params: Shape;
  readonly query: Shape;
  readonly body?: ObjectField<Shape>;
  readonly response?: Field<Output>;
  /** Codes of its own; those that any call may meet are not listed. */
  readonly refusals: readonly RefusalCode[];
  /** At a browser it wants a proof of who one is that is not old. */
  readonly dangerous?: true;
  /** It may be done also while the organisation is about to be deleted, when nothing else is that changes something. */
  readonly whileEnding?: true;
  /** Said where it does not follow: what asks for no more than reading and has no body looks, everything else acts. */
  readonly does?: 'looks' | 'acts';
  /** Path, query and body read into one flat input, or every fault at once. */
  readonly parse: (raw: RawInput) => Parsed<Input>;
};

/** An operation with a route in the REST API. */
export type RestOperation<Id extends string = string, Input = unknown, Output = unknown> = Operation<Id, Input, Output> & {
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly success: 200 | 201 | 204;
  /** Another success that the operation may answer with, and when. */
  readonly otherSuccess?: { readonly status: 200; readonly when: string };
  /** It takes many ids or things at once, and so a body of 2 MiB instead of 64 KiB. */
  readonly takesMuch?: true;
  /** How many calls it counts as, where what was sent asks for much; one otherwise. */
  readonly calls?: (body: unknown) => number;
};

export type InputOf<Op> = Op extends { readonly parse: (raw: RawInput) => Parsed<infer Input> } ? Input : never;
export type OutputOf<Op> = Op extends { readonly response?: Field<infer Output> } ? Output : never;

type Parts<Id extends string, P extends Shape, Q extends Shape, B extends Shape, Output> = {
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

/** An operation that only looks is one statement or two that need no lock, and leaves no trace. */
export const onlyLooks = ({ does, access, body }: Pick<Operation, 'does' | 'access' | 'body'>): boolean =>
  does === undefined ? access === 'read' && body === undefined : does === 'looks';

type RestParts = Pick<RestOperation, 'method' | 'path' | 'tag' | 'success' | 'otherSuccess' | 'takesMuch' | 'calls'>;

/** Path before query before body, as FastAPI orders the faults. */
const parseAll = (params: Shape, query: Shape, body: ObjectField<Shape> | undefined, raw: RawInput): Parsed<Record<string, unknown>> => {
  const parts = [parseShape(params, raw.path ?? {}, ['path']), parseShape(query, raw.query ?? {}, ['query'])];
  if (body) parts.push(parseBody(body, raw.body));
  const faults: Fault[] = [];
  const value: Record<string, unknown> = {};
  for (const part of parts) {
    if (part.ok) Object.assign(value, part.value);
    else faults.push(...part.faults);
  }
  return faults.length === 0 ? { ok: true, value } : { ok: false, faults: redactFaults(faults) };
};

const parseBody = (body: ObjectField<Shape>, input: unknown): Parsed<Values<Shape>> =>
  input === undefined || input === null
    ? { ok: false, faults: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }] }
    : body.parse(input, ['body']);

type Made<Id extends string, P extends Shape, Q extends Shape, B extends Shape, Output> = Operation<
  Id,
  Flat<Values<P> & Values<Q> & Values<B>>,
  Output
>;

/** An operation that only other faces offer: pages and operators need more than the API has. */
export const innerOperation = <
  const Id extends string,
  P extends Shape = None,
  Q extends Shape = None,
  B extends Shape = None,
  Output = void,
>(
  parts: Parts<Id, P, Q, B, Output>,
): Made<Id, P, Q, B, Output> => {
  const { params = {}, query = {}, body, refusals = [], ...rest } = parts;
  return {
    ...rest,
    params,
    query,
    ...(body === undefined ? {} : { body }),
    refusals,
    // parseAll reads exactly the shapes that P, Q and B stand for; their union of keys is beyond the compiler.
    parse: (raw) => parseAll(params, query, body, raw) as Parsed<Flat<Values<P> & Values<Q> & Values<B>>>,
  };
};

/** An operation with a route. */
export const operation = <const Id extends string, P extends Shape = None, Q extends Shape = None, B extends Shape = None, Output = void>(
  parts: Parts<Id, P, Q, B, Output> & RestParts,
): Made<Id, P, Q, B, Output> & RestParts => ({
  ...innerOperation(parts),
  method: parts.method,
  path: parts.path,
  tag: parts.tag,
  success: parts.success,
  ...(parts.otherSuccess === undefined ? {} : { otherSuccess: parts.otherSuccess }),
  ...(parts.takesMuch === undefined ? {} : { takesMuch: parts.takesMuch }),
  ...(parts.calls === undefined ? {} : { calls: parts.calls }),
});

/** Sorts the flat arguments of a tool, a command or a form into path, query and body. */
export const rawInput = (of: Pick<Operation, 'params' | 'query' | 'body'>, flat: unknown): RawInput => {
  const given = isRecord(flat) ? Object.entries(flat) : [];
  const pick = (shape: Shape) => Object.fromEntries(given.filter(([key]) => Object.hasOwn(shape, key)));
  return {
    path: pick(of.params),
    query: pick(of.query),
    ...(of.body === undefined ? {} : { body: pick(of.body.shape) }),
  };
};
