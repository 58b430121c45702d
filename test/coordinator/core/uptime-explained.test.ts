import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Cause, type Caused, explained, states, uptime } from '../../../coordinator/core/uptime.ts';

const hour = 3_600_000;
const pause: Cause = { is: 'pause' };
const gap: Cause = { is: 'gap' };
const incident = (id: string): Cause => ({ is: 'incident', id });

const caused = fc
  .tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 9 }))
  .map(([from, long, id]): Caused => ({ from, to: from + long, cause: incident(String(id)) }));
const intervals = fc.array(caused, { maxLength: 8 });
const input = fc.record({
  window: fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 })).map(([from, long]) => ({ from, to: from + long })),
  created_at: fc.integer({ min: 0, max: 300 }),
  paused: intervals,
  cover: intervals,
  down: intervals,
  unknown: intervals,
});

describe('rule 43: uptime explains itself', () => {
  test('rule 43: the stretches have no hole and no overlap, and add up to the sum state by state', () => {
    fc.assert(
      fc.property(input, (given) => {
        const stretches = explained(given);
        const begin = Math.max(given.window.from, given.created_at);
        let next = begin;
        for (const { from, to } of stretches) {
          expect(from).toBe(next);
          expect(to).toBeGreaterThan(from);
          next = to;
        }
        expect(next).toBe(Math.max(begin, stretches.length === 0 ? begin : given.window.to));
        const sums = uptime(given);
        for (const state of states) {
          const sum = stretches.filter((each) => each.state === state).reduce((all, { from, to }) => all + to - from, 0);
          expect(sum).toBe(sums[state]);
        }
      }),
    );
  });

  test('rule 43: each stretch names a cause that lies there', () => {
    fc.assert(
      fc.property(input, (given) => {
        const of = { paused: given.paused, maintenance: given.cover, down: given.down, unknown: given.unknown };
        for (const { from, to, state, cause } of explained(given)) {
          if (state === 'up') expect(cause).toBeNull();
          else expect(of[state].some((each) => each.cause === cause && each.from <= from && each.to >= to)).toBe(true);
        }
      }),
    );
  });

  test('rule 43: an outage across a maintenance window is told before and after it, by the same incident', () => {
    const window = { from: 0, to: 10 * hour };
    const upkeep: Cause = { is: 'window', id: 'w', name: 'Database' };
    expect(
      explained({
        ...{ window, created_at: 0, paused: [{ from: 9 * hour, to: 10 * hour, cause: pause }] },
        cover: [{ from: 3 * hour, to: 4 * hour, cause: upkeep }],
        down: [{ from: 2 * hour, to: 5 * hour, cause: incident('i') }],
        unknown: [{ from: 7 * hour, to: 10 * hour, cause: gap }],
      }),
    ).toEqual([
      { from: 0, to: 2 * hour, state: 'up', cause: null },
      { from: 2 * hour, to: 3 * hour, state: 'down', cause: incident('i') },
      { from: 3 * hour, to: 4 * hour, state: 'maintenance', cause: upkeep },
      { from: 4 * hour, to: 5 * hour, state: 'down', cause: incident('i') },
      { from: 5 * hour, to: 7 * hour, state: 'up', cause: null },
      { from: 7 * hour, to: 9 * hour, state: 'unknown', cause: gap },
      { from: 9 * hour, to: 10 * hour, state: 'paused', cause: pause },
    ]);
  });
});
