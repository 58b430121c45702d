import { describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/ids.ts';
import { type Beat, foldBeat, noBeats, notAfter } from '../../../../shared/checks/heartbeat/state.ts';

describe('a named run whose ends two ears date by clocks that differ a little', () => {
  const start: Beat = { id: 'b1', kind: 'start', exit_code: null, at: 1_000_002, rid: 'r' };
  const end: Beat = { id: 'b2', kind: 'success', exit_code: null, at: 1_000_000, rid: 'r' };

  test('is over, and took no time, in whichever order the two come', () => {
    const inTurn = foldBeat(foldBeat(noBeats, start).state, end);
    expect(inTurn).toMatchObject({ run_ms: 0, state: { open: [] } });
    expect(foldBeat(foldBeat(noBeats, end).state, start).state.open).toEqual([]);
  });

  test('is not over by an end that lies further back, nor is a run without a name', () => {
    expect(foldBeat(foldBeat(noBeats, start).state, { ...end, at: end.at - 1_000 }).state.open).toHaveLength(1);
    expect(foldBeat(foldBeat(noBeats, { ...start, rid: null }).state, { ...end, rid: null }).state.open).toHaveLength(1);
  });
});

test('what a wrong clock dated ahead is left out, and nothing else', () => {
  const beat = (kind: 'success' | 'fail' | 'start', at: number) => ({ id: newId(), kind, exit_code: null, at, rid: null });
  const known = foldBeat(foldBeat(noBeats, beat('fail', 10)).state, beat('start', 20)).state;
  expect(notAfter(known, 30)).toBe(known);
  const ahead = foldBeat(known, beat('success', 9_000)).state;
  expect(ahead).toMatchObject({ latest: 'good', open: [] });
  expect(notAfter(ahead, 30)).toMatchObject({ latest: 'bad', good: null, bad: { at: 10 }, ended: [] });
});
