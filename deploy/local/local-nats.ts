/**
 * nats-server in operator mode: an operator, the system account, one account for coordinators and probes, and the full resolver, so that
 * a revocation pushed to it outlives a restart. Only features of 2.9 are needed.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { BusIdentity } from '../../shared/bus/bus-identity.ts';
import type { Command } from './local-child.ts';
import type { NatsBinary } from './local-nats-binary.ts';

export type NatsOptions = {
  readonly binary: NatsBinary;
  /** Holds the configuration, the account JWTs and JetStream's files. */
  readonly folder: string;
  readonly identity: BusIdentity;
  readonly port: number;
  readonly log: string;
};

export type NatsPlace = {
  readonly version: NatsBinary['version'];
  readonly folder: string;
  readonly identity: BusIdentity;
  readonly host: string;
  readonly port: number;
};

export const natsConfiguration = ({ version, folder, identity, host, port }: NatsPlace): string => {
  const path = (name: string): string => JSON.stringify(join(folder, name));
  // Since 2.10 a second instead of two minutes between syncs; the spools of the probes are the guarantee, this only spares a replay.
  const sync = version[0] > 2 || version[1] >= 10 ? 'sync_interval: "1s"' : '';
  // Streams reserve their bounds against this number: by default three quarters of the free disk, so that a small disk refused a start, and
  // a run of tests its thirtieth account. The bounds of the streams themselves are what keeps the disk.
  const store = 'max_file_store: 1TB';
  // A server of several that was away when a probe was revoked lets it in until it has asked the others: two minutes, if they were not told otherwise.
  const interval = 'interval: "10s"';
  return `# Written anew by every start.
host: ${host}
port: ${port}
server_name: antipode-local
operator: ${identity.operatorJwt}
system_account: ${identity.systemAccount}
resolver { type: full, dir: ${path('accounts')}, allow_delete: true, ${interval} }
resolver_preload {
  ${identity.systemAccount}: ${identity.systemJwt}
  ${identity.account}: ${identity.accountJwt}
}
jetstream { store_dir: ${path('store')}, ${store}, ${sync} }
`;
};

/** Writes the configuration and says how to run it. */
export const prepareNats = async (options: NatsOptions): Promise<Command> => {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const file = join(options.folder, 'nats.conf');
  const { binary, folder, identity, port } = options;
  await writeFile(file, natsConfiguration({ version: binary.version, folder, identity, host: '127.0.0.1', port }), { mode: 0o600 });
  return { name: 'nats', file: binary.file, args: ['-c', file], stopSignal: 'SIGTERM', log: options.log };
};

/** One try to be greeted: a nats-server sends its INFO line as soon as it takes clients. */
export const greetsOn = async (port: number): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 });
  socket.once('data', (greeting) => resolve(greeting.toString('latin1').startsWith('INFO ')));
  for (const end of ['error', 'timeout', 'close'] as const) socket.once(end, () => resolve(false));
  return await promise.finally(() => socket.destroy());
};
