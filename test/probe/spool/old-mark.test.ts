import { expect, test } from 'vitest';
import { createOldMark } from '../../../probe/spool/reporter.ts';

test('what had been given three seconds ago is old, a second after the last of it may have left; what came since is not', () => {
  const mark = createOldMark(0, 5);
  const given = (at: number): number => 5 + at / 100;
  for (let at = 500; at <= 20_000; at += 500) {
    mark.note(at, given(at));
    expect(mark.seq()).toBeLessThanOrEqual(Math.max(5, given(at - 3_000)));
    expect(mark.seq()).toBeGreaterThanOrEqual(Math.min(given(at), Math.max(5, given(at - 4_000))));
  }
});
