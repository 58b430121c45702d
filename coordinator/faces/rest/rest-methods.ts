import { restOperations } from '../../../shared/api/index.ts';
import { prefix } from './rest-urls.ts';

/** An import of the module would touch all that it offers, and with that load the whole of undici: 40 ms of a core. */
const { METHODS } = process.getBuiltinModule('node:http');

/** What needs no token. */
export const openPaths = [`${prefix}/openapi.json`, `${prefix}/docs`] as const;

const pattern = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);

const withHead = (method: string): readonly string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

/** What lies beside the API and is asked on the way there. */
const besidePaths = ['/docs', '/docs/', `${prefix}/docs/`, '/health', '/livez', '/readyz'] as const;

/** Paths without ids, and what they answer to. */
const byName: ReadonlyMap<string, readonly string[]> = new Map([
  ...[...Map.groupBy(restOperations, ({ path }) => path)]
    .filter(([path]) => !path.includes('{'))
    .map(([path, those]) => [path, those.flatMap(({ method }) => withHead(method))] as const),
  ...[`${prefix}/metrics`, ...openPaths, ...besidePaths].map((path) => [path, withHead('GET')] as const),
]);

const pathOf = (url: string): string => url.split(/[?#]/, 1)[0] ?? '';

/** Whether a path has a name of its own and does not answer to this method: a router would take the name for an id. */
export const isNameAlone = (url: string, method: string): boolean => byName.get(pathOf(url))?.includes(method) === false;

/** The methods that a path answers to, none where there is no such route. */
export const methodsOf = (url: string): readonly string[] => {
  const path = pathOf(url);
  // A slash that is written as %2F is a part of no id, and leads to no other route either.
  if (/%2f/i.test(path)) return [];
  return (
    byName.get(path) ?? restOperations.filter((operation) => pattern(operation.path).test(path)).flatMap(({ method }) => withHead(method))
  );
};

const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/1\.[01]\r?\n/;

/** The address of a request whose method the HTTP parser has no word for; undefined when it is not the method that is wrong. */
export const addressOfUnknownMethod = (packet: Buffer): string | undefined => {
  const [, method = '', address] = requestLine.exec(packet.toString('latin1')) ?? [];
  return METHODS.includes(method) ? undefined : address;
};
