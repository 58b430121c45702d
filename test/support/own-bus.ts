/** For test files: nats-servers of one's own, with TLS or as a cluster, on loopback. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { freePort, openCache } from '../../deploy/local/home.ts';
import { obtainNatsServer, prepareNats } from '../../deploy/local/nats.ts';
import { awaitReady, type Child, startChild } from '../../deploy/local/processes.ts';
import { createLog } from '../../shared/base/log.ts';
import { type BusIdentity, createBusIdentity } from '../../shared/bus/identity.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import type { Minted } from './certificates.ts';
import { eventually } from './eventually.ts';
import type { Services } from './services-run.ts';

export type BusNode = {
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

const refusal = z.object({ error: z.object({ err_code: z.number(), description: z.string().optional() }) });
const streamNotFound = 10059;
/** No server fits, and nobody leads. */
const ignored = new Set([10005, 10008]);

/** Where a trial stream is to be laid. */
type Trial = { readonly name: string; readonly replicas: number; readonly placement: object };

/** @returns the last refusal when it could not be laid in that time. */
const keepsTrial = async ({ url, identity }: Services['nats'], { name, replicas, placement }: Trial): Promise<number | undefined> => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const bus = await connectBus({ url, credentials: identity.coordinatorCredentials, name: 'test', log });
  let refused: number | undefined;
  const ask = async (action: string, body: string): Promise<boolean> => {
    const { data } = await bus.request(`$JS.API.STREAM.${action}.${name}`, body, { timeoutMs: 2_000 });
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
 * Servers take clients before they have found one another, and elect a leader before all are there. All have found one another when a stream can be
 * laid on each of these. Where those of nats-server 2.10 begin in the same moment, one of them may never be heard by the others (one start of 25):
 * nobody leads then, or nothing is laid on it. Started anew, it is heard.
 */
export const untilAllKeep = async (nats: Services['nats'], nodes: readonly BusNode[], placement: object): Promise<void> => {
  for (let time = 1; ; time += 1) {
    // One of its own each time: what was asked for in vain may be done later than its end was asked for.
    const refused = await keepsTrial(nats, { name: `TRIAL_${randomBytes(4).toString('hex')}`, replicas: nodes.length, placement });
    if (refused === undefined) return;
    if (!ignored.has(refused) || time === 3) throw new Error(`the bus does not come up: ${refused}`);
    process.stderr.write(`a server of a bus was not heard by the others (${refused}): ${nodes.length} are started anew\n`);
    await Promise.all(nodes.map(({ kill }) => kill()));
    await Promise.all(nodes.map(({ start }) => start()));
  }
};

export type OwnBusOptions = {
  /** The certificate that it shows; without one it has no TLS. `first`: TLS before the greeting; `optional`: whoever will may do without. */
  readonly tls?: { readonly shows: Minted; readonly way?: 'first' | 'optional' };
  readonly nodes?: number;
  /** What stands in the configuration of each server instead of one cluster of all of them, by its index and the ports for routes. */
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
  const binary = await obtainNatsServer(openCache(process.env, folder), process.env.PATH ?? '', () => undefined);
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
      const first = tls.way === 'first' ? ', handshake_first: true' : '';
      await appendFile(conf, `tls { cert_file: ${join(own, 'certificate.pem')}, key_file: ${join(own, 'key.pem')}${first} }\n`);
      if (tls.way === 'optional') await appendFile(conf, 'allow_non_tls: true\n');
    }
    if (layout) await appendFile(conf, layout(index, routes));
    else if (count > 1) {
      const all = routes.map((route) => `nats://127.0.0.1:${route}`).join(', ');
      // The last server_name in the file is the one that counts. Not advertised: whoever comes through a relay is told no way past it.
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
  const scheme = tls && tls.way !== 'optional' ? 'tls' : 'nats';
  const nats = { url: ports.map((port) => `${scheme}://127.0.0.1:${port}`).join(','), version: binary.version, identity };
  const startAll = async (): Promise<void> => {
    await Promise.all(nodes.map(({ start }) => start()));
    if (count > 1 && !layout) await untilAllKeep(nats, nodes, { tags: [everyNode] });
  };
  await (begin ? begin({ nats, nodes }) : startAll()).catch(async (error: unknown) => Promise.reject(await stop().then(() => error)));
  return { nats, nodes, stop };
};
