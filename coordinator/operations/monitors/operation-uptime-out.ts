import type { Interval } from '../../../shared/base/time.ts';
import { type MonitorHistory, uptimeOf } from '../../domain/monitor-history.ts';

/** Uptime as answers give it, wherever they do: what counts, and all five states that the time from `from` to `to` is made of. */
export const uptimeOut = (history: MonitorHistory, days: number, window: Interval) => {
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
