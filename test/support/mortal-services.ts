/** For tests of faults: a Postgres and a nats-server of one's own, durable as in production, to be killed, wiped and started again. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../coordinator/database/connect.ts';
import { migrate } from '../../coordinator/database/migrate.ts';
import { freePort, openCache } from '../../deploy/local/home.ts';
import { greetsOn, obtainNatsServer, prepareNats } from '../../deploy/local/nats.ts';
import { isPostgresReady, preparePostgres } from '../../deploy/local/postgres.ts';
import { awaitReady, type Child, type Command, startChild } from '../../deploy/local/processes.ts';
import { createBusIdentity } from '../../shared/bus/identity.ts';
import type { Services } from './services-run.ts';

/** A server that dies and lives again, at the same place with what its disk holds. */
export type Mortal = {
  readonly pid: () => number;
  /** kill -9; settles when it is gone. */
  readonly kill: () => Promise<void>;
  /** Settles when it takes connections. */
  readonly start: () => Promise<void>;
};

export type MortalServices = {
  readonly services: Services;
  /** Where Postgres has its data. */
  readonly data: string;
  readonly postgres: Mortal;
  readonly nats: Mortal & { /** Only while it is dead: everything that streams held is gone. */ readonly wipe: () => Promise<void> };
  readonly folder: string;
  readonly stop: () => Promise<void>;
};

const mortal = (command: Command, isReady: (child: Child) => Promise<boolean>): Mortal & { readonly stop: () => Promise<void> } => {
  let child: Child | undefined;
  return {
    pid: () => child?.pid ?? 0,
    start: async () => {
      const started = await startChild(command);
      child = started;
      await awaitReady(started, command.log, () => isReady(started));
    },
    kill: async () => {
      if (!child?.isRunning()) return;
      process.kill(child.pid, 'SIGKILL');
      await child.exited;
    },
    stop: async () => {
      await child?.stop(5_000);
    },
  };
};

/** `settings`: those of Postgres, besides the usual. */
export const startMortalServices = async (settings: Readonly<Record<string, string>> = {}): Promise<MortalServices> => {
  const folder = await mkdtemp(join(tmpdir(), `antipode-mortal-${process.pid}-`));
  await chmod(folder, 0o711);
  const cache = openCache(process.env, folder);
  const say = (): void => undefined;
  const [port, natsPort] = [await freePort(), await freePort()];
  const prepared = await preparePostgres({
    ...{ home: folder, cache, port, say, password: 'test' },
    log: join(folder, 'postgres.log'),
    settings: { max_connections: '200', ...settings },
  });
  const postgres = mortal(prepared.command, (child) => isPostgresReady(prepared.folder, child.pid));
  const identity = createBusIdentity(Date.now());
  const binary = await obtainNatsServer(cache, process.env.PATH ?? '', say);
  const natsFolder = join(folder, 'nats');
  const options = { binary, folder: natsFolder, identity, port: natsPort, log: join(folder, 'nats.log') };
  const nats = mortal(await prepareNats(options), () => greetsOn(natsPort));
  await Promise.all([postgres.start(), nats.start()]);
  const sql = connect(prepared.url);
  await migrate(sql).finally(() => sql.end());
  return {
    folder,
    data: join(prepared.folder, 'data'),
    postgres,
    nats: { ...nats, wipe: () => rm(join(natsFolder, 'store'), { recursive: true, force: true }) },
    services: {
      from: 'binaries',
      postgres: { url: prepared.url, template: new URL(prepared.url).pathname.slice(1) },
      nats: { url: `nats://127.0.0.1:${natsPort}`, version: binary.version, identity },
    },
    stop: async () => {
      await Promise.all([postgres.stop(), nats.stop()]);
      for (const used of [folder, prepared.folder]) await rm(used, { recursive: true, force: true });
    },
  };
};
