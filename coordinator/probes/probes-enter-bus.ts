import type { End } from '../../shared/base/async.ts';
import { pause } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Announce } from '../../shared/bus/announcement.ts';
import type { Entrance } from '../../shared/bus/dialling.ts';
import type { StreamKeeping } from '../../shared/bus/jetstream.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { ensureStreams } from './probes-bus-keeper.ts';

export type BusPlace = {
  readonly entrance: Omit<Entrance, 'credentials'>;
  readonly keeping: StreamKeeping;
  readonly credentials: string;
  readonly systemCredentials: string;
};

type Parts = {
  readonly place: BusPlace;
  readonly owner: string;
  readonly announce: Announce;
  readonly log: Log;
  readonly ends: End[];
  readonly signal: AbortSignal;
};

const againMs = 1_000;

/** Begins it anew until it is done: a server that has just started, or a cluster without a leader, lets us in and takes no stream yet. */
export const untilBus = async (
  work: () => Promise<void>,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<void> => {
  let said: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      await work();
      return;
    } catch (error) {
      const why = String(error);
      if (why !== said) log.warn({ err: error }, 'the coordinator waits for the bus: it does not keep the streams yet');
      said = why;
    }
    await pause(againMs, signal);
  }
};

/** The two connections to the bus, with the streams there: waited for, however long it takes. @throws when the signal ends the waiting. */
export const enterBus = async ({
  place,
  owner,
  announce,
  log,
  ends,
  signal,
}: Parts): Promise<{ readonly bus: Bus; readonly system: Bus }> => {
  const { entrance, keeping, credentials, systemCredentials } = place;
  const bus = await connectBus({ ...entrance, keeping, credentials, announce, name: `coordinator ${owner}`, log, signal });
  ends.push(bus.close);
  const system = await connectBus({ ...entrance, credentials: systemCredentials, name: `coordinator-system ${owner}`, log, signal });
  ends.push(system.close);
  await untilBus(() => ensureStreams(bus), { log, signal });
  return { bus, system };
};
