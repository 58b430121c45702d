import { describe, expect, test } from 'vitest';
import { checkpointOf, createState } from '../../../coordinator/core/lifecycle.ts';
import type {
  Checkpoint,
  MonitorState,
  ObservingProbe,
  Watched,
} from '../../../coordinator/core/types.ts';
import { pack, unpack } from '../../../coordinator/engine/checkpoint.ts';
import { createMonitors } from '../../../coordinator/engine/monitor-memory.ts';
import { newId } from '../../../shared/base/crypto.ts';
import fc from '../../support/random.ts';
import { story } from '../core/story.ts';

const observingProbes: readonly ObservingProbe[] = (
  ['Asia', 'Europe', 'Africa', 'Oceania', 'South America', 'North America'] as const
).map((continent) => ({
  probe: newId(),
  name: continent,
  continent,
}));

const time = fc.integer({ min: 0, max: 2_000_000_000_000 });
const watched: fc.Arbitrary<Watched> = fc
  .record({
    id: fc.uuid(),
    organisation: fc.constantFrom('a', 'b'),
    kind: fc.constantFrom('https' as const, 'dns' as const, 'heartbeat' as const),
    interval_ms: fc.constantFrom(10_000, 60_000),
    timeout_ms: fc.constantFrom(5_000, 10_000),
    continents: fc.constantFrom(null, ['Asia' as const, 'Europe' as const]),
    probe: fc.constantFrom(null, 'p'),
    config_version: fc.integer({ min: 1, max: 9 }),
    alert_after_ms: fc.constantFrom(0, 60_000),
    sampled: fc.boolean(),
    created_at: time,
    paused_at: fc.option(time),
    inside: fc.constantFrom(undefined, ['10.0.0.1'], ['10.0.0.1', '10.0.0.2']),
  })
  .map(({ inside, ...more }) => (inside === undefined ? more : { ...more, inside }));
const failure = fc.constantFrom(null, {
  began_at: 5,
  took_ms: 7,
  cause: { class: 'http_status', params: {} },
  phases: null,
  evidence: null,
  others: null,
});
const view = fc.record({
  from: fc.constantFrom(...observingProbes),
  at: time,
  ok: fc.boolean(),
  ok_at: fc.option(time),
  failing_since: fc.option(time),
  failure,
});
const broken = story(['Europe', 'Asia']);
broken.fail('Europe', 10);
const { incident, observations } = broken.state();
const gap = fc.record({ from: time, to: fc.option(time), interval_ms: fc.constant(60_000) });
const state: fc.Arbitrary<MonitorState> = fc
  .record({
    watched,
    views: fc.array(view, { maxLength: 20 }),
    clock: time,
    covered_until: time,
    decides_from: time,
    beat_at: fc.option(time),
    gaps: fc.array(gap, { maxLength: 3 }),
    last_down: fc.option(fc.record({ from: time, to: time })),
    incident: fc.constantFrom(null, incident),
  })
  .map(({ watched: of, ...more }) => ({
    ...createState(of),
    ...more,
    observations: more.incident === null ? [] : observations,
  }));

describe('the monitors of a partition', () => {
  test('are returned as they were stored, healthy or not, however many come and go', () => {
    fc.assert(
      fc.property(fc.array(state, { maxLength: 150 }), fc.array(fc.nat(200)), (states, gone) => {
        const monitors = createMonitors();
        const expected = new Map<string, MonitorState>();
        for (const [index, each] of states.entries()) {
          monitors.put(each, {
            key: index + 1,
            target: index * 3,
            changedAt: index * 5,
            due: index % 7 === 0 ? Number.POSITIVE_INFINITY : index,
          });
          expected.set(each.watched.id, each);
          const other = states[gone[index] ?? -1];
          if (!other) continue;
          monitors.remove(other.watched.id);
          expected.delete(other.watched.id);
        }
        expect(monitors.size()).toBe(expected.size);
        for (const [id, each] of expected) expect(monitors.stateOf(id)).toEqual(each);
        for (const organisation of ['a', 'b'])
          expect(monitors.openOf(organisation)).toBe(
            [...expected.values()].filter(
              (each) => each.incident && each.watched.organisation === organisation,
            ).length,
          );
        for (const { probe } of observingProbes) {
          const seen = [...expected.values()].filter(({ views }) =>
            views.some(({ from }) => from.probe === probe),
          );
          expect(new Set(monitors.seenBy(probe))).toEqual(
            new Set(seen.map((each) => each.watched.id)),
          );
        }
        const dues = monitors.dueBy(100);
        expect(dues.every((id) => expected.has(id))).toBe(true);
        for (const id of dues) monitors.postpone(id, 1_000);
        expect(monitors.dueBy(100).length).toBe(0);
      }),
    );
  });

  test('survive being packed into a checkpoint, but for the evidence of failures', () => {
    fc.assert(
      fc.property(fc.array(state, { maxLength: 30 }), (states) => {
        const rows = states.map((each, index) => ({
          key: index,
          changedAt: index * 2,
          state: each,
        }));
        const unpacked = unpack(pack(rows), (observer) => observer);
        expect(unpacked?.size).toBe(states.length);
        for (const [index, each] of states.entries()) {
          const checkpoint: Checkpoint = checkpointOf(each);
          expect(unpacked?.get(index)).toEqual({
            configVersion: each.watched.config_version,
            changedAt: index * 2,
            checkpoint,
          });
        }
      }),
    );
  });
});
