import { describe, expect, test } from 'vitest';
import { type Check, unionOf } from '../../../coordinator/results/check.ts';
import { chunksOf, hourMs, hourOf, readChunk } from '../../../coordinator/results/chunk.ts';
import {
  addBatch,
  beginRound,
  beginSealing,
  checksIn,
  createHours,
  dropSealed,
  endSealing,
  hasDue,
  newestIn,
  sealedUntil,
} from '../../../coordinator/results/hours.ts';
import { packBatch } from '../../../coordinator/results/packed-batch.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { batchText, passText, readBatch, wholeText } from '../../../shared/bus/batch.ts';
import fc from '../../support/random.ts';

const hour = hourOf(1_700_000_000_000);
const ids = Array.from({ length: 4 }, newId);

const tenths = fc.integer({ min: 0, max: 99_999 }).map((times) => times / 10);
const phase = fc.option(tenths);
const check = fc
  .record({
    monitor: fc.integer({ min: 1, max: ids.length }),
    at: fc.integer({ min: hour - hourMs, max: hour + hourMs + 60_000 }),
    took_ms: tenths,
    outcome: fc.constantFrom('ok' as const, 'ok' as const, 'fail' as const, 'unknown' as const),
    phases: fc.option(
      fc.record({ dns: phase, tcp: phase, tls: phase, first_byte: phase, total: tenths }),
    ),
    cause: fc.constantFrom('http_status', 'timeout'),
  })
  .map(({ cause, ...some }) => ({ ...some, cause: some.outcome === 'fail' ? cause : null }));
type Sent = (typeof check extends fc.Arbitrary<infer Value> ? Value : never) & { probe: number };

const batchOf = (arrival: number, probe: number, checks: readonly Omit<Sent, 'probe'>[]) => {
  const head = { probe: newId(), generation: newId(), partition: 0, after: null };
  const texts = checks.map(({ monitor, cause, ...one }, nth) => {
    const result = {
      ...one,
      monitor: ids[monitor - 1] ?? '',
      config_version: 1,
      cause: cause === null ? null : { class: cause, params: {} },
      evidence: null,
      look: null,
    };
    return passText(nth + 1, result) ?? wholeText(nth + 1, result);
  });
  const sent = Buffer.from(batchText(head, texts));
  const batch = readBatch(JSON.parse(sent.toString()));
  if (!batch) throw new Error('no batch');
  const keys = batch.monitors.map((id) => ids.indexOf(id) + 1);
  return { arrival, probe, data: packBatch(sent, batch, keys) };
};

const batches = fc.array(
  fc.record({
    arrival: fc.constantFrom(hour, hour + hourMs),
    probe: fc.integer({ min: 1, max: 300 }),
    checks: fc.array(check, { minLength: 1, maxLength: 30 }),
  }),
  { minLength: 1, maxLength: 6 },
);

const checkOf = ({ monitor: _, ...rest }: Sent): Check => rest;

describe('running hours', () => {
  test('hold each check of a monitor, newest first, in whatever order they come', () => {
    fc.assert(
      fc.property(
        batches,
        fc.integer({ min: hour - hourMs, max: hour + hourMs }),
        fc.integer({ min: 0, max: hourMs }),
        (list, from, length) => {
          const hours = createHours();
          for (const { arrival, probe, checks } of list)
            expect(addBatch(hours, batchOf(arrival, probe, checks))).toBe(null);
          const all: Sent[] = list.flatMap(({ probe, checks }) =>
            checks.map((one) => ({ ...one, probe })),
          );
          for (const monitor of ids.keys()) {
            const own = all.filter((one) => one.monitor === monitor + 1).map(checkOf);
            const newest = [...newestIn(hours, monitor + 1)];
            expect(newest.map(({ at }) => at)).toEqual(
              own.map(({ at }) => at).toSorted((a, b) => b - a),
            );
            expect(unionOf(newest)).toEqual(unionOf(own));
            expect(unionOf(checksIn(hours, monitor + 1, from, from + length))).toEqual(
              unionOf(own.filter(({ at }) => at >= from && at < from + length)),
            );
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('give what ended to be sealed, and keep what arrives meanwhile', () => {
    const hours = createHours();
    const of = (monitor: number, at: number, probe: number) =>
      batchOf(hourOf(Math.max(at, hour)), probe, [
        { monitor, at, took_ms: 1, outcome: 'ok', cause: null, phases: null },
      ]);
    addBatch(hours, of(1, hour - 5, 1));
    addBatch(hours, of(1, hour + 5, 1));
    addBatch(hours, of(2, hour + 6, 1));
    addBatch(hours, of(2, hour + hourMs + 1, 1));
    expect(sealedUntil(hours, hour + hourMs)).toBe(hour);
    beginRound(hours, hour + hourMs);
    const late = beginSealing(hours);
    expect(late?.hour).toBe(hour - hourMs);
    expect(late?.monitors).toEqual([1]);
    endSealing(hours);
    const sealing = beginSealing(hours);
    if (!sealing) throw new Error('nothing to seal');
    expect(sealing.monitors.toSorted()).toEqual([1, 2]);
    addBatch(hours, of(1, hour + 7, 2));
    expect(sealing.checksOf(1).map(({ at }) => at)).toEqual([hour + 5]);
    expect([...newestIn(hours, 1)].map(({ at }) => at)).toEqual([hour + 7, hour + 5]);
    endSealing(hours);
    expect([...newestIn(hours, 1)].map(({ at }) => at)).toEqual([hour + 7]);
    expect(hasDue(hours)).toBe(false);
    expect(sealedUntil(hours, hour + hourMs)).toBe(hour);
    // What came meanwhile is for the next round.
    expect(beginSealing(hours)).toBe(undefined);
    beginRound(hours, hour + hourMs);
    expect(beginSealing(hours)?.monitors).toEqual([1]);
    endSealing(hours);
    expect(sealedUntil(hours, hour + hourMs)).toBe(hour + hourMs);
    dropSealed(hours, hour + hourMs);
    expect([...newestIn(hours, 2)].map(({ at }) => at)).toEqual([hour + hourMs + 1]);
  });

  test('make the same chunks as what was sent', () => {
    fc.assert(
      fc.property(batches, (list) => {
        const hours = createHours();
        for (const { arrival, probe, checks } of list)
          addBatch(hours, batchOf(arrival, probe, checks));
        const sent: Sent[] = list.flatMap(({ probe, checks }) =>
          checks.map((one) => ({ ...one, probe })),
        );
        beginRound(hours, hour + 3 * hourMs);
        for (;;) {
          const sealing = beginSealing(hours);
          if (!sealing) break;
          for (const monitor of sealing.monitors) {
            const own = sent.filter(
              (one) => one.monitor === monitor && hourOf(one.at) === sealing.hour,
            );
            const chunks = chunksOf(sealing.hour, sealing.checksOf(monitor));
            expect(chunks).toEqual(chunksOf(sealing.hour, own.map(checkOf)));
            expect(chunks.flatMap(({ at, data }) => readChunk(at, data).checks)).toHaveLength(
              unionOf(own.map(checkOf)).length,
            );
          }
          endSealing(hours);
        }
      }),
      { numRuns: 200 },
    );
  });

  test('hold a check in 21 bytes', () => {
    const hours = createHours();
    for (let minute = 0; minute < 60; minute += 1)
      addBatch(
        hours,
        batchOf(
          hour,
          1 + (minute % 3),
          Array.from({ length: 400 }, (_, nth) => ({
            monitor: 1 + (nth % 4),
            at: hour + minute * 60_000 + nth,
            took_ms: 80.1,
            outcome: 'ok' as const,
            cause: null,
            phases: { dns: 1.2, tcp: 19.8, tls: 40.1, first_byte: 18, total: 80.1 },
          })),
        ),
      );
    const bytes = hours.held.reduce((sum, { arena }) => sum + arena.bytes.at, 0);
    expect(bytes / (60 * 400)).toBeLessThan(21);
  });
});
