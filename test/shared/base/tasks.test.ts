import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTurn, createTurns, endAll } from '../../../shared/base/async.ts';
import { createLeanHeap, type Lean, leanCoordinator, leanProbe, makeFolder } from '../../../shared/base/process.ts';

describe('end all', () => {
  const ended: string[] = [];
  const part = (name: string, failure?: Error) => async (): Promise<void> => {
    ended.push(name);
    if (failure) throw failure;
  };

  test('what was begun ends, the latest first, though some of it fails, and the failures are told when all has ended', async () => {
    const [bus, disk] = [new Error('the bus is gone'), new Error('the disk is full')];
    await endAll([part('a'), part('b')]);
    await expect(endAll([part('c'), part('d', bus), part('e')])).rejects.toBe(bus);
    await expect(endAll([part('f', disk), part('g', bus)])).rejects.toMatchObject({ errors: [bus, disk] });
    expect(ended.join('')).toBe('baedcgf');
  });
});

describe('in turn', () => {
  /** Works that are begun in some order and end when they are told to. */
  const works = () => {
    const begun: string[] = [];
    const ends = new Map<string, PromiseWithResolvers<string>>();
    return {
      begun,
      work: (name: string) => (): Promise<string> => {
        begun.push(name);
        const end = Promise.withResolvers<string>();
        ends.set(name, end);
        return end.promise;
      },
      end: (name: string) => ends.get(name)?.resolve(name),
      fail: (name: string) => ends.get(name)?.reject(new Error(name)),
    };
  };

  const asSoonAsMayBe = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };

  test('works of one key come one after the other, and wait for no other key', async () => {
    const { begun, work, end } = works();
    const inTurn = createTurns<string>();
    const first = inTurn('one', work('first'));
    const second = inTurn('one', work('second'));
    void inTurn('other', work('third'));
    await asSoonAsMayBe();
    expect(begun).toEqual(['first', 'third']);
    end('first');
    expect(await first).toBe('first');
    await asSoonAsMayBe();
    expect(begun).toEqual(['first', 'third', 'second']);
    end('second');
    expect(await second).toBe('second');
  });

  test('a failure is told to whoever asked for the work, and to nobody after him', async () => {
    const { begun, work, end, fail } = works();
    const inTurn = createTurn();
    const first = inTurn(work('first'));
    const second = inTurn(work('second'));
    await asSoonAsMayBe();
    expect(begun).toEqual(['first']);
    fail('first');
    await expect(first).rejects.toThrow('first');
    await asSoonAsMayBe();
    end('second');
    expect(await second).toBe('second');
  });
});

describe('lean heap', () => {
  const mib = 1_024 * 1_024;
  const large = 200 * mib;
  const lean: Lean = { growth: () => 0, settlesFrom: 48 * mib, calmFrom: 48 * mib };

  const settling = ['--heap-growing-percent=30', '--optimize-for-size', '--retain-maps-for-n-gc=100'];
  const calm = ['--heap-growing-percent=50', '--no-optimize-for-size'];
  const own = ['--heap-growing-percent=0', '--no-optimize-for-size', '--retain-maps-for-n-gc=2'];

  /** Ticks through these utilizations and tells the flags set, second by second. */
  const flagsOver = (utilizations: readonly number[], bytesAt: (second: number) => number = () => large, of = lean): string[][] => {
    let set: string[] = [];
    const heap = createLeanHeap((flag) => set.push(flag), of);
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
    expect(set[7]).toEqual(settling);
    expect(set.slice(8, 32).flat()).toEqual([]);
    expect(set[32]).toEqual(calm);
    expect(set.slice(33).flat()).toEqual([]);
  });

  test('a loop that stays full gets its CPU back; a second of work changes nothing', () => {
    const set = flagsOver([...seconds(40, 0.1), 0.9, 0.9, 0.1, ...seconds(5, 0.9)]);
    expect(set.slice(40, 45).flat()).toEqual([]);
    expect(set[45]).toEqual(['--heap-growing-percent=0', '--retain-maps-for-n-gc=2']);
    expect(set.slice(46).flat()).toEqual([]);
  });

  test('a small heap is left alone; of one that is small again once it has settled nothing is kept', () => {
    expect(flagsOver(seconds(60, 0.1), () => large / 5).flat()).toEqual([]);
    const set = flagsOver(seconds(60, 0.1), (second) => (second < 10 ? large : large / 5));
    expect(set[2]).toEqual(settling);
    expect(set[27]).toEqual(own);
    expect(set.slice(28).flat()).toEqual([]);
  });

  test('a heap that grows again when it has settled is left alone for ten minutes; settling that was broken off, and calm that was, come back as soon as there is room', () => {
    const set = flagsOver(seconds(1_000, 0.1), (second) => (second > 20 && second < 35 ? large / 5 : large));
    expect(set.map((flags, second) => (flags.includes('--optimize-for-size') ? second : -1)).filter((second) => second >= 0)).toEqual([
      2, 628,
    ]);
    const full = flagsOver([...seconds(40, 0.1), ...seconds(3, 0.9), ...seconds(40, 0.1)]);
    expect([full[42], full[45]]).toEqual([['--heap-growing-percent=0', '--retain-maps-for-n-gc=2'], settling]);
    const broken = flagsOver([...seconds(10, 0.1), ...seconds(10, 0.9), ...seconds(10, 0.1)]);
    expect(broken[12]).toEqual(own);
    expect(broken[22]).toEqual(settling);
  });

  test('what was set is taken back at the end', () => {
    const set: string[] = [];
    const heap = createLeanHeap((flag) => set.push(flag), lean);
    for (const utilization of seconds(3, 0)) heap.tick(utilization, large);
    heap.release();
    expect(set.slice(3)).toEqual(own);
  });

  test('a coordinator’s garbage is bounded from the first moment: less of a small heap', () => {
    const set: string[] = [];
    const heap = createLeanHeap((flag) => set.push(flag), leanCoordinator);
    expect(set).toEqual(['--heap-growing-percent=50', '--retain-maps-for-n-gc=100']);
    heap.tick(1, 63 * mib);
    expect(set.slice(2)).toEqual([]);
    heap.tick(1, 64 * mib);
    expect(set.slice(2)).toEqual(['--heap-growing-percent=100']);
    heap.tick(1, 40 * mib);
    expect(set.slice(3)).toEqual(['--heap-growing-percent=50']);
  });

  test('a probe’s heap gives back what its assignments took, and is kept small only where a great many are left', () => {
    const flagsAfter = (bytes: number) => flagsOver(seconds(40, 0.1), (second) => (second < 20 ? large : bytes), leanProbe)[27];
    expect(flagsAfter(50 * mib)).toEqual(own);
    expect(flagsAfter(130 * mib)).toEqual(calm);
    expect(flagsOver(seconds(60, 0.1), () => 79 * mib, leanProbe).flat()).toEqual([]);
  });
});

describe('make folder', () => {
  let place: string;
  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'antipode-folders-'));
  });
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  test('a folder is made with all that is missing above it, each for its owner alone, and may be there already', () => {
    const folder = join(place, 'one', 'two', 'three');
    for (const _ of ['first', 'again']) makeFolder(folder);
    for (const made of [folder, join(place, 'one')]) expect(statSync(made).mode & 0o777).toBe(0o700);
  });

  test('where a file stands in the way nothing is made, and the failure says so', () => {
    const file = join(place, 'file');
    writeFileSync(file, '');
    expect(() => makeFolder(file)).toThrow('EEXIST');
    expect(() => makeFolder(join(file, 'below', 'it'))).toThrow('ENOTDIR');
    expect(existsSync(join(place, 'below'))).toBe(false);
  });
});
