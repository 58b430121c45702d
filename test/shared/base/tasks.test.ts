import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTurn, createTurns, endAll } from '../../../shared/base/async.ts';
import { makeFolder } from '../../../shared/base/process.ts';

describe('end all', () => {
  const ended: string[] = [];
  const part = (name: string, failure?: Error) => async (): Promise<void> => {
    ended.push(name);
    if (failure) throw failure;
  };

  test('everything ends, the latest first, though some of it fails, and the failures are thrown when all has ended', async () => {
    const [bus, disk] = [new Error('the bus is gone'), new Error('the disk is full')];
    await endAll([part('a'), part('b')]);
    await expect(endAll([part('c'), part('d', bus), part('e')])).rejects.toBe(bus);
    await expect(endAll([part('f', disk), part('g', bus)])).rejects.toMatchObject({
      errors: [bus, disk],
    });
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

  test('a failure is thrown to its own caller, and to none after it', async () => {
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

describe('make folder', () => {
  let place: string;
  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'antipode-folders-'));
  });
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  test('a folder is made with all that is missing above it, each for its owner alone, and may be there already', () => {
    const folder = join(place, 'one', 'two', 'three');
    for (const _ of ['first', 'again']) makeFolder(folder);
    for (const made of [folder, join(place, 'one')])
      expect(statSync(made).mode & 0o777).toBe(0o700);
  });

  test('where a file is in the way nothing is created, and the failure says so', () => {
    const file = join(place, 'file');
    writeFileSync(file, '');
    expect(() => makeFolder(file)).toThrow('EEXIST');
    expect(() => makeFolder(join(file, 'below', 'it'))).toThrow('ENOTDIR');
    expect(existsSync(join(place, 'below'))).toBe(false);
  });
});
