/**
 * Postgres and nats-server from their official images, for a run of tests on a machine that has a
 * Docker engine and no binaries. Nothing else imports testcontainers, and this file is imported
 * only where it is needed. Its watcher (Ryuk) ends the containers of a run that was killed.
 */
import {
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from 'testcontainers';
import { natsConfiguration } from '../../deploy/local/nats.ts';
import { databaseName } from '../../deploy/local/postgres.ts';
import type { BusIdentity } from '../../shared/bus/identity.ts';

const postgresImage = 'postgres:18';
const nats = { image: 'nats:2.11.6', version: [2, 11, 6] } as const;
/** From when the image is there until the server in it is ready. */
const patienceMs = 60_000;

/** Why no engine answers; undefined when one does. */
export const engineFault = async (): Promise<string | undefined> =>
  await getContainerRuntimeClient().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

const addressOf = (container: StartedTestContainer, port: number): string => {
  const host = container.getHost();
  return `${host.includes(':') ? `[${host}]` : host}:${container.getMappedPort(port)}`;
};

const startPostgres = async (password: string, settings: Readonly<Record<string, string>>) => {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const container = await new GenericContainer(postgresImage)
    .withEnvironment({
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: databaseName,
      POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C',
    })
    .withCommand(['postgres', ...flags])
    .withExposedPorts(5432)
    // The image starts it twice: first to make the database, which takes no connections from
    // outside.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .withStartupTimeout(patienceMs)
    .start();
  return {
    container,
    url: `postgres://postgres:${encodeURIComponent(password)}@${addressOf(container, 5432)}/${databaseName}`,
  };
};

const startNats = async (identity: BusIdentity) => {
  const content = natsConfiguration({ folder: '/data', identity, host: '0.0.0.0', port: 4222 });
  const container = await new GenericContainer(nats.image)
    .withCopyContentToContainer([{ content, target: '/antipode.conf' }])
    .withCommand(['-c', '/antipode.conf'])
    .withExposedPorts(4222)
    .withWaitStrategy(Wait.forLogMessage(/Server is ready/))
    .withStartupTimeout(patienceMs)
    .start();
  return { container, url: `nats://${addressOf(container, 4222)}` };
};

export type Containers = {
  readonly postgresUrl: string;
  readonly nats: { readonly url: string; readonly version: readonly [number, number, number] };
  readonly stop: () => Promise<void>;
};

export const startContainers = async (
  identity: BusIdentity,
  password: string,
  settings: Readonly<Record<string, string>>,
): Promise<Containers> => {
  const pending = [startPostgres(password, settings), startNats(identity)] as const;
  const stop = async (): Promise<void> => {
    const settled = await Promise.allSettled(pending);
    await Promise.all(
      settled.map((one) =>
        one.status === 'fulfilled' ? one.value.container.stop({ timeout: 0 }) : undefined,
      ),
    );
  };
  try {
    const [postgres, bus] = await Promise.all(pending);
    return { postgresUrl: postgres.url, nats: { url: bus.url, version: nats.version }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};
