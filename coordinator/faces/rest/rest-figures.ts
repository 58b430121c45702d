import type { listMonitorFigures } from '../../../shared/api/inner/inner-figures.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';

/** The text format of Prometheus, version 0.0.4. */
export const figuresType = 'text/plain; version=0.0.4; charset=utf-8';

/** A name may hold anything; in a label these three have a meaning. */
const label = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** An organisation's monitors for its own Prometheus. What is not known has no row, so that nobody takes it for a zero. */
export const figuresText = ({ items, left_out }: OutputOf<typeof listMonitorFigures>): string => {
  const labels = ({ id, name, type }: (typeof items)[number]) => `monitor="${label(id)}",name="${label(name)}",type="${label(type)}"`;
  const up = items.flatMap((item) => (item.is_up === null ? [] : [`antipode_monitor_up{${labels(item)}} ${Number(item.is_up)}`]));
  const state = items.map((item) => `antipode_monitor_status{${labels(item)},status="${label(item.status)}"} 1`);
  const response = items.flatMap((item) =>
    item.response_ms === null ? [] : [`antipode_monitor_response_seconds{${labels(item)}} ${item.response_ms / 1_000}`],
  );
  return [
    '# HELP antipode_monitor_up 1 while no outage is confirmed, 0 while one is; no row while paused or not yet seen',
    '# TYPE antipode_monitor_up gauge',
    ...up,
    '# HELP antipode_monitor_status The state as the pages call it',
    '# TYPE antipode_monitor_status gauge',
    ...state,
    '# HELP antipode_monitor_response_seconds Response time of the newest check; no row where that did not pass',
    '# TYPE antipode_monitor_response_seconds gauge',
    ...response,
    '# HELP antipode_monitors_left_out Monitors beyond those shown here',
    '# TYPE antipode_monitors_left_out gauge',
    `antipode_monitors_left_out ${left_out}`,
    '',
  ].join('\n');
};
