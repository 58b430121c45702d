import type { listTold as operation, listWouldBeTold as preview } from '../../../shared/api/inner/inner-alerts.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { isCovered, obstacleOf, shutBy } from '../../domain/telling/telling-channel.ts';
import { channelsEver } from '../../store/store-channels.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import { monitorById } from '../../store/store-monitors.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';

/** The channels that cover a monitor, as it is or as it would be, the first first. */
const toldOf = async (
  { sql, organisation, now, with: { door } }: InOrganisation,
  monitor: { readonly id: string; readonly group: string | null },
): Promise<OutputOf<typeof operation>> => {
  const covering = (await channelsEver(sql, organisation.id)).filter(
    ({ covers, monitors, groups, deleted_at }) =>
      deleted_at === null && isCovered({ covers, monitors: new Set(monitors), groups: new Set(groups) }, monitor),
  );
  return {
    items: covering
      .toSorted((a, b) => a.delay_s - b.delay_s)
      .map(({ id: channel, name, kind, owner_email: owner, delay_s, enabled, verified_at, unsubscribed_at }) => {
        const state = { deleted: false, enabled, verified: verified_at !== null, unsubscribed: unsubscribed_at !== null };
        const obstacle = obstacleOf({ kind, failing_since: null, refused_at: null }, door.mail, now);
        return { channel, name, kind, owner, delay_s, shut: shutBy(state) ?? obstacle ?? null };
      }),
  };
};

export const listTold = async (
  context: InOrganisation,
  { monitor_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const monitor = found(await monitorById(context.sql, context.organisation.id, id), 'monitor_not_found');
  return toldOf(context, { id, group: monitor.group_id });
};

/** Of one that is not made yet, nobody can have chosen it: who is told of all monitors, or of its group. */
export const listWouldBeTold = async (
  context: InOrganisation,
  { monitor: id, group }: InputOf<typeof preview>,
): Answer<OutputOf<typeof preview>> => {
  const { sql, organisation } = context;
  if (id !== null) found(await monitorById(sql, organisation.id, id), 'monitor_not_found');
  if (group !== null && !(await groupsAmong(sql, organisation.id, [group])).has(group)) throw notFound('group_not_found');
  return toldOf(context, { id: id ?? '', group });
};
