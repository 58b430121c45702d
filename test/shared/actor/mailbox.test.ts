import { describe, expect, test, vi } from 'vitest';
import {
  ActorClosed,
  ActorGivenUp,
  createActor,
  MailboxFull,
} from '../../../shared/actor/mailbox.ts';

describe('actor', () => {
  const gate = () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { open, opened };
  };

  /** Room for one message, which ends when the test says so. */
  const narrow = () => {
    const held = gate();
    const actor = createActor<null, string>(
      {
        name: 'narrow',
        init: async () => null,
        receive: () => held.opened.then(() => ({ state: null, answer: undefined })),
      },
      { capacity: 1 },
    );
    return { held, actor };
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
    const both = [actor.ask('a'), actor.ask('b')];
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
    await actor.ask('good');
    await expect(actor.ask('bad')).rejects.toThrow('no');
    await actor.ask('good');
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
    expect(await Promise.all([actor.ask(1), actor.ask(2), actor.ask(3)])).toEqual([
      '0 and 1',
      '1 and 2',
      '3 and 3',
    ]);
  });

  test('a full mailbox refuses at once, and takes again when there is room', async () => {
    const { held, actor } = narrow();
    const first = actor.ask('a');
    await expect(actor.ask('b')).rejects.toThrow(MailboxFull);
    held.open();
    await first;
    await actor.ask('c');
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
    const told = actor.ask(null);
    await actor.close();
    await told;
    expect(closed).toEqual([1]);
    await expect(actor.ask(null)).rejects.toThrow(ActorClosed);
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
    const [first, second] = [actor.ask('a'), actor.ask('b')];
    await expect(first).rejects.toThrow(ActorGivenUp);
    await expect(second).rejects.toThrow(ActorGivenUp);
    await expect(actor.ask('c')).rejects.toThrow(ActorGivenUp);
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
    await actor.ask(null);
    expect(given).toEqual([]);
  });

  test('init has a time limit, too', async () => {
    const given: number[] = [];
    const actor = createActor<null, string>(
      {
        name: 'unborn',
        init: () => new Promise(() => undefined),
        receive: async () => ({ state: null, answer: undefined }),
      },
      { capacity: 10, timeoutMs: 60_000, initTimeoutMs: 20, onGivenUp: () => given.push(1) },
    );
    await expect(actor.ask('a')).rejects.toThrow(ActorGivenUp);
    expect(given).toEqual([1]);
  });

  test('after a failure it rests before the next message, and closing wakes it', async () => {
    const begun: string[] = [];
    const failures: unknown[] = [];
    const actor = createActor<null, string>(
      {
        name: 'resting',
        init: async () => null,
        receive: async (_, message) => {
          begun.push(message);
          throw new Error('no');
        },
      },
      {
        capacity: 10,
        rest: { firstMs: 3_600_000, longestMs: 3_600_000 },
        onFailure: (error) => failures.push(error),
      },
    );
    expect(['a', 'b'].map(actor.tell)).toEqual([true, true]);
    await vi.waitFor(() => expect(failures).toHaveLength(1));
    await new Promise(setImmediate);
    expect(begun).toEqual(['a']);
    await actor.close();
    expect(begun).toEqual(['a', 'b']);
  });

  test('what is told to a full or closed mailbox is not taken, and says so', async () => {
    const { held, actor } = narrow();
    expect([actor.tell('a'), actor.tell('b')]).toEqual([true, false]);
    held.open();
    await actor.close();
    expect(actor.tell('c')).toBe(false);
  });
});
