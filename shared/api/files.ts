import { isRecord } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import { ChannelIn } from './channels.ts';
import {
  addFaults,
  array,
  boolean,
  dict,
  type Fault,
  type Field,
  type FieldPath,
  maybe,
  mostFaults,
  nullable,
  type ObjectField,
  object,
  optional,
  type Shape,
  string,
  uuid,
  type ValueOf,
  valueFault,
} from './fields.ts';
import { MaintenanceIn } from './maintenance.ts';
import { MonitorIn, mostParents } from './monitors.ts';
import { ObjectiveIn } from './objectives.ts';
import { exampleIds, operation } from './operation.ts';
import { StatusPageIn, StatusPagePatch, StatusPageRowIn } from './status-pages.ts';

/**
 * A configuration file: monitors and what belongs to them, each under a key of the file. It says all
 * of each object: a field that is left out has its default.
 */

const key = string({
  minLength: 1,
  maxLength: 200,
  meaning: 'A key of the file, or an external id.',
  example: 'web',
});
const keys = optional(
  array(key, { meaning: 'Keys of the file, or external ids.', maxItems: 10_000 }),
  [],
);

/** An object that exists already and becomes one of the file. */
const id = maybe(uuid(), {
  description: 'The id of an object that exists and that the file is to manage from now on.',
});
const name = maybe(string(), {
  description: 'The key when not given.',
  limits: { maxLength: 200 },
});

const FileGroup = object('FileGroup', {
  id,
  name,
  description: maybe(string(), { limits: { maxLength: 2_000 } }),
  external_id: MonitorIn.shape.external_id,
});

const { group: _group, name: _name, ...ofMonitor } = MonitorIn.shape;
const FileMonitor = object('FileMonitor', {
  id,
  name,
  ...ofMonitor,
  enabled: optional(boolean({ description: 'False: paused.' }), true),
  group: maybe(key),
  affects_group_status: optional(
    boolean({ meaning: 'Whether it counts for the status of its group.' }),
    true,
  ),
  depends_on_monitors: parents(MonitorIn.shape.depends_on_monitors),
  depends_on_groups: parents(MonitorIn.shape.depends_on_groups),
});

function parents({ documented }: Field<unknown>) {
  return optional(array(key, { ...documented, maxItems: mostParents }), []);
}

const { personal: _personal, try: _try, ...ofChannel } = ChannelIn.shape;
const FileChannel = object('FileChannel', {
  id,
  ...ofChannel,
  kind: string({ meaning: 'Which kind it is.', limits: { maxLength: 60 }, example: 'webhook' }),
  name,
  monitors: keys,
  groups: keys,
});

const FileMaintenance = object('FileMaintenance', {
  id,
  ...MaintenanceIn.shape,
  name,
  monitors: keys,
  groups: keys,
});

const FileObjective = object('FileObjective', {
  id,
  ...ObjectiveIn.shape,
  name,
  monitor: maybe(key),
  group: maybe(key),
});

const FileStatusPage = object('FileStatusPage', {
  id,
  ...StatusPagePatch.shape,
  ...StatusPageIn.shape,
  name,
  slug: maybe(StatusPageIn.shape.slug, { meaning: 'The key when not given.' }),
  rows: optional(
    array(
      object('FileStatusPageRow', {
        ...StatusPageRowIn.shape,
        monitor: maybe(key),
        group: maybe(key),
      }),
      { meaning: 'Everything that the page shows, from top to bottom.', maxItems: 500 },
    ),
    [],
  ),
});

/** The kinds of objects in the order in which they are made: each names only those before it. */
export const fileObjects = {
  groups: FileGroup,
  monitors: FileMonitor,
  channels: FileChannel,
  maintenance: FileMaintenance,
  objectives: FileObjective,
  status_pages: FileStatusPage,
} as const;

export type FileKind = keyof typeof fileObjects;
export const fileKinds = [
  'groups',
  'monitors',
  'channels',
  'maintenance',
  'objectives',
  'status_pages',
] as const satisfies readonly FileKind[];

export type FileObject<Kind extends FileKind> = ValueOf<(typeof fileObjects)[Kind]>;

/** What a field of a file may be called: it stands in external ids and in addresses. */
const keyPattern = /^[a-z0-9](?:[a-z0-9._/-]{0,98}[a-z0-9])?$/;

export function isFileKey(text: string): boolean {
  return keyPattern.test(text);
}

export const keyWords =
  'small letters, digits, and dots, dashes, slashes or underscores between them, up to 100';

/** A key from a name; empty where nothing of the name can stand in one. */
export function keyFrom(name: string): string {
  return name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/[^a-z0-9._/-]+/g, '-')
    .slice(0, 90)
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
}

/** Every fault of one object, unknown fields among them, which a call of the API would ignore. */
export function objectFaults(kind: FileKind, input: unknown, place: FieldPath): readonly Fault[] {
  const field: ObjectField<Shape> = fileObjects[kind];
  const parsed = field.parse(input, place);
  const faults = isRecord(input) ? unknownFields(field.shape, input, place) : [];
  if (!parsed.ok) addFaults(faults, parsed.faults);
  return faults;
}

function unknownFields(
  shape: Shape,
  input: Readonly<Record<string, unknown>>,
  place: FieldPath,
): Fault[] {
  return Object.keys(input)
    .filter((one) => !Object.hasOwn(shape, one))
    .slice(0, mostFaults)
    .map((one) => {
      const meant = nearest(one, Object.keys(shape));
      return valueFault(
        [...place, one],
        `there is no field "${one}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
        one,
      );
    });
}

/**
 * The most of each kind in one call, which holds the organisation's lock: groups and monitors are
 * made together, the others one by one, and a status page costs the most.
 */
export const mostOfKind = {
  groups: 2_000,
  monitors: 10_000,
  channels: 2_000,
  maintenance: 2_000,
  objectives: 500,
  status_pages: 200,
} as const satisfies Readonly<Record<FileKind, number>>;

const FileIn = object(
  'FileIn',
  {
    groups: objects('groups'),
    monitors: objects('monitors'),
    channels: objects('channels'),
    maintenance: objects('maintenance'),
    objectives: objects('objectives'),
    status_pages: objects('status_pages'),
    prune: optional(
      boolean({
        description: 'Whether objects that this file made and no longer has are deleted.',
      }),
      false,
    ),
  },
  {
    example: {
      groups: { web: {} },
      monitors: { checkout: { type: 'https', target: 'https://shop.example.com/', group: 'web' } },
    },
  },
);

/** Objects by their keys, as they were sent, once each has the form of its kind. */
function objects(
  kind: FileKind,
): Field<Readonly<Record<string, Readonly<Record<string, unknown>>>>> {
  const item = fileObjects[kind];
  const most = mostOfKind[kind];
  return {
    schema: { type: 'object', additionalProperties: item.schema, maxProperties: most },
    documented: { meaning: 'By their keys.' },
    components: item.components,
    absent: { value: {} },
    parse: (input, place) => {
      if (!isRecord(input))
        return {
          ok: false,
          faults: [valueFault(place, `${kind}: give objects by their keys`, input)],
        };
      const entries = Object.entries(input);
      if (entries.length > most)
        return {
          ok: false,
          faults: [valueFault(place, `${kind}: send at most ${most} in one call`, entries.length)],
        };
      const value: Record<string, Readonly<Record<string, unknown>>> = {};
      const faults: Fault[] = [];
      for (const [one, given] of entries) {
        const ofKey = isFileKey(one)
          ? []
          : [valueFault([...place, one], `"${one}" is no key: ${keyWords}`, one)];
        if (!addFaults(faults, [...ofKey, ...objectFaults(kind, given, [...place, one])])) break;
        if (isRecord(given)) value[one] = given;
      }
      return faults.length === 0 ? { ok: true, value } : { ok: false, faults };
    },
  };
}

const FileObjectOut = object('FileObjectOut', {
  kind: string({
    description: '`groups`, `monitors`, `channels`, `maintenance`, `objectives` or `status_pages`.',
    example: 'monitors',
  }),
  key: string({ meaning: 'Its key in the file.', example: 'checkout' }),
  id: nullable(uuid(), { description: 'Null where there is none yet.', example: null }),
  result: string({
    description:
      '`created`, `changed`, `unchanged`, `deleted`, `kept` (this file made it and no longer has it: `prune` deletes it), or `refused`.',
    example: 'changed',
  }),
  changes: dict({
    description: 'By field, its value `before` and `after`; `***` where there is a secret.',
    example: { interval_s: { before: 60, after: 30 } },
  }),
  error: nullable(
    object('FileErrorOut', {
      code: string({ meaning: 'What it is, to branch on.' }),
      message: string({ meaning: 'What it is, to read.' }),
    }),
    { description: 'Why it was refused.', example: null },
  ),
});

export type PlannedObject = ValueOf<typeof FileObjectOut>;

const FilePlanOut = object('FilePlanOut', {
  applied: boolean({
    description: 'Whether it is so now; false of a plan, and when one object was refused.',
    example: true,
  }),
  objects: array(FileObjectOut),
});

/** How a file may be called. */
export const fileName = { maxLength: 60, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' } as const;

export function isFileName(text: string): boolean {
  return text.length <= fileName.maxLength && new RegExp(fileName.pattern).test(text);
}

const file = {
  file: string({
    limits: fileName,
    meaning: 'The name of the file: small letters, digits and dashes.',
    example: 'shop',
  }),
};

/** As many as in a slice of the client, four calls each: a plan and its apply fit into a minute. */
const objectsOfCall = 50;
/** The largest file fits, too. */
const maxCalls = 100;

const callWords = `Fifty objects, begun, count as one call, and a file as ${maxCalls} at most.`;

const words = {
  tag: 'Files',
  access: 'write',
  params: file,
  body: FileIn,
  response: FilePlanOut,
  takesMuch: true,
  calls: (body: unknown): number =>
    Math.min(maxCalls, Math.max(1, Math.ceil(objectsIn(body) / objectsOfCall))),
  refusals: ['file_name_invalid'],
} as const;

function objectsIn(body: unknown): number {
  return isRecord(body)
    ? fileKinds.reduce((sum, kind) => {
        const objects = body[kind];
        return sum + (isRecord(objects) ? Object.keys(objects).length : 0);
      }, 0)
    : 0;
}

export const planFile = operation({
  ...words,
  id: 'planFile',
  method: 'POST',
  path: '/api/v1/files/{file}/plan',
  summary: 'Show what applying a file would change',
  description: `Nothing is changed. ${callWords}`,
});

export const applyFile = operation({
  ...words,
  id: 'applyFile',
  method: 'POST',
  path: '/api/v1/files/{file}/apply',
  summary: 'Apply a file',
  description:
    'All of it or nothing. Objects that the file does not have are left alone, unless `prune` is true and the file made them. It may be repeated, and may come in parts: what is sent is made so. ' +
    callWords,
});

export const getFile = operation({
  id: 'getFile',
  method: 'GET',
  path: '/api/v1/files/{file}',
  tag: 'Files',
  access: 'read',
  summary: 'List the resources of a file',
  params: file,
  response: object('FileOut', {
    objects: array(
      object('FileEntryOut', {
        kind: FileObjectOut.shape.kind,
        key: FileObjectOut.shape.key,
        id: uuid({ example: exampleIds.monitor }),
      }),
    ),
    elsewhere: array(
      object('FileElsewhereOut', {
        id: uuid({ example: exampleIds.group }),
        file: string({ meaning: 'The file that manages it.', example: 'network' }),
      }),
      { description: 'What other files manage.' },
    ),
  }),
  refusals: ['file_name_invalid'],
});
