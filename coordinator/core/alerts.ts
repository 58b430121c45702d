import { type Interval, union } from '../../shared/base/time.ts';

/**
 * Which alerts an incident causes (rules 25 and 28). A "down" is one row for each channel. A row is
 * held while it is due later or inside cover, then due, then sent; it is dropped when the outage is
 * over before it was due. A "was_down" is due from the beginning.
 */
export type AlertEvent = 'down' | 'up' | 'closed' | 'was_down';
export type AlertState = 'held' | 'due' | 'sent' | 'dropped';
export type Alert = {
  readonly event: AlertEvent;
  readonly channel: string;
  readonly state: AlertState;
  /**
   * Of a down: confirmed_at + alert_after_s, whatever the cover. Of the others: when the incident
   * ended.
   */
  readonly due_at: number;
};

/**
 * The "down" rows of a confirmed incident, held until release() finds them due: one for each
 * channel, however often this runs (rule 28). When it runs again, the incident was retimed: held
 * rows get the new due time, sent rows stay.
 */
export function downs(
  rows: readonly Alert[],
  channels: readonly string[],
  due_at: number,
): Alert[] {
  return rows.length > 0
    ? rows
        .filter((row) => row.event === 'down' && row.state === 'held' && row.due_at !== due_at)
        .map((row) => ({ ...row, due_at }))
    : channels.map((channel) => ({ event: 'down', channel, state: 'held', due_at }));
}

/**
 * The rows of an outage that became known when it was over (rule 4). They are due: whether something
 * held it to its end is decided for each channel.
 */
export function late(rows: readonly Alert[], channels: readonly string[], due_at: number): Alert[] {
  return rows.length > 0
    ? []
    : channels.map((channel) => ({ event: 'was_down', channel, state: 'due', due_at }));
}

/**
 * Whether what we know of an incident is current, so that its "down" may leave. While a partition's
 * past is being decided after an absence, the outage may be over (rule 4). What the target itself
 * reported need not wait for that.
 */
export function mayNotify(is: {
  readonly isPastDecided: boolean;
  readonly isSaidByTarget: boolean;
}): boolean {
  return is.isPastDecided || is.isSaidByTarget;
}

export type Release = { readonly is: 'due' } | { readonly is: 'held'; readonly until: number };

/**
 * Whether a held "down" may leave now: it is due and the monitor is not covered. Otherwise, when to
 * ask again. It uses the current cover before each attempt to send, so a window that was made,
 * moved by its group or deleted meanwhile counts.
 */
export function release(due_at: number, cover: readonly Interval[], now: number): Release {
  const time = Math.max(due_at, now);
  const inside = union(cover).find(({ from, to }) => from <= time && time < to);
  if (inside) return { is: 'held', until: inside.to };
  return due_at <= now ? { is: 'due' } : { is: 'held', until: due_at };
}

/**
 * The incident has ended: held rows are dropped, and exactly the channels that accepted its "down"
 * are notified. A held row that was due before the end, while nobody knew whether it lasted, is told
 * late (rule 4). Returns changed and new rows.
 */
export function settle(rows: readonly Alert[], event: 'up' | 'closed', at: number): Alert[] {
  if (rows.some((row) => row.event !== 'down')) return [];
  const dropped = rows
    .filter((row) => row.state === 'held')
    .map((row): Alert => ({ ...row, state: 'dropped' }));
  const missed =
    event === 'up' ? rows.filter((row) => row.state === 'held' && row.due_at < at) : [];
  const took = rows.filter((row) => row.state === 'due' || row.state === 'sent');
  return [
    ...dropped,
    ...missed.map((row): Alert => ({ ...row, event: 'was_down', state: 'due' })),
    ...took.map(({ channel }): Alert => ({ event, channel, state: 'due', due_at: at })),
  ];
}
