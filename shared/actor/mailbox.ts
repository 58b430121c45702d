import { backoff, pause } from '../base/async.ts';

/**
 * An actor: state that only one message at a time may touch, and that can be thrown away.
 *
 * Modes: `cold` (no state; the next message starts with init) → `ready` (state held) → back to
 * `cold` after a failure, and it rests before it starts again, longer each time; `closed` (refuses
 * everything) from either, once the messages already taken are done; `given up` (refuses
 * everything) from either, when init or a message is stuck: what it waits for may never come, and
 * all messages behind it would wait too.
 */
export type Behaviour<State, Message, Answer = void, Name extends string = string> = {
  readonly name: Name;
  /** Work of many steps reports after each that it makes progress. */
  readonly init: (reportProgress: () => void) => Promise<State>;
  readonly receive: (
    state: State,
    message: Message,
    reportProgress: () => void,
  ) => Promise<Received<State, Answer>>;
  readonly close?: (state: State) => Promise<void>;
};

/**
 * The state after a message, and the answer for its sender. Both are data: neither a message nor
 * its answer ever carries a function.
 */
type Received<State, Answer = void> = { readonly state: State; readonly answer: Answer };

export type Actor<Message, Answer = void> = {
  /** Leaves a message and does not wait; false when the mailbox is full or closed. */
  readonly tell: (message: Message) => boolean;
  /**
   * Settles with the answer when the message has been processed; rejects when the mailbox is full
   * or closed, or when the work failed.
   */
  readonly ask: (message: Message) => Promise<Answer>;
  readonly waiting: () => number;
  readonly close: () => Promise<void>;
};

export type ActorOptions = {
  readonly capacity: number;
  /** A message that reports neither its end nor progress for this long is stuck; init is, too. */
  readonly timeoutMs?: number;
  readonly initTimeoutMs?: number;
  /** The first and the longest rest after a failure; without it the next message starts at once. */
  readonly rest?: { readonly firstMs: number; readonly longestMs: number };
  readonly onFailure?: (error: unknown) => void;
  /** The actor is unusable: its user must make another. */
  readonly onGivenUp?: () => void;
};

export class MailboxFull extends Error {}
export class ActorClosed extends Error {}
export class ActorGivenUp extends Error {}

type Mode<State> =
  | { is: 'cold' }
  | { is: 'ready'; state: State }
  | { is: 'closed' }
  | { is: 'given up' };

export function createActor<State, Message, Answer = void>(
  behaviour: Behaviour<State, Message, Answer>,
  options: ActorOptions,
): Actor<Message, Answer> {
  const { name } = behaviour;
  const { capacity, timeoutMs = 30_000, initTimeoutMs = timeoutMs, rest } = options;
  const closing = new AbortController();
  let mode: Mode<State> = { is: 'cold' };
  let waiting = 0;
  let failures = 0;
  let restUntil = 0;
  let last: Promise<unknown> = Promise.resolve();

  function givenUp(): ActorGivenUp {
    return new ActorGivenUp(`${name} was given up: it made no progress in time`);
  }

  async function within<Done>(
    ms: number,
    work: (reportProgress: () => void) => Promise<Done>,
  ): Promise<Done> {
    const stuck = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      mode = { is: 'given up' };
      stuck.reject(givenUp());
      options.onGivenUp?.();
    }, ms);
    try {
      return await Promise.race([work(() => void timer.refresh()), stuck.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function process(message: Message): Promise<Answer> {
    if (mode.is === 'given up') throw givenUp();
    if (restUntil > performance.now()) await pause(restUntil - performance.now(), closing.signal);
    try {
      const state = mode.is === 'ready' ? mode.state : await within(initTimeoutMs, behaviour.init);
      // Cold while working: a failure of any kind leaves nothing half changed.
      mode = { is: 'cold' };
      const received = await within(timeoutMs, (reportProgress) =>
        behaviour.receive(state, message, reportProgress),
      );
      mode = { is: 'ready', state: received.state };
      failures = 0;
      return received.answer;
    } catch (error) {
      if (rest) restUntil = performance.now() + backoff(failures, rest.firstMs, rest.longestMs);
      failures += 1;
      options.onFailure?.(error);
      throw error;
    }
  }

  function ask(message: Message): Promise<Answer> {
    if (closing.signal.aborted) return Promise.reject(new ActorClosed(`${name} is closed`));
    if (mode.is === 'given up') return Promise.reject(givenUp());
    if (waiting >= capacity)
      return Promise.reject(new MailboxFull(`${name} has ${waiting} messages waiting`));
    waiting += 1;
    const done = last
      .then(() => process(message))
      .finally(() => {
        waiting -= 1;
      });
    last = done.catch(() => undefined);
    return done;
  }

  return {
    waiting: () => waiting,
    ask,
    tell: (message) => {
      if (closing.signal.aborted || mode.is === 'given up' || waiting >= capacity) return false;
      // onFailure has the reason.
      ask(message).catch(() => undefined);
      return true;
    },
    close: async () => {
      closing.abort();
      await last;
      const final = mode;
      mode = { is: 'closed' };
      if (final.is === 'ready') await behaviour.close?.(final.state);
    },
  };
}
