import { z } from 'zod';
import { pause } from '../base/async.ts';
import { isRecord } from '../base/json.ts';
import { jsonOf } from './messages.ts';

/** JetStream's answers, and its errors. */

export class BusRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'BusRefusal';
    this.code = code;
  }
}

const errorShape = z.object({
  error: z.object({
    code: z.number(),
    err_code: z.number().optional(),
    description: z.string().default(''),
  }),
});

/** Reads an answer of JetStream. @throws BusRefusal for an error. */
export function readAnswer<Shape extends z.ZodType>(
  data: Uint8Array,
  shape: Shape,
): z.infer<Shape> {
  const body: unknown = jsonOf(data);
  // Nearly every answer is a yes, and to find out by the schema that it is no refusal costs more
  // than all else here.
  const refused = isRecord(body) && 'error' in body ? errorShape.safeParse(body) : undefined;
  if (refused?.success) {
    const { code, err_code, description } = refused.data.error;
    throw new BusRefusal(err_code ?? code, description);
  }
  return shape.parse(body);
}

/**
 * The first of each line without the vulnerabilities of 2026; a line that is not named is judged by
 * the last one.
 */
const leastOfLine = { '2.11': 15, '2.12': 6 } as const;

/** As a person reads it. */
export const leastServers = '2.11.15 or 2.12.6';

export function isSafeServer(version: string): boolean {
  const [, major = '', minor = '', patch = ''] = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === '') return false;
  const line = `${major}.${minor}`;
  if (line === '2.11' || line === '2.12') return Number(patch) >= leastOfLine[line];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) > 12);
}

const loopback = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

/**
 * Whether everybody who can reach it is on this machine. @param urls each one address, or several
 * with commas.
 */
export function isWithinMachine(urls: readonly string[]): boolean {
  return urls
    .flatMap((url) => url.split(','))
    .every((url) =>
      loopback.test(
        new URL(url.trim().replace(/^(?:nats|tls):/, 'http:')).hostname.replace(/^\[|\]$/g, ''),
      ),
    );
}

/** What is wrong with the server behind these addresses, in words; undefined where nothing is. */
export function serverFault(version: string, urls: readonly string[]): string | undefined {
  return isSafeServer(version) || isWithinMachine(urls)
    ? undefined
    : `The bus is nats-server ${version}, which has known holes and can be reached from other machines; it must be ${leastServers} or newer.`;
}

/**
 * JetStream's own protocol: requests with JSON, spoken directly so that no more rights and no newer
 * server are needed than we use. `@nats-io/jetstream` 3.4 was tried: of all this it replaces 150
 * lines of management, for 414 KB and 8 % of the probe's bundle. Its pull acknowledges by subjects
 * that only the relay of a private probe may use, and a message that it stores costs four times the
 * CPU of `storing.ts`; it creates or changes a consumer and never does either, and its time limits
 * are those of a connection and not of a call.
 */
type Request = (
  subject: string,
  data: string,
  timeoutMs: number,
) => Promise<{ readonly data: Uint8Array }>;

/** The settings of a stream that we use; durations in milliseconds. */
export type StreamOptions = {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly retention: 'limits' | 'workqueue';
  readonly discard: 'old' | 'new';
  readonly maxPerSubject?: number;
  readonly maxBytes?: number;
  readonly maxAgeMs?: number;
  readonly duplicateWindowMs?: number;
  readonly maxMessageBytes?: number;
};

/** What an operator says of the streams: how many servers keep each, and where those are. */
export type StreamKeeping = {
  readonly replicas?: number | undefined;
  readonly placement?: Placement | undefined;
};

type Placement = { readonly cluster?: string | undefined; readonly tags: readonly string[] };

export type ConsumerOptions = {
  readonly name: string;
  readonly filter?: string;
  readonly deliver: 'all' | 'new' | 'last_per_subject';
  readonly ackWaitMs: number;
  readonly maxAckPending: number;
  /** Left out, those of its stream, as a work queue demands. */
  readonly replicas?: number;
};

export type StoredValue = {
  readonly subject: string;
  readonly seq: number;
  readonly data: Uint8Array;
  readonly storedAt: number;
  readonly header: (name: string) => string | undefined;
};

type StreamState = {
  readonly messages: number;
  readonly bytes: number;
  /** Another time means a recreated stream, numbered from 1. */
  readonly createdAt: number;
  /** How many of its replicas are missing: gone, behind, or never placed. */
  readonly missing: number;
};

export type Management = {
  /**
   * Makes the stream, or brings it to these settings; what else it has been set to stays. True when
   * it was not there before.
   */
  readonly ensureStream: (options: StreamOptions) => Promise<boolean>;
  /**
   * Those that were to have other replicas, or another place, when they were asked for last, and
   * were refused them.
   */
  readonly refusedStreams: () => readonly string[];
  /** Whether it has a leader; else it neither stores nor delivers. */
  readonly isLed: (name: string) => Promise<boolean>;
  readonly deleteStream: (name: string) => Promise<void>;
  readonly streamState: (name: string) => Promise<StreamState | undefined>;
  /** Every subject of the stream that fits the filter. */
  readonly subjectsOf: (stream: string, filter: string) => Promise<string[]>;
  readonly ensureConsumer: (
    stream: string,
    options: ConsumerOptions,
    timeoutMs?: number,
  ) => Promise<void>;
  /** Removes it, pending polls of others included, and recreates it. */
  readonly renewConsumer: (stream: string, options: ConsumerOptions) => Promise<void>;
  readonly deleteConsumer: (stream: string, name: string, timeoutMs?: number) => Promise<void>;
  /** `acknowledged`: the stream sequence up to which all is. */
  readonly consumerState: (
    stream: string,
    name: string,
  ) => Promise<{ pending: number; unacknowledged: number; acknowledged: number } | undefined>;
  /** The last message of a subject; undefined when there is none. */
  readonly last: (stream: string, subject: string) => Promise<StoredValue | undefined>;
  /**
   * The first message from this number on whose subject fits the filter; undefined when there is
   * none.
   */
  readonly next: (stream: string, from: number, filter: string) => Promise<StoredValue | undefined>;
  /**
   * Removes the message of this number, and never what came after it on its subject. False when it
   * was gone already.
   */
  readonly remove: (stream: string, seq: number) => Promise<boolean>;
  /** Removes all messages of a subject, or those whose number in the stream is below `before`. */
  readonly purge: (stream: string, subject: string, before?: number) => Promise<void>;
};

const codes = {
  streamNotFound: 10059,
  consumerNotFound: 10014,
  messageNotFound: 10037,
  streamNameInUse: 10058,
} as const;

/** Leader elections are waited for as long. */
const electionMs = 20_000;

const done = z.looseObject({});
const placementShape = z.looseObject({
  cluster: z.string().optional(),
  tags: z.array(z.string()).nullish(),
});
const streamConfig = z.looseObject({
  num_replicas: z.number().default(1),
  placement: placementShape.nullish(),
});
/** A server without a cluster reports no leader. */
const streamAsIs = z.object({
  config: streamConfig,
  cluster: z.object({ leader: z.string().optional() }).optional(),
});
const peer = z.object({ current: z.boolean().default(false), offline: z.boolean().default(false) });
const streamInfo = z.object({
  config: z.object({ num_replicas: z.number().default(1) }),
  cluster: z
    .object({ leader: z.string().optional(), replicas: z.array(peer).nullish() })
    .optional(),
  total: z.number().default(0),
  created: z.string(),
  state: z.object({
    messages: z.number(),
    bytes: z.number(),
    subjects: z.record(z.string(), z.number()).nullish(),
  }),
});
const consumerInfo = z.object({
  num_pending: z.number(),
  num_ack_pending: z.number(),
  ack_floor: z.object({ stream_seq: z.number() }),
});
const storedMessage = z.object({
  message: z.object({
    subject: z.string(),
    seq: z.number(),
    data: z.string().default(''),
    hdrs: z.string().default(''),
    time: z.string(),
  }),
});

/**
 * Of those that are to keep a stream, how many do not. The leader is not among its replicas; a
 * server without a cluster reports neither.
 */
function missingOf(
  { config, cluster }: Pick<z.infer<typeof streamInfo>, 'config' | 'cluster'>,
  replicas = 1,
): number {
  const followers = (cluster?.replicas ?? []).filter(
    ({ current, offline }) => current && !offline,
  ).length;
  const leaders = cluster === undefined || cluster.leader ? 1 : 0;
  return Math.max(0, Math.max(config.num_replicas, replicas) - leaders - followers);
}

/**
 * The updates that bring a stream from what it is to what it is to be, one after the other, because
 * a server refuses to move and to grow one at once. What we have no say in stays as an operator set
 * it; replicas never become fewer.
 */
function updatesOf(
  current: z.infer<typeof streamConfig>,
  options: StreamOptions,
  { replicas = 1, placement }: StreamKeeping,
): readonly z.infer<typeof streamConfig>[] {
  const updates: z.infer<typeof streamConfig>[] = [];
  let last = current;
  const add = (change: object): void => {
    const next = { ...last, ...change };
    const isChange = Object.entries(change).some(([name, value]) => !isSame(value, last[name]));
    if (isChange) updates.push(next);
    last = next;
  };
  add(streamBody(options));
  if (placement !== undefined) {
    const { cluster, tags } = last.placement ?? {};
    const now: Placement = { cluster, tags: tags ?? [] };
    if (!isSame(placementBody(now), placementBody(placement)))
      add({ placement: placementBody(placement) });
  }
  if (replicas > last.num_replicas) add({ num_replicas: replicas });
  return updates;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function streamBody(options: StreamOptions) {
  return {
    name: options.name,
    subjects: options.subjects,
    retention: options.retention,
    discard: options.discard,
    storage: 'file',
    max_consumers: -1,
    max_msgs: -1,
    max_bytes: options.maxBytes ?? -1,
    max_age: nanoseconds(options.maxAgeMs ?? 0),
    max_msgs_per_subject: options.maxPerSubject ?? -1,
    max_msg_size: options.maxMessageBytes ?? -1,
    duplicate_window: nanoseconds(options.duplicateWindowMs ?? 120_000),
    allow_direct: true,
  };
}

function nanoseconds(ms: number): number {
  return ms * 1_000_000;
}

function placementBody({ cluster, tags }: Placement) {
  return {
    ...(cluster === undefined ? {} : { cluster }),
    ...(tags.length === 0 ? {} : { tags }),
  };
}

type ManagementDependencies = {
  readonly keeping?: StreamKeeping | undefined;
  /** The server refused to move or grow a stream, which stays as it is. */
  readonly onRefused: (stream: string, why: BusRefusal) => void;
};

export function createManagement(
  request: Request,
  { keeping = {}, onRefused }: ManagementDependencies,
): Management {
  const call = async <Shape extends z.ZodType>(
    action: string,
    body: unknown,
    shape: Shape,
    ms = 5_000,
  ): Promise<z.infer<Shape>> =>
    readAnswer(
      (await request(`$JS.API.${action}`, body === undefined ? '' : JSON.stringify(body), ms)).data,
      shape,
    );
  const unless = async <Value, Other>(
    code: number,
    work: () => Promise<Value>,
    otherwise: Other,
  ): Promise<Value | Other> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof BusRefusal && error.code === code) return otherwise;
      throw error;
    }
  };

  const stored = async (stream: string, which: object): Promise<StoredValue | undefined> => {
    const found = await unless(
      codes.messageNotFound,
      () => call(`STREAM.MSG.GET.${stream}`, which, storedMessage),
      undefined,
    );
    if (!found) return undefined;
    const { subject, seq, data, hdrs, time } = found.message;
    return {
      subject,
      seq,
      data: Buffer.from(data, 'base64'),
      storedAt: Date.parse(time),
      header: headersIn(hdrs),
    };
  };

  const isLed = async (name: string): Promise<boolean> => {
    const { cluster } = await call(`STREAM.INFO.${name}`, undefined, streamAsIs);
    return cluster === undefined || Boolean(cluster.leader);
  };

  /** A stream that grew or moved elects a leader again; requests get no answer meanwhile. */
  const untilLed = async (name: string): Promise<void> => {
    for (const end = performance.now() + electionMs; performance.now() < end; await pause(100))
      if (await isLed(name).catch(() => false)) return; // Not led is all that a failure says here.
  };

  const refused = new Set<string>();
  const management: Management = {
    refusedStreams: () => [...refused],
    ensureStream: async (options) => {
      const { name } = options;
      const found = await unless(
        codes.streamNotFound,
        () => call(`STREAM.INFO.${name}`, undefined, streamAsIs),
        undefined,
      );
      if (!found) {
        const { replicas = 1, placement } = keeping;
        const where = placement === undefined ? {} : { placement: placementBody(placement) };
        const body = { ...streamBody(options), num_replicas: replicas, ...where };
        // Another coordinator may have been quicker; then it is there as we want it.
        return (
          (await unless(
            codes.streamNameInUse,
            () => call(`STREAM.CREATE.${name}`, body, done),
            undefined,
          )) !== undefined
        );
      }
      for (const update of updatesOf(found.config, options, keeping)) {
        const isOurs =
          isSame(update.placement, found.config.placement) &&
          update.num_replicas === found.config.num_replicas;
        try {
          await call(`STREAM.UPDATE.${name}`, update, done);
        } catch (error) {
          if (isOurs || !(error instanceof BusRefusal)) throw error;
          refused.add(name);
          onRefused(name, error);
          return false;
        }
        if (!isOurs) await untilLed(name);
      }
      refused.delete(name);
      return false;
    },
    isLed,
    deleteStream: async (name) => {
      await unless(
        codes.streamNotFound,
        () => call(`STREAM.DELETE.${name}`, undefined, done),
        undefined,
      );
    },
    streamState: async (name) => {
      const info = await unless(
        codes.streamNotFound,
        () => call(`STREAM.INFO.${name}`, undefined, streamInfo),
        undefined,
      );
      if (!info) return undefined;
      const { messages, bytes } = info.state;
      return {
        messages,
        bytes,
        createdAt: Date.parse(info.created),
        missing: missingOf(info, keeping.replicas),
      };
    },
    subjectsOf: async (stream, filter) => {
      const found: string[] = [];
      for (;;) {
        const info = await call(
          `STREAM.INFO.${stream}`,
          { subjects_filter: filter, offset: found.length },
          streamInfo,
        );
        const page = Object.keys(info.state.subjects ?? {});
        found.push(...page);
        if (page.length === 0 || found.length >= info.total) return found;
      }
    },
    ensureConsumer: async (stream, options, ms) => {
      const config = consumerBody(options);
      await call(
        `CONSUMER.DURABLE.CREATE.${stream}.${options.name}`,
        { stream_name: stream, config },
        done,
        ms,
      );
    },
    renewConsumer: async (stream, options) => {
      await management.deleteConsumer(stream, options.name);
      await management.ensureConsumer(stream, options);
    },
    deleteConsumer: async (stream, name, timeoutMs) => {
      await unless(
        codes.consumerNotFound,
        () => call(`CONSUMER.DELETE.${stream}.${name}`, undefined, done, timeoutMs),
        undefined,
      );
    },
    consumerState: async (stream, name) => {
      const info = await unless(
        codes.consumerNotFound,
        () => call(`CONSUMER.INFO.${stream}.${name}`, undefined, consumerInfo),
        undefined,
      );
      return (
        info && {
          pending: info.num_pending,
          unacknowledged: info.num_ack_pending,
          acknowledged: info.ack_floor.stream_seq,
        }
      );
    },
    last: (stream, subject) => stored(stream, { last_by_subj: subject }),
    next: (stream, from, filter) => stored(stream, { seq: from, next_by_subj: filter }),
    remove: async (stream, seq) => {
      try {
        await call(`STREAM.MSG.DELETE.${stream}`, { seq, no_erase: true }, done);
        return true;
      } catch (error) {
        // That it is gone is said in several ways, and in one of them other failures too.
        if (!(error instanceof BusRefusal) || (await stored(stream, { seq }))) throw error;
        return false;
      }
    },
    purge: async (stream, subject, before) => {
      // To the server, 0 is all of them.
      if (before === 0) return;
      await call(`STREAM.PURGE.${stream}`, { filter: subject, seq: before }, done);
    },
  };
  return management;
}

/**
 * A stored message's headers as the server keeps them: a line that names the protocol, then one
 * line each, in base64.
 */
function headersIn(text: string): (name: string) => string | undefined {
  const found = new Map<string, string>();
  for (const line of Buffer.from(text, 'base64').toString().split('\r\n').slice(1)) {
    const at = line.indexOf(':');
    if (at > 0) found.set(line.slice(0, at), line.slice(at + 1).trim());
  }
  return (name) => found.get(name);
}

function consumerBody(options: ConsumerOptions) {
  return {
    durable_name: options.name,
    name: options.name,
    ...(options.filter === undefined ? {} : { filter_subject: options.filter }),
    deliver_policy: options.deliver,
    ack_policy: 'explicit',
    ack_wait: nanoseconds(options.ackWaitMs),
    max_ack_pending: options.maxAckPending,
    max_deliver: -1,
    replay_policy: 'instant',
    // None: those of its stream.
    num_replicas: options.replicas ?? 0,
  };
}
