/**
 * An actor: state that only one message at a time may touch, and that can be thrown away.
 *
 * Modes: `cold` (no state; the next message starts with init) → `ready` (state held) → back to `cold` after a failure;
 * `closed` (refuses everything) from either, once the messages already taken are done.
 */
export type Behaviour<State, Message> = {
  readonly name: string;
  readonly init: () => Promise<State>;
  readonly receive: (state: State, message: Message) => Promise<State>;
  readonly close?: (state: State) => Promise<void>;
};

export type Actor<Message> = {
  readonly name: string;
  /** Settles when the message has been processed; rejects when the mailbox is full or closed, or when the work failed. */
  readonly tell: (message: Message) => Promise<void>;
  readonly waiting: () => number;
  readonly close: () => Promise<void>;
};

export class MailboxFull extends Error {}
export class ActorClosed extends Error {}

type Mode<State> = { is: 'cold' } | { is: 'ready'; state: State } | { is: 'closed' };

export const createActor = <State, Message>(
  behaviour: Behaviour<State, Message>,
  options: { readonly capacity: number; readonly onFailure?: (error: unknown) => void },
): Actor<Message> => {
  let mode: Mode<State> = { is: 'cold' };
  let closing = false;
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  const process = async (message: Message): Promise<void> => {
    try {
      const state = mode.is === 'ready' ? mode.state : await behaviour.init();
      // Cold while working, so that a failure of any kind leaves nothing half-changed behind.
      mode = { is: 'cold' };
      mode = { is: 'ready', state: await behaviour.receive(state, message) };
    } catch (error) {
      options.onFailure?.(error);
      throw error;
    }
  };

  return {
    name: behaviour.name,
    waiting: () => waiting,
    tell: (message) => {
      if (closing) return Promise.reject(new ActorClosed(`${behaviour.name} is closed`));
      if (waiting >= options.capacity) return Promise.reject(new MailboxFull(`${behaviour.name} has ${waiting} messages waiting`));
      waiting += 1;
      const done = last
        .then(() => process(message))
        .finally(() => {
          waiting -= 1;
        });
      last = done.catch(() => undefined);
      return done;
    },
    close: async () => {
      closing = true;
      await last;
      const final = mode;
      mode = { is: 'closed' };
      if (final.is === 'ready') await behaviour.close?.(final.state);
    },
  };
};
