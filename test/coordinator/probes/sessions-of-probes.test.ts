import { describe, expect, test } from 'vitest';
import { noSessions, noteSession, type Sessions } from '../../../coordinator/probes/duplicates.ts';

/** What a listener makes of presences, each `[heard at, id, started at, spoken at]` in seconds. */
const listenTo = (said: readonly (readonly [at: number, id: string, began: number, spoken: number])[]) => {
  let sessions: Sessions = noSessions;
  return said.map(([at, id, began, spoken]) => {
    const heard = noteSession(sessions, { id, up_ms: (spoken - began) * 1_000 }, at * 1_000);
    ({ sessions } = heard);
    return heard.ends ? 'ends' : heard.isOlder ? 'older' : 'stays';
  });
};
/** Heard as soon as it is spoken. */
const listen = (said: readonly (readonly [at: number, id: string, began: number])[]) =>
  listenTo(said.map(([at, id, began]) => [at, id, began, at] as const));

describe('of the processes that speak as one probe', () => {
  test('the only one stays', () => {
    expect(listen(Array.from({ length: 10 }, (_, at) => [at * 5, 'a', 0] as const))).toEqual(Array(10).fill('stays'));
  });

  test('the older is told to end, as often as it speaks, and the later one stays', () => {
    const said = [
      [100, 'old', 0],
      [102, 'new', 101],
      [105, 'old', 0],
      [107, 'new', 101],
      [110, 'old', 0],
      [112, 'new', 101],
    ] as const;
    expect(listen(said)).toEqual(['stays', 'stays', 'ends', 'stays', 'ends', 'stays']);
  });

  test('the older is found by whoever hears the later one first, such as a coordinator that has just started', () => {
    const said = [
      [100, 'new', 90],
      [101, 'old', 0],
      [105, 'new', 90],
      [106, 'old', 0],
    ] as const;
    expect(listen(said)).toEqual(['stays', 'stays', 'stays', 'ends']);
  });

  test('one that took over from one that is gone stays, also when a standstill of ours mixed up their ages', () => {
    expect(
      listen([
        [100, 'gone', 99.9],
        [100, 'next', 99],
        [105, 'next', 99],
        [110, 'next', 99],
      ]),
    ).toEqual(['stays', 'stays', 'stays', 'stays']);
  });

  test('one that hung while another took over is told when it comes back, and stays when that one is gone', () => {
    const takenOver = [
      [0, 'hung', -50],
      [20, 'other', 19],
    ] as const;
    expect(listen([...takenOver, [21, 'hung', -50], [25, 'other', 19], [26, 'hung', -50]]).at(-1)).toBe('ends');
    expect(listen([...takenOver, [60, 'hung', -50], [65, 'hung', -50]])).toEqual(['stays', 'stays', 'stays', 'stays']);
  });

  test('those that are started again and again are left in peace after three, and told again when it has been quiet', () => {
    const said: [number, string, number][] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const at = 10 * turn;
      said.push([at, `p${turn}`, at - 1]);
      if (turn > 0) said.push([at + 1, `p${turn - 1}`, at - 11]);
    }
    const told = listen(said);
    expect(told.filter((word) => word === 'ends')).toHaveLength(3);
    expect(told.slice(-4)).toEqual(['stays', 'older', 'stays', 'older']);
    expect(listen([...said, [500, 'x', 400], [501, 'y', 500.5], [502, 'x', 400]]).at(-1)).toBe('ends');
    const daysLater = said.map(([at, id, began]) => [at + 1_000_000, id, began + 1_000_000] as const);
    expect(listen(daysLater)).toEqual(told);
  });

  test('one that is silent for 15 s is gone', () => {
    const heardAgain = (at: number) =>
      listen([
        [0, 'old', -50],
        [1, 'new', 0],
        [at, 'old', -50],
      ]).at(-1);
    expect(heardAgain(15.999)).toBe('ends');
    expect(heardAgain(16)).toBe('stays');
  });

  test('one that was frozen, killed and started again is one, although a word that it had spoken before comes when the next one speaks', () => {
    const words = [
      [100, 'killed', 0, 100],
      [111, 'next', 110, 111],
      // Spoken at 105, and held up on its way.
      [112, 'killed', 0, 105],
      [116, 'next', 110, 116],
      [117, 'killed', 0, 110],
    ] as const;
    expect(listenTo(words)).toEqual(Array(5).fill('stays'));
    // Who speaks when the other has begun runs beside it.
    expect(listenTo([...words, [118, 'killed', 0, 110.001]]).at(-1)).toBe('ends');
  });

  test('the only one stays, although some of its messages take their time and make it look younger', () => {
    expect(
      listen([
        [10, 'a', 1],
        [15, 'a', 1],
        [20, 'a', 0],
        [25, 'a', 2],
      ]),
    ).toEqual(['stays', 'stays', 'stays', 'stays']);
  });

  test('the older is told, although a message of it that took its time makes it look younger', () => {
    const said = [
      [101, 'old', 100],
      [102, 'new', 101],
      [107, 'old', 101.5],
      [108, 'new', 101],
    ] as const;
    expect(listen(said)).toEqual(['stays', 'stays', 'ends', 'stays']);
  });

  test('of two that are of one age the same one is told by whoever hears them', () => {
    expect(
      listen([
        [100, 'a', 90],
        [101, 'b', 90],
        [105, 'a', 90],
        [106, 'b', 90],
      ]),
    ).toEqual(['stays', 'stays', 'ends', 'stays']);
    expect(
      listen([
        [100, 'b', 90],
        [101, 'a', 90],
        [105, 'b', 90],
        [106, 'a', 90],
      ]),
    ).toEqual(['stays', 'stays', 'stays', 'ends']);
  });

  test('one that was told is told again however often it speaks, and counts as one of three', () => {
    const pair = (at: number, ...[old, later]: readonly [string, string]) =>
      [
        [at, old, at - 50],
        [at + 1, later, at],
        [at + 2, old, at - 50],
      ] as const;
    const first = [...pair(0, 'a', 'b'), [3, 'a', -50], [4, 'a', -50], [5, 'a', -50]] as const;
    const three = [...first, ...pair(20, 'c', 'd'), ...pair(40, 'e', 'f')] as const;
    expect(listen(three).filter((word) => word === 'ends')).toHaveLength(6);
    expect(listen([...three, [43, 'e', -10]]).at(-1)).toBe('ends');
    // Two later ones have been told since.
    expect(listen([...pair(0, 'a', 'b'), ...pair(3, 'c', 'd'), ...pair(6, 'e', 'f'), [9, 'b', 0], [10, 'a', -50]]).at(-1)).toBe('ends');
    expect(listen([...three, ...pair(60, 'g', 'h')]).at(-1)).toBe('older');
  });

  test('a telling counts for five minutes', () => {
    const three = [0, 10, 20].flatMap(
      (at) =>
        [
          [at, `old${at}`, at - 50],
          [at + 1, `new${at}`, at],
          [at + 2, `old${at}`, at - 50],
        ] as const,
    );
    // The first was told at 2 s.
    const fourth = (at: number) => listen([...three, [at - 2, 'old', at - 50], [at - 1, 'new', at - 2], [at, 'old', at - 50]]).at(-1);
    expect(fourth(301.999)).toBe('older');
    expect(fourth(302)).toBe('ends');
  });
});
