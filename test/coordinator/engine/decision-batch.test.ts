import { describe, expect, test } from 'vitest';
import { decide, nextTick } from '../../../coordinator/core/decide.ts';
import { createState } from '../../../coordinator/core/lifecycle.ts';
import type {
  Gap,
  MonitorEvent,
  MonitorState,
  ObservingProbe,
  SeenResult,
} from '../../../coordinator/core/types.ts';
import {
  beginDecisions,
  decideOn,
  incidentOf,
  stateOf,
  takeRoutine,
} from '../../../coordinator/engine/decision-batch.ts';
import { createMonitors } from '../../../coordinator/engine/monitor-memory.ts';
import {
  needsFirstChecks,
  noPendingFirstChecks,
  notePendingFirstCheck,
  reviewFirstChecks,
} from '../../../coordinator/engine/rechecks.ts';
import { adopt, unitOf } from '../../../coordinator/engine/results.ts';
import type { PartitionState } from '../../../coordinator/engine/state.ts';
import { createHours } from '../../../coordinator/results/hours.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { batchOf } from '../../../shared/bus/batch.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { noPhases } from '../../../shared/checks/result.ts';
import fc from '../../support/random.ts';

/**
 * A batch of decisions keeps what it can as numbers. Whether it does or not, the states after it
 * are those that the core decides.
 */
const observingProbes: readonly ObservingProbe[] = (
  ['Asia', 'Europe', 'Africa', 'Europe'] as const
).map((continent, nth) => ({
  probe: newId(),
  name: `${continent} ${nth}`,
  continent,
}));
const network: Roster = {
  epoch: 1,
  probes: observingProbes.map(({ probe, name, continent }, nth) => ({
    id: probe,
    name,
    continent,
    organisation: null,
    healthy: nth !== 3,
    quarantined: false,
  })),
};
const now = 1_700_000_000_000;
const ids = ['a', 'b', 'c'] as const;

const seldom = <Value>(usual: Value, other: Value): fc.Arbitrary<Value> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constant(other) },
  );
const near = fc.integer({ min: -400, max: 10 }).map((s) => now + s * 1_000);

const state = fc
  .record({
    kind: seldom<'https' | 'heartbeat'>('https', 'heartbeat'),
    continents: seldom<readonly ('Asia' | 'Europe')[] | null>(null, ['Asia', 'Europe']),
    created_at: fc.constant(now - 300_000),
    paused_at: seldom<number | null>(null, now - 5_000),
    views: fc.uniqueArray(fc.record({ from: fc.constantFrom(...observingProbes), at: near }), {
      selector: ({ from }) => from.probe,
      minLength: 1,
      maxLength: 3,
    }),
    covered_until: near.map((at) => at + 150_000),
    decides_from: seldom(now - 300_000, now - 60_000),
    gap: fc.constantFrom<Gap | null>(
      null,
      { from: now - 300_000, to: now - 250_000, interval_ms: 60_000 },
      { from: now - 100_000, to: null, interval_ms: 60_000 },
    ),
  })
  .map(
    ({
      kind,
      continents,
      created_at,
      paused_at,
      views,
      gap,
      covered_until,
      decides_from,
    }): Omit<MonitorState, 'id'> => {
      const watched = {
        id: '',
        organisation: 'o',
        kind,
        interval_ms: 60_000,
        timeout_ms: 10_000,
        continents,
        probe: null,
        config_version: 2,
        alert_after_ms: 0,
        sampled: true,
        created_at,
        paused_at,
      };
      return {
        ...createState(watched),
        covered_until: gap && gap.to === null ? gap.from : covered_until,
        decides_from,
        gaps: gap ? [gap] : [],
        views: views.map(({ from, at }) => ({
          from,
          at,
          ok: true,
          ok_at: at,
          failing_since: null,
          failure: null,
        })),
      };
    },
  );

const result = (monitor: string): fc.Arbitrary<SeenResult> =>
  fc
    .record({
      at: near,
      from: fc.constantFrom(...observingProbes),
      outcome: fc.oneof(
        { weight: 18, arbitrary: fc.constant('ok' as const) },
        { weight: 2, arbitrary: fc.constantFrom('fail' as const, 'unknown' as const) },
      ),
      config_version: seldom(2, 1),
      quarantined: seldom(false, true),
      handed_over: seldom(false, true),
    })
    .map((some) => ({
      ...some,
      seq: 1,
      monitor,
      took_ms: 5,
      phases: null,
      evidence: null,
      look: null,
      cause: some.outcome === 'ok' ? null : { class: 'http_status', params: {} },
    }));

type Step = { readonly monitor: string; readonly event: MonitorEvent | 'ask' };
const step: fc.Arbitrary<Step> = fc.constantFrom(...ids).chain((monitor) =>
  fc
    .oneof(
      {
        weight: 12,
        arbitrary: result(monitor).map((seen): Step['event'] => ({ is: 'result', result: seen })),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom<Step['event']>({ is: 'tick' }, { is: 'paused', at: now }, 'ask'),
      },
    )
    .map((event) => ({ monitor, event })),
);

const counting = () => {
  let next = 0;
  return () => {
    next += 1;
    return `id ${next}`;
  };
};

/** What is decided makes ids of its own; two who decide the same make different ones. */
const withoutIds = (value: MonitorState | undefined): unknown =>
  JSON.parse(JSON.stringify(value, (key, part) => (key === 'id' || key === 'look' ? '' : part)));

const emptyPartition = (): PartitionState => ({
  lease: { partition: 0, epoch: 1 },
  monitors: createMonitors(),
  watermarks: new Map(),
  nextDue: Number.POSITIVE_INFINITY,
  unpublished: new Set(),
  firstChecks: noPendingFirstChecks(),
  hours: createHours(),
  earlier: undefined,
  sealing: undefined,
});

describe('a round of a partition', () => {
  test('asks for the first checks of many new monitors in several turns, and goes on as probes change', () => {
    const partition = emptyPartition();
    const { monitors, firstChecks } = partition;
    const names = Array.from({ length: 600 }, (_, nth) => `monitor ${nth}`);
    for (const [nth, id] of names.entries()) {
      const made = createState({
        id,
        organisation: 'o',
        kind: 'https',
        interval_ms: 3_600_000,
        timeout_ms: 10_000,
        continents: null,
        probe: null,
        config_version: 1,
        alert_after_ms: 0,
        sampled: true,
        created_at: now,
        paused_at: null,
      });
      monitors.put(made, { key: nth + 1, target: nth, changedAt: 0, due: Number.MAX_VALUE });
      notePendingFirstCheck(firstChecks, made);
    }
    const turn = (roster: Roster, at: number): number => {
      const decisions = beginDecisions(partition, roster, at);
      reviewFirstChecks(firstChecks, decisions, roster, at);
      return decisions.rechecks.length;
    };
    const awaited = () =>
      [...firstChecks.awaited.values()].filter((each) => each !== undefined).length;
    turn(network, now);
    expect(awaited()).toBe(250);
    const next = { ...network, epoch: 2 };
    for (let turns = 0; turns < 2; turns += 1) turn(next, now);
    expect(awaited()).toBe(600);
    while (needsFirstChecks(firstChecks, next, now)) expect(turn(next, now)).toBe(0);

    // All of them are lost, and asked for again, each once.
    const end = Math.max(...[...firstChecks.awaited.values()].map((each) => each?.until ?? 0));
    let asked = 0;
    while (needsFirstChecks(firstChecks, next, end)) asked += turn(next, end);
    expect(asked).toBeGreaterThan(590);
    expect(asked).toBeLessThanOrEqual(600);
  });

  test('leaves the states that the core decides, however much of it was done by numbers alone', () => {
    let quiet = 0;
    fc.assert(
      fc.property(
        fc.array(state, { minLength: 3, maxLength: 3 }),
        fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 3 }),
        (made, rounds) => {
          const partition = emptyPartition();
          const { monitors } = partition;
          // As in life, no incident has the id of another.
          const newId = counting();
          const expected = new Map<string, MonitorState>();
          for (const [nth, id] of ids.entries()) {
            const from = made[nth];
            if (!from) continue;
            const each = { ...from, watched: { ...from.watched, id } };
            expected.set(id, each);
            monitors.put(each, {
              key: nth + 1,
              target: nth,
              changedAt: 0,
              due: nextTick(each, network) ?? Number.POSITIVE_INFINITY,
            });
          }
          for (const steps of rounds) {
            const decisions = beginDecisions(partition, network, now);
            const loud = new Set<string>();
            let effects = 0;
            for (const { monitor, event } of steps) {
              const before = expected.get(monitor);
              if (!before) continue;
              if (event === 'ask') {
                expect(withoutIds(stateOf(decisions, monitor))).toEqual(withoutIds(before));
                loud.add(monitor);
                continue;
              }
              const slot = monitors.slotOf(monitor);
              const isQuiet =
                event.is === 'result' &&
                slot !== undefined &&
                !loud.has(monitor) &&
                monitors.isRoutinePassAt(slot, event.result, { now, network });
              if (isQuiet) {
                const { result: seen } = event;
                const batch = batchOf(
                  { probe: seen.from.probe, generation: newId(), partition: 0, after: null },
                  [{ ...seen, phases: noPhases }],
                );
                takeRoutine(decisions, {
                  from: seen.from,
                  batch,
                  slots: Int32Array.of(slot),
                });
                quiet += 1;
              } else {
                decideOn(decisions, monitor, event);
                loud.add(monitor);
              }
              const decided = decide(before, event, { now, network, newId });
              effects += decided.effects.length;
              expected.set(monitor, decided.state);
              expect(incidentOf(decisions, monitor) !== null).toBe(decided.state.incident !== null);
            }
            const { incidents, evidence, ledger, alerts, alone } = unitOf(decisions);
            expect(
              [incidents, evidence, ledger, alerts, alone, decisions.rechecks].flat().length,
            ).toBe(effects);
            adopt(decisions);
            for (const [id, each] of expected) {
              expect(withoutIds(monitors.stateOf(id))).toEqual(withoutIds(each));
              const due = nextTick(each, network) ?? Number.POSITIVE_INFINITY;
              if (steps.some(({ monitor, event }) => monitor === id && event !== 'ask')) {
                expect(
                  monitors
                    .dueBy(due === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : due - 1)
                    .includes(id),
                ).toBe(false);
                expect(monitors.dueBy(due).includes(id)).toBe(true);
                expect(partition.nextDue).toBeLessThanOrEqual(due);
              }
            }
          }
        },
      ),
      { numRuns: 1_000 },
    );
    // The point of it: were nothing done by numbers, the test would hold nothing.
    expect(quiet).toBeGreaterThan(200);
  });
});
