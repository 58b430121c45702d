import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bench, type Figure, interleaved } from './figure.ts';
import { startAlone } from './https/alone.ts';

/** CPU of one tcp, one tls and one websocket check beside an https check of the same server. */

const rounds = 5;
const roundMs = 2_000;
const inFlight = 50;

const beside = (what: string, ours: number, https: number, goal: number): Figure => ({
  what,
  ours: `${ours.toFixed(3)} ms`,
  against: `https ${https.toFixed(3)} ms`,
  ratio: ours / https,
  goal: `≤ ${goal.toFixed(2)} ×`,
  holds: ours / https <= goal,
});

export const ports: Bench = {
  name: 'ports',
  about: 'CPU of one tcp, tls and websocket check, beside one of https in the same run (2 min)',
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-ports-'));
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const { ports, cpuPerCheck, close } = await startAlone(folder);
      ends.push(close);
      const load = { in_flight: inFlight, ms: roundMs };
      const at = (port: number): string => `localhost:${port}`;
      const seen = await interleaved(
        {
          https: () =>
            cpuPerCheck({ kind: 'https', target: `https://${at(ports.ecdsa)}/`, ...load }),
          tls: () => cpuPerCheck({ kind: 'tls', target: at(ports.ecdsa), ...load }),
          websocket: () =>
            cpuPerCheck({
              kind: 'websocket',
              target: `wss://${at(ports.ecdsa)}/`,
              config: { send: 'ping', expect: 'ping' },
              ...load,
            }),
          connect: () => cpuPerCheck({ kind: 'tcp', target: at(ports.greeting), ...load }),
          greeting: () =>
            cpuPerCheck({
              kind: 'tcp',
              target: at(ports.greeting),
              config: { banner: 'smtp' },
              ...load,
            }),
        },
        rounds,
        say,
      );
      return [
        beside('tcp check of an open port', seen.connect, seen.https, 0.35),
        beside('tcp check of a greeting', seen.greeting, seen.https, 0.35),
        beside('websocket check of an echo, ECDSA', seen.websocket, seen.https, 1.75),
        beside('tls check, ECDSA', seen.tls, seen.https, 0.9),
      ];
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};
