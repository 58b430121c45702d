import { rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { readIfThere, replaceFile } from './disk.ts';

/**
 * A data folder is one probe's, and one process's at a time: two that shared it would give the same numbers to different results, and the
 * coordinator would take half of them for repeats.
 *
 * Modes: free → `claim` → held (a socket in the folder answers) → `release` → free. A process that was killed leaves a socket that answers nobody.
 */
export type Claim = { readonly release: () => Promise<void> };

const refused = (why: string): ConfigurationFault => new ConfigurationFault([`PROBE_DATA_DIR: ${why}`]);

/** Answers whoever connects with what the probe says of itself. */
export const socketName = 'in-use';
/** What the systems that we run on allow for the path of a socket. */
const longestPath = 100;

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

const listen = (path: string, say: () => string): Promise<Server | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined); // Whoever asked is gone.
      socket.end(say());
    });
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(path, () => resolve(server));
  });

const hold = async (folder: string, say: () => string): Promise<Server | undefined> => {
  const path = join(folder, socketName);
  // Where the path is too long for a socket, only the owner's name guards the folder.
  if (Buffer.byteLength(path) > longestPath) return undefined;
  const first = await listen(path, say);
  if (first) return first;
  if (await answers(path)) throw refused(`another process of this probe uses ${folder}`);
  await rm(path, { force: true });
  const second = await listen(path, say);
  if (!second) throw refused(`another process of this probe has just taken ${folder}`);
  return second;
};

/** @throws ConfigurationFault when the folder is another probe's, or another process is using it. */
export const claimDataFolder = async (folder: string, probe: string, say: () => string = () => ''): Promise<Claim> => {
  const ownerFile = join(folder, 'probe.id');
  const owner = (await readIfThere(ownerFile))?.trim();
  if (owner !== undefined && owner !== probe)
    throw refused(`${folder} holds the data of another probe (${owner}); each needs a folder of its own`);
  if (owner === undefined) await replaceFile(ownerFile, `${probe}\n`, { durable: true });
  const server = await hold(folder, say);
  server?.unref();
  return {
    release: async () => {
      await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    },
  };
};
