import { type Interval, union } from '../../shared/base/time.ts';
import { allRules, type Rules } from './decision-rules.ts';

/**
 * What alerts an incident means (rules 25 and 28). A "down" is a row for each channel.
 * Modes of a row: held (due later, or inside cover) → due (to be sent) → sent; held → dropped (over before it was due).
 */
export type AlertEvent = 'down' | 'up' | 'closed';
export type AlertState = 'held' | 'due' | 'sent' | 'dropped';
export type Alert = {
  readonly event: AlertEvent;
  readonly channel: string;
  readonly state: AlertState;
  /** A down: confirmed_at + alert_after_s, whatever the cover; the others: when the incident ended. */
  readonly due_at: number;
};

/**
 * A confirmed incident's downs: held, until release() finds them due. One for each channel, however often it is told (rule 28). Told again,
 * the incident was dated anew: those that are held are due then, and one that left has left.
 */
export const downs = (rows: readonly Alert[], channels: readonly string[], due_at: number): Alert[] =>
  rows.length > 0
    ? rows.filter((row) => row.event === 'down' && row.state === 'held' && row.due_at !== due_at).map((row) => ({ ...row, due_at }))
    : channels.map((channel) => ({ event: 'down', channel, state: 'held', due_at }));

export type Release = { readonly is: 'due' } | { readonly is: 'held'; readonly until: number };

/**
 * Whether what is known of an incident is of now, so that its "down" may go out: while a partition's past is still being decided after an
 * absence, the outage may be over (rule 4). What is decided as it comes need not wait for that, nor what the target itself told us.
 */
export const mayTell = (is: { readonly isPastDecided: boolean; readonly isToldByTarget: boolean }, rules: Rules = allRules): boolean =>
  is.isPastDecided || is.isToldByTarget || !rules.past_is_not_alerted;

/**
 * Whether a held "down" may go out now: its time has come and the monitor is not covered; else when to ask again. Asked with the cover
 * as it is now, so that a window made, moved by its group or deleted in the meantime counts, and before each attempt to send.
 */
export const release = (due_at: number, cover: readonly Interval[], now: number, rules: Rules = allRules): Release => {
  const time = Math.max(due_at, now);
  const inside = rules.held_inside_cover ? union(cover).find(({ from, to }) => from <= time && time < to) : undefined;
  if (inside) return { is: 'held', until: inside.to };
  return due_at <= now ? { is: 'due' } : { is: 'held', until: due_at };
};

/**
 * The incident has ended: what was held is dropped, and exactly the channels that took its "down" are told. Gives the rows that
 * change or come new.
 */
export const settle = (rows: readonly Alert[], event: 'up' | 'closed', at: number, rules: Rules = allRules): Alert[] => {
  if (rows.some((row) => row.event !== 'down')) return [];
  const dropped = rows.filter((row) => row.state === 'held').map((row): Alert => ({ ...row, state: 'dropped' }));
  const took = rows.filter((row) => row.state === 'due' || row.state === 'sent' || !rules.up_only_to_who_took_down);
  return [...dropped, ...took.map(({ channel }): Alert => ({ event, channel, state: 'due', due_at: at }))];
};
