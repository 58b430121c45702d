import type { Shape } from '../api/api-fields.ts';
import { restOperations } from '../api/api-index.ts';
import { commandName } from '../base/command-line.ts';
import { memberOf } from '../base/json-record.ts';
import { type Command, type CommandSource, commandOf } from './client-commands.ts';

const sources = (shape: Shape | undefined): CommandSource['body'] =>
  Object.fromEntries(
    Object.entries(shape ?? {}).map(([key, field]) => [key, { schema: field.schema, required: field.absent === undefined }]),
  );

const nouns = ['me', 'monitors', 'incidents', 'events', 'channels', 'maintenance', 'groups', 'status-pages'];

const rank = ({ operation }: Command): number => {
  const place = nouns.indexOf(operation.path.split('/')[3] ?? '');
  return place < 0 ? nouns.length : place;
};

/** Every operation of the API as a command. A new operation in the table is a command without further work. */
export const commands: readonly Command[] = restOperations
  .map((operation) =>
    commandOf({
      id: operation.id,
      method: operation.method,
      path: operation.path,
      summary: operation.summary,
      description: operation.description,
      params: Object.keys(operation.params),
      query: sources(operation.query),
      body: sources(operation.body?.shape),
    }),
  )
  .toSorted((a, b) => rank(a) - rank(b));

/** The names of the commands that a service's own document speaks of: how an older client learns that it lacks something. */
export const commandsOfDocument = (document: unknown): string[] => {
  const paths = memberOf(document, 'paths');
  if (typeof paths !== 'object' || paths === null) return [];
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(Object(methods)).flatMap((operation: unknown) => {
      const id = memberOf(operation, 'operationId');
      const source = { method: '', summary: '', params: [], query: {}, body: {} };
      return typeof id === 'string' ? [commandName(commandOf({ ...source, id, path }))] : [];
    }),
  );
};
