import * as api from '../../shared/api/monitors.ts';
import * as trashApi from '../../shared/api/trash.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { enforceLimit } from '../gate/plans.ts';
import { followAliases } from '../heartbeats/alias-queries.ts';
import { refuseCircle } from './changes.ts';
import * as contract from './contract.ts';
import { circlesAmong } from './dependencies.ts';
import { dependentsOf, forgetMissingParents } from './dependency-queries.ts';
import { monitorNow } from './operations.ts';
import { countMonitors, monitorForChange, monitorsCalled, monitorsForChange } from './queries.ts';
import { monitorJson } from './row.ts';
import { openSecrets } from './secrets.ts';
import { monitorWithStatus } from './status-queries.ts';
import {
  type DeletedMonitor,
  deletedAmong,
  deletedMonitors,
  deleterName,
  purgeMonitors,
  restoreMonitors,
  trashDays,
  trashMonitors,
} from './trash-queries.ts';

/** Moves it into the trash; what refers to it elsewhere goes there with it. */
export const deleteMonitor = handle(api.deleteMonitor)(async (context, { monitor_id: id }) => {
  const { sql, organisation, caller, note } = context;
  const row = await monitorForChange(sql, organisation.id, id);
  note({ before: monitorJson(row) });
  await trashMonitors(sql, organisation.id, [row], await deleterName(sql, caller));
});

export const listDeletedMonitors = handle(trashApi.listDeletedMonitors)(
  ({ sql, organisation, with: { cursors } }, asked) =>
    pageOf(
      cursors,
      ['deleted monitors', organisation.id],
      asked,
      (from, most) => deletedMonitors(sql, organisation.id, from ?? afterAll, most),
      ({ key: _, deleted_at, ...row }) => ({
        ...row,
        deleted_at,
        deleted_for_ever_at: deleted_at + trashMs,
      }),
    ),
);

const trashMs = trashDays * 86_400_000;

export const restoreMonitor = handle(trashApi.restoreMonitor)(
  async (context, { monitor_id: id }) => {
    const { sql, organisation, note, now } = context;
    if ((await restoreAmong(context, [id])).length === 0) throw notFound('monitor_not_found');
    const row = await monitorWithStatus(sql, context.with.results, organisation.id, id);
    note({ after: monitorJson(row) });
    return monitorNow(row, now);
  },
);

/**
 * Restores those of them that are in the trash, all or none.
 *
 * @throws Refusal when the plan has no room for them, or another monitor has an external id or a
 * ping alias of theirs now, or depends on one that would depend on it.
 */
export async function restoreAmong(
  { sql, organisation: { id: of, plan }, with: { secrets } }: InOrganisation,
  ids: readonly string[],
): Promise<readonly DeletedMonitor[]> {
  const found = await deletedAmong(sql, of, ids);
  if (found.length === 0) return [];
  enforceLimit('monitors', plan, (await countMonitors(sql, of)) + found.length - 1);
  const external = found.flatMap(({ external_id }) => external_id ?? []);
  const [taken] = (await monitorsCalled(sql, of, external)).keys();
  if (taken !== undefined)
    throw new Refusal('external_id_taken', {
      external_id: `another monitor is "${taken}" now. Change or delete that one first.`,
    });
  await restoreMonitors(
    sql,
    of,
    found.map(({ id }) => id),
  );
  await forgetMissingParents(
    sql,
    of,
    found.map(({ id }) => id),
  );
  const circleOf = circlesAmong(await dependentsOf(sql, of, []));
  for (const { id } of found) refuseCircle(circleOf(id));
  const heartbeats = found.flatMap(({ id, type }) => (type === 'heartbeat' ? id : []));
  const aliases: Parameters<typeof followAliases>[2][number][] = [];
  const rows = heartbeats.length === 0 ? [] : await monitorsForChange(sql, of, heartbeats);
  for (const row of rows)
    aliases.push({
      id: row.id,
      alias: (await openSecrets(secrets, sql, row.id, row.secrets)).ping_alias,
    });
  await followAliases(sql, of, aliases);
  return found;
}

export const purgeMonitor = handle(contract.purgeMonitor)(
  async ({ sql, organisation, note }, { monitor_id: id }) => {
    const [row] = await deletedAmong(sql, organisation.id, [id]);
    const {
      key: _key,
      deleted_at: _at,
      deleted_by: _by,
      ...before
    } = orNotFound(row, 'monitor_not_found');
    note({ before });
    await purgeMonitors(sql, organisation.id, [id]);
  },
);
