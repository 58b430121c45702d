import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { downs, mayNotify, release, settle } from '../../../coordinator/core/incident.ts';
import { coverOf } from '../../../coordinator/maintenance/window.ts';

const cover = [{ from: 100, to: 200 }];

describe('rule 25: when a "down" goes out', () => {
  test.each([
    ['before any cover', 50, 50, { is: 'due' }],
    ['not before alert_after_s', 90, 50, { is: 'held', until: 90 }],
    ['confirmed inside cover: held to its end', 150, 150, { is: 'held', until: 200 }],
    ['alert_after_s ends inside cover: held to its end', 100, 60, { is: 'held', until: 200 }],
    ['due before, but only asked for inside cover', 90, 120, { is: 'held', until: 200 }],
    ['the end of cover is no cover', 150, 200, { is: 'due' }],
    ['alert_after_s reaches beyond the cover', 250, 200, { is: 'held', until: 250 }],
  ] as const)('rule 25: %s', (_, due, now, expected) => {
    expect(release(due, cover, now)).toEqual(expected);
  });

  test('rule 25: windows that touch hold as one', () => {
    expect(release(150, [...cover, { from: 200, to: 300 }], 150)).toEqual({ is: 'held', until: 300 });
  });

  test('rule 25: deleting the window releases what it held', () => {
    const windows = (deleted_at: number | null) => [{ created_at: 0, deleted_at, occurrences: cover, direct: true, groups: [] }];
    expect(release(150, coverOf(windows(null), []), 160)).toEqual({ is: 'held', until: 200 });
    expect(release(150, coverOf(windows(160), []), 160)).toEqual({ is: 'due' });
  });

  test('rule 25: nothing goes out inside cover or before its time, whatever the cover', () => {
    const time = fc.integer({ min: 0, max: 100 });
    const covers = fc.array(
      fc.tuple(time, time).map(([from, long]) => ({ from, to: from + long })),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(time, covers, time, (due, some, now) => {
        const answer = release(due, some, now);
        const inside = some.some(({ from, to }) => from <= now && now < to);
        expect(answer.is === 'due').toBe(due <= now && !inside);
        if (answer.is === 'held') expect(answer.until).toBeGreaterThan(now);
      }),
    );
  });

  test('rule 25: what is over before it was due sends nothing', () => {
    expect(settle(downs([], ['mail'], 90), 'up', 80)).toEqual([{ event: 'down', channel: 'mail', state: 'dropped', due_at: 90 }]);
  });

  test('rule 25: one that waits follows what confirmed it; one that left has left', () => {
    const waits = { event: 'down', channel: 'mail', state: 'held', due_at: 90 } as const;
    const left = { event: 'down', channel: 'chat', state: 'due', due_at: 90 } as const;
    expect(downs([waits, left], ['mail', 'chat', 'page'], 95)).toEqual([{ ...waits, due_at: 95 }]);
    expect(downs([waits, left], ['mail', 'chat'], 90)).toEqual([]);
    expect(downs([{ ...waits, state: 'dropped' }], ['mail'], 95)).toEqual([]);
  });

  test('rule 25: an "up" goes to exactly the channels that took the "down"', () => {
    const rows = [
      { event: 'down', channel: 'mail', state: 'sent', due_at: 90 },
      { event: 'down', channel: 'chat', state: 'due', due_at: 90 },
      { event: 'down', channel: 'page', state: 'held', due_at: 500 },
      { event: 'down', channel: 'old', state: 'dropped', due_at: 90 },
    ] as const;
    expect(settle(rows, 'up', 120).map(({ event, channel, state }) => [event, channel, state])).toEqual([
      ['down', 'page', 'dropped'],
      ['up', 'mail', 'due'],
      ['up', 'chat', 'due'],
    ]);
  });

  test('rule 28: a "down" is one for each channel, however often it is told', () => {
    const first = downs([], ['mail', 'chat'], 90);
    expect(first).toEqual([
      { event: 'down', channel: 'mail', state: 'held', due_at: 90 },
      { event: 'down', channel: 'chat', state: 'held', due_at: 90 },
    ]);
    expect(downs(first, ['mail', 'chat'], 90)).toEqual([]);
  });

  test('rule 28: also where there is one channel, and no event is told again', () => {
    const [only] = downs([], ['mail'], 90);
    expect(only && downs([only], ['mail'], 90)).toEqual([]);
  });

  test('rule 4: a "down" may be told when the past has been decided, or the target told us itself', () => {
    expect(mayNotify({ isPastDecided: false, isToldByTarget: false })).toBe(false);
    expect(mayNotify({ isPastDecided: true, isToldByTarget: false })).toBe(true);
    expect(mayNotify({ isPastDecided: false, isToldByTarget: true })).toBe(true);
  });

  test('rule 28: an end that is told twice sends one "up"', () => {
    const sent = [{ event: 'down', channel: 'mail', state: 'sent', due_at: 90 }] as const;
    expect(settle([...sent, ...settle(sent, 'up', 120)], 'up', 120)).toEqual([]);
  });
});

describe('rules 24 and 26: what is covered', () => {
  const window = { created_at: 120, deleted_at: null, occurrences: cover, direct: false, groups: ['web'] };

  test('rule 24: cover begins at the later of the window’s start and its creation', () => {
    expect(coverOf([{ ...window, direct: true }], [])).toEqual([{ from: 120, to: 200 }]);
  });

  test('rule 24: deleting the window ends its cover then, and leaves the past covered', () => {
    expect(coverOf([{ ...window, direct: true, deleted_at: 150 }], [])).toEqual([{ from: 120, to: 150 }]);
    expect(coverOf([{ ...window, direct: true, deleted_at: 250 }], [])).toEqual([{ from: 120, to: 200 }]);
    expect(coverOf([{ ...window, direct: true, deleted_at: 110 }], [])).toEqual([]);
  });

  test('rule 26: a monitor added to the group later is covered from then on, one removed no longer', () => {
    expect(coverOf([window], [{ group: 'web', from: 130, to: null }])).toEqual([{ from: 130, to: 200 }]);
    expect(coverOf([window], [{ group: 'web', from: 0, to: 140 }])).toEqual([{ from: 120, to: 140 }]);
    expect(coverOf([window], [{ group: 'mail', from: 0, to: null }])).toEqual([]);
  });
});
