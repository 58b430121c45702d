import type { CauseParams, CauseRow } from '../result.ts';

const units = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

const smallest = [1_000, 'second'] as const;

/**
 * Every cause of a heartbeat. `deadline` in the params is the missed instant, or the time of the
 * bad ping; `after` is the good ping from which it counts.
 */
export const heartbeatCauses = {
  heartbeat_late: { layer: 'heartbeat', sentence: late },
  heartbeat_failed: { layer: 'heartbeat', sentence: () => 'The job reported a failure' },
  heartbeat_exit_code: {
    layer: 'heartbeat',
    sentence: ({ exit_code }) => `The job ended with exit code ${exit_code}`,
  },
  heartbeat_unfinished: {
    layer: 'heartbeat',
    sentence: ({ max_run_ms }) =>
      `The job started and did not end within ${limit(Number(max_run_ms ?? 0))}`,
  },
  heartbeat_schedule_unread: {
    layer: 'probe',
    sentence: () => 'The probe runs on a Node older than 26, which cannot read a schedule',
  },
  heartbeat_pending: { layer: 'probe', sentence: () => 'No heartbeat has come yet' },
} satisfies Record<string, CauseRow>;

function late({ silent_ms, every_ms, schedule }: CauseParams): string {
  const silent = Number(silent_ms ?? 0);
  const expected =
    schedule === undefined
      ? `every ${agreed(Number(every_ms ?? 0), unitOf(silent)[1])}`
      : `by the schedule ${schedule}`;
  return `No heartbeat for ${span(silent)} (expected ${expected})`;
}

/** A configured duration, which must be exact, without the unit if the reader just read it. */
function agreed(ms: number, justRead: string): string {
  const [size, word] = exactUnitOf(ms);
  const count = ms / size;
  if (count === 1) return word;
  return word === justRead ? `${count}` : `${count} ${word}s`;
}

/** The largest unit that divides it. */
function exactUnitOf(ms: number) {
  return units.find(([size]) => ms >= size && ms % size === 0) ?? smallest;
}

/** The largest unit that fits twice, or exactly once: 90 seconds are not "1 minute". */
function unitOf(ms: number) {
  return units.find(([size]) => ms >= 2 * size || ms === size) ?? smallest;
}

/** A duration, rounded down: a message never states a longer silence than there was. */
function span(ms: number, [size, word] = unitOf(ms)): string {
  const count = Math.floor(ms / size);
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

function limit(ms: number): string {
  return span(ms, exactUnitOf(ms));
}
