import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { keptBodyBytes, type PingCall, parsePingCall } from '../checks/heartbeat/checks-heartbeat-address.ts';
import { foldPing, noPings } from '../checks/heartbeat/checks-heartbeat-state.ts';
import { pingFingerprint } from '../checks/heartbeat/checks-heartbeat-token.ts';
import type { PingMessage } from './bus-messages.ts';
import type { Bus } from './bus-nats.ts';
import type { PingRecords } from './bus-ping-records.ts';
import { type HandOverSome, type PingSpool, type SpooledPing, SpoolFull } from './bus-ping-spool.ts';
import { type PingPlace, partitionOf, subjects } from './bus-subjects.ts';

/** Whose key it is, and until when it counts. */
export type KnownKey = { readonly organisation: string; readonly monitor: string; readonly until: number | null };

/** Looks a key up without a database: by heart, or at most with a bounded question. */
export type FindKey = (key: string) => KnownKey | undefined | Promise<KnownKey | undefined>;

/** The body is read only of a request that is taken: what strangers send is not waited for. */
export type PingRequest = { readonly method: string; readonly address: string; readonly body: () => Promise<Uint8Array> };
export type PingReply = { readonly status: number; readonly text: string; readonly headers: Readonly<Record<string, string>> };

/**
 * Where pings are taken, the same at every ping receiver and coordinator: on the bus before the answer, on the disk while the bus is away.
 * Modes: `direct` ↔ `behind` (pings wait on the disk: further ones go behind them, so that the bus gets them in order). Where there is a
 * forwarding: `behind` → (the bus is away, or just failed) `forwarding` (what is on the disk leaves by it, each as it comes) → `direct`.
 */
export type PingIntake = {
  readonly take: (request: PingRequest) => Promise<PingReply>;
  /** Tries to hand over what waits on the disk. */
  readonly catchUp: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Brings pings to the bus. */
export type PingBus = {
  readonly isReady: () => boolean;
  /** Settles when the bus has it. Once more does no harm. */
  readonly handOver: (entry: SpooledPing) => Promise<void>;
  /** Makes good what the bus lost of what it was given. */
  readonly recover: () => Promise<void>;
};

export const createPingBus = (bus: Bus, records: PingRecords, place: PingPlace): PingBus => ({
  isReady: bus.isConnected,
  recover: records.recover,
  handOver: async ({ organisation, monitor, ping }) => {
    // What it comes to first: should the other fail, the ping is kept, and counting it once more changes nothing.
    await records.change(organisation, monitor, (state) => foldPing(state ?? noPings, ping).state);
    await bus.store(subjects.ping(place, partitionOf(monitor), ping.key), JSON.stringify(ping), { id: ping.id, timeoutMs });
  },
});

/** Brings what waits on the disk to where the bus can be reached, while it cannot be from here. */
export type PingForwarding = {
  /** False while it rests, because nobody was there, and when there is none. */
  readonly isOpen: () => boolean;
  /** `signal`: the bus is back, and this is waited for no longer. @throws when nothing could be brought there. */
  readonly handOver: (waiting: readonly SpooledPing[], signal: AbortSignal) => ReturnType<HandOverSome>;
  /** Ends what is under way. */
  readonly close: () => void;
};

export type PingIntakeParts = {
  /** undefined: there was no connection to the bus yet. */
  readonly pingBus: () => PingBus | undefined;
  readonly forwarding?: PingForwarding;
  readonly spool: PingSpool;
  readonly findKey: FindKey;
  /** The name of the probe, or of the coordinator, as the monitor's page shows it. */
  readonly ear: string;
  /** Where it is corrected by what others say the time is: a ping that is taken before they do waits for that, and is then dated anew. */
  readonly clock: Clock & { readonly isMeasured?: () => boolean; readonly offset?: () => number };
  readonly log: Log;
};

const timeoutMs = 2_000;
const catchUpEveryMs = 500;
/** A bus that failed although it seems to be there is not tried for so long, as long as there is a forwarding. */
const busDoubtfulMs = 5_000;
/** So many pings of one monitor under way at once are no job's doing. */
const mostAtOnce = 100;

const reply = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): PingReply => ({ status, text, headers });

const ok = reply(200, 'OK');
const unknown = reply(404, 'Not found');
const methods = 'GET, HEAD, POST';

/** The body as text that a database can hold. */
const textOf = (body: Uint8Array): string => new TextDecoder().decode(body.subarray(0, keptBodyBytes)).replaceAll('\0', '\ufffd');

export const createPingIntake = (parts: PingIntakeParts): PingIntake => {
  const { pingBus, forwarding, spool, findKey, ear, clock, log } = parts;
  const underWay = new Map<string, number>();
  let busDoubtfulUntil = Number.NEGATIVE_INFINITY;

  const readyBus = (): PingBus | undefined => {
    const one = pingBus();
    if (!one?.isReady()) {
      // What comes after this is another connection, of which there is no doubt.
      busDoubtfulUntil = Number.NEGATIVE_INFINITY;
      return undefined;
    }
    return performance.now() < busDoubtfulUntil && forwarding?.isOpen() ? undefined : one;
  };
  const onBusFailure = (error: unknown, what: string): void => {
    busDoubtfulUntil = performance.now() + busDoubtfulMs;
    log.warn({ err: error, waiting: spool.waiting() }, what);
  };

  const keep = async (entry: SpooledPing): Promise<PingReply> => {
    try {
      await spool.append(entry);
      // Others may be about to call it late; nobody here waits for it.
      if (!readyBus()) void catchUp();
      return ok;
    } catch (error) {
      log.error({ err: error }, 'a beat could be kept nowhere');
      return reply(503, error instanceof SpoolFull ? 'Full' : 'Unavailable', { 'retry-after': '10' });
    }
  };

  const isMeasured = (): boolean => clock.isMeasured?.() ?? true;

  /** What pings of before the clock was measured were dated, as long as any waits: one of them may be on the bus by half already. */
  const dates = new Map<string, number>();
  const dated = ({ uncorrected, ...entry }: SpooledPing): SpooledPing => {
    if (!uncorrected) return entry;
    const { ping } = entry;
    const at = dates.get(ping.id) ?? Math.max(0, Math.round(ping.at + (clock.offset?.() ?? 0)));
    dates.set(ping.id, at);
    return { ...entry, ping: { ...ping, at } };
  };

  const put = async (entry: SpooledPing): Promise<PingReply> => {
    if (!isMeasured()) return keep({ ...entry, uncorrected: true });
    const direct = readyBus();
    if (!direct || spool.waiting() > 0) return keep(entry);
    try {
      await direct.handOver(entry);
      return ok;
    } catch (error) {
      onBusFailure(error, 'the bus did not take a beat; it is kept on the disk');
      return keep(entry);
    }
  };

  const pingOf = (call: PingCall, key: string, at: number, method: string, body: Uint8Array): PingMessage => ({
    v: 1,
    id: newId(),
    key,
    kind: call.kind,
    exit_code: call.exit_code,
    at,
    rid: call.rid,
    method,
    body: textOf(body),
    ear,
  });

  let catchingUp: Promise<void> | undefined;
  const catchUpByBus = async (ready: PingBus): Promise<void> => {
    try {
      await ready.recover();
      if (spool.waiting() === 0) return;
      await spool.drain((entry) => ready.handOver(dated(entry)));
      log.info('the beats on the disk are handed over');
    } catch (error) {
      onBusFailure(error, 'the bus does not take yet what it is to catch up with');
    }
  };

  let forwardingNow: AbortController | undefined;
  const catchUpByForwarding = async (way: PingForwarding): Promise<void> => {
    const leaving = new AbortController();
    forwardingNow = leaving;
    try {
      await spool.drainTogether((waiting) => {
        if (readyBus()) leaving.abort();
        leaving.signal.throwIfAborted();
        return way.handOver(waiting.map(dated), leaving.signal);
      });
    } catch (error) {
      if (leaving.signal.aborted) return; // The rest goes over the bus, in a moment.
      log.warn({ err: error, waiting: spool.waiting() }, 'beats wait on the disk: neither the bus nor the coordinator takes them');
    } finally {
      forwardingNow = undefined;
    }
  };

  const catchUpOnce = async (): Promise<void> => {
    const ready = readyBus();
    if (ready) await catchUpByBus(ready);
    if (forwarding?.isOpen() && spool.waiting() > 0 && !readyBus()) await catchUpByForwarding(forwarding);
    if (spool.waiting() === 0) dates.clear();
  };
  const catchUp = (): Promise<void> => {
    // Nothing that stalls there keeps anything from a bus that is back.
    if (forwardingNow && readyBus()) forwardingNow.abort();
    if (!isMeasured() || !(readyBus() || forwarding?.isOpen())) return Promise.resolve();
    catchingUp ??= catchUpOnce().finally(() => {
      catchingUp = undefined;
    });
    return catchingUp;
  };
  const timer = setInterval(() => void catchUp(), catchUpEveryMs);

  return {
    take: async ({ method, address, body }) => {
      // The job spoke when its head came, however long its body takes.
      const at = clock.now();
      if (!['GET', 'HEAD', 'POST'].includes(method)) return reply(405, 'Method not allowed', { allow: methods });
      const call = parsePingCall(address);
      if (call === 'no_such_address') return unknown;
      if (call === 'rid_malformed') return reply(400, 'rid must be a UUID');
      const key = pingFingerprint(call.token);
      const known = await findKey(key);
      if (!known || (known.until !== null && known.until <= at)) return unknown;
      const bytes = await body();
      const count = underWay.get(known.monitor) ?? 0;
      if (count >= mostAtOnce) return reply(429, 'Too many beats at once', { 'retry-after': '1' });
      underWay.set(known.monitor, count + 1);
      try {
        return await put({ organisation: known.organisation, monitor: known.monitor, ping: pingOf(call, key, at, method, bytes) });
      } finally {
        const left = (underWay.get(known.monitor) ?? 1) - 1;
        if (left > 0) underWay.set(known.monitor, left);
        else underWay.delete(known.monitor);
      }
    },
    catchUp,
    close: async () => {
      clearInterval(timer);
      forwarding?.close();
      await catchingUp;
      await spool.close();
    },
  };
};
