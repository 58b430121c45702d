import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { codeOf } from '../../shared/base/errors.ts';
import type { Minted } from './certificates.ts';
import { startNameServer } from './name-servers.ts';
import { freePort } from './services.ts';

/**
 * For test files: two hosts of their own (network namespaces) on one wire with this machine, which
 * relays what a proxy and an operator's network would.
 */

export type Host = { readonly netns: string; readonly address: string };

type Onward = { readonly host: string; readonly port: number };

/**
 * What a relay keeps to itself of either direction, from when it is told so; `kept`: whether
 * something was.
 */
type Gate = { up: boolean; down: boolean; kept: boolean };
export const openGate = (): Gate => ({ up: false, down: false, kept: false });

export type TwoHosts = {
  /** This machine, as the two see it. */
  readonly here: string;
  readonly hosts: readonly [Host, Host];
  /** @returns the port at `here` behind which `to` answers, in TLS where a certificate is given. */
  readonly relay: (
    to: Onward | (() => Onward),
    certificate?: Minted,
    gate?: Gate,
  ) => Promise<number>;
  /**
   * A web server at `here` that says ok, and 503 to whom it does not answer; `hits` tells how often
   * it was called.
   */
  readonly target: (
    answers?: (from: string) => boolean,
  ) => Promise<{ readonly url: string; readonly hits: () => number }>;
  readonly close: () => Promise<void>;
};

const ip = (...args: readonly string[]): boolean => spawnSync('ip', args).status === 0;

const name = `aw${process.pid}`;
/** `public`: those of a block that counts as public, and that its owner announces to nobody. */
const nets = {
  private: `10.214.${process.pid % 250}`,
  public: `25.214.${process.pid % 250}`,
} as const;
type Net = keyof typeof nets;

const hostIn = (net: Net, nth: number): Host => ({
  netns: `${name}${'abcdefgh'.charAt(nth)}`,
  address: `${nets[net]}.${nth + 2}`,
});
const hostsIn = (net: Net): readonly [Host, Host] => [hostIn(net, 0), hostIn(net, 1)];

const remove = (hosts: readonly Host[] = hostsIn('private')): void => {
  for (const { netns } of hosts) ip('netns', 'del', netns);
  ip('link', 'del', name);
};

const make = (net: Net, hosts: readonly Host[] = hostsIn(net)): boolean =>
  ip('link', 'add', name, 'type', 'bridge') &&
  ip('addr', 'add', `${nets[net]}.1/24`, 'dev', name) &&
  ip('link', 'set', name, 'up') &&
  hosts.every(
    ({ netns, address }) =>
      ip('netns', 'add', netns) &&
      ip('link', 'add', `${netns}0`, 'type', 'veth', 'peer', 'name', `${netns}1`) &&
      ip('link', 'set', `${netns}0`, 'master', name, 'up') &&
      ip('link', 'set', `${netns}1`, 'netns', netns) &&
      ip('-n', netns, 'addr', 'add', `${address}/24`, 'dev', `${netns}1`) &&
      ip('-n', netns, 'link', 'set', `${netns}1`, 'up') &&
      ip('-n', netns, 'link', 'set', 'lo', 'up') &&
      ip('-n', netns, 'route', 'add', 'default', 'via', `${nets[net]}.1`),
  );

/** Whether this machine lets us make them. Says loudly when it does not. */
export const canMakeTwoHosts = (): boolean => {
  const can = process.platform === 'linux' && make('private');
  remove();
  if (!can)
    process.stderr.write(
      'SKIPPED: two hosts of their own need ip netns and a bridge (root, on Linux)\n',
    );
  return can;
};

/** `names`: which of the two stands behind a name. */
export const makeTwoHosts = async (
  names: Readonly<Record<string, 0 | 1>> = {},
  net: Net = 'private',
): Promise<TwoHosts> => {
  if (!make(net)) throw new Error('the two hosts could not be made');
  const here = `${nets[net]}.1`;
  const hosts = hostsIn(net);
  const servers: { readonly close: () => unknown }[] = [];
  const sockets = new Set<Socket>();

  servers.push(
    await startNameServer(
      here,
      Object.fromEntries(Object.entries(names).map(([name, host]) => [name, hosts[host].address])),
    ),
  );
  for (const { netns } of hosts) {
    await mkdir(`/etc/netns/${netns}`, { recursive: true });
    await writeFile(`/etc/netns/${netns}/resolv.conf`, `nameserver ${here}\n`);
  }

  const listen = async (server: Server): Promise<number> => {
    const port = await freePort();
    server.listen(port, here);
    await once(server, 'listening');
    servers.push(server);
    return port;
  };
  /** A gate that keeps what one side says keeps from the other, too, that it hung up. */
  const keep = (socket: Socket, other?: Socket, gate = openGate()): void => {
    const end = (): void => {
      if (!gate.kept) other?.destroy();
    };
    sockets.add(socket);
    socket.on('error', end);
    socket.on('close', () => {
      sockets.delete(socket);
      end();
    });
  };
  const through = (gate: Gate, way: 'up' | 'down'): Transform =>
    new Transform({
      transform: (chunk, _encoding, done) => {
        if (gate[way]) gate.kept = true;
        done(null, gate[way] ? undefined : chunk);
      },
      flush: (done) => {
        if (!gate[way]) done();
      },
    });
  return {
    here,
    hosts,
    relay: (to, certificate, gate = openGate()) => {
      const carry = (from: Socket): void => {
        const { host, port } = typeof to === 'function' ? to() : to;
        const onward = connect(port, host);
        keep(from, onward);
        keep(onward, from, gate);
        from.pipe(through(gate, 'up')).pipe(onward).pipe(through(gate, 'down')).pipe(from);
      };
      return listen(
        certificate === undefined
          ? createServer(carry)
          : createTlsServer({ cert: certificate.chain, key: certificate.key }, carry),
      );
    },
    target: async (answers = () => true) => {
      let hits = 0;
      const port = await listen(
        createServer((socket) => {
          hits += 1;
          keep(socket);
          const status = answers(socket.remoteAddress ?? '') ? '200 OK' : '503 Unavailable';
          socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok`);
        }),
      );
      return { url: `http://${here}:${port}/`, hits: () => hits };
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
      remove();
      for (const { netns } of hosts)
        await rm(`/etc/netns/${netns}`, { recursive: true, force: true });
    },
  };
};

/** A host with an address of this machine that it alone uses, and that its names are asked of. */
type Place = Host & { readonly way: string };

export type Places = {
  readonly here: string;
  readonly places: readonly Place[];
  readonly close: () => Promise<void>;
};

/** Up to eight hosts, each on a way of its own to this machine. */
export const makePlaces = async (count: number): Promise<Places> => {
  const places = Array.from({ length: count }, (_, nth) => ({
    ...hostIn('private', nth),
    way: `${nets.private}.${101 + nth}`,
  }));
  const close = async (): Promise<void> => {
    remove(places);
    for (const { netns } of places)
      await rm(`/etc/netns/${netns}`, { recursive: true, force: true });
  };
  const isMade =
    make('private', places) &&
    places.every(({ way }) => ip('addr', 'add', `${way}/24`, 'dev', name));
  if (!isMade) {
    await close();
    throw new Error('hosts of their own need ip netns and a bridge (root, on Linux)');
  }
  for (const { netns, way } of places) {
    await mkdir(`/etc/netns/${netns}`, { recursive: true });
    await writeFile(`/etc/netns/${netns}/resolv.conf`, `nameserver ${way}\n`);
  }
  return { here: `${nets.private}.1`, places, close };
};

/** For test files: a disk so small that a test can fill it. */

export type SmallDisk = {
  readonly folder: string;
  /** Takes all that is left. */
  readonly fill: () => Promise<void>;
  readonly free: () => Promise<void>;
  readonly close: () => void;
};

const mount = (folder: string, kib: number, owner: number): boolean => {
  try {
    execFileSync(
      'mount',
      ['-t', 'tmpfs', '-o', `size=${kib}k,mode=700,uid=${owner}`, 'tmpfs', folder],
      { stdio: 'ignore' },
    );
    return true;
  } catch {
    return false; // No right to mount, or nothing to mount with: whoever asked says loudly that it is not tested.
  }
};

/**
 * Whether this machine lets us make one. Says loudly when not, because then something is not
 * tested.
 */
export const canMakeDisks = (): boolean => {
  const folder = join('/tmp', `antipode-disk-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const can = mount(folder, 64, 0);
  if (can) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
  if (!can)
    process.stderr.write(
      'SKIPPED: full disks need the right to mount a small one (root, on Linux)\n',
    );
  return can;
};

export const createSmallDisk = (folder: string, kib: number, owner = 0): SmallDisk => {
  mkdirSync(folder, { recursive: true });
  if (!mount(folder, kib, owner)) throw new Error('a small disk cannot be mounted here');
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: async () => {
      const file = await open(ballast, 'w');
      try {
        for (const size of [65_536, 4_096, 1]) {
          for (;;) if ((await file.write(Buffer.alloc(size)).catch(isFull)) === undefined) break;
        }
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
    close: () => {
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

const isFull = (error: unknown): undefined => {
  if (codeOf(error) === 'ENOSPC') return undefined;
  throw error;
};
