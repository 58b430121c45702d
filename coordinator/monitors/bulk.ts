import { Refusal } from '../../shared/base/errors.ts';
import { isoText } from '../../shared/base/time.ts';
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
import { makeChanges } from './changes.ts';
import * as contract from './contract.ts';
import { type MonitorPatch, tagsFrom } from './model.ts';
import { muteFor } from './mutes.ts';
import {
  isWindowChangedSince,
  type LastChange,
  lastChangeBy,
  monitorsForChange,
} from './queries.ts';
import type { StoredMonitor } from './row.ts';
import { restoreAmong } from './trash.ts';
import { deleterName, trashMonitors } from './trash-queries.ts';

/**
 * Changes several monitors, all or none. One that already is as wanted stays as it is, and its
 * owner is not notified. The audit log holds what each was before, which is what an undo reads.
 */
export const changeMonitors = handle(contract.changeMonitors)(
  async (context, { monitors, change, group, tag, ...mute }) => {
    const wanted = new Set(monitors);
    const found = await monitorsForChange(context.sql, context.organisation.id, [...wanted]);
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
    items: (await monitorsForChange(sql, organisation.id, monitors)).map(({ id, name }) => ({
      id,
      name,
    })),
  }),
);

/** What is muted already gets the new end; what is not is not unmuted again. */
async function muteAll(
  { sql, organisation, caller, now, note }: InOrganisation,
  found: readonly StoredMonitor[],
  mute: Pick<MonitorMute, 'until' | 'until_resolved'> | null,
): Promise<number> {
  const of = organisation.id;
  const all = found.map(({ id }) => id);
  const before = await monitorMutes(sql, of, all, now);
  const ids = mute === null ? before.map(({ monitor }) => monitor) : all;
  if (mute === null) await endMute(sql, of, now, ids);
  else
    await muteMonitors(
      sql,
      { organisation: of, user: caller.user, at: now },
      ids.map((monitor) => ({ monitor, ...mute })),
    );
  note({
    before: {
      mutes: before.map(({ monitor, until, until_resolved }) => ({
        monitor,
        until: isoText(until),
        until_resolved,
      })),
    },
    after: { muted: mute !== null, monitors: ids, names: namesOf(found, ids) },
  });
  return ids.length;
}

/** As the audit log names them. */
function namesOf(found: readonly StoredMonitor[], ids?: readonly string[]): string[] {
  return found.flatMap(({ id, name }) => (ids === undefined || ids.includes(id) ? [name] : []));
}

async function trash(context: InOrganisation, found: readonly StoredMonitor[]): Promise<number> {
  const { sql, organisation, caller, note } = context;
  await trashMonitors(sql, organisation.id, found, await deleterName(sql, caller));
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
      : await lastChangeBy(sql, of, caller.user, now - undoneWithinMs);
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
  const found = await monitorsForChange(sql, of, ids);
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
  found: readonly StoredMonitor[],
  { at: changedAt, changed: { before, after } }: LastChange,
): Promise<number> {
  const of = organisation.id;
  const newest = await newestMutes(
    sql,
    of,
    found.map(({ id }) => id),
  );
  const ids = newest.flatMap(({ monitor, began_at, ended_at }) => {
    const isUnchanged =
      after?.muted === true ? began_at === changedAt && ended_at === null : began_at < changedAt;
    return isUnchanged ? [monitor] : [];
  });
  const again = (before.mutes ?? []).filter(({ monitor }) => ids.includes(monitor));
  await endMute(sql, of, now, ids);
  await muteMonitors(
    sql,
    { organisation: of, user: caller.user, at: now },
    again.map((each) => ({ ...each, until: each.until === null ? null : Date.parse(each.until) })),
  );
  note({ before: {}, after: { mutes: again, monitors: ids, names: namesOf(found, ids) } });
  return ids.length;
}

async function moveBack(
  context: InOrganisation,
  found: readonly StoredMonitor[],
  { changed: { before, after } }: LastChange,
): Promise<number> {
  const former = new Map(before.groups?.map(({ monitor, group }) => [monitor, group]));
  const groups = await groupsAmong(
    context.sql,
    context.organisation.id,
    [...former.values()].flatMap((group) => group ?? []),
  );
  const formerOf = ({ id }: StoredMonitor) => former.get(id) ?? null;
  const moved = await change(
    context,
    found.filter((each) => {
      const group = formerOf(each);
      return (group === null || groups.has(group)) && each.group_id === (after?.group ?? null);
    }),
    (each) => into(formerOf(each)),
  );
  context.note({
    before: {},
    after: {
      groups: moved.map((each) => ({ monitor: each.id, group: formerOf(each) })),
      names: namesOf(moved),
    },
  });
  return moved.length;
}

function into(group: string | null) {
  return { group, ungroup: group === null };
}

async function move(
  context: InOrganisation,
  found: readonly StoredMonitor[],
  group: string | null,
): Promise<number> {
  const moved = await change(context, found, () => into(group));
  context.note({
    before: { groups: moved.map(({ id, group_id }) => ({ monitor: id, group: group_id })) },
    after: { group, names: namesOf(moved) },
  });
  return moved.length;
}

async function switchAll(
  context: InOrganisation,
  found: readonly StoredMonitor[],
  enabled: boolean,
): Promise<number> {
  const switched = await change(context, found, () => ({ enabled }));
  const ids = switched.map(({ id }) => id);
  const names = namesOf(switched);
  context.note({ before: {}, after: enabled ? { resumed: ids, names } : { paused: ids, names } });
  return switched.length;
}

/** @throws Refusal `tags_invalid`, also where a monitor would have too many. */
async function retag(
  context: InOrganisation,
  found: readonly StoredMonitor[],
  text: string,
  adds: boolean,
): Promise<number> {
  const [tag = ''] = tagsFrom([text]);
  const changed = await change(context, found, ({ tags }) => ({
    tags: adds ? [...tags, tag] : tags.filter((each) => each !== tag),
  }));
  context.note({
    before: { tags: changed.map(({ id, tags }) => ({ monitor: id, tags })) },
    after: { ...(adds ? { added: tag } : { removed: tag }), names: namesOf(changed) },
  });
  return changed.length;
}

/** Returns those that were not so already, as they were. */
async function change(
  context: InOrganisation,
  found: readonly StoredMonitor[],
  patchOf: (before: StoredMonitor) => Partial<MonitorPatch>,
): Promise<readonly StoredMonitor[]> {
  const planned = await makeChanges(
    context,
    found.map((before) => ({
      before,
      type: before.type,
      patch: { ...untouched, ...patchOf(before) },
    })),
  );
  return planned.flatMap(({ before, result }) =>
    before !== undefined && result === 'changed' ? [before] : [],
  );
}

const untouched: MonitorPatch = {
  name: null,
  target: null,
  interval_s: null,
  config: null,
  enabled: null,
  group: null,
  ungroup: false,
  affects_group_status: null,
  external_id: null,
  tags: null,
  runbook: null,
  depends_on_monitors: null,
  depends_on_groups: null,
};
