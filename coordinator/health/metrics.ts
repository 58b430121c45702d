import { once } from 'node:events';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { z } from 'zod';
import { ConfigurationFault } from '../../shared/base/env.ts';
import type { Log } from '../../shared/base/log.ts';
import { listenObstacle } from '../../shared/base/process.ts';
import { jsonOf } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import { outcomes } from '../../shared/checks/result.ts';
import { createSeen, instrumentsOf, type SeenBus, type Snapshot } from './gauges.ts';
import type { Figures } from './meters.ts';

/** Every server reports every 10 s; one that was silent for this long may be gone. */
const silentMs = 60_000;

const told = z.object({
  server: z.object({ name: z.string() }),
  statsz: z.object({
    jetstream: z.object({
      config: z.object({ max_storage: z.number() }),
      stats: z.object({ storage: z.number() }),
    }),
  }),
});

type Dependencies = {
  readonly bus: Pick<Bus, 'streamState' | 'consumerState'>;
  readonly system: Pick<Bus, 'subscribe'>;
  readonly held: () => readonly number[];
  readonly log: Pick<Log, 'debug'>;
};

export type BusMetrics = { readonly look: () => Promise<SeenBus> };

/**
 * Reads the bus on demand. It listens to servers' reports of their disks from the first read on:
 * without readers it does not listen.
 */
export function createBusMetrics({ bus, system, held, log }: Dependencies): BusMetrics {
  const disks = new Map<
    string,
    { readonly bytes: number; readonly limit: number; readonly at: number }
  >();
  let hears = false;
  const hear = (): void => {
    if (hears) return;
    hears = true;
    // Until the connection is closed.
    system.subscribe('$SYS.SERVER.*.STATSZ', ({ data }) => {
      const read = told.safeParse(jsonOf(data));
      // A server without streams does not report its disk.
      if (!read.success)
        return log.debug({ err: read.error }, 'a bus server does not report what it stores');
      const { config, stats } = read.data.statsz.jetstream;
      disks.set(read.data.server.name, {
        bytes: stats.storage,
        limit: config.max_storage,
        at: performance.now(),
      });
    });
  };

  return {
    look: async () => {
      hear();
      const [states, waiting] = await Promise.all([
        Promise.all(
          Object.values(streams).map(async ({ name }) => ({
            name,
            state: await bus.streamState(name),
          })),
        ),
        Promise.all(
          held().map(async (partition) => ({
            partition,
            state: await bus.consumerState(streams.results.name, partitionConsumer(partition).name),
          })),
        ),
      ]);
      for (const [server, { at }] of disks)
        if (performance.now() - at > silentMs) disks.delete(server);
      return {
        streamStates: states.flatMap(({ name: stream, state }) =>
          state
            ? [{ stream, bytes: state.bytes, messages: state.messages, missing: state.missing }]
            : [],
        ),
        waiting: waiting.flatMap(({ partition, state }) =>
          state ? [{ partition, messages: state.pending + state.unacknowledged }] : [],
        ),
        disks: [...disks].map(([server, { bytes, limit }]) => ({ server, bytes, limit })),
      };
    },
  };
}

/** Histogram buckets for work that takes milliseconds, and for work that takes seconds. */
const quick = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const slow = [0.5, 1, 2, 3, 5, 8, 15, 30, 60, 120, 300, 600];

export type Live = Figures & {
  /** A request was answered; `route` is the pattern, not the requested path. */
  readonly answered: (route: string, status: number, tookMs: number) => void;
};

/** What is counted as it happens; a batch costs a few additions, whatever its size. */
export function createLive(registry: Registry): Live {
  const { counter, histogram } = instrumentsOf(registry);
  const results = counter('results_committed_total', 'Results stored', ['outcome']);
  const age = histogram(
    'result_age_seconds',
    'Of the oldest result of each commit of a partition: end of its check to its commit',
    slow,
  );
  const commits = histogram('commit_seconds', 'Transactions of the writer', quick);
  const checkpoints = histogram(
    'checkpoint_seconds',
    "A partition's checkpoint: packed and committed",
    quick,
  );
  const confirmation = histogram(
    'confirmation_seconds',
    'First failing check to the commit that confirms the outage',
    slow,
  );
  const givenUp = counter(
    'partitions_given_up_total',
    'Partitions whose work stood, and which were restarted',
  );
  const taken = counter('partitions_taken_total', 'Partitions that this coordinator took');
  const refused = counter('batches_refused_total', 'What came over the bus and was refused', [
    'reason',
  ]);
  const looks = counter('looks_total', 'Looks wished for, and whether a probe was asked', [
    'why',
    'outcome',
  ]);
  const told = counter('alerts_total', 'Attempts to send a message', ['channel', 'result']);
  const delay = histogram('alert_delay_seconds', 'Message due to message taken', slow, ['channel']);
  const requests = histogram('http_request_seconds', 'Requests answered', quick, ['route', 'code']);
  return {
    committed: (units, tookMs, now) => {
      commits.observe(tookMs / 1_000);
      for (const { journal, alerts, incidents } of units) {
        let oldest = Number.POSITIVE_INFINITY;
        for (const batch of journal) {
          for (const outcome of outcomes)
            if (batch.counts[outcome] > 0) results.inc({ outcome }, batch.counts[outcome]);
          oldest = Math.min(oldest, batch.oldest);
        }
        if (Number.isFinite(oldest)) age.observe(Math.max(0, now - oldest) / 1_000);
        // The commit that confirms also creates the "down", unless the outage is one of the past.
        for (const alert of alerts) {
          if (alert.event !== 'down') continue;
          const began = incidents.findLast(({ incident }) => incident.id === alert.incident)
            ?.incident.started_at;
          if (began !== undefined) confirmation.observe(Math.max(0, now - began) / 1_000);
        }
      }
    },
    checkpointed: (tookMs) => checkpoints.observe(tookMs / 1_000),
    gaveUp: () => givenUp.inc(),
    took: (count) => taken.inc(count),
    refused: (reason, count) => refused.inc({ reason }, count),
    asked: (why, outcome) => looks.inc({ why, outcome }),
    told: (channel, result, lateMs) => {
      told.inc({ channel, result });
      if (result === 'delivered') delay.observe({ channel }, Math.max(0, lateMs) / 1_000);
    },
    answered: (route, status, tookMs) =>
      requests.observe({ route, code: `${Math.floor(status / 100)}xx` }, tookMs / 1_000),
  };
}

/**
 * Metrics for operators, at a port of their own that is not public. They are loaded only where they
 * are configured.
 */
export type Metrics = {
  readonly live: Live;
  readonly port: number;
  readonly close: () => Promise<void>;
};

export type MetricsDependencies = {
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly log: Log;
  /** Collects on demand. */
  readonly look: () => Promise<Snapshot>;
};

/** Requests that come together, or right after one another, get the same answer. */
const sameForMs = 2_000;

export async function startMetrics({
  host,
  port,
  version,
  log,
  look,
}: MetricsDependencies): Promise<Metrics> {
  const { createServer } = await import('node:http');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // They are sums, under names that Prometheus reserves for counters.
  for (const name of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${name}_total`);
  instrumentsOf(registry)
    .gauge('build_info', 'The version that runs', ['version'])
    .set({ version }, 1);
  const live = createLive(registry);
  const show = createSeen(registry);
  let seen: { readonly at: number; readonly text: Promise<string> } | undefined;
  const text = async (): Promise<string> => {
    show(await look());
    return registry.metrics();
  };
  const answer = (): Promise<string> => {
    if (seen === undefined || performance.now() - seen.at > sameForMs)
      seen = { at: performance.now(), text: text() };
    return seen.text;
  };
  const server = createServer((request, reply) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      reply.writeHead(404, { 'content-type': 'text/plain' }).end('Figures are at /metrics.\n');
      return;
    }
    answer().then(
      (figures) => reply.writeHead(200, { 'content-type': registry.contentType }).end(figures),
      (error: unknown) => {
        seen = undefined;
        log.error({ err: error }, 'could not collect the metrics');
        reply
          .writeHead(500, { 'content-type': 'text/plain' })
          .end('The figures could not be put together; the log says why.\n');
      },
    );
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const obstacle = listenObstacle(error, port, host);
    throw obstacle === undefined
      ? error
      : new ConfigurationFault([`METRICS_PORT, METRICS_HOST: ${obstacle}`]);
  }
  const address = server.address();
  return {
    live,
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: async () => {
      server.closeAllConnections();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
