import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideStep, type Surroundings } from '../../../coordinator/notifications/policy.ts';

const minute = 60_000;
const around: Surroundings = {
  incident: { confirmed_at: 0, ended_at: null, acknowledged_at: null },
  channel: { shut: undefined, delay_s: 0, hours: null },
  cover: [],
  muted_until: null,
  flapping: 'plain',
  waits_for_steadiness: false,
  down_again: false,
  gathered: false,
};
const down = { event: 'down', due_at: 0, not_before: 0 } as const;
const incident = (changes: Partial<Surroundings['incident']>): Surroundings => ({
  ...around,
  incident: { ...around.incident, ...changes },
});
const channel = (changes: Partial<Surroundings['channel']>): Surroundings => ({ ...around, channel: { ...around.channel, ...changes } });

describe('rule 33: delay is escalation', () => {
  const later = channel({ delay_s: 300 });
  test('rule 33: not before the delay is over', () => {
    expect(decideStep(down, later, 299_999)).toEqual({ is: 'held', by: 'delay', until: 300_000 });
    expect(decideStep(down, later, 300_000)).toEqual({ is: 'due' });
  });
  test('rule 33: not when it is over by then, or acknowledged', () => {
    expect(decideStep(down, { ...later, incident: incident({ ended_at: 200_000 }).incident }, 300_000)).toEqual({
      is: 'dropped',
      because: 'over',
    });
    const acknowledged = { ...later, incident: incident({ acknowledged_at: 200_000 }).incident };
    expect(decideStep(down, acknowledged, 300_000)).toEqual({ is: 'dropped', because: 'acknowledged' });
  });
});

test('rule 32: what was due, waited for others alone, and is over by then, is told as past', () => {
  const over = { ...incident({ ended_at: 20_000 }), gathered: true };
  expect(decideStep(down, over, 30_000)).toEqual({ is: 'due', as: 'was_down' });
  // Somebody was on it before it left: only what waited for others is told all the same.
  const both = { ...over, incident: { ...over.incident, acknowledged_at: 10_000 } };
  expect(decideStep(down, both, 30_000)).toEqual({ is: 'due', as: 'was_down' });
  expect(decideStep(down, { ...both, gathered: false }, 30_000)).toEqual({ is: 'dropped', because: 'over' });
  const taken = incident({ acknowledged_at: 20_000 });
  expect(decideStep(down, { ...taken, gathered: true }, 30_000)).toEqual({ is: 'due' });
  expect(decideStep(down, taken, 30_000)).toEqual({ is: 'dropped', because: 'acknowledged' });
});

describe('rule 34: acknowledging', () => {
  test('rule 34: it ends reminders', () => {
    const reminder = { event: 'reminder', due_at: 0, not_before: 600_000 } as const;
    expect(decideStep(reminder, around, 0)).toEqual({ is: 'held', by: 'reminder', until: 600_000 });
    expect(decideStep(reminder, around, 600_000)).toEqual({ is: 'due' });
    expect(decideStep(reminder, incident({ acknowledged_at: 5 }), 600_000)).toEqual({ is: 'dropped', because: 'acknowledged' });
  });
  test('rule 34: it takes no "down" from somebody who is told in the same moment, and the end is told all the same', () => {
    expect(decideStep(down, incident({ acknowledged_at: 500 }), 600)).toEqual({ is: 'due' });
    expect(decideStep({ ...down, event: 'up' }, incident({ acknowledged_at: 500, ended_at: 900 }), 1_000)).toEqual({ is: 'due' });
  });
  test('rule 34: it is told at once, unless the incident is over', () => {
    expect(decideStep({ ...down, event: 'acknowledged' }, incident({ acknowledged_at: 5 }), 6)).toEqual({ is: 'due' });
    expect(decideStep({ ...down, event: 'acknowledged' }, incident({ acknowledged_at: 5, ended_at: 5 }), 6)).toEqual({
      is: 'dropped',
      because: 'over',
    });
  });
});

describe('rule 36: hours, mute and cover hold a "down", and do not drop it', () => {
  test('rule 36: until the mute ends', () => {
    expect(decideStep(down, { ...around, muted_until: 3_600_000 }, 5)).toEqual({ is: 'held', by: 'mute', until: 3_600_000 });
    expect(decideStep(down, { ...around, muted_until: 3_600_000 }, 3_600_000)).toEqual({ is: 'due' });
  });
  test('rule 36: until the hours of the channel begin', () => {
    const hours = { zone: 'UTC', spans: [{ days: [1, 2, 3, 4, 5, 6, 7], from: '09:00', to: '17:00' }] };
    expect(decideStep(down, channel({ hours }), 0)).toEqual({ is: 'held', by: 'hours', until: 9 * 60 * minute });
    expect(decideStep(down, channel({ hours }), 10 * 60 * minute)).toEqual({ is: 'due' });
  });
  test('rule 36: as in cover, which a delay may reach into', () => {
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
    const quiet = { ...incident({ ended_at: 5 }), muted_until: 3_600_000, cover: [{ from: 0, to: 100 }] };
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

describe('rule 37: what is told of a flapping monitor', () => {
  test('rule 37: a "down" only when it stays down for 5 min', () => {
    for (const flapping of ['flapping', 'silent'] as const) {
      expect(decideStep(down, { ...around, flapping }, 1)).toEqual({ is: 'held', by: 'flapping', until: 5 * minute });
      expect(decideStep(down, { ...around, flapping }, 5 * minute)).toEqual({ is: 'due' });
    }
    expect(decideStep({ ...down, event: 'flapping' }, { ...around, flapping: 'flapping' }, 1)).toEqual({ is: 'due' });
  });
  test('rule 37: its end once it was steady for 15 min, and not if it went down again', () => {
    const up = { event: 'up', due_at: 0, not_before: 0 } as const;
    const waits = { ...incident({ ended_at: 0 }), waits_for_steadiness: true };
    expect(decideStep(up, waits, 5)).toEqual({ is: 'held', by: 'steadiness', until: 15 * minute });
    expect(decideStep(up, waits, 15 * minute)).toEqual({ is: 'due' });
    expect(decideStep(up, { ...waits, down_again: true }, 5)).toEqual({ is: 'dropped', because: 'down_again' });
  });
});

describe('rule 31: a "down" that was due when its incident ended', () => {
  const over = incident({ ended_at: 60_000 });
  test('rule 31: is told all the same, however late it is asked about', () => {
    expect(decideStep(down, over, 61_000)).toEqual({ is: 'due', as: 'was_down' });
    expect(decideStep({ ...down, event: 'flapping' }, { ...over, flapping: 'flapping' }, 61_000)).toEqual({ is: 'due' });
  });
  test('rules 25 and 31: is told to nobody when something held it until then', () => {
    const held: readonly Surroundings[] = [
      { ...over, channel: channel({ delay_s: 61 }).channel },
      { ...over, flapping: 'silent' },
      { ...over, muted_until: 70_000 },
      { ...over, cover: [{ from: 50_000, to: 70_000 }] },
    ];
    for (const one of held) expect(decideStep(down, one, 65_000)).toEqual({ is: 'dropped', because: 'over' });
    expect(decideStep({ ...down, due_at: 60_001 }, over, 65_000)).toEqual({ is: 'dropped', because: 'over' });
    expect(decideStep({ ...down, event: 'reminder' }, over, 65_000)).toEqual({ is: 'dropped', because: 'over' });
  });
});

test('rule 30: a channel that is told of nothing drops what it would be told, and says why', () => {
  expect(decideStep(down, channel({ shut: 'off' }), 0)).toEqual({ is: 'dropped', because: 'channel_off' });
});
