/** For test files: nats-servers of one's own as a supercluster. */
import { type BusNode, freePorts, type OwnBus, type OwnBusOptions, startOwnBus, untilAllKeep } from './own-bus.ts';

export type Cluster = {
  readonly name: string;
  readonly nodes: readonly BusNode[];
  /** Where its servers are dialled. */
  readonly url: string;
};

export type Supercluster = { readonly bus: OwnBus; readonly clusters: readonly Cluster[] };

/** Each is to be in the cluster that it says. */
export type ClusterPlan = { readonly name: string; readonly nodes: number };

/** Since 2.12 servers elect nobody before all of them are there. */
const waitsForAll = ([major, minor]: OwnBus['nats']['version']): boolean => major > 2 || minor >= 12;

/**
 * The first cluster is to be as many servers as elect a leader of all. It elects one before the others begin, where it can: with all at once,
 * in half of the starts one was not heard.
 */
export const startSupercluster = async (plans: readonly ClusterPlan[]): Promise<Supercluster> => {
  const places = plans.flatMap(({ name, nodes }) => Array.from({ length: nodes }, (_, at) => ({ name, at })));
  const gateways = await freePorts(places.length);
  const layout = (index: number, routes: readonly number[]): string => {
    const { name: own = '', at = 0 } = places[index] ?? {};
    const beside = routes.filter((_, other) => places[other]?.name === own).map((port) => `nats://127.0.0.1:${port}`);
    const others = plans
      .filter(({ name }) => name !== own)
      .map(({ name }) => {
        const urls = gateways.filter((_, other) => places[other]?.name === name).map((port) => `"nats://127.0.0.1:${port}"`);
        return `{ name: ${name}, urls: [${urls.join(', ')}] }`;
      });
    return `server_name: ${own}-${at}
server_tags: ["cluster:${own}"]
cluster { name: ${own}, listen: "127.0.0.1:${routes[index]}", routes: [${beside.join(', ')}], no_advertise: true }
gateway { name: ${own}, listen: "127.0.0.1:${gateways[index]}", gateways: [${others.join(', ')}] }
`;
  };
  const clustersOf = (all: readonly BusNode[]): readonly Cluster[] =>
    plans.map(({ name }) => {
      const nodes = all.filter((_, index) => places[index]?.name === name);
      return { name, nodes, url: nodes.map(({ port }) => `nats://127.0.0.1:${port}`).join(',') };
    });
  const begin: OwnBusOptions['begin'] = async ({ nats, nodes }) => {
    const atOnce = waitsForAll(nats.version);
    if (atOnce) await Promise.all(nodes.map(({ start }) => start()));
    for (const { name, nodes: own, url } of clustersOf(nodes)) {
      if (!atOnce) await Promise.all(own.map(({ start }) => start()));
      await untilAllKeep({ ...nats, url }, own, { cluster: name });
    }
  };
  const bus = await startOwnBus({ nodes: places.length, layout, begin });
  const clusters = clustersOf(bus.nodes);
  return { bus, clusters };
};
