import type { Interval } from '../../shared/base/time.ts';
import type { Stretch } from './uptime-explained.ts';

/** What a bar of a strip can be: a state, being verified, or nothing: it is from before the monitor was made. */
export const barStates = ['up', 'verifying', 'down', 'maintenance', 'unknown', 'paused', 'none'] as const;
export type BarState = (typeof barStates)[number];

/** Where times of a bar are equal, the first of these has it: what is not known is never shown as up. */
const order = ['unknown', 'maintenance', 'paused', 'up'] as const;

/**
 * Time as bars of equal length, oldest first. A bar in which there was any downtime says so; else it is what most of it was.
 * `verifying`: since when an incident is being verified.
 */
export const barsOf = (stretches: readonly Stretch[], window: Interval, count: number, verifying: number | null): BarState[] => {
  const width = (window.to - window.from) / count;
  const bars: BarState[] = [];
  let first = 0;
  for (let index = 0; index < count; index += 1) {
    const [from, to] = [window.from + index * width, window.from + (index + 1) * width];
    const times = { up: 0, down: 0, maintenance: 0, unknown: 0, paused: 0 };
    while (first < stretches.length && (stretches[first]?.to ?? 0) <= from) first += 1;
    for (let place = first; place < stretches.length; place += 1) {
      const stretch = stretches[place];
      if (!stretch || stretch.from >= to) break;
      times[stretch.state] += Math.min(stretch.to, to) - Math.max(stretch.from, from);
    }
    const most = Math.max(times.up, times.maintenance, times.unknown, times.paused);
    if (times.down > 0) bars.push('down');
    else if (verifying !== null && verifying < to) bars.push('verifying');
    else bars.push(most === 0 ? 'none' : (order.find((state) => times[state] === most) ?? 'none'));
  }
  return bars;
};
