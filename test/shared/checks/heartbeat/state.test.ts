import { describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/crypto.ts';
import { foldPing, noPings, notAfter, type Ping } from '../../../../shared/checks/heartbeat/state.ts';

describe('a named run whose ends two ping receivers date by clocks that differ a little', () => {
  const start: Ping = { id: 'b1', kind: 'start', exit_code: null, at: 1_000_002, rid: 'r' };
  const end: Ping = { id: 'b2', kind: 'success', exit_code: null, at: 1_000_000, rid: 'r' };

  test('is over, and took no time, in whichever order the two come', () => {
    const inTurn = foldPing(foldPing(noPings, start).state, end);
    expect(inTurn).toMatchObject({ run_ms: 0, state: { open: [] } });
    expect(foldPing(foldPing(noPings, end).state, start).state.open).toEqual([]);
  });

  test('is not over by an end that lies further back, nor is a run without a name', () => {
    expect(foldPing(foldPing(noPings, start).state, { ...end, at: end.at - 1_000 }).state.open).toHaveLength(1);
    expect(foldPing(foldPing(noPings, { ...start, rid: null }).state, { ...end, rid: null }).state.open).toHaveLength(1);
  });
});

test('what a wrong clock dated ahead is left out, and nothing else', () => {
  const ping = (kind: 'success' | 'fail' | 'start', at: number) => ({ id: newId(), kind, exit_code: null, at, rid: null });
  const known = foldPing(foldPing(noPings, ping('fail', 10)).state, ping('start', 20)).state;
  expect(notAfter(known, 30)).toBe(known);
  const ahead = foldPing(known, ping('success', 9_000)).state;
  expect(ahead).toMatchObject({ latest: 'good', open: [] });
  expect(notAfter(ahead, 30)).toMatchObject({ latest: 'bad', good: null, bad: { at: 10 }, ended: [] });
});
