import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Log } from '../../shared/base/log.ts';
import { trustHere } from '../../shared/base/network.ts';
import { atSharedTick } from '../../shared/base/shared-tick.ts';
import type { Clock } from '../../shared/base/time.ts';
import { signatureOf } from '../../shared/bus/identity.ts';
import {
  jsonOf,
  type PresenceMessage,
  type PresenceReply,
  presenceRefusal,
  presenceReply,
} from '../../shared/bus/messages.ts';
import { type Bus, type BusOptions, connectBus, type Subscription } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Announcements } from './announcements.ts';
import type { CorrectedClock } from './clock.ts';

export type Posted = { readonly status: number; readonly text: string };

/** No answer to a probe is longer than this. */
const maxAnswerBytes = 256 * 1024;

/** One call with a body, over a new connection: the other side may be just closing an old one. */
export async function post(
  address: URL,
  options: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
    readonly signal: AbortSignal;
    /** Authorities besides those that this machine trusts, as PEM. */
    readonly authorities: string | undefined;
  },
): Promise<Posted> {
  const { headers, body, signal, authorities } = options;
  // The global agent knows the proxy, if there is one.
  const way =
    address.protocol === 'https:'
      ? { agent: https.globalAgent, secureContext: trustHere(authorities) }
      : { agent: false };
  // Loading it takes 10 MiB, and few probes report to an address without TLS.
  const { request } = address.protocol === 'https:' ? https : await import('node:http');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = { ...headers, connection: 'close', 'content-length': body.length };
  const call = request(address, { method: 'POST', signal, headers: sent, ...way }, resolve);
  // Also for errors after the head of the answer; the reader of the rest receives those itself.
  call.on('error', reject);
  call.end(body);
  const response = await promise;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response) {
    if (!Buffer.isBuffer(part)) continue;
    bytes += part.length;
    if (bytes > maxAnswerBytes) throw new Error('the answer is too large');
    parts.push(part);
  }
  if (!response.complete) throw new Error('the answer was cut off');
  return { status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() };
}

/**
 * Retries until there is a bus or the probe ends. A refusal ends it only through `onAccessLost`: the
 * other side may renew the credentials.
 */
export async function connectWithRetries(
  options: BusOptions & { readonly signal: AbortSignal },
): Promise<Bus | undefined> {
  try {
    const bus = await connectBus(options);
    if (!options.signal.aborted) return bus;
    await bus.close();
  } catch (error) {
    if (!options.signal.aborted) throw error;
  }
  return undefined;
}

/**
 * Sends every 5 s that this probe is there and how it is, and takes in the answer: the time, how
 * far results are committed, keys.
 *
 * Besides its tick, it sends at once when the bus is back and when the backlog of an absence has
 * been sent, because the coordinators wait for that. While it lacks a key, it sends soon and then
 * ever less often.
 */
export type Presence = {
  readonly start: (bus: Bus) => void;
  /**
   * Announces in every message from now on that this probe is about to stop. Settles with whether a
   * coordinator received it.
   */
  readonly leave: () => Promise<boolean>;
  readonly stop: () => Promise<void>;
};

/** What the other parts know, read again for each presence. */
export type PresenceDependencies = {
  readonly describe: () => Promise<Omit<PresenceMessage, 'v' | 'sent_at' | 'handed_over'>>;
  readonly handedOver: () => boolean;
  /** Whether the next answer is needed at once: something arrived that only it can open. */
  readonly isWanting: () => boolean;
  /**
   * Whether an announcement is a coordinator's, as `Announcements` in presence/announcements.ts.
   */
  readonly read: Announcements['read'];
  readonly onReply: (reply: PresenceReply) => void;
};

const usualEveryMs = 5_000;
/**
 * While no one answers, it asks more often, to find a returning coordinator at once. It asks most
 * often at its own start, as a coordinator may be starting too.
 */
const unheardEveryMs = 1_000;
const soonestMs = 60;
const patienceMs = 2_000;
/** Probes that lost the same bus must not all come back at the same moment. */
const jitterMs = 300;
const watchMs = 250;

/** A coordinator with another version of the wire protocol answered. */
class Refused extends Error {}

export function createPresence(options: {
  readonly key: Key;
  readonly host: Clock;
  readonly clock: CorrectedClock;
  readonly parts: PresenceDependencies;
  readonly log: Log;
  readonly everyMs?: number;
}): Presence {
  const { key, host, clock, parts: dependencies, log, everyMs = usualEveryMs } = options;
  let bus: Bus | undefined;
  let status: Subscription | undefined;
  let timer: NodeJS.Timeout | undefined;
  let watcher: { readonly stop: () => void } | undefined;
  let speaking: Promise<void> | undefined;
  let heard = false;
  let saidHandedOver = true;
  let stopped = false;
  let leaving = false;
  let spokeAt = Number.NEGATIVE_INFINITY;
  let hurryMs = 0;
  let unheardMs = soonestMs;
  let saidRefused: string | undefined;

  const speak = async (through: Bus): Promise<void> => {
    const handedOver = dependencies.handedOver();
    const described = await dependencies.describe();
    const message: PresenceMessage = {
      v: 1,
      ...described,
      sent_at: clock.now(),
      handed_over: handedOver,
      ...(leaving ? { leaving } : {}),
    };
    const body = Buffer.from(JSON.stringify(message));
    const headers = signatureOf(key, body);
    const sent = host.now();
    const answer = await through.request(subjects.presence(message.probe), body, {
      timeoutMs: patienceMs,
      headers,
    });
    const received = host.now();
    if (!dependencies.read(answer, subjects.presence(message.probe)))
      throw new Error('the answer was signed by no coordinator');
    const told = jsonOf(answer.data);
    const refusal = presenceRefusal.safeParse(told);
    if (refusal.success) throw new Refused(refusal.data.refused);
    const reply = presenceReply.parse(told);
    clock.observe({ sent, received, heard: reply.heard_at, theirs: reply.now });
    saidHandedOver = handedOver;
    dependencies.onReply(reply);
  };

  /** Logs once for each reason: it asks every second. */
  const refusedBecause = (why: string): void => {
    if (why !== saidRefused)
      log.error({ why }, "the coordinator does not process this probe's messages");
    saidRefused = why;
  };

  const attempt = async (): Promise<void> => {
    if (!bus?.isConnected()) {
      heard = false;
      return;
    }
    try {
      await speak(bus);
      if (!heard)
        log.info(
          { offset_ms: Math.round(clock.offset()) },
          "a coordinator receives this probe's presence",
        );
      heard = true;
      saidRefused = undefined;
    } catch (error) {
      if (error instanceof Refused) refusedBecause(error.message);
      else if (heard) log.warn({ err: error }, 'no coordinator answers; checking goes on');
      heard = false;
    }
  };

  const later = (ms: number): void => {
    if (stopped) return;
    clearTimeout(timer);
    timer = setTimeout(tick, ms);
  };

  const mustHurry = (): boolean => {
    if (!dependencies.isWanting()) hurryMs = 0;
    else if (performance.now() - spokeAt >= hurryMs) {
      hurryMs = Math.min(everyMs, 2 * hurryMs + watchMs);
      return true;
    }
    return false;
  };

  const tick = (): void => {
    const began = performance.now();
    spokeAt = began;
    speaking ??= attempt().finally(() => {
      speaking = undefined;
      later(Math.max(0, (heard ? everyMs : unheardMs) - (performance.now() - began)));
      unheardMs = heard ? unheardEveryMs : Math.min(unheardEveryMs, 2 * unheardMs);
    });
  };

  return {
    start: (to) => {
      bus = to;
      status = to.onStatus((now) => {
        heard = heard && now === 'connected';
        if (now === 'connected') later(Math.random() * jitterMs);
      });
      const watch = (): void => {
        if (heard && ((!saidHandedOver && dependencies.handedOver()) || mustHurry())) tick();
      };
      watcher = atSharedTick(watchMs, watch);
      tick();
    },
    leave: async () => {
      leaving = true;
      await speaking;
      tick();
      await speaking;
      return heard;
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      watcher?.stop();
      status?.stop();
      await speaking;
    },
  };
}
