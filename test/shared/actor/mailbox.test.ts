import { describe, expect, test, vi } from 'vitest';
import {
  ActorClosed,
  ActorGivenUp,
  createActor,
  createPump,
  createTicker,
  MailboxFull,
} from '../../../shared/actor/mailbox.ts';

describe('mailbox', () => {
  const gate = () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { open, opened };
  };

  test('messages are processed one at a time, in the order in which they came', async () => {
    const seen: string[] = [];
    const first = gate();
    const actor = createActor<number, string>(
      {
        name: 'counter',
        init: async () => 0,
        receive: async (count, message) => {
          seen.push(`${message} begins at ${count}`);
          if (message === 'a') await first.opened;
          seen.push(`${message} ends`);
          return { state: count + 1, answer: undefined };
        },
      },
      { capacity: 10 },
    );
    const both = [actor.tell('a'), actor.tell('b')];
    first.open();
    await Promise.all(both);
    expect(seen).toEqual(['a begins at 0', 'a ends', 'b begins at 1', 'b ends']);
  });

  test('a failure rejects its own message, drops the state, and the next message starts from init', async () => {
    let inits = 0;
    const failures: unknown[] = [];
    const actor = createActor<{ words: string[] }, string>(
      {
        name: 'fragile',
        init: async () => {
          inits += 1;
          return { words: [] };
        },
        receive: async (state, word) => {
          state.words.push(word);
          if (word === 'bad') throw new Error('no');
          return { state, answer: undefined };
        },
      },
      { capacity: 10, onFailure: (error) => failures.push(error) },
    );
    await actor.tell('good');
    await expect(actor.tell('bad')).rejects.toThrow('no');
    await actor.tell('good');
    expect(inits).toBe(2);
    expect(failures).toHaveLength(1);
  });

  test('the sender gets the answer to its message', async () => {
    const actor = createActor<number, number, string>(
      {
        name: 'sum',
        init: async () => 0,
        receive: async (sum, more) => ({ state: sum + more, answer: `${sum} and ${more}` }),
      },
      { capacity: 10 },
    );
    expect(await Promise.all([actor.tell(1), actor.tell(2), actor.tell(3)])).toEqual([
      '0 and 1',
      '1 and 2',
      '3 and 3',
    ]);
  });

  test('a full mailbox refuses at once, and takes again when there is room', async () => {
    const held = gate();
    const actor = createActor<null, string>(
      {
        name: 'narrow',
        init: async () => null,
        receive: () => held.opened.then(() => ({ state: null, answer: undefined })),
      },
      { capacity: 1 },
    );
    const first = actor.tell('a');
    await expect(actor.tell('b')).rejects.toThrow(MailboxFull);
    held.open();
    await first;
    await actor.tell('c');
  });

  test('closing finishes what was taken, hands the state to close, and refuses what comes after', async () => {
    const closed: number[] = [];
    const actor = createActor<number, null>(
      {
        name: 'closing',
        init: async () => 0,
        receive: async (count) => ({ state: count + 1, answer: undefined }),
        close: async (count) => void closed.push(count),
      },
      { capacity: 10 },
    );
    const told = actor.tell(null);
    await actor.close();
    await told;
    expect(closed).toEqual([1]);
    await expect(actor.tell(null)).rejects.toThrow(ActorClosed);
  });

  test('an actor whose message stalls is given up: that message, those behind it and later ones fail, and closing waits for none', async () => {
    const seen: string[] = [];
    const given: number[] = [];
    const actor = createActor<null, string>(
      {
        name: 'standing',
        init: async () => null,
        receive: (_, message) => {
          seen.push(message);
          return new Promise(() => undefined);
        },
      },
      { capacity: 10, timeoutMs: 20, onGivenUp: () => given.push(1) },
    );
    const [first, second] = [actor.tell('a'), actor.tell('b')];
    await expect(first).rejects.toThrow(ActorGivenUp);
    await expect(second).rejects.toThrow(ActorGivenUp);
    await expect(actor.tell('c')).rejects.toThrow(ActorGivenUp);
    await actor.close();
    expect([seen, given]).toEqual([['a'], [1]]);
  });

  test('an actor that reports progress is not given up, however long its message takes', async () => {
    const given: number[] = [];
    const actor = createActor<number, null>(
      {
        name: 'slow',
        init: async () => 0,
        receive: async (count, _, goesOn) => {
          for (let step = 0; step < 12; step += 1) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            goesOn();
          }
          return { state: count + 1, answer: undefined };
        },
      },
      { capacity: 10, timeoutMs: 300, onGivenUp: () => given.push(1) },
    );
    await actor.tell(null);
    expect(given).toEqual([]);
  });
});

describe('a pump', () => {
  const gated = () => {
    const gates: PromiseWithResolvers<void>[] = [];
    const failures: unknown[] = [];
    let may = true;
    const pump = createPump({
      once: () => {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        return gate.promise;
      },
      may: () => may,
      onFailure: (error) => failures.push(error),
    });
    return {
      pump,
      gates,
      failures,
      forbid: () => {
        may = false;
      },
    };
  };

  test('works one at a time, and once more for all that asked meanwhile', async () => {
    const { pump, gates } = gated();
    const done = pump.run();
    for (let time = 0; time < 3; time += 1) await pump.run();
    expect(gates).toHaveLength(1);
    gates[0]?.resolve();
    await expect.poll(() => gates.length).toBe(2);
    gates[1]?.resolve();
    await done;
    expect(gates).toHaveLength(2);
  });

  test('leaves what it may not do to a resume, and does nothing without a request', async () => {
    const { pump, gates, forbid } = gated();
    await pump.resume();
    expect(gates).toHaveLength(0);
    const done = pump.run();
    pump.askAgain();
    forbid();
    gates[0]?.resolve();
    await done;
    expect(gates).toHaveLength(1);
    void pump.resume();
    expect(gates).toHaveLength(2);
  });

  test('continues after a failure, and not after its stop', async () => {
    const { pump, gates, failures } = gated();
    const done = pump.run();
    gates[0]?.reject(new Error('broken'));
    await done;
    expect(failures).toEqual([new Error('broken')]);
    const last = pump.run();
    await pump.run();
    pump.stop();
    gates[1]?.resolve();
    await last;
    await pump.run();
    expect(gates).toHaveLength(2);
  });
});

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
    return {
      ends,
      ticker: createTicker({
        everyMs: never,
        tick,
        onFailure: (error) => expect.unreachable(String(error)),
      }),
    };
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
});
