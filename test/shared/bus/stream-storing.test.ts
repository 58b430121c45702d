import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createStoring } from '../../../shared/bus/jetstream.ts';

/** What was sent, by its reply subject, and a way to answer it. */
const createWire = () => {
  const replies: string[] = [];
  let hear: (subject: string, data: Uint8Array, status: number) => void = () => undefined;
  let listeners = 0;
  const storing = createStoring({
    inbox: '_INBOX.me',
    listen: (subject, onAnswer) => {
      expect(subject).toBe('_INBOX.me.*');
      listeners += 1;
      hear = onAnswer;
    },
    read: (data) => {
      const text = Buffer.from(data).toString();
      if (text === 'no') throw new Error('the stream is full');
      return text;
    },
  });
  return {
    storing,
    replies,
    listeners: () => listeners,
    answer: (reply: string | undefined, text: string, status = 0) => hear(reply ?? '', Buffer.from(text), status),
    store: (subject: string, timeoutMs = 5_000) => storing.store(subject, timeoutMs, (reply) => void replies.push(reply)),
  };
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('each message gets the answer to it, in whatever order they come, through one subscription', async () => {
  const { store, replies, answer, listeners } = createWire();
  const stored = ['a', 'b', 'c'].map((subject) => store(subject));
  for (const place of [2, 0, 1]) answer(replies[place], `for ${place}`);
  expect(await Promise.all(stored)).toEqual(['for 0', 'for 1', 'for 2']);
  expect(listeners()).toBe(1);
});

test('the answer to a message that was given up says nothing about the one that has its place', async () => {
  const { store, replies, answer } = createWire();
  const late = store('a', 1_000);
  vi.advanceTimersByTime(999);
  vi.advanceTimersByTime(200);
  await expect(late).rejects.toThrow('did not say in time that it stored a');
  const next = store('b');
  answer(replies[0], 'late');
  answer(replies[1], 'in time');
  expect(await next).toBe('in time');
  answer(replies[1], 'twice');
});

test('each message has its own time, and nothing is looked for once all are answered', async () => {
  const { store, replies, answer } = createWire();
  const patient = store('patient', 5_000);
  const hasty = store('hasty', 100);
  vi.advanceTimersByTime(200);
  await expect(hasty).rejects.toThrow('hasty');
  expect(vi.getTimerCount()).toBe(1);
  answer(replies[0], 'here');
  expect(await patient).toBe('here');
  expect(vi.getTimerCount()).toBe(0);
});

test('a no of the stream, nobody who listens, and a message that cannot be sent are errors of that message alone', async () => {
  const { storing, store, replies, answer } = createWire();
  const [refused, unheard, well] = [store('full'), store('nowhere'), store('well')];
  const unsent = storing.store('closed', 5_000, () => {
    throw new Error('the connection is closed');
  });
  answer(replies[0], 'no');
  answer(replies[1], '', 503);
  answer(replies[2], 'yes');
  await expect(refused).rejects.toThrow('the stream is full');
  await expect(unheard).rejects.toThrow('no stream takes nowhere');
  await expect(unsent).rejects.toThrow('the connection is closed');
  expect(await well).toBe('yes');
  expect(vi.getTimerCount()).toBe(0);
});

test('what may not be published is known at once; the end of the connection ends all that is under way', async () => {
  const { storing, store } = createWire();
  const [forbidden, other] = [store('foreign'), store('own')];
  storing.forbid('foreign', new Error('no right to'));
  await expect(forbidden).rejects.toThrow('no right to');
  storing.giveUp('the connection was closed');
  await expect(other).rejects.toThrow('closed before the bus said that it stored own');
});
