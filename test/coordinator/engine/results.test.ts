import { describe, expect, test } from 'vitest';
import { byStart } from '../../../coordinator/core/backlog.ts';
import { decide, nextTick } from '../../../coordinator/core/decide.ts';
import { createState } from '../../../coordinator/core/lifecycle.ts';
import type { MonitorState, SeenResult } from '../../../coordinator/core/types.ts';
import { countsAs } from '../../../coordinator/core/views.ts';
import { createMonitors } from '../../../coordinator/engine/monitor-memory.ts';
import { noPendingFirstChecks } from '../../../coordinator/engine/rechecks.ts';
import { adopt, decideBatches, locate, unitOf } from '../../../coordinator/engine/results.ts';
import type { PartitionState } from '../../../coordinator/engine/state.ts';
import { usualTiming } from '../../../coordinator/engine/timing.ts';
import { createHours, newestIn } from '../../../coordinator/results/hours.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { batchOf, batchText, passText, wholeText } from '../../../shared/bus/batch.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { outcomes, type Result } from '../../../shared/checks/result.ts';
import { probeRow } from '../../support/probe-rows.ts';
import fc from '../../support/random.ts';

const now = 1_700_000_000_000;
const probes = (['Asia', 'Europe', 'Africa'] as const).map((continent, nth) =>
  probeRow(continent, now, { key: nth + 1, continent }),
);
const network: Roster = {
  epoch: 1,
  probes: probes.map(({ id, name, continent }) => ({
    id,
    name,
    continent,
    organisation: null,
    healthy: true,
    quarantined: false,
  })),
};
const ids = Array.from({ length: 8 }, newId);
const generation = newId();

const result: fc.Arbitrary<Omit<Result, 'seq'>> = fc
  .record({
    monitor: fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.constant(newId()) },
    ),
    at: fc.integer({ min: -70, max: 1 }).map((s) => now + s * 1_000),
    outcome: fc.oneof(
      { weight: 20, arbitrary: fc.constant('ok' as const) },
      { weight: 1, arbitrary: fc.constant('fail' as const) },
    ),
    config_version: fc.oneof(
      { weight: 20, arbitrary: fc.constant(2) },
      { weight: 1, arbitrary: fc.constantFrom(1, 3) },
    ),
  })
  .map((some) => ({
    ...some,
    took_ms: 5,
    look: null,
    phases: { dns: 1, tcp: null, tls: 2, first_byte: 3, total: 5 },
    cause: some.outcome === 'ok' ? null : { class: 'http_status', params: {} },
    evidence: some.outcome === 'ok' ? null : {},
  }));

const stateFor = (known: readonly number[]): MonitorState => ({
  ...createState({
    id: '',
    organisation: newId(),
    kind: 'https',
    interval_ms: 30_000,
    timeout_ms: 5_000,
    continents: null,
    probe: null,
    config_version: 2,
    alert_after_ms: 0,
    sampled: true,
    created_at: now - 300_000,
    paused_at: null,
  }),
  covered_until: now - 10_000,
  views: known.flatMap((nth) => {
    const probe = probes[nth];
    const from = probe && { probe: probe.id, name: probe.name, continent: probe.continent };
    return from
      ? [
          {
            from,
            at: now - 60_000,
            ok: true,
            ok_at: now - 60_000,
            failing_since: null,
            failure: null,
          },
        ]
      : [];
  }),
});

const withoutIds = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (key, part) => (key === 'id' || key === 'look' ? '' : part)),
  );

describe('a set of batches', () => {
  test('decides the same as each of its results in order of start, however many of them are routine passes', () => {
    let quiet = 0;
    let loud = 0;
    fc.assert(
      fc.property(
        fc.array(fc.subarray([0, 1, 2], { minLength: 2 }), {
          minLength: ids.length,
          maxLength: ids.length,
        }),
        fc.array(fc.array(result, { minLength: 1, maxLength: 8 }), {
          minLength: probes.length,
          maxLength: probes.length,
        }),
        fc.boolean(),
        fc.boolean(),
        (known, said, attentive, isQuarantined) => {
          const monitors = createMonitors();
          const state: PartitionState = {
            lease: { partition: 0, epoch: 1 },
            monitors,
            watermarks: new Map(),
            nextDue: Number.POSITIVE_INFINITY,
            unpublished: new Set(),
            firstChecks: noPendingFirstChecks(),
            hours: createHours(),
            earlier: undefined,
            sealing: undefined,
          };
          const expected = new Map<string, MonitorState>();
          for (const [nth, id] of ids.entries()) {
            const made = stateFor(known[nth] ?? []);
            const each = { ...made, watched: { ...made.watched, id } };
            expected.set(id, each);
            monitors.put(each, {
              key: nth + 1,
              target: nth,
              changedAt: 0,
              due: nextTick(each, network) ?? Number.POSITIVE_INFINITY,
            });
          }
          const isOut = (nth: number): boolean => isQuarantined && nth === 2;
          const batches = probes.flatMap((row, nth) => {
            const probe = { ...row, quarantined_at: isOut(nth) ? now : null };
            const results = (said[nth] ?? []).map((one, place) => ({ ...one, seq: place + 1 }));
            const head = { probe: probe.id, generation, partition: 0, after: null };
            // In two halves, so that one of them is a later batch of the same probe.
            const middle = Math.ceil(results.length / 2);
            return [results.slice(0, middle), results.slice(middle)]
              .filter(({ length }) => length > 0)
              .map((some) => {
                const texts = some.map((one) => passText(one.seq, one) ?? wholeText(one.seq, one));
                const delivered = {
                  data: Buffer.from(batchText(head, texts)),
                  header: () => undefined,
                };
                return locate({ probe, batch: batchOf(head, some), delivered }, monitors);
              });
          });
          const { decisions, judged, refused } = decideBatches(state, batches, {
            clock: { now: () => now },
            timing: usualTiming,
            oldestAccepted: () => now - 1e9,
            roster: () => network,
            needsPasses: () => attentive,
          });
          const told: SeenResult[] = probes.flatMap(({ id, name, continent }, nth) =>
            (said[nth] ?? []).map((one, place) => ({
              ...one,
              seq: place + 1,
              from: { probe: id, name, continent },
              quarantined: isOut(nth),
              handed_over: now - (one.at + one.took_ms) > usualTiming.lateMs,
            })),
          );
          const counted = told.filter(
            ({ monitor, config_version }) => ids.includes(monitor) && config_version <= 2,
          );
          for (const seen of counted.toSorted(byStart)) {
            const before = expected.get(seen.monitor);
            if (before)
              expected.set(
                seen.monitor,
                decide(before, { is: 'result', result: seen }, { now, network, newId }).state,
              );
          }
          for (const [id, each] of expected)
            if (
              counted.some(({ monitor, handed_over }) => monitor === id && handed_over) &&
              each.incident
            )
              expected.set(id, decide(each, { is: 'tick' }, { now, network, newId }).state);
          expect(refused).toHaveLength(
            told.filter(
              ({ monitor, config_version }) => ids.includes(monitor) && config_version > 2,
            ).length,
          );
          const { watermarks, journal } = unitOf(decisions);
          for (const outcome of outcomes)
            expect(journal.reduce((sum, { counts }) => sum + counts[outcome], 0)).toBe(
              counted.filter((seen) => countsAs(seen, now) === outcome).length,
            );
          expect(watermarks.map(({ seq }) => seq)).toEqual(said.map(({ length }) => length));
          adopt(decisions);
          for (const [id, each] of expected)
            expect(withoutIds(monitors.stateOf(id))).toEqual(withoutIds(each));
          quiet += counted.length - judged.length;
          loud += judged.length;
          const checks = ids.flatMap((_, nth) => [...newestIn(state.hours, nth + 1)]);
          expect(checks.map(({ at, outcome }) => `${at} ${outcome}`).toSorted()).toEqual(
            counted.map((seen) => `${seen.at} ${countsAs(seen, now)}`).toSorted(),
          );
        },
      ),
      { numRuns: 1_000 },
    );
    // Both ways were gone, and often.
    expect(Math.min(quiet, loud)).toBeGreaterThan(1_000);
  });
});
