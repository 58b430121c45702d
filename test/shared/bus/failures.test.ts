import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLog } from '../../../shared/base/log.ts';
import { createFailureLog } from '../../../shared/bus/failures.ts';

describe('messages that cannot be processed', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('are counted by sender, and logged once a minute with their number', () => {
    const lines: unknown[] = [];
    const log = createLog(
      { name: 'test', level: 'info' },
      { write: (line) => void lines.push(JSON.parse(line)) },
    );
    const failed = createFailureLog(log);
    const told = () => lines.splice(0);
    const garbage = (subject: string, count: number): void => {
      for (let nth = 0; nth < count; nth += 1) failed(new Error('garbage'), `${subject}.${nth}`);
    };
    garbage('relay.one', 10_000);
    garbage('relay.two', 1);
    expect(told()).toMatchObject([
      { subject: 'relay.one.0', messages: 1, msg: 'could not process a message' },
      { subject: 'relay.two.0', messages: 1 },
    ]);
    vi.advanceTimersByTime(60_000);
    expect(told()).toMatchObject([
      { subject: 'relay.one.9999', messages: 9_999, err: { message: 'garbage' } },
    ]);
    garbage('relay.one', 5);
    vi.advanceTimersByTime(59_999);
    expect(told()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(told()).toMatchObject([{ messages: 5 }]);
    vi.advanceTimersByTime(120_000);
    expect(told()).toEqual([]);
    garbage('relay.one', 1);
    expect(told()).toMatchObject([{ messages: 1 }]);
  });
});
