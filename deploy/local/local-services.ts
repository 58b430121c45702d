/** The database and the bus: the embedded ones, started; or the person's own, taken as they are. */
import { join } from 'node:path';
import type { Processes } from './local-all-processes.ts';
import { type BusEnvironment, busEnvironment } from './local-environments.ts';
import { type HomeState, keepState } from './local-home-state.ts';
import { greetsOn, prepareNats } from './local-nats.ts';
import { obtainNatsServer } from './local-nats-binary.ts';
import { freePort } from './local-ports.ts';
import { isPostgresReady, preparePostgres } from './local-postgres.ts';
import type { Settings } from './local-settings.ts';

export type Ground = {
  readonly home: string;
  readonly cache: string;
  readonly logs: string;
  readonly settings: Settings;
  readonly state: HomeState;
  readonly processes: Processes;
  readonly say: (line: string) => void;
};

const startPostgres = async ({ home, cache, logs, state, processes, say }: Ground): Promise<string> => {
  const port = await freePort(state.ports.postgres);
  state.ports.postgres = port;
  keepState(home, state);
  const log = join(logs, 'postgres.log');
  const prepared = await preparePostgres({ home, cache, port, password: state.postgresPassword, log, say });
  const part = processes.start({ command: prepared.command, isReady: ({ pid }) => isPostgresReady(prepared.folder, pid) });
  await part.ready;
  return prepared.url;
};

const startNats = async ({ home, cache, logs, state, processes, say }: Ground, path: string): Promise<BusEnvironment> => {
  const binary = await obtainNatsServer(cache, path, say);
  const port = await freePort(state.ports.nats);
  state.ports.nats = port;
  keepState(home, state);
  const log = join(logs, 'nats.log');
  const command = await prepareNats({ binary, folder: join(home, 'nats'), identity: state.bus, port, log });
  await processes.start({ command, isReady: () => greetsOn(port) }).ready;
  return busEnvironment(state.bus, `nats://127.0.0.1:${port}`);
};

export type LocalServices = { readonly databaseUrl: string; readonly bus: BusEnvironment };

export const startLocalServices = async (ground: Ground, path: string): Promise<LocalServices> => {
  const { settings } = ground;
  const [databaseUrl, bus] = await Promise.all([settings.databaseUrl ?? startPostgres(ground), settings.bus ?? startNats(ground, path)]);
  return { databaseUrl, bus };
};
