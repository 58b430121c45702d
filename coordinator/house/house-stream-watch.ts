import type { Log } from '../../shared/base/log.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';

/**
 * Whether every stream has a server that leads it: without one it takes and gives nothing, while the connection to the bus is as well as ever.
 *
 * Modes: `unknown` (not asked yet, or not for a while) → `led` ↔ `leaderless` (one stream and more has none). Where none is led for long, the server
 * that we are connected to may have lost the others: the connection is made anew, which leads to another server, ever less often.
 */
export type StreamWatch = { readonly tick: () => Promise<void>; readonly areLed: () => boolean };

/** What was seen longer ago says nothing. */
const freshMs = 15_000;

const longestPatienceMs = 300_000;

type Parts = {
  readonly bus: Bus;
  readonly log: Log;
  /** For how long none may be led before the connection is made anew. */
  readonly silentMs: number;
};

export const watchStreams = ({ bus, log, silentMs }: Parts): StreamWatch => {
  let patienceMs = silentMs;
  let silentSince: number | undefined;
  let leaderless: readonly string[] = [];
  let seenAt = Number.NEGATIVE_INFINITY;
  const isLed = async (name: string): Promise<boolean> => {
    try {
      return await bus.isLed(name);
    } catch (error) {
      // Nobody answers for it, or the bus says that nobody does.
      log.debug({ err: error, stream: name }, 'a stream could not be asked who leads it');
      return false;
    }
  };
  const enterAnew = async (isSilent: boolean): Promise<void> => {
    if (!isSilent) {
      silentSince = undefined;
      patienceMs = silentMs;
      return;
    }
    const now = performance.now();
    silentSince ??= now;
    if (now - silentSince < patienceMs) return;
    log.error({ ms: Math.round(now - silentSince) }, 'nobody answers for any stream: the connection to the bus is made anew');
    silentSince = undefined;
    patienceMs = Math.min(longestPatienceMs, 2 * patienceMs);
    await bus.reconnect();
  };
  return {
    tick: async () => {
      if (!bus.isConnected()) return;
      const names = Object.values(streams).map(({ name }) => name);
      const led = await Promise.all(names.map(isLed));
      const now = names.filter((_, index) => !led[index]);
      // What was asked just before the connection went tells of the connection.
      if (!bus.isConnected()) return;
      if (now.join() !== leaderless.join()) {
        if (now.length > 0) log.error({ streams: now }, 'streams have no leader: nothing goes through them');
        else log.info('every stream has a leader again');
      }
      leaderless = now;
      seenAt = performance.now();
      await enterAnew(now.length === names.length);
    },
    areLed: () => leaderless.length === 0 && performance.now() - seenAt < freshMs,
  };
};
