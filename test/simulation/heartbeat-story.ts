import type { Run } from '../../shared/checks/heartbeat/state.ts';
import { createChance } from './story.ts';

/**
 * A job's life and what befalls those who watch it, made from a seed: pings as they were sent, and
 * stretches in which a part was away.
 */

export type Ping = {
  readonly id: string;
  readonly at: number;
  readonly kind: 'success' | 'fail' | 'start' | 'log';
  readonly rid: Run['rid'];
  readonly exit_code: number | null;
};
export type Away = {
  readonly is: 'bus away' | 'coordinator down' | 'judge cut off' | 'database refuses';
  readonly at: number;
  readonly until: number;
};
export type HeartbeatStory = {
  readonly seed: number;
  readonly start: number;
  readonly end: number;
  readonly interval_ms: number;
  readonly grace_ms: number;
  readonly max_run_ms: number | null;
  readonly pings: readonly Ping[];
  readonly aways: readonly Away[];
};

const second = 1_000;
const epoch = 1_800_000_000_000;

export const makeHeartbeatStory = (seed: number): HeartbeatStory => {
  const chance = createChance(seed);
  const interval_ms = chance.pick([30, 60, 300, 900]) * second;
  const grace_ms = chance.pick([0, 5, 30, 120]) * second;
  const max_run_ms = chance.happens(0.6) ? chance.pick([10, 45, 200]) * second : null;
  const start = epoch + chance.between(0, 86_400) * second;
  const pings: Ping[] = [];
  let time = start;
  let count = 0;
  const ping = (kind: Ping['kind'], rid: string | null = null, exit_code: number | null = null) => {
    count += 1;
    pings.push({ id: `beat-${count}`, at: time, kind, rid, exit_code });
  };
  const wait = (least: number, most: number) => {
    time += 1 + chance.between(Math.floor(least), Math.floor(most));
  };
  const fail = (rid: string | null = null) => {
    const isByCode = chance.happens(0.5);
    ping('fail', rid, isByCode ? chance.between(1, 255) : null);
  };
  const run = () => {
    const limit = max_run_ms ?? interval_ms / 2;
    const rid = chance.happens(0.7) ? `run-${count}` : null;
    ping('start', rid);
    if (chance.happens(0.15)) return;
    wait(10, limit * chance.pick([0.3, 0.9, 1.5]));
    if (chance.happens(0.2)) ping('log', rid);
    if (chance.happens(0.2)) {
      // Another run begins before this one is over.
      wait(5, 200);
      ping('start', `beside-${count}`);
    }
    wait(5, 200);
    if (chance.happens(0.15)) fail(rid);
    else ping('success', rid);
  };
  // Some jobs hang in their first runs, and say nothing but that they begin.
  const hanging = createChance(seed + 1_000_003);
  for (let left = hanging.happens(0.4) ? hanging.between(1, 4) : 0; left > 0; left -= 1) {
    ping('start', hanging.happens(0.5) ? `hung-${left}` : null);
    time += 1 + hanging.between(1_000, (interval_ms + grace_ms) * 2);
  }
  while (pings.length < 60) {
    // Mostly in time, sometimes at the very edge of it, sometimes far too late.
    const edge = interval_ms + grace_ms;
    const [least, most] = chance.pick([
      [interval_ms * 0.2, interval_ms * 0.9],
      [interval_ms * 0.8, interval_ms],
      [edge - 2 * second, edge + 2 * second],
      [edge, edge * 5],
    ] as const);
    wait(chance.happens(0.15) ? 1 : least, most);
    const roll = chance.next();
    if (roll < 0.55) ping('success');
    else if (roll < 0.85) run();
    else if (roll < 0.95) fail();
    else ping('log');
  }
  const aways: Away[] = [];
  for (let at = start + chance.between(1, 20) * interval_ms; at < time; ) {
    const long = chance.pick([2, 12, 40, 300]) * second;
    aways.push({
      is: chance.pick(['bus away', 'coordinator down', 'judge cut off'] as const),
      at,
      until: at + long,
    });
    at += long + 120 * second + chance.between(0, 15) * interval_ms;
  }
  // From a chance of its own, so that all else stays as it is.
  const refusing = createChance(seed + 5_000_003);
  for (let at = start + refusing.between(1, 20) * interval_ms; at < time; ) {
    const long = refusing.pick([1, 5, 40]) * second;
    const [from, to] = [at - 60 * second, at + long + 60 * second];
    if (aways.every(({ at: other, until }) => until < from || other > to))
      aways.push({ is: 'database refuses', at, until: at + long });
    at += long + 120 * second + refusing.between(0, 25) * interval_ms;
  }
  return {
    seed,
    start,
    end: time + 6 * (interval_ms + grace_ms) + 400 * second,
    interval_ms,
    grace_ms,
    max_run_ms,
    pings,
    aways,
  };
};

export const jobDays = ({ start, end }: HeartbeatStory): number =>
  (end - start) / (86_400 * second);
