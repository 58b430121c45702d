import { backoff, pause } from '../base/async.ts';
import { newId } from '../base/crypto.ts';
import type { Log } from '../base/log.ts';
import { atSharedTick } from '../base/shared-tick.ts';
import type { Clock } from '../base/time.ts';
import {
  creatingFingerprint,
  namedFingerprint,
  pingFingerprint,
} from '../checks/heartbeat/config.ts';
import {
  foldPing,
  keptBodyBytes,
  mergePings,
  noPings,
  type PingCall,
  type PingState,
  parsePingCall,
} from '../checks/heartbeat/state.ts';
import { BusRefusal } from './jetstream.ts';
import { jsonOf, type PingMessage, pingStateMessage } from './messages.ts';
import type { Bus } from './nats.ts';
import { type DeliverPings, type PingSpool, type SpooledPing, SpoolFull } from './ping-spool.ts';
import { type PingPlace, partitionOf, streams, subjects } from './subjects.ts';

/**
 * The summary of each monitor's pings on the bus: one record each, changed only on top of its
 * previous version (compare and set). Ping receivers all over the world update the same record, and
 * no update is lost.
 *
 * After the connection broke the bus may have lost what was written from here; if a sample shows
 * that it did, everything is written again.
 */
export type PingRecords = {
  /**
   * undefined: there is none, which after a wiped bus says nothing about the pings. @throws when
   * the bus cannot be asked.
   */
  readonly read: (organisation: string, monitor: string) => Promise<PingState | undefined>;
  /**
   * Applies the changes of one monitor in the order of these calls. @throws when the bus did not
   * confirm it; it may have it all the same.
   */
  readonly change: (
    organisation: string,
    monitor: string,
    change: (state: PingState | undefined) => PingState,
  ) => Promise<void>;
  /**
   * If in doubt: checks whether the bus was wiped, and writes again what was written from here.
   * @throws when it cannot be asked.
   */
  readonly recover: () => Promise<void>;
};

/** A record and the number of the message that holds it; 0 when there is none. */
type Held = { readonly seq: number; readonly state: PingState | undefined };

const wrongLastSequence = 10071;
const maxAttempts = 12;
const maxRemembered = 20_000;
const sampleSize = 3;
const atOnce = 100;

export function createPingRecords(
  bus: Bus,
  options: { readonly timeoutMs?: number } = {},
): PingRecords {
  const { timeoutMs = 2_000 } = options;
  // The last record written from here. It is mostly still current, which saves a request for each
  // ping; if it is not, the bus refuses the write, and we read.
  const remembered = new Map<string, Held>();
  const lines = new Map<string, Promise<void>>();
  let isDoubtful = false;
  bus.onStatus((status) => {
    if (status === 'connected') isDoubtful = true;
  });

  const ask = async (subject: string): Promise<Held> => {
    const answer = await bus.request(
      `$JS.API.DIRECT.GET.${streams.lastPings.name}.${subject}`,
      '',
      { timeoutMs },
    );
    const seq = Number(answer.header('Nats-Sequence') ?? 0);
    return { seq, state: seq === 0 ? undefined : parse(answer.data) };
  };

  const remember = (subject: string, held: Held): void => {
    remembered.delete(subject);
    remembered.set(subject, held);
    const [oldest] = remembered.size > maxRemembered ? remembered.keys() : [];
    if (oldest !== undefined) remembered.delete(oldest);
  };

  const write = async (
    subject: string,
    change: (state: PingState | undefined) => PingState,
  ): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      const held = remembered.get(subject) ?? (await ask(subject));
      const state = change(held.state);
      if (state === held.state) return;
      try {
        const headers = { 'Nats-Expected-Last-Subject-Sequence': String(held.seq) };
        const { seq } = await bus.store(subject, JSON.stringify(state), { timeoutMs, headers });
        return remember(subject, { seq, state });
      } catch (error) {
        remembered.delete(subject);
        const overtaken = error instanceof BusRefusal && error.code === wrongLastSequence;
        if (!overtaken || attempt >= maxAttempts) throw error;
        await pause(backoff(attempt, 1, 50) * Math.random());
      }
    }
  };

  /** Applies the changes of one record one after the other. */
  const inLine = (
    subject: string,
    change: (state: PingState | undefined) => PingState,
  ): Promise<void> => {
    const done = (lines.get(subject) ?? Promise.resolve()).then(() => write(subject, change));
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (lines.get(subject) === settled) lines.delete(subject);
      });
    lines.set(subject, settled);
    return done;
  };

  /**
   * True when none of the last written records exists any more: a single missing one may be of a
   * deleted monitor.
   */
  const isWiped = async (): Promise<boolean> => {
    const sample = [...remembered].slice(-sampleSize);
    const lagging = await Promise.all(
      sample.map(
        async ([subject, { state }]) =>
          state !== undefined && lags((await ask(subject)).state, state),
      ),
    );
    return sample.length > 0 && !lagging.includes(false);
  };

  const tellAgain = async (): Promise<void> => {
    const known = [...remembered];
    remembered.clear();
    for (let at = 0; at < known.length; at += atOnce)
      await Promise.all(
        known
          .slice(at, at + atOnce)
          .map(
            ([subject, { state }]) =>
              state && inLine(subject, (seen) => (seen ? mergePings(state, seen) : state)),
          ),
      );
  };

  return {
    read: async (organisation, monitor) =>
      (await ask(subjects.lastPings(organisation, monitor))).state,
    change: (organisation, monitor, change) =>
      inLine(subjects.lastPings(organisation, monitor), change),
    recover: async () => {
      if (!isDoubtful) return;
      if (await isWiped()) await tellAgain();
      isDoubtful = false;
    },
  };
}

function parse(data: Uint8Array): PingState | undefined {
  if (data.length === 0) return undefined;
  try {
    const read = pingStateMessage.safeParse(jsonOf(data));
    return read.success ? read.data : undefined;
  } catch {
    return undefined; // Its writer cannot be asked; an unreadable record counts as none.
  }
}

/** Whether the bus has less than what was written to it. */
function lags(there: PingState | undefined, written: PingState): boolean {
  return (
    there === undefined ||
    (written.good?.at ?? 0) > (there.good?.at ?? 0) ||
    (written.bad?.at ?? 0) > (there.bad?.at ?? 0)
  );
}

/** The owner of a key, and until when it counts. */
export type KnownKey = {
  readonly organisation: string;
  readonly monitor: string;
  readonly until: number | null;
};

/** Finds a key without a database: in memory, or with one bounded request. */
export type FindKey = (key: string) => KnownKey | undefined | Promise<KnownKey | undefined>;

/** The body is read only for an accepted request: anonymous bodies are not waited for. */
export type PingRequest = {
  readonly method: string;
  readonly address: string;
  readonly body: () => Promise<Uint8Array>;
};
export type PingReply = {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * How pings are accepted, the same at every ping receiver and coordinator: on the bus before the
 * answer, on disk while the bus is down. While pings wait on disk further ones queue behind them,
 * so the bus gets them in order. With forwarding they leave by it, each as it comes, while the bus
 * is away or just failed.
 */
export type PingIntake = {
  readonly take: (request: PingRequest) => Promise<PingReply>;
  /** Tries to deliver the backlog on disk. */
  readonly catchUp: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Delivers pings to the bus. */
export type PingBus = {
  readonly isReady: () => boolean;
  /**
   * Settles when the bus has it. Repeating it does no harm. `again`: it was on the bus before its
   * monitor was there.
   */
  readonly handOver: (entry: SpooledPing, again?: 'created') => Promise<void>;
  /** Writes again what the bus lost. */
  readonly recover: () => Promise<void>;
};

export function createPingBus(bus: Bus, records: PingRecords, place: PingPlace): PingBus {
  return {
    isReady: bus.isConnected,
    recover: records.recover,
    handOver: async ({ organisation, monitor, ping }, again) => {
      // The summary first: if the ping itself then fails, it is kept, and counting it again changes
      // nothing. One that creates its monitor has none yet.
      if (ping.create === undefined)
        await records.change(
          organisation,
          monitor,
          (state) => foldPing(state ?? noPings, ping).state,
        );
      const subject =
        ping.create === undefined
          ? subjects.ping(place, partitionOf(monitor), ping.key)
          : subjects.creatingPing(place, ping.key);
      await bus.store(subject, JSON.stringify(ping), {
        // The bus drops a message whose id it has had.
        id: again === undefined ? ping.id : `${ping.id} ${again}`,
        timeoutMs,
      });
    },
  };
}

/**
 * Sends the backlog on disk to where the bus can be reached, while it cannot be reached from here.
 */
export type PingForwarding = {
  /** False while it rests, because no one answered, and when there is none. */
  readonly isOpen: () => boolean;
  /**
   * `signal`: the bus is back, and this is no longer waited for. @throws when nothing could be
   * delivered.
   */
  readonly handOver: (
    waiting: readonly SpooledPing[],
    signal: AbortSignal,
  ) => ReturnType<DeliverPings>;
  /** Ends deliveries in progress. */
  readonly close: () => void;
};

export type PingIntakeDependencies = {
  /** undefined: there was no connection to the bus yet. */
  readonly pingBus: () => PingBus | undefined;
  readonly forwarding?: PingForwarding;
  readonly spool: PingSpool;
  readonly findKey: FindKey;
  /** The name of the probe or the coordinator, as the monitor's page shows it. */
  readonly ear: string;
  /**
   * With a clock that coordinators correct, a ping accepted before the correction waits for it, and
   * its time is then corrected.
   */
  readonly clock: Clock & { readonly isMeasured?: () => boolean; readonly offset?: () => number };
  readonly log: Log;
};

const timeoutMs = 2_000;
const catchUpEveryMs = 500;
/** How long a bus that failed although it seems connected is not tried, if there is forwarding. */
const busDoubtfulMs = 5_000;
/** No job sends this many pings of one monitor at once. */
const maxAtOnce = 100;

const ok = reply(200, 'OK');

function reply(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): PingReply {
  return { status, text, headers };
}
const unknown = reply(404, 'Not found');
const methods = 'GET, HEAD, POST';

export function createPingIntake(dependencies: PingIntakeDependencies): PingIntake {
  const { pingBus, forwarding, spool, findKey, ear, clock, log } = dependencies;
  const underWay = new Map<string, number>();
  let busDoubtfulUntil = Number.NEGATIVE_INFINITY;

  const readyBus = (): PingBus | undefined => {
    const one = pingBus();
    if (!one?.isReady()) {
      // From here on, it is a new connection without doubt.
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
      // Other probes may be about to call it late; no one here waits for it.
      if (!readyBus()) void catchUp();
      return ok;
    } catch (error) {
      log.error({ err: error }, 'a ping could not be stored anywhere');
      return reply(503, error instanceof SpoolFull ? 'Full' : 'Unavailable', {
        'retry-after': '10',
      });
    }
  };

  const isMeasured = (): boolean => clock.isMeasured?.() ?? true;

  /**
   * The corrected times of pings from before the clock was measured, as long as any waits: one of
   * them may be half written to the bus.
   */
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

  /**
   * The key of the monitor that is called, and whose it is. `create`: there is none of that external
   * id, and the ping key, which stands for it, may create it.
   */
  const calledBy = async ({
    token,
    named,
  }: PingCall): Promise<(KnownKey & Pick<PingMessage, 'key' | 'create'>) | undefined> => {
    const fingerprint = pingFingerprint(token);
    const key = named === null ? fingerprint : namedFingerprint(fingerprint, named.external_id);
    const known = await findKey(key);
    if (known) return { ...known, key };
    if (named?.create !== true) return undefined;
    const creating = await findKey(creatingFingerprint(fingerprint));
    const create = creating && { ping_key: creating.monitor, external_id: named.external_id };
    return creating && create && { ...creating, key, create };
  };

  const pingOf = (
    call: PingCall,
    { key, create }: Pick<PingMessage, 'key' | 'create'>,
    at: number,
    method: string,
    body: Uint8Array,
  ): PingMessage => ({
    v: 1,
    id: newId(),
    key,
    ...(create !== undefined && { create }),
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
      log.info('sent the pings on the disk');
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
      log.warn(
        { err: error, waiting: spool.waiting() },
        'pings wait on the disk: neither the bus nor the coordinator accepts them',
      );
    } finally {
      forwardingNow = undefined;
    }
  };

  const catchUpOnce = async (): Promise<void> => {
    const ready = readyBus();
    if (ready) await catchUpByBus(ready);
    if (forwarding?.isOpen() && spool.waiting() > 0 && !readyBus())
      await catchUpByForwarding(forwarding);
    if (spool.waiting() === 0) dates.clear();
  };
  const catchUp = (): Promise<void> => {
    // A stalled forwarding must not delay a bus that is back.
    if (forwardingNow && readyBus()) forwardingNow.abort();
    if (!isMeasured() || !(readyBus() || forwarding?.isOpen())) return Promise.resolve();
    catchingUp ??= catchUpOnce().finally(() => {
      catchingUp = undefined;
    });
    return catchingUp;
  };
  const ticks = atSharedTick(catchUpEveryMs, () => void catchUp());

  return {
    take: async ({ method, address, body }) => {
      // The job reported when its head came, however long its body takes.
      const at = clock.now();
      if (!['GET', 'HEAD', 'POST'].includes(method))
        return reply(405, 'Method not allowed', { allow: methods });
      const call = parsePingCall(address);
      if (call === 'no_such_address') return unknown;
      if (call === 'rid_malformed') return reply(400, 'rid must be a UUID');
      const known = await calledBy(call);
      if (!known || (known.until !== null && known.until <= at)) return unknown;
      const bytes = await body();
      const count = underWay.get(known.monitor) ?? 0;
      if (count >= maxAtOnce) return reply(429, 'Too many beats at once', { 'retry-after': '1' });
      underWay.set(known.monitor, count + 1);
      try {
        return await put({
          organisation: known.organisation,
          monitor: known.monitor,
          ping: pingOf(call, known, at, method, bytes),
        });
      } finally {
        const left = (underWay.get(known.monitor) ?? 1) - 1;
        if (left > 0) underWay.set(known.monitor, left);
        else underWay.delete(known.monitor);
      }
    },
    catchUp,
    close: async () => {
      ticks.stop();
      forwarding?.close();
      await catchingUp;
      await spool.close();
    },
  };
}

/** The body as text that a database can hold. */
function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body.subarray(0, keptBodyBytes)).replaceAll('\0', '\ufffd');
}
