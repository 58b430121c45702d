import type { showDelivery as operation } from '../../../shared/api/inner/inner-alerts.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { obstacleOf, shutBy } from '../../domain/telling/telling-channel.ts';
import { channelsEver } from '../../store/store-channels.ts';
import { countMonitors } from '../../store/store-monitors.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

/** Known before an outage: which channels would not deliver an alert, and whether any would. */
export const showDelivery = async ({ sql, organisation, now, with: { door } }: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const channels = (await channelsEver(sql, organisation.id)).filter(({ deleted_at }) => deleted_at === null);
  const open = channels.filter(
    ({ enabled, verified_at, unsubscribed_at }) =>
      shutBy({ deleted: false, enabled, verified: verified_at !== null, unsubscribed: unsubscribed_at !== null }) === undefined,
  );
  const failing = open.flatMap((channel) => {
    const { id, name, kind, failing_since, refused_at } = channel;
    const delivering = { failing_since: failing_since?.getTime() ?? null, refused_at: refused_at?.getTime() ?? null };
    const obstacle = obstacleOf({ kind, ...delivering }, door.mail, now);
    return obstacle === undefined ? [] : [{ channel: id, name, obstacle }];
  });
  const isNeeded = channels.length > 0 || (await countMonitors(sql, organisation.id)) > 0;
  return { channels: channels.length, can_deliver: open.length > failing.length || !isNeeded, failing };
};
