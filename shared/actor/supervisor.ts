import { type End, endAll } from '../base/async.ts';
import type { Log } from '../base/log.ts';
import { atSharedTick } from '../base/shared-tick.ts';
import { type Actor, type ActorOptions, type Behaviour, createActor } from './mailbox.ts';

/**
 * Starts the long-lived parts of a process, counts their failures by name, and ends them, the
 * latest first.
 */
export type Supervisor<Name extends string = string> = {
  /** Whoever makes it closes it: the part that it belongs to may ask it once more while it ends. */
  readonly actor: <State, Message, Answer>(
    behaviour: Behaviour<State, Message, Answer, Name>,
    options: ActorOptions,
  ) => Actor<Message, Answer>;
  readonly ticker: (name: Name, options: TickerOptions) => Ticker;
  /** A part that runs by itself, such as a listener. */
  readonly part: (name: Name, end: End) => void;
  readonly seen: () => readonly SeenActor<Name>[];
  readonly close: () => Promise<void>;
};

/** All actors of one name together: of partitions there are many. */
export type SeenActor<Name extends string = string> = {
  readonly name: Name;
  readonly running: number;
  readonly waiting: number;
  /** How often one failed, threw its state away and started again. */
  readonly restarts: number;
};

/** What a part needs of its supervisor, for actors of these names. */
export type Starts<Name extends string> = Pick<Supervisor<Name>, 'actor' | 'ticker' | 'part'>;

type TickerOptions = {
  /** Where it is asked for each time, one with nothing to do ticks less often. */
  readonly everyMs: number | (() => number);
  readonly tick: () => Promise<unknown>;
  /** A tick that takes longer is left behind, and a new actor takes its place. */
  readonly timeoutMs?: number;
};

/**
 * An actor without state that ticks every `everyMs`, never twice at once: a tick that takes longer
 * replaces those due during it.
 */
export type Ticker = {
  /**
   * Ticks now instead of at its time, or after the running tick, which may have read its input
   * already.
   */
  readonly hurry: () => void;
  readonly stop: () => Promise<void>;
};

/** Otherwise an unreachable database would fill the log. */
const rest = { firstMs: 500, longestMs: 5_000 };

/** Longer than any statement may take. */
const longestTickMs = 900_000;

export function createSupervisor<Name extends string = string>(
  log: Pick<Log, 'error'>,
): Supervisor<Name> {
  type Child = { readonly name: Name; readonly waiting: () => number; readonly end: End };
  const children = new Set<Child>();
  const restarts = new Map<Name, number>();

  function add(child: Child): () => Promise<void> {
    children.add(child);
    return async () => {
      children.delete(child);
      await child.end();
    };
  }

  function restarted(name: Name): number {
    const count = (restarts.get(name) ?? 0) + 1;
    restarts.set(name, count);
    return count;
  }

  function actor<State, Message, Answer>(
    behaviour: Behaviour<State, Message, Answer, Name>,
    options: ActorOptions,
  ): Actor<Message, Answer> {
    const { name } = behaviour;
    const { waiting, close, ...made } = createActor(behaviour, {
      ...options,
      onFailure: (error) => {
        restarted(name);
        options.onFailure?.(error);
      },
    });
    const forget = add({ name, waiting, end: () => undefined });
    return {
      ...made,
      waiting,
      close: async () => {
        await forget();
        await close();
      },
    };
  }

  function ticker(name: Name, { everyMs, tick, timeoutMs = longestTickMs }: TickerOptions): Ticker {
    let isStopped = false;
    const start = (): Actor<'tick'> =>
      createActor(
        {
          name,
          init: async () => undefined,
          receive: async () => {
            if (!isStopped) await tick();
            if (!isStopped && typeof everyMs !== 'number') ticks.again();
            return { state: undefined, answer: undefined };
          },
        },
        {
          // One that ticks, and one more for all who hurried it meanwhile.
          capacity: 2,
          timeoutMs,
          rest,
          onFailure: (error) =>
            log.error(
              { err: error, actor: name, restarts: restarted(name) },
              'an actor failed; restarting it',
            ),
          onGivenUp: () => {
            ticking = start();
          },
        },
      );
    let ticking = start();
    const waiting = (): number => ticking.waiting();
    const ticks = atSharedTick(everyMs, () => {
      if (waiting() === 0) ticking.tell('tick');
    });
    const end = async (): Promise<void> => {
      isStopped = true;
      ticks.stop();
      await ticking.close();
    };
    return { hurry: () => void ticking.tell('tick'), stop: add({ name, waiting, end }) };
  }

  return {
    actor,
    ticker,
    part: (name, end) => void add({ name, waiting: () => 0, end }),
    seen: () => {
      const names = new Set([...children].map(({ name }) => name));
      return [...names].map((name) => {
        const own = [...children].filter((child) => child.name === name);
        return {
          name,
          running: own.length,
          waiting: own.reduce((sum, { waiting }) => sum + waiting(), 0),
          restarts: restarts.get(name) ?? 0,
        };
      });
    },
    close: async () => {
      const all = [...children].map(({ end }) => end);
      children.clear();
      await endAll(all);
    },
  };
}
