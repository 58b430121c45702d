import { setTimeout as pause } from 'node:timers/promises';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { createNetwork, testLog } from '../support/network.ts';
import { startServices } from '../support/services-run.ts';
import type { Bench } from './figure.ts';
import { cpuOf, memoryOf } from './processes.ts';

const count = 1_000;
const most = { mb: 64, cores: 0.25 };

/**
 * What a coordinator pays for a thousand probes that come in by it: each is connected, and every five
 * seconds sends a kilobyte and gets one, as with its presence.
 */
export const theEntrance: Bench = {
  name: 'entrance',
  about: 'memory and CPU of a coordinator that passes on a thousand probes (2 min)',
  run: async (say, { windowMs = 30_000 } = {}) => {
    const { services, stop } = await startServices();
    const network = await createNetwork({ services });
    const buses: Bus[] = [];
    try {
      const { websocket = '', identity } = services.nats;
      const coordinator = await network.startCoordinatorProcess({ NATS_WEBSOCKET_URL: websocket });
      const pid = coordinator.pid ?? 0;
      const url = `${coordinator.url.replace('http', 'ws')}/bus`;
      const over = async () => {
        const before = cpuOf(pid);
        await pause(windowMs);
        const cores = (cpuOf(pid) - before) / windowMs;
        return { cores, mb: memoryOf(pid) };
      };
      await pause(10_000);
      say('without probes');
      const without = await over();
      for (let made = 0; made < count; made += 50) {
        say(`${made} probes`);
        const some = Array.from({ length: 50 }, async (_, nth) => {
          const name = `probe-${made + nth}`;
          const credentials = identity.coordinatorCredentials;
          const bus = await connectBus({ url, credentials, name, log: testLog() });
          buses.push(bus);
          bus.subscribe(name, () => undefined);
        });
        await Promise.all(some);
      }
      const kilobyte = new Uint8Array(1_024);
      const sending = setInterval(() => {
        for (const [nth, bus] of buses.entries()) bus.publish(`probe-${nth}`, kilobyte);
      }, 5_000);
      say(`${count} probes`);
      const beside = await over();
      clearInterval(sending);
      const mb = beside.mb - without.mb;
      const cores = beside.cores - without.cores;
      return [
        {
          what: `memory of a coordinator for ${count} probes that come in by it`,
          ours: `${mb.toFixed(0)} MB`,
          against: `${most.mb} MB`,
          ratio: mb / most.mb,
          goal: '≤ 1.00 ×',
          holds: mb <= most.mb,
        },
        {
          what: `cores of a coordinator for ${count} probes that come in by it`,
          ours: cores.toFixed(3),
          against: String(most.cores),
          ratio: cores / most.cores,
          goal: '≤ 1.00 ×',
          holds: cores <= most.cores,
        },
      ];
    } finally {
      await Promise.all(buses.map((bus) => bus.close()));
      await network.close();
      await stop();
    }
  },
};
