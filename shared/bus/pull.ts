import { backoff, pause } from '../base/async.ts';
import type { Log } from '../base/log.ts';
import type { BusStatus, Message, Subscription } from './messages.ts';

/**
 * Reads the messages of a durable pull consumer by long polls. It needs only the right to request
 * the next message and its own inbox.
 *
 * It handles one set of messages at a time, in order, and waits while the consumer is missing or
 * the bus is down.
 */
export type Delivered = Message & {
  /** How often it was delivered, this time included. */
  readonly deliveries: number;
  /** Its number in the stream: of two messages, the one that was stored later has the higher. */
  readonly seq: number;
  /** When the stream stored it, by the server's clock. */
  readonly storedAt: number;
  /**
   * The number of this delivery in its consumer, from 1; it restarts when the consumer is created
   * again.
   */
  readonly delivery: number;
  /** How many messages the consumer had for us after this one. */
  readonly pending: number;
  readonly ack: () => void;
  /** Deliver it again after this delay. */
  readonly nak: (delayMs: number) => void;
  /** Still at work: restarts the redelivery timer. */
  readonly working: () => void;
};

export type PullOptions = {
  readonly stream: string;
  readonly consumer: string;
  /** The most messages of one poll, and so of one call of the handler. */
  readonly batch: number;
  /**
   * Receives the messages so far, in order, and acknowledges them itself. The next call waits for
   * it. A rejection is logged: unacknowledged messages come again.
   */
  readonly onMessages: (messages: readonly Delivered[]) => Promise<void>;
  /** The consumer or its stream does not exist: create it, or wait for its creator. */
  readonly onMissing?: () => Promise<void>;
  /** Called before each poll; while it returns false, no poll is sent. */
  readonly mayAsk?: () => boolean;
  /**
   * Called before the first poll whenever polling starts: polls of another process can be ended
   * here. A rejection is logged.
   */
  readonly onBegin?: () => Promise<void>;
};

export type Pull = { readonly stop: () => Promise<void> };

type PullAnswer = {
  readonly message: Message;
  readonly reply: string;
  readonly status: number;
  readonly description: string;
};

export type Connection = {
  readonly log: Log;
  readonly createInbox: () => string;
  readonly publish: (subject: string, data: string, reply?: string) => void;
  readonly listen: (subject: string, handler: (answer: PullAnswer) => void) => Subscription;
  readonly onStatus: (listener: (status: BusStatus) => void) => Subscription;
};

const expiresMs = 30_000;
const heartbeatMs = 5_000;
const silentMs = 2 * heartbeatMs + 500;
/** How long after a stop the bus may still answer earlier polls. */
export const lastAnswerMs = 1_000;

export function startPull(connection: Connection, options: PullOptions): Pull {
  const { log } = connection;
  const stopping = new AbortController();
  const { signal } = stopping;
  const inbox = connection.createInbox();
  let poll = 0;
  let outstanding = 0;
  let missing = false;
  let begun = false;
  let connected = true;
  let waiting: Delivered[] = [];
  let heardAt = performance.now();
  let wake: (() => void) | undefined;

  const subscription = connection.listen(`${inbox}.*`, (answer) => {
    heardAt = performance.now();
    if (answer.status === 0) {
      // A message keeps its own subject and does not show which poll it answers; a late answer to
      // an older poll only makes us poll sooner.
      waiting.push(deliveredOf(connection, answer));
      outstanding -= 1;
    } else if (answer.status === 100 || !answer.message.subject.endsWith(`.${poll}`)) return;
    else {
      outstanding = 0;
      // 404 and 408: nothing came in time. 503 and a deleted consumer: there is no one to answer.
      missing =
        answer.status === 503 || (answer.status === 409 && /deleted/i.test(answer.description));
      if (answer.status === 409 && !missing)
        log.debug({ why: answer.description, consumer: options.consumer }, 'a poll ended early');
    }
    wake?.();
  });
  const status = connection.onStatus((now) => {
    connected = now === 'connected';
    if (!connected) return;
    // The server forgot the poll with the connection.
    outstanding = 0;
    wake?.();
  });
  signal.addEventListener('abort', () => wake?.());

  const something = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      function done() {
        clearTimeout(timer);
        wake = undefined;
        resolve();
      }
      wake = done;
    });

  const ask = () => {
    poll += 1;
    outstanding = options.batch;
    heardAt = performance.now();
    const body = {
      batch: options.batch,
      expires: untilTogether(heardAt) * 1e6,
      idle_heartbeat: heartbeatMs * 1e6,
    };
    connection.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${options.consumer}`,
      JSON.stringify(body),
      `${inbox}.${poll}`,
    );
  };

  /** A stop does not wait for a bus that does not answer. */
  const unlessStopped = async (work: Promise<void> | undefined): Promise<void> => {
    const { promise: given, resolve: giveUp } = Promise.withResolvers<void>();
    let lastWait: NodeJS.Timeout | undefined;
    const hurry = () => {
      lastWait = setTimeout(giveUp, lastAnswerMs);
    };
    signal.addEventListener('abort', hurry);
    await Promise.race([work, given]).finally(() => {
      signal.removeEventListener('abort', hurry);
      clearTimeout(lastWait);
    });
  };

  const begin = async (): Promise<void> => {
    begun = true;
    try {
      await unlessStopped(options.onBegin?.());
    } catch (error) {
      log.warn({ err: error, consumer: options.consumer }, "could not end another process's polls");
    }
  };

  const loop = async () => {
    let failures = 0;
    while (!signal.aborted) {
      if (missing) {
        missing = false;
        try {
          await unlessStopped(options.onMissing?.());
        } catch (error) {
          log.warn(
            { err: error, consumer: options.consumer },
            'the consumer is missing and could not be created',
          );
        }
        failures += 1;
        await pause(backoff(failures, 50, 2_000), signal);
      }
      if (waiting.length === 0 && outstanding <= 0) {
        if (signal.aborted) return;
        if (options.mayAsk && !options.mayAsk()) {
          begun = false;
          await pause(100, signal);
          continue;
        }
        if (!begun) await begin();
        // It was stopped meanwhile: nothing would end the poll before its time.
        if (signal.aborted) return;
        ask();
      }
      if (waiting.length === 0)
        await something(Math.max(100, heardAt + silentMs - performance.now()));
      // Silent for two heartbeats: the poll got lost, or there is no one to answer, which a server
      // cut off from the others does not report.
      if (waiting.length === 0 && performance.now() - heardAt >= silentMs) {
        outstanding = 0;
        missing = connected;
      }
      if (waiting.length === 0) continue;
      const messages = waiting;
      waiting = [];
      try {
        await options.onMessages(messages);
        failures = 0;
      } catch (error) {
        failures += 1;
        log.error(
          { err: error, consumer: options.consumer, messages: messages.length },
          'could not process messages; the bus redelivers them',
        );
        await pause(backoff(failures, 50, 2_000), signal);
      }
    }
  };
  const ended = loop();

  return {
    stop: async () => {
      stopping.abort();
      status.stop();
      await ended;
      subscription.stop();
    },
  };
}

/**
 * How long a poll lasts: all polls of a process end together and begin again together, and so do
 * the heartbeats of the bus in between. It has a hundred, and a wake-up for each would be most of
 * what an idle service does.
 */
function untilTogether(now: number): number {
  const left = expiresMs - (Math.floor(now) % expiresMs);
  return left < 2 * heartbeatMs + 1_000 ? left + expiresMs : left;
}

/**
 * $JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<consumer seq>.<ns since the epoch>.<pending>; a
 * domain and account may precede the stream.
 */
function deliveredOf(connection: Connection, { message, reply }: PullAnswer): Delivered {
  const tokens = reply.split('.');
  const at = tokens.length > 9 ? 2 : 0;
  const say = (text: string) => connection.publish(reply, text);
  return {
    ...message,
    deliveries: Number(tokens[4 + at]),
    seq: Number(tokens[5 + at]),
    delivery: Number(tokens[6 + at]),
    storedAt: Math.floor(Number(tokens[7 + at]) / 1e6),
    pending: Number(tokens[8 + at]),
    ack: () => say('+ACK'),
    nak: (delayMs) => say(`-NAK {"delay":${delayMs * 1_000_000}}`),
    working: () => say('+WPI'),
  };
}
