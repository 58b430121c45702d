/**
 * Work that runs one at a time and can be requested at any time.
 *
 * Modes: `idle` → `pumping` → (requested meanwhile: again, as long as it may) → `idle`; `stopped`.
 */
export type Pump = {
  /** Settles when there is nothing to do for now. Never rejects. */
  readonly run: () => Promise<void>;
  /** Runs again when the current run is done, or like `resume` when there is none. */
  readonly askAgain: () => void;
  /** Continues with what was requested and could not be done. */
  readonly resume: () => Promise<void>;
  readonly stop: () => void;
};

export function createPump(options: {
  readonly once: () => Promise<void>;
  /** Whether it continues at once with what was requested meanwhile; the default is yes. */
  readonly may?: () => boolean;
  readonly onFailure: (error: unknown) => void;
}): Pump {
  let mode: 'idle' | 'pumping' | 'stopped' = 'idle';
  let isAskedAgain = false;
  const mayContinue = options.may ?? (() => true);

  const run = async (): Promise<void> => {
    if (mode === 'stopped') return;
    if (mode === 'pumping') {
      isAskedAgain = true;
      return;
    }
    mode = 'pumping';
    try {
      do {
        isAskedAgain = false;
        await options.once();
      } while (mode === 'pumping' && isAskedAgain && mayContinue());
    } catch (error) {
      options.onFailure(error);
    } finally {
      if (mode === 'pumping') mode = 'idle';
    }
  };

  return {
    run,
    askAgain: () => {
      isAskedAgain = true;
    },
    resume: async () => {
      if (isAskedAgain) await run();
    },
    stop: () => {
      mode = 'stopped';
    },
  };
}

export type Ticker = {
  /**
   * Ticks now instead of at its time, or after the running tick, which may have read its input
   * already.
   */
  readonly hurry: () => void;
  readonly stop: () => Promise<void>;
};

/**
 * Calls `tick` every `everyMs`, never two at once: a tick that takes longer replaces those due
 * during it. Modes: `ticking` → `stopped`.
 */
export function createTicker(options: {
  readonly everyMs: number;
  readonly tick: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}): Ticker {
  let running: Promise<void> | undefined;
  let stopped = false;
  const turn = (): void => {
    if (stopped) return;
    running ??= options
      .tick()
      .catch(options.onFailure)
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(turn, options.everyMs);
  return {
    hurry: () => void (running ?? Promise.resolve()).then(turn),
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * An actor: state that only one message at a time may touch, and that can be thrown away.
 *
 * Modes: `cold` (no state; the next message starts with init) → `ready` (state held) → back to
 * `cold` after a failure; `closed` (refuses everything) from either, once the messages already
 * taken are done; `given up` (refuses everything) from either, when a message is stuck: what it
 * waits for may never come, and all messages behind it would wait too.
 */
export type Behaviour<State, Message, Answer = void> = {
  readonly name: string;
  readonly init: () => Promise<State>;
  /** Work of many steps reports after each that it makes progress. */
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
export type Received<State, Answer = void> = { readonly state: State; readonly answer: Answer };

export type Actor<Message, Answer = void> = {
  readonly name: string;
  /**
   * Settles with the answer when the message has been processed; rejects when the mailbox is full
   * or closed, or when the work failed.
   */
  readonly tell: (message: Message) => Promise<Answer>;
  readonly waiting: () => number;
  readonly close: () => Promise<void>;
};

export class MailboxFull extends Error {}
export class ActorClosed extends Error {}
export class ActorGivenUp extends Error {}

type Mode<State> =
  | { is: 'cold' }
  | { is: 'ready'; state: State }
  | { is: 'closed' }
  | { is: 'given up' };

/** A message that reports neither its end nor progress for this long is stuck. */
const defaultTimeoutMs = 30_000;

export function createActor<State, Message, Answer = void>(
  behaviour: Behaviour<State, Message, Answer>,
  options: {
    readonly capacity: number;
    readonly onFailure?: (error: unknown) => void;
    /** A message is stuck, and its actor is unusable: its user must make another. */
    readonly onGivenUp?: () => void;
    readonly timeoutMs?: number;
  },
): Actor<Message, Answer> {
  const { timeoutMs = defaultTimeoutMs } = options;
  let mode: Mode<State> = { is: 'cold' };
  let closing = false;
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  const givenUp = () =>
    new ActorGivenUp(`${behaviour.name} was given up: a message stood for ${timeoutMs} ms`);

  const receive = async (state: State, message: Message): Promise<Received<State, Answer>> => {
    const stuck = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      mode = { is: 'given up' };
      stuck.reject(givenUp());
      options.onGivenUp?.();
    }, timeoutMs);
    try {
      return await Promise.race([
        behaviour.receive(state, message, () => void timer.refresh()),
        stuck.promise,
      ]);
    } finally {
      clearTimeout(timer);
    }
  };

  const process = async (message: Message): Promise<Answer> => {
    if (mode.is === 'given up') throw givenUp();
    try {
      const state = mode.is === 'ready' ? mode.state : await behaviour.init();
      // Cold while working: a failure of any kind leaves nothing half changed.
      mode = { is: 'cold' };
      const received = await receive(state, message);
      mode = { is: 'ready', state: received.state };
      return received.answer;
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
      if (mode.is === 'given up') return Promise.reject(givenUp());
      if (waiting >= options.capacity)
        return Promise.reject(new MailboxFull(`${behaviour.name} has ${waiting} messages waiting`));
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
}
