import { once } from 'node:events';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { ConfigurationFault } from '../../shared/base/env.ts';
import type { Log } from '../../shared/base/log.ts';
import { listenObstacle } from '../../shared/base/process.ts';
import { createLive, type Live } from './metrics-histograms.ts';
import { createSeen, type Seen } from './metrics-seen.ts';

export { type BusLook, createBusLook } from './metrics-bus.ts';
export { type Certificates, createCertificates, ownPlaces } from './metrics-certificates.ts';
export type { Live } from './metrics-histograms.ts';
export type { Seen } from './metrics-seen.ts';

/** Figures for whoever looks after the installation, at a port of their own that the world never sees. Loaded only where somebody wants them. */
export type Metrics = { readonly live: Live; readonly port: number; readonly close: () => Promise<void> };

export type MetricsParts = {
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly log: Log;
  /** Looks around, when asked. */
  readonly look: () => Promise<Seen>;
};

/** Questions that come together, or one right after the other, get one answer. */
const sameForMs = 2_000;

const { createServer } = process.getBuiltinModule('node:http');

export const startMetrics = async ({ host, port, version, log, look }: MetricsParts): Promise<Metrics> => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Sums of others, under names that Prometheus keeps for what only grows.
  for (const name of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${name}_total`);
  new Gauge({ name: 'antipode_build_info', help: 'The version that runs', labelNames: ['version'], registers: [registry] }).set(
    { version },
    1,
  );
  const live = createLive(registry);
  const show = createSeen(registry);
  let seen: { readonly at: number; readonly text: Promise<string> } | undefined;
  const text = async (): Promise<string> => {
    show(await look());
    return registry.metrics();
  };
  const answer = (): Promise<string> => {
    if (seen === undefined || performance.now() - seen.at > sameForMs) seen = { at: performance.now(), text: text() };
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
        log.error({ err: error }, 'the figures could not be put together');
        reply.writeHead(500, { 'content-type': 'text/plain' }).end('The figures could not be put together; the log says why.\n');
      },
    );
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const obstacle = listenObstacle(error, port, host);
    throw obstacle === undefined ? error : new ConfigurationFault([`METRICS_PORT, METRICS_HOST: ${obstacle}`]);
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
};
