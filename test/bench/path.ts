import { type Bench, median } from './figure.ts';
import { openssl } from './https.ts';
import { type Cost, costOfCheck } from './scale/measure.ts';
import { startRig } from './scale/rig.ts';

/** The whole path of an https check: schedule, check, bus, coordinator, database. CPU of all processes summed, in handshakes of `openssl s_time -new` on the same target. */

const perSecond = 100;
const interval_s = 10;
const rounds = 3;
const usualWindowMs = 12_000;

export const path: Bench = {
  name: 'path',
  about: 'CPU of an https check over all processes, in handshakes of openssl s_time -new',
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    const rig = await startRig([{ count: perSecond * interval_s, interval_s, target: 'https' }], ['Asia', 'Europe'], say);
    try {
      const handshake = openssl(rig.folder);
      const costs: Cost[] = [];
      const handshakes: number[] = [];
      for (let round = 0; round <= rounds; round += 1) {
        say(`round ${round} of ${rounds}`);
        const cost = await costOfCheck(rig, windowMs);
        const one = handshake ? await handshake(rig.ports.https) : Number.NaN;
        // The first warms caches and compilers.
        if (round > 0) {
          costs.push(cost);
          handshakes.push(one);
        }
      }
      const of = (part: keyof Cost): number => median(costs.map((cost) => cost[part]));
      const limit = handshake ? median(handshakes) : undefined;
      const row = (what: string, ours: number, most?: number) => {
        const ratio = limit === undefined ? null : ours / limit;
        return {
          what,
          ours: `${ours.toFixed(3)} ms`,
          against: limit === undefined ? 'openssl is not on this machine' : `openssl s_time -new ${limit.toFixed(3)} ms`,
          ratio,
          goal: most === undefined ? '–' : `≤ ${most.toFixed(2)} ×`,
          holds: ratio === null || most === undefined ? null : ratio <= most,
        };
      };
      return [
        row(`an https check, ${perSecond} a second, all processes`, of('all'), 1.25),
        row('of it the probes', of('probes')),
        row('of it the coordinator', of('coordinator')),
        row('of it the bus', of('bus')),
        row('of it the database', of('database')),
      ];
    } finally {
      await rig.close();
    }
  },
};
