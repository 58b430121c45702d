import {
  headers as createHeaders,
  type MsgHdrs,
  type NatsConnection,
  nuid,
  PermissionViolationError,
} from '@nats-io/transport-node';
import type { Log } from '../base/log.ts';
import { atSharedTick, type SharedTick } from '../base/shared-tick.ts';
import { type Announce, type Announcement, isAnnounced } from './announcement.ts';
import {
  type AccessLost,
  type BusEntry,
  createDialLog,
  createRefusals,
  dialOnce,
  dialWithRetries,
  type FailedDial,
} from './dialling.ts';
import { createFailureLog, type FailureLog } from './failures.ts';
import { createManagement, type Management, readAnswer, type StreamKeeping } from './jetstream.ts';
import type { BusStatus, Headers, Message, Subscription } from './messages.ts';
import {
  type Connection,
  type Delivered,
  lastAnswerMs,
  type Pull,
  type PullOptions,
  startPull,
} from './pull.ts';
import { createStoring, publishAck } from './storing.ts';

/**
 * The one way to the bus. With `bus/dialling.ts` the only file that imports its client.
 *
 * Modes of a connection: `connected` ↔ `disconnected` (the client tries for ever; what is published
 * meanwhile waits in memory, requests fail by their time limit) → `closed`.
 */
export type Bus = Management & {
  readonly isConnected: () => boolean;
  /** The name of the server connected to last. */
  readonly serverVersion: () => string;
  /** Calls with every change of status, from now on. */
  readonly onStatus: (listener: (status: BusStatus) => void) => Subscription;
  readonly publish: (subject: string, data: Uint8Array | string, headers?: Headers) => void;
  /** `queue`: of all that subscribe with the same name, one gets each message. */
  readonly subscribe: (
    subject: string,
    handler: (message: Message) => void | Promise<void>,
    queue?: string,
  ) => Subscription;
  /** Publishes on behalf of someone else, who gets the answer at `reply`. */
  readonly relay: (
    subject: string,
    data: Uint8Array,
    options: { readonly reply: string | undefined; readonly headers: Headers },
  ) => void;
  /** @throws when nobody answered within the time, or nobody listens. */
  readonly request: (
    subject: string,
    data: Uint8Array | string,
    options?: { timeoutMs?: number; headers?: Headers },
  ) => Promise<Message>;
  /**
   * Publishes to a stream and settles when the server has stored it; `id` makes a repeat within two
   * minutes a duplicate.
   */
  readonly store: (
    subject: string,
    data: Uint8Array | string,
    options?: { timeoutMs?: number; headers?: Headers; id?: string },
  ) => Promise<{ seq: number; duplicate: boolean }>;
  /** Takes messages of a durable pull consumer by long polls until stopped. */
  readonly pull: (options: PullOptions) => Pull;
  /** Settles when the server has taken all that was published before. */
  readonly flush: () => Promise<void>;
  /** Reconnects, such as with renewed credentials; what waits is sent then. */
  readonly reconnect: () => Promise<void>;
  /**
   * Before it is closed: from now on no answer is waited for longer than a second, so that whoever
   * ends is not kept by a bus that is silent.
   */
  readonly hurry: () => void;
  /** Sends what waits, ends the subscriptions and closes. */
  readonly close: () => Promise<void>;
};

export type { AccessLost, BusStatus, Delivered, Headers, Message, Pull, PullOptions, Subscription };

export type BusOptions = BusEntry & {
  readonly name: string;
  readonly log: Log;
  /** Where answers come in: a probe may subscribe to no other inbox. */
  readonly inboxPrefix?: string;
  /** How long to wait for the first connection; without it, for ever. */
  readonly firstConnectionMs?: number;
  /** What an operator says of the streams that are made or changed by this connection. */
  readonly keeping?: StreamKeeping;
  /** Ends the waiting for the first connection. */
  readonly signal?: AbortSignal;
  /** Called once the bus rejects these credentials for good. */
  readonly onAccessLost?: (how: AccessLost) => void;
  /** Signs what a coordinator announces by `publish` and `store`. */
  readonly announce?: Announce;
  /** The subject that stands for another one where we may not publish ourselves. */
  readonly routeOf?: (subject: string) => string;
};

/** Connects once, to check an address: `connectBus` would retry. @throws the reason. */
export async function connectOnce(entrance: BusEntry): Promise<void> {
  const nc = await dialOnce(entrance, { reconnect: false });
  await nc.close();
}

function whyNotReached(entrance: BusEntry): Promise<Error | undefined> {
  return connectOnce(entrance).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
}

export async function connectBus(options: BusOptions): Promise<Bus> {
  const { log } = options;
  const dials = createDialLog(log, options, () => whyNotReached(options));
  const refusals = createRefusals(options.credentials);
  let isShutOut = false;
  const judgeRefusal = (why: Error | undefined): void => {
    const how = refusals.failed(why);
    if (how === undefined || isShutOut) return;
    isShutOut = true;
    options.onAccessLost?.(how);
  };
  const { nc, waits } = await dial(options, (why) => {
    dials.failed(why);
    judgeRefusal(why);
  });
  const letIn = () => {
    waits.reached();
    refusals.reached();
    dials.reached();
  };
  letIn();
  const listeners = new Set<(status: BusStatus) => void>();
  let status: BusStatus = 'connected';
  const change = (to: BusStatus) => {
    if (status === to) return;
    status = to;
    if (to === 'connected') letIn();
    log.info({ bus: to }, 'the connection to the bus changed');
    for (const listener of listeners) listener(to);
  };
  const inboxPrefix = options.inboxPrefix ?? '_INBOX';
  const storing = createStoring({
    inbox: `${inboxPrefix}.${nuid.next()}`,
    listen: (subject, onAnswer) => {
      nc.subscribe(subject, {
        callback: (error, raw) => {
          if (error)
            log.error(
              { err: error, subject },
              'could not receive the acknowledgements of stored messages',
            );
          else onAnswer(raw.subject, raw.data, raw.headers?.code ?? 0);
        },
      });
    },
    read: (data) => readAnswer(data, publishAck),
  });
  /** Of the dial under way: what the server said to it, if anything. */
  let redial: { why?: Error } | undefined;
  const watch = async () => {
    for await (const event of nc.status()) {
      if (event.type === 'disconnect') change('disconnected');
      else if (event.type === 'reconnecting') {
        // The client tells of no failed dial; each but the first comes after one.
        if (redial) {
          waits.failed();
          dials.failed(redial.why);
          judgeRefusal(redial.why);
        }
        redial = {};
      } else if (event.type === 'reconnect') {
        redial = undefined;
        change('connected');
      } else if (event.type === 'error') {
        const { error } = event;
        if (redial) redial.why = error;
        refusals.ended(error);
        // What a dial fails with is in the log of dials.
        if (status === 'connected') log.warn({ err: error }, 'the bus reported an error');
        if (error instanceof PermissionViolationError && error.operation === 'publish')
          storing.forbid(error.subject, error);
      }
    }
  };
  watch().catch((error: unknown) =>
    log.error({ err: error }, 'lost track of the status of the bus'),
  );
  void nc.closed().then((error) => {
    if (error) log.error({ err: error }, 'the connection to the bus is closed');
    storing.giveUp('the connection was closed');
    change('closed');
  });

  const pings = pingTogether(nc, () => status === 'connected');
  void nc.closed().finally(pings.stop);

  const onStatus: Bus['onStatus'] = (listener) => {
    listeners.add(listener);
    return { stop: () => void listeners.delete(listener) };
  };
  const { routeOf = (subject: string) => subject } = options;
  const signed = createSigned(options.announce);
  const failed = createFailureLog(log);
  const toConnection = connectionFor(nc, { inboxPrefix, log, onStatus, routeOf });
  let mostMs = Number.POSITIVE_INFINITY;
  const giveUps = new Set<(why: Error) => void>();
  /** The answer, unless we end meanwhile. */
  const ask = async (
    subject: string,
    data: Uint8Array | string,
    timeoutMs: number,
    headers?: Headers,
  ) => {
    const given = Promise.withResolvers<never>();
    giveUps.add(given.reject);
    const answer = nc.request(routeOf(subject), data, {
      timeout: Math.min(timeoutMs, mostMs),
      ...headersOf(headers),
    });
    return await Promise.race([answer, given.promise]).finally(() => giveUps.delete(given.reject));
  };
  const hurry = (): void => {
    mostMs = lastAnswerMs;
    const giveUp = () => {
      for (const reject of giveUps) reject(new Error('stopped before the bus answered'));
      storing.giveUp('stopped');
    };
    setTimeout(giveUp, lastAnswerMs).unref();
  };
  const management = createManagement(ask, {
    keeping: options.keeping,
    onRefused: (stream, why) =>
      log.warn(
        { err: why, stream },
        'the bus refused the replicas or placement of a stream; it stays as it is',
      ),
  });

  /**
   * A server that goes away meanwhile ends the sending and not the connection, which would be
   * reopened.
   */
  const close = async (): Promise<void> => {
    if (nc.isClosed()) return;
    signed.leave();
    if (status === 'connected') {
      await nc
        .drain()
        .catch((error: unknown) =>
          log.warn({ err: error }, 'lost the connection to the bus before everything was sent'),
        );
    }
    if (!nc.isClosed()) await nc.close();
  };
  let closing: Promise<void> | undefined;
  return {
    ...management,
    isConnected: () => status === 'connected',
    serverVersion: () => nc.info?.version ?? '',
    onStatus,
    publish: (subject, data, headers) =>
      signed.send(
        { subject, data },
        (signature) =>
          nc.publish(
            routeOf(subject),
            data,
            headersOf(signature === undefined ? headers : { ...headers, ...signature }),
          ),
        (error) => log.error({ err: error, subject }, 'could not publish a message'),
      ),
    subscribe: (subject, ...to) => subscribe(nc, failed, subject, ...to),
    relay: (subject, data, { reply, headers }) =>
      nc.publish(subject, data, {
        ...(reply === undefined ? {} : { reply }),
        ...headersOf(headers),
      }),
    request: async (subject, data, { timeoutMs = 2_000, headers } = {}) =>
      messageOf(await ask(subject, data, timeoutMs, headers)),
    store: (subject, data, { timeoutMs = 5_000, headers, id } = {}) => {
      const own = id === undefined ? headers : { ...headers, 'Nats-Msg-Id': id };
      return storing.store(routeOf(subject), Math.min(timeoutMs, mostMs), (reply, fail) =>
        signed.send(
          { subject, data },
          (signature) =>
            nc.publish(routeOf(subject), data, {
              reply,
              ...headersOf(signature === undefined ? own : { ...own, ...signature }),
            }),
          fail,
        ),
      );
    },
    pull: (pullOptions) => startPull(toConnection, pullOptions),
    flush: () => {
      signed.leave();
      return nc.flush();
    },
    reconnect: () => nc.reconnect(),
    hurry,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

async function dial(options: BusOptions, failed: FailedDial): ReturnType<typeof dialWithRetries> {
  const { name, inboxPrefix, firstConnectionMs } = options;
  const patience = firstConnectionMs === undefined ? [] : [AbortSignal.timeout(firstConnectionMs)];
  const signal = AbortSignal.any([...patience, ...(options.signal ? [options.signal] : [])]);
  const more = {
    name,
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
  };
  try {
    return await dialWithRetries(options, more, failed, signal);
  } catch (error) {
    if (patience[0]?.aborted)
      throw new Error(`the bus at ${options.url} did not answer within ${firstConnectionMs} ms`, {
        cause: error,
      });
    throw error;
  }
}

const pingEveryMs = 2_000;
/** A connection that leaves so many pings in a row unanswered is dead, and is dialled anew. */
const mostUnanswered = 2;

/**
 * The client's own pings begin with each connection; all of a process that ping together wake it,
 * and the server, once.
 */
function pingTogether(nc: NatsConnection, isConnected: () => boolean): SharedTick {
  let unanswered = 0;
  const answered = (): void => {
    unanswered = 0;
  };
  return atSharedTick(pingEveryMs, () => {
    if (!isConnected()) answered();
    else if (unanswered >= mostUnanswered) {
      answered();
      void nc.reconnect();
    } else {
      unanswered += 1;
      // Rejected when the connection ends: the next one counts anew.
      nc.flush().then(answered, answered);
    }
  });
}

/**
 * Announcements leave at the end of the turn of the event loop in which they are made, signed
 * together: a thousand rechecks are some sixty signatures to make and to verify. Where nothing is
 * announced, all leaves at once.
 */
function createSigned(announce: Announce | undefined) {
  type Leaving = Announcement & {
    readonly send: (headers: Headers) => void;
    readonly fail: (error: unknown) => void;
  };
  let gathered: Leaving[] = [];
  const leave = (): void => {
    const all = gathered;
    gathered = [];
    if (all.length === 0 || !announce) return;
    for (const [nth, headers] of announce(all).entries()) {
      try {
        all[nth]?.send(headers);
      } catch (error) {
        all[nth]?.fail(error);
      }
    }
  };
  return {
    leave,
    send: (
      { subject, data }: Announcement,
      send: (headers?: Headers) => void,
      fail: (error: unknown) => void,
    ): void => {
      if (!announce || !isAnnounced(subject)) {
        send();
        return;
      }
      if (gathered.length === 0) setImmediate(leave);
      gathered.push({ subject, data, send, fail });
    },
  };
}

/** What the pull loop needs of the client, so that it stays apart from it. */
function connectionFor(
  nc: NatsConnection,
  {
    inboxPrefix,
    log,
    onStatus,
    routeOf,
  }: Pick<Connection, 'log' | 'onStatus'> & {
    inboxPrefix: string;
    routeOf: (subject: string) => string;
  },
): Connection {
  return {
    log,
    onStatus,
    createInbox: () => `${inboxPrefix}.${nuid.next()}`,
    publish: (subject, data, reply) =>
      nc.publish(routeOf(subject), data, reply === undefined ? {} : { reply }),
    listen: (subject, handler) => {
      const subscription = nc.subscribe(subject, {
        callback: (error, raw) => {
          if (error)
            return log.error({ err: error, subject }, 'could not receive the answers to a pull');
          const status = raw.headers?.code ?? 0;
          handler({
            message: messageOf(raw),
            reply: raw.reply ?? '',
            status,
            description: raw.headers?.description ?? '',
          });
        },
      });
      return { stop: () => subscription.unsubscribe() };
    },
  };
}

type RawMessage = {
  subject: string;
  data: Uint8Array;
  reply?: string | undefined;
  headers?: MsgHdrs | undefined;
  respond: (data: Uint8Array | string, options?: object) => boolean;
};

function messageOf(raw: RawMessage): Message {
  return {
    subject: raw.subject,
    data: raw.data,
    reply: raw.reply || undefined,
    header: (name) => raw.headers?.get(name) || undefined,
    respond: (data, headers) => raw.respond(data, headersOf(headers)),
  };
}

function headersOf(of: Headers | undefined): { headers: MsgHdrs } | Record<never, never> {
  if (of === undefined) return {};
  const made = createHeaders();
  for (const [name, value] of Object.entries(of)) made.set(name, value);
  return { headers: made };
}

type SubscribeTo = (
  handler: (message: Message) => void | Promise<void>,
  queue?: string,
) => Subscription;

function subscribe(
  nc: NatsConnection,
  failed: FailureLog,
  subject: string,
  ...[handler, queue]: Parameters<SubscribeTo>
): Subscription {
  const subscription = nc.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, raw) => {
      if (error) return failed(error, subject);
      const failedBy = (failure: unknown) => failed(failure, raw.subject);
      try {
        handler(messageOf(raw))?.catch(failedBy);
      } catch (failure) {
        failedBy(failure);
      }
    },
  });
  return { stop: () => subscription.unsubscribe() };
}
