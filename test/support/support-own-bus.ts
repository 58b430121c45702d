/** For test files: nats-servers of one's own, with TLS or as a cluster, on loopback. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { awaitReady, type Child, startChild } from '../../deploy/local/local-child.ts';
import { openCache } from '../../deploy/local/local-folders.ts';
import { prepareNats } from '../../deploy/local/local-nats.ts';
import { obtainNatsServer } from '../../deploy/local/local-nats-binary.ts';
import { freePort } from '../../deploy/local/local-ports.ts';
import { createLog } from '../../shared/base/log.ts';
import { type BusIdentity, createBusIdentity } from '../../shared/bus/bus-identity.ts';
import { connectBus } from '../../shared/bus/bus-nats.ts';
import type { Minted } from './support-certificates.ts';
import { eventually } from './support-eventually.ts';
import type { Services } from './support-services-run.ts';

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

const refusal = z.object({ error: z.object({ code: z.number(), description: z.string().optional() }) });

/**
 * Servers of a cluster take clients before they have found one another, and two of them have a leader before the third is there.
 * All have found one another when a stream can be laid on each of them.
 */
const untilAllKeep = async ({ url, identity }: Services['nats'], count: number): Promise<void> => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const bus = await connectBus({ url, credentials: identity.coordinatorCredentials, name: 'test', log });
  // One of its own for each: what was asked for in vain may be done later than its end was asked for.
  const trial = { name: `TRIAL_${count}`, subjects: [`trial.${count}`], num_replicas: count, placement: { tags: [everyNode] } };
  const ask = async (action: string, body: string, isDoneAt?: number): Promise<true> => {
    const { data } = await bus.request(`$JS.API.STREAM.${action}.${trial.name}`, body, { timeoutMs: 5_000 });
    const refused = refusal.safeParse(JSON.parse(new TextDecoder().decode(data)));
    if (refused.success && refused.data.error.code !== isDoneAt) throw new Error(`${action}: ${refused.data.error.description}`);
    return true;
  };
  try {
    await eventually(() => ask('CREATE', JSON.stringify(trial)), 90_000);
    // One that nobody answered in time may have been done all the same.
    await eventually(() => ask('DELETE', '', 404));
  } finally {
    await bus.close();
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
  const urlOf = (some: readonly BusNode[]): string => some.map(({ port }) => `${scheme}://127.0.0.1:${port}`).join(',');
  const nats = { url: urlOf(nodes), version: binary.version, identity };
  /**
   * First as many as elect a leader, then one after the other: a leader counts whoever voted. Where all begin in the same moment, it may
   * never count one that voted too late (nats-server 2.10, one start of 25), and lays no stream on that one for as long as it leads.
   */
  const startAll = async (): Promise<void> => {
    for (let from = 0, to = Math.floor(count / 2) + 1; from < count; from = to, to += 1) {
      await Promise.all(nodes.slice(from, to).map(({ start }) => start()));
      if (count > 1 && !layout) await untilAllKeep({ ...nats, url: urlOf(nodes.slice(0, to)) }, to);
    }
  };
  await (begin ? begin({ nats, nodes }) : startAll()).catch(async (error: unknown) => Promise.reject(await stop().then(() => error)));
  return { nats, nodes, stop };
};
