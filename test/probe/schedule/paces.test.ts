import { expect, test } from 'vitest';
import { createPaces, type OnPace, type Pace } from '../../../probe/schedule/lanes.ts';

/** Checks that say when they begin, and are over when the test says so. */
const begin =
  (paces: ReturnType<typeof createPaces>, begun: string[]) =>
  (name: string, pace: Pace, isOverAtOnce: () => boolean = () => false) => {
    const check: OnPace = {
      pace,
      mode: 'queued',
      began: 0,
      begin: () => {
        check.began = performance.now();
        begun.push(name);
        if (isOverAtOnce()) paces.done(check);
      },
    };
    paces.run(check);
    return { over: () => paces.done(check) };
  };

test('a pace begins what it has room for at once, and the rest in order as room comes', () => {
  const paces = createPaces({ concurrency: 8 });
  const begun: string[] = [];
  const run = begin(paces, begun);
  const [first, second, third] = ['1', '2', '3', '4', '5'].map((name) => run(name, 'fast'));
  expect(begun).toEqual(['1', '2']);
  expect(paces.inFlight()).toBe(2);
  // Another pace has room of its own.
  const look = run('look', 'look');
  expect(begun).toEqual(['1', '2', 'look']);
  second?.over();
  expect(begun).toEqual(['1', '2', 'look', '3']);
  first?.over();
  third?.over();
  expect(begun).toEqual(['1', '2', 'look', '3', '4', '5']);
  look.over();
  expect(paces.inFlight()).toBe(2);
  paces.close();
});

test('any number of checks that are over as soon as they begin pass in order, and leave no place taken', () => {
  const paces = createPaces({ concurrency: 4 });
  const begun: string[] = [];
  const run = begin(paces, begun);
  const first = run('first', 'fast');
  const names = Array.from({ length: 20_000 }, (_, nth) => String(nth));
  for (const name of names) run(name, 'fast', () => true);
  expect(begun).toEqual(['first']);
  first.over();
  expect(begun).toEqual(['first', ...names]);
  expect(paces.inFlight()).toBe(0);
  run('last', 'fast');
  expect(begun.at(-1)).toBe('last');
  paces.close();
});
