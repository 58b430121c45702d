import type { CauseParams, CauseRow } from '../cause.ts';

const units = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

const unitOf = (ms: number) => units.find(([size]) => ms >= size) ?? ([1_000, 'second'] as const);

/** A length of time in the largest unit that it fills, rounded down: nobody is told of a silence longer than it was. */
const span = (ms: number): string => {
  const [size, word] = unitOf(ms);
  const count = Math.floor(ms / size);
  return `${count} ${word}${count === 1 ? '' : 's'}`;
};

/** The same for what was agreed, which must be exact: in the largest unit that divides it, without the unit if the reader just read it. */
const agreed = (ms: number, justRead: string): string => {
  const [size, word] = units.find(([unit]) => ms >= unit && ms % unit === 0) ?? ([1_000, 'second'] as const);
  const count = ms / size;
  if (count === 1) return word;
  return word === justRead ? `${count}` : `${count} ${word}s`;
};

const late = ({ silent_ms, every_ms, schedule }: CauseParams): string => {
  const silent = Number(silent_ms ?? 0);
  const expected = schedule === undefined ? `every ${agreed(Number(every_ms ?? 0), unitOf(silent)[1])}` : `by the schedule ${schedule}`;
  return `No heartbeat for ${span(silent)} (expected ${expected})`;
};

/**
 * Whatever a heartbeat can fail by. `deadline` in the params is the instant that was missed, or when the bad
 * beat came; `after` the good beat that it counts from.
 */
export const heartbeatCauses = {
  heartbeat_late: { layer: 'heartbeat', sentence: late },
  heartbeat_failed: { layer: 'heartbeat', sentence: () => 'The job reported a failure' },
  heartbeat_exit_code: { layer: 'heartbeat', sentence: ({ exit_code }) => `The job ended with exit code ${exit_code}` },
  heartbeat_unfinished: {
    layer: 'heartbeat',
    sentence: ({ max_run_ms }) => `The job started and did not end within ${span(Number(max_run_ms ?? 0))}`,
  },
  heartbeat_pending: { layer: 'probe', sentence: () => 'No heartbeat has come yet' },
} satisfies Record<string, CauseRow>;
