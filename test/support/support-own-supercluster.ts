/** For test files: nats-servers of one's own as a supercluster. */
import { z } from 'zod';
import { connectBus } from '../../shared/bus/bus-nats.ts';
import { eventually } from './support-eventually.ts';
import { testLog } from './support-network.ts';
import { type BusNode, freePorts, type OwnBus, type OwnBusOptions, startOwnBus } from './support-own-bus.ts';
import type { Services } from './support-services-run.ts';

export type Cluster = {
  readonly name: string;
  readonly nodes: readonly BusNode[];
  /** Where its servers are dialled. */
  readonly url: string;
};

export type Supercluster = { readonly bus: OwnBus; readonly clusters: readonly Cluster[] };

/** Each is to be in the cluster that it says. */
export type ClusterPlan = { readonly name: string; readonly nodes: number };

const refusal = z.object({ error: z.object({ err_code: z.number(), description: z.string().optional() }) });
const notFound = 10059;

/** A stream can be laid in that cluster, on all of its servers: then they have found one another, and there is a leader of all. */
const untilKeeps = async ({ url, identity }: Services['nats'], { name, nodes }: ClusterPlan): Promise<void> => {
  const bus = await connectBus({ url, credentials: identity.coordinatorCredentials, name: 'test', log: testLog() });
  const ask = async (subject: string, body: string, isDoneAt?: number): Promise<true> => {
    const { data } = await bus.request(`$JS.API.STREAM.${subject}`, body, { timeoutMs: 2_000 });
    const refused = refusal.safeParse(JSON.parse(new TextDecoder().decode(data))).data?.error;
    if (refused && refused.err_code !== isDoneAt) throw new Error(`${name}: ${subject}: ${refused.err_code} ${refused.description}`);
    if (!refused && isDoneAt !== undefined) throw new Error(`${name}: ${subject}: it may have been there again`);
    return true;
  };
  // One of its own for each: what was asked for in vain may be done later than its end was asked for.
  const trial = { name: `TRIAL_${name}`, subjects: [`trial.${name}`], num_replicas: nodes, placement: { cluster: name } };
  try {
    await eventually(() => ask(`CREATE.${trial.name}`, JSON.stringify(trial)), 60_000);
    // What was not answered in time may have been done all the same.
    await eventually(() => ask(`DELETE.${trial.name}`, '', notFound), 60_000);
  } finally {
    await bus.close();
  }
};

/**
 * Starts one cluster after the other. The first is to be as many servers as elect a leader of all: it counts whoever voted. Where servers of
 * several clusters begin in the same second, it may never count one of them, and lays no stream on that one for as long as it leads (10005).
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
    for (const { name, nodes: own, url } of clustersOf(nodes)) {
      await Promise.all(own.map(({ start }) => start()));
      await untilKeeps({ ...nats, url }, { name, nodes: own.length });
    }
  };
  const bus = await startOwnBus({ nodes: places.length, layout, begin });
  const clusters = clustersOf(bus.nodes);
  return { bus, clusters };
};
