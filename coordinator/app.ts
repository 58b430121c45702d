import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import { createSupervisor } from '../shared/actor/supervisor.ts';
import { createMonitor } from '../shared/api/monitors.ts';
import { pause } from '../shared/base/async.ts';
import { newId } from '../shared/base/crypto.ts';
import { ConfigurationFault } from '../shared/base/env.ts';
import { createLog, type Log } from '../shared/base/log.ts';
import { listenObstacle, version } from '../shared/base/process.ts';
import type { Clock } from '../shared/base/time.ts';
import { startMail } from './account-mail/mail-sending.ts';
import type { ActorName } from './actors.ts';
import { downloadRoutes } from './api/downloads.ts';
import { limitHeaders, refuseOutside, restRoutes, restServerOptions } from './api/routes.ts';
import { createForwarded, soundUrl } from './api/server.ts';
import { assistantRoutes, createAssistants } from './assistants/mcp-routes.ts';
import { oauthRoutes } from './assistants/oauth-routes.ts';
import { anchorsOf, busReachedAt, type Config, dedicatedConnections } from './config.ts';
import { answersSoon, connect, sessionNameOf, timeOf } from './database/connect.ts';
import { listenTo } from './database/listen.ts';
import { bringUpToDate } from './database/migrate.ts';
import {
  createTimeouts,
  refuseTransactionPooling,
  unavailable,
  type WithTimeout,
  waitForDatabase,
} from './database/startup.ts';
import { startSending } from './deliveries/sending.ts';
import { type Timing, usualTiming } from './engine/timing.ts';
import { type Engine, startEngine } from './engine.ts';
import { enrolmentRoute } from './enrolment/operations.ts';
import type { Gate } from './gate/execute.ts';
import { createRateLimiter } from './gate/rate-limit.ts';
import { type Health, healthRoutes, versions } from './health/endpoint.ts';
import { createMetricsEndpoint } from './health/metrics-endpoint.ts';
import { createServiceRecord } from './health/service-record.ts';
import { createDatabaseClock } from './health/watches.ts';
import { forwardedPingsRoute, ownPlace, pingRoutes } from './heartbeats/routes.ts';
import { createShares } from './incidents/shared-link.ts';
import { zoneDataAt } from './maintenance/zones.ts';
import type { GatheringTimes } from './notifications/warnings.ts';
import {
  createDocumentReader,
  createTextRecords,
  type DocumentReader,
} from './outbound/documents.ts';
import { pages as allPages } from './pages.ts';
import { busEntrance, isForBus } from './probes/bus-entrance.ts';
import { createRenewal } from './probes/identities.ts';
import { publicListRoutes } from './probes/public-list.ts';
import { proveAddress } from './probes/seen-addresses.ts';
import { createScimCallers } from './providers/scim/callers.ts';
import { scimRoutes } from './providers/scim/routes.ts';
import { createResults } from './results/reading.ts';
import { createUnsealedHours } from './results/unsealed-hours.ts';
import { inForce, markOf, secretsOf } from './secrets/at-rest.ts';
import { createGateSetup } from './setup.ts';
import { createPublishing, startNotifyingSubscribers } from './status-pages/public/publishing.ts';
import { onOwnDomain, statusRoutes } from './status-pages/public/routes.ts';
import { createWebhookDelivery } from './status-pages/public/webhooks.ts';
import { createChanges } from './web/live.ts';
import { type Web, webRoutes } from './web/routes.ts';
import { createWebhookSending, webhooksEveryMs } from './webhooks/event-sending.ts';

/** Builds the whole coordinator from its configuration, and closes it in the reverse order. */
export type App = {
  /**
   * Settles when everything runs; waits for a database and a bus that are not there yet. @throws
   * when waiting does not help (the database refuses us, the port is taken), or when it is closed
   * meanwhile.
   */
  readonly start: () => Promise<{ readonly url: string; readonly port: number }>;
  /** The entry for API, pages and MCP. */
  readonly gate: Gate;
  readonly close: () => Promise<void>;
};

/** What tests put in place of the defaults. */
export type Overrides = {
  /** The clock of all times, used as it is. */
  readonly clock?: Clock;
  /** The machine's clock, which may be wrong. */
  readonly hostClock?: Clock;
  readonly log?: Log;
  readonly timing?: Partial<Timing>;
  readonly lastAnswersMs?: number;
  /** Answers as registries do. */
  readonly readRegistry?: DocumentReader['read'];
  readonly warningTimes?: GatheringTimes;
  /** Settles when the load balancer sends its requests elsewhere. */
  readonly lookedElsewhere?: () => Promise<unknown>;
};

/** How often days are counted (each once) and the operator's word on outages is read. */
const recordEveryMs = 300_000;

/** How long an aborted start has to end what it began. */
const unwindingMs = 1_000;

export function createApp(config: Config, overrides: Overrides = {}): App {
  const databaseClock = createDatabaseClock(overrides.hostClock);
  const clock = overrides.clock ?? databaseClock;
  const log = overrides.log ?? createLog({ name: 'coordinator', level: config.LOG_LEVEL });
  const { SECRET_KEY: secretKey, SECRET_KEY_PREVIOUS: previousKey } = config;
  const keyMarks = [secretKey, previousKey].filter((key) => key !== undefined).map(markOf);
  const supervisor = createSupervisor<ActorName>(log);
  const sql = connect(config.DATABASE_URL, {
    name: sessionNameOf(keyMarks),
    connections: config.DATABASE_CONNECTIONS - dedicatedConnections,
  });
  const leaving = new AbortController();
  const untilDatabase = <Entered>(enter: () => Promise<Entered>): Promise<Entered> =>
    waitForDatabase(enter, { url: config.DATABASE_URL, log, signal: leaving.signal });
  /**
   * Whether connected to the database with this version's schema: before that no one queries it.
   */
  let isEntered = false;
  const readTime = async (): Promise<void> => databaseClock.observe(await timeOf(sql));
  const whileThere = createTimeouts({ sql, log });
  const patiently: WithTimeout = (ask) => {
    const asking = whileThere(ask);
    return async (...asked) => {
      if (!isEntered) throw unavailable();
      return asking(...asked);
    };
  };
  const forwarded = createForwarded(config.TRUSTED_PROXIES, log);
  const web: FastifyInstance = fastify({
    ...restServerOptions,
    logger: false,
    forceCloseConnections: 'idle',
    http: { ...restServerOptions.http, shouldUpgradeCallback: isForBus },
    trustProxy: forwarded.trustProxy,
    rewriteUrl: (request) => {
      forwarded.tidy(request);
      const url = soundUrl(request.url ?? '/');
      return onOwnDomain(publishing, ownUrl, request.headers.host, url) ?? url;
    },
  });
  let engine: Engine | undefined;
  let ownUrl = config.BASE_URL ?? '';
  const baseUrl = (): string => ownUrl;

  let isLeaving = false;
  const lookedElsewhere = overrides.lookedElsewhere ?? (() => pause(config.LEAVING_S * 1_000));
  const health: Health = {
    isLeaving: () => isLeaving,
    isAtWork: () => engine !== undefined,
    versions,
    timeZones: () => zoneDataAt(process.versions.tz, clock.now()),
    look: async () => {
      // The log of the failed part has the reason; here it only counts as unhealthy.
      const [database, seen] = await Promise.all([
        answersSoon(sql),
        whileThere(async () => engine?.health())().catch(() => undefined),
      ]);
      const {
        bus = false,
        streams = false,
        partitions = false,
        resting = false,
        circling = false,
        probes = [],
        busFault,
      } = seen ?? {};
      return {
        database: database && isEntered,
        bus,
        streams,
        partitions,
        probes,
        resting,
        circling,
        busFault,
      };
    },
  };
  const unsealed = createUnsealedHours({ sql, log });
  const results = createResults({ unsealed, log });
  const ownRecord = createServiceRecord({
    sql,
    clock,
    results,
    rawDays: config.KEEP_RAW_DAYS,
    readers: config.ABOUT_PAGE,
    isLeader: () => engine?.partitions.owns(0) === true,
  });
  const figures = createMetricsEndpoint({
    config,
    sql,
    clock,
    log,
    web,
    health,
    engine: () => engine,
    actors: supervisor.seen,
  });
  const limiter = createRateLimiter({ sql, clock, log, perMinute: config.RATE_LIMIT_PER_MINUTE });
  const beside = limitHeaders(limiter);
  healthRoutes(web, health, beside);

  let pages: Web | undefined;
  refuseOutside(
    web,
    log,
    async (request, reply) => (await pages?.answerNotFound(request, reply)) === true,
    beside,
  );

  const {
    gate,
    tokens,
    sessions,
    connections,
    secrets,
    accountSecrets,
    notifications,
    readers,
    providers,
    ownPlaces,
  } = createGateSetup({
    config,
    sql,
    clock,
    log,
    results,
    baseUrl,
    trials: {
      begin: (trial) => engine?.trials.begin(trial),
      hear: async (...asked) => engine?.trials.hear(...asked),
    },
  });
  const assistants = createAssistants({
    sql,
    clock,
    accountSecrets,
    secretKey,
    previousKey,
    ownPlaces,
  });
  const webhookParts = {
    sql,
    clock,
    accountSecrets,
    secrets,
    send: notifications.send,
    baseUrl,
  };
  const publishing = createPublishing({ ...webhookParts, log, patiently, results });
  const changes = createChanges({
    listen: (channel, hear, onListening) => listenTo(sql, channel, hear, { log, onListening }),
    clock,
    log,
  });
  const registryReader = createDocumentReader({
    accept: 'application/rdap+json, application/json',
    // IANA's list has 70 KB.
    maxBytes: 1_048_576,
    ownPlaces,
  });
  supervisor.part('connections', () => sql.end({ timeout: isEntered ? 5 : 0 }));
  for (const { close } of [tokens, sessions, connections]) supervisor.part('last uses', close);
  supervisor.part('assistants', assistants.close);
  supervisor.part('limits', limiter.close);
  supervisor.part('live pages', changes.close);
  supervisor.part('senders', notifications.close);
  for (const { close } of [registryReader, ...readers]) supervisor.part('readers', close);

  const start: App['start'] = async () => {
    supervisor.part('figures', figures.close);
    const counted = await figures.start();
    const downloads = downloadRoutes(web, {
      onFailure: (error) => log.error({ err: error }, 'could not bundle a download'),
    });
    const isAboutOpen = (): boolean => ownRecord.shown(false) !== undefined;
    restRoutes(web, {
      limiter,
      log,
      baseUrl,
      corsOrigins: config.CORS_ORIGINS,
      isAboutOpen,
      execute: patiently(gate.execute),
      executeOnce: patiently(gate.executeOnce),
      authenticate: patiently(tokens.authenticate),
    });
    assistantRoutes(web, {
      limiter,
      log,
      clock,
      baseUrl,
      execute: patiently(gate.execute),
      callerOf: patiently(connections.callerOf),
    });
    scimRoutes(web, {
      limiter,
      log,
      baseUrl,
      execute: patiently(gate.execute),
      authenticate: patiently(
        createScimCallers({ sql, with: { accountSecrets, providers, secrets } }),
      ),
    });
    const consents = oauthRoutes(web, { ...assistants, log, baseUrl });
    if (config.IDENTIFY_PROBES)
      publicListRoutes(web, {
        limiter,
        clock,
        baseUrl,
        probes: () => engine?.probeRows(),
      });
    const entrance = await busEntrance(web, {
      servers: config.NATS_WEBSOCKET_URL,
      ca: config.NATS_CA,
      proven: (address) => proveAddress(secretKey, address),
    });
    enrolmentRoute(web, { execute: patiently(gate.executeForVisitor), log });
    pages = webRoutes(web, allPages, {
      clock,
      log,
      changes,
      authenticate: patiently(sessions.authenticate),
      gate: {
        execute: patiently(gate.execute),
        executeOnce: patiently(gate.executeOnce),
        executeForPerson: patiently(gate.executeForPerson),
        executeForVisitor: patiently(gate.executeForVisitor),
        executeForOperator: patiently(gate.executeForOperator),
      },
      instruments: {
        baseUrl,
        readShare: patiently(createShares(sql, results, clock).read),
        consents,
        identifiesProbes: config.IDENTIFY_PROBES,
        hasMail: notifications.mail !== undefined,
        securityContact: config.SECURITY_CONTACT,
        ownRecord: ownRecord.shown,
      },
    });
    statusRoutes(web, {
      publishing,
      log,
      baseUrl,
      hasMail: notifications.mail !== undefined,
      isAboutOpen,
    });
    const starting = { status: 503, text: 'Starting', headers: { 'retry-after': '2' } };
    pingRoutes(web, { take: async (request) => engine?.takePing(request) ?? starting });
    forwardedPingsRoute(web, {
      take: async (request) => engine?.takeForwardedPings(request) ?? starting,
    });
    // Closed after the web server: a ping in progress needs it.
    supervisor.part('engine', async () => engine?.close());
    await web.listen({ host: config.HOST, port: config.PORT }).catch((error: unknown) => {
      const obstacle = listenObstacle(error, config.PORT, config.HOST);
      throw obstacle === undefined ? error : new ConfigurationFault([obstacle]);
    });
    supervisor.part('web server', () => {
      entrance.close();
      return closeWeb(web, overrides.lastAnswersMs);
    });
    const address = web.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : config.PORT;
    const url = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`;
    ownUrl ||= url;
    await untilDatabase(async () => {
      await refuseTransactionPooling(sql, config.DATABASE_URL);
      const applied = await bringUpToDate(sql, config.DATABASE_URL);
      await secrets.check(sql);
      if (applied.length > 0)
        log.info({ migrations: applied }, 'migrated the database to this version');
    });
    await untilDatabase(readTime);
    isEntered = true;
    publishing.start(supervisor);
    const folder = config.DATA_DIR ?? join(tmpdir(), `antipode-coordinator-${port}`);
    const place = await ownPlace(folder);
    engine = await startEngine({
      sql,
      clock,
      log,
      results,
      hasMail: notifications.mail !== undefined,
      version,
      owner: newId(),
      signal: leaving.signal,
      untilDatabase,
      databaseClock,
      unsealed,
      timing: { ...usualTiming, ...overrides.timing },
      kept: {
        rawDays: config.KEEP_RAW_DAYS,
        rollupDays: config.KEEP_ROLLUP_DAYS,
        ledgerDays: config.KEEP_LEDGER_DAYS,
      },
      nats: {
        entrance: { url: config.NATS_URL, ca: config.NATS_CA },
        keeping: { replicas: config.NATS_REPLICAS, placement: config.NATS_PLACEMENT },
        credentials: config.NATS_CREDENTIALS,
        systemCredentials: config.NATS_SYSTEM_CREDENTIALS,
        account: config.NATS_ACCOUNT_PUBLIC,
        operatorSeed: config.NATS_OPERATOR_SEED,
        reachedAt: busReachedAt(config, baseUrl()),
      },
      secretKeys: previousKey === undefined ? [secretKey] : [secretKey, previousKey],
      masterOf: (newest) => inForce({ secretKey, previousKey }, newest),
      createHeartbeat: (caller, body) => gate.execute(createMonitor, caller, { body }),
      pingSpool: join(folder, 'beats.jsonl'),
      openSecrets: (row) =>
        row.secrets === null
          ? Promise.resolve('{}')
          : secrets.open(sql, row.secrets, secretsOf(row.id)),
      textRecords: createTextRecords(config.DNS_RESOLVERS),
      secrets,
      providers,
      readRegistry: overrides.readRegistry ?? registryReader.read,
      registryListUrl: config.RDAP_LIST_URL === 'none' ? undefined : config.RDAP_LIST_URL,
      startNotifier: (every) =>
        notifications.startNotifier({
          ...every,
          ...(overrides.warningTimes && { warningTimes: overrides.warningTimes }),
          place,
        }),
      figures: counted,
      baseUrl,
      anchors: () => anchorsOf(config, ownUrl),
      identifyProbes: config.IDENTIFY_PROBES,
      origins: config.ORIGIN_AS,
      heartbeatUrl: config.HEARTBEAT_URL,
      ping: notifications.ping,
      renew: createRenewal({ accountSeed: config.NATS_ACCOUNT_SEED, clock }),
    });
    supervisor.ticker('own record', { everyMs: recordEveryMs, tick: ownRecord.tick }).hurry();
    const everyMs = overrides.timing?.refreshMs ?? usualTiming.refreshMs;
    if (notifications.mail !== undefined) {
      const sender = notifications.mail;
      await startMail({
        supervisor,
        sql,
        clock,
        log,
        sender,
        accountSecrets,
        place,
        everyMs,
        signal: leaving.signal,
        baseUrl,
      });
    }
    const hasMail = notifications.mail !== undefined;
    startNotifyingSubscribers({ supervisor, sql, clock, everyMs, hasMail });
    const updates = createWebhookDelivery({ ...webhookParts, place, log });
    startSending(supervisor, 'page webhooks', everyMs, updates);
    const send = notifications.channels.sendEvent;
    const events = createWebhookSending({ sql, place, clock, log, secrets, hasMail, send });
    startSending(supervisor, 'webhooks', webhooksEveryMs, events);
    log.info({ url, version }, 'the coordinator has started');
    void downloads.prepare();
    return { url, port };
  };
  let begun: Promise<unknown> = Promise.resolve();

  return {
    gate,
    start: () => {
      const starting = start();
      begun = starting.catch(() => undefined); // The caller of start() gets the reason.
      return starting;
    },
    close: async () => {
      isLeaving = true;
      if (engine !== undefined) await lookedElsewhere();
      leaving.abort(new Error('the coordinator was stopped before it had started'));
      // What was begun ends by itself when it waits for something; what runs is ended here.
      await Promise.race([begun, pause(unwindingMs)]);
      await supervisor.close();
    },
  };
}

/** How long open requests have when the coordinator ends; a stalled one is then cut off. */
const usualLastAnswersMs = 1_000;

async function closeWeb(web: FastifyInstance, lastAnswersMs = usualLastAnswersMs): Promise<void> {
  const cut = setTimeout(() => web.server.closeAllConnections(), lastAnswersMs);
  await web.close();
  clearTimeout(cut);
}
