import * as channels from '../../shared/api/channels.ts';
import type { FileKind, FileObject } from '../../shared/api/files.ts';
import * as groups from '../../shared/api/groups.ts';
import * as maintenance from '../../shared/api/maintenance.ts';
import * as monitors from '../../shared/api/monitors.ts';
import * as objectives from '../../shared/api/objectives.ts';
import type { Operation, RawInput } from '../../shared/api/operation.ts';
import * as statusPages from '../../shared/api/status-pages.ts';

/** Which operations make an object what a file says of it. */

export type Step = {
  readonly operation: Operation;
  readonly body: Readonly<Record<string, unknown>>;
};

/** Where keys of the file lead: the id and the name of the object. @throws Refusal. */
export type Resolve = (
  kind: 'groups' | 'monitors',
  key: string,
) => { readonly id: string; readonly name: string };

/** What creates it, and what makes an existing one the same: each field has a value in both. */
export type Steps = { readonly create: readonly Step[]; readonly update: readonly Step[] };

/** A group as `putGroups` takes it. */
export function groupItem(
  key: string,
  { name, description, external_id }: FileObject<'groups'>,
  file: string,
) {
  return {
    name: name ?? key,
    description,
    external_id: external_id ?? externalIdOf(file, key),
  };
}

/** A monitor as `putMonitors` takes it. */
export function monitorItem(
  key: string,
  { id: _, ...given }: FileObject<'monitors'>,
  file: string,
  resolve: Resolve,
) {
  return {
    ...given,
    name: given.name ?? key,
    group: given.group === null ? null : resolve('groups', given.group).id,
    depends_on_monitors: given.depends_on_monitors.map((each) => resolve('monitors', each).id),
    depends_on_groups: given.depends_on_groups.map((each) => resolve('groups', each).id),
    external_id: given.external_id ?? externalIdOf(file, key),
  };
}

export function channelSteps(
  key: string,
  { id: _, kind, ...given }: FileObject<'channels'>,
  resolve: Resolve,
  warnsByDefault: (kind: string) => boolean,
): Steps {
  const body = {
    ...given,
    name: given.name ?? key,
    monitors: given.monitors.map((each) => resolve('monitors', each).id),
    groups: given.groups.map((each) => resolve('groups', each).id),
    reminder_s: given.reminder_s ?? 0,
    hours: given.hours ?? { zone: null, spans: [] },
    warnings: given.warnings ?? warnsByDefault(kind),
  };
  return {
    create: [
      {
        operation: channels.createChannel,
        body: { ...body, hours: given.hours, kind, try: false },
      },
    ],
    update: [{ operation: channels.updateChannel, body }],
  };
}

/** `raw` has the times as they were written. */
export function maintenanceSteps(
  key: string,
  given: FileObject<'maintenance'>,
  raw: Readonly<Record<string, unknown>>,
  resolve: Resolve,
): Steps {
  const body = {
    name: given.name ?? key,
    starts_at: raw.starts_at,
    ends_at: raw.ends_at,
    monitors: given.monitors.map((each) => resolve('monitors', each).id),
    groups: given.groups.map((each) => resolve('groups', each).id),
  };
  const { rrule, time_zone } = given;
  return {
    create: [
      { operation: maintenance.createMaintenanceWindow, body: { ...body, rrule, time_zone } },
    ],
    update: [
      { operation: maintenance.updateMaintenanceWindow, body: { ...body, rrule: rrule ?? '' } },
    ],
  };
}

/** What it is of never changes. */
export function objectiveSteps(
  key: string,
  { id: _, ...given }: FileObject<'objectives'>,
  resolve: Resolve,
): Steps {
  const body = {
    ...given,
    name: given.name ?? key,
    monitor: given.monitor === null ? null : resolve('monitors', given.monitor).id,
    group: given.group === null ? null : resolve('groups', given.group).id,
  };
  const { name, target, period } = body;
  return {
    create: [{ operation: objectives.createObjective, body }],
    update: [{ operation: objectives.updateObjective, body: { name, target, period } }],
  };
}

export function statusPageSteps(
  key: string,
  given: FileObject<'status_pages'>,
  resolve: Resolve,
): Steps {
  const rows = given.rows.map(({ monitor, group, display_name }) => {
    const thing = monitor === null ? resolve('groups', group ?? '') : resolve('monitors', monitor);
    return {
      ...(monitor === null ? { group: thing.id } : { monitor: thing.id }),
      display_name: display_name ?? thing.name,
    };
  });
  // An empty text takes away what an object has.
  const texts = Object.entries(given).map(([field, value]) => [field, value ?? '']);
  const body = {
    ...Object.fromEntries(texts),
    name: given.name ?? key,
    slug: given.slug ?? key,
    access: given.access ?? 'public',
    password: given.password,
    rows,
  };
  const update = { operation: statusPages.updateStatusPage, body };
  return {
    create: [{ operation: statusPages.createStatusPage, body }, update],
    update: [update],
  };
}

const removals: Readonly<Record<FileKind, Operation>> = {
  groups: groups.deleteGroup,
  monitors: monitors.deleteMonitor,
  channels: channels.deleteChannel,
  maintenance: maintenance.deleteMaintenanceWindow,
  objectives: objectives.deleteObjective,
  status_pages: statusPages.deleteStatusPage,
};

export function removalOf(kind: FileKind): Operation {
  return removals[kind];
}

/** The input of an operation on one object: its only path parameter is the object's id. */
export function rawOf({ params }: Operation, id: string | null, body?: unknown): RawInput {
  return {
    path: Object.fromEntries(Object.keys(params).map((name) => [name, id])),
    ...(body === undefined ? {} : { body }),
  };
}

/** By which programs find an object of a file, where it has no external id of its own. */
export function externalIdOf(file: string, key: string): string {
  return `${file}/${key}`;
}
