import { join } from 'node:path';
import { type Bench, type Figure, median } from './figure.ts';
import { openssl } from './https.ts';
import { cores, cpuOf, start, stop } from './processes.ts';
import { type Cost, costOfCheck } from './scale/measure.ts';
import { startRig } from './scale/rig.ts';

/**
 * The whole path of an https check: schedule, check, bus, coordinator, database. CPU of all processes summed, against node itself at the same pace
 * in the same windows (a process that is woken for each check finds its caches cold, whoever it is), and in handshakes of `openssl s_time -new` at full speed.
 */

const perSecond = 100;
const interval_s = 10;
const continents = ['Asia', 'Europe'] as const;
const rounds = 3;
const usualWindowMs = 12_000;
/** Compilers and queues settle before anything counts: at fifty checks a second V8 compiles for a minute and a half, and no probe is so young for long. */
const settlingMs = 90_000;

export const path: Bench = {
  name: 'path',
  about: 'CPU of an https check over all processes, against node alone at the same pace and openssl s_time -new (3 min)',
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    const rig = await startRig([{ count: perSecond * interval_s, interval_s, target: 'https' }], [...continents], say);
    // As often as one of the probes.
    const pace = perSecond / continents.length;
    const naked = start(
      cores.subject,
      [process.execPath, join(import.meta.dirname, 'path/naked.ts'), `${rig.folder}/ca.pem`, String(rig.ports.https), String(pace)],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    try {
      const { pid } = naked;
      if (pid === undefined) throw new Error('node alone did not start');
      const handshake = openssl(rig.folder);
      const costs: Cost[] = [];
      const nakedCosts: number[] = [];
      const handshakes: number[] = [];
      say('settling');
      await costOfCheck(rig, Math.min(settlingMs, 7.5 * windowMs));
      for (let round = 1; round <= rounds; round += 1) {
        say(`round ${round} of ${rounds}`);
        const [cpu, began] = [cpuOf(pid), performance.now()];
        costs.push(await costOfCheck(rig, windowMs));
        nakedCosts.push((cpuOf(pid) - cpu) / (((performance.now() - began) / 1_000) * pace));
        if (handshake) handshakes.push(await handshake(rig.ports.https));
      }
      const of = (part: keyof Cost): number => median(costs.map((cost) => cost[part]));
      const alone = median(nakedCosts);
      const limit = handshake ? median(handshakes) : undefined;
      const ms = (value: number): string => `${value.toFixed(3)} ms`;
      const beside = (what: string, ours: number, most?: number): Figure => ({
        what,
        ours: ms(ours),
        against: `node alone as often ${ms(alone)}`,
        ratio: ours / alone,
        goal: most === undefined ? '–' : `≤ ${most.toFixed(2)} ×`,
        holds: most === undefined ? null : ours / alone <= most,
      });
      const handshakesOf = (what: string, ours: number, most?: number): Figure => ({
        what,
        ours: ms(ours),
        against: limit === undefined ? 'openssl is not on this machine' : `openssl s_time -new ${ms(limit)}`,
        ratio: limit === undefined ? null : ours / limit,
        goal: most === undefined ? '–' : `≤ ${most.toFixed(2)} ×`,
        holds: most === undefined || limit === undefined ? null : ours / limit <= most,
      });
      const what = `an https check, ${perSecond} a second, all processes`;
      return [
        // The facts' whole path (2.0 × the limit) over their best node (1.43 ×).
        beside(what, of('all'), 1.4),
        beside('of it the probes', of('probes')),
        beside('of it the coordinator', of('coordinator')),
        beside('of it the bus', of('bus')),
        beside('of it the database', of('database')),
        handshakesOf(what, of('all'), 1.25),
        handshakesOf(`node alone, ${pace} a second`, alone),
      ];
    } finally {
      await stop(naked);
      await rig.close();
    }
  },
};
