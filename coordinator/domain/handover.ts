import type { SeenResult } from './incident-types.ts';

/**
 * After an absence of the coordinator or of the bus, what probes kept is not decided as it comes but in order of start, once all
 * healthy probes have handed over, at most 30 s later (rule 4). One for each partition.
 *
 * Modes: holding (results wait; `waitingFor` names who has not handed over) → over (nothing is held any more).
 */
export type Handover = {
  readonly until: number;
  readonly waitingFor: readonly string[];
  readonly held: readonly SeenResult[];
};

export const handoverAtMost = 30_000;

/** Begins when the coordinator takes the partition over or hears the bus again; `healthy`: the probes that the roster counts on. */
export const beginHandover = (now: number, healthy: readonly string[]): Handover => ({
  until: now + handoverAtMost,
  waitingFor: healthy,
  held: [],
});

export const hold = (handover: Handover, results: readonly SeenResult[]): Handover => ({
  ...handover,
  held: [...handover.held, ...results],
});

/** A probe said that everything it kept has been sent and received, or is lost, so that nobody waits for it. */
export const handedOver = (handover: Handover, probe: string): Handover => ({
  ...handover,
  waitingFor: handover.waitingFor.filter((other) => other !== probe),
});

export const isOver = (handover: Handover, now: number): boolean => handover.waitingFor.length === 0 || now >= handover.until;

/** The order in which the past is decided: by start; what started together by probe and sequence, so that it is the same every time. */
export const inOrder = (results: readonly SeenResult[]): SeenResult[] =>
  results.toSorted((a, b) => a.at - b.at || (a.from.probe < b.from.probe ? -1 : a.from.probe > b.from.probe ? 1 : a.seq - b.seq));

/** What was held, to be decided now: each is marked, so that the past asks nobody and alerts nobody; a tick for each monitor follows. */
export const release = (handover: Handover): SeenResult[] => inOrder(handover.held).map((result) => ({ ...result, handed_over: true }));
