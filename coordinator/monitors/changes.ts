import type { createMonitor as createMonitorContract, updateMonitor as updateMonitorContract } from '../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { createRecentCache } from '../../shared/base/async.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { asSplit, splitSecrets } from '../../shared/checks/config.ts';
import type { Secrets } from '../../shared/checks/config-secrets.ts';
import { isoOf } from '../database/sql.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { groupsAmong } from '../groups/queries.ts';
import { checkersOf } from '../probes/queries.ts';
import { amendMonitor, externalIdFrom, type Labels, type Monitor, type MonitorPatch, tagsFrom } from './model.ts';
import {
  type MonitorRow,
  monitorsCalled,
  notifyOwner,
  type StoredMonitor,
  writeMembership,
  updateMonitor as writeMonitor,
} from './queries.ts';
import { openSecrets, sealSecrets } from './secrets.ts';
import { currentStatus, type MonitorHistory, type Standing, uptimeOf } from './status.ts';
import { type MonitorWithStatus, monitorWithStatus } from './status-queries.ts';

/** A cached row is shown many times. */
const opened = new WeakMap<Config, Config>();

const openOf = ({ type, config }: Pick<MonitorRow, 'type' | 'config'>): Config => {
  const known = opened.get(config) ?? splitSecrets(type, config).open;
  opened.set(config, known);
  return known;
};

/**
 * A monitor as answers show it. Secrets stay masked, even those stored before their key counted as
 * secret.
 */
export const monitorJson = (row: MonitorRow) => ({
  id: row.id,
  name: row.name,
  type: row.type,
  target: row.target,
  interval_s: row.interval_s,
  enabled: row.enabled,
  config: openOf(row),
  group: row.group_id,
  affects_group_status: row.affects_group_status,
  external_id: row.external_id,
  tags: row.tags,
  created_at: isoOf(row.created_at),
});

/** Clients that poll a list get the same times again and again. */
const written = createRecentCache<number, string>(20_000);

const iso = (at: number): string => {
  const known = written.find(at);
  if (known !== undefined) return known;
  const made = new Date(at).toISOString();
  written.keep(at, made);
  return made;
};

/** A monitor with its status at this moment. */
export const monitorNow = (row: MonitorWithStatus, now: number) => ({ ...monitorJson(row), ...monitorStatusJson(row, now) });

const monitorStatusJson = (row: Standing, now: number) => {
  const { status, since, last_checked_at } = currentStatus(row, now);
  return { status, since: iso(since), last_checked_at: last_checked_at === null ? null : iso(last_checked_at) };
};

export const monitorFrom = (row: StoredMonitor, organisation: string, stored: Secrets): Monitor => {
  const { type, group_id, name, target, interval_s, enabled, config, affects_group_status, config_version } = row;
  const { open, secrets } = asSplit(type, config, stored);
  const same = { name, target, interval_s, enabled, affects_group_status, config_version };
  return { ...same, organisation, kind: type, group: group_id, config: open, secrets };
};

/** Null: not mentioned. */
export type WholePatch = MonitorPatch & { readonly external_id: string | null; readonly tags: readonly string[] | null };

export const labelsAfter = (row: StoredMonitor, { external_id, tags }: WholePatch): Labels => ({
  external_id: external_id === null ? row.external_id : externalIdFrom(external_id),
  tags: tags === null ? row.tags : tagsFrom(tags),
});

/**
 * Changes only what is mentioned. The owner of its partition is notified of changes that affect the
 * checks.
 */
export const changeMonitor = async (
  { sql, organisation, note, now, with: { secrets } }: InOrganisation,
  row: StoredMonitor,
  patch: WholePatch,
): Promise<OutputOf<typeof updateMonitorContract>> => {
  const { id } = row;
  const { id: of, plan } = organisation;
  const before = monitorFrom(row, of, await openSecrets(secrets, sql, id, row.secrets));
  const labels = labelsAfter(row, patch);
  const { monitor, edited, what_is_checked_changed, moved, switched } = amendMonitor(before, patch, {
    plan,
    checkers: await checkersOf(sql, of),
  });
  if (monitor.group !== null && moved && !(await groupsAmong(sql, of, [monitor.group])).has(monitor.group))
    throw notFound('group_not_found');
  if (labels.external_id !== null && labels.external_id !== row.external_id) {
    if ((await monitorsCalled(sql, of, [labels.external_id])).size > 0)
      throw new Refusal('external_id_taken', `external_id: another monitor is "${labels.external_id}" already; choose another one.`);
  }
  const written = await writeMonitor(sql, id, monitor, await sealSecrets(secrets, sql, id, monitor.secrets), labels);
  if (moved) await writeMembership(sql, of, id, monitor.group);
  note({ before: monitorJson(row), after: monitorJson(written) });
  const owner = { organisation: of, partition: row.partition };
  if (edited) await notifyOwner(sql, owner, { monitor: id, change: 'edited', what_is_checked_changed });
  if (switched) await notifyOwner(sql, owner, { monitor: id, change: switched, what_is_checked_changed: false });
  return monitorNow(orNotFound(await monitorWithStatus(sql, of, id), 'monitor_not_found'), now);
};

/** A create call for a monitor that a program may have created before, under an id of its own. */

type Input = InputOf<typeof createMonitorContract>;

const unless = (text: string, nothing: string): string | null => (text.trim() === nothing ? null : text);

/** What a create call changes when its monitor already exists: everything that was sent. */
export const patchOf = ({ target, name, interval_s, config, group, affects_group_status, tags }: Input): WholePatch => ({
  ...{ target: unless(target, ''), name: unless(name, ''), interval_s, config, group, affects_group_status, tags },
  ...{ enabled: null, ungroup: false, external_id: null },
});

export const labelsOf = ({ external_id, tags }: Pick<Input, 'external_id' | 'tags'>): Labels => ({
  external_id: external_id === null ? null : externalIdFrom(external_id),
  tags: tagsFrom(tags ?? []),
});

export const typeDiffers = ({ external_id, type }: Pick<StoredMonitor, 'external_id' | 'type'>): Refusal =>
  new Refusal('type_differs', `type: the monitor "${external_id}" is of type ${type}, which never changes.`);

/**
 * Uptime as all answers show it: the percentage, and the five states that make up the time from
 * `from` to `to`.
 */
export const uptimeJson = (history: MonitorHistory, days: number, window: Interval) => {
  const { percent, up, down_seconds, maintenance, unknown, paused } = uptimeOf(history, window);
  return {
    ...{ days, percent, down_seconds },
    from: new Date(Math.min(Math.max(window.from, history.created_at), window.to)).toISOString(),
    to: new Date(window.to).toISOString(),
    up_seconds: up / 1_000,
    maintenance_seconds: maintenance / 1_000,
    unknown_seconds: unknown / 1_000,
    paused_seconds: paused / 1_000,
  };
};
