import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Beat,
  type BeatState,
  foldBeat,
  mergeBeats,
  noBeats,
  notAfter,
  underTerms,
} from '../../../../shared/checks/heartbeat/state.ts';

/** What beats come to, held against plain words: the last of each kind, and the runs that have begun and not ended. */

const second = 1_000;
type Kind = Beat['kind'];
const beatAt = (kind: Kind, at: number, rid: string | null = null, id = `${kind} ${at} ${rid}`): Beat => ({
  id,
  kind,
  exit_code: null,
  at,
  rid,
});
const fold = (beats: readonly Beat[], from: BeatState = noBeats): BeatState =>
  beats.reduce((state, beat) => foldBeat(state, beat).state, from);

const markOf = (beat: Beat | undefined) => (beat ? { id: beat.id, at: beat.at, exit_code: beat.exit_code } : null);
const inWords = (beats: readonly Beat[]): BeatState => {
  const inOrder = beats.toSorted((a, b) => a.at - b.at);
  const isEnd = ({ kind }: Beat) => kind === 'success' || kind === 'fail';
  const lastEnd = (rid: string | null) => inOrder.findLast((beat) => isEnd(beat) && beat.rid === rid);
  const last = inOrder.findLast(isEnd);
  return {
    ...noBeats,
    good: markOf(inOrder.findLast(({ kind }) => kind === 'success')),
    bad: markOf(inOrder.findLast(({ kind }) => kind === 'fail')),
    latest: last ? (last.kind === 'success' ? 'good' : 'bad') : null,
    open: inOrder.filter(({ kind, rid, at }) => kind === 'start' && at > (lastEnd(rid)?.at ?? 0)).map(({ rid, at }) => ({ rid, at })),
    ended: [...new Set(inOrder.map(({ rid }) => rid))].flatMap((rid) => {
      const end = lastEnd(rid);
      return end ? [{ rid, at: end.at }] : [];
    }),
  };
};
const sorted = (state: BeatState): BeatState => ({ ...state, ended: state.ended.toSorted((a, b) => a.at - b.at) });

/** Each in a second of its own, in the order in which they arrive. */
const beats = fc
  .array(fc.record({ kind: fc.constantFrom<Kind>('success', 'fail', 'start', 'log'), rid: fc.constantFrom(null, 'a', 'b') }), {
    maxLength: 12,
  })
  .chain((some) => {
    const all = some.map(({ kind, rid }, nth) => beatAt(kind, (nth + 1) * second, rid));
    return fc.shuffledSubarray(all, { minLength: all.length });
  });

describe('beats come to', () => {
  test('the last of each kind and the runs that have not ended, in whatever order they arrive', () => {
    fc.assert(
      fc.property(beats, (all) => {
        expect(sorted(fold(all))).toEqual(sorted(inWords(all)));
      }),
    );
  });

  test('the same when they were told twice, to whom it was told once or to another', () => {
    fc.assert(
      fc.property(beats, fc.nat(), (all, place) => {
        const [here, there] = [all.slice(0, place % (all.length + 1)), all.slice(place % (all.length + 1))];
        const whole = sorted(inWords(all));
        expect(sorted(mergeBeats(fold(here), fold(there)))).toEqual(whole);
        expect(sorted(mergeBeats(fold(there), fold(here)))).toEqual(whole);
        expect(sorted(mergeBeats(fold(all), fold(here)))).toEqual(whole);
      }),
    );
  });

  test('nothing new when one of them is repeated', () => {
    const known = fold([beatAt('success', 1), beatAt('fail', 2), beatAt('start', 3)]);
    for (const again of [beatAt('success', 1), beatAt('fail', 2), beatAt('start', 3), beatAt('log', 9)])
      expect(foldBeat(known, again)).toEqual({ state: known, run_ms: null });
  });

  test('nothing new when one of two of one millisecond is repeated, and two runs when two began in one', () => {
    for (const [first, last] of [
      ['fail', 'success'],
      ['success', 'fail'],
    ] as const) {
      const known = fold([beatAt(first, 5), beatAt(last, 5)]);
      expect(foldBeat(known, beatAt(first, 5)).state).toBe(known);
    }
    expect(fold([beatAt('start', 5, 'a'), beatAt('start', 5, 'b')]).open).toHaveLength(2);
  });

  test('what came last, when two fell into one millisecond', () => {
    expect(fold([beatAt('success', 5), beatAt('fail', 5)]).latest).toBe('bad');
    expect(fold([beatAt('fail', 5), beatAt('success', 5)]).latest).toBe('good');
    const [good, bad] = [fold([beatAt('success', 5)]), fold([beatAt('fail', 5)])];
    const both = fold([beatAt('success', 5), beatAt('fail', 5)]);
    expect(mergeBeats(good, both).latest).toBe('bad');
    expect(mergeBeats(both, good).latest).toBe('good');
    expect(mergeBeats(both, noBeats).latest).toBe('bad');
    expect(mergeBeats(bad, good)).toMatchObject({ good: { at: 5 }, bad: { at: 5 }, latest: 'good' });
    expect(fold([beatAt('success', 5, null, 'x'), beatAt('success', 5, null, 'y')]).good?.id).toBe('y');
    const seen = fold([beatAt('success', 5, null, 'seen')]);
    expect(mergeBeats(good, seen).good?.id).toBe('seen');
  });
});

describe('a run', () => {
  test('took from its last begin to its end, and nothing when it never began', () => {
    const open = fold([beatAt('start', second, 'a'), beatAt('start', 4 * second, 'a'), beatAt('start', 5 * second, 'b')]);
    const ended = foldBeat(open, beatAt('fail', 9 * second, 'a'));
    expect(ended).toMatchObject({ run_ms: 5 * second, state: { open: [{ rid: 'b' }] } });
    expect(foldBeat(ended.state, beatAt('success', 9 * second, 'a')).run_ms).toBeNull();
    expect(foldBeat(fold([beatAt('start', second)]), beatAt('success', second)).run_ms).toBe(0);
  });

  test('with a name may end a quarter of a second before it began by another clock, and no more', () => {
    const start = beatAt('start', 10 * second, 'a');
    const end = (before: number) => beatAt('success', 10 * second - before, 'a');
    for (const [before, open] of [
      [250, 0],
      [251, 1],
    ] as const) {
      expect(fold([start, end(before)]).open).toHaveLength(open);
      expect(fold([end(before), start]).open).toHaveLength(open);
    }
  });

  test('is one of sixteen: the oldest are forgotten, but before any good beat the first, which the deadline counts from', () => {
    const all = Array.from({ length: 17 }, (_, nth) => beatAt('start', (nth + 1) * second, `r${nth}`));
    const names = all.map(({ rid }) => rid).slice(1);
    expect(fold([beatAt('success', 0), ...all]).open.map(({ rid }) => rid)).toEqual(names);
    expect(fold(all).open.map(({ rid }) => rid)).toEqual(['r0', ...names.slice(1)]);
    const ends = all.map((beat): Beat => ({ ...beat, kind: 'success', id: `end ${beat.at}` }));
    expect(fold(ends).ended.map(({ rid }) => rid)).toEqual(names);
    const [older, newer] = [fold(ends.slice(0, 9)), fold(ends.slice(9))];
    expect(mergeBeats(newer, older).ended.map(({ rid }) => rid)).toEqual(names);
  });
});

test('what is left without a wrong clock is all that is dated until then, and what then came last', () => {
  const known = fold([beatAt('success', 10), beatAt('fail', 20), beatAt('start', 30, 'a'), beatAt('start', 40, 'b')]);
  expect(notAfter(known, 40)).toBe(known);
  expect(notAfter(known, 39)).toEqual({ ...known, open: [{ rid: 'a', at: 30 }] });
  expect(notAfter(known, 19)).toEqual({ ...known, bad: null, latest: 'good', open: [], ended: [] });
  expect(notAfter(known, 9)).toEqual(noBeats);
  const tied = fold([beatAt('success', 10), beatAt('fail', 10), beatAt('start', 99)]);
  expect(notAfter(tied, 50).latest).toBe('bad');
});

describe('what two records say of the terms', () => {
  const of = (terms: number | null, from: number | null, paused: boolean): BeatState => ({ ...noBeats, terms, from, paused });

  test('is the newer version, the later beginning, and the pause of which the bus knows', () => {
    expect(mergeBeats(of(3, 50, true), of(4, 40, false))).toEqual(of(4, 50, false));
    expect(mergeBeats(of(4, 40, false), of(3, 50, true))).toEqual(of(4, 50, true));
    expect(mergeBeats(of(3, 50, true), noBeats)).toEqual(of(3, 50, true));
    expect(mergeBeats(noBeats, of(3, 50, true))).toEqual(of(3, 50, true));
  });
});

describe('rule 20: terms that change', () => {
  const now = 1_000;
  const known: BeatState = { ...fold([beatAt('success', 10)]), terms: 3, paused: false, from: 20 };

  test('give the job its whole time anew from now on, but never from an earlier moment than before', () => {
    expect(underTerms(known, { version: 4, paused: false }, now)).toEqual({ ...known, terms: 4, from: now });
    expect(underTerms({ ...known, from: now + 5 }, { version: 4, paused: false }, now).from).toBe(now + 5);
    expect(underTerms({ ...known, from: null }, { version: 4, paused: false }, now).from).toBe(now);
  });

  test('so does the end of a pause, and not its beginning, nor the first that is known of them', () => {
    const paused = underTerms(known, { version: 3, paused: true }, now);
    expect(paused).toEqual({ ...known, paused: true });
    expect(underTerms(paused, { version: 3, paused: false }, now)).toEqual({ ...known, from: now });
    expect(underTerms(noBeats, { version: 7, paused: false }, now)).toEqual({ ...noBeats, terms: 7 });
  });

  test('are nothing new when they are the same, or older', () => {
    expect(underTerms(known, { version: 3, paused: false }, now)).toBe(known);
    expect(underTerms(known, { version: 2, paused: true }, now)).toBe(known);
  });
});
