import { describe, expect, test } from 'vitest';
import {
  beginBacklog,
  behind,
  byStart,
  endsSilenceOfAll,
  type LatestPresence,
  mustWait,
  updateBacklog,
  working,
} from '../../../coordinator/core/backlog.ts';
import { at } from './story.ts';

/** Rule 4: who is waited for, and for how long, to the millisecond. */

const word = (probe: string, heard_at: number, handed_over = true): LatestPresence => ({
  probe,
  heard_at,
  handed_over,
});

describe('rule 4: a probe is behind', () => {
  test('while it has not been heard since, is silent for longer than a presence interval, or still has a backlog', () => {
    expect(behind([word('a', 10_000)], 10_000, 12_000)).toEqual([]);
    expect(behind([word('a', 9_999)], 10_000, 12_000)).toEqual(['a']);
    expect(behind([word('a', 10_000)], 10_000, 16_500)).toEqual([]);
    expect(behind([word('a', 10_000)], 10_000, 16_501)).toEqual(['a']);
    expect(behind([word('a', 10_000, false), word('b', 11_000)], 10_000, 12_000)).toEqual(['a']);
  });
});

describe('rule 4: the time to hand over', () => {
  test('is thirty seconds at most, or less', () => {
    expect(beginBacklog(1_000)).toEqual({ since: 1_000, until: 31_000, spent: false });
    expect(beginBacklog(1_000, 500, 5_000)).toEqual({ since: 500, until: 6_000, spent: false });
    expect(beginBacklog(1_000, 500, 90_000).until).toBe(31_000);
  });

  test('ends a moment after the last, and with the limit at the latest', () => {
    const begun = beginBacklog(10_000);
    const all = [word('a', 10_000), word('b', 10_001)];
    expect(updateBacklog(begun, all, 12_000).until).toBe(12_200);
    expect(updateBacklog(begun, all, 39_900).until).toBe(40_000);
    // More is known to be on its way.
    expect(updateBacklog(begun, all, 12_000, true)).toEqual(begun);
    expect(updateBacklog(begun, [word('a', 12_000), word('b', 9_000)], 12_000)).toEqual(begun);
    expect(updateBacklog(begun, all, 40_000, true)).toEqual(working);
  });

  test('that ran into its limit counts as used while one probe is awaited, but not when no probe is heard', () => {
    const begun = beginBacklog(10_000);
    expect(updateBacklog(begun, [word('a', 39_000), word('b', 9_000)], 40_000)).toEqual({
      ...working,
      spent: true,
    });
    expect(updateBacklog(begun, [word('a', 39_000), word('b', 39_000)], 40_000)).toEqual(working);
    expect(updateBacklog(begun, [word('a', 9_000), word('b', 9_000)], 40_000)).toEqual(working);
  });

  test('that is used starts again when no probe is behind, or none was heard for longer than a presence interval', () => {
    const spent = { ...working, spent: true };
    expect(updateBacklog(spent, [word('a', 33_500), word('b', 9_000)], 40_000)).toEqual(spent);
    expect(updateBacklog(spent, [word('a', 33_499), word('b', 9_000)], 40_000)).toEqual(working);
    expect(updateBacklog(spent, [word('a', 39_000), word('b', 38_000)], 40_000)).toEqual(working);
    expect(updateBacklog(spent, [word('a', 39_000), word('b', 38_000, false)], 40_000)).toEqual(
      spent,
    );
    expect(updateBacklog(working, [word('a', 39_000), word('b', 9_000)], 40_000)).toEqual(working);
  });
});

describe('rule 4: late results', () => {
  const late = { since: 50_000, from: ['a'] };
  const words = [word('a', 49_000), word('b', 48_000)];

  test('waits for another that may have kept as much, unless one waits already, or waited in vain', () => {
    expect(mustWait(working, late, words, 59_000)).toBe(true);
    expect(mustWait(working, { ...late, from: ['a', 'b'] }, words, 59_000)).toBe(false);
    expect(mustWait(beginBacklog(58_000), late, words, 59_000)).toBe(false);
    expect(mustWait({ ...working, spent: true }, late, words, 59_000)).toBe(false);
  });

  test('are decided by start; those that started together by probe, and by sequence', () => {
    const result = (probe: string, second: number, seq: number) => ({
      seq,
      monitor: 'monitor',
      config_version: 1,
      at: at(second),
      took_ms: 10,
      outcome: 'ok' as const,
      cause: null,
      phases: null,
      evidence: null,
      look: null,
      quarantined: false,
      handed_over: true,
      from: { probe, name: probe, continent: 'Asia' as const },
    });
    const all = [
      result('b', 2, 1),
      result('a', 3, 9),
      result('c', 2, 1),
      result('b', 2, 5),
      result('b', 2, 3),
      result('a', 2, 8),
    ];
    for (const list of [all, all.toReversed()])
      expect(list.toSorted(byStart).map(({ from, seq }) => `${from.probe}${seq}`)).toEqual([
        'a8',
        'b1',
        'b3',
        'b5',
        'c1',
        'a9',
      ]);
  });
});

test('rule 7: all were silent when each was for longer than a ping', () => {
  const said = (...heard: number[]) => heard.map((heard_at) => ({ heard_at }));
  expect(endsSilenceOfAll(said(3_499, 1_000), 10_000)).toBe(true);
  expect(endsSilenceOfAll(said(3_500, 1_000), 10_000)).toBe(false);
  expect(endsSilenceOfAll(said(1_000), 10_000)).toBe(false);
});
