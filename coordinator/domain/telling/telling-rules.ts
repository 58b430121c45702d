/**
 * Rules of telling that can be turned off one by one. Nobody does, except the test that shows that the simulator would notice: a way of telling
 * without one of them must be found out.
 */
export const tellingRuleNames = [
  'covered_only', // 30
  'backs_off', // 31
  'overtaken_is_merged', // 31
  'due_is_told_though_over', // 31
  'bucket_gathers', // 32
  'first_is_undelayed', // 32
  'gathering_grows', // 32
  'delay_is_escalation', // 33
  'acknowledging_ends', // 34
  'reminders_double', // 35
  'quiet_hours_hold', // 36
  'mute_holds', // 36
  'flapping_is_told_once', // 37
  'last_resort', // 38
] as const;

export type TellingRuleName = (typeof tellingRuleNames)[number];
export type TellingRules = Readonly<Record<TellingRuleName, boolean>>;

/** The law. */
export const allTellingRules: TellingRules = {
  covered_only: true,
  backs_off: true,
  overtaken_is_merged: true,
  due_is_told_though_over: true,
  bucket_gathers: true,
  first_is_undelayed: true,
  gathering_grows: true,
  delay_is_escalation: true,
  acknowledging_ends: true,
  reminders_double: true,
  quiet_hours_hold: true,
  mute_holds: true,
  flapping_is_told_once: true,
  last_resort: true,
};

/** The law without one rule. */
export const withoutTelling = (rule: TellingRuleName): TellingRules => ({ ...allTellingRules, [rule]: false });
