import { expect, test, vi } from 'vitest';
import { createTicker } from '../../../shared/actor/mailbox.ts';

const never = 3_600_000;

/** Ticks that each end when the test says so. */
const slowTicks = () => {
  const ends: (() => void)[] = [];
  const tick = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    await promise;
  };
  return { ends, ticker: createTicker({ everyMs: never, tick, onFailure: (error) => expect.unreachable(String(error)) }) };
};

test('who hurries it does not wait until it is time', async () => {
  const { ends, ticker } = slowTicks();
  ticker.hurry();
  await vi.waitFor(() => expect(ends).toHaveLength(1));
  ends[0]?.();
  await ticker.stop();
});

test('hurried while it is at work it ticks once more, for it may have looked already, and never two at once', async () => {
  const { ends, ticker } = slowTicks();
  ticker.hurry();
  await vi.waitFor(() => expect(ends).toHaveLength(1));
  ticker.hurry();
  ticker.hurry();
  await Promise.resolve();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await vi.waitFor(() => expect(ends).toHaveLength(2));
  ends[1]?.();
  await ticker.stop();
  expect(ends).toHaveLength(2);
});

test('stopped it ends with the tick that is at work, and no hurry wakes it', async () => {
  const { ends, ticker } = slowTicks();
  ticker.hurry();
  await vi.waitFor(() => expect(ends).toHaveLength(1));
  ticker.hurry();
  const stopping = ticker.stop();
  ends[0]?.();
  await stopping;
  ticker.hurry();
  await Promise.resolve();
  expect(ends).toHaveLength(1);
});
