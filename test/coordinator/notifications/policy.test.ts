import { describe, expect, test } from 'vitest';
import { hoursFrom, withinHours } from '../../../coordinator/notifications/hours.ts';
import {
  decideStep,
  delayFrom,
  flappingOf,
  fullBucket,
  gather,
  muteFrom,
  parentOutage,
  passesSince,
  reminderFrom,
  type StepContext,
  waitForParents,
} from '../../../coordinator/notifications/policy.ts';
import fc from '../../support/random.ts';

describe('step', () => {
  const minute = 60_000;
  const around: StepContext = {
    incident: { started_at: 0, confirmed_at: 0, ended_at: null, acknowledged_at: null },
    channel: { shut: undefined, delay_s: 0, hours: null },
    cover: [],
    muted_until: null,
    parents: [],
    parents_awaited: null,
    cause: null,
    flapping: 'plain',
    waits_for_steadiness: false,
    down_again: false,
    gathered: false,
  };
  const down = { event: 'down', due_at: 0, not_before: 0 } as const;
  const incident = (changes: Partial<StepContext['incident']>): StepContext => ({
    ...around,
    incident: { ...around.incident, ...changes },
  });
  const channel = (changes: Partial<StepContext['channel']>): StepContext => ({
    ...around,
    channel: { ...around.channel, ...changes },
  });

  describe('rule 33: delay is escalation', () => {
    const later = channel({ delay_s: 300 });
    test('rule 33: not before the delay is over', () => {
      expect(decideStep(down, later, 299_999)).toEqual({ is: 'held', by: 'delay', until: 300_000 });
      expect(decideStep(down, later, 300_000)).toEqual({ is: 'due' });
    });
    test('rule 33: not when it is over by then, or acknowledged', () => {
      expect(
        decideStep(down, { ...later, incident: incident({ ended_at: 200_000 }).incident }, 300_000),
      ).toEqual({
        is: 'dropped',
        because: 'over',
      });
      const acknowledged = { ...later, incident: incident({ acknowledged_at: 200_000 }).incident };
      expect(decideStep(down, acknowledged, 300_000)).toEqual({
        is: 'dropped',
        because: 'acknowledged',
      });
    });
    test('rule 33: not when it was acknowledged before it was due for anyone', () => {
      const late = { ...down, due_at: 600_000 };
      expect(decideStep(late, incident({ acknowledged_at: 120_000 }), 600_000)).toEqual({
        is: 'dropped',
        because: 'acknowledged',
      });
      expect(decideStep(late, incident({ acknowledged_at: 600_500 }), 600_600)).toEqual({
        is: 'due',
      });
    });
  });

  test('rule 32: an alert that was due, waited only to be gathered, and is over by then, is sent as past', () => {
    const over = { ...incident({ ended_at: 20_000 }), gathered: true };
    expect(decideStep(down, over, 30_000)).toEqual({ is: 'due', as: 'was_down' });
    // Somebody was on it before it left: only what waited for others is told all the same.
    const both = { ...over, incident: { ...over.incident, acknowledged_at: 10_000 } };
    expect(decideStep(down, both, 30_000)).toEqual({ is: 'due', as: 'was_down' });
    expect(decideStep(down, { ...both, gathered: false }, 30_000)).toEqual({
      is: 'dropped',
      because: 'over',
    });
    const taken = incident({ acknowledged_at: 20_000 });
    expect(decideStep(down, { ...taken, gathered: true }, 30_000)).toEqual({ is: 'due' });
    expect(decideStep(down, taken, 30_000)).toEqual({ is: 'dropped', because: 'acknowledged' });
  });

  describe('rule 34: acknowledging', () => {
    test('rule 34: it ends reminders', () => {
      const reminder = { event: 'reminder', due_at: 0, not_before: 600_000 } as const;
      expect(decideStep(reminder, around, 0)).toEqual({
        is: 'held',
        by: 'reminder',
        until: 600_000,
      });
      expect(decideStep(reminder, around, 600_000)).toEqual({ is: 'due' });
      expect(decideStep(reminder, incident({ acknowledged_at: 5 }), 600_000)).toEqual({
        is: 'dropped',
        because: 'acknowledged',
      });
    });
    test('rule 34: it does not stop a "down" of the same moment, and the end is sent all the same', () => {
      expect(decideStep(down, incident({ acknowledged_at: 500 }), 600)).toEqual({ is: 'due' });
      expect(
        decideStep(
          { ...down, event: 'up' },
          incident({ acknowledged_at: 500, ended_at: 900 }),
          1_000,
        ),
      ).toEqual({ is: 'due' });
    });
    test('rule 34: it is announced at once, unless the incident is over', () => {
      expect(
        decideStep({ ...down, event: 'acknowledged' }, incident({ acknowledged_at: 5 }), 6),
      ).toEqual({ is: 'due' });
      expect(
        decideStep(
          { ...down, event: 'acknowledged' },
          incident({ acknowledged_at: 5, ended_at: 5 }),
          6,
        ),
      ).toEqual({
        is: 'dropped',
        because: 'over',
      });
    });
  });

  describe('rule 36: hours, mute and cover hold a "down", and do not drop it', () => {
    test('rule 36: until the mute ends', () => {
      expect(decideStep(down, { ...around, muted_until: 3_600_000 }, 5)).toEqual({
        is: 'held',
        by: 'mute',
        until: 3_600_000,
      });
      expect(decideStep(down, { ...around, muted_until: 3_600_000 }, 3_600_000)).toEqual({
        is: 'due',
      });
    });
    test('rule 36: until the hours of the channel begin', () => {
      const hours = {
        zone: 'UTC',
        spans: [{ days: [1, 2, 3, 4, 5, 6, 7], from: '09:00', to: '17:00' }],
      };
      expect(decideStep(down, channel({ hours }), 0)).toEqual({
        is: 'held',
        by: 'hours',
        until: 9 * 60 * minute,
      });
      expect(decideStep(down, channel({ hours }), 10 * 60 * minute)).toEqual({ is: 'due' });
    });
    test('rule 36: as in cover, into which a delay may reach', () => {
      expect(
        decideStep(
          down,
          {
            ...around,
            cover: [
              { from: 0, to: 50 },
              { from: 50, to: 90 },
            ],
          },
          5,
        ),
      ).toEqual({
        is: 'held',
        by: 'maintenance',
        until: 90,
      });
    });
    test('rule 36: an "up" goes out all the same', () => {
      const quiet = {
        ...incident({ ended_at: 5 }),
        muted_until: 3_600_000,
        cover: [{ from: 0, to: 100 }],
      };
      expect(decideStep({ ...down, event: 'up' }, quiet, 6)).toEqual({ is: 'due' });
    });
    test('rule 36: whatever holds it, it is held until a later moment, and once nothing does it is due', () => {
      const time = fc.integer({ min: 0, max: 100_000 });
      fc.assert(
        fc.property(time, time, time, time, (now, muted, from, to) => {
          const given = { ...around, muted_until: muted, cover: [{ from, to }] };
          const answer = decideStep(down, given, now);
          if (answer.is === 'held') expect(answer.until).toBeGreaterThan(now);
          expect(answer.is === 'due').toBe(muted <= now && !(from <= now && now < to));
        }),
      );
    });
  });

  describe('rule 47: what it depends on', () => {
    const held = (interval_s: number, resolved_at: number | null, now: number) =>
      decideStep(
        down,
        {
          ...around,
          parents: [
            parentOutage({ called: 'Gateway', started_at: -5, resolved_at, interval_s }, now),
          ],
        },
        now,
      );
    test('rule 47: is down: until it was back for one round, of ten minutes at most', () => {
      expect(held(60, null, 5)).toEqual({
        is: 'held',
        by: 'dependency',
        until: 5 + 60 * minute,
        parent: 'Gateway',
      });
      expect(held(60, 100, 75_099)).toMatchObject({ by: 'dependency', until: 75_100 });
      expect(held(60, 100, 75_100)).toEqual({ is: 'due' });
      expect(held(86_400, 100, 10 * minute + 15_100)).toEqual({ is: 'due' });
    });
    test('rule 47: was down: a "down" that was due before is told, and one that was held is not', () => {
      const parents = [{ called: 'Gateway', from: 10, over_at: null, to: 100 }];
      const over = { ...incident({ ended_at: 50 }), parents };
      expect(decideStep(down, over, 200)).toEqual({ is: 'dropped', because: 'over' });
      expect(
        decideStep(
          down,
          { ...over, parents: [{ called: 'Gateway', from: 60, over_at: null, to: 100 }] },
          200,
        ),
      ).toEqual({ is: 'due', as: 'was_down' });
    });
    test('rule 47: was down, and was back before this one failed: it holds nothing', () => {
      const parents = [{ called: 'Gateway', from: -100, over_at: -1, to: 100 }];
      expect(decideStep(down, { ...around, parents }, 5)).toEqual({ is: 'due' });
      expect(decideStep(down, { ...incident({ started_at: -2 }), parents }, 5)).toMatchObject({
        by: 'dependency',
      });
    });
    test('rule 47: has not answered yet: for a moment', () => {
      const awaited = { ...around, parents_awaited: waitForParents(10) };
      expect(decideStep(down, awaited, 10)).toMatchObject({ by: 'parent_check', until: 15_010 });
      expect(decideStep(down, awaited, 15_010)).toEqual({ is: 'due' });
    });
    test('rule 47: holds no reminder, and no end', () => {
      const parents = [{ called: 'Gateway', from: 0, over_at: null, to: 100 }];
      expect(decideStep({ ...down, event: 'reminder' }, { ...around, parents }, 5)).toEqual({
        is: 'due',
      });
      expect(
        decideStep({ ...down, event: 'up' }, { ...incident({ ended_at: 5 }), parents }, 6),
      ).toEqual({ is: 'due' });
    });
    test('rule 47: is shown to be well by a pass, with no failure beside it', () => {
      const [ok, fail, unknown] = [
        { outcome: 'ok' },
        { outcome: 'fail' },
        { outcome: 'unknown' },
      ] as const;
      expect(passesSince([])).toBe(false);
      expect(passesSince([unknown])).toBe(false);
      expect(passesSince([ok, unknown])).toBe(true);
      expect(passesSince([ok, fail])).toBe(false);
    });
  });

  describe('rule 37: alerts of a flapping monitor', () => {
    test('rule 37: a "down" only when it stays down for 5 min', () => {
      for (const flapping of ['flapping', 'silent'] as const) {
        expect(decideStep(down, { ...around, flapping }, 1)).toEqual({
          is: 'held',
          by: 'flapping',
          until: 5 * minute,
        });
        expect(decideStep(down, { ...around, flapping }, 5 * minute)).toEqual({ is: 'due' });
      }
      expect(
        decideStep({ ...down, event: 'flapping' }, { ...around, flapping: 'flapping' }, 1),
      ).toEqual({ is: 'due' });
    });
    test('rule 37: its end once it was steady for 15 min, and not if it went down again', () => {
      const up = { event: 'up', due_at: 0, not_before: 0 } as const;
      const waits = { ...incident({ ended_at: 0 }), waits_for_steadiness: true };
      expect(decideStep(up, waits, 5)).toEqual({
        is: 'held',
        by: 'steadiness',
        until: 15 * minute,
      });
      expect(decideStep(up, waits, 15 * minute)).toEqual({ is: 'due' });
      expect(decideStep(up, { ...waits, down_again: true }, 5)).toEqual({
        is: 'dropped',
        because: 'down_again',
      });
    });
  });

  describe('rule 31: a "down" that was due when its incident ended', () => {
    const over = incident({ ended_at: 60_000 });
    test('rule 31: is sent all the same, however late it is planned', () => {
      expect(decideStep(down, over, 61_000)).toEqual({ is: 'due', as: 'was_down' });
      expect(
        decideStep({ ...down, event: 'flapping' }, { ...over, flapping: 'flapping' }, 61_000),
      ).toEqual({ is: 'due' });
    });
    test('rules 25 and 31: is dropped when it was held until then', () => {
      const held: readonly StepContext[] = [
        { ...over, channel: channel({ delay_s: 61 }).channel },
        { ...over, flapping: 'silent' },
        { ...over, muted_until: 70_000 },
        { ...over, cover: [{ from: 50_000, to: 70_000 }] },
      ];
      for (const one of held)
        expect(decideStep(down, one, 65_000)).toEqual({ is: 'dropped', because: 'over' });
      expect(decideStep({ ...down, due_at: 60_001 }, over, 65_000)).toEqual({
        is: 'dropped',
        because: 'over',
      });
      expect(decideStep({ ...down, event: 'reminder' }, over, 65_000)).toEqual({
        is: 'dropped',
        because: 'over',
      });
    });
  });

  test('rule 30: a channel that covers nothing drops its alerts, and says why', () => {
    expect(decideStep(down, channel({ shut: 'off' }), 0)).toEqual({
      is: 'dropped',
      because: 'channel_off',
    });
  });
});

describe('rule 37: a monitor that flaps', () => {
  const minute = 60_000;

  /** Outages as [minute of confirmation, minutes long]; the last may go on. */
  const outages = (...told: readonly (readonly [number, number | null])[]) =>
    told.map(([at, long], index) => ({
      incident: String(index),
      confirmed_at: at * minute,
      resolved_at: long === null ? null : (at + long) * minute,
    }));

  test.each([
    ['two are plain', outages([0, 1], [10, null]), 'plain'],
    [
      'the third within 30 min is told as flapping',
      outages([0, 1], [10, 1], [20, null]),
      'flapping',
    ],
    ['three in more than 30 min are plain', outages([0, 1], [20, 1], [31, null]), 'plain'],
    ['the fourth is silent', outages([0, 1], [5, 1], [10, 1], [15, null]), 'silent'],
    [
      'still silent after an hour, if it never was steady',
      outages([0, 1], [9, 1], [18, 1], [32, 1], [46, 1], [60, null]),
      'silent',
    ],
    [
      'after 15 min of rest it is plain again',
      outages([0, 1], [5, 1], [10, 1], [26, null]),
      'plain',
    ],
    ['a minute less, and it is not', outages([0, 1], [5, 1], [10, 1], [25, null]), 'silent'],
    [
      'one that was down for 5 min was told, and ends the silence',
      outages([0, 1], [5, 1], [10, 1], [15, 5], [21, null]),
      'plain',
    ],
  ] as const)('rule 37: %s', (_, told, expected) => {
    expect(flappingOf(told)).toBe(expected);
  });
});

describe('rule 36: the hours of a channel', () => {
  const at = (text: string): number =>
    Temporal.ZonedDateTime.from(`${text}[Europe/Berlin]`).epochMilliseconds;
  const office = {
    zone: 'Europe/Berlin',
    spans: [{ days: [1, 2, 3, 4, 5], from: '09:00', to: '17:00' }],
  };
  const night = { zone: 'Europe/Berlin', spans: [{ days: [5], from: '22:00', to: '06:00' }] };

  test.each([
    ['within them at once', office, '2026-11-23T10:00', '2026-11-23T10:00'], // A Monday.
    ['before them when they begin', office, '2026-11-23T08:59', '2026-11-23T09:00'],
    ['their end is outside', office, '2026-11-23T17:00', '2026-11-24T09:00'],
    ['over the weekend on Monday', office, '2026-11-27T18:00', '2026-11-30T09:00'],
    ['past midnight still within', night, '2026-11-28T05:00', '2026-11-28T05:00'], // A Saturday.
    ['after the night a week later', night, '2026-11-28T06:00', '2026-12-04T22:00'],
    ['by the local clock when summer ends', office, '2026-10-23T18:00', '2026-10-26T09:00'],
  ] as const)('rule 36: %s', (_, hours, now, expected) => {
    expect(withinHours(hours, at(now))).toBe(at(expected));
  });

  test('rule 36: invalid hours are refused in words; without spans it is any hour, and the time zone is checked all the same', () => {
    const span = { days: [1], from: '09:00', to: '17:00' };
    expect(hoursFrom({ zone: null, spans: [] }, 'UTC')).toBe(null);
    expect(() => hoursFrom({ zone: 'Mars', spans: [] }, 'UTC')).toThrow(
      'time_zone: must be an IANA time zone',
    );
    expect(() =>
      hoursFrom({ zone: null, spans: Array.from({ length: 22 }, () => span) }, 'UTC'),
    ).toThrow('must have at most 21 spans');
    expect(() =>
      hoursFrom({ zone: null, spans: [{ days: [8], from: '09:00', to: '17:00' }] }, 'UTC'),
    ).toThrow('1 (Monday) to 7 (Sunday)');
    expect(() =>
      hoursFrom({ zone: null, spans: [{ days: [1], from: '9', to: '17:00' }] }, 'UTC'),
    ).toThrow('09:00');
    expect(() =>
      hoursFrom({ zone: 'Mars', spans: [{ days: [1], from: '09:00', to: '17:00' }] }, 'UTC'),
    ).toThrow('time_zone: must be an IANA time zone');
    expect(
      hoursFrom({ zone: null, spans: [{ days: [2, 1, 2], from: '00:00', to: '24:00' }] }, 'UTC'),
    ).toEqual({
      zone: 'UTC',
      spans: [{ days: [1, 2], from: '00:00', to: '24:00' }],
    });
  });
});

describe('delays', () => {
  test('a channel waits up to a day before its first message, and between a minute and a day before a reminder', () => {
    expect([0, 300, 86_400].map(delayFrom)).toEqual([0, 300, 86_400]);
    expect([0, 1, 60, 86_400].map(reminderFrom)).toEqual([null, 60, 60, 86_400]);
    for (const wrong of [-1, 86_401, Number.POSITIVE_INFINITY]) {
      expect(() => delayFrom(wrong)).toThrow('delay_s: must be from 0 (at once) to 86400 seconds');
      expect(() => reminderFrom(wrong)).toThrow(
        'reminder_s: must be from 0 (never) to 86400 seconds',
      );
    }
  });

  test('all alerts are muted for a week at most', () => {
    expect([1, 60, 10_080].map(muteFrom)).toEqual([1, 60, 10_080]);
    for (const wrong of [-5, 0, 10_081])
      expect(() => muteFrom(wrong)).toThrow('minutes: must be from 1 to 10080');
  });
});

describe('rule 32: how messages of a channel are gathered', () => {
  const second = 1_000;

  /**
   * When messages leave, if something is due at each of these moments and what waits leaves
   * together as soon as it may.
   */
  const leaving = (dueAt: readonly number[]): number[] => {
    const due = dueAt.toSorted((a, b) => a - b);
    let bucket = fullBucket;
    let wake = Number.POSITIVE_INFINITY;
    const left: number[] = [];
    for (let next = 0; next < due.length || wake < Number.POSITIVE_INFINITY; ) {
      const comes = due[next] ?? Number.POSITIVE_INFINITY;
      const now = Math.min(comes, wake);
      const more = comes === now;
      while (due[next] === now) next += 1;
      const gathered = gather(bucket, { now, more });
      bucket = gathered.bucket;
      wake = gathered.is === 'waits' ? gathered.until : Number.POSITIVE_INFINITY;
      if (gathered.is === 'leaves') left.push(now);
    }
    return left;
  };
  const at = (...seconds: readonly number[]): number[] =>
    seconds.map((each) => 1_000_000 + each * second);

  test('rule 32: two leave at once, the third when nothing came for 5 s, those after it when nothing came for 15 s', () => {
    expect(leaving(at(0, 1, 2))).toEqual(at(0, 1, 7));
    expect(leaving(at(0, 1, 2, 4, 10))).toEqual(at(0, 1, 9, 25));
  });

  test('rule 32: however much keeps coming, nothing waits for longer than 20 s, and after that 60 s', () => {
    const oneEachSecond = Array.from({ length: 200 }, (_, index) => index);
    expect(leaving(at(...oneEachSecond)).slice(0, 5)).toEqual(at(0, 1, 22, 83, 144));
  });

  test('rule 32: used tokens are dropped while nothing waits', () => {
    expect(leaving(at(0, 20, 40, 60, 80, 100))).toEqual(at(0, 20, 40, 60, 80, 100));
    expect(leaving(at(0, 1, 2, 60))).toEqual(at(0, 1, 7, 60));
  });

  test('rule 32: 100 within a second, or within a minute, are at most four messages, the first undelayed', () => {
    for (const within of [1, 10, 60]) {
      const left = leaving(
        at(...Array.from({ length: 100 }, (_, index) => (index * within) / 100)),
      );
      expect(left[0]).toBe(1_000_000);
      expect([within, left.length]).toEqual([within, within === 60 ? 4 : 3]);
    }
  });

  test('rule 32: many within a minute, come as they may, are at most four messages', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 59_999 }), { minLength: 1, maxLength: 100 }),
        (more) => {
          // Never 5 s without any: else it is not one matter.
          const due = [...more, ...Array.from({ length: 15 }, (_, index) => index * 4_000)].map(
            (ms) => 1_000_000 + ms,
          );
          const left = leaving(due);
          expect(left.length).toBeLessThanOrEqual(4);
          expect(left[0]).toBe(1_000_000);
        },
      ),
    );
  });

  test('rule 32: whatever is due when leaves within a minute, and no more than four and one for each 15 s', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 300_000 }), { minLength: 1, maxLength: 100 }),
        (more) => {
          const due = more.map((ms) => 1_000_000 + ms);
          const left = leaving(due);
          for (const one of due)
            expect(left.some((when) => when >= one && when - one <= 60 * second)).toBe(true);
          for (const [index, from] of left.entries())
            for (const [many, to] of left.slice(index).entries())
              expect(many + 1).toBeLessThanOrEqual(4 + Math.floor((to - from) / (15 * second)));
        },
      ),
    );
  });

  test('rule 32: a clock that is set back does not prolong a wait beyond its limit', () => {
    const before = { fullAt: 9_000_000, since: 8_990_000, newest: 8_999_000 };
    expect(gather(before, { now: 1_000_000, more: false })).toMatchObject({
      is: 'waits',
      until: 1_015_000,
    });
  });

  test('rule 32: what was dropped while it waited keeps nothing that comes much later', () => {
    const before = { fullAt: 1_040_000, since: 1_002_000, newest: 1_002_000 };
    expect(gather(before, { now: 1_200_000, more: true })).toMatchObject({
      is: 'leaves',
      bucket: { fullAt: 1_215_000 },
    });
  });
});
