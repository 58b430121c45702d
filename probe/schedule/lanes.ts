/**
 * Bounded concurrency in lanes, so slow targets do not make fast ones wait. Checks of recently slow
 * targets have a lane of their own, rechecks another. A check that turns out slow on the fast lane
 * gives up its place there after a second.
 */
export type Lane = 'fast' | 'slow' | 'recheck';

export type Lanes = {
  /** Settles when a place is free: at once for most, for the others in order. */
  readonly enter: (lane: Lane) => Promise<LanePlace>;
  readonly inFlight: () => number;
  readonly close: () => void;
};

/** What a check holds from its start to its end. */
export type LanePlace = { readonly leave: () => void };

export const slowAfterMs = 1_000;
/** Checks that started close together are released together. */
const leastWaitMs = 100;

export function createLanes(options: { readonly concurrency: number }): Lanes {
  const capacity = Math.max(1, Math.floor(options.concurrency / 4));
  const maxOvertime = capacity;
  const lanes = { fast: emptyLane(), slow: emptyLane(), recheck: emptyLane() };
  let running = 0;
  let overtime = 0;
  /** Checks on the fast lane in order of their start; those that are done are skipped. */
  let started: Occupied[] = [];
  /** Set while there may be one to release; a probe at rest does not wake for it. */
  let timer: NodeJS.Timeout | undefined;

  return {
    enter: (lane) => {
      const { taken, queue } = lanes[lane];
      if (taken < capacity) return Promise.resolve(occupy(lane));
      return new Promise((resolve) => queue.add(resolve));
    },
    inFlight: () => running,
    close: () => clearTimeout(timer),
  };

  function occupy(lane: Lane): LanePlace {
    lanes[lane].taken += 1;
    running += 1;
    const place = new Occupied(lane, leave);
    if (lane === 'fast') {
      started.push(place);
      timer ??= setTimeout(releaseSlow, slowAfterMs);
    }
    return place;
  }

  function leave({ mode, lane }: Occupied): void {
    running -= 1;
    if (mode === 'overtime') overtime -= 1;
    else free(lane);
  }

  function free(name: Lane): void {
    const lane = lanes[name];
    lane.taken -= 1;
    const [next] = lane.queue;
    if (next === undefined) return;
    lane.queue.delete(next);
    next(occupy(name));
  }

  function releaseSlow(): void {
    const until = performance.now() - slowAfterMs;
    let passed = 0;
    for (const place of started) {
      const isOnLane = place.mode === 'on its lane';
      if (isOnLane && (place.began > until || overtime >= maxOvertime)) break;
      passed += 1;
      if (!isOnLane) continue;
      place.mode = 'overtime';
      overtime += 1;
      free(place.lane);
    }
    if (passed > 0) started = started.slice(passed);
    const [oldest] = started;
    timer = oldest && setTimeout(releaseSlow, Math.max(leastWaitMs, oldest.began - until));
  }
}

type Queue = { taken: number; readonly queue: Set<(place: LanePlace) => void> };

function emptyLane(): Queue {
  return { taken: 0, queue: new Set() };
}

class Occupied implements LanePlace {
  readonly lane: Lane;
  readonly began = performance.now();
  mode: 'on its lane' | 'overtime' | 'done' = 'on its lane';
  readonly #leave: (place: Occupied) => void;

  constructor(lane: Lane, leave: (place: Occupied) => void) {
    this.lane = lane;
    this.#leave = leave;
  }

  leave(): void {
    this.#leave(this);
    this.mode = 'done';
  }
}
