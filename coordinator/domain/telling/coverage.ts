import { allTellingRules, type TellingRules } from './telling-rules.ts';

/** What a channel is told of: all monitors of its organisation, or those that were chosen, themselves or by their group (rule 30). */
export type Coverage = {
  readonly covers: 'all' | 'chosen';
  readonly monitors: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
};

/** The group is the one that the monitor is in when its "down" becomes due. */
export const isCovered = (
  { covers, monitors, groups }: Coverage,
  monitor: { readonly id: string; readonly group: string | null },
  rules: TellingRules = allTellingRules,
): boolean => covers === 'all' || !rules.covered_only || monitors.has(monitor.id) || (monitor.group !== null && groups.has(monitor.group));

/** Why a channel is told of nothing, whatever it covers; undefined when it is told. */
export type ShutBy = 'deleted' | 'off' | 'unproven' | 'unsubscribed';
export type ChannelState = {
  readonly deleted: boolean;
  readonly enabled: boolean;
  readonly verified: boolean;
  readonly unsubscribed: boolean;
};

export const shutBy = ({ deleted, enabled, verified, unsubscribed }: ChannelState): ShutBy | undefined => {
  if (deleted) return 'deleted';
  if (!enabled) return 'off';
  if (unsubscribed) return 'unsubscribed';
  return verified ? undefined : 'unproven';
};
