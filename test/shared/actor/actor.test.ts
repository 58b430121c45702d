import { expect, test } from 'vitest';
import { ActorClosed, createActor, MailboxFull } from '../../../shared/actor/actor.ts';

const gate = () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

test('messages are worked on one at a time, in the order in which they came', async () => {
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
        return count + 1;
      },
    },
    { capacity: 10 },
  );
  const both = [actor.tell('a'), actor.tell('b')];
  first.open();
  await Promise.all(both);
  expect(seen).toEqual(['a begins at 0', 'a ends', 'b begins at 1', 'b ends']);
});

test('a failure rejects its own message, forgets the state, and the next message starts from init', async () => {
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
        return state;
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

test('a full mailbox refuses at once, and takes again when there is room', async () => {
  const held = gate();
  const actor = createActor<null, string>(
    { name: 'narrow', init: async () => null, receive: () => held.opened.then(() => null) },
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
    { name: 'closing', init: async () => 0, receive: async (count) => count + 1, close: async (count) => void closed.push(count) },
    { capacity: 10 },
  );
  const told = actor.tell(null);
  await actor.close();
  await told;
  expect(closed).toEqual([1]);
  await expect(actor.tell(null)).rejects.toThrow(ActorClosed);
});
