import { backoff, pause } from '../base/async.ts';
import type { Log } from '../base/log.ts';
import type { BusStatus, Message, Subscription } from './messages.ts';

/**
 * Takes the messages of a durable pull consumer by long polls: needs the right to ask for the next message and its own inbox, nothing more.
 *
 * Modes: `asking` (a poll is out; messages, a status or a sign of life come within the time) → `handling` (one set of messages at a
 * time, in order) → `asking`; `waiting` (the consumer is missing or the bus is away) → `asking`; `stopped`.
 */
export type Delivered = Message & {
  /** How often it was delivered, this time included. */
  readonly deliveries: number;
  /** When the stream took it, by the server's clock. */
  readonly storedAt: number;
  /** The how-manieth delivery of its consumer this is, from 1: it begins anew with a consumer that was made anew. */
  readonly delivery: number;
  /** How many messages the consumer had for us after this one. */
  readonly pending: number;
  readonly ack: () => void;
  /** Not now: again after so long. */
  readonly nak: (delayMs: number) => void;
  /** Still at work: the time until it is delivered again begins anew. */
  readonly working: () => void;
};

export type PullOptions = {
  readonly stream: string;
  readonly consumer: string;
  /** The most messages that one poll takes, and so the most that one call of the handler gets. */
  readonly batch: number;
  /** Gets what has come so far, in order; it acknowledges by itself. The next call waits for it. A rejection is logged: what it left comes again. */
  readonly onMessages: (messages: readonly Delivered[]) => Promise<void>;
  /** The consumer or its stream is not there: make it, or wait for whoever does. */
  readonly onMissing?: () => Promise<void>;
  /** Asked before each poll; while it says no, nothing is asked for. */
  readonly mayAsk?: () => boolean;
  /** Before the first poll of each time in which it may ask: what another still asks for can be ended here. A rejection is logged. */
  readonly onBegin?: () => Promise<void>;
};

export type Pull = { readonly stop: () => Promise<void> };

export type Answer = { readonly message: Message; readonly reply: string; readonly status: number; readonly description: string };

export type Connection = {
  readonly log: Log;
  readonly createInbox: () => string;
  readonly publish: (subject: string, data: string, reply?: string) => void;
  readonly listen: (subject: string, handler: (answer: Answer) => void) => Subscription;
  readonly onStatus: (listener: (status: BusStatus) => void) => Subscription;
};

const expiresMs = 30_000;
const heartbeatMs = 5_000;
const silentMs = 2 * heartbeatMs + 500;
/** So long, once whoever asked is to stop, what the bus was asked before may still be answered. */
export const lastAnswerMs = 1_000;

/** $JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<consumer seq>.<ns since the epoch>.<pending>; a domain and account may stand before the stream. */
const deliveredOf = (connection: Connection, { message, reply }: Answer): Delivered => {
  const tokens = reply.split('.');
  const at = tokens.length > 9 ? 2 : 0;
  const say = (text: string) => connection.publish(reply, text);
  return {
    ...message,
    deliveries: Number(tokens[4 + at]),
    delivery: Number(tokens[6 + at]),
    storedAt: Math.floor(Number(tokens[7 + at]) / 1e6),
    pending: Number(tokens[8 + at]),
    ack: () => say('+ACK'),
    nak: (delayMs) => say(`-NAK {"delay":${delayMs * 1_000_000}}`),
    working: () => say('+WPI'),
  };
};

export const startPull = (connection: Connection, options: PullOptions): Pull => {
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
      // It keeps its own subject, so which poll it answers cannot be told; a late answer to an older one only makes us ask sooner.
      waiting.push(deliveredOf(connection, answer));
      outstanding -= 1;
    } else if (answer.status === 100 || !answer.message.subject.endsWith(`.${poll}`)) return;
    else {
      outstanding = 0;
      // 404 and 408: nothing came in time. 503 and a consumer that was deleted: there is nobody to ask.
      missing = answer.status === 503 || (answer.status === 409 && /deleted/i.test(answer.description));
      if (answer.status === 409 && !missing) log.debug({ why: answer.description, consumer: options.consumer }, 'a poll ended early');
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
    const body = { batch: options.batch, expires: expiresMs * 1e6, idle_heartbeat: heartbeatMs * 1e6 };
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${options.consumer}`, JSON.stringify(body), `${inbox}.${poll}`);
  };

  /** Whoever stops it does not wait for a bus that does not answer. */
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
      log.warn({ err: error, consumer: options.consumer }, 'what another asks for could not be ended');
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
          log.warn({ err: error, consumer: options.consumer }, 'the consumer is missing and could not be made');
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
      if (waiting.length === 0) await something(Math.max(100, heardAt + silentMs - performance.now()));
      // No sign of life for two pings: the poll got lost, or there is nobody to ask, which a server of 2.9 does not say.
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
          'messages could not be worked on; they come again',
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
};
