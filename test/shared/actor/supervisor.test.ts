import { describe, expect, test, vi } from 'vitest';
import { createSupervisor } from '../../../shared/actor/supervisor.ts';

const failed = (entry: object) => expect.unreachable(JSON.stringify(entry));
const supervise = (onError: (entry: object) => void = failed) =>
  createSupervisor({ error: onError });

describe('ticker', () => {
  const never = 3_600_000;

  /** Ticks that each end when the test says so. */
  const slowTicks = () => {
    const ends: (() => void)[] = [];
    const tick = async (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(resolve);
      await promise;
    };
    return { ends, ticker: supervise().ticker('slow', { everyMs: never, tick }) };
  };

  test('a hurried one does not wait for its time', async () => {
    const { ends, ticker } = slowTicks();
    ticker.hurry();
    await vi.waitFor(() => expect(ends).toHaveLength(1));
    ends[0]?.();
    await ticker.stop();
  });

  test('hurried while it is at work it ticks once more, because it may be past the new work, and never two at once', async () => {
    const { ends, ticker } = slowTicks();
    ticker.hurry();
    await vi.waitFor(() => expect(ends).toHaveLength(1));
    ticker.hurry();
    ticker.hurry();
    await new Promise(setImmediate);
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
    await new Promise(setImmediate);
    expect(ends).toHaveLength(1);
  });

  test('after a failure it ticks again, and its name counts a restart', async () => {
    const errors: object[] = [];
    const supervisor = supervise((entry) => errors.push(entry));
    let times = 0;
    const ticker = supervisor.ticker('unsteady', {
      everyMs: 10,
      tick: async () => {
        times += 1;
        if (times === 1) throw new Error('no');
      },
    });
    ticker.hurry();
    await vi.waitFor(() => expect(times).toBeGreaterThan(1), 5_000);
    expect(errors).toMatchObject([{ actor: 'unsteady', restarts: 1 }]);
    expect(supervisor.seen()).toMatchObject([{ name: 'unsteady', running: 1, restarts: 1 }]);
    await supervisor.close();
  });

  test('a tick that is stuck is left behind, and another actor ticks in its place', async () => {
    const errors: object[] = [];
    const supervisor = supervise((entry) => errors.push(entry));
    let times = 0;
    supervisor.ticker('stuck', {
      everyMs: 10,
      timeoutMs: 30,
      tick: () => {
        times += 1;
        return times === 1 ? new Promise(() => undefined) : Promise.resolve();
      },
    });
    await vi.waitFor(() => expect(times).toBeGreaterThan(2), 5_000);
    expect(errors).toMatchObject([{ actor: 'stuck', restarts: 1 }]);
    await supervisor.close();
  });
});

describe('supervisor', () => {
  test('ends its parts, the latest first, each once, and all of them although one fails', async () => {
    const supervisor = supervise();
    const ended: string[] = [];
    const end = (name: string) => async () => {
      ended.push(name);
      if (name === 'second') throw new Error('would not end');
    };
    for (const name of ['first', 'second', 'third']) supervisor.part(name, end(name));
    const actor = supervisor.actor(
      {
        name: 'fourth',
        init: async () => 0,
        receive: async (state: number) => ({ state, answer: undefined }),
        close: end('fourth'),
      },
      { capacity: 1 },
    );
    await actor.ask('wake');
    await actor.close();
    await expect(supervisor.close()).rejects.toThrow('would not end');
    expect(ended).toEqual(['fourth', 'third', 'second', 'first']);
    expect(supervisor.seen()).toEqual([]);
  });

  test('leaves an actor to the part that made it, which may ask it once more while it ends', async () => {
    const supervisor = supervise();
    const heard: string[] = [];
    supervisor.part('leases', async () => {
      await partition.ask('checkpoint');
      await partition.close();
    });
    const partition = supervisor.actor<null, string, void>(
      {
        name: 'partition',
        init: async () => null,
        receive: async (state, message) => {
          heard.push(message);
          return { state, answer: undefined };
        },
      },
      { capacity: 5 },
    );
    await supervisor.close();
    expect(heard).toEqual(['checkpoint']);
  });

  test('shows actors of one name together, with what waits', async () => {
    const supervisor = supervise();
    const held = Promise.withResolvers<void>();
    const [one, other] = ['one', 'other'].map(() =>
      supervisor.actor<null, string, void>(
        {
          name: 'partition',
          init: async () => null,
          receive: () => held.promise.then(() => ({ state: null, answer: undefined })),
        },
        { capacity: 5 },
      ),
    );
    for (const message of ['a', 'b']) one?.tell(message);
    other?.tell('c');
    expect(supervisor.seen()).toEqual([{ name: 'partition', running: 2, waiting: 3, restarts: 0 }]);
    held.resolve();
    await supervisor.close();
  });
});
