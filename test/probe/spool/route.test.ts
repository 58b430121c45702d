import { describe, expect, test } from 'vitest';
import {
  afterLoss,
  askedToRewind,
  came,
  committedUpTo,
  failed,
  isLost,
  isRewindDue,
  landed,
  landedUpTo,
  left,
  maxFlights,
  mayLeave,
  newRoute,
  type Route,
  reconnected,
  rewound,
  taken,
} from '../../../probe/spool/senders.ts';

/** A route with these numbers in flight, each the last of its batch. */
const flying = (...lasts: readonly number[]) => {
  let route: Route = newRoute(40_000);
  const flights = lasts.map((last, nth) => {
    const gone = left(route, last, 1_000 + nth);
    route = gone.route;
    return gone.flight;
  });
  return { route, flights };
};

describe('the route of a partition', () => {
  test('waits since the first result that came, until what waits is taken', () => {
    const waiting = came(came(newRoute(1), 5), 9);
    expect(waiting.waitingSince).toBe(5);
    expect(taken(waiting).waitingSince).toBeUndefined();
  });

  test('has landed up to where the first flight that is out began, whatever landed behind it', () => {
    const { route, flights } = flying(10, 20, 30);
    const [first, second] = flights;
    if (!first || !second) throw new Error('nothing flies');
    expect(landedUpTo(route)).toBe(0);
    expect(landedUpTo(landed(route, second))).toBe(0);
    expect(landedUpTo(landed(landed(route, second), first))).toBe(20);
  });

  test('lets only so many be in flight', () => {
    const lasts = Array.from({ length: maxFlights }, (_, nth) => nth + 1);
    expect(mayLeave(flying(...lasts.slice(1)).route)).toBe(true);
    expect(mayLeave(flying(...lasts).route)).toBe(false);
  });

  test('goes back to before a flight that failed, and pays no heed to one that was given up with the connection', () => {
    const { route, flights } = flying(10, 20);
    const [first, second] = flights;
    if (!first || !second) throw new Error('nothing flies');
    const back = failed(route, second);
    expect(back).toMatchObject({ sent: 10, flights: [first] });
    expect(failed(reconnected(route, 5_000), second)).toBeUndefined();
    // An earlier one that fails afterwards takes all behind it along.
    expect(back && failed(back, first)).toMatchObject({ sent: 0, flights: [] });
  });

  test('sends again what was in flight when the connection broke, and is less patient with a bus that may have come back empty', () => {
    const { route, flights } = flying(10, 20);
    const [first] = flights;
    if (!first) throw new Error('nothing flies');
    expect(reconnected(landed(route, first), 9_000)).toMatchObject({ sent: 10, flights: [], outstandingSince: 9_000, patienceMs: 10_000 });
    expect(reconnected(newRoute(40_000), 9_000)).toMatchObject({ sent: 0, outstandingSince: undefined, patienceMs: 40_000 });
  });

  test('goes back to what is committed, at most once a second on a reported gap, and nowhere if nothing beyond was sent', () => {
    const { route } = flying(10);
    const asked = askedToRewind(route);
    expect(isRewindDue(route, 3_000)).toBe(false);
    expect(isRewindDue(asked, 3_000)).toBe(true);
    const back = rewound(asked, 4, 3_000);
    expect(back).toMatchObject({ sent: 4, rewoundAt: 3_000 });
    expect(back && isRewindDue(back, 3_900)).toBe(false);
    expect(rewound(route, 10, 3_000)).toBeUndefined();
  });

  test('is lost when what landed is not committed in its time, and each time waits twice as long, ten minutes at most', () => {
    const { route, flights } = flying(10);
    const [only] = flights;
    if (!only) throw new Error('nothing flies');
    const down = landed(route, only);
    expect(isLost(route, 100_000)).toBe(false);
    expect(isLost(down, 40_999)).toBe(false);
    expect(isLost(down, 41_000)).toBe(true);
    expect(isLost(committedUpTo(down, 10, 2_000, 40_000), 100_000)).toBe(false);
    expect(isLost(committedUpTo(down, 5, 2_000, 40_000), 42_000)).toBe(true);
    let again = down;
    for (let time = 0; time < 8; time += 1) again = afterLoss(again);
    expect(again.patienceMs).toBe(600_000);
  });
});
