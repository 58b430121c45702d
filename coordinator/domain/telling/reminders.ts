import { allTellingRules, type TellingRules } from './telling-rules.ts';

const dayMs = 86_400_000;

/** How long after what was told before it the n-th reminder (from 1) comes: at doubling distances up to a day (rule 35). */
export const reminderAfter = (reminder_s: number, n: number, rules: TellingRules = allTellingRules): number =>
  rules.reminders_double ? Math.min(reminder_s * 1_000 * 2 ** Math.min(n - 1, 20), dayMs) : reminder_s * 1_000;
