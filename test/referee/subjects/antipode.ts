import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import manifest from '../../../package.json' with { type: 'json' };
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTcpProxy } from '../../support/connections.ts';
import { createNetwork } from '../../support/network.ts';
import { startProbeProcess } from '../../support/probes.ts';
import { startServices } from '../../support/services-run.ts';
import { roundTripsMs, type Watched } from '../world.ts';
import type { Open, Said } from './types.ts';

/** A coordinator here, and a probe at each place, whose way to the bus is as long as to the targets. */

const continents = ['Europe', 'North America', 'Asia'] as const satisfies readonly Continent[];

const posted = z.object({
  data: z.object({
    incidents: z.array(
      z.object({
        event: z.string(),
        monitor: z.object({ name: z.string() }),
        started_at: z.string(),
      }),
    ),
  }),
});
const down = ['incident.down', 'monitor.flapping'];
const up = ['incident.up', 'incident.closed'];

export const openAntipode: Open = async (lab) => {
  const { world, receiver, authority, interval_s } = lab;
  const ends: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    const { services, stop } = await startServices();
    ends.push(stop);
    const receiverHost = new URL(receiver).host;
    const network = await createNetwork({
      services,
      settings: {
        ALERT_ALLOW_CIDRS: `${world.here}/32`,
        // A probe that reaches nothing at all blames no target.
        PROBE_ANCHORS: receiverHost,
      },
    });
    ends.push(network.close);
    await network.startCoordinatorProcess();
    for (const [place, { netns, way }] of world.places.entries()) {
      const delayMs = (roundTripsMs[place] ?? 0) / 2;
      const line = await createTcpProxy(services.nats.url, { host: way, delayMs });
      ends.push(line.close);
      const made = await network.makeProbe(continents[place] ?? 'Europe');
      const probe = await startProbeProcess(made, {
        netns,
        environment: {
          PROBE_NATS_URL: line.url,
          PROBE_ALLOW_CIDRS: '10.0.0.0/8',
          NODE_EXTRA_CA_CERTS: authority,
        },
      });
      ends.push(async () => {
        probe.signal('SIGKILL');
        await probe.exited;
      });
    }
    const config = JSON.stringify({
      url: `${receiver}/antipode/`,
      secret: `whsec_${randomBytes(32).toString('base64')}`,
    });
    await network.sql`
      insert into channels (id, organisation_id, kind, name, config, verified_at)
      values (${newId()}, ${network.organisation}, 'webhook', 'Referee', ${config}::text::jsonb, now())`;

    return {
      name: 'antipode',
      version: manifest.version,
      settings: 'as it comes: three places that take turns, one webhook',
      watch: async (targets) => {
        const monitors: string[] = [];
        for (const target of targets)
          monitors.push(await network.addMonitor({ ...monitorOf(target), interval_s }));
        return async () => {
          for (const monitor of monitors) await network.deleteMonitor(monitor);
        };
      },
      read: ({ body }) =>
        posted.parse(JSON.parse(body.toString())).data.incidents.flatMap((incident): Said[] => {
          const { event, monitor, started_at } = incident;
          if (down.includes(event))
            return [{ target: monitor.name, event: 'down', seenAt: Date.parse(started_at) }];
          return up.includes(event) ? [{ target: monitor.name, event: 'up' }] : [];
        }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

function monitorOf(target: Watched) {
  return target.by === 'http'
    ? { name: target.name, target: target.url }
    : {
        name: target.name,
        type: 'dns' as const,
        target: target.host,
        config: { resolver: target.server, expected_values: [target.expected] },
      };
}
