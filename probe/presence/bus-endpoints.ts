import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import type { Log } from '../../shared/base/log.ts';
import type { Endpoint } from '../checks/guard.ts';

/**
 * Where the bus listens and which addresses are this machine's own, as literal addresses, for the
 * guard: no check may talk to the probe's bus. Found addresses stay until others are found, so a
 * broken resolver opens nothing.
 */
export type BusEndpoints = {
  readonly bus: () => readonly Endpoint[];
  readonly own: () => readonly string[];
  readonly stop: () => void;
};

const everyMs = 60_000;
const defaultPort = 4222;

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));

export const watchBusEndpoints = async (url: string, log: Log): Promise<BusEndpoints> => {
  let bus: readonly Endpoint[] = [];
  let own: readonly string[] = ownAddresses();
  const resolve = async (): Promise<void> => {
    own = ownAddresses();
    const found = await Promise.all(
      url.split(',').map(async (server) => {
        const { hostname, port } = new URL(server);
        const all = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
        return all.map(({ address }) => ({ address, port: Number(port || defaultPort) }));
      }),
    );
    bus = found.flat();
  };
  const attempt = (): Promise<void> =>
    resolve().catch((error: unknown) => log.warn({ err: error }, 'could not resolve the bus; its last known address stays blocked'));
  await attempt();
  const timer = setInterval(() => void attempt(), everyMs);
  return { bus: () => bus, own: () => own, stop: () => clearInterval(timer) };
};
