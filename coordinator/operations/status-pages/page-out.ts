import type { PageGroup, PageMonitor, PageSummary, WholePage } from '../../store/status-pages.ts';

export const pageMonitorOut = ({ monitor_id, display_name, group_id, position }: PageMonitor) => ({
  monitor: monitor_id,
  display_name,
  group: group_id,
  position,
});

export const pageGroupOut = ({ group_id, display_name, position }: PageGroup) => ({ group: group_id, display_name, position });

export const summaryOut = ({ id, name, slug, enabled, created_at }: PageSummary) => ({
  id,
  name,
  slug,
  enabled,
  created_at: created_at.toISOString(),
});

export const pageOut = (page: WholePage) => ({
  ...summaryOut(page),
  description: page.description,
  monitors: page.monitors.map(pageMonitorOut),
  groups: page.groups.map(pageGroupOut),
});
