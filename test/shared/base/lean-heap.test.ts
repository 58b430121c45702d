import { expect, test } from 'vitest';
import { createLeanHeap } from '../../../shared/base/lean-heap.ts';

const large = 200 * 1_024 * 1_024;
const small = large / 5;

/** Ticks through these utilizations and tells the flags set, second by second. */
const flagsOver = (utilizations: readonly number[], bytesAt: (second: number) => number = () => large): string[][] => {
  let set: string[] = [];
  const heap = createLeanHeap((flag) => set.push(flag));
  return utilizations.map((utilization, second) => {
    set = [];
    heap.tick(utilization, bytesAt(second));
    return set;
  });
};
const seconds = (count: number, utilization: number): number[] => Array.from({ length: count }, () => utilization);

test('a heap is let grow as long as the loop is full', () => {
  expect(flagsOver([...seconds(60, 0.9)]).flat()).toEqual([]);
});

test('when the loop has had room for three seconds, the heap is given back in small steps, and then kept close to what lives', () => {
  const set = flagsOver([...seconds(5, 0.9), ...seconds(60, 0.2)]);
  expect(set.slice(0, 7).flat()).toEqual([]);
  expect(set[7]).toEqual(['--heap-growing-percent=30', '--optimize-for-size', '--retain-maps-for-n-gc=100']);
  expect(set.slice(8, 32).flat()).toEqual([]);
  expect(set[32]).toEqual(['--heap-growing-percent=50', '--no-optimize-for-size', '--retain-maps-for-n-gc=100']);
  expect(set.slice(33).flat()).toEqual([]);
});

test('a loop that stays full gets its CPU back; a second of work changes nothing', () => {
  const set = flagsOver([...seconds(40, 0.1), 0.9, 0.9, 0.1, ...seconds(5, 0.9)]);
  expect(set.slice(40, 45).flat()).toEqual([]);
  expect(set[45]).toEqual(['--heap-growing-percent=0', '--no-optimize-for-size', '--retain-maps-for-n-gc=2']);
  expect(set.slice(46).flat()).toEqual([]);
});

test('a small heap is left alone; one that was large stays small once it is', () => {
  expect(flagsOver(seconds(60, 0.1), () => small).flat()).toEqual([]);
  const set = flagsOver(seconds(60, 0.1), (second) => (second < 10 ? large : small));
  expect(set[2]).toEqual(['--heap-growing-percent=30', '--optimize-for-size', '--retain-maps-for-n-gc=100']);
  expect(set[27]).toEqual(['--heap-growing-percent=50', '--no-optimize-for-size', '--retain-maps-for-n-gc=100']);
  expect(set.slice(28).flat()).toEqual([]);
});

test('what was set is taken back at the end', () => {
  const set: string[] = [];
  const heap = createLeanHeap((flag) => set.push(flag));
  for (const utilization of seconds(3, 0)) heap.tick(utilization, large);
  heap.release();
  expect(set.slice(3)).toEqual(['--heap-growing-percent=0', '--no-optimize-for-size', '--retain-maps-for-n-gc=2']);
});

test('what counts as large is its owner’s to say', () => {
  const set: string[] = [];
  const heap = createLeanHeap((flag) => set.push(flag), large + 1);
  for (const utilization of seconds(60, 0.1)) heap.tick(utilization, large);
  expect(set).toEqual([]);
  for (const utilization of seconds(3, 0.1)) heap.tick(utilization, large + 1);
  expect(set).toEqual(['--heap-growing-percent=30', '--optimize-for-size', '--retain-maps-for-n-gc=100']);
});
