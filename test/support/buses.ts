import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { freePort, openCache } from '../../deploy/local/home.ts';
import { obtainNatsServer, prepareNats } from '../../deploy/local/nats.ts';
import { awaitReady, type Child, startChild } from '../../deploy/local/processes.ts';
import { createLog } from '../../shared/base/log.ts';
import { type BusIdentity, createBusIdentity } from '../../shared/bus/identity.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import type { Minted } from './certificates.ts';
import { eventually } from './eventually.ts';
import { accountsHere, areWhole } from './services.ts';
import type { Services } from './services-run.ts';

/** For test files: nats-servers of one's own, with TLS or as a cluster, on loopback. */

type BusNode = {
  readonly port: number;
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** It stands still: nothing comes from it any more, and nobody is told. */
  readonly freeze: () => void;
  readonly thaw: () => void;
};

export type OwnBus = {
  readonly nats: Services['nats'];
  readonly nodes: readonly BusNode[];
  readonly stop: () => Promise<void>;
};

/** So many ports, no two the same: each is asked for before anybody listens on another. */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const found = new Set<number>();
  while (found.size < count) found.add(await freePort());
  return [...found];
};

/** The tag that every server of a cluster bears. */
const everyNode = 'kind:bus';

/** A server that wants TLS first greets nobody, so it is up when it lets us dial. */
const takesCalls = async (port: number): Promise<boolean> => {
  const socket = dial({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

const refusal = z.object({
  error: z.object({ err_code: z.number(), description: z.string().optional() }),
});
const streamNotFound = 10059;
/** No server fits, and nobody leads. */
const ignored = new Set([10005, 10008]);

/** Where a trial stream is to be laid. */
type Trial = { readonly name: string; readonly replicas: number; readonly placement: object };

/** @returns the last refusal when it could not be laid in that time. */
const keepsTrial = async (
  { url, identity }: Services['nats'],
  { name, replicas, placement }: Trial,
): Promise<number | undefined> => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const bus = await connectBus({
    url,
    credentials: identity.coordinatorCredentials,
    name: 'test',
    log,
  });
  let refused: number | undefined;
  const ask = async (action: string, body: string): Promise<boolean> => {
    const { data } = await bus.request(`$JS.API.STREAM.${action}.${name}`, body, {
      timeoutMs: 2_000,
    });
    refused = refusal.safeParse(JSON.parse(new TextDecoder().decode(data))).data?.error.err_code;
    return refused === undefined;
  };
  try {
    const trial = { name, subjects: [name], num_replicas: replicas, placement };
    await eventually(() => ask('CREATE', JSON.stringify(trial)), 20_000);
    // One that nobody answered in time may have been done all the same.
    await eventually(async () => !(await ask('DELETE', '')) && refused === streamNotFound);
    return undefined;
  } catch (error) {
    if (refused === undefined) throw error;
    return refused;
  } finally {
    await bus.close();
  }
};

/**
 * Servers take clients before they have found one another, and elect a leader before all are there.
 * All have found one another when a stream can be laid on each of these. Where those of nats-server
 * 2.10 begin in the same moment, one of them may never be heard by the others (one start of 25):
 * nobody leads then, or nothing is laid on it. Started anew, it is heard.
 */
const untilAllKeep = async (
  nats: Services['nats'],
  nodes: readonly BusNode[],
  placement: object,
): Promise<void> => {
  for (let time = 1; ; time += 1) {
    // One of its own each time: what was asked for in vain may be done later than its end was asked
    // for.
    const refused = await keepsTrial(nats, {
      name: `TRIAL_${randomBytes(4).toString('hex')}`,
      replicas: nodes.length,
      placement,
    });
    if (refused === undefined) return;
    if (!ignored.has(refused) || time === 3)
      throw new Error(`the bus does not come up: ${refused}`);
    process.stderr.write(
      `a server of a bus was not heard by the others (${refused}): ${nodes.length} are started anew\n`,
    );
    await Promise.all(nodes.map(({ kill }) => kill()));
    await Promise.all(nodes.map(({ start }) => start()));
  }
};

export type OwnBusOptions = {
  /** The certificate that it shows; without one it has no TLS. `optional`: anyone may do without. */
  readonly tls?: { readonly shows: Minted; readonly isOptional?: boolean };
  readonly nodes?: number;
  /**
   * What stands in the configuration of each server instead of one cluster of all of them, by its
   * index and the ports for routes.
   */
  readonly layout?: (index: number, routes: readonly number[]) => string;
  /** In what order its servers are started, if not all at once. */
  readonly begin?: (bus: Pick<OwnBus, 'nats' | 'nodes'>) => Promise<void>;
  /** Whom it lets in, if not only its own. */
  readonly identity?: BusIdentity;
};

export const startOwnBus = async ({
  tls,
  nodes: count = 1,
  layout,
  begin,
  identity = createBusIdentity(Date.now()),
}: OwnBusOptions = {}): Promise<OwnBus> => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-own-bus-'));
  const binary = await obtainNatsServer(
    openCache(process.env, folder),
    process.env.PATH ?? '',
    () => undefined,
  );
  const taken = await freePorts(2 * count);
  const [ports, routes] = [taken.slice(0, count), taken.slice(count)];
  // A server of another run at an address of ours never becomes one of ours.
  const cluster = `own-${randomBytes(4).toString('hex')}`;
  const nodes: (BusNode & { readonly stop: () => Promise<void> })[] = [];
  for (const [index, port] of ports.entries()) {
    const own = join(folder, `node-${index}`);
    const log = join(folder, `node-${index}.log`);
    const command = await prepareNats({ binary, folder: own, identity, port, log });
    const conf = join(own, 'nats.conf');
    if (tls) {
      await writeFile(join(own, 'certificate.pem'), tls.shows.chain);
      await writeFile(join(own, 'key.pem'), tls.shows.key);
      const first = tls.isOptional ? 'auto' : 'true';
      await appendFile(
        conf,
        `tls { cert_file: ${join(own, 'certificate.pem')}, key_file: ${join(own, 'key.pem')}, handshake_first: ${first} }\n`,
      );
      if (tls.isOptional) await appendFile(conf, 'allow_non_tls: true\n');
    }
    if (layout) await appendFile(conf, layout(index, routes));
    else if (count > 1) {
      const all = routes.map((route) => `nats://127.0.0.1:${route}`).join(', ');
      // The last server_name in the file is the one that counts. Not advertised: whoever comes
      // through a relay is told no way past it.
      await appendFile(
        conf,
        `server_name: node-${index}\nserver_tags: ["node:${index}", "${everyNode}"]\ncluster { name: ${cluster}, listen: "127.0.0.1:${routes[index]}", routes: [${all}], no_advertise: true }\n`,
      );
    }
    let child: Child | undefined;
    nodes.push({
      port,
      start: async () => {
        const started = await startChild({ ...command, log });
        child = started;
        await awaitReady(started, log, () => takesCalls(port));
      },
      freeze: () => {
        if (child?.isRunning()) process.kill(child.pid, 'SIGSTOP');
      },
      thaw: () => {
        if (child?.isRunning()) process.kill(child.pid, 'SIGCONT');
      },
      kill: async () => {
        if (!child?.isRunning()) return;
        process.kill(child.pid, 'SIGKILL');
        await child.exited;
      },
      stop: async () => void (await child?.stop(5_000)),
    });
  }
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  const scheme = tls && !tls.isOptional ? 'tls' : 'nats';
  const nats = {
    url: ports.map((port) => `${scheme}://127.0.0.1:${port}`).join(','),
    version: binary.version,
    identity,
  };
  const startAll = async (): Promise<void> => {
    await Promise.all(nodes.map(({ start }) => start()));
    if (count > 1 && !layout) await untilAllKeep(nats, nodes, { tags: [everyNode] });
  };
  await (begin ? begin({ nats, nodes }) : startAll()).catch(async (error: unknown) =>
    Promise.reject(await stop().then(() => error)),
  );
  return { nats, nodes, stop };
};

/** For test files: nats-servers of one's own as a supercluster. */

export type Cluster = {
  readonly name: string;
  readonly nodes: readonly BusNode[];
  /** Where its servers are dialled. */
  readonly url: string;
};

export type Supercluster = { readonly bus: OwnBus; readonly clusters: readonly Cluster[] };

/** Each is to be in the cluster that it says. */
type ClusterPlan = { readonly name: string; readonly nodes: number };

/** Since 2.12 servers elect nobody before all of them are there. */
const waitsForAll = ([major, minor]: OwnBus['nats']['version']): boolean =>
  major > 2 || minor >= 12;

/**
 * The first cluster is to be as many servers as elect a leader of all. It elects one before the
 * others begin, where it can: with all at once, in half of the starts one was not heard.
 */
export const startSupercluster = async (plans: readonly ClusterPlan[]): Promise<Supercluster> => {
  const places = plans.flatMap(({ name, nodes }) =>
    Array.from({ length: nodes }, (_, at) => ({ name, at })),
  );
  const gateways = await freePorts(places.length);
  const layout = (index: number, routes: readonly number[]): string => {
    const { name: own = '', at = 0 } = places[index] ?? {};
    const beside = routes
      .filter((_, other) => places[other]?.name === own)
      .map((port) => `nats://127.0.0.1:${port}`);
    const others = plans
      .filter(({ name }) => name !== own)
      .map(({ name }) => {
        const urls = gateways
          .filter((_, other) => places[other]?.name === name)
          .map((port) => `"nats://127.0.0.1:${port}"`);
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

/** For tests on buses of several servers: kills one after the other, and brings it back. */

/**
 * Modes: `killing` (a server is away, or all are waited for) → stop() → `stopped`, when all are
 * back.
 */
type NodeKiller = {
  /** Settles when the first one was killed. */
  readonly begun: Promise<void>;
  /** How many were killed. */
  readonly stop: () => Promise<number>;
};

/**
 * So long a server is away: some of these times others have taken over what it led when it comes
 * back, some not.
 */
const awayMs = [2_000, 12_000];

/** So long all are there, once everything is whole again. */
const wholeMs = 3_000;

/**
 * @param areWhole whether what the servers keep lacks none of them: a second one is never taken
 * away.
 */
const startNodeKiller = (
  nodes: readonly BusNode[],
  areWhole: () => Promise<boolean>,
): NodeKiller => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const first = Promise.withResolvers<void>();
  const wait = (ms: number): Promise<void> =>
    pause(ms, undefined, { signal }).catch(() => undefined); // Cut short: it is to stop.
  let killed = 0;
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      await eventually(async () => signal.aborted || (await areWhole()), 120_000, 250);
      if (killed > 0) await wait(wholeMs);
      if (signal.aborted) return;
      const node = nodes[killed % nodes.length];
      await node?.kill();
      killed += 1;
      first.resolve();
      await wait(awayMs[killed % awayMs.length] ?? 0);
      await node?.start();
    }
  };
  const working = work();
  working.catch(first.reject);
  return {
    begun: first.promise,
    stop: async () => {
      stopping.abort();
      await working;
      return killed;
    },
  };
};

/**
 * The forms of the bus on which the tests of networks run besides that of a single server: `npm run
 * test:cluster`.
 */

/**
 * `three`: one cluster of three servers, of which one is away every while. `supercluster`: of three
 * clusters.
 */
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
  const allWhole = async (): Promise<boolean> =>
    (await Promise.all(accountsHere().map(areWhole))).every(Boolean);
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
      ...bus.nats,
      url: eu,
      settings: { NATS_REPLICAS: '3', NATS_PLACEMENT: 'cluster=eu' },
      near: { 'North America': us, 'South America': us, Asia: ap, Oceania: ap },
    },
    trouble: async () => undefined,
    calm: async () => 'nothing was killed',
    stop: bus.stop,
  };
};

export const startFormedBus = (form: BusForm): Promise<FormedBus> =>
  form === 'three' ? startThree() : startThreeClusters();
