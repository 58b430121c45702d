import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide } from '../../../coordinator/domain/decide.ts';
import { checkpointOf, restore } from '../../../coordinator/domain/restore.ts';
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
        gaps: kept.gaps,
      });
      const bare = (views: typeof state.views) =>
        views.map((view) => ({ ...view, failure: view.failure && { ...view.failure, evidence: null } }));
      expect({ ...restored, views: bare(restored.views) }).toEqual({
        ...state,
        views: bare(state.views),
        restored: state.incident !== null,
      });
    }),
  );
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
