import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../coordinator/core/decide.ts';
import { checkpointOf, nextTick, restore } from '../../../coordinator/core/lifecycle.ts';
import type { MonitorState, SeenResult, Watched } from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { at, rosterOf, story } from './story.ts';

const step = fc.record({
  ok: fc.boolean(),
  where: fc.constantFrom<Continent>('Europe', 'Asia', 'Africa'),
  wait: fc.integer({ min: 1, max: 90 }),
});

test('a state is plain data, and is rebuilt from checkpoint, open incident and ledger as it was', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const told = story(['Europe', 'Asia', 'Africa']);
      let second = 0;
      for (const { ok, where, wait } of steps) {
        second += wait;
        told.result(ok ? 'ok' : 'fail', where, second);
        told.tick(second + 0.5);
      }
      const state = told.state();
      const kept: typeof state = JSON.parse(JSON.stringify(state));
      const restored = restore({
        watched: kept.watched,
        checkpoint: checkpointOf(kept),
        results: [],
        resumed_at: null,
        incident: kept.incident,
        last_down: kept.last_down,
        gaps: kept.gaps,
      });
      const bare = (views: typeof state.views) =>
        views.map((view) => ({ ...view, failure: view.failure && { ...view.failure, evidence: null } }));
      // What dates it anew is read from what was stored.
      expect({ ...restored, views: bare(restored.views), sightings: [] }).toEqual({
        ...state,
        views: bare(state.views),
        sightings: [],
        restored: state.incident !== null,
      });
    }),
  );
});

describe('a state that is rebuilt from a checkpoint and what was stored after it', () => {
  const seen = (continent: Continent, second: number, more: Partial<SeenResult> = {}): SeenResult => ({
    ...{ seq: 1, monitor: 'monitor', config_version: 1, at: at(second), took_ms: 50, outcome: 'ok', cause: null, phases: null },
    ...{ evidence: null, look: null, quarantined: false, handed_over: false },
    from: { probe: `probe-${continent}`, name: continent, continent },
    ...more,
  });
  const rebuilt = (results: readonly SeenResult[], watched: Partial<Watched> = {}, resumed_at: number | null = null) => {
    const told = story(['Europe', 'Asia'], watched);
    told.pass('Europe', 10);
    const { watched: known } = told.state();
    return restore({ watched: known, checkpoint: checkpointOf(told.state()), results, resumed_at, incident: null, gaps: [] });
  };
  const ats = ({ views }: MonitorState) => views.map((view) => [view.from.continent, (view.at - at(0)) / 1000, view.ok]);

  test('has what came since, in whatever order', () => {
    const results = [seen('Asia', 50, { outcome: 'fail' }), seen('Europe', 40), seen('Asia', 20)];
    for (const list of [results, results.toReversed()]) {
      const state = rebuilt(list);
      expect(ats(state)).toEqual([
        ['Europe', 40, true],
        ['Asia', 50, false],
      ]);
      expect([state.clock, state.covered_until]).toEqual([at(50), at(50 + 130)]);
    }
  });

  test('not what is unknown, of a probe in quarantine, of another version, of who may not check it, or from before it was resumed', () => {
    const none = [
      rebuilt([seen('Asia', 50, { outcome: 'unknown' })]),
      rebuilt([seen('Asia', 50, { quarantined: true })]),
      rebuilt([seen('Asia', 50, { config_version: 2 })]),
      rebuilt([seen('Asia', 50)], { continents: ['Europe'] }),
    ];
    for (const state of none) {
      expect(ats(state)).toEqual([['Europe', 10, true]]);
      expect(state.clock).toBe(at(10));
    }
    // What tells nothing covers nothing; what only decides nothing covers all the same.
    expect(none.map(({ covered_until }) => (covered_until - at(0)) / 1000)).toEqual([140, 140, 180, 180]);
    const resumed = rebuilt(
      [seen('Asia', 50), seen('Asia', 60, { from: { probe: 'second', name: 'second', continent: 'Asia' } })],
      {},
      at(60),
    );
    expect(ats(resumed)).toEqual([['Asia', 60, true]]);
    expect(resumed.decides_from).toBe(at(60));
  });

  test('and a heartbeat is covered by failures of its probes, not by their passes', () => {
    const heartbeat = { kind: 'heartbeat' } as const;
    expect(rebuilt([seen('Asia', 50)], heartbeat).covered_until).toBe(at(0));
    expect(rebuilt([seen('Asia', 50, { outcome: 'fail' })], heartbeat).covered_until).toBe(at(180));
  });

  test('and a paused monitor sees nothing, and an open gap says until when time was covered', () => {
    const told = story(['Europe', 'Asia'], { paused_at: at(5) });
    const base = { watched: told.state().watched, checkpoint: null, resumed_at: null, incident: null };
    expect(restore({ ...base, results: [seen('Asia', 50)], gaps: [] }).views).toEqual([]);
    const gaps = [
      { from: at(20), to: at(30), interval_ms: 60_000 },
      { from: at(200), to: null, interval_ms: 60_000 },
    ];
    expect(restore({ ...base, results: [seen('Asia', 50)], gaps }).covered_until).toBe(at(200));
    expect(restore({ ...base, results: [seen('Asia', 50)], gaps: gaps.slice(0, 1) }).covered_until).toBe(at(180));
  });

  test('and a checkpoint leaves out the evidence of failures and nothing else', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Asia', 5);
    told.fail('Europe', 10);
    const [pass, failure] = told.state().views;
    expect(failure?.failure?.evidence).not.toBeNull();
    expect(checkpointOf(told.state()).views).toEqual([pass, { ...failure, failure: { ...failure?.failure, evidence: null } }]);
  });
});

describe('the next tick', () => {
  test('of a monitor that is well is when a gap would be noticed, and there is none while it is paused or a gap lasts', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 10);
    expect(told.nextTick()).toBe(at(10 + 130 + 5));
    told.tick(150);
    expect(told.nextTick()).toBeNull();
    told.pass('Europe', 200);
    expect(told.nextTick()).toBe(at(335));
    told.tell({ is: 'paused', at: at(210) }, 210);
    expect(told.nextTick()).toBeNull();
  });

  test('of an open incident is its next sample, or its end as unobserved, or at once when nobody was asked yet', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    expect(told.nextTick()).toBe(at(15.1));
    const still = story(['Europe', 'Asia'], { sampled: false, interval_ms: 20_000, timeout_ms: 30_000 });
    still.fail('Europe', 10);
    expect(still.nextTick()).toBe(at(10 + 70 + 5));
    still.tick(86);
    expect(still.nextTick()).toBe(at(10 + 80));
    const past = story(['Europe', 'Asia'], { sampled: false });
    past.fail('Europe', 10, { handed_over: true, arrives: 30 });
    expect(past.nextTick()).toBe(at(10));
    past.fail('Asia', 11, { handed_over: true, arrives: 30 });
    expect(past.nextTick()).toBe(at(11 + 130 + 5));
    // After a restart it is at once: what was being asked may have been lost.
    expect(nextTick({ ...past.state(), restored: true }, rosterOf(['Europe', 'Asia']))).toBe(at(11));
  });
});

test('rule 9: what was being asked is asked again after a restart, once', () => {
  const told = story(['Europe', 'Asia']);
  told.fail('Europe', 10);
  const { watched, incident, gaps } = told.state();
  const restored = restore({ watched, checkpoint: checkpointOf(told.state()), results: [], resumed_at: null, incident, gaps });
  const moment = { now: at(20), network: rosterOf(['Europe', 'Asia']), newId: () => 'look' };
  const first = decide(restored, { is: 'tick' }, moment);
  expect(first.effects).toContainEqual({ is: 'look', look: 'look', continents: ['Asia'], why: 'again' });
  const again = decide(first.state, { is: 'tick' }, moment).effects.filter((effect) => effect.is === 'look' && effect.why !== 'sample');
  expect(again).toEqual([]);
});
