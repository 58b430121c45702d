/** By what the clocks of a probe and of its target may differ, and less than half of what lies between two checks. */
const slackMs = 450;

/** Of one monitor no two checks overlap: the visits that no result dates between the visit before and themselves, however late either was. */
export const misdated = (visits: readonly number[], results: readonly number[]): number[] =>
  visits.filter((visit, nth) => {
    const before = visits[nth - 1] ?? Number.NEGATIVE_INFINITY;
    return !results.some((at) => at > before - slackMs && at < visit + slackMs);
  });
