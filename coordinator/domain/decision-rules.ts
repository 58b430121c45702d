/**
 * Rules of the law that can be turned off one by one. Nobody does, except the test that shows that the simulator would notice: each
 * name is a promise, and a core without it must be found out.
 */
export const ruleNames = [
  'unknown_decides_nothing', // 1
  'stale_to_charts', // 3
  'late_dates_anew', // 3
  'older_version_to_charts', // 3
  'past_is_not_alerted', // 4
  'kept_waits_for_others', // 4
  'live_goes_ahead', // 4
  'waits_for_who_may_tell', // 4
  'others_look_at_once', // 9
  'another_continent_confirms', // 10
  'within_a_minute', // 10
  'lonely_failure_is_another_matter', // 10
  'passing_continent_closes', // 11
  'unobserved_lapses', // 11
  'two_passes_close', // 12
  'dated_by_the_first_pass', // 12
  'sampled_while_open', // 13
  'lone_continent_confirms_itself', // 14
  'quarantined_is_unknown', // 16
  'pausing_closes', // 17
  'late_originals_fill_gaps', // 22
  'held_inside_cover', // 25
  'up_only_to_who_took_down', // 25
] as const;

export type RuleName = (typeof ruleNames)[number];
export type Rules = Readonly<Record<RuleName, boolean>>;

/** The law. */
export const allRules: Rules = {
  unknown_decides_nothing: true,
  stale_to_charts: true,
  late_dates_anew: true,
  older_version_to_charts: true,
  past_is_not_alerted: true,
  kept_waits_for_others: true,
  live_goes_ahead: true,
  waits_for_who_may_tell: true,
  others_look_at_once: true,
  another_continent_confirms: true,
  within_a_minute: true,
  lonely_failure_is_another_matter: true,
  passing_continent_closes: true,
  unobserved_lapses: true,
  two_passes_close: true,
  dated_by_the_first_pass: true,
  sampled_while_open: true,
  lone_continent_confirms_itself: true,
  quarantined_is_unknown: true,
  pausing_closes: true,
  late_originals_fill_gaps: true,
  held_inside_cover: true,
  up_only_to_who_took_down: true,
};

/** The law without one rule. */
export const without = (rule: RuleName): Rules => ({ ...allRules, [rule]: false });
