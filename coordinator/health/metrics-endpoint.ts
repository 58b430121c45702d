import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { SeenActor } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import { version } from '../../shared/base/process.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/connect.ts';
import type { Engine } from '../engine.ts';
import type { Certificates } from './certificates.ts';
import { type Health, obstacles } from './endpoint.ts';
import { type Snapshot, storedFigures } from './gauges.ts';
import { type Figures, noFigures } from './meters.ts';
import type { BusMetrics, Live, Metrics } from './metrics.ts';

/**
 * The metrics of a coordinator. Where they are configured, their modules are loaded and connected
 * here; elsewhere none of them is loaded.
 */
type MetricsEndpoint = {
  /** Listens at its port. Settles with the receiver of the parts' reports. */
  readonly start: () => Promise<Figures>;
  readonly close: () => Promise<void>;
};

type Dependencies = {
  readonly config: Pick<
    Config,
    'METRICS_HOST' | 'METRICS_PORT' | 'DATA_DIR' | 'BASE_URL' | 'NATS_URL' | 'NATS_CA'
  >;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly web: FastifyInstance;
  readonly health: Health;
  readonly engine: () => Engine | undefined;
  readonly actors: () => readonly SeenActor[];
};

export function createMetricsEndpoint({
  config,
  sql,
  clock,
  log,
  web,
  health,
  engine,
  actors,
}: Dependencies): MetricsEndpoint {
  const { METRICS_PORT: port, METRICS_HOST: host } = config;
  if (port === undefined) return { start: async () => noFigures, close: async () => undefined };
  let live: Live | undefined;
  let metrics: Metrics | undefined;
  let makeBusLook: ((engine: Engine) => BusMetrics) | undefined;
  let busLook: BusMetrics | undefined;
  let certificates: Certificates | undefined;
  web.addHook('onResponse', async (request, reply) => {
    live?.answered(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime);
  });

  const lookAtBus = async (running: Engine): Promise<Snapshot['onBus']> => {
    busLook ??= makeBusLook?.(running);
    return busLook?.look();
  };

  const look = async (): Promise<Snapshot> => {
    const standing = await health.look();
    const running = engine();
    const { database, bus, streams, resting } = standing;
    return {
      database,
      bus,
      streams,
      resting,
      actors: [...actors(), ...(running?.actors() ?? [])],
      isReady: obstacles(health).length === 0,
      partitions: running?.partitions.held().length ?? 0,
      probes: running?.seenProbes() ?? [],
      // A metric of its own shows what is away; the rest is served all the same.
      onBus: running && bus ? await lookAtBus(running).catch(() => undefined) : undefined,
      disk: await diskOf(config.DATA_DIR ?? tmpdir()).catch(() => undefined),
      certificates: certificates?.seen() ?? [],
      stored: database ? await storedFigures(sql, clock.now()).catch(() => undefined) : undefined,
    };
  };

  return {
    start: async () => {
      const { createBusMetrics, startMetrics } = await import('./metrics.ts');
      const { createCertificates, ownPlaces } = await import('./certificates.ts');
      makeBusLook = ({ bus, system, partitions: { held } }) =>
        createBusMetrics({ bus, system, held, log });
      const { BASE_URL: baseUrl, NATS_URL: bus, NATS_CA } = config;
      certificates = createCertificates({
        places: ownPlaces({ baseUrl, bus, hasAuthority: NATS_CA !== undefined }),
        log,
      });
      metrics = await startMetrics({ host, port, version, log, look });
      live = metrics.live;
      log.info({ host, port: metrics.port }, 'serving /metrics');
      return live;
    },
    close: async () => {
      await metrics?.close();
      await certificates?.close();
    },
  };
}

/** The disk that a folder is on; undefined while the folder is missing. */
async function diskOf(folder: string): Promise<Snapshot['disk']> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { size: blocks * bsize, free: bavail * bsize };
}
