import { describe, expect, test } from 'vitest';
import type { CheckDeadline } from '../../../probe/checks/limits.ts';
import { deadlineIn } from '../support/checkers.ts';

/** Listens under a name; what was told stands in `heard`. */
const listeners = (deadline: CheckDeadline) => {
  const heard: string[] = [];
  const listen = (name: string) => {
    const expiring = { expire: () => void heard.push(name) };
    deadline.listen(expiring);
    return expiring;
  };
  return { heard, listen };
};

const untilOver = (deadline: CheckDeadline): Promise<void> => new Promise((resolve) => deadline.listen({ expire: resolve }));

describe('the deadline of a check', () => {
  test('tells all that listen, once, when its time is over and not before', async () => {
    const began = performance.now();
    // Longer than this process is ever held up between here and the first look at it.
    const deadline = deadlineIn(1_000);
    const { heard, listen } = listeners(deadline);
    for (const name of ['first', 'second', 'third']) listen(name);
    expect(deadline.isOver()).toBe(false);
    await untilOver(deadline);
    expect(performance.now()).toBeGreaterThanOrEqual(began + 1_000);
    expect(deadline.isOver()).toBe(true);
    deadline.end();
    expect(heard.toSorted()).toEqual(['first', 'second', 'third']);
  });

  test('is over without anybody who listens', async () => {
    const deadline = deadlineIn(5);
    await untilOver(deadlineIn(5));
    expect(deadline.isOver()).toBe(true);
  });

  test('can be ended sooner, which tells all that listen', () => {
    const deadline = deadlineIn(Number.POSITIVE_INFINITY);
    const { heard, listen } = listeners(deadline);
    listen('first');
    listen('second');
    deadline.end();
    expect(deadline.isOver()).toBe(true);
    expect(heard.toSorted()).toEqual(['first', 'second']);
  });

  test('does not tell who listens no more, whichever of them it was', () => {
    const names = ['first', 'second', 'third'];
    for (const gone of names) {
      const deadline = deadlineIn(Number.POSITIVE_INFINITY);
      const { heard, listen } = listeners(deadline);
      const all = new Map(names.map((name) => [name, listen(name)]));
      const one = all.get(gone);
      if (one) deadline.unlisten(one);
      deadline.end();
      expect(heard.toSorted()).toEqual(names.filter((name) => name !== gone));
    }
  });

  test('tells those that are left when one of them, being told, takes another off', () => {
    const deadline = deadlineIn(Number.POSITIVE_INFINITY);
    const { heard, listen } = listeners(deadline);
    const last = { expire: () => void heard.push('last') };
    deadline.listen({ expire: () => deadline.unlisten(last) });
    listen('middle');
    deadline.listen(last);
    deadline.end();
    expect(heard).toContain('middle');
  });

  test('tells nobody once the check has settled', async () => {
    const deadline = deadlineIn(20);
    const { heard, listen } = listeners(deadline);
    listen('first');
    listen('second');
    deadline.settle();
    await untilOver(deadlineIn(60));
    expect(heard).toEqual([]);
  });
});
