/** For test files: nats-servers of one's own as a supercluster. */
import { z } from 'zod';
import { connectBus } from '../../shared/bus/bus-nats.ts';
import { eventually } from './support-eventually.ts';
import { testLog } from './support-network.ts';
import { type BusNode, freePorts, type OwnBus, startOwnBus } from './support-own-bus.ts';

export type Cluster = {
  readonly name: string;
  readonly nodes: readonly BusNode[];
  /** Where its servers are dialled. */
  readonly url: string;
};

export type Supercluster = { readonly bus: OwnBus; readonly clusters: readonly Cluster[] };

/** Each is to be in the cluster that it says. */
export type ClusterPlan = { readonly name: string; readonly nodes: number };

const refusal = z.object({ error: z.object({ err_code: z.number() }) });
const notFound = 10059;

/** Streams can be laid in each cluster, on all of its servers: then all have found one another, and there is a leader of all. */
const untilEachKeeps = async ({ nats }: OwnBus, plans: readonly ClusterPlan[]): Promise<void> => {
  const bus = await connectBus({ url: nats.url, credentials: nats.identity.coordinatorCredentials, name: 'test', log: testLog() });
  /** The code of a refusal; undefined when it is done. */
  const ask = async (subject: string, body: string): Promise<number | undefined> => {
    const { data } = await bus.request(`$JS.API.STREAM.${subject}`, body, { timeoutMs: 2_000 });
    return refusal.safeParse(JSON.parse(new TextDecoder().decode(data))).data?.error.err_code;
  };
  try {
    for (const { name, nodes } of plans) {
      const trial = { name: 'TRIAL', subjects: ['trial'], num_replicas: nodes, placement: { cluster: name } };
      await eventually(async () => (await ask('CREATE.TRIAL', JSON.stringify(trial))) === undefined, 60_000);
      // What was not answered in time may have been done all the same.
      await eventually(async () => (await ask('DELETE.TRIAL', '')) === notFound, 60_000);
    }
  } finally {
    await bus.close();
  }
};

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
  const bus = await startOwnBus({ nodes: places.length, layout });
  await untilEachKeeps(bus, plans).catch(async (error: unknown) => Promise.reject(await bus.stop().then(() => error)));
  const clusters = plans.map(({ name }): Cluster => {
    const nodes = bus.nodes.filter((_, index) => places[index]?.name === name);
    return { name, nodes, url: nodes.map(({ port }) => `nats://127.0.0.1:${port}`).join(',') };
  });
  return { bus, clusters };
};
