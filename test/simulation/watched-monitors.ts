import type { Watched } from '../../coordinator/core/types.ts';
import type { Placed } from '../../shared/checks/placement.ts';
import type { MonitorSpec, Story } from './story.ts';

export const watchedOf = (story: Story, { id, interval_ms, timeout_ms, continents, alert_after_ms, sampled }: MonitorSpec): Watched => ({
  id,
  organisation: 'organisation',
  kind: 'https',
  interval_ms,
  timeout_ms,
  continents,
  probe: null,
  config_version: 1,
  alert_after_ms,
  sampled,
  created_at: story.start,
  paused_at: null,
});

export const placedOf = (ordinal: number, { id, interval_ms, continents, probe }: Watched): Placed => ({
  monitor: id,
  interval_ms,
  ordinal,
  continents,
  probe,
});
