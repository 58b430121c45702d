/** The forms of the bus on which the tests of networks run besides that of a single server: `npm run test:cluster`. */

import { areWhole } from './kept-streams.ts';
import { startNodeKiller } from './node-killer.ts';
import { startOwnBus } from './own-bus.ts';
import { startSupercluster } from './own-supercluster.ts';
import { accountsHere } from './services.ts';
import type { Services } from './services-run.ts';

/** `three`: one cluster of three servers, of which one is away every while. `supercluster`: of three clusters. */
export type BusForm = 'three' | 'supercluster';

export type FormedBus = {
  readonly nats: Services['nats'];
  /** From now on a server is away every while. */
  readonly trouble: () => Promise<void>;
  /** Settles with what was done to it meanwhile, in words. */
  readonly calm: () => Promise<string>;
  readonly stop: () => Promise<void>;
};

const startThree = async (): Promise<FormedBus> => {
  const { nats, nodes, stop } = await startOwnBus({ nodes: 3 });
  const allWhole = async (): Promise<boolean> => (await Promise.all(accountsHere().map(areWhole))).every(Boolean);
  let killer: ReturnType<typeof startNodeKiller> | undefined;
  return {
    nats: { ...nats, settings: { NATS_REPLICAS: '3' } },
    trouble: () => {
      killer ??= startNodeKiller(nodes, allWhole);
      return killer.begun;
    },
    calm: async () => `${(await killer?.stop()) ?? 0} times a server was killed`,
    stop,
  };
};

const startThreeClusters = async (): Promise<FormedBus> => {
  const { bus, clusters } = await startSupercluster([
    { name: 'eu', nodes: 3 },
    { name: 'us', nodes: 1 },
    { name: 'ap', nodes: 1 },
  ]);
  const [eu = '', us = '', ap = ''] = clusters.map(({ url }) => url);
  return {
    nats: {
      ...{ ...bus.nats, url: eu },
      settings: { NATS_REPLICAS: '3', NATS_PLACEMENT: 'cluster=eu' },
      near: { 'North America': us, 'South America': us, Asia: ap, Oceania: ap },
    },
    trouble: async () => undefined,
    calm: async () => 'nothing was killed',
    stop: bus.stop,
  };
};

export const startFormedBus = (form: BusForm): Promise<FormedBus> => (form === 'three' ? startThree() : startThreeClusters());
