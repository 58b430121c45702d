import { allTellingRules, type TellingRules } from './telling-rules.ts';

/** One outage of a monitor whose "down" became due. */
export type Outage = { readonly incident: string; readonly confirmed_at: number; readonly resolved_at: number | null };

/** plain: told as ever. flapping: told once, as that. silent: one of those that follow, until it was steady, or is down for long. */
export type Flapping = 'plain' | 'flapping' | 'silent';

const minute = 60_000;
const within = 30 * minute;
const most = 3;
/** So long up means that it has come to rest, and so long down that it is an outage like any other. */
export const steadyMs = 15 * minute;
export const longMs = 5 * minute;
/** Further back nobody has to look: an episode that goes on is silent by its own last outages. */
export const flappingMemoryMs = 24 * 60 * minute;

/** How the last of these outages of one monitor, in order of time, is told (rule 37). */
export const flappingOf = (outages: readonly Outage[], rules: TellingRules = allTellingRules): Flapping => {
  if (!rules.flapping_is_told_once) return 'plain';
  let is: Flapping = 'plain';
  let isEpisode = false;
  let recent: number[] = [];
  let rested = Number.NEGATIVE_INFINITY;
  for (const { confirmed_at, resolved_at } of outages) {
    if (isEpisode && confirmed_at - rested >= steadyMs) {
      isEpisode = false;
      recent = [];
    }
    if (isEpisode) is = 'silent';
    else {
      recent = [...recent.filter((at) => at > confirmed_at - within), confirmed_at];
      isEpisode = recent.length >= most;
      is = isEpisode ? 'flapping' : 'plain';
    }
    const isLong = resolved_at !== null && resolved_at - confirmed_at >= longMs;
    if (isLong) {
      isEpisode = false;
      recent = [];
    }
    rested = resolved_at ?? Number.POSITIVE_INFINITY;
  }
  return is;
};
