import type { listTold as operation } from '../../../shared/api/inner/alerts.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { isCovered, shutBy } from '../../domain/telling/coverage.ts';
import { channelsEver } from '../../store/channels.ts';
import { monitorById } from '../../store/monitors.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';

export const listTold = async (
  { sql, organisation, now }: InOrganisation,
  { monitor_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const monitor = found(await monitorById(sql, organisation.id, id), 'monitor_not_found');
  const covering = (await channelsEver(sql, organisation.id, now)).filter(
    ({ covers, monitors, groups, deleted_at }) =>
      deleted_at === null && isCovered({ covers, monitors: new Set(monitors), groups: new Set(groups) }, { id, group: monitor.group_id }),
  );
  return {
    items: covering
      .toSorted((a, b) => a.delay_s - b.delay_s)
      .map(({ id: channel, name, kind, owner_email: owner, delay_s, enabled, verified_at, unsubscribed_at }) => {
        const state = { deleted: false, enabled, verified: verified_at !== null, unsubscribed: unsubscribed_at !== null };
        return { channel, name, kind, owner, delay_s, shut: shutBy(state) ?? null };
      }),
  };
};
