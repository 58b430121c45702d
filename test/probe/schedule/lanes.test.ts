import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLanes, type Lane, type LanePlace } from '../../../probe/schedule/lanes.ts';

/** Checks that note when they begin, and are over when the test says so. */
const startChecks = (concurrency: number) => {
  const lanes = createLanes({ concurrency });
  const begun: string[] = [];
  const begin = (name: string, lane: Lane, isOverAtOnce = false) => {
    let place: LanePlace | undefined;
    void lanes.enter(lane).then((entered) => {
      place = entered;
      begun.push(name);
      if (isOverAtOnce) entered.leave();
    });
    return { over: () => place?.leave() };
  };
  return { lanes, begun, begin };
};

test('a lane lets in at once what it has places for, and the rest in order as places become free', async () => {
  const { lanes, begun, begin } = startChecks(8);
  const [first, second, third] = ['1', '2', '3', '4', '5'].map((name) => begin(name, 'fast'));
  await turn();
  expect(begun).toEqual(['1', '2']);
  expect(lanes.inFlight()).toBe(2);
  // Another lane has places of its own.
  const recheck = begin('recheck', 'recheck');
  await turn();
  expect(begun).toEqual(['1', '2', 'recheck']);
  second?.over();
  await turn();
  expect(begun).toEqual(['1', '2', 'recheck', '3']);
  first?.over();
  third?.over();
  await turn();
  expect(begun).toEqual(['1', '2', 'recheck', '3', '4', '5']);
  recheck.over();
  expect(lanes.inFlight()).toBe(2);
  lanes.close();
});

test('any number of checks that are over as soon as they begin pass in order, and leave no place taken', async () => {
  const { lanes, begun, begin } = startChecks(4);
  const first = begin('first', 'fast');
  const names = Array.from({ length: 20_000 }, (_, nth) => String(nth));
  for (const name of names) begin(name, 'fast', true);
  await turn();
  expect(begun).toEqual(['first']);
  first.over();
  await turn();
  expect(begun).toEqual(['first', ...names]);
  expect(lanes.inFlight()).toBe(0);
  begin('last', 'fast');
  await turn();
  expect(begun.at(-1)).toBe('last');
  lanes.close();
});
