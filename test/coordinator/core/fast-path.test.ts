import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../coordinator/core/decide.ts';
import { coveredByPass, goesWithoutSaying } from '../../../coordinator/core/fast-path.ts';
import { createState } from '../../../coordinator/core/lifecycle.ts';
import type { MonitorState, SeenResult } from '../../../coordinator/core/types.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';

const now = 1_800_000_000_000;
const observingProbes = [
  { probe: 'a', name: 'a', continent: 'Europe' },
  { probe: 'b', name: 'b', continent: 'Asia' },
] as const;
const network: Roster = {
  epoch: 1,
  probes: observingProbes.map(({ probe, ...rest }) => ({ ...rest, id: probe, organisation: null, healthy: true, quarantined: false })),
};

const state: MonitorState = {
  ...createState({
    ...{
      id: 'm',
      organisation: 'o',
      kind: 'https',
      interval_ms: 30_000,
      timeout_ms: 5_000,
      continents: null,
      probe: null,
      paused_at: null,
    },
    ...{ config_version: 2, alert_after_ms: 0, sampled: true, created_at: now - 300_000 },
  }),
  clock: now - 30_000,
  covered_until: now + 20_000,
  views: observingProbes.map((from, nth) => ({
    from,
    at: now - 30_000 * (nth + 1),
    ok: true,
    ok_at: now - 30_000 * (nth + 1),
    failure: null,
  })),
};
const pass: SeenResult = {
  ...{ seq: 1, monitor: 'm', config_version: 2, at: now, took_ms: 5, outcome: 'ok', cause: null, phases: null, evidence: null, look: null },
  ...{ from: observingProbes[0], quarantined: false, handed_over: false },
};
const says = ({ watched, clock, covered_until, decides_from, gaps }: MonitorState, result: SeenResult): boolean => {
  const last = gaps.at(-1);
  const gaps_until = last ? (last.to ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY;
  return goesWithoutSaying(result, watched, { ...watched, clock, covered_until, decides_from, gaps_until }, now);
};

describe('what goes without saying', () => {
  test('is a pass of a monitor that is well', () => {
    expect(says(state, pass)).toBe(true);
  });

  const watched = (change: Partial<MonitorState['watched']>): MonitorState => ({ ...state, watched: { ...state.watched, ...change } });
  const missed = { class: 'heartbeat_late', params: { deadline: now - 60_000 } };
  test.each<[string, MonitorState, Partial<SeenResult>]>([
    ['a failure', state, { outcome: 'fail', cause: { class: 'http_status', params: {} } }],
    ['what says nothing', state, { outcome: 'unknown' }],
    ['a pass with a cause, which may tell of an earlier moment', state, { cause: missed }],
    ['a pass of who is quarantined', state, { quarantined: true }],
    ['a pass while the last one came by a clock that has been set back', { ...state, clock: now + 5_001 }, {}],
    ['a pass by a clock that is wrong', state, { at: now + 5_001 }],
    ['a pass of another version', state, { config_version: 1 }],
    ['a pass of a heartbeat', watched({ kind: 'heartbeat' }), {}],
    ['a pass while it is paused', watched({ paused_at: now - 1 }), {}],
    ['a pass from before a pause', { ...state, decides_from: now + 1 }, {}],
    ['a pass from a continent that may not check it', watched({ continents: ['Asia'] }), {}],
    ['a pass by another probe than its own', watched({ probe: 'b' }), {}],
    ['a pass after time without one', { ...state, covered_until: now - 1 }, {}],
    ['a pass within a gap', { ...state, gaps: [{ from: now - 90_000, to: now + 1, interval_ms: 30_000 }] }, {}],
    ['a pass while a gap lasts', { ...state, gaps: [{ from: now - 90_000, to: null, interval_ms: 30_000 }] }, {}],
  ])('is not %s', (_, of, change) => {
    expect(says(of, { ...pass, ...change })).toBe(false);
  });

  test('has no effect but a newer view and more time covered, whatever the monitor and the pass', () => {
    const monitor = fc.record({
      watched: fc.record({
        kind: fc.constantFrom('https' as const, 'dns' as const, 'heartbeat' as const),
        continents: fc.constantFrom(null, ['Europe' as const], ['Asia' as const]),
        probe: fc.constantFrom(null, null, 'a', 'b'),
        paused_at: fc.constantFrom(null, null, now - 40_000),
      }),
      covered_until: fc.integer({ min: -40, max: 40 }).map((s) => now + s * 1_000),
      decides_from: fc.constantFrom(0, 0, now - 20_000),
      gaps: fc.constantFrom(
        [],
        [{ from: now - 90_000, to: now - 50_000, interval_ms: 30_000 }],
        [{ from: now - 50_000, to: now - 10_000, interval_ms: 30_000 }],
        [{ from: now - 20_000, to: null, interval_ms: 30_000 }],
      ),
    });
    const said = fc.record({
      at: fc.integer({ min: -60, max: 7 }).map((s) => now + s * 1_000),
      outcome: fc.constantFrom('ok' as const, 'ok' as const, 'ok' as const, 'fail' as const, 'unknown' as const),
      config_version: fc.constantFrom(1, 2, 2, 2, 3),
      cause: fc.constantFrom(null, null, missed),
      from: fc.constantFrom(...observingProbes),
      quarantined: fc.constantFrom(false, false, true),
    });
    let count = 0;
    fc.assert(
      fc.property(monitor, said, ({ watched: terms, ...rest }, change) => {
        const of: MonitorState = { ...state, ...rest, watched: { ...state.watched, ...terms } };
        const result: SeenResult = { ...pass, ...change };
        fc.pre(says(of, result));
        count += 1;
        const { state: after, effects } = decide(of, { is: 'result', result }, { now, network, newId: () => 'new' });
        expect(effects).toEqual([]);
        const { at } = result;
        const views = of.views.map((view) => (view.from.probe === result.from.probe && at > view.at ? { ...view, at, ok_at: at } : view));
        expect(after).toEqual({
          ...of,
          views,
          clock: Math.max(of.clock, at),
          covered_until: coveredByPass(at, of.watched, of.covered_until),
        });
      }),
      { numRuns: 300 },
    );
    expect(count).toBeGreaterThan(290);
  });
});
