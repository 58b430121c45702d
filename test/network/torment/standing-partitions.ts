/** Whether everything moves when nothing is wrong: a partition that stands, while whoever owns it says that he is well, is found by this alone. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Row } from './ledger.ts';

/** How long one may stand (issue: 30 s), counted from when everybody who was struck is whole again. */
const usuallyStandsMs = 30_000;
const lookMs = 500;

export const findStalled = async (parts: {
  /** Of these each must get a result that began after the calm did. */
  readonly places: readonly string[];
  readonly rowsSince: (since: number) => Promise<readonly Row[]>;
  readonly partitionOf: (place: string) => number;
  /** What coordinators say of themselves. */
  readonly health: () => Promise<string>;
  readonly standsMs?: number;
}): Promise<{ readonly standing: readonly string[]; readonly tookMs: number }> => {
  const { places, rowsSince, partitionOf, health, standsMs = usuallyStandsMs } = parts;
  const began = Date.now();
  let waiting = places;
  while (waiting.length > 0 && Date.now() - began < standsMs) {
    await pause(lookMs);
    const moved = new Set((await rowsSince(began).catch(() => [])).map(({ place }) => place));
    waiting = places.filter((place) => !moved.has(place));
  }
  const tookMs = Date.now() - began;
  if (waiting.length === 0) return { standing: [], tookMs };
  const partitions = [...new Set(waiting.map(partitionOf))].toSorted((a, b) => a - b);
  const since = new Date(began).toISOString();
  return {
    standing: [
      `partitions ${partitions.join(', ')} stood since ${since} though all was up (${waiting.join(', ')}); health: ${await health()}`,
    ],
    tookMs,
  };
};
