import { describe, expect, test } from 'vitest';
import {
  messagesOf,
  newestOfEach,
  sentenceOf,
} from '../../../coordinator/notifications/message.ts';
import {
  type NotificationProgress,
  type StoredStep,
  storyOf,
} from '../../../coordinator/notifications/story.ts';
import { type SidesVerdict, sidesSentence } from '../../../shared/base/sides.ts';

describe('rule 32: what leaves together', () => {
  let monitors = 0;
  const item = (changes: object) =>
    ({
      monitor_id: `m${monitors++}`,
      event: 'down',
      thread: 'a',
      group: null,
      cause: 'status 503, expected 2xx',
      name: 'Checkout',
      seen: { scope: null, layer: null },
      started_at: 0,
      ended_at: null,
      acknowledged_as: null,
      steady: false,
      late: null,
      rate: null,
      ...changes,
    }) as Parameters<typeof sentenceOf>[0][number];

  /** In minutes after eight o'clock. */
  const late = (from: number, to: number, learned: number) => {
    const at = (minutes: number) => (8 * 60 + minutes) * 60_000;
    return item({
      event: 'was_down',
      monitor_id: 'checkout',
      started_at: at(from),
      ended_at: at(to),
      late: { learned_at: at(learned) },
    });
  };

  test('rule 32: one message, ordered by group and by common cause, the gravest first', () => {
    const due = [
      item({ name: 'c10' }),
      item({ event: 'up', name: 'up' }),
      item({ name: 'b', group: 'Shop', cause: 'timed out' }),
      item({ name: 'c2' }),
      item({ name: 'a', group: 'Shop', cause: 'timed out' }),
      item({ name: 'z', group: 'Shop', cause: 'refused' }),
    ];
    const [message, ...others] = messagesOf(due, true);
    expect(others).toEqual([]);
    expect(message?.event).toBe('down');
    expect(message?.items.map(({ name }) => name)).toEqual(['z', 'a', 'b', 'c2', 'c10', 'up']);
  });

  test('rule 32: a monitor is in its message once, with its newest state, which sets the colour', () => {
    const flap = { name: 'Flap', monitor_id: 'flap' };
    const down = item({ ...flap, event: 'flapping', started_at: 1 });
    const up = item({ ...flap, event: 'up', started_at: 2 });
    const [message] = messagesOf([down, up, item({ event: 'up' })], true);
    expect(message?.event).toBe('up');
    expect(message?.items).toHaveLength(3);
    const newest = newestOfEach(
      [up, down, item({ ...flap, event: 'acknowledged', started_at: 2 })],
      ({ monitor_id }) => monitor_id,
    );
    expect(newest).toEqual([up]);
  });

  test('rule 32: a program gets one message for each event', () => {
    const messages = messagesOf([item({}), item({}), item({ event: 'up' })], false);
    expect(messages.map(({ event, items }) => [event, items.length])).toEqual([
      ['down', 1],
      ['down', 1],
      ['up', 1],
    ]);
  });

  /** An office beside two continents. */
  function sides(verdict: SidesVerdict) {
    const side = (isFailing: boolean, places: string[]) =>
      isFailing ? { failing: places, passing: [] } : { failing: [], passing: places };
    const seen = {
      inside: side(verdict !== 'way_in', ['Office']),
      outside: side(verdict !== 'inside_only', ['Asia', 'Europe']),
    };
    return { ...seen, verdict, sentence: `${sidesSentence(seen, verdict)}.` };
  }

  test.each([
    [
      'Checkout is down everywhere: status 503, expected 2xx.',
      [item({ seen: { scope: 'everywhere', layer: 'http' } })],
    ],
    [
      'Checkout is down from 2 of 3 continents; Europe is checking: status 503, expected 2xx.',
      [
        item({
          seen: {
            scope: 'some_continents',
            layer: 'http',
            continents: {
              failed: ['Asia', 'North America'],
              passed: [],
              asked: ['Asia', 'Europe', 'North America'],
            },
          },
        }),
      ],
    ],
    [
      'Checkout is down from 2 of 4 continents; Africa and Europe are checking: status 503, expected 2xx.',
      [
        item({
          seen: {
            scope: 'some_continents',
            layer: 'http',
            continents: {
              failed: ['Asia', 'Oceania'],
              passed: [],
              asked: ['Africa', 'Asia', 'Europe', 'Oceania'],
            },
          },
        }),
      ],
    ],
    [
      'Checkout is down from 2 of 3 continents: status 503, expected 2xx.',
      [
        item({
          seen: {
            scope: 'some_continents',
            layer: 'http',
            continents: {
              failed: ['Asia', 'Oceania'],
              passed: ['Africa'],
              asked: ['Africa', 'Asia', 'Oceania'],
            },
          },
        }),
      ],
    ],
    [
      'Checkout is down from some continents: status 503, expected 2xx.',
      [item({ seen: { scope: 'some_continents', layer: 'http' } })],
    ],
    [
      'Checkout is down everywhere: status 503, expected 2xx. Fails inside too (Office): the service itself.',
      [item({ seen: { scope: 'everywhere', layer: 'http', sides: sides('service') } })],
    ],
    [
      'Checkout is down outside, up inside (Office): status 503, expected 2xx. Up inside (Office), down from two continents: check edge, firewall or DNS.',
      [item({ seen: { scope: 'everywhere', layer: 'http', sides: sides('way_in') } })],
    ],
    [
      'Checkout is down inside (Office), up outside: status 503, expected 2xx. Down inside only (Office): check that network.',
      [item({ seen: { scope: 'everywhere', layer: 'http', sides: sides('inside_only') } })],
    ],
    [
      'Checkout is down: no heartbeat for 90 seconds.',
      [
        item({
          seen: { scope: 'everywhere', layer: 'heartbeat' },
          cause: 'no heartbeat for 90 seconds',
        }),
      ],
    ],
    [
      'Checkout was down for 6 min: status 503, expected 2xx.',
      [item({ event: 'was_down', ended_at: 360_000 })],
    ],
    [
      'Checkout was down from 08:01 to 08:09; we learned it at 09:25 (UTC): status 503, expected 2xx.',
      [late(1, 9, 85)],
    ],
    [
      'Checkout was down from 08:01 to 08:09 (UTC): status 503, expected 2xx.',
      [item({ ...late(1, 9, 85), late: { learned_at: null } })],
    ],
    [
      'Checkout was down 2 times between 08:01 and 08:30; we learned it at 09:25 (UTC): status 503, expected 2xx.',
      [late(1, 9, 85), late(20, 30, 85)],
    ],
    [
      '2 monitors were down between 08:01 and 08:30; we learned it at 09:25 (UTC).',
      [late(1, 9, 85), item({ ...late(20, 30, 85), monitor_id: 'mail', cause: 'refused' })],
    ],
    [
      'Checkout was down from 1970-01-01 08:01 to 1970-01-02 08:00; we learned it at 1970-01-02 08:01 (UTC): status 503, expected 2xx.',
      [late(1, 1_440, 1_441)],
    ],
    ['Checkout is up again after 12 s.', [item({ event: 'up', ended_at: 12_000 })]],
    [
      'Checkout is up again, and has been stable for 15 min.',
      [item({ event: 'up', ended_at: 12_000, steady: true })],
    ],
    [
      'Checkout is still down after 10 min: status 503, expected 2xx.',
      [item({ event: 'reminder' })],
    ],
    ['Checkout is acknowledged by Ada.', [item({ event: 'acknowledged', acknowledged_as: 'Ada' })]],
    ['2 monitors are down, 1 is up again.', [item({}), item({}), item({ event: 'up' })]],
    ['2 monitors are down: status 503, expected 2xx.', [item({}), item({})]],
    ['2 monitors are down.', [item({}), item({ cause: 'connection refused' })]],
    ['2 monitors are up again.', [item({ event: 'up' }), item({ event: 'up' })]],
    ['2 monitors are no longer monitored.', [item({ event: 'closed' }), item({ event: 'closed' })]],
    [
      'Flap is up again after 12 s.',
      [
        item({
          name: 'Flap',
          monitor_id: 'flap',
          event: 'was_down',
          started_at: -60_000,
          ended_at: -55_000,
        }),
        item({ name: 'Flap', monitor_id: 'flap', event: 'up', ended_at: 12_000 }),
      ],
    ],
  ] as const)('rules 31 and 32: it says %s', (sentence, items) => {
    expect(sentenceOf(items, { now: 600_000, time_zone: 'UTC' })).toBe(sentence);
  });
});

describe('rule 40: why a channel was notified, and why not', () => {
  const way: NotificationProgress = {
    channel: { name: 'Chat', shut: undefined, covers: 'all', covered: true },
    incident: { confirmed_at: 0, ended_at: null },
    down: { state: 'due', due_at: 0, covered: false },
    steps: [],
  };
  const step: StoredStep = {
    event: 'down',
    state: 'told',
    due_at: 0,
    created_at: 5,
    settled_at: 9,
    holds: [],
    because: null,
    message: null,
  };
  const texts = (given: NotificationProgress) => storyOf(given).map(({ text }) => text);

  test('rule 40: every hold, the message, each attempt and its answer', () => {
    const told: StoredStep = {
      ...step,
      holds: [['bucket', 6, 5_000]],
      message: {
        state: 'delivered',
        created_at: 5_000,
        next_at: 0,
        settled_at: 7_000,
        words: null,
        together: 3,
        attempts: [
          { at: 5_001, status: 503, class: 'answer', verdict: 'retry', words: null },
          { at: 6_001, status: 204, class: 'answer', verdict: 'delivered', words: null },
        ],
      },
    };
    expect(texts({ ...way, steps: [told] })).toEqual([
      'Outage confirmed.',
      'This channel receives alerts for all monitors.',
      'Alert queued.',
      'On hold: this channel had just got several messages, so further ones are sent together.',
      'Sending, together with 2 more.',
      'Attempt 1: failed, retrying (HTTP 503).',
      'Attempt 2: delivered (HTTP 204).',
    ]);
    const { message } = told;
    if (message === null) throw new Error('no message');
    const ended = (words: string | null): StoredStep => ({
      ...told,
      message: { ...message, state: 'failed', words },
    });
    expect(texts({ ...way, steps: [ended('The channel was turned off.')] }).at(-1)).toBe(
      'Failed: The channel was turned off.',
    );
    expect(texts({ ...way, steps: [ended(null)] }).at(-1)).toBe(
      'Failed: not delivered within a day.',
    );
  });

  test.each([
    [
      'no other continent confirmed the outage',
      { ...way, incident: { confirmed_at: null, ended_at: 9 } },
    ],
    [
      'the monitor is in maintenance',
      { ...way, down: { state: 'held', due_at: 0, covered: true } },
    ],
    [
      'the outage ended before the delay was over',
      { ...way, down: { state: 'dropped', due_at: 0, covered: false } },
    ],
    [
      'its selected monitors do not include this one',
      { ...way, channel: { ...way.channel, covered: false } },
    ],
    ['the channel is turned off', { ...way, channel: { ...way.channel, shut: 'off' } }],
    [
      'the outage became known only after it had ended',
      { ...way, down: { state: 'none', due_at: null, covered: false } },
    ],
    [
      'it was already acknowledged',
      { ...way, steps: [{ ...step, state: 'dropped', because: 'acknowledged' }] },
    ],
    [
      'the monitor was in maintenance',
      { ...way, down: { ...way.down, covered: true }, steps: [{ ...step, created_at: 60_000 }] },
    ],
  ] as const)('rule 40: %s', (words, given) => {
    expect(texts(given).join(' ')).toContain(words);
  });
});
