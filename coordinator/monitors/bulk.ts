import { Refusal } from '../../shared/base/errors.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound } from '../gate/context.ts';
import { groupsAmong } from '../groups/queries.ts';
import { deleteWindow } from '../maintenance/queries.ts';
import {
  endMute,
  type MonitorMute,
  monitorMutes,
  muteMonitors,
  newestMutes,
} from '../notifications/mute-queries.ts';
import * as contract from './contract.ts';
import { labelsFrom } from './model.ts';
import { muteFor } from './mutes.ts';
import {
  type AtOnce,
  isWindowChangedSince,
  type LastChange,
  lastChangeBy,
  monitorsAtOnce,
  notifyOwners,
  regroupMonitors,
  switchMonitors,
  tagMonitors,
} from './queries.ts';
import { deleterOf, restoreAmong } from './trash.ts';
import { trashMonitors } from './trash-queries.ts';

/**
 * Changes several monitors, all or none. One that already is as wanted stays as it is, and its
 * owner is not notified. The audit log holds what each was before, which is what an undo reads.
 */
export const changeMonitors = handle(contract.changeMonitors)(
  async (context, { monitors, change, group, tag, ...mute }) => {
    const wanted = new Set(monitors);
    const found = await monitorsAtOnce(context.sql, context.organisation.id, [...wanted]);
    if (found.length < wanted.size) throw notFound('monitor_not_found');
    switch (change) {
      case 'group':
        return { changed: await move(context, found, group) };
      case 'tag':
      case 'untag':
        return { changed: await retag(context, found, tag ?? '', change === 'tag') };
      case 'pause':
      case 'resume':
        return { changed: await switchAll(context, found, change === 'resume') };
      case 'mute':
      case 'unmute': {
        const wantedMute = change === 'mute' ? muteFor(mute, context.now) : null;
        return { changed: await muteAll(context, found, wantedMute) };
      }
      case 'delete':
        return { changed: await trash(context, found) };
    }
  },
);

export const nameMonitors = handle(contract.nameMonitors)(
  async ({ sql, organisation }, { monitors }) => ({
    items: (await monitorsAtOnce(sql, organisation.id, monitors)).map(({ id, name }) => ({
      id,
      name,
    })),
  }),
);

/** What is muted already gets the new end; what is not is not unmuted again. */
async function muteAll(
  { sql, organisation, caller, now, note }: InOrganisation,
  found: readonly AtOnce[],
  mute: Pick<MonitorMute, 'until' | 'until_resolved'> | null,
): Promise<number> {
  const of = organisation.id;
  const at = new Date(now);
  const all = found.map(({ id }) => id);
  const before = await monitorMutes(sql, of, all, at);
  const ids = mute === null ? before.map(({ monitor }) => monitor) : all;
  if (mute === null) await endMute(sql, of, at, ids);
  else
    await muteMonitors(
      sql,
      { organisation: of, user: caller.user, at },
      ids.map((monitor) => ({ monitor, ...mute })),
    );
  note({
    before: {
      mutes: before.map(({ monitor, until, until_resolved }) => ({
        monitor,
        until: until?.toISOString() ?? null,
        until_resolved,
      })),
    },
    after: { muted: mute !== null, monitors: ids, names: namesOf(found, ids) },
  });
  return ids.length;
}

/** As the audit log names them. */
function namesOf(found: readonly AtOnce[], ids?: readonly string[]): string[] {
  return found.flatMap(({ id, name }) => (ids === undefined || ids.includes(id) ? [name] : []));
}

async function trash(context: InOrganisation, found: readonly AtOnce[]): Promise<number> {
  const { sql, organisation, note } = context;
  await trashMonitors(sql, organisation.id, found, await deleterOf(context));
  note({
    before: { names: namesOf(found) },
    after: { deleted: found.map(({ id }) => id) },
  });
  return found.length;
}

/** How recent a change must be to be undone. */
const undoneWithinMs = 60_000;

/**
 * Takes back this user's last change of several monitors, or their new maintenance window, on a
 * page. What is no longer as they left it stays as it is.
 */
export const undoChange = handle(contract.undoChange)(async (context) => {
  const { sql, organisation, caller, now, note } = context;
  const of = organisation.id;
  const last =
    caller.user === null
      ? undefined
      : await lastChangeBy(sql, of, caller.user, new Date(now - undoneWithinMs));
  if (last === undefined || last.operation === 'undoChange') throw nothingToUndo();
  const { about, before, after = {} } = last.changed;
  if (last.operation === 'createMaintenanceWindow') {
    const window = about.id ?? '';
    const isChanged = await isWindowChangedSince(sql, of, window, last.key);
    if (isChanged || !(await deleteWindow(sql, of, window, now))) throw nothingToUndo();
    note({ before: {}, after: { deleted_window: window } });
    return { changed: 1 };
  }
  const deleted = about.monitor_id === undefined ? after.deleted : [about.monitor_id];
  if (deleted) {
    const restored = await restoreAmong(context, deleted);
    note({
      before: {},
      after: { restored: restored.map(({ id }) => id), names: restored.map(({ name }) => name) },
    });
    return { changed: restored.length };
  }
  const ids = [
    ...(after.paused ?? []),
    ...(after.resumed ?? []),
    ...(after.monitors ?? []),
    ...(before.groups ?? []).map(({ monitor }) => monitor),
    ...(before.tags ?? []).map(({ monitor }) => monitor),
  ];
  const found = await monitorsAtOnce(sql, of, ids);
  if (before.mutes) return { changed: await muteBack(context, found, last) };
  if (before.groups) return { changed: await moveBack(context, found, last) };
  const tag = after.added ?? after.removed;
  return {
    changed:
      tag === undefined
        ? await switchAll(context, found, after.paused !== undefined)
        : await retag(context, found, tag, after.removed !== undefined),
  };
});

function nothingToUndo(): Refusal {
  return new Refusal('nothing_to_undo', 'There is nothing to undo: it was undone, or is too old.');
}

async function muteBack(
  { sql, organisation, caller, now, note }: InOrganisation,
  found: readonly AtOnce[],
  { at: changedAt, changed: { before, after } }: LastChange,
): Promise<number> {
  const of = organisation.id;
  const at = new Date(now);
  const newest = await newestMutes(
    sql,
    of,
    found.map(({ id }) => id),
  );
  const ids = newest.flatMap(({ monitor, began_at, ended_at }) => {
    const isUnchanged =
      after?.muted === true
        ? began_at.getTime() === changedAt.getTime() && ended_at === null
        : began_at < changedAt;
    return isUnchanged ? [monitor] : [];
  });
  const again = (before.mutes ?? []).filter(({ monitor }) => ids.includes(monitor));
  await endMute(sql, of, at, ids);
  await muteMonitors(
    sql,
    { organisation: of, user: caller.user, at },
    again.map((each) => ({ ...each, until: each.until === null ? null : new Date(each.until) })),
  );
  note({ before: {}, after: { mutes: again, monitors: ids, names: namesOf(found, ids) } });
  return ids.length;
}

async function moveBack(
  { sql, organisation, note }: InOrganisation,
  found: readonly AtOnce[],
  { changed: { before, after } }: LastChange,
): Promise<number> {
  const of = organisation.id;
  const former = new Map(before.groups?.map(({ monitor, group }) => [monitor, group]));
  const groups = await groupsAmong(
    sql,
    of,
    [...former.values()].flatMap((group) => group ?? []),
  );
  const moved = found.flatMap(({ id, group_id }) => {
    const group = former.get(id) ?? null;
    const isThere = group === null || groups.has(group);
    return isThere && group_id === (after?.group ?? null) ? [{ monitor: id, group }] : [];
  });
  for (const [group, some] of Map.groupBy(moved, (each) => each.group))
    await regroupMonitors(
      sql,
      of,
      some.map(({ monitor }) => monitor),
      group,
    );
  const ids = moved.map(({ monitor }) => monitor);
  note({ before: {}, after: { groups: moved, names: namesOf(found, ids) } });
  return moved.length;
}

async function move(
  { sql, organisation, note }: InOrganisation,
  found: readonly AtOnce[],
  group: string | null,
): Promise<number> {
  if (group !== null && !(await groupsAmong(sql, organisation.id, [group])).has(group))
    throw notFound('group_not_found');
  const moved = found.filter(({ group_id }) => group_id !== group);
  const ids = moved.map(({ id }) => id);
  if (ids.length > 0) await regroupMonitors(sql, organisation.id, ids, group);
  note({
    before: { groups: moved.map(({ id, group_id }) => ({ monitor: id, group: group_id })) },
    after: { group, names: namesOf(moved) },
  });
  return moved.length;
}

async function switchAll(
  { sql, organisation, note }: InOrganisation,
  found: readonly AtOnce[],
  enabled: boolean,
): Promise<number> {
  const switched = found.filter((monitor) => monitor.enabled !== enabled);
  const ids = switched.map(({ id }) => id);
  if (ids.length > 0) {
    await switchMonitors(sql, ids, enabled);
    await notifyOwners(sql, organisation.id, switched, enabled ? 'resumed' : 'paused');
  }
  const names = namesOf(switched);
  note({ before: {}, after: enabled ? { resumed: ids, names } : { paused: ids, names } });
  return switched.length;
}

/** @throws Refusal `tags_invalid`, also where a monitor would have too many. */
async function retag(
  { sql, organisation, note }: InOrganisation,
  found: readonly AtOnce[],
  text: string,
  adds: boolean,
): Promise<number> {
  const [tag = ''] = labelsFrom({ external_id: null, tags: [text] }).tags;
  const changed = found.filter(({ tags }) => tags.includes(tag) !== adds);
  await tagMonitors(
    sql,
    organisation.id,
    changed.map(({ id, tags }) => ({
      id,
      tags: adds
        ? labelsFrom({ external_id: null, tags: [...tags, tag] }).tags
        : tags.filter((each) => each !== tag),
    })),
  );
  note({
    before: { tags: changed.map(({ id, tags }) => ({ monitor: id, tags })) },
    after: { ...(adds ? { added: tag } : { removed: tag }), names: namesOf(changed) },
  });
  return changed.length;
}
