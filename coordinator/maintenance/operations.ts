import * as api from '../../shared/api/maintenance.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isoText } from '../../shared/base/time.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { enforceLimit, mayOccur } from '../gate/plans.ts';
import { requireMonitors } from '../gate/records.ts';
import { groupsAmong, requireGroups } from '../groups/queries.ts';
import * as contract from './contract.ts';
import {
  affectedMonitors,
  changeWindow,
  countByTime,
  countWindows,
  coveredNames,
  cutWindow,
  deleteWindow,
  insertWindow,
  lastEnded,
  lockedWindow,
  scheduleFrom,
  type WindowByTime,
  type WindowRow,
  windowById,
  windowPage,
  windowsByTime,
} from './queries.ts';
import { ruleFrom } from './recurrence.ts';
import {
  changedWindow,
  draftWindow,
  isSameSchedule,
  maxWrittenAhead,
  occurrencesAhead,
  refuseOver,
  type Schedule,
} from './window.ts';
import { ruleWords } from './words.ts';
import { timeZoneFrom } from './zones.ts';

export type Covered = { readonly monitors: readonly string[]; readonly groups: readonly string[] };

/**
 * What a window covers: things of this organisation, each once, and at least one. @throws Refusal.
 */
export async function coveredFrom(
  { sql, organisation }: Pick<InOrganisation, 'sql' | 'organisation'>,
  named: Covered,
  /** What it covered before, even if deleted by now. */
  kept: Covered = { monitors: [], groups: [] },
): Promise<Covered> {
  const [monitors, groups] = [[...new Set(named.monitors)], [...new Set(named.groups)]];
  if (monitors.length + groups.length === 0)
    throw new Refusal(
      'window_invalid',
      'monitors, groups: name at least one monitor or group that the window covers.',
    );
  const [were, groupsWere] = [new Set(kept.monitors), new Set(kept.groups)];
  const [newMonitors, newGroups] = [
    monitors.filter((each) => !were.has(each)),
    groups.filter((each) => !groupsWere.has(each)),
  ];
  await requireMonitors(sql, organisation.id, newMonitors);
  await requireGroups(sql, organisation.id, newGroups);
  return { monitors, groups };
}

/** How it repeats, and its next occurrences. */
export function upcomingJson(schedule: Schedule, now: number, cut_at: number | null = null) {
  return {
    time_zone: schedule.time_zone,
    repeats:
      schedule.rrule === null ? null : ruleWords(ruleFrom(schedule.rrule), schedule.local_start),
    next_occurrences: occurrencesAhead(schedule, now, { cut_at }).map((each) => ({
      starts_at: each.from,
      ends_at: each.to,
      local_start: localText(each.local_from),
      local_end: localText(each.local_to),
      notes: each.notes,
    })),
  };
}

function localText(local: number): string {
  return new Date(local).toISOString().slice(0, 19);
}

export function windowJson(row: WindowRow, now: number) {
  return {
    ...row,
    ...upcomingJson(row.schedule, now, row.cut_at),
  };
}

export function stateAt(
  { schedule, cut_at }: WindowRow,
  now: number,
): 'running' | 'coming' | 'over' {
  const [next] = occurrencesAhead(schedule, now, { most: 1, cut_at });
  if (next === undefined) return 'over';
  return next.from <= now ? 'running' : 'coming';
}

/** For the audit log. */
export function windowNoted({ name, starts_at, ends_at, rrule, monitors, groups }: WindowRow) {
  return {
    name,
    starts_at: isoText(starts_at),
    ends_at: isoText(ends_at),
    rrule,
    monitors,
    groups,
  };
}

/** The window keeps the time zone in which it was created. */
export const createMaintenanceWindow = handle(api.createMaintenanceWindow)(
  async (context, input) => {
    const { sql, organisation, now } = context;
    const draft = draftWindow(input, zoneFrom(input, organisation));
    refuseOver(draft.schedule, now);
    mayOccur(maxWrittenAhead(draft.schedule), organisation.plan);
    const covered = await coveredFrom(context, input);
    enforceLimit('windows', organisation.plan, await countWindows(sql, organisation.id, now));
    const id = newId();
    await insertWindow(sql, { id, organisation: organisation.id, draft, ...covered }, now);
    return windowJson(await windowById(sql, organisation.id, id), now);
  },
);

function zoneFrom(
  { time_zone }: { readonly time_zone: string | null },
  organisation: { readonly time_zone: string },
): string {
  return time_zone === null ? organisation.time_zone : timeZoneFrom(time_zone);
}

/**
 * The past stays covered; from now on nothing is, and alerts that the window held are sent when due
 * (rule 25).
 */
export const deleteMaintenanceWindow = handle(api.deleteMaintenanceWindow)(
  async ({ sql, organisation, now }, { window_id }) => {
    if (!(await deleteWindow(sql, organisation.id, window_id, now)))
      throw notFound('maintenance_window_not_found');
  },
);

/** Alerts that it held are sent when due (rule 25). */
export const endMaintenanceNow = handle(api.endMaintenanceNow)(
  async ({ sql, organisation, now, note }, { window_id }) => {
    const before = await lockedWindow(sql, organisation.id, window_id);
    if (stateAt(before, now) !== 'running')
      throw new Refusal('window_invalid', 'It does not run now; there is nothing to end.');
    const { name, rrule, schedule, monitors, groups } = before;
    // A window without repetition is then over; the later occurrences of a repeating one keep their
    // length.
    const ends_at = Math.max(now, schedule.starts_at + 1);
    if (rrule === null)
      await changeWindow(
        sql,
        organisation.id,
        before,
        { draft: { name, schedule: { ...schedule, ends_at } }, monitors, groups },
        now,
      );
    else await cutWindow(sql, before, now);
    const after = await windowById(sql, organisation.id, before.id);
    note({ before: windowNoted(before), after: windowNoted(after) });
    return windowJson(after, now);
  },
);

export const getMaintenanceWindow = handle(api.getMaintenanceWindow)(
  async ({ sql, organisation, now }, { window_id }) =>
    windowJson(await windowById(sql, organisation.id, window_id), now),
);

export const listMaintenanceByTime = handle(contract.listMaintenanceByTime)(
  async ({ sql, organisation, now }, { over, page }) => {
    const place = {
      over,
      now,
      offset: (page - 1) * contract.maintenanceRows,
      most: contract.maintenanceRows,
    };
    const [counts, rows] = await Promise.all([
      countByTime(sql, organisation.id, now),
      windowsByTime(sql, organisation.id, place),
    ]);
    return { ...counts, items: rows.map((row) => rowJson(row, now)) };
  },
);

function rowJson(row: WindowByTime, now: number) {
  const { rrule, local_start } = row;
  const { from, to } = timeOf(row, now);
  return {
    ...row,
    starts_at: from,
    ends_at: to,
    repeats: rrule === null ? null : ruleWords(ruleFrom(rrule), Date.parse(local_start)),
  };
}

/** A window whose next occurrence is months away has none stored yet. */
function timeOf(row: WindowByTime, now: number): { readonly from: number; readonly to: number } {
  if (row.began_at !== null && row.ended_at !== null)
    return { from: row.began_at, to: row.ended_at };
  const schedule = scheduleFrom(row);
  return (
    occurrencesAhead(schedule, now, { most: 1 })[0] ?? {
      from: schedule.starts_at,
      to: schedule.ends_at,
    }
  );
}

export const listMaintenanceWindows = handle(api.listMaintenanceWindows)(
  ({ sql, organisation, now, with: { cursors } }, input) =>
    pageOf(
      cursors,
      ['maintenance', organisation.id],
      input,
      (from, limit) => windowPage(sql, organisation.id, from ?? afterAll, limit),
      (row) => windowJson(row, now),
    ),
);

/** When an unsaved window would occur, in the time zone that it would have. */
export const previewMaintenanceWindow = handle(api.previewMaintenanceWindow)(
  async ({ sql, organisation, now }, { window, ...input }) => {
    const zone =
      window === null
        ? zoneFrom(input, organisation)
        : (await windowById(sql, organisation.id, window)).time_zone;
    const { schedule } = draftWindow(
      { name: null, ...input, rrule: input.rrule?.trim() === '' ? null : input.rrule },
      zone,
    );
    refuseOver(schedule, now);
    mayOccur(maxWrittenAhead(schedule), organisation.plan);
    return upcomingJson(schedule, now);
  },
);

const maxAffected = 100;

export const showMaintenanceWindow = handle(contract.showMaintenanceWindow)(
  async ({ sql, organisation, now }, { window_id }) => {
    const row = await windowById(sql, organisation.id, window_id);
    const [names, affected, ended] = await Promise.all([
      coveredNames(sql, organisation.id, row.id),
      affectedMonitors(sql, organisation.id, row.id, maxAffected),
      lastEnded(sql, row.id, now),
    ]);
    return {
      window: windowJson(row, now),
      state: stateAt(row, now),
      local_start: localText(row.schedule.local_start),
      local_end: localText(row.schedule.local_end),
      last_ended_at: ended,
      affected,
      ...names,
    };
  },
);

export const startMaintenanceNow = handle(api.startMaintenanceNow)(
  async ({ sql, organisation, now, note }, { window_id }) => {
    const before = await lockedWindow(sql, organisation.id, window_id);
    const state = stateAt(before, now);
    if (state === 'running')
      throw new Refusal('window_invalid', 'It runs already; there is nothing to begin.');
    const { name, monitors, schedule, rrule } = before;
    const groups = [...(await groupsAmong(sql, organisation.id, before.groups))];
    if (monitors.length + groups.length === 0)
      throw new Refusal(
        'window_invalid',
        'What it covered is deleted; choose monitors or groups for it first.',
      );
    const lasts =
      rrule === null
        ? schedule.ends_at - schedule.starts_at
        : schedule.local_end - schedule.local_start;
    const ends = now + lasts;
    const times = {
      starts_at: { is: 'instant', at: now },
      ends_at: { is: 'instant', at: ends },
    } as const;
    const draft = draftWindow({ name, rrule: null, ...times }, schedule.time_zone);
    const isMoved = state === 'coming' && rrule === null;
    const id = isMoved ? before.id : newId();
    if (isMoved)
      await changeWindow(
        sql,
        organisation.id,
        before,
        { draft, monitors, groups: before.groups },
        now,
      );
    else {
      enforceLimit('windows', organisation.plan, await countWindows(sql, organisation.id, now));
      await insertWindow(sql, { id, organisation: organisation.id, draft, monitors, groups }, now);
    }
    const after = await windowById(sql, organisation.id, id);
    note(
      isMoved
        ? { before: windowNoted(before), after: windowNoted(after) }
        : { after: windowNoted(after) },
    );
    return windowJson(after, now);
  },
);

/**
 * Null leaves a value as it is. Changes count from now on; what the window covered stays covered
 * (rule 24).
 */
export const updateMaintenanceWindow = handle(api.updateMaintenanceWindow)(
  async (context, input) => {
    const { sql, organisation, now, note } = context;
    const before = await lockedWindow(sql, organisation.id, input.window_id);
    const draft = changedWindow(before, input);
    if (!isSameSchedule(before.schedule, draft.schedule)) {
      refuseOver(draft.schedule, now);
      mayOccur(maxWrittenAhead(draft.schedule), organisation.plan);
      if (stateAt(before, now) === 'over')
        enforceLimit('windows', organisation.plan, await countWindows(sql, organisation.id, now));
    }
    const named = {
      monitors: input.monitors ?? before.monitors,
      groups: input.groups ?? before.groups,
    };
    const covered =
      input.monitors === null && input.groups === null
        ? named
        : await coveredFrom(context, named, before);
    await changeWindow(sql, organisation.id, before, { draft, ...covered }, now);
    const after = await windowById(sql, organisation.id, before.id);
    note({ before: windowNoted(before), after: windowNoted(after) });
    return windowJson(after, now);
  },
);
