import { describe, expect, test } from 'vitest';
import { messagesOf, sentenceOf } from '../../../../coordinator/domain/telling/telling-message.ts';

const item = (changes: object) =>
  ({
    ...{ event: 'down', thread: 'a', group: null, cause: 'status 503, expected 2xx', name: 'Checkout' },
    ...{ scope: null, started_at: 0, ended_at: null, acknowledged_as: null, steady: false },
    ...changes,
  }) as Parameters<typeof sentenceOf>[0][number];

describe('rule 32: what leaves together', () => {
  test('rule 32: one message, ordered by group and by common cause, the gravest first', () => {
    const due = [
      item({ name: 'c10' }),
      item({ event: 'up', name: 'up' }),
      item({ name: 'b', group: 'Shop', cause: 'timed out' }),
      item({ name: 'c2' }),
      item({ name: 'a', group: 'Shop', cause: 'timed out' }),
      item({ name: 'z', group: 'Shop', cause: 'refused' }),
    ];
    const [message, ...others] = messagesOf(due, false);
    expect(others).toEqual([]);
    expect(message?.event).toBe('down');
    expect(message?.items.map(({ name }) => name)).toEqual(['z', 'a', 'b', 'c2', 'c10', 'up']);
  });

  test('rule 32: one for each talk, where something stands open at the receiver', () => {
    const messages = messagesOf([item({ thread: 'a' }), item({ thread: 'b' }), item({ thread: 'a', event: 'up' })], true);
    expect(messages.map(({ items }) => items.length)).toEqual([2, 1]);
  });

  test.each([
    ['Checkout is down everywhere: status 503, expected 2xx.', [item({ scope: 'everywhere' })]],
    ['Checkout was down for 6 min: status 503, expected 2xx.', [item({ event: 'was_down', ended_at: 360_000 })]],
    ['Checkout is up again after 12 s.', [item({ event: 'up', ended_at: 12_000 })]],
    ['Checkout is up again, and has been steady for 15 min.', [item({ event: 'up', ended_at: 12_000, steady: true })]],
    ['Checkout is still down, for 10 min: status 503, expected 2xx.', [item({ event: 'reminder' })]],
    ['Checkout is taken care of: Ada is on it.', [item({ event: 'acknowledged', acknowledged_as: 'Ada' })]],
    ['2 monitors are down, 1 is up again.', [item({}), item({}), item({ event: 'up' })]],
  ] as const)('rules 31 and 32: it says %s', (sentence, items) => {
    expect(sentenceOf(items, 600_000)).toBe(sentence);
  });
});
