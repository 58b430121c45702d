/**
 * Holds answers to the API document: status, media type, headers, body, and the codes that it
 * promises.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {
  apiDocument,
  type OperationEntry,
  type Response,
  responseIn,
} from '../../coordinator/api/openapi.ts';
import { restOperations } from '../../shared/api/index.ts';
import { isRecord } from '../../shared/base/json.ts';

export type Heard = { readonly status: number; readonly headers: Headers; readonly text: string };

const document = apiDocument('http://localhost');

const entries: ReadonlyMap<string, OperationEntry> = new Map(
  Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((entry) => [entry.operationId, entry] as const),
  ),
);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(document, 'document');

/** References in the document count from its root. */
const absolute = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (key, value) =>
    key === '$ref' && typeof value === 'string' ? `document${value}` : value,
  );

const validators = new Map<string, ReturnType<typeof ajv.compile>>();

const bodyFaults = (schema: unknown, body: unknown): readonly string[] => {
  const key = JSON.stringify(schema);
  const validate =
    validators.get(key) ?? ajv.compile(isRecord(schema) ? Object(absolute(schema)) : {});
  validators.set(key, validate);
  return validate(body) ? [] : [ajv.errorsText(validate.errors)];
};

const promisedCodes = (json: Record<string, unknown>): readonly string[] =>
  isRecord(json.examples) ? Object.keys(json.examples) : [];

const codeFaults = (json: Record<string, unknown>, body: unknown): readonly string[] => {
  if (!isRecord(body) || !isRecord(body.error)) return [];
  const { code } = body.error;
  return typeof code === 'string' && promisedCodes(json).includes(code)
    ? []
    : [`the code ${String(code)} is not promised`];
};

/** A media type without its parameters. */
const essenceOf = (type: string): string => type.split(';', 1)[0] ?? '';

const contentFaults = (response: Response, { headers, text }: Heard): readonly string[] => {
  const content = response.content ?? {};
  if (Object.keys(content).length === 0)
    return text === '' ? [] : ['there is a body where none is described'];
  const type = headers.get('content-type') ?? '';
  const described = Object.entries(content).find(
    ([name]) => essenceOf(name) === essenceOf(type),
  )?.[1];
  if (!isRecord(described)) return [`the media type is ${type}`];
  if (essenceOf(type) !== 'application/json') return bodyFaults(described.schema, text);
  const body: unknown = JSON.parse(text);
  return [...bodyFaults(described.schema, body), ...codeFaults(described, body)];
};

/** Everything about an answer that the document does not describe; empty when all is well. */
export const contractFaults = (operationId: string, heard: Heard): readonly string[] => {
  const described = entries.get(operationId)?.responses[heard.status];
  if (!described)
    return [
      `${operationId} answered ${heard.status}, which is not described: ${heard.text.slice(0, 200)}`,
    ];
  const response = responseIn(document, described);
  const missing = Object.entries(response.headers ?? {})
    .filter(
      ([name, header]) =>
        !heard.headers.has(name) && !(isRecord(header) && header.required === false),
    )
    .map(([name]) => name);
  return [...missing.map((name) => `no header ${name}`), ...contentFaults(response, heard)].map(
    (fault) => `${operationId} ${heard.status}: ${fault}`,
  );
};

/** Which operation a method and path belong to. */
export const operationAt = (method: string, path: string): string | undefined =>
  restOperations.find(
    (operation) =>
      operation.method === method &&
      new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(
        path.split('?', 1)[0] ?? '',
      ),
  )?.id;
