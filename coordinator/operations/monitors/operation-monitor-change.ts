import type { updateMonitor as operation } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { asSplit } from '../../../shared/checks/config.ts';
import type { Secrets } from '../../../shared/checks/config-secrets.ts';
import { amendMonitor, type Monitor, type MonitorPatch } from '../../domain/monitor.ts';
import { externalIdFrom, type Labels, tagsFrom } from '../../domain/monitor-labels.ts';
import { checkersOf } from '../../store/store-checking-probes.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import { standingMonitor } from '../../store/store-monitor-standings.ts';
import {
  monitorsCalled,
  type StoredMonitor,
  tellOwner,
  writeMembership,
  updateMonitor as writeMonitor,
} from '../../store/store-monitors.ts';
import type { InOrganisation } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { monitorOut } from './operation-monitor-out.ts';
import { openSecrets, sealSecrets } from './operation-monitor-secrets.ts';
import { monitorNow } from './operation-monitor-standing-out.ts';

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

/** Only what is mentioned changes; the owner of its partition hears of what concerns the checks. */
export const changeMonitor = async (
  { sql, organisation, note, now, with: { secrets } }: InOrganisation,
  row: StoredMonitor,
  patch: WholePatch,
): Promise<OutputOf<typeof operation>> => {
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
  note({ before: monitorOut(row), after: monitorOut(written) });
  const owner = { organisation: of, partition: row.partition };
  if (edited) await tellOwner(sql, owner, { monitor: id, change: 'edited', what_is_checked_changed });
  if (switched) await tellOwner(sql, owner, { monitor: id, change: switched, what_is_checked_changed: false });
  return monitorNow(found(await standingMonitor(sql, of, id), 'monitor_not_found'), now);
};
