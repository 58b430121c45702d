import { z } from 'zod';

export const publishAck = z.object({ seq: z.number(), duplicate: z.boolean().default(false) });

/**
 * What is on its way into a stream and not acknowledged yet. The client's own requests would do as
 * well, but make for each message a race of promises with a timer of its own, which a coordinator
 * that publishes a hundred thousand assignments pays in CPU and in garbage.
 */
type Storing<Answer> = {
  /**
   * `send` publishes the message, with the subject under which the answer comes; `fail` says that it could not, if that shows only later.
   * @throws what it throws, or why the message was not stored.
   */
  readonly store: (
    subject: string,
    timeoutMs: number,
    send: (reply: string, fail: (error: unknown) => void) => void,
  ) => Promise<Answer>;
  /** The server said that we may not publish there. */
  readonly forbid: (subject: string, error: Error) => void;
  /** All that is under way is refused, for the connection is at its end. */
  readonly giveUp: (why: string) => void;
};

type StoringDependencies<Answer> = {
  /** The subject below which answers come in. */
  readonly inbox: string;
  readonly listen: (
    subject: string,
    onAnswer: (subject: string, data: Uint8Array, status: number) => void,
  ) => void;
  /** @throws when the stream's answer is a no. */
  readonly read: (data: Uint8Array) => Answer;
};

type UnderWay<Answer> = {
  readonly subject: string;
  readonly token: string;
  readonly until: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
};

const noListeners = 503;
/** An answer is taken for late up to so much after its time. */
const lookEveryMs = 100;

export function createStoring<Answer>({
  inbox,
  listen,
  read,
}: StoringDependencies<Answer>): Storing<Answer> {
  /**
   * By a place that is used again and again: a map from which as much is removed as is put in grows
   * anew all the time.
   */
  const places: (UnderWay<Answer> | undefined)[] = [];
  const free: number[] = [];
  let count = 0;
  let sent = 0;
  let isListening = false;
  let watch: NodeJS.Timeout | undefined;

  const take = (place: number): UnderWay<Answer> | undefined => {
    const one = places[place];
    if (!one) return undefined;
    places[place] = undefined;
    free.push(place);
    count -= 1;
    if (count === 0) {
      clearInterval(watch);
      watch = undefined;
    }
    return one;
  };

  const refuseAll = (
    isMeant: (one: UnderWay<Answer>) => boolean,
    errorOf: (one: UnderWay<Answer>) => Error,
  ): void => {
    for (const [place, one] of places.entries())
      if (one && isMeant(one)) take(place)?.reject(errorOf(one));
  };

  const lookForLate = (): void => {
    const now = performance.now();
    refuseAll(
      ({ until }) => until <= now,
      ({ subject }) => new Error(`the bus did not acknowledge ${subject} in time`),
    );
  };

  const onAnswer = (subject: string, data: Uint8Array, status: number): void => {
    const token = subject.slice(inbox.length + 1);
    const place = Number.parseInt(token, 10);
    // A late answer to who had the place before.
    if (places[place]?.token !== token) return;
    const one = take(place);
    try {
      if (status === noListeners && data.length === 0)
        throw new Error(`no stream stores ${one?.subject}`);
      one?.resolve(read(data));
    } catch (error) {
      one?.reject(error);
    }
  };

  return {
    store: (subject, timeoutMs, send) =>
      new Promise((resolve, reject) => {
        if (!isListening) listen(`${inbox}.*`, onAnswer);
        isListening = true;
        const place = free.pop() ?? places.length;
        sent += 1;
        const token = `${place}-${sent}`;
        places[place] = { subject, token, until: performance.now() + timeoutMs, resolve, reject };
        count += 1;
        watch ??= setInterval(lookForLate, lookEveryMs);
        const fail = (error: unknown): void => {
          if (places[place]?.token === token) take(place)?.reject(error);
        };
        try {
          send(`${inbox}.${token}`, fail);
        } catch (error) {
          fail(error);
        }
      }),
    forbid: (subject, error) =>
      refuseAll(
        (one) => one.subject === subject,
        () => error,
      ),
    giveUp: (why) =>
      refuseAll(
        () => true,
        ({ subject }) => new Error(`${why} before the bus acknowledged ${subject}`),
      ),
  };
}
