import type { Field, JsonSchema, NamedSchema, Shape } from '../api/fields.ts';
import { type OperationId, operations } from '../api/index.ts';
import type { RestOperation } from '../api/operation.ts';
import { isRecord } from '../base/record.ts';

/** A tool of the local server: the specification's name for one GET operation. */
export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly operation: RestOperation;
  /** Arguments, each with the parameter that it fills. */
  readonly arguments: Readonly<
    Record<string, { readonly where: 'path' | 'query'; readonly key: string; readonly field: Field<unknown>; readonly required: boolean }>
  >;
  /** Lists are walked to their end. */
  readonly allPages: boolean;
};

/** Names as the specification has them, and the titles that people see. The paging of lists is ours, not the assistant's. */
const names = {
  whoami: { operation: 'whoami', title: 'Whose token is this' },
  list_monitors: { operation: 'listMonitors', title: 'List all monitors' },
  get_monitor: { operation: 'getMonitor', title: 'Get a monitor' },
  monitor_status: { operation: 'getMonitorStatus', title: 'Status and uptime of a monitor' },
  list_incidents: { operation: 'listIncidents', title: 'List incidents' },
  get_incident: { operation: 'getIncident', title: 'Get an incident' },
  list_maintenance: { operation: 'listMaintenanceWindows', title: 'List maintenance windows' },
  get_maintenance_window: { operation: 'getMaintenanceWindow', title: 'Get a maintenance window' },
  list_groups: { operation: 'listGroups', title: 'List groups' },
  get_group: { operation: 'getGroup', title: 'Get a group' },
} as const satisfies Record<string, { operation: OperationId; title: string }>;

const paging = new Set(['limit', 'cursor']);

const toolOf = (name: string, title: string, operation: RestOperation): Tool => {
  const query = (Object.entries(operation.query) satisfies [string, Shape[string]][]).filter(([key]) => !paging.has(key));
  return {
    name,
    title,
    operation,
    arguments: Object.fromEntries([
      ...Object.entries(operation.params).map(([key, field]) => ['id', { where: 'path', key, field, required: true }] as const),
      ...query.map(([key, field]) => [key, { where: 'query', key, field, required: field.absent === undefined }] as const),
    ]),
    allPages: Object.hasOwn(operation.query, 'cursor'),
  };
};

export const tools: readonly Tool[] = Object.entries(names).map(([name, { operation, title }]) =>
  toolOf(name, title, operations[operation]),
);

/** Assistants fill in arguments better when "null or a value" is not offered: what is not wanted is left out. */
const withoutNull = (schema: JsonSchema): JsonSchema => {
  const options: readonly unknown[] = Array.isArray(schema.anyOf) ? schema.anyOf : [];
  const main = options.find((one): one is JsonSchema => isRecord(one) && one.type !== 'null');
  if (!main) return schema;
  const { anyOf: _, ...rest } = schema;
  return { ...main, ...rest };
};

export const inputSchema = (tool: Tool): JsonSchema & { type: 'object' } => {
  const entries = Object.entries(tool.arguments);
  const required = entries.filter(([, argument]) => argument.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { field }]) => [name, withoutNull(field.schema)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
};

const localReferences = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(localReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? inner.replace('#/components/schemas/', '#/$defs/') : localReferences(inner),
    ]),
  );
};

const gather = (components: readonly NamedSchema[], into: Map<string, JsonSchema>): Map<string, JsonSchema> => {
  for (const { name, schema, components: inner } of components) {
    into.set(name, schema);
    gather(inner, into);
  }
  return into;
};

/** The schema of the answer, complete in itself: the document's references become definitions of its own. */
export const outputSchema = (tool: Tool): JsonSchema & { type: 'object' } => {
  const { response } = tool.operation;
  if (!response) return { type: 'object' };
  const [own] = response.components;
  const definitions = gather(own?.components ?? [], new Map());
  const body = Object(localReferences(own?.schema ?? {}));
  return { ...body, type: 'object', ...(definitions.size > 0 && { $defs: localReferences(Object.fromEntries(definitions)) }) };
};
