import type { TrialOwner, TrialSoFar, WantedTrial } from '../../domain/trial-of-config.ts';

/** Trials of a config from every continent that could check it (rule 41). They open nothing and are stored nowhere; app.ts hands this over, because it needs the bus. */
export type TrialsPart = {
  /** The id by which the answers are heard. Undefined without a bus, and while too many are under way. */
  readonly begin: (wanted: WantedTrial) => string | undefined;
  /** Settles when there are more than `known` answers, or it is over; undefined for a trial of somebody else, or of long ago. */
  readonly hear: (id: string, of: TrialOwner, known: number) => Promise<TrialSoFar | undefined>;
};

/** Where there is no bus, nothing can be tried. */
export const noTrials: TrialsPart = { begin: () => undefined, hear: async () => undefined };
