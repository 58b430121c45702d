import * as api from '../../shared/api/monitors.ts';
import { handle } from '../gate/bind.ts';
import type { InOrganisation } from '../gate/context.ts';
import {
  endMute,
  type MonitorMute,
  monitorMutes,
  muteMonitors,
} from '../notifications/mute-queries.ts';
import { muteFrom } from '../notifications/policy.ts';
import { getMonitorStatus } from './operations.ts';
import { monitorForChange } from './queries.ts';

/**
 * Until when `minutes` and `until_resolved` mute; what comes first of both ends it.
 *
 * @throws Refusal `mute_invalid`.
 */
export function muteFor(
  { minutes, until_resolved }: { minutes: number | null; until_resolved: boolean },
  now: number,
): Pick<MonitorMute, 'until' | 'until_resolved'> {
  return {
    until: minutes === null ? null : now + muteFrom(minutes) * 60_000,
    until_resolved,
  };
}

const statusDays = 30;

export const muteMonitor = handle(api.muteMonitor)(
  async (context, { monitor_id: id, ...input }) => {
    const { sql, organisation, caller, note, now } = context;
    const of = organisation.id;
    await named(context, id, await monitorMutes(sql, of, [id], now));
    const mute = muteFor(input, now);
    await muteMonitors(sql, { organisation: of, user: caller.user, at: now }, [
      { monitor: id, ...mute },
    ]);
    note({ after: { muted: true, ...input } });
    return getMonitorStatus(context, { monitor_id: id, days: statusDays });
  },
);

async function named(
  { sql, organisation, note }: InOrganisation,
  id: string,
  before: readonly MonitorMute[],
): Promise<void> {
  const { name } = await monitorForChange(sql, organisation.id, id);
  note({ before: { name, muted: before.length > 0 } });
}

export const unmuteMonitor = handle(api.unmuteMonitor)(async (context, { monitor_id: id }) => {
  const { sql, organisation, note, now } = context;
  await named(context, id, await monitorMutes(sql, organisation.id, [id], now));
  await endMute(sql, organisation.id, now, [id]);
  note({ after: { muted: false } });
  return getMonitorStatus(context, { monitor_id: id, days: statusDays });
});
