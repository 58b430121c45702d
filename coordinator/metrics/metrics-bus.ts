import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import { jsonOf } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';

export type SeenBus = {
  readonly streamStates: readonly {
    readonly stream: string;
    readonly bytes: number;
    readonly messages: number;
    readonly missing: number;
  }[];
  /** What waits for the partitions of this coordinator. */
  readonly waiting: readonly { readonly partition: number; readonly messages: number }[];
  /** What each server keeps on its disk for streams, and how much it may. */
  readonly disks: readonly { readonly server: string; readonly bytes: number; readonly limit: number }[];
};

/** Every server tells of itself every 10 s; one that was silent for so long may be gone. */
const silentMs = 60_000;

const told = z.object({
  server: z.object({ name: z.string() }),
  statsz: z.object({ jetstream: z.object({ config: z.object({ max_storage: z.number() }), stats: z.object({ storage: z.number() }) }) }),
});

type Parts = {
  readonly bus: Pick<Bus, 'streamState' | 'consumerState'>;
  readonly system: Pick<Bus, 'subscribe'>;
  readonly held: () => readonly number[];
  readonly log: Pick<Log, 'debug'>;
};

export type BusLook = { readonly look: () => Promise<SeenBus> };

/** Looks at the bus when asked. What servers say of their disks is heard from the first look on: where nobody looks, nobody listens. */
export const createBusLook = ({ bus, system, held, log }: Parts): BusLook => {
  const disks = new Map<string, { readonly bytes: number; readonly limit: number; readonly at: number }>();
  let hears = false;
  const hear = (): void => {
    if (hears) return;
    hears = true;
    // Until the connection is closed.
    system.subscribe('$SYS.SERVER.*.STATSZ', ({ data }) => {
      const read = told.safeParse(jsonOf(data));
      // One that keeps no streams says nothing of their disk.
      if (!read.success) return log.debug({ err: read.error }, 'a server of the bus does not say what it keeps');
      const { config, stats } = read.data.statsz.jetstream;
      disks.set(read.data.server.name, { bytes: stats.storage, limit: config.max_storage, at: performance.now() });
    });
  };

  return {
    look: async () => {
      hear();
      const [states, waiting] = await Promise.all([
        Promise.all(Object.values(streams).map(async ({ name }) => ({ name, state: await bus.streamState(name) }))),
        Promise.all(
          held().map(async (partition) => ({
            partition,
            state: await bus.consumerState(streams.results.name, partitionConsumer(partition).name),
          })),
        ),
      ]);
      for (const [server, { at }] of disks) if (performance.now() - at > silentMs) disks.delete(server);
      return {
        streamStates: states.flatMap(({ name: stream, state }) =>
          state ? [{ stream, bytes: state.bytes, messages: state.messages, missing: state.missing }] : [],
        ),
        waiting: waiting.flatMap(({ partition, state }) => (state ? [{ partition, messages: state.pending + state.unacknowledged }] : [])),
        disks: [...disks].map(([server, { bytes, limit }]) => ({ server, bytes, limit })),
      };
    },
  };
};
