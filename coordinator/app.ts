import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import { anchorOf } from '../shared/base/anchor.ts';
import { type Clock, systemClock } from '../shared/base/clock.ts';
import { type End, endAll } from '../shared/base/ends.ts';
import { ConfigurationFault } from '../shared/base/env.ts';
import { newId } from '../shared/base/ids.ts';
import { listenObstacle } from '../shared/base/listen-obstacle.ts';
import { createLog, type Log } from '../shared/base/log.ts';
import { version } from '../shared/base/version.ts';
import { inForce, markOf } from './access/master-keys.ts';
import { createRateLimiter } from './access/rate-limit.ts';
import { secretsOf } from './access/secrets.ts';
import { type Engine, startEngine } from './actors/engine.ts';
import { type Timing, usualTiming } from './actors/timing.ts';
import type { Config } from './config.ts';
import { beatRoutes } from './faces/beat/index.ts';
import { keptBeatsRoute } from './faces/beat/kept.ts';
import { downloadRoutes } from './faces/downloads/routes.ts';
import { errorBody } from './faces/rest/errors.ts';
import { restRoutes, restServerOptions } from './faces/rest/index.ts';
import { createEntrance } from './gate.ts';
import { sessionNameOf } from './store/coordinator-sessions.ts';
import { answersSoon, connect } from './store/database.ts';
import { entryFault } from './store/database-entry.ts';
import { migrate } from './store/migrate.ts';

/**
 * Builds the whole coordinator from its configuration, and takes it down in the reverse order.
 * Modes: `new` → start() → `running` → close() → `closed`.
 */
export type App = {
  /** Settles when everything is at work. @throws when the database cannot be reached or the port is taken. */
  readonly start: () => Promise<{ readonly url: string; readonly port: number }>;
  readonly close: () => Promise<void>;
};

/** What tests put in the place of the usual. */
export type Overrides = {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly timing?: Partial<Timing>;
  readonly lastAnswersMs?: number;
};

/** Whoever is being answered when the coordinator ends has so long; who stalls is cut off then. */
const usualLastAnswersMs = 1_000;

const closeWeb = async (web: FastifyInstance, lastAnswersMs = usualLastAnswersMs): Promise<void> => {
  const cut = setTimeout(() => web.server.closeAllConnections(), lastAnswersMs);
  await web.close();
  clearTimeout(cut);
};

export const createApp = (config: Config, overrides: Overrides = {}): App => {
  const clock = overrides.clock ?? systemClock;
  const log = overrides.log ?? createLog({ name: 'coordinator', level: config.LOG_LEVEL });
  const { SECRET_KEY: secretKey, SECRET_KEY_PREVIOUS: previousKey } = config;
  const keyMarks = [secretKey, previousKey].filter((key) => key !== undefined).map(markOf);
  const sql = connect(config.DATABASE_URL, { name: sessionNameOf(keyMarks), connections: 20 });
  const web: FastifyInstance = fastify({ ...restServerOptions, logger: false, forceCloseConnections: 'idle' });
  let engine: Engine | undefined;
  let baseUrl = config.BASE_URL ?? '';

  // Load balancers often ask for the head alone.
  web.get('/health', { exposeHeadRoute: true }, async (_request, reply) => {
    // Why its health cannot be told stands in the log of the part that failed; here it is simply not well.
    const [database, seen] = await Promise.all([answersSoon(sql), engine?.health().catch(() => undefined)]);
    const { bus = false, partitions = false, probes = [] } = seen ?? {};
    const isWell = database && bus && partitions;
    return reply
      .code(isWell ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: isWell ? 'ok' : 'degraded', parts: { database, bus, partitions, probes } });
  });

  // Outside of the API too, a refusal has the one form, and tells a newcomer where there is something to see.
  web.setNotFoundHandler((_request, reply) =>
    reply
      .code(404)
      .header('cache-control', 'no-store')
      .send(errorBody('route_not_found', 'There is nothing here; the API is described at /api/v1/docs.')),
  );

  const { gate, tokens, secrets } = createEntrance({ config, sql, clock, log, baseUrl: () => baseUrl });
  const limiter = createRateLimiter({ sql, clock, log, perMinute: config.RATE_LIMIT_PER_MINUTE });
  const ends: End[] = [() => sql.end({ timeout: 5 }), tokens.close, limiter.close];

  return {
    start: async () => {
      const applied = await migrate(sql).catch((error: unknown) => {
        throw entryFault(error, config.DATABASE_URL);
      });
      await secrets.check(sql);
      if (applied.length > 0) log.info({ migrations: applied }, 'the database was brought to this version');
      downloadRoutes(web, { onFailure: (error) => log.error({ err: error }, 'a download could not be bundled') });
      restRoutes(web, { execute: gate.execute, authenticate: tokens.authenticate, limiter, log, baseUrl: () => baseUrl });
      const starting = { status: 503, text: 'Starting', headers: { 'retry-after': '2' } };
      beatRoutes(web, { take: async (request) => engine?.takeBeat(request) ?? starting });
      keptBeatsRoute(web, { take: async (request) => engine?.takeKeptBeats(request) ?? starting });
      // Taken down after the web: a beat that is being taken needs it.
      ends.push(async () => engine?.close());
      await web.listen({ host: config.HOST, port: config.PORT }).catch((error: unknown) => {
        const obstacle = listenObstacle(error, config.PORT, config.HOST);
        throw obstacle === undefined ? error : new ConfigurationFault([obstacle]);
      });
      ends.push(() => closeWeb(web, overrides.lastAnswersMs));
      const address = web.server.address();
      const port = typeof address === 'object' && address !== null ? address.port : config.PORT;
      const url = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`;
      baseUrl ||= url;
      engine = await startEngine({
        ...{ sql, clock, log, version },
        owner: newId(),
        timing: { ...usualTiming, ...overrides.timing },
        kept: { rawDays: config.KEEP_RAW_DAYS, rollupDays: config.KEEP_ROLLUP_DAYS, ledgerDays: config.KEEP_LEDGER_DAYS },
        nats: {
          url: config.NATS_URL,
          credentials: config.NATS_CREDENTIALS,
          systemCredentials: config.NATS_SYSTEM_CREDENTIALS,
          account: config.NATS_ACCOUNT_PUBLIC,
          operatorSeed: config.NATS_OPERATOR_SEED,
        },
        masterOf: (newest) => inForce({ secretKey, previousKey }, newest),
        beatSpool: join(config.DATA_DIR ?? join(tmpdir(), `antipode-coordinator-${port}`), 'beats.jsonl'),
        openSecrets: (row) => (row.secrets === null ? Promise.resolve('{}') : secrets.open(sql, row.secrets, secretsOf(row.id))),
        baseUrl: () => baseUrl,
        anchors: () => config.PROBE_ANCHORS ?? [anchorOf(baseUrl)].filter((anchor) => anchor !== undefined),
      });
      log.info({ url, version }, 'the coordinator is at work');
      return { url, port };
    },
    close: () => endAll(ends),
  };
};
