/**
 * Rules of the law that can be turned off one by one. Nobody does, except the test that shows that the simulator would notice: each
 * name is a promise, and a core without it must be found out.
 */
export const ruleNames = [
  'unknown_decides_nothing', // 1
  'stale_to_charts', // 3
  'older_failure_moves_back', // 3
  'older_version_to_charts', // 3
  'past_is_not_alerted', // 4
  'kept_waits_for_others', // 4
  'live_goes_ahead', // 4
  'ahead_is_dated_right', // 4
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

const every = (value: boolean): Record<RuleName, boolean> => ({
  unknown_decides_nothing: value,
  stale_to_charts: value,
  older_failure_moves_back: value,
  older_version_to_charts: value,
  past_is_not_alerted: value,
  kept_waits_for_others: value,
  live_goes_ahead: value,
  ahead_is_dated_right: value,
  others_look_at_once: value,
  another_continent_confirms: value,
  within_a_minute: value,
  lonely_failure_is_another_matter: value,
  passing_continent_closes: value,
  unobserved_lapses: value,
  two_passes_close: value,
  dated_by_the_first_pass: value,
  sampled_while_open: value,
  lone_continent_confirms_itself: value,
  quarantined_is_unknown: value,
  pausing_closes: value,
  late_originals_fill_gaps: value,
  held_inside_cover: value,
  up_only_to_who_took_down: value,
});

/** The law. */
export const allRules: Rules = every(true);

/** The law without one rule. */
export const without = (rule: RuleName): Rules => ({ ...allRules, [rule]: false });
