import { describe, expect, test } from 'vitest';
import { type OnItsWay, type StoredStep, storyOf } from '../../../coordinator/notifications/story.ts';

const way: OnItsWay = {
  channel: { name: 'Chat', shut: undefined, covers: 'all', covered: true },
  incident: { confirmed_at: 0, ended_at: null },
  down: { state: 'due', due_at: 0, covered: false },
  steps: [],
};
const step: StoredStep = { event: 'down', state: 'told', due_at: 0, created_at: 5, settled_at: 9, holds: [], because: null, message: null };
const texts = (given: OnItsWay) => storyOf(given).map(({ text }) => text);

describe('rule 40: why was I told, and why was I not', () => {
  test('rule 40: every hold, the message, each attempt and its answer', () => {
    const told: StoredStep = {
      ...step,
      holds: [['bucket', 6, 5_000]],
      message: {
        ...{ state: 'taken', created_at: 5_000, next_at: 0, settled_at: 7_000, together: 3 },
        attempts: [
          { at: 5_001, status: 503, class: 'answer', verdict: 'retry', words: null },
          { at: 6_001, status: 204, class: 'answer', verdict: 'taken', words: null },
        ],
      },
    };
    expect(texts({ ...way, steps: [told] })).toEqual([
      'The outage was confirmed.',
      'This channel is told of all monitors.',
      'It was time to say that it is down.',
      'It waited: this channel had just got several messages, so that more of them leave together.',
      'A message left, which tells of 2 more as well.',
      'Attempt 1: it was not taken, and is tried again (status 503).',
      'Attempt 2: it was taken (status 204).',
    ]);
  });

  test.each([
    ['nobody on another continent confirmed the outage', { ...way, incident: { confirmed_at: null, ended_at: 9 } }],
    ['maintenance covers the monitor', { ...way, down: { state: 'held', due_at: 0, covered: true } }],
    ['the outage was over before it was time to tell', { ...way, down: { state: 'dropped', due_at: 0, covered: false } }],
    ['the channel is for chosen monitors', { ...way, channel: { ...way.channel, covered: false } }],
    ['the channel is turned off', { ...way, channel: { ...way.channel, shut: 'off' } }],
    ['it became known only when it was past', { ...way, down: { state: 'none', due_at: null, covered: false } }],
    ['somebody was on it already', { ...way, steps: [{ ...step, state: 'dropped', because: 'acknowledged' }] }],
    ['maintenance covered the monitor', { ...way, down: { ...way.down, covered: true }, steps: [{ ...step, created_at: 60_000 }] }],
  ] as const)('rule 40: %s', (words, given) => {
    expect(texts(given).join(' ')).toContain(words);
  });
});
