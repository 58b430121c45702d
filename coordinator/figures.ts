import type { FastifyInstance } from 'fastify';
import type { Clock } from '../shared/base/clock.ts';
import type { Log } from '../shared/base/log.ts';
import { version } from '../shared/base/version.ts';
import { streams } from '../shared/bus/streams.ts';
import type { Config } from './config.ts';
import type { Engine } from './engine.ts';
import { type Health, obstacles } from './faces/health.ts';
import { type Figures, noFigures } from './house/figures.ts';
import type { Live, Metrics, Seen } from './metrics/index.ts';
import type { Sql } from './store/database.ts';
import { storedFigures } from './store/figures.ts';

/** The figures of a coordinator: where somebody wants them, what counts is loaded and put together here; elsewhere nothing of it is. */
export type FiguresFace = {
  /** Listens at its port. Settles with whom parts are to tell what they do. */
  readonly start: () => Promise<Figures>;
  readonly close: () => Promise<void>;
};

type Parts = {
  readonly config: Pick<Config, 'METRICS_HOST' | 'METRICS_PORT'>;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly web: FastifyInstance;
  readonly health: Health;
  readonly engine: () => Engine | undefined;
};

const streamStates = async (engine: Engine): Promise<Seen['streamStates']> => {
  const { bus } = engine;
  const all = Object.values(streams).map(async ({ name }) => ({ stream: name, state: await bus.streamState(name) }));
  return (await Promise.all(all)).flatMap(({ stream, state }) => (state ? [{ stream, bytes: state.bytes, messages: state.messages }] : []));
};

export const createFiguresFace = ({ config, sql, clock, log, web, health, engine }: Parts): FiguresFace => {
  const { METRICS_PORT: port, METRICS_HOST: host } = config;
  if (port === undefined) return { start: async () => noFigures, close: async () => undefined };
  let live: Live | undefined;
  let metrics: Metrics | undefined;
  web.addHook('onResponse', async (request, reply) => {
    live?.answered(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime);
  });

  const look = async (): Promise<Seen> => {
    const standing = await health.look();
    const running = engine();
    const { database, bus } = standing;
    return {
      ...{ database, bus, streams: standing.streams },
      isReady: obstacles(standing, health.isLeaving()).length === 0,
      partitions: running?.partitions.held().length ?? 0,
      probes: running?.seenProbes() ?? [],
      // What is away is told by its own figure; the rest is told all the same.
      streamStates: running && bus ? await streamStates(running).catch(() => []) : [],
      stored: database ? await storedFigures(sql, clock.now()).catch(() => undefined) : undefined,
    };
  };

  return {
    start: async () => {
      const { startMetrics } = await import('./metrics/index.ts');
      metrics = await startMetrics({ host, port, version, log, look });
      live = metrics.live;
      log.info({ host, port: metrics.port }, 'figures are at /metrics of this port');
      return live;
    },
    close: async () => metrics?.close(),
  };
};
