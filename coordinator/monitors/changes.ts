import type * as api from '../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { createRecentCache } from '../../shared/base/async.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Interval } from '../../shared/base/time.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { groupsAmong } from '../groups/queries.ts';
import { checkersOf } from '../probes/places.ts';
import { warningJson } from '../warnings/model.ts';
import { amendMonitor, type MonitorPatch } from './model.ts';
import { monitorsCalled, notifyOwner, updateMonitors, writeMemberships } from './queries.ts';
import { monitorFrom, monitorJson, type StoredMonitor } from './row.ts';
import { openSecrets, sealSecrets } from './secrets.ts';
import { currentStatus, type MonitorHistory, type StoredStatus, uptimeOf } from './status.ts';
import { type MonitorWithStatus, monitorWithStatus } from './status-queries.ts';

/** Clients that poll a list get the same times again and again. */
const written = createRecentCache<number, string>(20_000);

/** A monitor with its status at this moment. */
export function monitorNow(row: MonitorWithStatus, now: number) {
  return {
    ...monitorJson(row),
    ...monitorStatusJson(row, now),
    warnings: (row.warnings ?? []).map((warning) => warningJson(warning, now)),
  };
}

function monitorStatusJson(row: StoredStatus, now: number) {
  const { status, since, last_checked_at } = currentStatus(row, now);
  return {
    status,
    since: iso(since),
    last_checked_at: last_checked_at === null ? null : iso(last_checked_at),
  };
}

function iso(at: number): string {
  const known = written.find(at);
  if (known !== undefined) return known;
  const made = new Date(at).toISOString();
  written.keep(at, made);
  return made;
}

/**
 * Changes only what is mentioned. The owner of its partition is notified of changes that affect the
 * checks.
 */
export async function changeMonitor(
  { sql, organisation, note, now, with: { results, secrets, registries } }: InOrganisation,
  row: StoredMonitor,
  patch: MonitorPatch,
): Promise<OutputOf<typeof api.updateMonitor>> {
  const { id } = row;
  const { id: of, plan } = organisation;
  const before = monitorFrom(row, of, await openSecrets(secrets, sql, id, row.secrets));
  const { monitor, edited, what_is_checked_changed, moved, switched } = amendMonitor(
    before,
    patch,
    {
      plan,
      checkers: await checkersOf(sql, of),
      registries: await registries(sql),
    },
  );
  if (
    monitor.group !== null &&
    moved &&
    !(await groupsAmong(sql, of, [monitor.group])).has(monitor.group)
  )
    throw notFound('group_not_found');
  if (monitor.external_id !== null && monitor.external_id !== row.external_id) {
    if ((await monitorsCalled(sql, of, [monitor.external_id])).size > 0)
      throw new Refusal('external_id_taken', {
        external_id: `another monitor is "${monitor.external_id}" already; choose another one.`,
      });
  }
  const written = {
    id,
    partition: row.partition,
    monitor,
    secrets: await sealSecrets(secrets, sql, id, monitor.secrets),
  };
  await updateMonitors(sql, of, [written]);
  if (moved) await writeMemberships(sql, of, [{ monitor: id, group: monitor.group }]);
  const owner = { organisation: of, partition: row.partition };
  if (edited)
    await notifyOwner(sql, owner, { monitor: id, change: 'edited', what_is_checked_changed });
  if (switched)
    await notifyOwner(sql, owner, {
      monitor: id,
      change: switched,
      what_is_checked_changed: false,
    });
  const after = orNotFound(await monitorWithStatus(sql, results, of, id), 'monitor_not_found');
  note({ before: monitorJson(row), after: monitorJson(after) });
  return monitorNow(after, now);
}

type Input = InputOf<typeof api.createMonitor>;

/** What a create call changes when its monitor already exists: everything that was sent. */
export function patchOf(input: Input): MonitorPatch {
  return {
    ...input,
    target: unless(input.target, ''),
    name: unless(input.name, ''),
    external_id: null,
    enabled: null,
    ungroup: false,
  };
}

function unless(text: string, nothing: string): string | null {
  return text.trim() === nothing ? null : text;
}

export function typeDiffers({
  external_id,
  type,
}: Pick<StoredMonitor, 'external_id' | 'type'>): Refusal {
  return new Refusal('type_differs', {
    type: `the monitor "${external_id}" is of type ${type}, which never changes.`,
  });
}

/**
 * Uptime as all answers show it: the percentage, and the five states that make up the time from
 * `from` to `to`.
 */
export function uptimeJson(history: MonitorHistory, days: number, window: Interval) {
  const { percent, up, down_seconds, maintenance, unknown, paused } = uptimeOf(history, window);
  return {
    days,
    percent,
    down_seconds,
    from: new Date(Math.min(Math.max(window.from, history.created_at), window.to)).toISOString(),
    to: new Date(window.to).toISOString(),
    up_seconds: up / 1_000,
    maintenance_seconds: maintenance / 1_000,
    unknown_seconds: unknown / 1_000,
    paused_seconds: paused / 1_000,
  };
}
