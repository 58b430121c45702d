import { type FileKind, fileKinds, type PlannedObject, planFile } from '../../api/files.ts';
import { UsageFault } from '../../base/env.ts';
import type { CommandContext, HttpClient } from '../http.ts';
import type { Raw } from './expand.ts';

/** What is sent to plan and to apply a file. */

export type Objects = Partial<Record<FileKind, Readonly<Record<string, Raw>>>>;

export async function send(
  client: HttpClient,
  verb: 'plan' | 'apply',
  name: string,
  body: Objects & { readonly prune?: boolean },
): Promise<readonly PlannedObject[]> {
  return objectsIn(
    (await client.call({ method: 'POST', path: `/api/v1/files/${name}/${verb}`, body })).body,
  );
}

function objectsIn(body: unknown): readonly PlannedObject[] {
  const parsed = planFile.response?.parse(body, []);
  if (!parsed?.ok)
    throw new UsageFault('The service answers in a form of another version of this client.');
  return parsed.value.objects;
}

export function isRefused(objects: readonly PlannedObject[]): boolean {
  return objects.some(({ result }) => result === 'refused');
}

/** An object that names a refused one is refused with it, so the rest stands alone. */
export function without<All extends Objects>(objects: All, refused: readonly PlannedObject[]): All {
  const out = new Set(refused.map(({ kind, key }) => `${kind} ${key}`));
  const left = fileKinds.map((kind) => [
    kind,
    Object.fromEntries(
      Object.entries(objects[kind] ?? {}).filter(([key]) => !out.has(`${kind} ${key}`)),
    ),
  ]);
  return { ...objects, ...Object.fromEntries(left) };
}

/** Monitors per call: each call is short, and shows how far it is. */
const slice = 200;

/** The last call finds the monitors of the calls before it made already. */
export function before(planned: readonly PlannedObject[], object: PlannedObject): PlannedObject {
  return object.result === 'refused'
    ? object
    : {
        ...object,
        result:
          planned.find(({ kind, key }) => kind === object.kind && key === object.key)?.result ??
          object.result,
      };
}

type SlicedObjects = {
  readonly name: string;
  readonly objects: Required<Pick<Objects, 'groups' | 'monitors'>>;
};

export async function inSlices(
  client: HttpClient,
  { name, objects }: SlicedObjects,
  whole: Objects & { readonly prune: boolean },
  world: CommandContext,
): Promise<readonly PlannedObject[]> {
  const monitors = parentsFirst(objects.monitors);
  const show = (done: number): void => {
    if (world.attended) world.err(`\r${progressBar(done, monitors.length)}`);
  };
  try {
    for (let from = 0; monitors.length > slice && from < monitors.length; from += slice) {
      const some = Object.fromEntries(monitors.slice(from, from + slice));
      const answer = await send(client, 'apply', name, { groups: objects.groups, monitors: some });
      if (isRefused(answer)) return answer;
      show(Math.min(from + slice, monitors.length));
    }
    return await send(client, 'apply', name, whole);
  } finally {
    if (world.attended && monitors.length > slice) world.err('\r\u001b[K');
  }
}

/** A call can only name what it has itself, or a call before it made. */
export function parentsFirst(
  monitors: SlicedObjects['objects']['monitors'],
): readonly (readonly [key: string, monitor: Raw])[] {
  const sorted = new Map<string, Raw>();
  const seen = new Set<string>();
  const add = (key: unknown): void => {
    const own = typeof key === 'string' && !seen.has(key) ? monitors[key] : undefined;
    if (typeof key !== 'string' || own === undefined) return;
    seen.add(key);
    const parents = own.depends_on_monitors;
    if (Array.isArray(parents)) parents.forEach(add);
    sorted.set(key, own);
  };
  Object.keys(monitors).forEach(add);
  return [...sorted];
}

const barWidth = 30;

function progressBar(done: number, all: number): string {
  const filled = Math.round((done / Math.max(1, all)) * barWidth);
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${done} of ${all} monitors`;
}
