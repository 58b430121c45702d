import { describe, expect, test } from 'vitest';
import { shownBy } from '../../../coordinator/core/quarantine.ts';
import type { ProbeView, SeenResult } from '../../../coordinator/core/types.ts';
import { see } from '../../../coordinator/core/views.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { at, refused } from './story.ts';

const turn_ms = 180_000;

const everywhere: readonly Continent[] = ['Africa', 'Asia', 'Europe'];

const result = (continent: Continent, second: number, ok: boolean): SeenResult => ({
  monitor: 'monitor',
  seq: 1,
  config_version: 1,
  at: at(second),
  took_ms: 20,
  outcome: ok ? 'ok' : 'fail',
  cause: ok ? null : refused,
  phases: null,
  evidence: null,
  look: null,
  from: { probe: `probe-${continent}`, name: continent, continent },
  quarantined: false,
  handed_over: false,
});

/** What the last of these results shows, all of them being known, as "probe: word of the others". */
const shown = (
  results: readonly SeenResult[],
  sick: readonly Continent[] = [],
  able: readonly Continent[] = everywhere,
): readonly string[] => {
  let views: readonly ProbeView[] = [];
  for (const each of results) views = see(views, each).views;
  const last = results.at(-1);
  if (!last) return [];
  const state = { views, clock: Math.max(...results.map((each) => each.at)) };
  const isSick = (probe: string) => sick.some((continent) => probe === `probe-${continent}`);
  return shownBy(last, { state, reach: { able, turn_ms }, isSick }).map(
    ({ probe, shown: { ok, others } }) => `${probe} ${ok ? 'ok' : 'fail'}: ${others}`,
  );
};

const wellBefore = [result('Asia', 0, true), result('Europe', 1, true), result('Africa', 2, true)];

describe('rule 16: a failure', () => {
  test('that is the first of an outage is not refuted by passes from before it', () => {
    expect(shown([...wellBefore, result('Asia', 10, false)])).toEqual(['probe-Asia fail: nothing']);
  });

  test('is refuted when everybody else passed right after it, and not while one of them has not answered', () => {
    const asked = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, true)];
    expect(shown(asked)).toEqual(['probe-Europe ok: fail', 'probe-Asia fail: nothing']);
    expect(shown([...asked, result('Africa', 10.2, true)])).toEqual(['probe-Africa ok: fail', 'probe-Asia fail: pass']);
  });

  test('that another continent sees too is not refuted by those that do not', () => {
    const seen = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, false), result('Africa', 10.2, true)];
    expect(shown(seen)).toEqual(['probe-Africa ok: fail']);
  });

  test('is not refuted by passes of much later', () => {
    expect(shown([...wellBefore, result('Asia', 10, false), result('Europe', 11, true), result('Africa', 60, true)]).at(-1)).toBe(
      'probe-Asia fail: nothing',
    );
  });

  test('that took its whole time limit is refuted by those who were asked when it ended', () => {
    const slow = { ...result('Asia', 10, false), took_ms: 10_000 };
    const asked = [...wellBefore, slow, result('Europe', 20.1, true), result('Africa', 20.2, true)];
    expect(shown(asked).at(-1)).toBe('probe-Asia fail: pass');
    expect(shown([...wellBefore, slow, result('Europe', 20.1, true), result('Africa', 60, true)]).at(-1)).toBe('probe-Asia fail: nothing');
  });

  test('waits for no continent that cannot check now', () => {
    const asked = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, true)];
    expect(shown(asked, [], ['Asia', 'Europe']).at(-1)).toBe('probe-Asia fail: pass');
  });

  test('that was handed over late says nothing about its probe', () => {
    expect(shown([...wellBefore, { ...result('Asia', 10, false), handed_over: true }])).toEqual([]);
    expect(shown([...wellBefore, { ...result('Asia', 10, true), handed_over: true }])).toEqual(['probe-Asia ok: pass']);
  });

  test('of a shadow is held against what others saw last, for it prompts nobody to look', () => {
    expect(shown([...wellBefore, result('Asia', 10, false)], ['Asia'])).toEqual(['probe-Asia fail: pass']);
  });

  test('is refuted by passes from its start until ten seconds after its end, and not a moment later', () => {
    const failure = { ...result('Asia', 10, false), took_ms: 2_000 };
    const word = (second: number) => shown([...wellBefore, failure, result('Africa', 10, true), result('Europe', second, true)]).at(-1);
    expect(word(10)).toBe('probe-Asia fail: pass');
    expect(word(22)).toBe('probe-Asia fail: pass');
    expect(word(22.001)).toBe('probe-Asia fail: nothing');
    expect(shown([...wellBefore, failure, result('Africa', 9.999, true), result('Europe', 11, true)]).at(-1)).toBe(
      'probe-Asia fail: nothing',
    );
  });

  test('is refuted by nobody where nobody else can look', () => {
    expect(shown([result('Asia', 10, false)], [], ['Asia'])).toEqual(['probe-Asia fail: nothing']);
    expect(shown([...wellBefore, result('Asia', 10, false)], [], ['Asia'])).toEqual(['probe-Asia fail: nothing']);
  });

  test('of two shows nothing about either, and a pass of its own continent does not refute it', () => {
    const two = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, false)];
    expect(shown(two)).toEqual(['probe-Europe fail: fail']);
    const second = { ...result('Asia', 10.2, true), from: { probe: 'second', name: 'second', continent: 'Asia' as const } };
    expect(shown([...wellBefore, result('Asia', 10, false), second])).toEqual(['second ok: pass']);
  });

  test('is told nothing about by an older word: of its own continent, or a failure that its probe has left behind', () => {
    const second = { ...result('Asia', 9, true), from: { probe: 'second', name: 'second', continent: 'Asia' as const } };
    expect(shown([...wellBefore, result('Asia', 10, false), second])).toEqual(['second ok: pass']);
    const answered = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, true), result('Africa', 10.2, true)];
    expect(shown([...answered, result('Europe', 9, false)])).toEqual(['probe-Europe fail: fail']);
  });

  test('is told nothing about by what is unknown', () => {
    expect(shown([...wellBefore, result('Asia', 10, false), { ...result('Europe', 10.1, true), outcome: 'unknown' }])).toEqual([]);
  });
});
