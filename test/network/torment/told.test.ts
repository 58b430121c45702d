import { describe, expect, test } from 'vitest';
import { type Channel, type ExpectedMessage, type Got, judgeMessages } from './receivers.ts';

const minute = 60_000;
const everywhere: Channel = { name: 'well', covers: null, delay_s: 0 };

const outage = (
  id: string,
  confirmed_at: number,
  more: Partial<ExpectedMessage> = {},
): ExpectedMessage => ({
  id,
  place: '/failing/0',
  confirmed_at,
  resolved_at: confirmed_at + minute,
  isDue: true,
  ...more,
});

const got = (
  id: string,
  at: number,
  incident: string,
  event: string,
  more: Partial<Got> = {},
): Got => ({
  channel: 'well',
  id,
  at,
  body: '',
  items: [{ incident, event }],
  taken: true,
  ...more,
});

const judged = (
  incidents: readonly ExpectedMessage[],
  told: readonly Got[],
  channel = everywhere,
  overtaken: readonly string[] = [],
) => judgeMessages({ channels: [channel], got: told, incidents, overtaken: new Set(overtaken) });

const right = [got('m1', 1_000, 'a', 'down'), got('m2', 62_000, 'a', 'up')];
const first = outage('a', 500);

describe('faults that torment finds in the messages', () => {
  test('none where each outage was notified once, and its end after it, however often a message was retried', () => {
    const again = [
      got('m1', 900, 'a', 'down', { taken: false }),
      ...right,
      got('m2', 63_000, 'a', 'up'),
    ];
    expect(judged([first], again)).toEqual({ taken: 2, lost: [], wrong: [] });
    expect(judged([first], [got('m1', 70_000, 'a', 'was_down')])).toMatchObject({
      lost: [],
      wrong: [],
    });
  });

  test('an outage, or its end, without a message', () => {
    expect(judged([first], []).lost).toEqual(['well: /failing/0 a was told to nobody']);
    expect(judged([first], [got('m1', 900, 'a', 'down', { taken: false })]).lost).toHaveLength(1);
    expect(judged([first], right.slice(0, 1)).lost).toEqual([
      'well: /failing/0 a: its end was told to nobody',
    ]);
    expect(judged([outage('a', 500, { resolved_at: null })], right.slice(0, 1)).lost).toEqual([]);
    expect(judged([outage('a', 500, { resolved_at: 400 })], []).lost).toEqual([]);
    expect(judged([outage('a', 500, { resolved_at: 500 })], []).lost).toHaveLength(1);
  });

  test('an alert that was sent twice, in different messages', () => {
    expect(judged([first], [...right, got('m3', 64_000, 'a', 'up')]).wrong).toEqual([
      expect.stringContaining('its end was told twice'),
    ]);
    expect(judged([first], [...right, got('m3', 2_000, 'a', 'down')]).wrong).toEqual([
      expect.stringContaining('its beginning was told twice'),
    ]);
    // Nobody knew that the first was taken: who sent it was killed.
    expect(
      judged(
        [first],
        [right[0], got('m3', 62_000, 'a', 'was_down')].flatMap((one) => one ?? []),
        everywhere,
        ['m1'],
      ).wrong,
    ).toEqual([]);
  });

  test('a retry that differs, an end before its beginning, and a message that was not due', () => {
    expect(judged([first], [got('m1', 900, 'a', 'up', { taken: false }), ...right]).wrong).toEqual([
      expect.stringContaining('another thing'),
    ]);
    expect(judged([first], right.toReversed()).wrong).toEqual([
      expect.stringContaining('told first'),
    ]);
    expect(judged([outage('a', 500, { isDue: false })], right).wrong).toEqual([
      expect.stringContaining('not to be told'),
    ]);
  });

  test('an outage that became known late, and was told as one of now or to nobody', () => {
    const late = [outage('a', 500, { isDue: false, isLate: true })];
    expect(judged(late, [got('m1', 700_000, 'a', 'was_down')])).toEqual({
      taken: 1,
      lost: [],
      wrong: [],
    });
    expect(judged(late, []).lost).toEqual(['well: /failing/0 a was told to nobody']);
    // It was over before it was due, as a ping said that came later still.
    const short = outage('a', 500, { isDue: false, isLate: true, resolved_at: 500 });
    expect(judged([short], []).lost).toEqual([]);
    expect(judged(late, right).wrong).toEqual([
      expect.stringContaining('became known when it was over'),
    ]);
  });

  test('a message that a channel does not cover, or that comes early', () => {
    expect(judged([first], right, { ...everywhere, covers: ['/steady/0'] }).wrong).toEqual([
      expect.stringContaining('does not cover'),
    ]);
    expect(judged([first], [], { ...everywhere, covers: ['/steady/0'] }).lost).toEqual([]);
    expect(judged([first], right, { ...everywhere, delay_s: 10 }).wrong).toEqual([
      expect.stringContaining('500 ms after'),
    ]);
    const early = [got('m1', 400, 'a', 'down'), got('m2', 62_000, 'a', 'up')];
    expect(judged([first], early).wrong).toEqual([expect.stringContaining('-100 ms after')]);
    expect(judged([outage('a', 500, { isRedated: true })], early).wrong).toEqual([]);
  });

  test('rule 37: a third outage within half an hour is sent as flapping, and then none', () => {
    const four = [
      first,
      outage('b', 5 * minute),
      outage('c', 10 * minute),
      outage('d', 14 * minute),
    ];
    const plain = [...right, got('m3', 5 * minute, 'b', 'down'), got('m4', 6 * minute, 'b', 'up')];
    expect(judged(four, [...plain, got('m5', 10 * minute, 'c', 'flapping')])).toMatchObject({
      lost: [],
      wrong: [],
    });
    expect(judged(four, plain).lost).toEqual([expect.stringContaining('c was told to nobody')]);
    expect(
      judged(four, [
        ...plain,
        got('m5', 10 * minute, 'c', 'flapping'),
        got('m6', 14 * minute, 'd', 'down'),
        got('m7', 15 * minute, 'd', 'up'),
      ]).wrong,
    ).toEqual([expect.stringContaining('of a monitor that flaps')]);
  });
});
